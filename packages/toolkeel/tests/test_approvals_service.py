"""The service of `examples/approvals_service.py`, over real HTTP: its server is killed in between."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from tests.shared import ROOT


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The service in a process of its own, which is killed at the end; its address."""
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(ROOT / "examples"), "--port", "0"]
    with subprocess.Popen(
        [*command, "--no-use-colors", "approvals_service:app"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        encoding="utf-8",
        cwd=folder,
    ) as server:
        assert server.stderr is not None
        try:
            told = ""
            for line in server.stderr:
                told += line
                if "running on " in line:
                    break
            assert "running on " in told, told
            yield told.split("running on ")[1].split()[0]
        finally:
            server.kill()


def asked(url: str, data: object = ...) -> tuple[int, str]:
    """What is answered to a GET, or to a POST of JSON."""
    body = None if data is ... else json.dumps(data).encode()
    try:
        with urlopen(
            Request(url, body, {"Content-Type": "application/json"}), timeout=60
        ) as answer:
            return answer.status, answer.read().decode()
    except HTTPError as error:
        with error:
            return error.code, error.read().decode()


def chat(url: str, prompt: str | None) -> list[tuple[str, Any]]:
    """The events of an answer: their types and data."""
    status, text = asked(f"{url}/chat", {"prompt": prompt})
    assert status == 200
    fields = [dict(line.split(": ", 1) for line in e.split("\n")) for e in text.split("\n\n")[:-1]]
    return [(each["event"], json.loads(each["data"])) for each in fields]


def waiting(url: str) -> list[Any]:
    found: list[Any] = json.loads(asked(f"{url}/waiting")[1])
    return found


def test_a_call_waits_is_decided_and_runs_though_the_server_was_killed(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        type_, last = chat(f"{server}/zoe", "Send 500 euros to Zoë.")[-1]
        assert (type_, last["reason"]) == ("run_finished", "waiting")
        assert (waiting(f"{server}/bob"), len(waiting(f"{server}/zoe"))) == ([], 1)
    with served(tmp_path) as server:
        [[ticket, approve, _]] = waiting(f"{server}/zoe")
        assert ticket["arguments"] == {"to": "Zoë", "amount": 500}
        assert asked(f"{server}/zoe/waiting", approve)[0] == 204
        events = chat(f"{server}/zoe", None)
        assert events[-1][1]["output"] == "Done: 500.00 EUR to Zoë"
        assert [type_ for type_, _ in events].count("tool_finished") == 1
        assert waiting(f"{server}/zoe") == []
        assert asked(f"{server}/zoe/waiting", approve)[0] == 409


@pytest.mark.parametrize("forged", [{"seal": "0" * 64}, {"ticket": "0" * 32}])
def test_a_denied_call_does_not_run_and_a_forged_decision_counts_for_nothing(
    forged: dict[str, str], tmp_path: Path
) -> None:
    with served(tmp_path) as server:
        chat(f"{server}/ada", "Send 500 euros to Zoë.")
        [[_, approve, deny]] = waiting(f"{server}/ada")
        assert asked(f"{server}/ada/waiting", {**approve, **forged})[0] == 409
        assert chat(f"{server}/ada", None)[-1][1]["reason"] == "waiting"
        assert asked(f"{server}/bob/waiting", deny)[0] == 409
        assert asked(f"{server}/ada/waiting", deny)[0] == 204
        events = chat(f"{server}/ada", None)
        assert "A person said no." in events[-1][1]["output"]
        again = chat(f"{server}/ada", None)  # a second click
        assert again[-1][1]["output"] == events[-1][1]["output"]

"""The command opens a page of a user's tools, and tells how to get in."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from tests.cli.commandline import environment
from tests.cli.conftest import Here
from toolkeel.sessions import Sessions
from toolkeel_studio.cli.commands.inspect import durable_finder
from toolkeel_studio.cli.exit_codes import UsageProblem


def test_the_address_that_is_printed_opens_the_users_tools(folder: Path, tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "toolkeel", "inspect", "tools.py", "-f", str(tmp_path / "s.db")],
        cwd=folder,
        env=environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        with httpx2.Client(follow_redirects=True, timeout=60) as client:
            text = client.get(address).text
        assert "/tools/search" in text and "搜索文档" in text
    finally:
        process.send_signal(signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert "token: " in told and "Traceback" not in told


@pytest.mark.parametrize(("words", "code"), [(("nosuch.py",), 3), (("tools.py", "--port", "x"), 2)])
def test_what_cannot_be_opened_is_said(words: tuple[str, ...], code: int, here: Here) -> None:
    assert here("inspect", *words).code == code


def test_a_file_without_durable_runs_is_refused_and_stays_as_it_is(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "s.db")
    sessions["ada"].say("hi")
    sessions.close()
    (notes := tmp_path / "notes.txt").write_text("hello " * 1000, "utf-8")
    (empty := tmp_path / "empty").touch()
    for path in (tmp_path / "s.db", notes, empty):
        before = path.read_bytes()
        with pytest.raises(UsageProblem, match=r"--runs: .*runs"):
            durable_finder(Sessions(tmp_path / "other.db"), str(path))
        assert path.read_bytes() == before


def test_durable_runs_that_cannot_be_shown_are_mentioned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sessions = Sessions(tmp_path / "s.db")
    with pytest.raises(UsageProblem, match=r"no file nowhere\.db"):
        durable_finder(sessions, "nowhere.db")
    monkeypatch.setitem(sys.modules, "dbos", None)  # type: ignore[arg-type]
    assert durable_finder(sessions, "") is None
    assert capsys.readouterr().err == ""
    (tmp_path / "s.db.runs").touch()
    assert durable_finder(sessions, "") is None
    assert (
        "without the page of durable runs: Durable runs needs an extra" in capsys.readouterr().err
    )

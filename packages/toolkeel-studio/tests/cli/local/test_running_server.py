"""A server of ``toolkeel local`` is found by other commands while it runs, and not afterwards."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.cli.conftest import Here
from tests.providers.serving import paths
from toolkeel_studio.cli.local.running_server import (
    URL_VARIABLE,
    RunningServer,
    announced,
    find_running_server,
)


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A state folder of its own, and no other server."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.delenv(URL_VARIABLE, raising=False)


def test_a_server_is_found_while_it_runs() -> None:
    assert find_running_server() is None
    with paths({"/health": {"status": "ok"}}) as url:
        server = RunningServer(f"{url}/v1", "m", os.getpid())
        with announced(server):
            assert find_running_server() == server
        assert find_running_server() is None


def test_a_server_that_loads_is_found_and_one_that_died_is_not() -> None:
    with paths({"/health": 503}) as url, announced(RunningServer(f"{url}/v1", "m", 1)):
        assert find_running_server() is not None
    with announced(RunningServer(f"{url}/v1", "m", 1)):
        assert find_running_server() is None


def test_a_damaged_file_and_another_address_count_as_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toolkeel").mkdir()
    (tmp_path / "toolkeel" / "local.json").write_text('{"url": 5', "utf-8")
    assert find_running_server() is None
    with paths({"/health": {}}) as url, announced(RunningServer(f"{url}/v1", "m", 1)):
        monkeypatch.setenv(URL_VARIABLE, "http://127.0.0.1:9/v1")
        assert find_running_server() is None


def test_the_file_of_a_later_server_stays() -> None:
    with paths({"/health": {"status": "ok"}}) as url:
        later = RunningServer(f"{url}/v1", "b", 2)
        with announced(RunningServer("http://127.0.0.1:9/v1", "a", 1)), announced(later):
            assert find_running_server() == later


def test_run_uses_it_unless_another_model_is_named(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = b'data: {"choices": [{"delta": {"content": "from the weights"}, "finish_reason": "stop"}]}\n\n'
    answers = {"/health": {"status": "ok"}, "/v1/chat/completions": stream}
    with paths(answers) as url, announced(RunningServer(f"{url}/v1", "m", os.getpid())):
        ended = here("run", "hello")
        assert ended.out.strip() == "from the weights"
        assert "model: llamacpp:m, of toolkeel local" in ended.err
        monkeypatch.delenv(URL_VARIABLE, raising=False)
        assert here("run", "hello", "-m", "llamacpp:m").out.strip() == "from the weights"
        monkeypatch.delenv(URL_VARIABLE, raising=False)
        assert "from the weights" not in here("run", "2 + 2", "-m", "offline").out
        assert here("run", "hello", "-m", "llamacpp:another").code != 0

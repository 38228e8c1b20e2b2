"""Files with the state of the running gateways."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from toolkeel_studio.gateway.status_files import (
    running_gateways,
    status_folder,
    status_lines,
)


def test_the_file_of_a_gateway_that_was_killed_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    status_folder().mkdir(parents=True)
    path = status_folder() / f"{ended.pid}.json"
    path.write_text(json.dumps({"file": "mcp.json", "pid": ended.pid}))
    assert running_gateways() == [] and not path.exists()


def test_open_sessions_are_shown_where_there_are_any() -> None:
    ada = {"client": "ada", "software": "", "calls": 1, "sessions": 2, "last_request": "now"}
    state = {"clients": [ada, {**ada, "sessions": 0}]}
    assert status_lines(state)[1:] == [
        "client ada: 2 open sessions, 1 calls, last request now",
        "client ada: 1 calls, last request now",
    ]

"""Stats of sessions, as a table and as JSON."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.conftest import Here
from tests.inspector.serving import TOOLS
from toolkeel import Agent
from toolkeel.observe import JsonLines
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call


def test_stats_tell_first_tries_corrections_and_wrong_fields(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "talk.db"
    assert "there is no file" in here("stats", "-f", str(file)).err
    Sessions(file).close()
    assert "no run in" in here("stats", "-f", str(file)).err
    lines = [call("search", {"query": "猫", "limit": 99}), call("search", {"query": "猫"}), "ok"]
    sessions = Sessions(file)
    Agent(Scripted(lines, name="play"), TOOLS).run_sync("Go.", session=sessions["ada"])
    sessions.close()
    shown = here("stats", "-f", str(file)).out.splitlines()
    assert shown[0].split()[:2] == ["tool", "calls"]
    assert shown[1].split()[:4] == ["search", "2", "0%", "100%"]
    assert "invalid_arguments 1" in shown[1] and shown[1].endswith("limit 1")
    assert shown[3].split()[:2] == ["play", "3"]
    data = json.loads(here("stats", "ada", "--json", "-f", str(file)).out)
    assert data["tools"]["search"]["fields"] == {"limit": 1}
    assert data["models"]["play"]["accepted"] == 0.5
    assert here("stats", "nobody", "-f", str(file)).code == 3


def test_stats_of_a_file_of_events_need_no_session(here: Here, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    with JsonLines(file) as lines:
        model = Scripted([call("search", {"query": "猫"}), "ok"], name="play")
        Agent(model, TOOLS).run_sync("Go.", listeners=[lines])
    data = json.loads(here("stats", "--events", str(file), "--json").out)
    assert data["tools"]["search"]["calls"] == 1 and data["models"]["play"]["requests"] == 2
    assert here("stats", "ada", "--events", str(file)).code == 2
    file.write_text("{}\n")
    for wrong in (file, tmp_path / "gone.jsonl"):
        ended = here("stats", "--events", str(wrong))
        assert ended.code == 3 and wrong.name in ended.err

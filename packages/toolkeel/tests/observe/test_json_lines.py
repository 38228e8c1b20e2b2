"""Events as lines of JSON."""

from __future__ import annotations

import json
from pathlib import Path

from toolkeel import Agent, tool
from toolkeel.observe.json_lines import JsonLines
from toolkeel.testing.scripted import Scripted, call


@tool
def greet(who: str) -> str:
    """Greet."""
    return f"你好\n{who}"


def test_every_event_is_a_line_in_order_and_text_is_not_escaped(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    with JsonLines(path) as lines:
        Agent(Scripted([call("greet", {"who": "Ada"}), "好"]), [greet]).run_sync(
            "go", listeners=[lines]
        )
    text = path.read_text("utf-8")
    rows = [json.loads(line) for line in text.splitlines()]
    assert [row["seq"] for row in rows] == sorted(row["seq"] for row in rows)
    assert rows[0]["type"] == "run_started" and rows[-1]["type"] == "run_finished"
    assert "你好" in text and not any(row["type"] == "streamed" for row in rows)


def test_pieces_of_the_replies_of_inner_agents_are_left_out_too(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    inner = Agent(Scripted(["in"]), name="helper")
    with JsonLines(path) as lines:
        outer = Agent(Scripted([call("helper", {"input": "?"}), "out"]), [inner.as_tool()])
        outer.run_sync("go", listeners=[lines])
    text = path.read_text("utf-8")
    assert '"type": "streamed"' not in text and text.count('"type": "replied"') == 3


def test_a_file_is_appended_to_and_deltas_come_when_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "events.jsonl"
    for _ in range(2):
        with JsonLines(path, deltas=True) as lines:
            Agent(Scripted(["hi"])).run_sync("go", listeners=[lines])
    types = [json.loads(line)["type"] for line in path.read_text("utf-8").splitlines()]
    assert types.count("run_started") == 2 and types.count("streamed") == 4

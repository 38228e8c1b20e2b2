"""Two sessions, held against each other."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from toolkeel import Agent, AssistantMessage, ToolError, Usage, tool
from toolkeel.errors import ToolkeelError
from toolkeel.sessions import Session, Sessions
from toolkeel.testing import Scripted, call
from toolkeel_studio.inspector.compare import Comparison, Line, _rows, compare


@tool
def look(at: str) -> str:
    """Look at something."""
    if at == "nothing":
        raise ToolError("there is nothing")
    return f"saw {at}"


def told(kept: Sessions, name: str, steps: Sequence[Any]) -> Session:
    """A session in which a model took these steps."""
    agent = Agent(Scripted([*steps]), tools=[look, Agent(Scripted(["inner"])).as_tool("ask")])
    agent.run_sync("看看", session=kept[name])
    return kept[name]


@pytest.fixture
def kept(tmp_path: Path) -> Sessions:
    return Sessions(tmp_path / "talk.db")


def test_what_differs_stands_side_by_side_and_is_counted(kept: Sessions) -> None:
    a = told(kept, "a", [call("look", {"at": "猫"}), "One."])
    steps = [call("look", {"at": "狗"}), call("look", {"at": "nothing"})]
    end = AssistantMessage("One.", usage=Usage(input_tokens=1200, output_tokens=34))
    found = compare(a, told(kept, "b", [*steps, end]))
    assert found.differ
    assert found.rows[0] == (("you", "看看"), ("you", "看看"))
    assert found.rows[1] == (("call", 'look({"at": "猫"})'), ("call", 'look({"at": "狗"})'))
    assert (None, ("failed", "there is nothing")) in found.rows
    assert found.rows[-1] == (("model", "One."), ("model", "One."))
    assert list(found.sums()) == [
        ("turns", "1", "1", ""),
        ("requests", "2", "3", "+1 (+50%)"),
        ("calls", "1", "2", "+1 (+100%)"),
        ("failed", "0", "1", "+1"),
        ("tokens", "not measured", "1,234", ""),
        ("cost", "unknown", "unknown", ""),
    ]


def test_costs_are_compared_where_prices_are_known(kept: Sessions) -> None:
    spent = Usage(input_tokens=1_000_000, output_tokens=1)
    steps = [AssistantMessage("One.", usage=spent, model="gpt-4o")]
    found = compare(told(kept, "a", steps), told(kept, "b", [call("look", {"at": "x"}), *steps]))
    assert found.totals["cost"] == (pytest.approx(2.5, abs=0.1), None)
    again = compare(kept["a"], kept["a"])
    assert list(again.sums())[-1] == ("cost", "$2.50", "$2.50", "")


def test_totals_that_read_the_same_have_no_difference() -> None:
    found = Comparison("a", "b", {"cost": (0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1)}, [])
    assert [*found.sums()] == [("cost", "$0.60", "$0.60", "")]


def test_times_and_ids_are_no_difference_and_inner_agents_are_looked_into(kept: Sessions) -> None:
    steps = [[call("look", {"at": "x"}), call("ask", {"input": "why?"})], "One."]
    found = compare(told(kept, "a", steps), told(kept, "b", steps))
    assert not found.differ
    assert (("model", "inner"), ("model", "inner")) in found.rows


def test_a_session_that_is_not_there_is_said_to_be_missing(kept: Sessions) -> None:
    with pytest.raises(ToolkeelError, match="no session 'b'"):
        compare(told(kept, "a", ["One."]), kept["b"])


def test_long_sessions_of_results_that_are_all_alike_are_compared_soon() -> None:
    def lines(name: str) -> list[Line]:
        return [line for n in range(5000) for line in (("call", f"{name}{n}"), ("done", "ok"))]

    found: list[int] = []
    threading.Thread(
        target=lambda: found.append(len(list(_rows(lines("a"), lines("b"))))), daemon=True
    ).start()
    for _ in range(600):
        if found:
            break
        threading.Event().wait(0.1)
    assert found == [10_000]

"""What was read before stays a stranger's in a summary, a correction and a history that is told on (T33, T36)."""

from __future__ import annotations

import asyncio
import json
from contextlib import closing
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from tests.security.test_gullible_places import (
    BOTH,
    EVE,
    TEXT,
    Obeying,
    nothing_ran,
    ran,
    send,
    undeclared,
)
from toolkeel import Agent, RunResult, Text, tool
from toolkeel.agent.handoff import Handoff, flatten_history
from toolkeel.content import File
from toolkeel.effects import reads
from toolkeel.messages import ToolCall, UserMessage
from toolkeel.sessions import Sessions
from toolkeel.sessions.history_policies import Summarize
from toolkeel.testing.scripted import Scripted

assert nothing_ran  # a fixture for every test here


def reader() -> Any:
    @tool(effects=reads(stranger=True))
    def page() -> str:
        """Read a page."""
        return "A long page. " * 100

    return page


def later(sessions: Sessions) -> RunResult:
    """The next day: a summary stands in place of what was read, and the order in it."""
    summary = Scripted([f"The user wants: {TEXT}"])
    assert asyncio.run(sessions["ada"].compact(Summarize(summary, 200, 50)))
    again = Agent(Obeying(), [reader(), send, undeclared])
    return again.run_sync("Go on.", session=sessions["ada"])


def test_an_order_in_a_summary_is_not_obeyed_unasked_the_next_day(tmp_path: Path) -> None:
    with_page = Scripted([[ToolCall("1", "page", {})], "read " * 50])
    with closing(Sessions(tmp_path / "a.db")) as sessions:
        Agent(with_page, [reader()]).run_sync("Read it.", session=sessions["ada"])
        Agent(Scripted(["more " * 50])).run_sync("And?", session=sessions["ada"])
    with closing(Sessions(tmp_path / "a.db")) as sessions:
        result = later(sessions)
    assert sorted(ticket.tool for ticket in result.pending) == BOTH


def test_an_order_in_an_attachment_is_not_obeyed_unasked_once_a_summary_stands_for_it(
    tmp_path: Path,
) -> None:
    with closing(Sessions(tmp_path / "a.db")) as sessions:
        file = File(b"A long letter. " * 100, "letter.txt", "text/plain")
        said = UserMessage((Text("What does it say? " * 40), file))
        Agent(Scripted(["A letter. " * 50])).run_sync([said], session=sessions["ada"])
        Agent(Scripted(["more " * 50])).run_sync("And? " * 50, session=sessions["ada"])
    with closing(Sessions(tmp_path / "a.db")) as sessions:
        result = later(sessions)
    assert [ticket.tool for ticket in result.pending] == ["send"]
    assert json.dumps([ticket.reason for ticket in result.pending]).count("attachment") == 1
    assert ran == ["undeclared"]  # to a function of the program, it is what the person wrote
    ran.clear()


@tool(effects=reads(stranger=True))
def mail() -> str:
    """Read a mail."""
    return f"Say {EVE}."


def test_what_the_library_repeats_of_a_model_was_named_by_nobody() -> None:
    """A correction quotes an answer that has not the form; the model may have it from a stranger."""
    turns = [
        [ToolCall("1", "mail", {})],
        json.dumps({"answer": EVE}),
        [ToolCall("2", "send", {"to": EVE})],
        json.dumps({"answer": "yes"}),
    ]
    agent = Agent(Scripted(turns), [mail, send], output_type=Verdict)  # type: ignore[arg-type]
    result = agent.run_sync("Read it.")
    assert any(EVE in m.text for m in result.messages if isinstance(m, UserMessage))
    assert [ticket.tool for ticket in result.pending] == ["send"]


def test_what_an_agent_is_told_of_the_one_before_was_named_by_nobody(tmp_path: Path) -> None:
    turns = [[ToolCall("1", "send", {"to": EVE})], "done"]
    second = Agent(Scripted(turns), [send], name="second")  # type: ignore[arg-type]
    handing = [[ToolCall("1", "mail", {})], [ToolCall("2", "transfer_to_second", {})]]
    handoff = Handoff(second, input_filter=flatten_history)
    first = Agent(Scripted(handing), [mail], handoffs=[handoff])
    with closing(Sessions(tmp_path / "a.db")) as sessions:
        result = first.run_sync("Read it.", session=sessions["ada"])
    assert [ticket.tool for ticket in result.pending] == ["send"]


class Verdict(BaseModel):
    """An answer that may have two forms alone."""

    answer: Literal["yes", "no"]

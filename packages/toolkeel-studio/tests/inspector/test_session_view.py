"""What a journal's entries tell a reader."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.inspector.serving import GATE, TOOLS, busy
from toolkeel import Agent, tool
from toolkeel._records.entries import (
    CallEnded,
    CallIntended,
    Compacted,
    HandedOver,
    Judged,
    ModelAsked,
    ModelFailed,
    ModelReplied,
    PersonSaid,
    Queued,
    RunBegan,
    RunEnded,
    Steered,
    Tainted,
    Unqueued,
)
from toolkeel.messages import AssistantMessage, SystemMessage, ToolCall, ToolMessage, UserMessage
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted, call
from toolkeel_studio.inspector.page_items import DecisionView, MessageItem, Note
from toolkeel_studio.inspector.session_view import MAX_DEPTH, CallItem, ReplyItem, Story, fold_story

CALLS = (ToolCall("a", "add", "{}"), ToolCall("b", "add", "[1"))
ENTRIES = [
    RunBegan("r"),
    PersonSaid("r", UserMessage("hi"), "ada"),
    PersonSaid("r", SystemMessage("be kind")),
    ModelAsked("r", 1, "m"),
    ModelFailed("r", 1, 1, "busy"),
    ModelReplied("r", 1, AssistantMessage("so", CALLS)),
    CallIntended("r", 1, 0, "a", "add"),
    CallIntended("r", 1, 7, "z", "none"),
    RunBegan("i", parent="r", call="r-1-0"),
    RunBegan("j", parent="r", call="r-9"),
    PersonSaid("i", UserMessage("inner")),
    CallEnded("r", 1, 0, ToolMessage("3", "a", "add")),
    CallEnded("r", 1, 1, ToolMessage("no", "b", "add", "error", "crashed")),
    CallEnded("r", 1, 0, ToolMessage("code", "x", "add"), within="r-1-0"),
    Queued("r", "1", UserMessage("and hurry"), "bob"),
    Queued("r", "2", UserMessage("never mind")),
    Steered("r", UserMessage("and hurry"), "1", "bob"),
    Unqueued("r", "2"),
    Tainted("r", "private", "mail"),
    Judged("r", "guard", "refused", reason="why"),
    HandedOver("r", "other"),
    Compacted("r", 0, 2, policy="last turns"),
    RunBegan("k", parent="r", call="r-" + "9" * 5000),
    CallIntended("r", 1, -9, "z", "none"),
    RunEnded("r", "limit", "turns: 1"),
]


def told(entries: list[Any]) -> Story:
    story = Story()
    for seq, entry in enumerate(entries, 1):
        story.add(seq, float(seq), entry)
    return story


def test_every_kind_of_entry_is_told_in_its_place() -> None:
    story = told(ENTRIES)
    said = [item for item in story.items if isinstance(item, MessageItem)]
    assert [(s.text, s.who, s.how) for s in said] == [
        ("hi", "ada", ""),
        ("be kind", "", "system"),
        ("and hurry", "bob", ""),
    ]
    [reply] = [item for item in story.items if isinstance(item, ReplyItem)]
    assert (reply.failures, reply.model, reply.asked, reply.at) == (["busy"], "m", 4.0, 6.0)
    done, failed = reply.calls
    assert (done.status, done.began, done.ended) == ("done", 7.0, 12.0)
    assert done.result is not None and done.result.text == "3"
    assert (failed.status, failed.arguments) == ("failed", "[1")
    assert done.inside is not None and len(done.inside.items) == 1
    notes = [item.word for item in story.items if isinstance(item, Note)]
    assert notes == ["tainted private", "judged", "handed over", "compacted", "ended limit"]
    assert (story.reason, story.turns) == ("limit", [1])


@given(st.permutations(ENTRIES).map(lambda e: e[:12]))
def test_entries_in_any_order_are_told_without_an_error(entries: list[Any]) -> None:
    assert all(called.status for called in told(entries).calls())


def test_runs_within_runs_are_told_of_to_a_depth() -> None:
    written: list[Any] = []
    for n in range(2000):
        inner = {"parent": f"r{n - 1}", "call": "x-0"} if n else {}
        reply = AssistantMessage("", (ToolCall("c", "ask", "{}"),))
        written += [RunBegan(f"r{n}", **inner), ModelReplied(f"r{n}", 1, reply)]
    assert len(list(told(written).calls())) == MAX_DEPTH + 1


def test_a_run_of_a_session_is_told_from_its_first_word_to_what_waits(tmp_path: Path) -> None:
    GATE.set()
    sessions = Sessions(tmp_path / "talk.db")
    session = sessions["ada"]
    result = Agent(Scripted(busy()), TOOLS).run_sync("Remove it.", session=session)
    assert result.reason == "waiting"
    story = fold_story(session.entries())
    statuses = [called.status for called in story.calls()]
    assert statuses == ["done", "done", "failed", "done", "done", "waits"]
    session.decide(result.pending[0].approve(), "bob")
    assert next(iter(session.decisions.values())).who == "bob"
    session.decide(result.pending[0].deny(), "eve")
    assert next(iter(session.decisions.values())).decision.verdict == "approve"
    Agent(Scripted(["Done."]), TOOLS).run_sync(None, session=session)
    [*_, removed] = fold_story(session.entries()).calls()
    assert (removed.status, removed.verdict and removed.verdict.who) == ("done", "bob")
    half = session.entries(after=3, upto=9)
    assert [each.seq for each in half] == [4, 5, 6, 7, 8, 9]
    assert fold_story(half).items
    sessions.close()


def test_an_inner_agent_is_told_within_the_call_that_it_is(tmp_path: Path) -> None:
    GATE.set()
    inner = Agent(Scripted([call("search", {"query": "x"}), "found"]), TOOLS, name="finder")
    outer = Agent(
        Scripted([call("ask_finder", {"input": "x"}), "ok"]), [inner.as_tool("ask_finder")]
    )
    sessions = Sessions(tmp_path / "talk.db")
    outer.run_sync("Find x.", session=sessions["ada"])
    asked, searched = fold_story(sessions["ada"].entries()).calls()
    assert (asked.call.name, searched.call.name) == ("ask_finder", "search")
    assert asked.inside is not None and asked.inside.reason == "answered"
    sessions.close()


def test_what_comes_of_a_deferred_call_is_shown_where_it_was_made() -> None:
    @tool(approval=True)
    def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    session = Sessions(":memory:").open("ada", on_message="answer")
    lines = [call("pay", {"amount": 5}), "Hello!", "Paid."]
    agent = Agent(Scripted(lines), [pay])
    agent.run_sync("pay", session=session)
    agent.run_sync("hello", session=session)
    [called] = fold_story(session.entries()).calls()
    assert called.status == "waits"
    agent.run_sync(None, session=session, decisions=[session.pending[0].approve()])
    story = fold_story(session.entries())
    [called] = story.calls()
    assert (called.status, called.result.text) == ("done", "paid 5")  # type: ignore[union-attr]
    assert [type(item) for item in story.items] == [
        MessageItem,
        ReplyItem,
        MessageItem,
        ReplyItem,
        ReplyItem,
    ]


DECIDED = DecisionView(2.0, "approve", "ada", "")
TICKET: Any = object()


@pytest.mark.parametrize(
    ("facts", "status"),
    [
        ({}, "planned"),
        ({"ticket": TICKET}, "waits"),
        ({"ticket": TICKET, "verdict": DECIDED}, "decided"),
        ({"began": 1.0}, "runs"),
        ({"began": 1.0, "interrupted": True}, "interrupted"),
        ({"began": 1.0, "result": ToolMessage("3", "c", "add")}, "done"),
        ({"interrupted": True, "result": ToolMessage("no", "c", "add", "error")}, "failed"),
    ],
)
def test_the_status_of_a_call_is_that_of_the_last_that_happened(
    facts: dict[str, Any], status: str
) -> None:
    assert CallItem(ToolCall("c", "add", "{}"), 1, 0.0, **facts).status == status


def test_arguments_are_parsed_and_broken_ones_stay_text() -> None:
    whole, broken = (ToolCall("c", "add", text) for text in ('{"a": 1}', '{"a'))
    assert CallItem(whole, 1, 0.0).arguments == {"a": 1}
    assert CallItem(broken, 1, 0.0).arguments == '{"a'

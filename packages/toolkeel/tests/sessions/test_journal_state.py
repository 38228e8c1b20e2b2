"""The fold of a journal is what the live run knew; a checkpoint stands for all before it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sessions.talking import add
from toolkeel import Agent, ToolContext, ToolMessage, tool
from toolkeel._records.entries import (
    CallEnded,
    CallIntended,
    Entry,
    HandedOver,
    ModelAsked,
    ModelReplied,
    PersonSaid,
    RunBegan,
    RunEnded,
    StateChanged,
    Tainted,
    Waits,
)
from toolkeel._records.messages_json import dump_message
from toolkeel.approvals import Ticket
from toolkeel.messages import AssistantMessage, ToolCall, Usage, UserMessage
from toolkeel.runs import RunLimits
from toolkeel.sessions import Sessions
from toolkeel.sessions.journal_state import JournalState
from toolkeel.testing.scripted import Scripted, call


@tool
def note(key: str, value: int, context: ToolContext[Any]) -> str:
    """Keep a number."""
    context.update(key, lambda old: (old or 0) + value)
    context.state["last"] = {"key": key}
    return "kept"


CALL = st.one_of(
    st.builds(lambda a, b: call("add", {"a": a, "b": b}), st.integers(0, 9), st.integers(0, 9)),
    st.builds(
        lambda k, v: call("note", {"key": k, "value": v}), st.sampled_from("xyz"), st.integers(0, 9)
    ),
    st.just(call("nobody", {})),
    st.just(call("add", {"a": "no"})),
)
NAMES = ("add", "note", "nobody")
TURN = st.tuples(st.lists(st.lists(CALL, min_size=1, max_size=3), max_size=3), st.just("done"))


@settings(max_examples=25)
@given(st.lists(TURN, min_size=1, max_size=3))
def test_the_fold_of_a_journal_is_what_the_live_run_knew(turns: list[Any]) -> None:
    sessions = Sessions(":memory:")
    session = sessions["ada"]
    for calls, answer in turns:
        state: dict[str, object] = {}
        agent = Agent(Scripted([*calls, answer]), [add, note])
        counted = RunLimits(calls=dict.fromkeys(NAMES, 99), failures=dict.fromkeys(NAMES, 99))
        result = agent.run_sync("go on", session=session, state=state, limits=counted)
        fold = session.load_state()
        whole = folded([each.entry for each in session.entries()])
        assert {name: count for name, count in whole.counts.items() if count} == result.state.counts
        live = [dump_message(message) for message in result.messages]
        assert [dump_message(message) for message in fold.view.messages] == live
        assert [dump_message(message) for message in session.messages] == live
        assert fold.state == {key: value for key, value in state.items() if key != "messages"}
        assert fold.reason == result.reason
    sessions.close()


def entries(turns: int, results: int = 2) -> list[Entry]:
    """A journal of some turns, whose results come in the wrong order."""
    made: list[Entry] = []
    for turn in range(turns):
        run = f"r{turn}"
        calls = tuple(ToolCall(str(n), "add") for n in range(results))
        made += [
            RunBegan(run, "agent"),
            PersonSaid(run, UserMessage(f"question {turn}")),
            ModelReplied(run, 1, AssistantMessage("", calls, usage=Usage(1, 10, 5))),
            *(CallIntended(run, 1, n, str(n), "add") for n in range(results)),
            *(CallEnded(run, 1, n, ToolMessage(f"{n}", str(n))) for n in reversed(range(results))),
            StateChanged(run, "turn", turn),
            Tainted(run, "private", run),
            ModelReplied(run, 2, AssistantMessage(f"answer {turn}", usage=Usage(1, 20, 5))),
            RunEnded(run, "answered"),
        ]
    return made


def folded(made: list[Entry]) -> JournalState:
    fold = JournalState()
    for seq, entry in enumerate(made, 1):
        fold.apply(seq, entry)
    return fold


def test_results_stand_in_the_order_of_their_calls() -> None:
    texts = [message.text for message in folded(entries(1, 4)).view.messages]
    assert texts == ["question 0", "", "0", "1", "2", "3", "answer 0"]


def test_what_a_run_within_says_is_in_no_transcript_but_its_own() -> None:
    fold = folded(
        [
            RunBegan("outer"),
            ModelReplied("outer", 1, AssistantMessage("", (ToolCall("1", "ask"),))),
            CallIntended("outer", 1, 0, "1", "ask"),
            RunBegan("inner", parent="outer", call="outer-1-0"),
            PersonSaid("inner", UserMessage("psst")),
            ModelReplied("inner", 1, AssistantMessage("secret", usage=Usage(1, 7, 1))),
            StateChanged("inner", "own", 1),
            Tainted("inner", "private", "inner"),
            RunEnded("inner", "answered"),
        ]
    )
    assert list(fold.nested_runs) == ["inner"]  # for a call that runs again: it has no outcome
    assert [m.text for m in fold.view.messages] == [""]
    assert fold.state == {}
    assert fold.usage == Usage(2, 7, 1)
    assert fold.taint == {"private": ("inner",)}
    assert [intent.call_id for intent in fold.unknown_calls] == ["1"]
    fold.apply(10, CallEnded("outer", 1, 0, ToolMessage("secret", "1")))
    assert not fold.nested_runs and not fold.unknown_calls


def _waiting(outcome: bool) -> JournalState:
    ticket = Ticket("t", "1", "pay", {}, "r-1-0", 2e9)
    return folded(
        [
            RunBegan("r"),
            ModelReplied("r", 1, AssistantMessage("", (ToolCall("1", "pay"),))),
            CallIntended("r", 1, 0, "1", "pay"),
            Waits("r", ticket, outcome),
        ]
    )


def test_a_call_that_waits_has_not_begun_and_one_that_is_asked_about_may_have() -> None:
    waits, asked = _waiting(False), _waiting(True)
    assert (list(waits.open_tickets), list(waits.outcome_tickets), waits.unknown_calls) == (
        ["t"],
        [],
        (),
    )
    assert (list(asked.open_tickets), list(asked.outcome_tickets)) == ([], ["t"])
    assert [call.call_id for call in asked.unknown_calls] == ["1"]
    assert (waits.run_calls, asked.run_calls) == ({}, {"r-1-0": "pay"})


@pytest.mark.parametrize("whole", [True, False])
def test_who_is_handed_a_run_sees_what_the_entry_says(whole: bool) -> None:
    brief = UserMessage("in short")
    said = [RunBegan("r", "a"), PersonSaid("r", UserMessage("long"))]
    fold = folded([*said, HandedOver("r", "b", (brief,), whole, "Be b.")])
    assert [message.text for message in fold.view.messages] == ["long" if whole else "in short"]
    assert (fold.agent, fold.path, fold.instructions) == ("b", ("a",), "Be b.")
    assert len(fold.cuts) == (not whole)


def test_a_run_within_a_run_within_counts_for_all_around_it_and_goes_with_its_call() -> None:
    fold = folded(
        [
            RunBegan("a"),
            CallIntended("a", 1, 0, "1", "ask"),
            RunBegan("b", parent="a", call="a-1-0"),
            CallIntended("b", 1, 0, "1", "ask"),
            RunBegan("c", parent="b", call="b-1-0"),
            ModelAsked("c", 1),
            CallIntended("c", 1, 0, "1", "pay"),
            Waits("c", Ticket("t", "1", "pay", {}, "", 2e9)),
            Waits("b", Ticket("t", "1", "pay", {}, "", 2e9)),
            Waits("a", Ticket("t", "1", "pay", {}, "", 2e9)),
        ]
    )
    assert [each.counts["requests"] for each in (fold, *fold.nested_runs.values())] == [1, 1, 1]
    assert [list(each.open_tickets) for each in (fold, *fold.nested_runs.values())] == [["t"]] * 3
    assert [each.last_run.run for each in fold.open_nested_runs()] == ["b"]
    assert [each.last_run.run for each in fold.nested_runs["b"].open_nested_runs()] == ["c"]
    fold.apply(11, CallEnded("a", 1, 0, ToolMessage("over", "1")))
    assert not (fold.nested_runs or fold.unknown_calls or fold.open_tickets)

"""The fold of a journal is what the live run knew; a checkpoint stands for all before it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.sessions.talking import add
from toolkeel import Agent, ToolContext, ToolMessage, tool
from toolkeel._records.entries import (
    CallEnded,
    CallIntended,
    Compacted,
    Entry,
    ModelReplied,
    PersonSaid,
    RunBegan,
    RunEnded,
    StateChanged,
    Tainted,
)
from toolkeel._records.entries_json import dump_entry, load_entry
from toolkeel._records.messages_json import dump_message
from toolkeel.messages import AssistantMessage, ToolCall, Usage, UserMessage
from toolkeel.runs import RunLimits
from toolkeel.sessions import Sessions
from toolkeel.sessions.fold import Fold, window_of
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
        fold = session.fold()
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


def folded(made: list[Entry]) -> Fold:
    fold = Fold()
    for seq, entry in enumerate(made, 1):
        fold.see(seq, entry)
    return fold


def facts(fold: Fold) -> dict[str, Any]:
    return {
        "messages": fold.view.messages,
        "places": fold.view.places,
        "total": fold.view.total,
        "seqs": fold.seqs,
        "checkpoint": fold.checkpoint().fold,
    }


def test_results_stand_in_the_order_of_their_calls() -> None:
    texts = [message.text for message in folded(entries(1, 4)).view.messages]
    assert texts == ["question 0", "", "0", "1", "2", "3", "answer 0"]


@given(st.integers(1, 4), st.integers(0, 4), st.booleans())
def test_a_checkpoint_and_its_window_are_as_good_as_all_entries(
    turns: int, cut: int, summary: bool
) -> None:
    made = entries(turns)
    fold = folded(made)
    cut = min(cut, turns)
    if cut:
        messages = (UserMessage("before, they talked"),) if summary else ()
        made.append(Compacted("r", 0, cut * 5, messages, "test"))
        fold.see(len(made), made[-1])
    checkpoint = load_entry(json.loads(json.dumps(dump_entry(fold.checkpoint()))))
    assert checkpoint.kind == "checkpoint"
    window = window_of(checkpoint)
    read = [(seq, e) for seq, e in enumerate(made, 1) if window and seq >= window]
    assert len(read) <= len(made) - cut * len(entries(1)) + 2
    again = Fold.resumed(checkpoint, read)
    assert facts(again) == facts(fold)
    for seq, entry in enumerate(entries(2), len(made) + 2):
        fold.see(seq, entry)
        again.see(seq, entry)
    assert facts(again) == facts(fold)


def test_a_result_replaced_in_the_middle_stays_replaced_after_a_checkpoint() -> None:
    made = [*entries(3), Compacted("r", 7, 8, (ToolMessage("see elsewhere", "0"),), "test")]
    fold = folded(made)
    checkpoint = fold.checkpoint()
    again = Fold.resumed(checkpoint, list(enumerate(made, 1)))
    assert [m.text for m in again.view.messages][6:9] == ["", "see elsewhere", "1"]
    assert facts(again) == facts(fold)


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
    assert [m.text for m in fold.view.messages] == [""]
    assert fold.state == {}
    assert fold.usage == Usage(1, 7, 1)
    assert fold.taint == {"private": ("inner",)}
    assert not fold.inner
    assert [intent.call_id for intent in fold.unknown] == ["1"]

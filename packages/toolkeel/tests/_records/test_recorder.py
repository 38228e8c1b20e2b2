"""What a run does becomes entries, each once, whenever its transcript is looked at."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel._records.entries import (
    CallEnded,
    CallIntended,
    Emitted,
    Entry,
    ModelAsked,
    ModelReplied,
    PersonSaid,
    Queued,
    RunBegan,
    StateChanged,
    Steered,
)
from toolkeel._records.recorder import RunRecorder
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.sessions.journal_state import JournalState


class Written:
    """A journal that is a list."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.commits: list[int] = []
        self.flushes: list[int] = []

    def append(self, entry: Entry) -> None:
        self.entries.append(entry)

    async def commit(self) -> None:
        self.commits.append(len(self.entries))

    def commit_now(self) -> None:
        self.commits.append(len(self.entries))

    def flush(self) -> None:
        self.flushes.append(len(self.entries))


CALLS = tuple(ToolCall("same", "add", {"n": n}) for n in range(3))


def test_a_turn_has_two_commits_that_are_waited_for() -> None:
    journal = Written()
    messages: list[Message] = [UserMessage("hi")]

    async def turn() -> None:
        recorder = RunRecorder(journal, "r")
        recorder.start(RunBegan("r"), messages, 0)
        await recorder.record_request(1, "m", ModelRequest(()))
        messages.append(AssistantMessage("", CALLS))
        await recorder.record_intents(CALLS, lambda call: False)
        for place in (2, 0, 1):
            recorder.record_result(CALLS[place], ToolMessage(str(place), "same"), {})
        results = [ToolMessage(str(n), "same") for n in range(3)]
        messages.extend(results)
        recorder.record_turn_results([], {})
        await recorder.record_request(2, "m", ModelRequest(()))

    asyncio.run(turn())
    kinds = [entry.kind for entry in journal.entries]
    assert kinds[:8] == [
        "run_began",
        "person_said",
        "model_asked",
        "model_replied",
        *["call_intended"] * 3,
        "call_ended",
    ]
    assert journal.commits == [3, 7, len(kinds)]
    assert len(journal.flushes) == 2  # those whose siblings still ran


@given(st.permutations(range(3)), st.integers(0, 3))
def test_each_result_is_written_once_with_the_place_of_its_call(
    order: list[int], early: int
) -> None:
    journal = Written()
    results = [ToolMessage(str(n), "same") for n in range(3)]
    messages: list[Message] = [UserMessage("hi"), AssistantMessage("", CALLS)]

    async def turn() -> None:
        recorder = RunRecorder(journal, "r")
        recorder.start(RunBegan("r"), messages, 0)
        await recorder.record_intents(CALLS, lambda call: False)
        for place in order[:early]:
            recorder.record_result(CALLS[place], results[place], {})
        messages.extend(results)
        recorder.record_turn_results([], {})
        recorder.record_end("answered", "", {})

    asyncio.run(turn())
    ended = [entry for entry in journal.entries if isinstance(entry, CallEnded)]
    assert sorted((e.position, e.message.text) for e in ended) == [(0, "0"), (1, "1"), (2, "2")]


def test_a_call_that_a_body_makes_is_part_of_that_bodys_outcome() -> None:
    journal = Written()
    RunRecorder(journal, "r").record_result(ToolCall("1", "add"), ToolMessage("3", "1"), {})
    assert journal.entries == []


def test_what_is_known_already_is_not_written_again() -> None:
    journal = Written()
    known: list[Message] = [
        UserMessage("a"),
        AssistantMessage("", CALLS[:2]),
        ToolMessage("x", "same"),
    ]
    messages = [UserMessage("instructions"), *known]
    recorder = RunRecorder(journal, "r", len(known), 1)
    recorder.start(RunBegan("r"), messages, 1)
    assert journal.entries == []
    messages.append(ToolMessage("y", "same"))
    recorder.record_new_messages()
    [entry] = journal.entries
    assert isinstance(entry, CallEnded)
    assert (entry.position, entry.message.text) == (1, "y")


def test_a_key_names_a_call_by_its_place_and_not_by_the_providers_id() -> None:
    journal = Written()
    messages: list[Message] = [AssistantMessage("", CALLS)]

    async def turn() -> list[str]:
        recorder = RunRecorder(journal, "r", turn=4)
        recorder.start(RunBegan("r"), messages, 0)
        await recorder.record_intents(CALLS, lambda call: True)
        return [recorder.call_key(call) for call in CALLS]

    assert asyncio.run(turn()) == ["r-4-0", "r-4-1", "r-4-2"]
    intended = [e for e in journal.entries if isinstance(e, CallIntended)]
    assert all(e.repeatable for e in intended)


def test_state_that_was_changed_in_place_is_written_as_well() -> None:
    journal = Written()
    recorder = RunRecorder(journal, "r", state={"kept": 1, "gone": 2})
    state: dict[str, Any] = {"kept": 1, "list": [1], "messages": ["not this"]}
    recorder.record_state_changes(state)
    state["list"].append(2)
    recorder.record_state_changes(state)
    recorder.record_state_changes(state)
    assert journal.entries == [
        StateChanged("r", "gone", removed=True),
        StateChanged("r", "list", [1]),
        StateChanged("r", "list", [1, 2]),
    ]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)  # fmt: skip
WRITES = st.lists(
    st.tuples(
        st.sampled_from(["set", "within", "remove", "update"]), st.sampled_from("ab"), VALUES
    ),
    max_size=3,
)


def _write(recorder: RunRecorder, state: dict[str, Any], how: str, key: str, value: Any) -> None:
    if how == "remove":
        state.pop(key, None)
    elif how == "within" and isinstance(state.get(key), list):
        state[key].append(value)
    elif how == "within" and isinstance(state.get(key), dict):
        state[key]["more"] = value
    elif how == "update":
        recorder.record_state_value(key, value)
        state[key] = value
    else:
        state[key] = value


@given(st.permutations(range(3)), st.lists(WRITES, min_size=3, max_size=3))
def test_whatever_a_call_wrote_is_in_the_journal_before_its_outcome(
    order: list[int], writes: list[list[tuple[str, str, Any]]]
) -> None:
    """Killed behind any entry, what goes on has the state that ended calls have left."""
    journal, state = Written(), dict[str, Any]()
    results = [ToolMessage(str(n), "same") for n in range(3)]
    messages: list[Message] = [UserMessage("hi"), AssistantMessage("", CALLS)]
    left: dict[int, str] = {}

    async def turn() -> None:
        recorder = RunRecorder(journal, "r")
        recorder.start(RunBegan("r"), messages, 0)
        await recorder.record_intents(CALLS, lambda call: False)
        for place in order:
            for each in writes[place]:
                _write(recorder, state, *each)
            left[place] = json.dumps(state, sort_keys=True)
            recorder.record_result(CALLS[place], results[place], state)
        messages.extend(results)
        recorder.record_turn_results([], state)

    asyncio.run(turn())
    fold, ended = JournalState(), 0
    for seq, entry in enumerate(journal.entries, 1):
        fold.apply(seq, entry)
        if isinstance(entry, CallEnded):
            ended += 1
            assert json.dumps(fold.state, sort_keys=True) == left[entry.position]
    assert ended == 3


@given(VALUES, VALUES)
def test_a_value_is_written_when_it_has_become_another_and_not_when_it_came_back(
    first: Any, second: Any
) -> None:
    journal = Written()
    recorder = RunRecorder(journal, "r", state={"key": json.loads(json.dumps(first))})
    recorder.record_state_changes({"key": first})
    assert journal.entries == []
    recorder.record_state_changes({"key": second})
    changed = json.dumps(first) != json.dumps(second)
    assert journal.entries == [StateChanged("r", "key", second)] * changed


def test_state_that_cannot_be_saved_is_refused_when_it_is_written() -> None:
    journal = Written()
    recorder = RunRecorder(journal, "r")
    for value in (object(), [threading.Lock()], {1: print}):
        with pytest.raises(TypeError, match="'key'"):
            recorder.record_state_value("key", value)
    recorder.record_state_value("key", {1, 2})
    assert journal.entries == [StateChanged("r", "key", {"$toolkeel": "set", "value": [1, 2]})]


def test_what_was_queued_is_written_as_such_when_it_joins() -> None:
    journal = Written()
    messages: list[Message] = []
    recorder = RunRecorder(journal, "r")
    recorder.start(RunBegan("r"), messages, 0)
    queued = Queued("r", "7", UserMessage("wait"), "ada")
    assert recorder.track_queued(queued)
    assert not recorder.track_queued(queued)
    messages += [queued.message, UserMessage("more")]
    recorder.record_new_messages()
    recorder.record_emitted({"percent": 5})
    assert journal.entries[1:] == [
        Steered("r", queued.message, "7", "ada"),
        PersonSaid("r", UserMessage("more")),
        Emitted("r", {"percent": 5}),
    ]


def test_a_run_within_is_told_apart_by_its_parent() -> None:
    journal = Written()
    recorder = RunRecorder(journal, "outer", turn=1)
    inner = recorder.nested("inner", ToolCall("1", "ask"))
    assert inner.within == ("outer", "outer-1")
    inner.start(RunBegan("inner", parent="outer"), [AssistantMessage("x")], 0)
    assert [type(e) for e in journal.entries] == [RunBegan, ModelReplied]


def test_a_turn_that_is_asked_again_is_the_same_turn() -> None:
    journal = Written()

    async def run() -> None:
        recorder = RunRecorder(journal, "r", turn=4)
        recorder.start(RunBegan("r"), [], 0)
        for turn in (1, 1, 2):
            await recorder.record_request(turn, "m", ModelRequest(()))

    asyncio.run(run())
    assert [entry.turn for entry in journal.entries if isinstance(entry, ModelAsked)] == [5, 5, 6]

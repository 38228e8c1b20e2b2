"""Every entry goes to JSON and back; what is unknown is kept; what is no entry is refused."""

from __future__ import annotations

import dataclasses
import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.messages_made import JSON, MESSAGE, OBJECT, REPLY, RESULT, TEXT, TICKET, USAGE
from toolkeel._records.entries import Entry, StateChanged, UnknownEntry
from toolkeel._records.entries_json import dump_entry, load_entry
from toolkeel._records.messages_json import json_text
from toolkeel._records.tickets import VERDICTS, Decision

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "str": TEXT,
    "int": st.integers(0, 99),
    "float": st.floats(0, 99),
    "bool": st.booleans(),
    "object": JSON,
    "Mapping[str, object]": OBJECT,
    "tuple[str, ...]": st.lists(TEXT, max_size=3).map(tuple),
    "tuple[Message, ...]": st.lists(MESSAGE, max_size=2).map(tuple),
    "Message": MESSAGE,
    "AssistantMessage": REPLY,
    "ToolMessage": RESULT,
    "Usage": USAGE,
    "Ticket": TICKET,
    "Decision": st.builds(Decision, TEXT, TEXT, st.sampled_from(VERDICTS), TEXT, OBJECT),
}
KINDS = [kind for kind in get_args(Entry) if kind is not UnknownEntry]
ENTRY = st.one_of(
    st.builds(kind, *[VALUES[str(field.type)] for field in dataclasses.fields(kind)])
    for kind in KINDS
)


@given(ENTRY)
def test_any_entry_comes_back_from_its_text_as_it_was(entry: Entry) -> None:
    assert load_entry(json.loads(json_text(dump_entry(entry)))) == entry


@given(ENTRY, OBJECT)
def test_what_a_later_version_adds_to_an_entry_is_no_obstacle(
    entry: Entry, more: dict[str, Any]
) -> None:
    data = {**{f"later {name}": value for name, value in more.items()}, **dump_entry(entry)}
    assert load_entry(data) == entry


@given(OBJECT)
def test_a_kind_nobody_knows_is_kept_as_it_is(body: dict[str, Any]) -> None:
    body = {**body, "v": 7, "kind": "dreamt"}
    assert dump_entry(load_entry(body)) == body


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        "x",
        {},
        {"kind": 5},
        {"kind": "state_changed", "run": "a"},
        {"kind": "state_changed", "run": 5, "key": "k"},
        {
            "kind": "model_replied",
            "run": "a",
            "turn": 1,
            "message": {"role": "user", "content": ""},
        },
        {"kind": "model_replied", "run": "a", "turn": True, "message": {}},
        {"kind": "compacted", "run": "a", "start": 0, "stop": 1, "messages": [5]},
        {"kind": "model_asked", "run": "a", "turn": 1, "tools": [5]},
        {"kind": "waits", "run": "a", "ticket": {"id": "x"}},
        {"kind": "compacted", "run": "a", "start": 0, "stop": 1, "usage": {"requests": "x"}},
    ],
)
def test_what_is_no_entry_is_refused(data: Any) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        load_entry(data)


def test_an_entry_is_as_its_values_were_when_it_was_written() -> None:
    value = {"n": [1]}
    data = dump_entry(StateChanged("a", "k", value))
    value["n"].append(2)
    assert data["value"] == {"n": [1]}

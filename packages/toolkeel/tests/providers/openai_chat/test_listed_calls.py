"""Calls are found in whichever form a server lists them, complete and streamed."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from toolkeel.agent.reply_assembly import assemble
from toolkeel.messages import ToolCall
from toolkeel.providers import openai_chat

Json = dict[str, Any]
objects = st.dictionaries(
    st.sampled_from("abc"), st.integers() | st.text('a東" ', max_size=4), max_size=3
)
calls = st.lists(objects, min_size=1, max_size=3).map(
    lambda listed: [(f"c{number}", f"f{number}", one) for number, one in enumerate(listed)]
)


def usual(call: tuple[str, str, Json]) -> Json:
    id, name, values = call
    return {"id": id, "type": "function", "function": {"name": name, "arguments": dumps(values)}}


def flat(call: tuple[str, str, Json]) -> Json:
    id, name, values = call
    return {"id": id, "type": "tool_use", "name": name, "input": values}


def named(call: tuple[str, str, Json]) -> Json:
    id, name, values = call
    return {"id": id, "function": name, "arguments": dumps(values)}


def as_text(call: tuple[str, str, Json]) -> Json:
    return {**usual(call), "function": dumps(usual(call)["function"])}


def dumps(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def renamed(key: str) -> Callable[[tuple[str, str, Json]], Json]:
    return lambda call: {"id": call[0], "function": {"name": call[1], key: call[2]}}


FORMS = [usual, flat, named, as_text, *map(renamed, ("arguments", "input", "parameters", "args"))]
LISTS: list[Callable[[list[Json]], Json]] = [
    lambda listed: {"tool_calls": listed},
    lambda listed: {"tool_calls": [None, *listed, {}]},
    lambda listed: {"tool_calls": [dumps(one) for one in listed]},
    lambda listed: {"tool_calls": dumps(listed)},
    lambda listed: {"tool_calls": {str(number): one for number, one in enumerate(listed)}},
    lambda listed: {"content": [{"type": "tool_use", **one} for one in listed]},
]


def read(message: Json, *, streamed: bool) -> tuple[ToolCall, ...]:
    key = "delta" if streamed else "message"
    answer = {"choices": [{"index": 0, key: message, "finish_reason": "tool_calls"}]}
    if streamed:
        return assemble(openai_chat.decode_stream([answer])).tool_calls
    return openai_chat.decode(answer).tool_calls


@given(calls, st.sampled_from(LISTS), st.booleans())
def test_each_form_of_a_list_of_calls_is_these_calls(
    made: list[tuple[str, str, Json]], listing: Any, streamed: bool
) -> None:
    for form in FORMS:
        found = read(listing([form(one) for one in made]), streamed=streamed)
        values = [(one.id, one.name, json.loads(str(one.arguments) or "{}")) for one in found]
        assert values == made, form
        assert not any("type" in one.provider_options for one in found), form


@given(calls, st.integers(1, 3), st.sampled_from([None, 1]))
def test_a_complete_message_that_lists_its_calls_again_has_them_once(
    made: list[tuple[str, str, Json]], times: int, indent: int | None
) -> None:
    again = [usual(one) for one in made] * times
    for entry in again[len(made) :]:
        values = json.loads(entry["function"]["arguments"])
        entry["function"] = {**entry["function"], "arguments": json.dumps(values, indent=indent)}
    found = read({"tool_calls": again}, streamed=False)
    assert [one.id for one in found] == [id for id, _, _ in made]


@given(objects, objects, st.sampled_from(["", "null", None]))
def test_calls_that_differ_or_have_no_id_are_all_read(
    first: Json, second: Json, missing: str | None
) -> None:
    function = {"name": "f", "arguments": dumps(first)}
    other = {"name": "f", "arguments": dumps({**second, "d": 1})}
    listed = [{"id": "c", "function": function}, {"id": "c", "function": other}]
    listed += [{"id": missing, "function": function}] * 2
    found = read({"tool_calls": listed}, streamed=False)
    assert len({one.id for one in found}) == len(found) == 4


@given(st.lists(st.integers(), min_size=2, max_size=4, unique=True), st.booleans(), objects)
def test_ids_that_are_integers_tell_calls_apart(
    ids: list[int], streamed: bool, values: Json
) -> None:
    entry = {"index": 0, "function": {"name": "f", "arguments": dumps(values)}}
    found = read({"tool_calls": [{**entry, "id": id} for id in ids]}, streamed=streamed)
    assert [one.id for one in found] == [str(id) for id in ids]

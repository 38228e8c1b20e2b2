"""Arguments that Vertex streams in pieces become the arguments that they are pieces of."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import AssistantMessage
from toolkeel.errors import ModelError
from toolkeel.providers import gemini
from toolkeel.streaming import assemble

Json = Any


def chunk(*calls: Json, end: str = "") -> Json:
    parts = [{"functionCall": one} for one in calls]
    return {"candidates": [{"content": {"parts": parts}, **({"finishReason": end} if end else {})}]}


def reply_of(*chunks: Json) -> AssistantMessage:
    return assemble(gemini.decode_stream(chunks))


def pieces(value: Json, path: str, size: int) -> list[Json]:
    """The pieces of a value, as the server would send them."""
    if isinstance(value, dict):
        keys = [
            (f"{path}[{json.dumps(key, ensure_ascii=False)}]", one) for key, one in value.items()
        ]
        return [piece for where, one in keys for piece in pieces(one, where, size)]
    if isinstance(value, list):
        items = [(f"{path}[{at}]", one) for at, one in enumerate(value)]
        return [piece for where, one in items for piece in pieces(one, where, size)]
    if isinstance(value, str) and len(value) > size:
        texts = [value[at : at + size] for at in range(0, len(value), size)]
        made: list[Json] = [
            {"jsonPath": path, "stringValue": text, "willContinue": True} for text in texts
        ]
        del made[-1]["willContinue"]
        return made
    key = {str: "stringValue", bool: "boolValue", type(None): "nullValue"}.get(
        type(value), "numberValue"
    )
    return [{"jsonPath": path, key: "NULL_VALUE" if value is None else value}]


_SCALARS = st.none() | st.booleans() | st.integers(-99, 99) | st.text(max_size=9)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3)
        | st.dictionaries(st.text(max_size=4), inner, min_size=1, max_size=3)
    ),
    max_leaves=6,
)


@given(
    st.dictionaries(st.text(max_size=4), _VALUES, max_size=3), st.integers(1, 4), st.integers(1, 3)
)
def test_the_pieces_of_any_arguments_make_the_whole(args: Json, size: int, together: int) -> None:
    clean = json.loads(json.dumps(args).replace("\\u0000", "x"))
    every = pieces(clean, "$", size)
    groups = [every[at : at + together] for at in range(0, len(every), together)]
    calls = [{"partialArgs": group, "willContinue": True} for group in groups]
    reply = reply_of(
        chunk({"name": "book", "id": "1", "willContinue": True}),
        *(chunk(one) for one in calls),
        chunk({}, end="STOP"),
    )
    [call] = reply.tool_calls
    assert (call.id, call.name, call.complete) == ("1", "book", True)
    assert json.loads(str(call.arguments)) == clean
    assert reply.finish_reason == "tool_calls"


def test_plain_names_are_paths_too_and_other_calls_follow() -> None:
    reply = reply_of(
        chunk({"name": "a", "willContinue": True}),
        chunk({"partialArgs": [{"jsonPath": "$.to.city", "stringValue": "北"}, {"jsonPath": "$.n", "numberValue": 2}], "willContinue": True}),
        chunk({"partialArgs": [{"jsonPath": "$['to'].zip", "nullValue": "NULL_VALUE"}]}),
        chunk({"name": "b", "args": {"x": 1}}, end="STOP"),
    )  # fmt: skip
    assert [(one.name, json.loads(str(one.arguments))) for one in reply.tool_calls] == [
        ("a", {"to": {"city": "北", "zip": None}, "n": 2}),
        ("b", {"x": 1}),
    ]


ARGUMENTS = st.dictionaries(st.sampled_from(["city", "n"]), _SCALARS, min_size=1, max_size=2)
CALLS = st.lists(st.tuples(st.sampled_from(["f", "g"]), ARGUMENTS), min_size=1, max_size=4)


def parts_of(name: str, args: Json, id: str, *, size: int) -> list[Json]:
    """The parts of a call that no part ends."""
    named = {"id": id} if id else {}
    made = [{**named, "name": name, "willContinue": True}]
    clean = json.loads(json.dumps(args).replace("\\u0000", "x"))
    return made + [
        {**named, "partialArgs": [one], "willContinue": True} for one in pieces(clean, "$", size)
    ]


def outcome(reply: AssistantMessage) -> list[tuple[str, Json]]:
    assert reply.finish_reason == "tool_calls"
    return [(one.name, json.loads(str(one.arguments))) for one in reply.tool_calls]


@given(CALLS, st.booleans(), st.integers(1, 4), st.booleans())
def test_a_call_ends_where_the_next_one_or_the_reply_does(
    calls: list[tuple[str, Json]], has_ids: bool, size: int, last_is_plain: bool
) -> None:
    expected = [
        (name, json.loads(json.dumps(args).replace("\\u0000", "x"))) for name, args in calls
    ]
    chunks = []
    for number, (name, args) in enumerate(calls):
        id = f"c{number}" if has_ids else ""
        chunks += [chunk(one) for one in parts_of(name, args, id, size=size)]
    if last_is_plain:
        chunks.append(chunk({"name": "h", "args": {"x": 1}}))
        expected.append(("h", {"x": 1}))
    assert outcome(reply_of(*chunks, chunk(end="STOP"))) == expected


@given(CALLS, st.integers(1, 4), st.data())
def test_ids_tell_calls_apart_that_arrive_at_once(
    calls: list[tuple[str, Json]], size: int, data: st.DataObject
) -> None:
    rows = [
        parts_of(name, args, f"c{number}", size=size) for number, (name, args) in enumerate(calls)
    ]
    for row in rows:
        row[-1].pop("willContinue")
    expected = {
        f"c{number}": (name, json.loads(json.dumps(args).replace("\\u0000", "x")))
        for number, (name, args) in enumerate(calls)
    }
    mixed = []
    while rows:
        row = data.draw(st.sampled_from(rows))
        mixed.append(chunk(row.pop(0)))
        rows = [one for one in rows if one]
    reply = reply_of(*mixed, chunk(end="STOP"))
    read = zip([one.id for one in reply.tool_calls], outcome(reply), strict=True)
    assert dict(read) == expected


@pytest.mark.parametrize("end", ["", "STOP", "MAX_TOKENS"])
def test_a_call_that_does_not_end_never_runs(end: str) -> None:
    part = {"partialArgs": [{"jsonPath": "$.city", "stringValue": "Os", "willContinue": True}]}
    reply = reply_of(
        chunk({"name": "book", "willContinue": True}),
        chunk({**part, "willContinue": True}, end=end),
    )
    [call] = reply.tool_calls
    assert not call.complete
    assert reply.finish_reason in ("incomplete", "length")


@pytest.mark.parametrize("path", ["city", "$", "$.a[5]", "$.a b]", "$[x]", ""])
def test_a_piece_without_a_place_is_an_error(path: str) -> None:
    call = {"name": "book", "partialArgs": [{"jsonPath": path, "stringValue": "x"}]}
    with pytest.raises(ModelError, match="has no place"):
        reply_of(chunk(call))

"""Partial arguments: the same at the end as the strict parse, nothing twice, and never run."""

from __future__ import annotations

import itertools
import json
import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkeel import RunContext, ToolCall, Toolset, tool
from toolkeel.call.arguments.parse import MAX_SIZE, parse_arguments
from toolkeel.call.arguments.partial import PartialArguments
from toolkeel.call.arguments.partial_value import PartialValue
from toolkeel.errors import MalformedArguments

TEXT = st.text(max_size=12) | st.sampled_from(
    ["", "\\", '"', "\n\t\b\f\r", "/", "👩‍👩‍👧", "\u2028", "𝄞𝄞", "查天气", "a" * 50]
)
LEAF = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT
)
JSON = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=12,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=5)
WRITING = st.fixed_dictionaries(
    {
        "ensure_ascii": st.booleans(),
        "indent": st.sampled_from([None, 0, 2]),
        "separators": st.sampled_from([None, (",", ":"), (" , ", " : ")]),
    }
)


def fed(*pieces: str) -> PartialArguments:
    partial = PartialArguments()
    for piece in pieces:
        partial.feed(piece)
    return partial


def cut(text: str, at: list[int]) -> list[str]:
    """A text in pieces, cut at these places."""
    edges = sorted({0, len(text), *(n % (len(text) + 1) for n in at)})
    return [text[a:b] for a, b in itertools.pairwise(edges)]


def is_prefix_of(part: Any, whole: Any) -> bool:
    """Whether a partial value can become the whole one."""
    if isinstance(part, PartialValue):
        if part.is_list != isinstance(whole, list) or len(part) > len(whole):
            return False
        theirs: Any = dict(enumerate(whole)) if part.is_list else whole
        pairs = list(part.items())
        if [k for k, _ in pairs] != list(theirs)[: len(pairs)]:
            return False
        return all(
            (value == theirs[key] or is_prefix_of(value, theirs[key]))
            if index == len(pairs) - 1
            else value == theirs[key]
            for index, (key, value) in enumerate(pairs)
        )
    if isinstance(part, str):
        # half of a pair is shown as a mark until the other half has come
        return isinstance(whole, str) and whole.startswith(part)
    return type(part) is type(whole) and part == whole


@given(OBJECT, WRITING, st.lists(st.integers(0, 10_000), max_size=8), st.booleans())
def test_at_the_end_it_is_what_the_strict_parse_gives_however_it_was_cut(
    value: dict[str, Any], writing: dict[str, Any], places: list[int], asked: bool
) -> None:
    text = json.dumps(value, **writing)
    partial = PartialArguments()
    for piece in cut(text, places):
        partial.feed(piece)
        if asked:
            partial.value()
    assert partial.complete and not partial.error
    assert partial.value() == parse_arguments(text).value == value


@settings(max_examples=60)
@given(OBJECT, WRITING)
def test_every_prefix_of_a_text_shows_a_beginning_of_its_value(
    value: dict[str, Any], writing: dict[str, Any]
) -> None:
    text = json.dumps(value, **writing)
    growing = PartialArguments()
    for end, character in enumerate(text, 1):
        growing.feed(character)
        shown = growing.value()
        assert is_prefix_of(shown, value), text[:end]
        assert not growing.error
        assert growing.complete == (end == len(text))
        alone = fed(text[:end])
        assert alone.value() == shown
        assert alone.complete == growing.complete


@given(
    st.text(alphabet='{}[]",:\\u0dD8c1eE+-. \ntrufalsn/é北', max_size=40),
    st.lists(st.integers(0, 100), max_size=4),
)
def test_any_text_at_all_gives_a_preview_and_never_an_exception(
    text: str, places: list[int]
) -> None:
    whole, pieces = fed("{" + text), fed(*cut("{" + text, places))
    assert pieces.value() == whole.value()
    assert (pieces.complete, pieces.error) == (whole.complete, whole.error)
    try:
        parsed = json.loads("{" + text, parse_constant=lambda name: 1 / 0)
        strict = parse_arguments("{" + text)
    except (ValueError, ZeroDivisionError, MalformedArguments):
        return
    assert strict.value == parsed
    if not strict.repairs:
        assert whole.complete
        assert whole.value() == strict.value


@pytest.mark.parametrize(
    "text", ['{"a": 1 2}', '{"a": tr ue}', '{"a": "x" "y"}', '{"a" "b": 1}', '{"a": [1,, 2]}']
)
def test_blanks_join_nothing_wherever_the_text_is_cut(text: str) -> None:
    whole = fed(text)
    assert whole.error
    for place in range(len(text)):
        partial = fed(text[:place])
        partial.value()
        partial.feed(text[place:])
        assert (partial.value(), partial.error) == (whole.value(), whole.error), place


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", {}),
        (" \n", {}),
        ("{", {}),
        ('{"a', {}),
        ('{"a"', {}),
        ('{"a":', {}),
        ('{"a": "', {"a": ""}),
        ('{"a": "北', {"a": "北"}),
        ('{"a": "x\\', {"a": "x"}),
        ('{"a": "x\\u53', {"a": "x"}),
        ('{"a": "x\\u5317', {"a": "x北"}),
        ('{"a": "\\ud83d', {"a": ""}),
        ('{"a": "\\ud83d\\ude', {"a": ""}),
        ('{"a": "\\ud83d\\ude00', {"a": "😀"}),
        ('{"a": "\\ud83dx', {"a": "\ufffdx"}),
        ('{"a": "\\ud83d\\n', {"a": "\ufffd\n"}),
        ('{"a": "\\ude00', {"a": "\ufffd"}),
        ('{"a": 12', {}),
        ('{"a": 12,', {"a": 12}),
        ('{"a": -', {}),
        ('{"a": tru', {}),
        ('{"a": true ', {"a": True}),
        ('{"a": [', {"a": []}),
        ('{"a": [1, 2', {"a": [1]}),
        ('{"a": [1, "x', {"a": [1, "x"]}),
        ('{"a": {"b": {"c": "d', {"a": {"b": {"c": "d"}}}),
        ('{"a": 1, "a": "again', {"a": "again"}),
        ('{"a": "line\nbreak', {"a": "line\nbreak"}),
    ],
)
def test_what_has_come_is_shown_and_what_may_go_on_is_not(text: str, shown: Any) -> None:
    partial = fed(text)
    assert partial.value() == shown
    assert not partial.error
    assert not partial.complete


@pytest.mark.parametrize(
    ("text", "shown", "error"),
    [
        ("[1]", {}, "not an object"),
        ("5 ", {}, "not an object"),
        ('{"a": 1} x', {"a": 1}, "text after the object"),
        ('{"a": 1,}', {"a": 1}, "no key"),
        ("{a: 1}", {}, "no key"),
        ('{"a" 1}', {}, "no colon"),
        ('{"a": 01,', {}, "no value"),
        ('{"a": NaN,', {}, "no value"),
        ('{"a": 1e999,', {}, "no value"),
        ('{"a": ' + "9" * 5000 + ",", {}, "no value"),
        ('{"a": ,', {}, "no value"),
        ('{"a": 1]', {"a": 1}, "neither a comma nor an end"),
        ('{"a": [1}', {"a": [1]}, "neither a comma nor an end"),
        ('{"a": "x\\q', {"a": "x"}, "no escape"),
        ('{"a": "x\\u12x4', {"a": "x"}, "no escape"),
    ],
)
def test_what_is_malformed_ends_the_preview_with_what_was_good(
    text: str, shown: Any, error: str
) -> None:
    partial = fed(text)
    assert (partial.error, partial.complete) == (error, False)
    assert partial.value() == shown
    partial.feed('"more": 1}')
    assert partial.value() == shown


def test_nesting_and_size_have_their_limits() -> None:
    deep = fed('{"a":' * 200)
    assert deep.error == "too deep"
    long = fed('{"a": "' + "x" * MAX_SIZE)
    assert long.error == "too large"


# — a type that cannot be run —


@pytest.mark.parametrize("whole", [True, False])
def test_a_preview_in_the_place_of_arguments_is_never_run(whole: bool) -> None:
    ran: list[int] = []

    @tool
    def take(a: int) -> str:
        """Take."""
        ran.append(a)
        return "taken"

    partial = fed('{"a": 1}' if whole else '{"a": 1')
    calls = [ToolCall("1", "take", partial.value()), ToolCall("2", "take", partial)]  # type: ignore[arg-type]
    results = Toolset([take]).run_sync(calls, RunContext())
    assert [(r.kind, ran) for r in results] == [("truncated_call", [])] * 2
    assert all(
        "did not run: its arguments are only a part of what was sent" in r.text for r in results
    )


# — what it costs —


class Steps:
    """Counts the lines of the parser that are run."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: FrameType, event: str, arg: object) -> Any:
        if not frame.f_code.co_filename.endswith("partial.py"):
            return None
        self.count += event == "line"
        return self


def steps(text: str, size: int, asks: bool) -> int:
    counter = Steps()
    partial = PartialArguments()
    old = sys.gettrace()
    sys.settrace(counter)
    try:
        for at in range(0, len(text), size):
            partial.feed(text[at : at + size])
            if asks:
                partial.value()
            assert len(partial._tail) < 12
        assert partial.complete
    finally:
        sys.settrace(old)
    return counter.count


def document(kind: str, size: int) -> str:
    if kind == "rows":
        row = {"id": 7, "name": "Ware", "price": 1.25, "ok": True, "tags": ["a", "b"], "note": None}
        return json.dumps({"rows": [row] * (size // 80)})
    if kind == "escapes":
        return json.dumps({"text": 'Zürich \\ "zitiert" 🙂\n' * (size // 40)})
    if kind == "number":
        return '{"n": ' + "9" * min(size, 4000) + "}"
    if kind == "deep":
        return '{"a": [' * 40 + "]}" * 40
    return json.dumps({"text": "北京" * (size // 2)}, ensure_ascii=False)


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("piece", [1, 3, 20, 1000])
@pytest.mark.parametrize("kind", ["rows", "escapes", "plain"])
def test_a_text_twice_as_long_costs_twice_as_much(kind: str, piece: int, asks: bool) -> None:
    one, two = document(kind, 1_000), document(kind, 2_000)
    ratio = steps(two, piece, asks) / steps(one, piece, asks)
    assert ratio <= 1.1 * len(two) / len(one)


@pytest.mark.parametrize("kind", ["rows", "escapes", "plain", "number", "deep"])
def test_no_character_costs_more_than_a_few_steps(kind: str) -> None:
    text = document(kind, 1_000)
    assert steps(text, 1, True) <= 40 * len(text)
    assert steps(text, len(text), True) <= 20 * len(text)


def test_feeding_looks_at_nothing_until_somebody_asks() -> None:
    partial = PartialArguments()
    counter = Steps()
    old = sys.gettrace()
    sys.settrace(counter)
    for _ in range(1000):
        partial.feed('{"a": "')
    sys.settrace(old)
    assert counter.count <= 1000

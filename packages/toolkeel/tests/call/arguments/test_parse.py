"""Argument text: what is taken, what is refused and how, what is mended."""

from __future__ import annotations

import json
import math
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.call.arguments.parse import (
    MAX_DEPTH,
    MAX_DIGITS,
    object_to_text,
    parse_arguments,
    parse_json,
)
from toolkeel.errors import MalformedArguments

KEYS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=20,
)
OBJECTS = st.dictionaries(KEYS, JSON, max_size=5)


def refusal(raw: str) -> MalformedArguments:
    with pytest.raises(MalformedArguments) as caught:
        parse_arguments(raw)
    return caught.value


@pytest.mark.parametrize("raw", ["", "  \n\t", "null", " null ", "{}", "\u3000"])
def test_empty_text_blank_text_and_null_mean_no_arguments(raw: str) -> None:
    parsed = parse_arguments(raw)
    assert (parsed.value, parsed.repairs) == ({}, ())


@given(OBJECTS, st.booleans())
def test_every_json_object_comes_back_as_it_was(value: dict[str, object], escaped: bool) -> None:
    parsed = parse_arguments(json.dumps(value, ensure_ascii=escaped))
    assert parsed.value == value
    assert parsed.repairs == ()


@given(st.text() | st.text(st.sampled_from('{}[]",:\\ue1d890tfnNaI\n` ')))
def test_any_text_gives_an_object_that_can_be_sent_on_or_a_bounded_refusal(raw: str) -> None:
    try:
        parsed = parse_arguments(raw)
    except MalformedArguments as error:
        assert len(error.text) < 400
        error.text.encode()
    else:
        assert type(parsed.value) is dict
        json.dumps(parsed.value, allow_nan=False, ensure_ascii=False).encode()


# The corpus: text, and what the refusal must say.
REFUSED = [
    ('{"a": 1,}', "line 1, column "),  # Python 3.13 points at the comma, others behind it
    ('{"a":\n  "b" "c"}', "line 2, column 7, near `"),
    ("{'a': 1}", "double quotes at line 1, column 2"),
    ('{"a": 1', "line 1, column 8"),
    ('{"a": "x', "line 1, column 7"),
    ('{"a": 01}', "line 1, column 8"),
    ('{"a": .5}', "line 1, column 7"),
    ('{"a": 5.}', "line 1, column 8"),
    ('{"a": +5}', "line 1, column 7"),
    ('{"a": 0x10}', "line 1, column 8"),
    ('{"a": True}', "line 1, column 7"),
    ('{"a": undefined}', "line 1, column 7"),
    ('{a: 1}', "line 1, column 2"),
    ('{"a" 1}', "line 1, column 6"),
    ('{"a": 1 /* one */}', "line 1, column 9"),
    ('{"a": "\\x41"}', "line 1, column 8"),
    ('{"a": "\\u12"}', "line 1, column 9"),
    ("﻿{}", "line 1, column 1"),
    ('{"a": 1} {"b": 2}', "there is text after the object at line 1, column 10"),
    ('{"a": 1} and so on', "there is text after the object at line 1, column 10"),
    ("[1, 2]", "one JSON object, not a list"),
    ('"text"', "one JSON object, not a string"),
    ("12", "one JSON object, not a number"),
    ("true", "one JSON object, not a boolean"),
    ('{"a": NaN}', "NaN is not JSON at line 1, column 7"),
    ('{"s": "NaN", "a": -Infinity}', "-Infinity is not JSON at line 1, column 19"),
    ('{"a": [1, Infinity]}', "Infinity is not JSON at line 1, column 11"),
    ('{"a": 1e400}', "a number is too large at line 1, column 7"),
    ('{"a": -1.5E+999}', "a number is too large at line 1, column 7"),
    ('{"a": 1, "b": 2, "a": 3}', 'the key "a" is repeated'),
    ('{"x": [{"城市": 1, "城市": 1}]}', 'the key "城市" is repeated'),
    ('{"a": 1, "\\u0061": 2}', 'the key "a" is repeated'),
    ('{"a": ' + "[" * 100 + "]" * 100 + "}", "nested more than 100 levels deep at line 1, column 106"),
    ("[" * 100_000, "nested more than 100 levels deep"),
    ('{"a":' * 100_000, "nested more than 100 levels deep"),
    ('{"a": ' + "7" * 4301 + "}", "more than 4300 digits at line 1, column 7"),
    ('{"a": "\\ud83d"}', "half a surrogate pair at line 1, column 8"),
    ('{"a": "\\ud83d\\ude00\\ude00"}', "half a surrogate pair at line 1, column 20"),
    ('{"\\udc00": 1}', "half a surrogate pair at line 1, column 3"),
    ('{"a": "x\ud83d"}', "half a surrogate pair at line 1, column 9"),
]  # fmt: skip


@pytest.mark.parametrize(("raw", "says"), REFUSED, ids=range(len(REFUSED)))
def test_what_json_forbids_or_doubts_is_refused_with_its_place(raw: str, says: str) -> None:
    error = refusal(raw)
    assert says in error.text
    assert len(error.text) < 400
    error.text.encode()


def test_position_and_reason_are_details_for_programs() -> None:
    details = refusal('{"a":\n  NaN}').details
    assert details == {"reason": "NaN is not JSON", "line": 2, "column": 3, "position": 8}


def test_the_excerpt_shows_the_place_and_not_the_whole_text() -> None:
    error = refusal('{"a": "' + "长" * 500 + '" "b": 1, "c": "' + "x" * 500 + '"}')
    assert '长长长" "b": 1, "c": "xxx' in error.text
    assert error.text.count("长") < 40


@pytest.mark.parametrize(
    "raw",
    [
        '{"a": "NaN Infinity 1e400 {[{[ \\" \\\\"}',
        '{"a": "' + "[" * 500 + '"}',
        '{"a": ' + "7" * 4300 + "}",
        '{"a": 18446744073709551617}',
        '{"a": ' + "[" * 99 + "]" * 99 + "}",
        '{"a": "\\ud83d\\ude00 \\\\ud83d"}',
        '{"a": "' + "8" * 5000 + '"}',
        '{"a": 1e-400}',
    ],
    ids=range(8),
)
def test_what_only_looks_like_it_is_taken(raw: str) -> None:
    parsed = parse_arguments(raw)
    assert parsed.value == json.loads(raw)
    assert parsed.repairs == ()


def test_text_over_the_size_limit_is_refused_without_reading_it() -> None:
    assert "at most 10,000,000" in refusal("x" * 10_000_001).text


def test_depth_and_digits_are_taken_up_to_their_limits_and_not_beyond() -> None:
    lists, digits = MAX_DEPTH - 1, "1" * MAX_DIGITS
    assert parse_arguments(f'{{"a": {"[" * lists}{"]" * lists}}}').value
    assert parse_arguments(f'{{"a": {digits}}}').value == {"a": int(digits)}
    with pytest.raises(MalformedArguments, match="more than 100 levels"):
        parse_arguments(f'{{"a": [{"[" * lists}{"]" * lists}]}}')
    with pytest.raises(MalformedArguments, match="more than 4300 digits"):
        parse_arguments(f'{{"a": {digits}1}}')


@pytest.mark.parametrize("attack", ["1" * 5_000_000, '"' * 2_000_000, '{"a":"' + "\\" * 2_000_000])
def test_hostile_text_is_refused_in_linear_time(attack: str) -> None:
    started = time.perf_counter()
    refusal('{"a": ' + attack)
    assert time.perf_counter() - started < 10


# — repairs —


@pytest.mark.parametrize(
    ("raw", "value", "repairs"),
    [
        ('{"a": "x\ny\t"}', {"a": "x\ny\t"}, ("control_characters",)),
        ('```json\n{"a": 1}\n```', {"a": 1}, ("code_fence",)),
        ('  ```\n{"a": {"b": "```"}}\n```\n', {"a": {"b": "```"}}, ("code_fence",)),
        ('```{"a": 1}```', {"a": 1}, ("code_fence",)),
        ('```json\n{"a": "x\ny"}\n```', {"a": "x\ny"}, ("code_fence", "control_characters")),
        ('"{\\"a\\": 1}"', {"a": 1}, ("double_encoded",)),
        ('"{\\"a\\": \\"x\\ny\\"}"', {"a": "x\ny"}, ("double_encoded", "control_characters")),
        ('"{\n\\"a\\": \\"x\\ny\\"}"', {"a": "x\ny"}, ("control_characters", "double_encoded")),
    ],
)
def test_the_three_declared_repairs_are_made_and_named(
    raw: str, value: object, repairs: tuple[str, ...]
) -> None:
    parsed = parse_arguments(raw)
    assert (parsed.value, parsed.repairs) == (value, repairs)


@pytest.mark.parametrize(
    "raw",
    [
        'Here it is: ```json\n{"a": 1}\n```',
        '```json\n{"a": 1}\n```\n```json\n{"b": 1}\n```',
        "```json\n[1]\n```",
        json.dumps(json.dumps(json.dumps({"a": 1}))),
        json.dumps("[1]"),
        json.dumps(""),
        "{'a': 1}",
        '{"a": 1,}',
        '{"a": "x\ny"',
    ],
)
def test_nothing_else_is_repaired(raw: str) -> None:
    refusal(raw)


@pytest.mark.parametrize(
    "raw",
    [
        '```json\n{"a": 1, "a": 2}\n```',
        '```json\n{"a": NaN}\n```',
        json.dumps('{"a": NaN}'),
        json.dumps('{"a": "\\ud83d"}'),
        '{"a": "x\ny", "b": 1e400}',
    ],
)
def test_what_is_never_taken_is_not_taken_after_a_repair_either(raw: str) -> None:
    refusal(raw)


@given(OBJECTS)
def test_an_object_encoded_twice_or_fenced_is_the_same_object(value: dict[str, object]) -> None:
    text = json.dumps(value, ensure_ascii=False)
    assert parse_arguments(json.dumps(text)).value == value
    assert parse_arguments(f"```json\n{text}\n```").value == value


# — the ways in —


@given(OBJECTS)
def test_a_dict_given_as_arguments_becomes_its_text(value: dict[str, object]) -> None:
    assert parse_arguments(object_to_text(value)).value == value


def test_text_stays_what_it_is_and_none_is_no_text() -> None:
    assert object_to_text(' {"a": 1,} ') == ' {"a": 1,} '
    assert object_to_text(None) == ""


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        ([1], "a list"),
        (5, "a number"),
        (b"{}", "a bytes"),
        ({"a": object()}, "cannot be written as JSON"),
        ({"a": {"b": "\ud83d"}}, "JSON: a string holds half a surrogate pair"),
    ],
)
def test_arguments_of_no_known_form_are_malformed(raw: object, says: str) -> None:
    with pytest.raises(MalformedArguments, match=says) as caught:
        object_to_text(raw)
    caught.value.text.encode()


def test_a_dict_that_holds_itself_is_malformed() -> None:
    value: dict[str, object] = {}
    value["a"] = value
    with pytest.raises(MalformedArguments, match="Circular"):
        object_to_text(value)


@pytest.mark.parametrize("value", [{"a": math.nan}, {"a": [math.inf]}, {1: "a", "1": "b"}])
def test_a_dict_that_json_cannot_hold_is_refused_as_its_text_would_be(value: object) -> None:
    refusal(object_to_text(value))


def test_any_json_value_can_be_parsed_as_strictly() -> None:
    assert parse_json("[1, 2]") == [1, 2]
    with pytest.raises(MalformedArguments):
        parse_json('[{"a": 1, "a": 2}]')
    with pytest.raises(json.JSONDecodeError):
        parse_json("[1,]")


@pytest.mark.parametrize(
    ("text", "line", "column", "near"),
    [
        ("{x}", 1, 2, "`{x}`"),
        ('{"a": 1,\n "b" 2}', 2, 6, '`{"a": 1,  "b" 2}`'),
        ('{"a": "' + "x" * 99 + '", y' + "z" * 99 + "}", 1, 110, f'`…{"x" * 27}", y{"z" * 29}…`'),
    ],
)
def test_where_a_text_stops_to_be_json_is_told(
    text: str, line: int, column: int, near: str
) -> None:
    with pytest.raises(MalformedArguments) as caught:
        parse_arguments(text)
    found = caught.value.details
    assert (found["line"], found["column"]) == (line, column)
    assert f"near {near}" in caught.value.text

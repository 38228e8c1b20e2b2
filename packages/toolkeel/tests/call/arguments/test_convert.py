"""One value as another type: only another spelling of it, digit by digit."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.define.calling import taking
from toolkeel import ToolCall, Toolset
from toolkeel.call.arguments.convert import NOTHING, WrittenNumbers, convert, kinds_of


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1e20", 10**20),
        ("1e23", 10**23),
        ("12345678901234567890.0", 12345678901234567890),
        ("-1.5E30", -15 * 10**29),
    ],
)
def test_a_whole_number_with_an_exponent_is_the_integer_that_was_written(
    text: str, number: int
) -> None:
    made, seen = taking(int)
    [message] = Toolset([made]).run_sync([ToolCall("1", made.name, f'{{"x": {text}}}')])
    assert message.kind is None, message.text
    assert seen == [number]
    assert message.details["coerced"]


def test_a_number_with_a_fraction_stays_none() -> None:
    made, seen = taking(int)
    [message] = Toolset([made]).run_sync(
        [ToolCall("1", made.name, '{"x": 12345678901234567890.5}')]
    )
    assert message.kind == "invalid_arguments"
    assert seen == []


@given(st.integers(-(10**60), 10**60), st.integers(0, 40))
def test_every_written_integer_is_read_digit_by_digit(number: int, zeros: int) -> None:
    written = WrittenNumbers(json.dumps([0])[:-1] + f", {number}e{zeros}]")
    assert written.integer_at((1,)) == number * 10**zeros


def test_what_is_no_other_spelling_is_nothing() -> None:
    assert convert("x", "integer") is NOTHING
    assert convert(True, "integer") is NOTHING
    assert WrittenNumbers('{"a": 1}').integer_at(("a",)) is NOTHING
    assert WrittenNumbers('{"a": 1}').integer_at(("b",)) is NOTHING


def test_the_text_of_many_numbers_is_parsed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    loads = json.loads
    monkeypatch.setattr(
        json, "loads", lambda text, **how: parsed.append(text) or loads(text, **how)
    )
    numbers = WrittenNumbers('{"x": [1e20, 2e20, 3e20]}')
    assert [numbers.integer_at(("x", at)) for at in range(3)] == [10**20, 2 * 10**20, 3 * 10**20]
    assert len(parsed) == 1


@pytest.mark.parametrize(
    ("schema", "kinds"),
    [
        ({"type": "integer"}, ["integer"]),
        ({"type": ["string", "null"]}, ["string", "null"]),
        ({"enum": [1, "x", 2.5, True, None, 2]}, ["integer", "number", "boolean"]),
        ({"const": True}, ["boolean"]),
        ({"const": "x"}, []),
    ],
)
def test_a_value_may_become_a_named_type_or_that_of_a_number_or_boolean_listed(
    schema: dict[str, object], kinds: list[str]
) -> None:
    assert kinds_of(schema) == kinds


@pytest.mark.parametrize(
    ("value", "kind", "converted"),
    [
        ("[1]", "array", [1]), (' {"a": 1}', "object", {"a": 1}), ("[1]", "object", NOTHING),
        ("1", "array", NOTHING), ("[1", "array", NOTHING), ("[1]", "string", NOTHING),
        ("1", "string", NOTHING), ("5", "integer", 5), ("1.5", "number", 1.5), ("5", "number", 5),
        ("true", "boolean", True), ("True", "boolean", NOTHING), (2.0, "integer", 2),
        (2.5, "integer", NOTHING), (2.0**53, "integer", 2**53), (2.0**54, "integer", NOTHING),
        (2.0, "number", NOTHING), ("1e999", "number", NOTHING), (None, "integer", NOTHING),
    ],
)  # fmt: skip
def test_a_value_is_converted_where_it_spells_one_of_the_type(
    value: object, kind: str, converted: object
) -> None:
    found = convert(value, kind)
    assert (found, type(found)) == (converted, type(converted))

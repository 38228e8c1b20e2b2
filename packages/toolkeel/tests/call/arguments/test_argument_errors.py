"""The error of refused arguments: with what was sent, the coercions before it, and secrets masked."""

from __future__ import annotations

from typing import Annotated

import pytest

from tests.define.calling import answered
from toolkeel import Secret, Tool, tool
from toolkeel.call.arguments.argument_errors import coercions_of
from toolkeel.call.arguments.validate import prepare
from toolkeel.errors import InvalidArguments
from toolkeel.messages import ToolCall


@tool
def count(n: int, most: int, key: Annotated[int, Secret()] = 0, note: str = "") -> None:
    """Count."""


def test_a_refused_call_names_what_was_sent_and_what_was_coerced_before() -> None:
    text = answered(count, {"n": "12", "most": "many", "note": None}).text
    assert '- most: expected an integer, got "many" (a string)' in text
    assert 'n: "12" was taken as 12 (integer_from_string)' in text
    assert "note: null was dropped (null_dropped)" in text


def test_a_dropped_null_is_told_as_it_was_sent_where_it_is_wrong() -> None:
    either = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}
    number = {"type": "integer"}
    schema = {"properties": {"a": number, "b": number, "n": number}, **either}
    made = Tool.from_schema("take", "Take it.", schema, lambda _run, _sent: "taken")
    text = answered(made, {"a": None, "n": "x"}).text
    assert 'n: expected an integer, got "x" (a string)' in text
    assert "a: expected an integer, got null" in text
    text = answered(count, {"n": None, "most": "x"}).text
    assert "n: expected an integer, got null" in text


def test_a_key_that_is_not_known_is_told_beside_a_coercion() -> None:
    text = answered(count, {"n": "12", "most": 3, "zz": "x"}).text
    assert "zz: " in text and "got an unknown key" in text and '"x"' not in text


def test_the_coercion_of_a_secret_is_masked() -> None:
    with pytest.raises(InvalidArguments) as caught:
        prepare(ToolCall("c", "count", {"n": "12", "most": "many", "key": "34"}), count)
    assert coercions_of(caught.value) == (
        'n: "12" was taken as 12 (integer_from_string)',
        "key: *** was taken as *** (integer_from_string)",
    )
    assert coercions_of(ValueError("other")) == ()


@tool
def weigh(grams: Annotated[float, Secret()], n: int = 0) -> None:
    """Weigh."""


@pytest.mark.parametrize("before", ["", "```json\n"])
@pytest.mark.parametrize("number", ["1", '"1"'])
def test_a_secret_number_that_a_float_cannot_hold_is_reported_masked(
    before: str, number: str
) -> None:
    text = f'{before}{{"grams": 9007199254740993, "n": {number}}}{before[:3]}'
    prepared = prepare(ToolCall("c", "weigh", text), weigh)
    assert "9007" not in str(prepared.changes)
    masked = "grams: *** was taken as *** (inexact_number)"
    assert (masked in prepared.changes) is not bool(before)

"""Whether text that pydantic-core took must be parsed strictly after all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, RootModel, TypeAdapter
from pydantic_core import from_json

from toolkeel.call.arguments.parse import parse_arguments
from toolkeel.call.arguments.strict_reparse import needs_strict_check, overflows
from toolkeel.errors import MalformedArguments


class Inner(BaseModel):
    model_config = ConfigDict(extra="allow")
    a: Any = 0
    b: Any = 1


class Outer(BaseModel):
    inner: Inner = Inner()
    many: list[Inner] = []


class Table(RootModel[dict[str, int]]):
    pass


# Objects as lists of pairs, so that keys can be repeated.
KEYS = st.sampled_from(["a", "b", "c", "a:b", '"', "{"])


def objects(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    pairs = st.lists(st.tuples(KEYS, inner), max_size=4)
    return pairs.map(lambda items: "{" + ",".join(f"{json.dumps(k)}:{v}" for k, v in items) + "}")


PAIRS = st.recursive(
    st.sampled_from(["1", '"x"', '"a:{b"', "null", "1.5", "NaN", "-Infinity", '"NaN"', "1e400"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]") | objects(inner)
    ),
    max_leaves=12,
)


@given(objects(PAIRS))
def test_text_that_need_not_be_checked_passes_the_strict_parse(text: str) -> None:
    validated = from_json(text)
    if not needs_strict_check(text, validated):
        assert parse_arguments(text).value == validated


@given(objects(PAIRS))
def test_the_same_holds_for_models_with_defaults(text: str) -> None:
    for model in (Inner, Outer):
        try:
            validated = model.model_validate_json(text, strict=True)
        except ValueError:
            continue
        values = {name: getattr(validated, name) for name in type(validated).model_fields}
        values |= validated.model_extra or {}
        given_names = validated.model_fields_set
        if not needs_strict_check(text, values, given_names):
            parse_arguments(text)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": 1, "b": "x"}', dict[str, Any]),
        ('{"a": {"b": 1, "c": [{"d": 1}, {"d": 2}]}}', dict[str, Any]),
        ('{"o": {"inner": {"a": 1, "z": {"y": 1}}, "many": [{}, {"b": 2}]}}', dict[str, Outer]),
        ('{"t": {"x": 1, "y": 2}}', dict[str, Table]),
        ('{"at": "12:30", "url": "http://x:80/"}', dict[str, Any]),
        ('{"o": {"inner": {"a": "x: y"}}}', dict[str, Outer]),
        ("{}", dict[str, Any]),
    ],
)
def test_sound_text_is_not_parsed_a_second_time(text: str, kind: Any) -> None:
    assert not needs_strict_check(text, TypeAdapter(kind).validate_json(text))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": 1, "a": 2}', dict[str, Any]),
        ('{"a": {"b": 1, "b": 2}}', dict[str, Any]),
        ('{"o": {"inner": {"a": 1, "a": 2}}}', dict[str, Outer]),
        ('{"t": {"x": 1, "x": 2}}', dict[str, Table]),
        ('{"a": NaN}', dict[str, Any]),
        ('{"a": [-Infinity]}', dict[str, Any]),
        ('{"a": [[{"b": 1e400}]]}', dict[str, Any]),
        ('{"o": {"inner": {"a": 1e400}}}', dict[str, Outer]),
        ('{"a" : "x:y", "a": "x"}', dict[str, Any]),
        ('{"a" :"x", "a" :"y:"}', dict[str, Any]),
    ],
)
def test_what_pydantic_core_passes_over_is_noticed(text: str, kind: Any) -> None:
    assert needs_strict_check(text, TypeAdapter(kind).validate_json(text))
    with pytest.raises(MalformedArguments):
        parse_arguments(text)


def test_defaults_do_not_make_up_for_a_repeated_key() -> None:
    assert needs_strict_check('{"a": 1, "a": 2}', {"a": 2, "b": 0}, {"a"})


def test_a_validator_that_makes_objects_does_not_hide_a_repeated_key() -> None:
    assert needs_strict_check('{"p": "x", "p": "y"}', {"p": {"name": "y"}})


@given(st.integers(0, 400), st.sampled_from(["e", "E", "e+", ".5e"]), st.integers(0, 400))
def test_every_number_that_overflows_is_seen(digits: int, sign: str, exponent: int) -> None:
    text = f"{'9' * digits or '1'}{sign}{exponent}"
    if float(text) == float("inf"):
        assert overflows(f'{{"a": {text}}}')


def test_ordinary_numbers_do_not_look_as_if_they_overflowed() -> None:
    assert not overflows('{"a": 1e30, "b": 12345678901234567890, "c": 2.5E-7, "d": "e10"}')


def test_a_few_digits_do_not_overflow_wherever_they_are() -> None:
    assert not overflows("x" * 199 + "5" + "x" * 400)
    assert overflows("x" * 199 + "5" * 400)

"""Expected values: literals and matchers, however deep they are."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel_studio.evals.matchers import (
    Matcher,
    describe,
    matches,
    parse_expected,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(JSON)
def test_every_value_is_expected_exactly_with_exact(value: object) -> None:
    expected = parse_expected({"exact": value})
    assert matches(expected, value)
    assert not matches(expected, [value])


@given(JSON, JSON)
def test_a_literal_matches_only_what_is_equal(one: object, other: object) -> None:
    expected = parse_expected({"exact": one})
    assert matches(expected, other) == (repr(one) == repr(other) or _same(one, other))


def _same(one: object, other: object) -> bool:
    """Compare as JSON does, texts in form NFC."""
    if isinstance(one, str) and isinstance(other, str):
        return unicodedata.normalize("NFC", one) == unicodedata.normalize("NFC", other)
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k]) for k in one)
    return one == other


@pytest.mark.parametrize(
    ("expected", "right", "wrong"),
    [
        ("Café", "Cafe\u0301", "Cafe"),
        (3, 3.0, "3"),
        (True, True, 1),
        ({"regex": "^東"}, "東京", "京東"),
        ({"regex": "1"}, "a1", 1),
        ({"approx": 3.1, "within": 0.1}, 3.2, 3.21),
        ({"approx": 100}, 100.00001, 100.1),
        ({"approx": 1}, 1.0, True),
        ({"contains": "猫"}, "黒猫", "犬"),
        ({"contains": {"regex": "^n"}}, ["x", "news"], ["x"]),
        ({"contains": {"a": 1}}, {"a": 1, "b": 2}, {"b": 2}),
        ({"contains": "a"}, {"a": 1}, {"b": "a"}),
        ({"one_of": ["C", {"regex": "(?i)celsius"}]}, "Celsius", "F"),
        ([{"any": True}, 2], [None, 2], [2]),
        ({"point": {"x": {"approx": 1.0}}, "n": 1}, {"point": {"x": 1}, "n": 1}, {"n": 1}),
        ({"exact": {"any": True}}, {"any": True}, {"any": False}),
        ({"deep": {"any": True}, "n": 1}, {"n": 1}, {"n": 2}),
    ],
)
def test_a_matcher_accepts_what_it_says(expected: object, right: object, wrong: object) -> None:
    parsed = parse_expected(expected)
    assert matches(parsed, right)
    assert not matches(parsed, wrong)


def test_a_function_decides_in_a_python_file() -> None:
    parsed = parse_expected({"city": str.istitle})
    assert matches(parsed, {"city": "Rome"})
    assert not matches(parsed, {"city": "rome"})
    assert describe(parsed) == '{"city": {"check": "istitle"}}'


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"regx": "a"}, "did you mean 'regex'"),
        ({"regex": "("}, "is not a regular expression"),
        ({"regex": 3}, "regex needs a text"),
        ({"approx": "3"}, "approx needs a number"),
        ({"approx": 1, "within": "x"}, "within is a number beside approx"),
        ({"regex": "a", "within": 1}, "within is a number beside approx"),
        ({"any": False}, "any is written {any: true}"),
        ({"one_of": []}, "one_of needs a list"),
        ([{"deep": {"on_of": [1]}}], "did you mean 'one_of'"),
        ({1: "a"}, "write it in quotes"),
        ({"a": {1, 2}}, "is a set"),
    ],
)
def test_a_matcher_that_is_written_wrongly_names_the_fix(wrong: object, told: str) -> None:
    with pytest.raises(ValueError, match=r".") as failed:
        parse_expected(wrong)
    assert told in str(failed.value)


def test_matchers_are_shown_as_a_file_has_them() -> None:
    written = {"a": {"regex": "^猫"}, "b": [{"approx": 1, "within": 0.5}], "c": {"any": True}}
    assert describe(parse_expected(written)) == (
        '{"a": {"regex": "^猫"}, "b": [{"approx": 1, "within": 0.5}], "c": {"any": true}}'
    )
    assert isinstance(parse_expected({"any": True}), Matcher)

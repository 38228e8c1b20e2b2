"""A value is shown if it is short, and counted if not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.call.arguments.test_parse import JSON
from toolkeel.define.explain.value_phrases import cut_json, describe_value, short_json


@pytest.mark.parametrize(
    ("value", "phrase"),
    [
        ("twelve", '"twelve" (a string)'),
        ("北京", '"北京" (a string)'),
        ("a\n\x00b", '"a\\n\\u0000b" (a string)'),
        ("x\ud83d", '"x?" (a string)'),
        ("x" * 5000, f'"{"x" * 36}…" (a string of 5,000 characters)'),
        (5, "5 (an integer)"),
        (10**400, "about 10^400 (an integer)"),
        (-(10**400), "about -10^400 (an integer)"),
        (1.5, "1.5 (a number)"),
        (True, "true (a boolean)"),
        (None, "null"),
        ([], "an empty list"),
        ([1], "a list of 1 item"),
        ((1, 2), "a list of 2 items"),
        ({}, "an empty object"),
        ({"b": 1, "a": 2}, 'an object with "b", "a"'),
        ({"k" * 30 + str(i): 1 for i in range(900)}, "an object with 900 keys"),
        (object(), "a object"),
    ],
)
def test_a_value_is_shown_if_it_is_short_and_counted_if_not(value: object, phrase: str) -> None:
    assert describe_value(value) == phrase


@given(JSON | st.text() | st.integers())
def test_no_value_takes_more_than_eighty_characters(value: object) -> None:
    phrase = describe_value(value)
    assert 0 < len(phrase) <= 120 if isinstance(value, str) else len(phrase) <= 80
    phrase.encode()


def test_a_value_is_shown_up_to_sixty_characters_of_json_and_described_beyond() -> None:
    for length in range(55, 62):
        text = "x" * (length - 2)
        shown = short_json([1] * 0 + [text[:-2]])
        assert shown == (f'["{text[:-2]}"]' if length <= 60 else "a list of 1 item")
        assert len(cut_json([text])) == min(length + 2, 60)


@given(JSON)
def test_a_short_form_is_bounded_whatever_the_value(value: object) -> None:
    assert len(short_json(value)) <= 120
    short_json(value).encode()

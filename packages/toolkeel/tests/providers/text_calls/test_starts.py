"""A start of a call is recognized as soon as its text allows, and not before."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.providers.text_calls.starts import begins_fence, begins_json, begins_list

NAMES = ["add", "get_weather"]
CALL = '{"name": "add", "arguments": {"a": 1}}'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{", None),
        ('{"na', None),
        ('{ "name" : "add"', True),
        ('{"name": "addition"', False),
        ('[{"function": {"na', True),
        ('{"who"', False),
    ],
)
def test_json_starts_like_a_call(text: str, expected: bool | None) -> None:
    assert begins_json(text, NAMES) is expected


def test_a_python_list_starts_with_the_name_of_a_tool() -> None:
    found = [begins_list(text, NAMES) for text in ("[", "[ad", "[add (", "[sub(", "[1")]
    assert found == [None, None, True, False, False]


@given(st.sampled_from(["```", "~~~~"]), st.sampled_from(["", "json", " json"]), st.integers(0, 60))
def test_a_fence_around_a_call_is_never_refused_while_it_arrives(
    fence: str, language: str, size: int
) -> None:
    text = f"{fence}{language}\n{CALL}"
    assert begins_fence(text, NAMES, is_final=False) is True
    assert begins_fence(text[: max(size, 3)], NAMES, is_final=False) in (None, True)
    assert begins_fence(f"{fence}{language}\nprint(1)", NAMES, is_final=False) is False

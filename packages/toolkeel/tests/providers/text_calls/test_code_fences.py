"""A place in a text is in code if a fence is open there, however the text arrives."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.providers.text_calls.code_fences import CodeFences

CASES = [
    ("", False),
    ("a", False),
    ("```\n", True),
    ("```", False),  # the line may go on
    ("a ```\n", False),
    ("```py\nx\n", True),
    ("```py\nx\n```", True),
    ("```py\nx\n```\n", False),
    ("```py\nx\n```py\n", True),  # no closing fence has an info
    ("````\n```\n", True),
    ("````\n`````\n", False),
    ("~~~\n```\n", True),
    ("~~~\n```\n~~~\n", False),
    ("```a`b\n", False),
    ("> ```\n", True),
    ("1. ```\n", True),
    ("```\r\nx\r\n```\r\n", False),
]


@pytest.mark.parametrize(("text", "is_open"), CASES)
@given(at=st.lists(st.integers(0, 99), max_size=5), asked=st.booleans())
def test_a_fence_is_open_from_its_line_to_the_line_that_closes_it(
    text: str, is_open: bool, at: list[int], asked: bool
) -> None:
    fences = CodeFences()
    edges = sorted({0, len(text), *(place % (len(text) + 1) for place in at)})
    for start, end in pairwise(edges):
        fences.add(text[start:end])
        if asked:
            fences.is_open()
    assert fences.is_open() == is_open

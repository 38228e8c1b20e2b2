"""Arithmetic found in prompts."""

from __future__ import annotations

import contextlib
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.builtin.calculator import calculator
from toolkeel.errors import ToolError
from toolkeel.providers.offline.arithmetic import find_expressions


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        ("2 + 2 * (3 - 1)", ["2 + 2 * (3 - 1)"]),
        ("what is 15% of 80, and what day is it", ["15% of 80"]),
        ("what's 20 percent of 50", ["20% of 50"]),
        ("3的平方", ["3**2"]),
        ("the square root of 16", ["sqrt(16)"]),
        ("5 times 7 plus 3", ["5 * 7 + 3"]),
        ("100 divided by 4", ["100 / 4"]),
        ("2 to the power of 8", ["2**8"]),
        ("8乘以7", ["8 * 7"]),
        ("５＋３×２", ["5 + 3 * 2"]),
        ("2^10", ["2^10"]),
        ("max(3, 5) and 5!", ["max(3, 5)", "5!"]),
        ("1,000 + 5", ["1000 + 5"]),
        ("2+2 and 3*3", ["2 + 2", "3 * 3"]),
        ("add 3 and 5", ["3 + 5"]),
        ("the product of 6, 7 and 8", ["6 * 7 * 8"]),
    ],
)
def test_arithmetic_in_signs_and_words_is_spelled_for_a_calculator(
    prompt: str, expected: list[str]
) -> None:
    assert [found.text for found in find_expressions(prompt)] == expected


@pytest.mark.parametrize(
    "prompt",
    ["3 apples", "version 1.2.3", "on 2025-01-02", "temperature -5", "50%", "(3)", "e", "5 -", "2 (3)"],
)  # fmt: skip
def test_what_is_no_arithmetic_is_left_alone(prompt: str) -> None:
    assert find_expressions(prompt) == []


def test_positions_point_into_the_prompt() -> None:
    prompt = "please work out 3 plus 4, thanks"
    [found] = find_expressions(prompt)
    assert prompt[found.start : found.end] == "3 plus 4"


@given(st.text(st.sampled_from("0123456789.+-*/%^()!, ofsqrt的加和平方 "), max_size=40))
def test_whatever_is_found_lies_in_order_and_apart(prompt: str) -> None:
    found = find_expressions(prompt)
    for before, after in pairwise(found):
        assert before.end <= after.start


@given(st.integers(-99, 99), st.sampled_from("+-*"), st.integers(0, 99))
def test_what_is_found_means_what_was_written(left: int, sign: str, right: int) -> None:
    [found] = find_expressions(f"what is {left} {sign} {right}?")
    assert calculator(found.text) == str(eval(f"{left} {sign} {right}"))


@given(st.text(max_size=60))
def test_any_text_is_searched_without_a_crash(prompt: str) -> None:
    for found in find_expressions(prompt):
        with contextlib.suppress(ToolError):  # readable, but without a value, such as 1/0
            calculator(found.text)

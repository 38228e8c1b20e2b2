"""The calls of one question against the expected ones."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.evals.user_tools import TOOLS
from toolkeel_studio.evals.cases import ExpectedCall
from toolkeel_studio.evals.matchers import parse_expected
from toolkeel_studio.evals.scoring import MadeCall, judge


def want(city: object, **more: Any) -> ExpectedCall:
    return ExpectedCall("weather", {"city": parse_expected(city)}, **more)


def made(city: object, kind: str = "", turn: int = 1, **more: object) -> MadeCall:
    return MadeCall("weather", {"city": city, **more}, kind, turn)


BAD = MadeCall("weather", '{"town": 1}', "invalid_arguments", 1)


@pytest.mark.parametrize(
    ("expected", "calls", "right_tool", "right_arguments", "corrected", "why"),
    [
        ([], [], True, True, None, ""),
        ([want("Oslo")], [made("Oslo")], True, True, None, ""),
        ([want("Oslo")], [made("Oslo", days=1, unit="C")], True, True, None, ""),
        ([want("Oslo")], [made("Oslo", kind="crashed")], True, True, None, ""),
        ([want("Oslo")], [], False, False, None, "no call; expected weather"),
        ([], [made("Oslo")], False, False, None, "called weather; expected no call"),
        (
            [want("Oslo")], [made("Rome")], True, False, None,
            'weather: city is "Rome", expected "Oslo"',
        ),
        (
            [want("Oslo")], [made("Oslo", days=3)], True, False, None,
            "weather: days is 3, expected its default",
        ),
        ([want("Oslo", others=True)], [made("Oslo", days=3)], True, True, None, ""),
        (
            [want("Oslo")], [made("Oslo"), made("Oslo")], False, False, None,
            "called weather 2 times; expected weather",
        ),
        ([want("Oslo")], [BAD, made("Oslo", turn=2)], True, True, True, ""),
        (
            [want("Oslo")], [BAD], True, False, False,
            'weather({"town": 1}): invalid_arguments',
        ),
        (
            [want("Oslo")], [BAD, made("Rome", turn=2)], True, False, False,
            'weather: city is "Rome", expected "Oslo"',
        ),
        (
            [want("Oslo")], [MadeCall("wether", "{}", "unknown_tool", 1)], False, False, False,
            "called wether; expected weather",
        ),
    ],
)  # fmt: skip
def test_calls_are_judged_by_tool_and_arguments(
    expected: list[ExpectedCall],
    calls: list[MadeCall],
    right_tool: bool,
    right_arguments: bool,
    corrected: bool | None,
    why: str,
) -> None:
    found = judge(expected, calls, TOOLS)
    assert (found.right_tool, found.right_arguments) == (right_tool, right_arguments)
    assert (found.corrected, found.why) == (corrected, why)


@given(st.lists(st.sampled_from("abc"), min_size=1, max_size=6), st.randoms(use_true_random=False))
def test_the_order_of_calls_does_not_matter_even_if_matchers_overlap(
    cities: list[str], chance: random.Random
) -> None:
    expected = [want({"any": True} if n % 2 else city) for n, city in enumerate(cities)]
    calls = [made(city) for city in cities]
    chance.shuffle(expected)
    chance.shuffle(calls)
    assert judge(expected, calls, TOOLS).right_arguments
    assert not judge([*expected, want("d")], [*calls, made("e")], TOOLS).right_arguments

"""A number that a float cannot hold is reported, wherever it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from toolkeel import ToolCall, Toolset, tool
from toolkeel.call.arguments.inexact_numbers import find_inexact_numbers


@tool
def note(id: float, more: list[float] | None = None) -> str:
    """Note a number."""
    return f"{id!r}"


def test_a_number_above_what_floats_hold_exactly_is_reported_with_the_one_that_was_taken() -> None:
    for text, expected in (
        (
            '{"id": 9007199254740993}',
            ("id: 9007199254740993 was taken as 9007199254740992.0 (inexact_number)",),
        ),
        ('{"id": 9007199254740992}', None),
        ('{"id": 12}', None),
        (
            '{"id": 1, "more": [9007199254740993.0]}',
            ("more[0]: 9007199254740993.0 was taken as 9007199254740992.0 (inexact_number)",),
        ),
    ):
        [message] = Toolset([note]).run_sync([ToolCall("1", "note", text)])
        assert message.details.get("coerced") == expected


class Spot(BaseModel):
    """A place."""

    at: float = Field(alias="where")


class Pair(NamedTuple):
    """Two numbers."""

    one: float
    two: int = 0


@dataclass
class Held:
    """Numbers of many kinds."""

    spot: Spot
    pairs: tuple[Pair, ...] = ()
    some: frozenset[float] = frozenset()
    n: int = 0


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ('{"held": {"spot": {"where": 9007199254740993}}}', "held.spot.where"),
        ('{"held": {"spot": {"where": 1}, "pairs": [{"one": 9007199254740993}]}}', "held.pairs[0].one"),
        ('{"held": {"spot": {"where": 1}, "some": [2, 9007199254740993, 1]}}', "held.some[1]"),
        ('{"held": {"spot": {"where": 9007199254740993}, "n": "5"}}', "held.spot.where"),
    ],
)  # fmt: skip
def test_a_number_within_objects_of_any_class_is_reported(text: str, path: str) -> None:
    @tool
    def keep(held: Held) -> str:
        """Keep numbers."""
        return "kept"

    [message] = Toolset([keep]).run_sync([ToolCall("1", "keep", text)])
    wanted = f"{path}: 9007199254740993 was taken as 9007199254740992.0 (inexact_number)"
    assert message.details["coerced"][-1] == wanted
    exact = text.replace("993", "992")
    [message] = Toolset([keep]).run_sync([ToolCall("1", "keep", exact)])
    assert "inexact" not in str(message.details.get("coerced"))


@given(st.integers(-(10**25), 10**25))
def test_an_integer_is_reported_if_and_only_if_its_float_is_another_number(number: int) -> None:
    found = find_inexact_numbers(f'{{"id": {number}}}', {"id": float(number)})
    assert bool(found) is (int(float(number)) != number)

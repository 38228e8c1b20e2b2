"""Options that other libraries' programs give are known, or refused by name."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any, TypedDict

import pytest

from toolkeel.errors import SetupError
from toolkeel_compat.check_options import (
    SECONDS,
    TURNS,
    check_fields,
    check_options,
    maybe_await,
)


class Known(TypedDict, total=False):
    name: str
    timeout: Annotated[float | None, SECONDS]
    turns: Annotated[int | None, TURNS]


@dataclass
class Settings:
    limit: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)


REFUSED = {"debug": "write a listener"}


def test_an_option_that_is_off_asks_for_nothing() -> None:
    given: dict[str, Any] = {"name": "a", "debug": None}
    assert check_options(given, Known, "run", REFUSED) == {"name": "a"}


def test_an_option_that_would_not_be_honoured_is_refused_with_what_to_write() -> None:
    with pytest.raises(SetupError, match=r"run\(debug=\.\.\.\): write a listener"):
        check_options({"debug": True}, Known, "run", REFUSED)


def test_an_option_that_nobody_knows_is_told_with_those_there_are() -> None:
    with pytest.raises(TypeError, match="run has no option 'nme'; it has name"):
        check_options({"nme": None}, Known, "run", REFUSED)


@pytest.mark.parametrize("later", [False, True])
def test_what_a_function_gives_may_have_to_be_awaited(later: bool) -> None:
    async def soon() -> int:
        return 3

    async def given() -> int:
        return await maybe_await(soon() if later else 3)

    assert asyncio.run(given()) == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"name": 3},
        {"name": None},
        *({"timeout": one} for one in (-1, 0, float("nan"), float("inf"), "3", True)),
        *({"turns": one} for one in (0, -1, "3", True)),
    ],
)
def test_a_value_of_a_wrong_type_is_refused_by_the_options_name(wrong: dict[str, Any]) -> None:
    [name] = wrong
    with pytest.raises(SetupError, match=rf"run\({name}=\.\.\.\): expected a "):
        check_options(wrong, Known, "run", REFUSED)


def test_a_value_of_the_right_type_passes() -> None:
    given: dict[str, Any] = {"name": "", "timeout": 0.5, "turns": 1}
    assert check_options(given, Known, "run") == given
    empty: dict[str, Any] = {"timeout": None, "turns": None}
    assert check_options(empty, Known, "run") == empty


def test_a_field_of_a_dataclass_is_checked_as_well() -> None:
    class Derived(Settings):
        """The same."""

    assert Settings(3).limit == 3
    for made in (Settings, Derived):
        with pytest.raises(SetupError, match=r"\(limit=\.\.\.\): expected a whole number or None"):
            made("3")  # type: ignore[arg-type]

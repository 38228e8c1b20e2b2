"""Options that other libraries' programs give are known, or refused by name."""

from __future__ import annotations

import asyncio
from typing import Any, TypedDict

import pytest

from toolkeel.errors import SetupError
from toolkeel_compat.check_options import check_options, maybe_await


class Known(TypedDict, total=False):
    name: str


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

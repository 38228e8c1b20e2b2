"""Actions, and the thread in which sync computers are used."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.waiting import run as run_async
from toolkeel import SetupError, ToolError
from toolkeel_workspace.computer.actions import (
    Click,
    ComputerDriver,
    Type,
    parse_anthropic_call,
    parse_openai_call,
)


class Picky:
    """A sync computer that may be used from one thread only."""

    dimensions = (10, 10)

    def __init__(self) -> None:
        self.threads: set[int] = set()

    def screenshot(self) -> bytes:
        self.threads.add(threading.get_ident())
        return b""

    def click(self, x: int, y: int, button: str) -> None:
        self.threads.add(threading.get_ident())


def test_sync_methods_run_in_one_thread_that_is_not_the_loops() -> None:
    computer = Picky()

    async def main() -> None:
        hands = ComputerDriver(computer)
        for _ in range(5):
            await hands.perform(Click("click", 1, 1))
            await hands.take_screenshot()
        hands.close()

    run_async(main)
    assert len(computer.threads) == 1 and threading.get_ident() not in computer.threads


def test_what_a_computer_lacks_is_told() -> None:
    hands = ComputerDriver(Picky())
    with pytest.raises(ToolError, match="cannot type"):
        run_async(lambda: hands.perform(Type("type", "x")))
    with pytest.raises(ToolError, match="hold keys"):
        run_async(lambda: hands.perform(Click("click", 1, 1, "left", ["SHIFT"])))
    with pytest.raises(SetupError):
        ComputerDriver(None)


def test_warnings_become_an_argument_and_nulls_are_left_out() -> None:
    given: dict[str, Any] = {"actions": [{"type": "double_click", "x": 1, "y": 2, "keys": None}]}
    assert parse_openai_call(given) == {"actions": [{"type": "double_click", "x": 1, "y": 2}]}
    check = {"id": "1", "code": "c", "message": "m"}
    assert parse_openai_call({**given, "pending_safety_checks": [check]})["safety_checks"] == [
        check
    ]


def test_modifiers_of_anthropics_clicks_are_held() -> None:
    given = {"action": "left_click", "coordinate": [1, 2], "text": "ctrl+shift"}
    assert parse_anthropic_call(given)["actions"] == [
        {"type": "click", "x": 1, "y": 2, "button": "left", "keys": ["ctrl", "shift"]}
    ]

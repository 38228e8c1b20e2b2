"""What Tab offers after ``toolkeel call``; that shells ask for it is in `test_completion`."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel_studio.cli.call_words import complete_call

TOOLS = """
from typing import Literal


def paint(color: Literal["red", "green"], twice: bool = False) -> str:
    '''Paint.'''
    return color


def wash(item: str) -> str:
    '''Wash.'''
    return item
"""


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ([""], ["paint", "wash"]),
        (["wa"], ["wash"]),
        (["paint", ""], ["color=", "twice="]),
        (["paint", "color="], ["color=green", "color=red"]),
        (["paint", "color", "=", "r"], ["red"]),
        (["paint", "color", "="], ["green", "red"]),
        (["--json", "paint", "tw"], ["twice="]),
        (["nothing", "x="], []),
    ],
)
def test_tools_arguments_and_values_are_offered_however_the_shell_splits_the_line(
    tmp_path: Path, typed: list[str], offered: list[str]
) -> None:
    (file := tmp_path / "shop.py").write_text(TOOLS)
    assert complete_call([str(file), *typed]) == offered


def test_no_word_is_offered_that_a_shell_would_not_take_literally(tmp_path: Path) -> None:
    values = '"ok", "$(id)", "a;id", "`id`", "a b", "a|b", "*", "~", "a>b", "a\\nb", "\\x1b[2J", "东.京-1"'
    code = f"from typing import Literal\ndef go(to: Literal[{values}]) -> str:\n    'Go.'\n"
    (file := tmp_path / "trip.py").write_text(code)
    assert complete_call([str(file), "to="]) == ["to=ok", "to=东.京-1"]


def test_a_target_that_a_server_answers_is_not_loaded() -> None:
    assert complete_call(["http://127.0.0.1:1/mcp", ""]) == []

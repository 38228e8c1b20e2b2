"""``toolkeel tools``: a table for people, JSON for programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal

from tests.cli.commandline import Terminal, readable
from tests.cli.conftest import Here
from toolkeel import Effects, tool
from toolkeel_studio.cli.commands.tools import table, tool_json, usage
from toolkeel_studio.cli.terminal.text import cells


@tool(effects=Effects(read_only=True), tags=["网"])
def look(
    city: str,
    unit: Literal["celsius", "fahrenheit"] = "celsius",
    days: int = 3,
    tags: list[str] | None = None,
) -> dict[str, int]:
    """查询天气,今天和以后几天都可以。

    More about it.

    Args:
        city: 城市。
    """
    return {}


@tool
def 加(左: int, 右: int) -> int:
    """Add."""
    return 左 + 右


def test_a_table_has_a_row_for_each_tool_with_its_arguments() -> None:
    assert table([look, 加], None) == [
        "TOOL  ARGUMENTS                                       DESCRIPTION",
        "look  city [unit=celsius|fahrenheit] [days=3] [tags]  查询天气,今天和以后几天都可以。",
        "加    左 右                                           Add.",
    ]


def test_a_table_keeps_to_the_width_of_the_screen() -> None:
    lines = table([look, 加], 60)
    assert all(cells(line) <= 60 for line in lines)
    assert lines[1].startswith("look  city ")
    assert lines[2].startswith("      ")
    assert "".join("".join(lines).split()).count("查询天气") == 1


def test_arguments_are_shown_as_a_usage_line() -> None:
    assert usage(加.parameters) == "左 右"
    assert usage({"type": "object"}) == ""
    hostile = {"properties": {"a\x1b[2J\nb": {"type": "string", "default": "\x07"}}}
    assert usage(hostile) == r'[a\x1b[2J b="\u0007"]'


def test_json_says_all_that_is_known_of_a_tool() -> None:
    found = tool_json(look)
    assert json.loads(json.dumps(found))["parameters"]["required"] == ["city"]
    assert found["effects"] == {
        "read_only": True,
        "destructive": True,
        "idempotent": False,
        "open_world": True,
        "resources": [],
    }
    assert (found["name"], found["tags"], found["timeout"]) == ("look", ["网"], 30.0)


def test_the_command_lists_a_file_of_the_user(here: Here) -> None:
    listed = here("tools", "tools.py")
    assert listed.code == 0
    assert "search    query [limit=3] [kind=news|web]" in listed.out
    assert "搜索文档,返回最相关的几条。" in listed.out
    as_json = here("tools", "tools.py", "--json")
    names = [item["name"] for item in json.loads(as_json.out)]
    assert names[:3] == ["search", "echo", "report"]
    assert "搜索文档" in as_json.out


def test_without_a_target_the_builtins_are_listed(here: Here) -> None:
    listed = here("tools")
    assert {"calculator", "weather", "read", "clock"} <= {
        line.split()[0] for line in listed.out.splitlines()
    }


def test_a_narrow_terminal_gets_a_narrow_table(folder: Path) -> None:
    screen = readable(Terminal(["tools", "tools.py"], folder, columns=60).end().err)
    assert all(cells(line) <= 60 for line in screen.splitlines())
    assert "搜索文档" in screen

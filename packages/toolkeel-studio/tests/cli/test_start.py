"""``toolkeel`` alone: what it says where nothing is, and where there is something."""

from __future__ import annotations

import ast
import shlex
from pathlib import Path

import pytest

from tests.cli.commandline import Terminal, readable, toolkeel
from tests.cli.conftest import Here
from toolkeel_studio.cli.main import COMMANDS
from toolkeel_studio.cli.start import FIRST, files_of_tools, start


def commands_in(said: str) -> list[list[str]]:
    """The commands that a text tells to type."""
    lines = [line.strip() for line in said.splitlines() if line.startswith("  toolkeel ")]
    return [shlex.split(line.partition("  ")[0]) for line in lines]


def test_where_nothing_is_it_tells_where_to_look_and_how_to_make_a_tool(tmp_path: Path) -> None:
    env = {"TOOLKEEL_DATA": str(tmp_path / "data"), "XDG_STATE_HOME": str(tmp_path / "state")}
    ended = toolkeel(cwd=tmp_path, env=env)
    assert (ended.code, ended.err) == (0, "")
    told = commands_in(ended.out)
    assert ["toolkeel", "demo"] in told
    assert all(words[1] in COMMANDS or words[1] == "--help" for words in told)
    ast.parse("\n".join(line[4:] for line in FIRST.splitlines()))
    assert "Go on" not in ended.out


def test_a_command_that_it_tells_works_as_it_stands(here: Here, capsys: object) -> None:
    told = commands_in(here().out)
    assert ["toolkeel", "inspect", "tools.py"] in told
    for words in told:
        if words[1] in ("tools", "--help"):
            assert here(*words[1:]).code == 0


def test_the_tool_that_it_tells_to_write_is_one(tmp_path: Path) -> None:
    text = "\n".join(line[4:] for line in FIRST.splitlines())
    (tmp_path / "tools.py").write_text(text, "utf-8")
    ended = toolkeel("call", "tools.py", "greet", "name=小明", cwd=tmp_path)
    assert ended.out == "Hello, 小明!\n"
    assert files_of_tools(tmp_path) == ["tools.py"]


def test_files_are_read_and_never_imported(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("from toolkeel import tool\n@tool\nraise SystemExit(9)\n")
    (tmp_path / "b.py").write_text("print('no tools')\n")
    (tmp_path / "c.py").write_bytes(b"\xff\xfefrom toolkeel import tool\n@tool\n")
    assert files_of_tools(tmp_path) == ["a.py"]
    (tmp_path / "my_tools.py").write_text("def add(a: int) -> int: ...\n")
    (tmp_path / "toolbox.py").write_text("print('no function')\n")
    assert files_of_tools(tmp_path) == ["a.py", "my_tools.py"]
    assert "Your tools: a.py" in toolkeel(cwd=tmp_path).out


def test_what_was_begun_is_told_with_the_line_that_goes_on(
    here: Here, folder: Path, tmp_path: Path
) -> None:
    for name in ("ada", "bob", "cleo's"):
        here("run", "1 + 1", "-t", "calculator", "--session", name)
    env = {"TOOLKEEL_DATA": str(tmp_path / "data"), "XDG_STATE_HOME": str(tmp_path)}
    words = ("run", "hi", "-t", "tools.py", "-m", "models.py:asking")  # which speaks once a process
    assert toolkeel(*words, cwd=folder, env=env).code == 75
    said = here().out
    told = commands_in(said)
    assert ["toolkeel", "approvals"] in told and "1 saved run" in said
    assert ["toolkeel", "chat", "--session", "cleo's"] in told
    assert "3 sessions" in said


@pytest.mark.parametrize("columns", [60, 200])
def test_no_line_is_wider_than_the_terminal(columns: int, tmp_path: Path) -> None:
    env = {"TOOLKEEL_DATA": str(tmp_path / "data"), "XDG_STATE_HOME": str(tmp_path / "state")}
    terminal = Terminal([], tmp_path, columns=columns, env=env)
    ended = terminal.end()
    assert ended.code == 0
    assert max(map(len, readable(ended.err).splitlines())) <= columns
    assert start.__doc__

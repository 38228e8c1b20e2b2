"""``toolkeel`` without a command: what to do next with the files here. Nothing is imported and nothing runs."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from toolkeel._common.data_folder import sessions_file, state_folder
from toolkeel.observe.wording import count, visible_line
from toolkeel.sessions import Sessions
from toolkeel_studio.cli.terminal.streams import BOLD, DIM, layout, styled, width_of
from toolkeel_studio.cli.terminal.text import cells, fit, padded

FIRST = """\
    from toolkeel import tool

    @tool
    def greet(name: str) -> str:
        \"\"\"Greet somebody.\"\"\"
        return f"Hello, {name}!"
"""
_TOOLS = re.compile(r"^\s*(from toolkeel|import toolkeel|from mcp|from langchain)", re.M)
_PLAIN = re.compile(r"^(?:async )?def [a-z]\w*\(", re.M)
_FILES, _BYTES, _SESSIONS = 200, 200_000, 2
_WIDTH = 48


def start() -> None:
    """Say where one is and what to do next."""
    layout([styled("toolkeel: define a tool once; any model can call it", BOLD, sys.stdout)])
    found = files_of_tools(Path())
    if found:
        name = shlex.quote(found[0])
        more = f" (also {', '.join(found[1:4])})" if found[1:] else ""
        _part(f"Your tools: {found[0]}{more}")
        _line(f"toolkeel inspect {name}", "a form for each in the browser; runs, live")
        _line(f"toolkeel tools {name}", "what is in it")
        _line(f"toolkeel chat -t {name}", "talk with a model that calls them")
        _line(f"toolkeel serve {name}", "for Claude, Cursor, VS Code (MCP)")
    else:
        _part("Look")
        _line("toolkeel demo", "two minutes of real calls: no key, no network")
        _line('toolkeel run "what is 15% of 80?" -t calculator', "a model calls a tool")
        _line("toolkeel inspect", "the same in the browser, with a form for each tool")
        _part("Make a tool: write this to tools.py")
        layout([FIRST])
        _line("toolkeel inspect tools.py", "try it")
    _unfinished()
    _part("More")
    _line("toolkeel doctor", "which models this machine can use, what is missing")
    _line("toolkeel --help", "all commands; COMMAND --help for one")


def files_of_tools(folder: Path) -> list[str]:
    """Python files of a folder that say they use tools, or are called so. They are read, not imported."""
    found = []
    for path in sorted(folder.glob("*.py"))[:_FILES]:
        try:
            with path.open(encoding="utf-8") as file:
                text = file.read(_BYTES)
        except (OSError, UnicodeDecodeError):
            continue
        called_so = "tool" in path.stem and _PLAIN.search(text)
        if called_so or (_TOOLS.search(text) and "@" in text):
            found.append(path.name)
    return found


def _unfinished() -> None:
    """List the unfinished runs that can be resumed."""
    waiting = len(list(state_folder().joinpath("runs").glob("*.json")))
    known = Sessions().list(scope="") if sessions_file().exists() else []
    if not waiting and not known:
        return
    _part("Go on")
    if waiting:
        _line("toolkeel approvals", f"{count(waiting, 'saved run')}")
    for info in known[:_SESSIONS]:
        summary = f"{count(info.turns, 'turn')}: {fit(visible_line(info.first), 40)}"
        _line(f"toolkeel chat --session {shlex.quote(visible_line(info.name))}", summary)
    if len(known) > _SESSIONS:
        _line("toolkeel sessions list", count(len(known), "session"))


def _part(title: str) -> None:
    layout(["", styled(visible_line(title), BOLD, sys.stdout)])


def _line(command: str, why: str) -> None:
    line = f"  {padded(command, _WIDTH)}"
    if cells(line) + cells(why) >= (width_of(sys.stdout) or 120):
        line = f"  {command}\n     "
    layout([f"{line} {styled(why, DIM, sys.stdout)}"])

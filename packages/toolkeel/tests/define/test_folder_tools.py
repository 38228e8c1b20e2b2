"""Tools that work in a folder, made again for another folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from toolkeel import tool
from toolkeel.define.folder_tools import in_folder, movable
from toolkeel.define.tool import AnyTool


def list_in(folder: Path) -> AnyTool:
    @tool(name="list", description=f"List {folder}.")
    def list_names() -> str:
        return folder.name

    return movable(list_names, list_in)


def test_what_a_program_has_changed_moves_and_the_rest_is_made_anew() -> None:
    changed = replace(list_in(Path("/a")), name="names", approval=True)
    there = in_folder(in_folder(changed, Path("/b")), Path("/c"))
    assert (there.name, there.approval, there.description) == ("names", True, "List /c.")
    assert there.function() == "c"


def test_sources_move_by_their_own_method_and_what_has_no_folder_stays() -> None:
    class Source:
        def in_folder(self, folder: Path) -> str:
            return f"in {folder}"

    @tool
    def add(a: int) -> int:
        """Add."""
        return a

    assert in_folder(Source(), Path("/b")) == "in /b"
    assert in_folder(add, Path("/b")) is add

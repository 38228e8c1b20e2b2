"""Tools that work in a folder, made again for another folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from toolkeel import tool
from toolkeel.define.folder_tools import in_folder
from toolkeel.errors import SetupError, ToolError
from toolkeel.tools import Workspace
from toolkeel_workspace.files.apply_patch import apply_patch
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.shell.local_shell import local_shell, shell


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    made = tmp_path / "one", tmp_path / "two"
    for each in made:
        each.mkdir()
        (each / "a.txt").write_text(f"in {each.name}")
    return made


def test_all_tools_of_a_workspace_move_to_one_other_and_share_what_they_know(
    folders: tuple[Path, Path],
) -> None:
    one, two = folders
    workspace = Workspace(one, sandbox=None, overwrite="read-first")
    moved = {each.name: in_folder(each, two) for each in workspace.tools}
    with pytest.raises(ToolError, match="has not been read"):
        moved["write"].invoke({"path": "a.txt", "content": "x"})
    assert "in two" in str(moved["read"].invoke({"path": "a.txt"}))
    moved["write"].invoke({"path": "a.txt", "content": "x"})
    assert (one / "a.txt").read_text() == "in one" and (two / "a.txt").read_text() == "x"
    patch = in_folder(apply_patch(workspace), two)
    patch.invoke({"type": "create_file", "path": "b.txt", "diff": "+new"})
    assert (two / "b.txt").exists() and not (one / "b.txt").exists()
    assert workspace.in_folder(two) is workspace.in_folder(two)


def test_what_a_program_has_changed_of_a_tool_moves_with_it(folders: tuple[Path, Path]) -> None:
    one, two = folders
    read = next(each for each in Workspace(one, sandbox=None).tools if each.name == "read")
    changed = replace(read, name="look_at", approval=True, metadata={**read.metadata, "own": 1})
    moved = in_folder(in_folder(changed, two), one)
    assert (moved.name, moved.approval, moved.metadata["own"]) == ("look_at", True, 1)
    there = in_folder(replace(read, name="look_at"), two)
    assert "in two" in str(there.invoke({"path": "a.txt"}))


def test_tools_of_no_folder_stay_and_a_missing_folder_is_refused(tmp_path: Path) -> None:
    @tool
    def add(a: int) -> int:
        """Add."""
        return a

    assert in_folder(add, tmp_path) is add
    with pytest.raises(SetupError):
        in_folder(Workspace(tmp_path, sandbox=None).tools[0], tmp_path / "none")


def test_commands_move_with_their_sandbox(folders: tuple[Path, Path]) -> None:
    one, two = folders
    bash = next(each for each in Workspace(one).tools if each.name == "bash")
    moved = in_folder(bash, two)
    assert "in two" in str(moved.invoke({"command": "cat a.txt"}))
    with pytest.raises(ToolError, match="No such file"):
        moved.invoke({"command": f"cat {one}/a.txt"})
    sandbox = Sandbox(roots=[one])
    for made, arguments in (
        (shell(sandbox), {"commands": ["cat a.txt"]}),
        (local_shell(sandbox), {"command": ["cat", "a.txt"]}),
    ):
        assert "in two" in str(in_folder(made, two).invoke(arguments))

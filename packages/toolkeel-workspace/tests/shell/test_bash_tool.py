"""What the tools for commands say of themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import pytest

from toolkeel_workspace.files.changed_since_read import FileSnapshots
from toolkeel_workspace.files.open_beneath import Root
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.shell.bash_tool import CommandTools, Shell
from toolkeel_workspace.shell.lifetime import Lifetime


def describe(folder: Path, shell: Shell, lifetime: Lifetime) -> list[str]:
    snapshots = FileSnapshots(Root(folder))
    tools = CommandTools(Sandbox("off", [folder]), folder, snapshots, shell, lifetime)
    return [each.description for each in tools.make_tools()]


@pytest.mark.parametrize(
    ("shell", "says"),
    [("new", "Each call is a new shell"), ("persistent", "last from call to call")],
)
def test_the_description_says_what_lasts_between_commands(
    tmp_path: Path, shell: Literal["new", "persistent"], says: str
) -> None:
    bash, _ = describe(tmp_path, shell, "run")
    others = {"Each call is a new shell", "last from call to call"} - {says}
    assert says in bash and others.pop() not in bash
    assert "without a sandbox" in bash


def test_the_description_says_how_long_jobs_last(tmp_path: Path) -> None:
    assert "has finished or waits for a person" in describe(tmp_path, "new", "run")[1]
    assert "for the next turn of this conversation" in describe(tmp_path, "new", "session")[1]

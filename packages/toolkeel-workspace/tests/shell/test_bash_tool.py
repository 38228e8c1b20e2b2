"""What the tools for commands say of themselves."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Literal

import pytest

from tests.shell.background_caller import Caller
from toolkeel.messages import ToolMessage
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


@pytest.mark.parametrize("background", [False, True])
def test_where_no_thread_is_left_a_command_runs_or_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, background: bool
) -> None:
    """Python waits for processes in threads, before 3.12 everywhere."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    async def main() -> ToolMessage:
        caller = Caller(tmp_path)
        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", refuse)
            return await caller.call("bash", command="touch made", background=background)

    message = asyncio.run(main())
    if message.failed:
        assert message.kind == "tool_error" and "wait until others have ended" in message.text
    assert (tmp_path / "made").exists() is not message.failed

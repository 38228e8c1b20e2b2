"""The Agents SDK's shells and patches, with executors of one's own and without."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.engines.walls import need
from toolkeel import Agent, Toolset
from toolkeel.builtin.files.workspace import Workspace
from toolkeel.compat.openai_agents import (
    ApplyPatchOperation,
    ApplyPatchResult,
    ApplyPatchTool,
    LocalShellCommandRequest,
    LocalShellTool,
    ShellCallOutcome,
    ShellCommandOutput,
    ShellCommandRequest,
    ShellResult,
    ShellTool,
)
from toolkeel.content import Data
from toolkeel.engines.sandbox.confine import Sandbox
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.testing.scripted import Scripted, call


def called(hosted: Any, **arguments: object) -> ToolMessage:
    return Toolset([hosted]).run_sync([ToolCall("call_1", hosted.name, arguments)])[0]


def test_an_executor_is_given_the_call_and_its_text_is_the_result() -> None:
    asked: list[LocalShellCommandRequest] = []

    async def executor(request: LocalShellCommandRequest) -> str:
        asked.append(request)
        await asyncio.sleep(0)
        return " ".join(request.data.action.command)

    hosted = LocalShellTool(executor=executor)
    message = called(hosted, command=["ls", "-l"], timeout_ms=1000)
    assert message.content == "ls -l" and hosted.name == "local_shell"
    assert asked[0].data.call_id == "call_1" and asked[0].data.action.timeout_ms == 1000
    assert asked[0].ctx_wrapper.usage.requests == 0


def test_without_an_executor_the_sandbox_runs_it(tmp_path: Path) -> None:
    need("bubblewrap")
    hosted = LocalShellTool(sandbox=Sandbox("workspace", [tmp_path]))
    model = Scripted([call("local_shell", {"command": ["touch", "made", "../out"]}), "Done."])
    Agent(model, tools=[hosted]).run_sync("make it")
    assert (tmp_path / "made").exists() and not (tmp_path.parent / "out").exists()


def test_a_shells_executor_may_tell_a_result_or_a_text(tmp_path: Path) -> None:
    def executor(request: ShellCommandRequest) -> ShellResult:
        out = [ShellCommandOutput(f"ran {line}") for line in request.data.action.commands]
        return ShellResult([*out, ShellCommandOutput(outcome=ShellCallOutcome("timeout"))])

    (block,) = called(ShellTool(executor), commands=["a"]).content
    assert isinstance(block, Data)
    assert block.value == [
        {"stdout": "ran a", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}},
        {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
    ]
    assert called(ShellTool(lambda request: "text"), commands=["a"]).content == "text"


def test_a_shell_without_an_executor_runs_in_the_sandbox(tmp_path: Path) -> None:
    need("bubblewrap")
    hosted = ShellTool(name="sh", sandbox=Sandbox("workspace", [tmp_path]))
    assert "[exit code 3]" in called(hosted, commands=["exit 3"]).text


class Editor:
    def create_file(self, operation: ApplyPatchOperation) -> str:
        return f"made {operation.path}"

    async def update_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        return ApplyPatchResult("completed", operation.diff)

    def delete_file(self, operation: ApplyPatchOperation) -> ApplyPatchResult:
        return ApplyPatchResult("failed", "not that one")


@pytest.mark.parametrize(
    ("type", "status", "content"),
    [
        ("create_file", "success", "made f"),
        ("update_file", "success", "@@\n+x"),
        ("delete_file", "error", "not that one"),
    ],
)
def test_an_editor_carries_patches_out(type: str, status: str, content: str) -> None:
    message = called(ApplyPatchTool(Editor()), type=type, path="f", diff="@@\n+x")
    assert (message.status, message.content) == (status, content)


def test_without_an_editor_patches_go_to_the_folder(tmp_path: Path) -> None:
    hosted = ApplyPatchTool(workspace=Workspace(tmp_path, None))
    called(hosted, type="create_file", path="f", diff="+x")
    assert (tmp_path / "f").read_text() == "x\n"

"""The Agents SDK's shells and patches, with executors of one's own and without; who approves them
sees them as actions."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.sandbox.walls import need
from toolkeel import Agent as CoreAgent
from toolkeel import SetupError, Toolset
from toolkeel.content import Data
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.testing.scripted import Scripted, call
from toolkeel_compat.openai_agents import (
    Agent,
    ApplyPatchOperation,
    ApplyPatchResult,
    ApplyPatchTool,
    LocalShellCommandRequest,
    LocalShellTool,
    Runner,
    ShellActionRequest,
    ShellCallOutcome,
    ShellCommandOutput,
    ShellCommandRequest,
    ShellResult,
    ShellTool,
    apply_diff,
)
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.sandbox.confine import Sandbox


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
    CoreAgent(model, tools=[hosted]).run_sync("make it")
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


def test_an_executors_tool_is_made_in_a_folder_that_can_be_no_sandbox(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir("/")
    assert called(ShellTool(lambda request: "ran"), commands=["a"]).content == "ran"
    assert called(LocalShellTool(lambda request: "ran"), command=["a"]).content == "ran"


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


# — approvals —

COMMANDS = {"commands": ["ls"], "timeout_ms": 1000}


def run(tool: Any, **arguments: Any) -> Any:
    script = [call(tool.name, arguments), "done"]
    return Runner.run_sync(Agent(name="a", tools=[tool], model=Scripted(script)), "go")


def test_a_command_that_needs_it_waits_for_a_person() -> None:
    tool = ShellTool(lambda request: "ran", needs_approval=True)
    result = run(tool, **COMMANDS)
    [item] = result.interruptions
    state = result.to_state()
    state.approve(item)
    agent = Agent(name="a", tools=[tool], model=Scripted(["done"]))
    messages = Runner.run_sync(agent, state).messages
    assert [m.text for m in messages if getattr(m, "name", "") == "shell"] == ["ran"]


def test_a_function_decides_by_the_action_which_calls_need_it() -> None:
    seen: list[Any] = []

    async def risky(context: Any, action: Any, call_id: str) -> bool:
        seen.append(action)
        return action.commands == ["rm"]

    tool = ShellTool(lambda request: "ran", needs_approval=risky)
    assert not run(tool, **COMMANDS).interruptions
    assert run(tool, commands=["rm"]).interruptions
    assert seen[0] == ShellActionRequest(["ls"], 1000)


@pytest.mark.parametrize(("approve", "read"), [(True, "ran"), (False, "not approved")])
def test_a_function_answers_in_the_persons_place(approve: bool, read: str) -> None:
    asked: list[Any] = []

    async def decide(context: Any, item: Any) -> dict[str, Any]:
        asked.append((item.name, item.raw_item["action"]["commands"], item.call_id))
        await asyncio.sleep(0)
        return {"approve": approve, "reason": "because"}

    result = run(
        ShellTool(lambda request: "ran", needs_approval=True, on_approval=decide), **COMMANDS
    )
    [output] = [item.output for item in result.new_items if item.type == "tool_call_output_item"]
    assert not result.interruptions and read in output
    assert [(name, commands) for name, commands, _ in asked] == [("shell", ["ls"])]


def test_patches_are_asked_about_as_operations() -> None:
    class Editor:
        def create_file(self, operation: Any) -> str:
            return f"made {operation.path}"

        update_file = delete_file = create_file

    seen: list[Any] = []

    def risky(context: Any, operation: Any, call_id: str) -> bool:
        seen.append(operation)
        return False

    operation = {"type": "create_file", "path": "a.txt", "diff": "+a"}
    result = run(ApplyPatchTool(Editor(), needs_approval=risky), **operation)
    assert seen == [ApplyPatchOperation(**operation)] and not result.interruptions


@pytest.mark.parametrize("decides", [None, lambda context, item: {"approve": True}])
def test_a_protected_file_is_asked_about_whatever_the_program_says_of_approval(
    tmp_path: Path, decides: Any
) -> None:
    def never(context: Any, operation: ApplyPatchOperation, call_id: str) -> bool:
        return False

    for path, asked in ((".github/workflows/ci.yml", 1), ("a.txt", 0)):
        hosted = ApplyPatchTool(
            needs_approval=never, on_approval=decides, workspace=Workspace(tmp_path, None)
        )
        result = run(hosted, type="create_file", path=path, diff="+a")
        assert len(result.interruptions) == asked
        assert (tmp_path / path).exists() is not bool(asked)


def test_what_runs_at_openai_takes_no_executor_and_no_approval() -> None:
    there = {"type": "container_auto"}
    assert ShellTool(environment=there).tool.hosted is not None
    for options in ({"executor": lambda request: ""}, {"needs_approval": True}):
        with pytest.raises(SetupError, match="at OpenAI"):
            ShellTool(environment=there, **options)


@pytest.mark.parametrize(("asked", "given"), [(4, None), (None, 4), (9, 4)])
def test_of_each_output_beyond_the_limit_the_middle_is_left_out(
    asked: int | None, given: int | None
) -> None:
    def long(request: Any) -> ShellResult:
        return ShellResult([ShellCommandOutput("abcdef", "gh"), ShellCommandOutput("ij")], given)

    (block,) = called(ShellTool(long), commands=["a"], max_output_length=asked).content
    [first, second] = block.value
    assert first["stdout"].startswith("ab\n[... 2 characters left out")
    assert (first["stderr"], second["stdout"]) == ("gh", "ij")


def test_the_diff_of_a_new_file_ends_without_a_line_end_as_there() -> None:
    assert apply_diff("", "+a\n+b\n", "create") == "a\nb" and apply_diff("", "+a", "create") == "a"
    assert apply_diff("", "+a\r\n+\r\n", "create") == "a\r\n"
    assert apply_diff("", "+a\n+", "create") == "a\n"
    with pytest.raises(ValueError, match="begins with"):
        apply_diff("", "a", mode="create")

"""Whoever approves commands and patches sees them as actions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from toolkeel import SetupError
from toolkeel.compat.openai_agents import (
    Agent,
    ApplyPatchOperation,
    ApplyPatchTool,
    Runner,
    ShellActionRequest,
    ShellCommandOutput,
    ShellResult,
    ShellTool,
)
from toolkeel.testing.scripted import Scripted, call

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


def test_what_runs_at_openai_takes_no_executor_and_no_approval() -> None:
    there = {"type": "container_auto"}
    assert ShellTool(environment=there).tool.hosted is not None
    for options in ({"executor": lambda request: ""}, {"needs_approval": True}):
        with pytest.raises(SetupError, match="at OpenAI"):
            ShellTool(environment=there, **options)


def test_output_beyond_the_limit_is_left_out() -> None:
    def long(request: Any) -> ShellResult:
        return ShellResult([ShellCommandOutput("abc", "def"), ShellCommandOutput("ghi")], 5)

    result = run(ShellTool(long), **COMMANDS)
    assert "abcde" in result.messages[-2].text
    assert "f" not in result.messages[-2].text and "g" not in result.messages[-2].text

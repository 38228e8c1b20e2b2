"""The OpenAI Agents SDK's shells and patches, run here on any model.

Each has an executor of one's own, as there, or none: then commands run in the sandbox of the
current folder, and patches go to the files below it.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from toolkeel._records.record import NOTHING, record
from toolkeel.builtin.files.apply_patch import apply_patch
from toolkeel.builtin.files.workspace import Workspace
from toolkeel.builtin.shell.local_shell import local_shell, shell
from toolkeel.compat.openai_agents.context import RunContextWrapper
from toolkeel.content import Data
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.engines.sandbox.confine import Sandbox
from toolkeel.errors import ToolError
from toolkeel.messages import ToolOutput


@record
class LocalShellAction:
    """What ``local_shell`` shall do: run the words of one command."""

    command: list[str]
    env: Mapping[str, str] = NOTHING  # type: ignore[assignment]
    timeout_ms: float | None = None
    user: str | None = None
    working_directory: str | None = None
    type: Literal["exec"] = "exec"


@record
class LocalShellCall:
    """A call of ``local_shell``."""

    call_id: str
    action: LocalShellAction
    type: Literal["local_shell_call"] = "local_shell_call"


@record
class LocalShellCommandRequest:
    """What an executor of ``local_shell`` is given; it returns the output."""

    ctx_wrapper: RunContextWrapper[Any]
    data: LocalShellCall


@record
class ShellActionRequest:
    """What ``shell`` shall do: run lines of shell."""

    commands: list[str]
    timeout_ms: float | None = None
    max_output_length: int | None = None


@record
class ShellCallData:
    """A call of ``shell``."""

    call_id: str
    action: ShellActionRequest


@record
class ShellCommandRequest:
    """What an executor of ``shell`` is given."""

    ctx_wrapper: RunContextWrapper[Any]
    data: ShellCallData


@record
class ShellCallOutcome:
    """How a command ended."""

    type: Literal["exit", "timeout"]
    exit_code: int | None = None


@record
class ShellCommandOutput:
    """What a command gave."""

    stdout: str = ""
    stderr: str = ""
    outcome: ShellCallOutcome = ShellCallOutcome("exit", 0)
    command: str | None = None


@record
class ShellResult:
    """What an executor of ``shell`` returns, unless it returns a text."""

    output: Sequence[ShellCommandOutput]
    max_output_length: int | None = None


@record
class ApplyPatchOperation:
    """What ``apply_patch`` shall do to one file."""

    type: Literal["create_file", "update_file", "delete_file"]
    path: str
    diff: str | None = None
    ctx_wrapper: RunContextWrapper[Any] | None = None


@record
class ApplyPatchResult:
    """What an editor returns, unless it returns a text or nothing."""

    status: Literal["completed", "failed"] | None = None
    output: str | None = None


class ApplyPatchEditor(Protocol):
    """Whatever carries patches out; each method may be async."""

    def create_file(self, operation: ApplyPatchOperation) -> Any: ...

    def update_file(self, operation: ApplyPatchOperation) -> Any: ...

    def delete_file(self, operation: ApplyPatchOperation) -> Any: ...


LocalShellExecutor: TypeAlias = Callable[[LocalShellCommandRequest], "str | Awaitable[str]"]
ShellExecutor: TypeAlias = Callable[
    [ShellCommandRequest], "str | ShellResult | Awaitable[str | ShellResult]"
]


class LocalShellTool:
    """``local_shell``: the words of one command.

    Args:
        executor: Runs them and returns the output; without one they run in the sandbox.
        sandbox: Of commands without an executor; by default that of the current folder.
    """

    name = "local_shell"

    def __init__(
        self, executor: LocalShellExecutor | None = None, sandbox: Sandbox | None = None
    ) -> None:
        self.executor = executor
        self.sandbox = sandbox

    @cached_property
    def tool(self) -> AnyTool:
        """The core's tool."""
        if self.executor is None:
            return local_shell(self.sandbox or Sandbox())
        return _run_by(local_shell, self._execute)

    async def _execute(self, context: CoreContext[Any], arguments: Mapping[str, Any]) -> object:
        assert self.executor is not None
        call = LocalShellCall(context.call.id, LocalShellAction(**arguments))
        wrapper = RunContextWrapper.from_tool_context(context)
        return await _value(self.executor(LocalShellCommandRequest(wrapper, call)))


class ShellTool:
    """``shell``: lines of shell, with both outputs and the outcome of each.

    Args:
        executor: Runs them; without one they run in the sandbox.
        name: The tool's name.
        sandbox: Of commands without an executor; by default that of the current folder.
    """

    def __init__(
        self,
        executor: ShellExecutor | None = None,
        name: str = "shell",
        sandbox: Sandbox | None = None,
    ) -> None:
        self.executor = executor
        self.name = name
        self.sandbox = sandbox

    @cached_property
    def tool(self) -> AnyTool:
        """The core's tool."""
        if self.executor is None:
            return replace(shell(self.sandbox or Sandbox()), name=self.name)
        return replace(_run_by(shell, self._execute), name=self.name)

    async def _execute(self, context: CoreContext[Any], arguments: Mapping[str, Any]) -> object:
        assert self.executor is not None
        call = ShellCallData(context.call.id, ShellActionRequest(**arguments))
        wrapper = RunContextWrapper.from_tool_context(context)
        result = await _value(self.executor(ShellCommandRequest(wrapper, call)))
        if not isinstance(result, ShellResult):
            return result
        output = [_as_output(one) for one in result.output]
        text = "\n".join(one.stdout + one.stderr for one in result.output)
        return ToolOutput((Data(output, text),), details={"output": output})


class ApplyPatchTool:
    """``apply_patch``: one file is made, changed or deleted.

    Args:
        editor: Carries it out; without one it is done to the files below the current folder.
        name: The tool's name.
        workspace: The folder for patches without an editor.
    """

    def __init__(
        self,
        editor: ApplyPatchEditor | None = None,
        name: str = "apply_patch",
        workspace: Workspace | None = None,
    ) -> None:
        self.editor = editor
        self.name = name
        self.workspace = workspace

    @cached_property
    def tool(self) -> AnyTool:
        """The core's tool."""
        if self.editor is None:
            inner = apply_patch(self.workspace or Workspace(".", None))
        else:  # of the folder's tool the definition alone counts: any folder that no module is found below
            inner = apply_patch(self.workspace or Workspace(Path(__file__).parent, None))
            inner = _with_body(inner, self._execute)
        return replace(inner, name=self.name)

    async def _execute(self, context: CoreContext[Any], arguments: Mapping[str, Any]) -> object:
        wrapper = RunContextWrapper.from_tool_context(context)
        operation = ApplyPatchOperation(**arguments, ctx_wrapper=wrapper)
        result = await _value(getattr(self.editor, operation.type)(operation))
        if isinstance(result, ApplyPatchResult):
            if result.status == "failed":
                raise ToolError(result.output or "The patch failed.")
            result = result.output
        return result or f"{operation.type}: {operation.path}"


Body: TypeAlias = Callable[[CoreContext[Any], Mapping[str, Any]], Awaitable[object]]


def _run_by(make: Callable[[Sandbox], AnyTool], body: Body) -> AnyTool:
    """A shell tool's definition with another body; whether to ask is the executor's business."""
    return _with_body(replace(make(Sandbox("off", ["."])), approval=False), body)


def _with_body(model: AnyTool, body: Body) -> AnyTool:
    made = Tool.from_schema(model.name, model.description, model.parameters, body)
    return replace(
        made,
        effects=model.effects,
        timeout=model.timeout,
        approval=model.approval,
        hosted=model.hosted,
        max_output=None,
    )


async def _value(given: Any) -> Any:
    return await given if inspect.isawaitable(given) else given


def _as_output(one: ShellCommandOutput) -> dict[str, object]:
    outcome: dict[str, object] = {"type": one.outcome.type}
    if one.outcome.type == "exit":
        outcome["exit_code"] = one.outcome.exit_code or 0
    return {"stdout": one.stdout, "stderr": one.stderr, "outcome": outcome}

"""The OpenAI Agents SDK's shells and patches, run locally with any model.

Each takes a custom executor, as in the SDK. Without one, commands run in the sandbox of the current
folder, and patches apply to the files below it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from toolkeel._records.record import NOTHING, record
from toolkeel.call.steps.join_approvals import join_approvals
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import Denied, SetupError, ToolError
from toolkeel.executors.process_tree import CommandResult
from toolkeel.hosted import Hosted, Native
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import RawItem, RunContextWrapper
from toolkeel_compat.openai_agents.state import DEFAULT_REJECTION, ToolApprovalItem
from toolkeel_compat.openai_agents.tools import return_rejection
from toolkeel_workspace.files.apply_patch import apply_patch, patch_text
from toolkeel_workspace.files.patch_hunks import parse_new_file
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.shell.local_shell import WIRE, local_shell, make_shell_output, shell

__all__ = [
    "ApplyPatchEditor", "ApplyPatchOnApprovalFunctionResult", "ApplyPatchOperation",
    "ApplyPatchResult", "ApplyPatchTool", "LocalShellCommandRequest", "LocalShellExecutor",
    "LocalShellTool", "ShellActionRequest", "ShellCallData", "ShellCallOutcome",
    "ShellCommandOutput", "ShellCommandRequest", "ShellExecutor",
    "ShellOnApprovalFunctionResult", "ShellResult", "ShellTool", "ShellToolInlineSkill",
    "ShellToolLocalSkill", "ShellToolSkillReference", "apply_diff",
]  # fmt: skip


@record
class LocalShellAction:
    """The action of ``local_shell``: the words of one command."""

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
    """The argument of a ``local_shell`` executor, which returns the output."""

    ctx_wrapper: RunContextWrapper[Any]
    data: LocalShellCall


@record
class ShellActionRequest:
    """The action of ``shell``: lines of shell."""

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
    """The argument of a ``shell`` executor."""

    ctx_wrapper: RunContextWrapper[Any]
    data: ShellCallData


@record
class ShellCallOutcome:
    """The exit or timeout of a command."""

    type: Literal["exit", "timeout"]
    exit_code: int | None = None


@record
class ShellCommandOutput:
    """The output of a command."""

    stdout: str = ""
    stderr: str = ""
    outcome: ShellCallOutcome = ShellCallOutcome("exit", 0)
    command: str | None = None


@record
class ShellResult:
    """The return value of a ``shell`` executor, unless it returns a string."""

    output: Sequence[ShellCommandOutput]
    max_output_length: int | None = None
    provider_data: Mapping[str, Any] | None = None


@record
class ApplyPatchOperation:
    """The operation of ``apply_patch`` on one file."""

    type: Literal["create_file", "update_file", "delete_file"]
    path: str
    diff: str | None = None
    ctx_wrapper: RunContextWrapper[Any] | None = None


@record
class ApplyPatchResult:
    """The return value of an editor, unless it returns a string or None."""

    status: Literal["completed", "failed"] | None = None
    output: str | None = None


class ApplyPatchEditor(Protocol):
    """An object that applies patches. Each method may be async."""

    def create_file(self, operation: ApplyPatchOperation) -> Any: ...

    def update_file(self, operation: ApplyPatchOperation) -> Any: ...

    def delete_file(self, operation: ApplyPatchOperation) -> Any: ...


Needs: TypeAlias = bool | Callable[[RunContextWrapper[Any], Any, str], bool | Awaitable[bool]]
"""Whether a person must approve: always, never, or ``(context, action, call id)`` decides."""
OnApproval: TypeAlias = Callable[[RunContextWrapper[Any], ToolApprovalItem], Any]
"""Decides at once: ``(context, item)`` gives ``{"approve": ..., "reason": ...}``; may be async."""
ShellOnApprovalFunctionResult: TypeAlias = dict[str, Any]
ApplyPatchOnApprovalFunctionResult: TypeAlias = dict[str, Any]
LocalShellExecutor: TypeAlias = Callable[[LocalShellCommandRequest], "str | Awaitable[str]"]
ShellExecutor: TypeAlias = Callable[
    [ShellCommandRequest], "str | ShellResult | Awaitable[str | ShellResult]"
]


@dataclass(eq=False)
class LocalShellTool:
    """``local_shell``: the words of one command.

    Args:
        executor: Runs them and returns the output; without one they run in the sandbox.
        sandbox: The sandbox of commands without an executor; by default that of the current folder.
    """

    executor: LocalShellExecutor | None = None
    sandbox: Sandbox | None = None
    name = "local_shell"

    @cached_property
    def tool(self) -> AnyTool:
        """The core's tool."""
        if self.executor is None:
            return local_shell(self.sandbox or Sandbox())
        return _with_body(local_shell(_unused_sandbox()), self._execute, approval=None)

    async def _execute(self, context: CoreContext[Any], arguments: Mapping[str, Any]) -> object:
        assert self.executor is not None
        call = LocalShellCall(context.call.id, LocalShellAction(**arguments))
        wrapper = RunContextWrapper.from_tool_context(context)
        return await maybe_await(self.executor(LocalShellCommandRequest(wrapper, call)))


@dataclass(eq=False)
class ShellTool:
    """``shell``: lines of shell, with stdout, stderr and outcome of each.

    Args:
        executor: Runs them; without one they run in the sandbox.
        name: The tool's name.
        needs_approval: Calls that need approval; see `Needs`.
        on_approval: Decides instead of a person; see `OnApproval`.
        environment: Where they run, in OpenAI's format; ``local`` is here, any other at OpenAI.
        sandbox: The sandbox of commands without an executor; by default that of the current folder.

    Raises:
        SetupError: An executor or approvals for an environment at OpenAI.
    """

    executor: ShellExecutor | None = None
    name: str = "shell"
    needs_approval: Needs = False
    on_approval: OnApproval | None = None
    environment: Mapping[str, Any] | None = None
    sandbox: Sandbox | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self._is_hosted and (self.executor or self.needs_approval or self.on_approval):
            raise SetupError(
                "ShellTool(environment=...) runs at OpenAI: it takes no executor and no approvals"
            )

    @property
    def _is_hosted(self) -> bool:
        return bool(self.environment) and (self.environment or {}).get("type") != "local"

    @cached_property
    def tool(self) -> AnyTool:
        """The core's tool."""
        if self.executor is None:
            made = replace(shell(self.sandbox or Sandbox()), name=self.name)
        else:
            made = _with_body(
                shell(_unused_sandbox()), self._execute, name=self.name, approval=None
            )
        if self.environment:
            native = Native({"type": "shell", "environment": dict(self.environment)})
            if not self._is_hosted:
                assert made.hosted is not None
                native = replace(made.hosted.natives[WIRE], body=native.body)
            made = replace(
                made, hosted=Hosted({WIRE: native}, "provider" if self._is_hosted else "auto")
            )
        decided = self.needs_approval, self.on_approval
        return _with_approval(made, *decided, "action", ShellActionRequest)

    async def _execute(self, context: CoreContext[Any], arguments: Mapping[str, Any]) -> object:
        assert self.executor is not None
        call = ShellCallData(context.call.id, ShellActionRequest(**arguments))
        wrapper = RunContextWrapper.from_tool_context(context)
        result = await maybe_await(self.executor(ShellCommandRequest(wrapper, call)))
        if not isinstance(result, ShellResult):
            return result
        limit = result.max_output_length or call.action.max_output_length
        return make_shell_output(
            [o.command or "" for o in result.output], map(_to_finished, result.output), limit
        )


@dataclass(eq=False)
class ApplyPatchTool:
    """``apply_patch``: create, update or delete one file.

    Args:
        editor: Applies the patch; without one it applies to the files below the current folder.
        name: The tool's name.
        needs_approval: Calls that need approval; see `Needs`.
        on_approval: Decides instead of a person; see `OnApproval`.
        workspace: The folder for patches without an editor.
    """

    editor: ApplyPatchEditor | None = None
    name: str = "apply_patch"
    needs_approval: Needs = False
    on_approval: OnApproval | None = None
    workspace: Workspace | None = field(default=None, kw_only=True)

    @cached_property
    def tool(self) -> AnyTool:
        """The core's tool."""
        if self.editor is None:
            inner = apply_patch(self.workspace or Workspace(".", None))
        else:
            inner = apply_patch(self.workspace or Workspace(_HERE, None))
            inner = _with_body(inner, self._execute)
        decided = self.needs_approval, self.on_approval
        made = replace(inner, name=self.name)
        return _with_approval(made, *decided, "operation", ApplyPatchOperation)

    async def _execute(self, context: CoreContext[Any], arguments: Mapping[str, Any]) -> object:
        wrapper = RunContextWrapper.from_tool_context(context)
        operation = ApplyPatchOperation(**arguments, ctx_wrapper=wrapper)
        result = await maybe_await(getattr(self.editor, operation.type)(operation))
        if isinstance(result, ApplyPatchResult):
            if result.status == "failed":
                raise ToolError(result.output or "The patch failed.")
            result = result.output
        return result or f"{operation.type}: {operation.path}"


ShellToolLocalSkill: TypeAlias = dict[str, Any]
ShellToolInlineSkill: TypeAlias = dict[str, Any]
ShellToolSkillReference: TypeAlias = dict[str, Any]
Body: TypeAlias = Callable[[CoreContext[Any], Mapping[str, Any]], Awaitable[object]]


_HERE = Path(__file__).parent


def _unused_sandbox() -> Sandbox:
    """Return a sandbox for a tool whose definition alone is used, in any working folder."""
    return Sandbox("off", [_HERE])


def _with_body(model: AnyTool, body: Body, **changes: Any) -> AnyTool:
    """Return a tool's definition with another body. The executor decides about approval."""
    made = Tool.from_schema(model.name, model.description, model.parameters, body)
    options = {name: getattr(model, name) for name in ("effects", "timeout", "approval", "hosted")}
    return replace(made, **{**options, "max_output": None, **changes})


def _to_finished(one: ShellCommandOutput) -> CommandResult:
    """Convert a command's output to the core's record."""
    streams = one.stdout.encode(), one.stderr.encode()
    return CommandResult(one.outcome.exit_code or 0, one.outcome.type, *streams, 0.0)


def _with_approval(
    tool: AnyTool, needs: Needs, decide: OnApproval | None, key: str, action: Callable[..., Any]
) -> AnyTool:
    """Return the tool with approval by a person, or by a function instead of one.

    Args:
        tool: The tool.
        needs: Calls that need approval; False changes nothing.
        decide: Decides instead of a person.
        key: The key of the action in a call's item.
        action: Creates the action from the arguments, for `needs`.
    """

    async def asked(arguments: Mapping[str, Any], context: CoreContext[Any]) -> bool:
        wrapper, fields, id = (
            RunContextWrapper.from_tool_context(context),
            dict(arguments),
            context.call.id,
        )
        if callable(needs) and not await maybe_await(needs(wrapper, action(**fields), id)):
            return False
        if decide is None:
            return True
        about = {"type": f"{tool.name}_call", "call_id": id, "name": tool.name, key: fields}
        raw: Any = RawItem(about, arguments=dumps(fields))
        answer = await maybe_await(decide(wrapper, ToolApprovalItem(context.agent, raw, None)))
        if not (isinstance(answer, Mapping) and answer.get("approve") is True):
            raise Denied(DEFAULT_REJECTION)
        return False

    if needs is False:
        return tool
    approval = join_approvals(tool.approval, asked)  # protected files are asked about all the same
    return replace(tool, approval=approval, steps=(return_rejection, *tool.steps))


def apply_diff(input: str, diff: str, mode: Literal["default", "create"] = "default") -> str:
    r"""Apply a patch of one file to a text.

    >>> apply_diff("a\nb\n", "@@ a\n-b\n+B"), apply_diff("", "+new", mode="create")
    ('a\nB\n', 'new')

    Args:
        input: The text.
        diff: Hunks, as `ApplyPatchTool` gets them.
        mode: ``create`` for a new file, whose lines all begin with ``+``.

    Raises:
        ValueError: The patch is invalid or does not apply.
    """
    try:
        if mode == "default":
            return patch_text(input, diff)
        return parse_new_file(diff.removesuffix("\n").removesuffix("\r"), end="")
    except ToolError as error:
        raise ValueError(str(error)) from error

"""The OpenAI Agents SDK's shells and patches, run here on any model.

Each has an executor of one's own, as there, or none: then commands run in the sandbox of the
current folder, and patches go to the files below it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from toolkeel._records.record import NOTHING, record
from toolkeel.builtin.files.apply_patch import apply_patch, patched
from toolkeel.builtin.files.workspace import Workspace
from toolkeel.builtin.shell.local_shell import WIRE, local_shell, shell
from toolkeel.compat.foreign_options import value_of
from toolkeel.compat.openai_agents.context import RunContextWrapper
from toolkeel.compat.openai_agents.ready_tools.approving import Needs, OnApproval, approving
from toolkeel.content import Data
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.engines.sandbox.confine import Sandbox
from toolkeel.errors import SetupError, ToolError
from toolkeel.hosted import Hosted, Native
from toolkeel.messages import ToolOutput

__all__ = [
    "ApplyPatchEditor", "ApplyPatchOperation", "ApplyPatchResult", "ApplyPatchTool",
    "LocalShellCommandRequest", "LocalShellExecutor", "LocalShellTool", "ShellActionRequest",
    "ShellCallData", "ShellCallOutcome", "ShellCommandOutput", "ShellCommandRequest",
    "ShellExecutor", "ShellResult", "ShellTool", "ShellToolInlineSkill", "ShellToolLocalSkill",
    "ShellToolSkillReference", "apply_diff",
]  # fmt: skip


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
    provider_data: Mapping[str, Any] | None = None


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


@dataclass(eq=False)
class LocalShellTool:
    """``local_shell``: the words of one command.

    Args:
        executor: Runs them and returns the output; without one they run in the sandbox.
        sandbox: Of commands without an executor; by default that of the current folder.
    """

    executor: LocalShellExecutor | None = None
    sandbox: Sandbox | None = None
    name = "local_shell"

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
        return await value_of(self.executor(LocalShellCommandRequest(wrapper, call)))


@dataclass(eq=False)
class ShellTool:
    """``shell``: lines of shell, with both outputs and the outcome of each.

    Args:
        executor: Runs them; without one they run in the sandbox.
        name: The tool's name.
        needs_approval: Which calls a person approves; see `Needs`.
        on_approval: Answers in the person's place; see `OnApproval`.
        environment: Where they run, in OpenAI's words; ``local`` is here, any other at OpenAI alone.
        sandbox: Of commands without an executor; by default that of the current folder.

    Raises:
        SetupError: an executor or approvals for what runs at OpenAI.
    """

    executor: ShellExecutor | None = None
    name: str = "shell"
    needs_approval: Needs = False
    on_approval: OnApproval | None = None
    environment: Mapping[str, Any] | None = None
    sandbox: Sandbox | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        if self._there and (self.executor or self.needs_approval or self.on_approval):
            raise SetupError(
                "ShellTool(environment=...) runs at OpenAI: it takes no executor and no approvals"
            )

    @property
    def _there(self) -> bool:
        return bool(self.environment) and (self.environment or {}).get("type") != "local"

    @cached_property
    def tool(self) -> AnyTool:
        """The core's tool."""
        if self.executor is None:
            made = shell(self.sandbox or Sandbox())
        else:
            made = _run_by(shell, self._execute)
        made = replace(made, name=self.name)
        if self.environment:
            native = Native({"type": "shell", "environment": dict(self.environment)})
            if not self._there:
                assert made.hosted is not None
                native = replace(made.hosted.natives[WIRE], body=native.body)
            made = replace(
                made, hosted=Hosted({WIRE: native}, "provider" if self._there else "auto")
            )
        decided = self.needs_approval, self.on_approval
        return approving(made, *decided, "action", ShellActionRequest)

    async def _execute(self, context: CoreContext[Any], arguments: Mapping[str, Any]) -> object:
        assert self.executor is not None
        call = ShellCallData(context.call.id, ShellActionRequest(**arguments))
        wrapper = RunContextWrapper.from_tool_context(context)
        result = await value_of(self.executor(ShellCommandRequest(wrapper, call)))
        if not isinstance(result, ShellResult):
            return result
        limit = result.max_output_length or call.action.max_output_length
        output = [_as_output(one) for one in _shortened(result.output, limit)]
        text = "\n".join(f"{one['stdout']}{one['stderr']}" for one in output)
        return ToolOutput((Data(output, text),), details={"output": output})


@dataclass(eq=False)
class ApplyPatchTool:
    """``apply_patch``: one file is made, changed or deleted.

    Args:
        editor: Carries it out; without one it is done to the files below the current folder.
        name: The tool's name.
        needs_approval: Which calls a person approves; see `Needs`.
        on_approval: Answers in the person's place; see `OnApproval`.
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
        else:  # of the folder's tool the definition alone counts: any folder that no module is found below
            inner = apply_patch(self.workspace or Workspace(Path(__file__).parent, None))
            inner = _with_body(inner, self._execute)
        decided = self.needs_approval, self.on_approval
        return approving(replace(inner, name=self.name), *decided, "operation", ApplyPatchOperation)

    async def _execute(self, context: CoreContext[Any], arguments: Mapping[str, Any]) -> object:
        wrapper = RunContextWrapper.from_tool_context(context)
        operation = ApplyPatchOperation(**arguments, ctx_wrapper=wrapper)
        result = await value_of(getattr(self.editor, operation.type)(operation))
        if isinstance(result, ApplyPatchResult):
            if result.status == "failed":
                raise ToolError(result.output or "The patch failed.")
            result = result.output
        return result or f"{operation.type}: {operation.path}"


ShellToolLocalSkill: TypeAlias = dict[str, Any]
ShellToolInlineSkill: TypeAlias = dict[str, Any]
ShellToolSkillReference: TypeAlias = dict[str, Any]
Body: TypeAlias = Callable[[CoreContext[Any], Mapping[str, Any]], Awaitable[object]]


def _run_by(make: Callable[[Sandbox], AnyTool], body: Body) -> AnyTool:
    """A shell tool's definition with another body; whether to ask is the executor's business."""
    return _with_body(replace(make(Sandbox("off", ["."])), approval=False), body)


def _with_body(model: AnyTool, body: Body) -> AnyTool:
    made = Tool.from_schema(model.name, model.description, model.parameters, body)
    kept = {name: getattr(model, name) for name in ("effects", "timeout", "approval", "hosted")}
    return replace(made, **kept, max_output=None)


def _shortened(output: Sequence[ShellCommandOutput], limit: int | None) -> list[ShellCommandOutput]:
    """Outputs of which no more than `limit` characters are left, the first ones."""
    kept: list[ShellCommandOutput] = []
    left = limit if limit is not None else sum(len(o.stdout) + len(o.stderr) for o in output)
    for one in output:
        stdout = one.stdout[:left]
        stderr = one.stderr[: left - len(stdout)]
        left -= len(stdout) + len(stderr)
        kept.append(ShellCommandOutput(stdout, stderr, one.outcome, one.command))
    return kept


def apply_diff(input: str, diff: str, mode: Literal["default", "create"] = "default") -> str:
    """A text with a patch of one file applied.

    >>> apply_diff("a\\nb\\n", "@@ a\\n-b\\n+B"), apply_diff("", "+new", mode="create")
    ('a\\nB\\n', 'new')

    Args:
        input: The text.
        diff: Hunks, as `ApplyPatchTool` gets them.
        mode: ``create`` for a new file, whose lines all begin with ``+``.

    Raises:
        ValueError: the patch does not fit, or is none.
    """
    try:
        if mode == "default":
            return patched(input, diff)
        if wrong := [row for row in diff.splitlines() if not row.startswith("+")]:
            raise ToolError(f"each line of a new file begins with '+', not {wrong[0]!r}")
        return "".join(row[1:] for row in diff.splitlines(keepends=True))
    except ToolError as error:
        raise ValueError(str(error)) from error


def _as_output(one: ShellCommandOutput) -> dict[str, object]:
    outcome: dict[str, object] = {"type": one.outcome.type}
    if one.outcome.type == "exit":
        outcome["exit_code"] = one.outcome.exit_code or 0
    return {"stdout": one.stdout, "stderr": one.stderr, "outcome": outcome}

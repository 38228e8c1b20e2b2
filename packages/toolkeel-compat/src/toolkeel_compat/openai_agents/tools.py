"""`function_tool` and `FunctionTool`, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict, Unpack

from toolkeel.call.toolset import Toolset
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define import decorator as core
from toolkeel.define.tool import DEADLINE, AnyTool, Needs, Prepared, Proceed, Step
from toolkeel.define.tool import Enabled as CoreEnabled
from toolkeel.define.tool import Tool as CoreTool
from toolkeel.errors import (
    CallError,
    Crashed,
    Denied,
    Refused,
    RunStopped,
    SetupError,
    TimedOut,
    ToolError,
)
from toolkeel.messages import ToolCall, ToolMessage, ToolOutput
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.check_options import check_options, maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper, ToolContext
from toolkeel_compat.openai_agents.exceptions import ToolTimeoutError, UserError
from toolkeel_compat.openai_agents.guardrails import ToolInputGuardrail, ToolOutputGuardrail
from toolkeel_compat.openai_agents.tool_outputs import parts_of

__all__ = ["FunctionTool", "Tool", "default_tool_error_function", "function_tool", "tool"]

Enabled: TypeAlias = bool | Callable[[RunContextWrapper[Any], Any], "bool | Awaitable[bool]"]
OnFailure: TypeAlias = Callable[[RunContextWrapper[Any], Exception], "str | Awaitable[str]"]
Approval: TypeAlias = (
    bool | Callable[[RunContextWrapper[Any], dict[str, Any], str], "bool | Awaitable[bool]"]
)
"""Whether a person must approve: always, never, or ``(context, arguments, call id)`` decides."""
UNSET: Any = object()
_TOLD: Mapping[str, object] = {"told": "by a function of the program's"}
FAILED = "An error occurred while running the tool. Please try again."
STRICT: Mapping[str, object] = {"strict": True}
"""What says of a tool that the provider shall hold its arguments to the schema."""


def default_tool_error_function(ctx: RunContextWrapper[Any], error: Exception) -> str:
    """What a model is told by default: nothing of the error itself."""
    return FAILED


class FunctionToolOptions(TypedDict, total=False):
    """Options of `function_tool`.

    Attributes:
        name_override: The tool's name; the function's own by default.
        description_override: For the model; the docstring by default.
        use_docstring_info: Whether the docstring describes the parameters.
        strict_mode: Whether the provider shall hold arguments to the schema.
        is_enabled: Whether it can be called now: yes or no, or ``(context, agent)`` decides.
        failure_error_function: What the model is told when the body raises; None ends the run
            with `UserError`; that something failed, by default.
        tool_input_guardrails: What looks at a call first.
        tool_output_guardrails: What looks at the result, the first one first.
        needs_approval: Whether a person must approve a call; see `Approval`.
        timeout: Seconds until it is stopped; None for never.
        timeout_behavior: ``error_as_result``, or ``raise_exception``: the run ends with
            `ToolTimeoutError`.
        timeout_error_function: What the model is told of a call that took too long.
        docstring_style: ``google``, ``numpy`` or ``sphinx``: all three are read anyway.
    """

    name_override: str | None
    description_override: str | None
    use_docstring_info: bool
    strict_mode: bool
    is_enabled: Enabled
    failure_error_function: OnFailure | None
    tool_input_guardrails: Sequence[ToolInputGuardrail] | None
    tool_output_guardrails: Sequence[ToolOutputGuardrail] | None
    needs_approval: Approval
    timeout: float | None
    timeout_behavior: Literal["error_as_result", "raise_exception"]
    timeout_error_function: OnFailure | None
    docstring_style: Literal["google", "numpy", "sphinx"] | None


_REFUSED: Mapping[str, str] = {
    "defer_loading": "Agent(search_tools=True) of toolkeel finds tools among many",
    "output_type": "annotate what the function returns",
}


class Invoker:
    """The `on_invoke_tool` of a function: what runs it without its guardrails."""

    def __init__(self, inner: AnyTool) -> None:
        self.inner = inner

    async def __call__(self, context: Any, arguments: str) -> Any:
        own = getattr(context, "context", None)
        full = context if isinstance(context, ToolContext) else ToolContext(own)
        call = ToolCall(full.tool_call_id, self.inner.name, arguments)
        [message] = await Toolset([self.inner]).run([call], full.run())
        return message.content


@dataclasses.dataclass(eq=False)
class FunctionTool:
    """A tool with the SDK's fields; `tool` is the core's, of the fields as they are now.

    Args:
        name: The tool's name.
        description: For the model.
        params_json_schema: JSON Schema of the arguments.
        on_invoke_tool: ``async (context, arguments' JSON text) -> result``.
        strict_json_schema: Whether the provider shall hold arguments to the schema.
        is_enabled: Whether it can be called now.
        tool_input_guardrails: What looks at a call first.
        tool_output_guardrails: What looks at the result, the first one first.
        needs_approval: Whether a person must approve a call; see `Approval`.
        timeout_seconds: Seconds until it is stopped; None for never.
        timeout_behavior: See `FunctionToolOptions`.
        timeout_error_function: What the model is told of a call that took too long.

    Raises:
        DefinitionError: if the schema or the name will not do.
    """

    name: str
    description: str
    params_json_schema: Mapping[str, Any]
    on_invoke_tool: Callable[[Any, str], Awaitable[Any]]
    strict_json_schema: bool = True
    is_enabled: Enabled = True
    tool_input_guardrails: Sequence[ToolInputGuardrail] | None = None
    tool_output_guardrails: Sequence[ToolOutputGuardrail] | None = None
    needs_approval: Approval = False
    timeout_seconds: float | None = DEADLINE
    timeout_behavior: str = "error_as_result"
    timeout_error_function: OnFailure | None = None

    def __post_init__(self) -> None:
        if self.timeout_behavior not in ("error_as_result", "raise_exception"):
            raise SetupError(
                f"timeout_behavior={self.timeout_behavior!r:.60}: write 'error_as_result' or "
                "'raise_exception'"
            )
        self.__dict__["_made"] = self._make()

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        if "_made" in self.__dict__:
            self.__dict__["_made"] = self._make()

    @property
    def tool(self) -> AnyTool:
        """The core's tool."""
        made: AnyTool = self.__dict__["_made"]
        return made

    def _make(self) -> AnyTool:
        invoker = self.on_invoke_tool
        if isinstance(invoker, Invoker) and self.params_json_schema == invoker.inner.parameters:
            inner = invoker.inner
        else:
            schema = self.params_json_schema
            inner = CoreTool.from_schema(self.name, self.description, schema, self._on_invoke)
        guards: list[Step] = [guard.step() for guard in self.tool_input_guardrails or ()]
        guards += [guard.step() for guard in reversed(self.tool_output_guardrails or ())]
        return dataclasses.replace(
            inner,
            name=self.name,
            description=self.description,
            enabled=as_enabled(self.is_enabled),
            approval=as_approval(self.needs_approval),
            steps=(_as_told, *guards, self._in_time, *inner.steps),
            timeout=self.timeout_seconds,
            metadata=STRICT if self.strict_json_schema else {},
        )

    async def _in_time(
        self, prepared: Prepared, context: CoreContext[Any], proceed: Proceed
    ) -> object:
        """A step: a call that took too long says what was asked for."""
        try:
            return await proceed(prepared)
        except TimedOut as late:
            error = ToolTimeoutError(self.name, self.timeout_seconds)
            if self.timeout_behavior == "raise_exception":
                raise RunStopped(str(error), error) from late
            if self.timeout_error_function is None:
                raise
            wrapper = RunContextWrapper.from_tool_context(context)
            text = self.timeout_error_function(wrapper, error)
            raise TimedOut(str(await maybe_await(text)), _TOLD) from late

    async def _on_invoke(self, context: CoreContext[Any], arguments: Mapping[str, Any]) -> Any:
        return await self.on_invoke_tool(ToolContext.from_tool_context(context), dumps(arguments))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tool(*args, **kwargs)


def function_tool(func: Any = None, /, **options: Unpack[FunctionToolOptions]) -> Any:
    """Make a tool of a function: as ``@function_tool``, ``@function_tool(...)``, ``function_tool(f)``.

    Args:
        func: What to wrap.
        options: See `FunctionToolOptions`.

    Raises:
        DefinitionError: naming the function, the parameter and the fix.
        TypeError: for an option that is not here: none is dropped in silence.
    """
    check_options(options, FunctionToolOptions, "function_tool", _REFUSED)
    told, reads = options.get("description_override"), options.get("use_docstring_info", True)
    wrap = core.tool(
        options.get("name_override"),
        description=told,
        docstring="parse" if reads else "plain",
        on_crash=FAILED,
    )

    def make(function: Callable[..., Any]) -> FunctionTool:
        inner = failing_as_told(wrap(function), options.get("failure_error_function", UNSET))
        shown = inner.description if told or (reads and function.__doc__) else ""
        same = FunctionTool.__dataclass_fields__
        fields: dict[str, Any] = {k: v for k, v in options.items() if k in same}
        fields["strict_json_schema"] = options.get("strict_mode", True)
        fields["timeout_seconds"] = options.get("timeout", DEADLINE)
        return FunctionTool(inner.name, shown, inner.parameters, Invoker(inner), **fields)

    return make if func is None else make(func)


Tool = FunctionTool
"""Any tool an agent may be given."""
tool = function_tool
"""The same under the name it has in ``agents.decorators``."""


def as_strict(tools: Any, *, every: bool = False) -> Any:
    """The tools, of which OpenAI holds those to their schema that say so, or all."""
    if isinstance(tools, Toolset):
        return tools
    return [_as_strict(one, every) for one in tools]


def _as_strict(given: Any, every: bool) -> Any:
    made = given if isinstance(given, CoreTool) else getattr(given, "tool", None)
    if not isinstance(made, CoreTool) or not (every or made.metadata.get("strict")):
        return given
    return dataclasses.replace(made, provider_options={**made.provider_options, **STRICT})


async def _as_told(prepared: Prepared, context: CoreContext[Any], proceed: Proceed) -> object:
    """What a body returned as the SDK shows it to a model: its parts, else its ``str``."""
    value = await rejection_as_told(prepared, context, proceed)
    if isinstance(value, str | ToolOutput | ToolMessage):
        return value
    parts = parts_of(value)
    nothing = {"returned": None} if value is None else {}
    return ToolOutput(str(value) if parts is None else parts, value, nothing)


async def rejection_as_told(
    prepared: Prepared, context: CoreContext[Any], proceed: Proceed
) -> object:
    """A step: of a call that a person rejected the model reads their words alone, as there."""
    try:
        return await proceed(prepared)
    except Denied as denied:
        said = denied.text.partition(" was not approved: ")[2]
        return ToolOutput(said or denied.text)


async def refusal_as_result(
    prepared: Prepared, context: CoreContext[Any], proceed: Proceed
) -> object:
    """A step of agents: what a guardrail says in place of a call, or a function of the program's of
    its failure, is its result, as there."""
    try:
        return await proceed(prepared)
    except RunStopped:
        raise
    except CallError as failure:
        if isinstance(failure, Refused) or _TOLD.items() <= failure.details.items():
            return ToolOutput(failure.text)
        raise


def as_enabled(wanted: Enabled) -> CoreEnabled:
    """The SDK's ``is_enabled`` in the core's form."""
    if not callable(wanted):
        return wanted
    return lambda context: wanted(RunContextWrapper.from_tool_context(context), context.agent)


def as_approval(wanted: Approval) -> Needs:
    """The SDK's ``needs_approval`` in the core's form."""
    if not callable(wanted):
        return wanted
    return lambda arguments, context: wanted(
        RunContextWrapper.from_tool_context(context), dict(arguments), context.call.id
    )


def failing_as_told(inner: AnyTool, told: OnFailure | None) -> AnyTool:
    """The same tool with what the model is told, or what happens, when its body raises."""
    if told is UNSET:
        return inner

    async def step(prepared: Prepared, context: CoreContext[Any], proceed: Proceed) -> object:
        try:
            return await proceed(prepared)
        except (Crashed, ToolError) as failure:
            error = failure.__cause__ if isinstance(failure, Crashed) else failure
            assert isinstance(error, Exception)
            if told is None:
                ended = UserError(f"Error running tool {inner.name}: {error}")
                ended.__cause__ = error
                raise RunStopped(f"{inner.name!r} failed, and the run was ended.", ended) from error
            text = told(RunContextWrapper.from_tool_context(context), error)
            raise Crashed(str(await maybe_await(text)), _TOLD) from error

    return dataclasses.replace(inner, steps=(step,), on_crash=True)

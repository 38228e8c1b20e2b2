"""`function_tool` and `FunctionTool`, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, Unpack

from toolkeel.call.toolset import Toolset
from toolkeel.context import ToolContext as CoreContext
from toolkeel.define import decorator as core
from toolkeel.define.schema.argument_schema import ArgumentSchema
from toolkeel.define.tool import DEFAULT_TIMEOUT, AnyTool, Prepared, Proceed, Step
from toolkeel.define.tool import ApprovalOption as CoreApprovalOption
from toolkeel.define.tool import Enabled as CoreEnabled
from toolkeel.define.tool import Tool as CoreTool
from toolkeel.errors import (
    CallError,
    Crashed,
    Denied,
    Refused,
    RunStopped,
    TimedOut,
    ToolError,
)
from toolkeel.messages import ToolCall, ToolMessage, ToolOutput
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.check_options import SECONDS, check_fields, check_options, maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper, ToolContext
from toolkeel_compat.openai_agents.exceptions import ToolTimeoutError, UserError
from toolkeel_compat.openai_agents.guardrails import ToolInputGuardrail, ToolOutputGuardrail
from toolkeel_compat.openai_agents.models.strict_schema import is_closed, to_strict_schema
from toolkeel_compat.openai_agents.tool_outputs import read_parts

__all__ = ["FunctionTool", "Tool", "default_tool_error_function", "function_tool", "tool"]

Enabled: TypeAlias = bool | Callable[[RunContextWrapper[Any], Any], "bool | Awaitable[bool]"]
ErrorFunction: TypeAlias = Callable[[RunContextWrapper[Any], Exception], "str | Awaitable[str]"]
ApprovalOption: TypeAlias = (
    bool | Callable[[RunContextWrapper[Any], dict[str, Any], str], "bool | Awaitable[bool]"]
)
"""Whether a person must approve: always, never, or ``(context, arguments, call id)`` decides."""
UNSET: Any = object()
_PROGRAM_TEXT: Mapping[str, object] = {"told": "by a function of the program's"}
DEFAULT_ERROR_TEXT = "An error occurred while running the tool. Please try again."
STRICT: Mapping[str, object] = {"strict": True}
"""What says of a tool that the provider shall hold its arguments to the schema."""
_VERBATIM: Mapping[str, object] = {"strict": "verbatim"}
"""The same for a schema that is in the SDK's strict form, and is sent as it is, as there."""


def default_tool_error_function(ctx: RunContextWrapper[Any], error: Exception) -> str:
    """Return the default text for the model, which hides the error itself."""
    return DEFAULT_ERROR_TEXT


class FunctionToolOptions(TypedDict, total=False):
    """Options of `function_tool`.

    Attributes:
        name_override: The tool's name; the function's own by default.
        description_override: The description for the model; the docstring by default.
        use_docstring_info: Read the parameters' descriptions from the docstring.
        strict_mode: Ask the provider to enforce the schema.
        is_enabled: Offer the tool: a bool, or ``(context, agent)`` decides.
        failure_error_function: Returns the text for the model when the body raises; None ends the run
            with `UserError`; by default a masked sentence.
        tool_input_guardrails: Checks before a call.
        tool_output_guardrails: Checks of the result, in order.
        needs_approval: Calls that need a person's approval; see `ApprovalOption`.
        timeout: Seconds until the call is stopped; None for no limit.
        timeout_behavior: ``error_as_result``, or ``raise_exception``: the run ends with
            `ToolTimeoutError`.
        timeout_error_function: Returns the text for the model after a timeout.
        docstring_style: ``google``, ``numpy`` or ``sphinx``; ignored, as all three are read.
    """

    name_override: str | None
    description_override: str | None
    use_docstring_info: bool
    strict_mode: bool
    is_enabled: Enabled
    failure_error_function: ErrorFunction | None
    tool_input_guardrails: Sequence[ToolInputGuardrail] | None
    tool_output_guardrails: Sequence[ToolOutputGuardrail] | None
    needs_approval: ApprovalOption
    timeout: Annotated[float | None, SECONDS]
    timeout_behavior: Literal["error_as_result", "raise_exception"]
    timeout_error_function: ErrorFunction | None
    docstring_style: Literal["google", "numpy", "sphinx"] | None


_REFUSED: Mapping[str, str] = {
    "defer_loading": "Agent(search_tools=True) of toolkeel finds tools among many",
    "output_type": "annotate what the function returns",
}


class FunctionInvoker:
    """The `on_invoke_tool` of a function: runs it without its guardrails."""

    def __init__(self, inner: AnyTool) -> None:
        self.inner = inner

    async def __call__(self, context: Any, arguments: str) -> Any:
        own = getattr(context, "context", None)
        full = context if isinstance(context, ToolContext) else ToolContext(own)
        call = ToolCall(full.tool_call_id, self.inner.name, arguments)
        [message] = await Toolset([self.inner]).run([call], full.core_run())
        return message.content


class AgentInvoker(FunctionInvoker):
    """The `on_invoke_tool` of an agent as a tool.

    Args:
        inner: The core's tool.
        agent: The agent.
    """

    def __init__(self, inner: AnyTool, agent: Any) -> None:
        super().__init__(inner)
        self.agent = agent


@dataclasses.dataclass(eq=False)
class FunctionTool:
    """A tool with the SDK's fields; `tool` is the core's tool for the current values.

    Args:
        name: The tool's name.
        description: The description for the model.
        params_json_schema: JSON Schema of the arguments.
        on_invoke_tool: ``async (context, arguments as JSON text) -> result``.
        strict_json_schema: Ask the provider to enforce the schema.
        is_enabled: Offer the tool.
        tool_input_guardrails: Checks before a call.
        tool_output_guardrails: Checks of the result, in order.
        needs_approval: Calls that need a person's approval; see `ApprovalOption`.
        timeout_seconds: Seconds until the call is stopped; None for no limit.
        timeout_behavior: See `FunctionToolOptions`.
        timeout_error_function: Returns the text for the model after a timeout.

    Raises:
        DefinitionError: The schema or the name is invalid.
        SetupError: A field has a value of a wrong type.
    """

    name: str
    description: str
    params_json_schema: Mapping[str, Any]
    on_invoke_tool: Callable[[Any, str], Awaitable[Any]]
    strict_json_schema: bool = True
    is_enabled: Enabled = True
    tool_input_guardrails: Sequence[ToolInputGuardrail] | None = None
    tool_output_guardrails: Sequence[ToolOutputGuardrail] | None = None
    needs_approval: ApprovalOption = False
    timeout_seconds: Annotated[float | None, SECONDS] = DEFAULT_TIMEOUT
    timeout_behavior: Literal["error_as_result", "raise_exception"] = "error_as_result"
    timeout_error_function: ErrorFunction | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.strict_json_schema:
            self.__dict__["_given"] = self.params_json_schema
            self.params_json_schema = to_strict_schema(self.params_json_schema)
        self.__dict__["_made"] = self._make_tool()

    def __setattr__(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
        if "_made" in self.__dict__:
            check_fields(self)
            self.__dict__["_made"] = self._make_tool()

    @property
    def tool(self) -> AnyTool:
        """The core's tool."""
        made: AnyTool = self.__dict__["_made"]
        return made

    def _make_tool(self) -> AnyTool:
        invoker, schema = self.on_invoke_tool, self.params_json_schema
        given = self.__dict__.get("_given", schema)
        if isinstance(invoker, FunctionInvoker) and schema in (
            invoker.inner.parameters,
            to_strict_schema(invoker.inner.parameters),
        ):
            inner = invoker.inner
        else:
            if schema == to_strict_schema(given):  # calls are checked by what the author wrote
                schema = given
            inner = CoreTool.from_schema(self.name, self.description, schema, self._on_invoke)
        guards: list[Step] = [guard.step() for guard in self.tool_input_guardrails or ()]
        guards += [guard.step() for guard in reversed(self.tool_output_guardrails or ())]
        return dataclasses.replace(
            inner,
            name=self.name,
            description=self.description,
            enabled=to_core_enabled(self.is_enabled),
            approval=to_core_approval(self.needs_approval),
            steps=(_convert_result, *guards, self._handle_timeout, *inner.steps),
            timeout=self.timeout_seconds,
            metadata=STRICT if self.strict_json_schema else {},
        )

    async def _handle_timeout(
        self, prepared: Prepared, context: CoreContext[Any], proceed: Proceed
    ) -> object:
        """Report a timeout as `timeout_behavior` says, as a step around the call."""
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
            raise TimedOut(str(await maybe_await(text)), _PROGRAM_TEXT) from late

    async def _on_invoke(self, context: CoreContext[Any], arguments: Mapping[str, Any]) -> Any:
        return await self.on_invoke_tool(ToolContext.from_tool_context(context), dumps(arguments))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.tool(*args, **kwargs)


def function_tool(func: Any = None, /, **options: Unpack[FunctionToolOptions]) -> Any:
    """Make a tool from a function: as ``@function_tool``, ``@function_tool(...)``, ``function_tool(f)``.

    Args:
        func: The function.
        options: See `FunctionToolOptions`.

    Raises:
        DefinitionError: With the function, the parameter and the fix.
        TypeError: An option is unknown; none is ignored silently.
    """
    check_options(options, FunctionToolOptions, "function_tool", _REFUSED)
    description, reads = (
        options.get("description_override"),
        options.get("use_docstring_info", True),
    )
    wrap = core.tool(
        options.get("name_override"),
        description=description,
        docstring="parse" if reads else "plain",
        on_crash=DEFAULT_ERROR_TEXT,
    )

    def make(function: Callable[..., Any]) -> FunctionTool:
        inner = with_error_function(wrap(function), options.get("failure_error_function", UNSET))
        shown = inner.description if description or (reads and function.__doc__) else ""
        same = FunctionTool.__dataclass_fields__
        fields: dict[str, Any] = {k: v for k, v in options.items() if k in same}
        fields["strict_json_schema"] = options.get("strict_mode", True)
        fields["timeout_seconds"] = options.get("timeout", DEFAULT_TIMEOUT)
        return FunctionTool(inner.name, shown, inner.parameters, FunctionInvoker(inner), **fields)

    return make if func is None else make(func)


Tool = FunctionTool
"""Any tool an agent may be given."""
tool = function_tool
"""The same under the name it has in ``agents.decorators``."""


def mark_strict(tools: Any, *, every: bool = False) -> Any:
    """Return the tools, asking OpenAI to enforce the schema of those marked strict, or of all."""
    if isinstance(tools, Toolset):
        return tools
    return [_mark_strict(one, every) for one in tools]


def _mark_strict(tool: Any, every: bool) -> Any:
    made = tool if isinstance(tool, CoreTool) else getattr(tool, "tool", None)
    if not isinstance(made, CoreTool) or not (every or made.metadata.get("strict")):
        return tool
    shown = to_strict_schema(made.parameters)
    if not is_closed(shown):
        return dataclasses.replace(made, provider_options={**made.provider_options, **STRICT})
    options = {**made.provider_options, **_VERBATIM}
    fields = {name: getattr(made.arguments, name) for name in ArgumentSchema.__match_args__}
    arguments = ArgumentSchema(**{**fields, "schema": shown})  # calls are checked as before
    return dataclasses.replace(made, arguments=arguments, provider_options=options)


async def _convert_result(
    prepared: Prepared, context: CoreContext[Any], proceed: Proceed
) -> object:
    """Convert a body's return value as the SDK does: content parts, else its ``str``."""
    value = await return_rejection(prepared, context, proceed)
    if isinstance(value, str | ToolOutput | ToolMessage):
        return value
    parts = read_parts(value)
    nothing = {"returned": None} if value is None else {}
    return ToolOutput(str(value) if parts is None else parts, value, nothing)


async def return_rejection(
    prepared: Prepared, context: CoreContext[Any], proceed: Proceed
) -> object:
    """Return the person's words as the result of a rejected call, as a step around the call."""
    try:
        return await proceed(prepared)
    except Denied as denied:
        reason = denied.text.partition(" was not approved: ")[2]
        return ToolOutput(reason or denied.text)


async def return_refusal(prepared: Prepared, context: CoreContext[Any], proceed: Proceed) -> object:
    """Return a guardrail's or an error function's text as a call's result, as a step of agents."""
    try:
        return await proceed(prepared)
    except RunStopped:
        raise
    except CallError as failure:
        if isinstance(failure, Refused) or _PROGRAM_TEXT.items() <= failure.details.items():
            return ToolOutput(failure.text)
        raise


def to_core_enabled(wanted: Enabled) -> CoreEnabled:
    """Convert the SDK's ``is_enabled`` to the core's form."""
    if not callable(wanted):
        return wanted
    return lambda context: wanted(RunContextWrapper.from_tool_context(context), context.agent)


def to_core_approval(wanted: ApprovalOption) -> CoreApprovalOption | None:
    """Convert the SDK's ``needs_approval`` to the core's form.

    False, its default there, is nobody's explicit word, so labels of the run may still make a call ask.
    """
    if not callable(wanted):
        return wanted or None
    return lambda arguments, context: wanted(
        RunContextWrapper.from_tool_context(context), dict(arguments), context.call.id
    )


def with_error_function(inner: AnyTool, error_function: ErrorFunction | None) -> AnyTool:
    """Return the tool with a function that handles what its body raises."""
    if error_function is UNSET:
        return inner

    async def step(prepared: Prepared, context: CoreContext[Any], proceed: Proceed) -> object:
        try:
            return await proceed(prepared)
        except (Crashed, ToolError) as failure:
            error = failure.__cause__ if isinstance(failure, Crashed) else failure
            assert isinstance(error, Exception)
            if error_function is None:
                ended = UserError(f"Error running tool {inner.name}: {error}")
                ended.__cause__ = error
                raise RunStopped(f"{inner.name!r} failed, and the run was ended.", ended) from error
            text = error_function(RunContextWrapper.from_tool_context(context), error)
            raise Crashed(str(await maybe_await(text)), _PROGRAM_TEXT) from error

    return dataclasses.replace(inner, steps=(step,), on_crash=True)

"""Tools of functions, under the names of Pydantic AI: `Tool`, `FunctionToolset`."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Annotated, Any, Final, TypedDict, Unpack

from pydantic_core import PydanticSerializationError, to_jsonable_python

from toolkeel.call.steps.approve import Approval
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext as CoreRun
from toolkeel.context import ToolContext
from toolkeel.define import decorator as core
from toolkeel.define.base_tool import as_tool
from toolkeel.define.tool import AnyTool, Prepared, Proceed
from toolkeel.define.tool import Tool as CoreTool
from toolkeel.errors import Crashed, Denied, RunStopped, SetupError
from toolkeel.messages import Message
from toolkeel.messages import ToolOutput as CoreToolOutput
from toolkeel_compat.check_options import SECONDS, check_options
from toolkeel_compat.pydantic_ai.context import RunContext, approved
from toolkeel_compat.pydantic_ai.exceptions import ApprovalRequired
from toolkeel_compat.pydantic_ai.messages import get_values, make_user_message
from toolkeel_compat.pydantic_ai.retries import RETRIES_KEY

_RAISED_KEY: Final = "pydantic_ai_raised_approvals"


class ToolDecoratorOptions(TypedDict, total=False):
    """Options of a tool besides its function.

    Attributes:
        name: Its name; the function's own by default.
        description: Its description; that of the docstring by default.
        retries: How often the model may correct calls of the tool before the run ends with an error.
        max_retries: The same.
        strict: Ask the provider to enforce the schema.
        sequential: Run it alone.
        requires_approval: Each call waits for a person.
        metadata: For the program.
        timeout: Seconds until a call is stopped.
        docstring_format: Accepted: all three formats are read.
    """

    name: str | None
    description: str | None
    retries: int | None
    max_retries: int | None
    strict: bool | None
    sequential: bool
    requires_approval: bool
    metadata: Mapping[str, Any] | None
    timeout: Annotated[float | None, SECONDS]
    docstring_format: str


_REFUSED: Mapping[str, str] = {
    "prepare": "@tool(enabled=...) of toolkeel offers a tool or not, by a function of the context",
    "args_validator": "annotate the parameter with a type of pydantic that validates",
    "schema_generator": "Tool.from_schema of toolkeel takes a schema",
    "require_parameter_descriptions": "describe each parameter in the docstring",
    "defer_loading": "Agent(search_tools=True) of toolkeel finds tools among many",
    "function_schema": "Tool.from_schema of toolkeel takes a schema",
}


@dataclasses.dataclass
class ToolReturn:
    """A result in parts.

    Args:
        return_value: For the model.
        content: A message to the model after the results of the turn: a text, or a list of parts.
        metadata: For the program.
    """

    return_value: Any
    content: Any = None
    metadata: Any = None

    def to_core(self, run: CoreRun[Any]) -> CoreToolOutput:
        """Return the core's form; its content goes to the run that the call is in."""
        if self.content:
            run.loop_state.inbox.append(make_user_message(self.content))
        return CoreToolOutput(to_text(self.return_value), self.metadata)


def to_text(value: object) -> object:
    """Return a value that JSON writes as a text, such as a date, as that text; any other unchanged."""
    if isinstance(value, str | CoreToolOutput | Message):
        return value
    try:
        made = to_jsonable_python(value)
    except PydanticSerializationError:
        return value
    return made if isinstance(made, str) else value


def make_tool(function: Callable[..., Any], *, takes_context: bool, **options: Any) -> AnyTool:
    """Make a tool of a function.

    Args:
        function: The function.
        takes_context: Its first parameter is a `RunContext`, annotated or not.
        options: See `ToolDecoratorOptions`.

    Raises:
        DefinitionError: With the function, the parameter and the fix.
        SetupError: An option has no counterpart, or the function takes no `RunContext`; the message
            says what to write.
        TypeError: An option is unknown.
    """
    known = check_options(options, ToolDecoratorOptions, "tool", _REFUSED)
    if takes_context:
        _annotate_context(function)
    retries = known.get("retries") if known.get("retries") is not None else known.get("max_retries")
    metadata = {
        **(known.get("metadata") or {}),
        **({} if retries is None else {RETRIES_KEY: retries}),
    }
    more: dict[str, Any] = {
        "approval": True if known.get("requires_approval") else None,
        "sequential": known.get("sequential") or None,
        "metadata": metadata or None,
        "timeout": known.get("timeout"),
        "provider_options": None if (strict := known.get("strict")) is None else {"strict": strict},
    }
    chosen = {name: value for name, value in more.items() if value is not None}
    made = core.tool(
        known.get("name"),
        description=known.get("description"),
        steps=_STEPS,
        **chosen,
    )(function)
    return as_tool(made)


def _annotate_context(function: Any) -> None:
    """Annotate the first parameter of a function, if it has no type."""
    first = next(iter(inspect.signature(function).parameters), None)
    annotations = getattr(function, "__annotations__", None)
    if first is not None and annotations is not None and first not in annotations:
        annotations[first] = RunContext
    hint = (annotations or {}).get(first, RunContext)
    if not takes_run_context(function) and "RunContext" not in str(hint):
        raise SetupError(
            f"tool({getattr(function, '__name__', function)}): its first parameter {first!r} must be "
            "a RunContext[...]; tool_plain makes a tool without one"
        )


async def _ask_when_required(
    prepared: Prepared, context: ToolContext[Any], proceed: Proceed
) -> object:
    """Let a call wait whose body raises `ApprovalRequired`, as a step around the call."""
    decisions = context.run.loop_state.decisions
    if not any(call == context.call.id for call, _ in decisions) or prepared.tool.approval:
        try:
            return await proceed(prepared)
        except Crashed as crash:
            cause = crash.__cause__
            if not isinstance(cause, Exception):
                raise
            if not isinstance(cause, ApprovalRequired):
                text = f"{prepared.tool.name!r} failed, and the run was ended."
                raise RunStopped(text, cause) from cause
            get_raised_approvals(context.run)[context.call.id] = cause.metadata
    approval = Approval(True, None, ())

    async def run_approved(passed: Prepared, context: ToolContext[Any]) -> object:
        token = approved.set(True)
        try:
            return await proceed(passed.change())
        finally:
            approved.reset(token)

    return await approval.require_approval(approval.run_approved(run_approved))(prepared, context)


def get_raised_approvals(run: CoreRun[Any]) -> dict[str, Any]:
    """Return metadata, to read and change, of a run's calls that asked for approval while they ran."""
    known: Any = run.scope.step_state.setdefault((_RAISED_KEY, run.id), {})
    raised: dict[str, Any] = known
    return raised


async def _convert_result(
    prepared: Prepared, context: ToolContext[Any], proceed: Proceed
) -> object:
    """Convert a `ToolReturn`, and a person's denial to its text, as a step around the call."""
    try:
        value = await proceed(prepared)
    except Denied as denied:
        reason = denied.text.partition(" was not approved: ")[2]
        return CoreToolOutput(reason or denied.text)
    shown = value.return_value if isinstance(value, ToolReturn) else value
    get_values(context.run)[context.call.id] = shown
    return value.to_core(context.run) if isinstance(value, ToolReturn) else to_text(value)


_STEPS: Final = (_convert_result, _ask_when_required)
"""Steps around each call of a tool."""


def takes_run_context(function: Callable[..., Any]) -> bool:
    """Return True if the first parameter of a function is annotated with `RunContext`."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except (NameError, TypeError, ValueError):
        signature = inspect.signature(function)
    first = next(iter(signature.parameters.values()), None)
    hint = None if first is None else first.annotation
    origin = getattr(hint, "__origin__", hint)
    return origin is RunContext or str(hint).startswith("RunContext")


class Tool:
    """A tool of a function.

    Args:
        function: The function.
        takes_ctx: Its first parameter is a `RunContext`; found by its annotation by default.
        options: See `ToolDecoratorOptions`.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        takes_ctx: bool | None = None,
        **options: Unpack[ToolDecoratorOptions],
    ) -> None:
        takes = takes_run_context(function) if takes_ctx is None else takes_ctx
        self.function = function
        self.tool: AnyTool = make_tool(function, takes_context=takes, **options)
        self.name, self.description = self.tool.name, self.tool.description

    @classmethod
    def from_schema(
        cls,
        function: Callable[..., Any],
        name: str,
        description: str | None,
        json_schema: Mapping[str, Any],
        takes_ctx: bool = False,
        sequential: bool = False,
    ) -> Tool:
        """Make a tool of a JSON Schema and a function that takes the arguments by keyword.

        Args:
            function: The function, sync or async.
            name: The tool's name.
            description: For the model.
            json_schema: JSON Schema of the arguments.
            takes_ctx: The function takes a `RunContext` first.
            sequential: Run it alone.
        """

        def invoke(context: ToolContext[Any], arguments: dict[str, Any]) -> Any:
            first = (RunContext.from_tool_context(context),) if takes_ctx else ()
            return function(*first, **arguments)

        async def invoke_async(context: ToolContext[Any], arguments: dict[str, Any]) -> Any:
            return await invoke(context, arguments)

        made = object.__new__(cls)
        made.function = function
        made.tool = CoreTool.from_schema(
            name,
            description or "",
            json_schema,
            invoke_async if inspect.iscoroutinefunction(function) else invoke,
            steps=_STEPS,
            sequential=sequential,
        )
        made.name, made.description = made.tool.name, made.tool.description
        return made


def to_core_tool(item: Any) -> Any:
    """Convert a function or a `Tool`; return any other tool unchanged."""
    return Tool(item).tool if inspect.isroutine(item) else item


class ToolCollection:
    """Decorators that make tools of functions, and the tools that they made."""

    collected: list[Any]

    def tool(self, function: Any = None, /, **options: Unpack[ToolDecoratorOptions]) -> Any:
        """Make a tool of a function whose first parameter is a `RunContext`."""
        return self._decorate(function, True, options)

    def tool_plain(self, function: Any = None, /, **options: Unpack[ToolDecoratorOptions]) -> Any:
        """Make a tool of a function without a `RunContext`."""
        return self._decorate(function, False, options)

    def _decorate(self, function: Any, takes_context: bool, options: Mapping[str, Any]) -> Any:
        def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
            made = make_tool(function, takes_context=takes_context, **options)
            self.collected.append(made)
            return function

        return decorate if function is None else decorate(function)


class FunctionToolset(ToolCollection):
    """Tools of functions, for several agents.

    Args:
        tools: Functions and tools.
        id: Its name, for people.
    """

    def __init__(self, tools: Sequence[Any] = (), *, id: str | None = None) -> None:
        self.collected = [to_core_tool(one) for one in tools]
        self.id = id

    def add_function(
        self,
        func: Callable[..., Any],
        takes_ctx: bool | None = None,
        **options: Unpack[ToolDecoratorOptions],
    ) -> None:
        """Add a tool of a function."""
        self.collected.append(Tool(func, takes_ctx=takes_ctx, **options).tool)

    def add_tool(self, tool: Tool) -> None:
        """Add a tool."""
        self.collected.append(tool.tool)

    def prefixed(self, prefix: str) -> Toolset:
        """Return its present tools with a prefix before their names."""
        return Toolset(self.collected).with_prefix(f"{prefix}_")

    def renamed(self, name_map: Mapping[str, str]) -> Toolset:
        """Return its present tools with other names.

        Args:
            name_map: Old name by new name.
        """
        return Toolset(self.collected).rename({old: new for new, old in name_map.items()})


def flatten_toolsets(toolsets: Iterable[Any]) -> list[Any]:
    """Return the tools and tool sources of several toolsets."""
    found: list[Any] = []
    for one in toolsets:
        found += (
            one.collected
            if isinstance(one, ToolCollection)
            else [*one]
            if isinstance(one, Toolset)
            else [one]
        )
    return found

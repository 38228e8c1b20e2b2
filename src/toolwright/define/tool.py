"""`Tool`, the one record every front door compiles to."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from types import FrameType
from typing import (
    Any,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
)

from toolwright.context import Run, ToolContext
from toolwright.define.compile import ArgsSchema, Request, compile_function
from toolwright.define.inject import Injected
from toolwright.define.options import check_names, check_on_invoke, checked
from toolwright.define.output import Output
from toolwright.define.schema import Arguments, Extra
from toolwright.define.signature import BodyKind, Parameter, calling_frame
from toolwright.effects import UNKNOWN, Effects
from toolwright.errors import DefinitionError, SetupError
from toolwright.hosted import Hosted
from toolwright.messages import ToolCall
from toolwright.record import NOTHING, record

P = ParamSpec("P")
R = TypeVar("R")

ErrorHandler: TypeAlias = bool | str | Callable[[Exception], str]
"""True: tell the model the error's own text; a text: tell it that; a callable: what it returns."""
Enabled: TypeAlias = bool | Callable[[ToolContext[Any]], "bool | Awaitable[bool]"]
Needs: TypeAlias = bool | Callable[[Mapping[str, object]], "bool | str | Awaitable[bool | str]"]
"""Whether a person must approve a call; a text says why."""
DEADLINE = 30.0
OUTPUT_LIMIT = 50_000


@record
class Prepared:
    """A call whose arguments passed validation.

    Args:
        call: As the model made it.
        tool: What will run.
        arguments: Validated keyword arguments, without the injected ones. A step that wants
            others passes on a `Prepared` with other arguments; they are validated again.
        changes: How the arguments were mended before they passed, one phrase each.
    """

    call: ToolCall
    tool: Tool[..., Any]
    arguments: Mapping[str, Any]
    changes: tuple[str, ...] = ()

    def change(self, **arguments: Any) -> Prepared:
        """The call with some arguments changed; they are validated again before it goes on."""
        return Prepared(self.call, self.tool, {**self.arguments, **arguments}, self.changes)


Proceed: TypeAlias = Callable[[Prepared], Awaitable[object]]
Executor: TypeAlias = Callable[[Prepared, ToolContext[Any]], Coroutine[Any, Any, object]]
"""Runs a body elsewhere than here. Its ``check_tool(tool)``, if it has one, is asked as a step's."""

Place: TypeAlias = Literal["limit", "cache", "retry"]
"""Where a step stands that must come after approval, from the outside in."""


class Step(Protocol):
    """The one extension point: something around a call.

    It runs after validation. It may look, change and pass on (``await proceed(prepared)``), answer
    by itself, or raise a `CallError`. What it returns is the tool's value.

    It runs before approval. One with an attribute `place` (see `Place`) runs after it, in the
    order of the places, and passes on the arguments as they are. One with a method ``check_tool(tool)`` is asked when it is registered; what it cannot work with
    it refuses by a `SetupError`.
    """

    def __call__(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> Awaitable[object]: ...


class ToolOptions(TypedDict, total=False):
    """Options of every front door.

    Attributes:
        effects: What running it can do to the world.
        timeout: Seconds until it is stopped; None for never. 30 by default.
        inline: Run a sync body on the event loop itself: only for bodies that never wait.
        executor: Where it runs, such as `toolwright.engines.process.Process`; here by default.
        sequential: Let no other call of the same turn run beside it.
        return_direct: Its result ends the run and is the answer.
        response_format: ``content_and_artifact`` if it returns that pair.
        extra: What happens to arguments it does not know: ``forbid`` tells the model, ``ignore``
            drops them with a note in the details, ``allow`` passes them to ``**kwargs``.
        handle_tool_error: What the model is told when the body raises `ToolError`.
        handle_validation_error: What it is told when arguments are invalid.
        handle_crash: What it is told when the body raises anything else; a masked sentence by
            default.
        max_output: Longest text for the model, in characters; None for no limit.
        approval: Whether a person must approve a call: always, or if a predicate over the
            validated arguments says so, by True or by a text that says why.
        enabled: Whether it can be called now, decided per call.
        steps: Steps around this tool alone, outermost first.
        tags: For people, to sort tools by.
        metadata: For programs; never sent.
        extras: What a provider shall get with the definition, such as ``cache_control``.
        hosted: What some providers have in its place.
        parse_docstring: Whether the docstring describes the parameters. True by default.
        error_on_invalid_docstring: Refuse a docstring that names parameters which are not there.
    """

    effects: Effects
    timeout: float | None
    inline: bool
    executor: Executor | None
    sequential: bool
    return_direct: bool
    response_format: Literal["content", "content_and_artifact"]
    extra: Extra
    handle_tool_error: ErrorHandler
    handle_validation_error: ErrorHandler
    handle_crash: ErrorHandler
    max_output: int | None
    approval: Needs
    enabled: Enabled
    steps: Sequence[Step]
    tags: Sequence[str]
    metadata: Mapping[str, object]
    extras: Mapping[str, object]
    hosted: Hosted | None
    parse_docstring: bool
    error_on_invalid_docstring: bool


class Invoker(Protocol):
    """How a tool runs outside a toolset: lent by the chapter `call`, which knows how."""

    async def ainvoke(self, tool: AnyTool, value: object, run: Run[Any] | None) -> object: ...

    async def abatch(
        self, tool: AnyTool, values: Iterable[object], run: Run[Any] | None
    ) -> list[object]: ...

    def invoke(self, tool: AnyTool, value: object, run: Run[Any] | None) -> object: ...

    def batch(
        self, tool: AnyTool, values: Iterable[object], run: Run[Any] | None
    ) -> list[object]: ...


_invoker: list[Callable[[], Invoker]] = []


def lend(give: Callable[[], Invoker]) -> None:
    """Give tools their `invoke`: what is lent backwards in the order of chapters."""
    _invoker[:] = [give]


class _Raw(type):
    """Lets a tool be written as ``Tool(name, description, parameters, on_invoke)``."""

    def __call__(cls, *args: Any, **given: Any) -> Any:
        if args or "on_invoke" in given:
            return cls.from_schema(*args, **given)  # type: ignore[attr-defined]
        return super().__call__(**given)


@dataclasses.dataclass(
    frozen=True, slots=True, eq=False, repr=False, kw_only=True, weakref_slot=True
)
class Tool(Generic[P, R], metaclass=_Raw):
    """A function that models can call. Still callable as the plain function.

    Made by a front door such as `@tool` or `from_schema`, which ``Tool(name, description,
    parameters, on_invoke)`` is short for. Frozen: change it with `dataclasses.replace`.

    Attributes:
        name: Unique in a toolset.
        description: For the model.
        function: What runs.
        body: How it runs: ``async``, ``sync``, or a generator of either kind.
        arguments: Schema and validator of what the model fills.
        injected: What the program fills.
        positional: Parameters to pass by position, if any must be.
        output: Promise about the result, if its annotation makes one.
        unbound: It is a method that still waits for its instance, or its class.

    The others are those of `ToolOptions`.
    """

    name: str
    description: str
    function: Callable[P, R]
    body: BodyKind
    arguments: Arguments
    injected: tuple[Injected, ...] = ()
    positional: tuple[Parameter, ...] = ()
    output: Output | None = None
    unbound: bool = False
    effects: Effects = UNKNOWN
    timeout: float | None = DEADLINE
    inline: bool = False
    executor: Executor | None = None
    sequential: bool = False
    return_direct: bool = False
    response_format: Literal["content", "content_and_artifact"] = "content"
    extra: Extra = "forbid"
    handle_tool_error: ErrorHandler = True
    handle_validation_error: ErrorHandler = True
    handle_crash: ErrorHandler = False
    max_output: int | None = OUTPUT_LIMIT
    approval: Needs = False
    enabled: Enabled = True
    steps: tuple[Step, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = NOTHING
    extras: Mapping[str, object] = NOTHING
    hosted: Hosted | None = None

    @property
    def parameters(self) -> Mapping[str, object]:
        """JSON Schema of the arguments, as the model is shown it."""
        return self.arguments.schema

    @property
    def tool_call_schema(self) -> Mapping[str, object]:
        """The same, under the name LangChain's users know."""
        return self.arguments.schema

    @property
    def args_schema(self) -> Mapping[str, object]:
        """The same with the parameters that the program fills, which no model is shown."""
        injected = {parameter.name: {"description": "injected"} for parameter in self.injected}
        shown = self.parameters.get("properties")
        properties = shown if isinstance(shown, Mapping) else {}
        return {**self.parameters, "properties": {**properties, **injected}}

    @property
    def output_schema(self) -> Mapping[str, object] | None:
        """JSON Schema of the result, if its annotation promises a structure."""
        return self.output.schema if self.output else None

    @property
    def __wrapped__(self) -> Callable[P, R]:
        return self.function

    @property
    def __name__(self) -> str:
        return self.name

    def __call__(self, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return self.function(*args, **kwargs)

    def __get__(self, instance: object, owner: type | None = None) -> Tool[..., R]:
        """Bind a method to its instance, as functions do."""
        function: Any = self.function
        if not self.unbound or (instance is None and not isinstance(function, classmethod)):
            return self
        method = function.__get__(instance, owner)
        return dataclasses.replace(self, function=method, unbound=False)

    def __repr__(self) -> str:
        shown = self.parameters.get("properties")
        return f"Tool({self.name}({', '.join(shown) if isinstance(shown, Mapping) else ''}))"

    def invoke(self, value: object = "", run: Run[Any] | None = None) -> Any:
        """Run it as the model would: validated, injected, guarded.

        Args:
            value: A dict of arguments, a text for a tool of one parameter, or a `ToolCall` (or
                its dict with ``name``, ``args`` and ``id``).
            run: What to inject from.

        Returns:
            A `ToolMessage` for a call, else the body's own value.

        Raises:
            CallError: if it failed and `value` was not a call.
        """
        return _lent().invoke(self, value, run)

    async def ainvoke(self, value: object = "", run: Run[Any] | None = None) -> Any:
        """`invoke`, to be awaited."""
        return await _lent().ainvoke(self, value, run)

    def batch(self, values: Iterable[object], run: Run[Any] | None = None) -> list[Any]:
        """`invoke` for each value, side by side; the answers are in order.

        Raises:
            CallError: of the first that failed, if its value was not a call.
        """
        return _lent().batch(self, values, run)

    async def abatch(self, values: Iterable[object], run: Run[Any] | None = None) -> list[Any]:
        """`batch`, to be awaited."""
        return await _lent().abatch(self, values, run)

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        parameters: Mapping[str, object],
        on_invoke: Callable[[ToolContext[Any], dict[str, Any]], Any],
        **options: Unpack[ToolOptions],
    ) -> Tool[..., Any]:
        """Make a tool of a JSON Schema and a function that takes all arguments as one dict.

        Args:
            name: The tool's name.
            description: For the model.
            parameters: JSON Schema of the arguments.
            on_invoke: Sync or async; receives the context and the validated arguments.
            options: See `ToolOptions`.

        Raises:
            DefinitionError: if the schema does not compile or describes no object.

        >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        >>> Tool.from_schema("double", "", schema, lambda _, a: a["n"] * 2).invoke({"n": 4})
        8
        """
        check_on_invoke(name, on_invoke)

        def call(_tool_context: ToolContext[Any], /, **arguments: Any) -> Any:
            return on_invoke(_tool_context, arguments)

        options.setdefault("inline", inspect.iscoroutinefunction(on_invoke))
        return compile_tool(call, (name, description), parameters, options, calling_frame())

    @classmethod
    def from_function(
        cls,
        func: Callable[..., Any] | None = None,
        coroutine: Callable[..., Any] | None = None,
        name: str | None = None,
        description: str | None = None,
        args_schema: ArgsSchema | None = None,
        **options: Unpack[ToolOptions],
    ) -> Tool[..., Any]:
        """Make a tool without a decorator.

        Args:
            func: A sync function.
            coroutine: An async function; it is the one that runs if both are given.
            name: The tool's name; the function's own by default.
            description: For the model; the docstring by default.
            args_schema: Parameters described elsewhere.
            options: See `ToolOptions`.
        """
        function = func if coroutine is None else coroutine
        if function is None:
            raise DefinitionError("Tool.from_function needs func= or coroutine=")
        return compile_tool(function, (name, description), args_schema, options, calling_frame())


def compile_tool(
    function: Callable[..., Any],
    names: tuple[str | None, str | None],
    args_schema: ArgsSchema | None,
    options: ToolOptions,
    caller: FrameType | None,
) -> Tool[..., Any]:
    """The one way from a callable to a `Tool`."""
    if isinstance(function, Tool):
        raise DefinitionError(f"{function.name}: it is a tool already")
    check_names(*names)
    given = checked(str(names[0] or getattr(function, "__name__", "a tool")), options)
    request = Request(
        *names,
        args_schema,
        given.get("extra", "forbid"),
        given.pop("parse_docstring", True),
        given.pop("error_on_invalid_docstring", False),
        caller,
    )
    plan = compile_function(function, request)
    fields = {field.name: getattr(plan, field.name) for field in dataclasses.fields(plan)}
    return Tool(**fields, **given)


def _lent() -> Invoker:
    if not _invoker:
        raise SetupError("import toolwright before running tools")
    return _invoker[0]()


AnyTool: TypeAlias = Tool[..., Any]
"""A tool whose parameters and result the type checker does not follow."""

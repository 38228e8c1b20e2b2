"""`Tool`, the one record every front door compiles to."""

from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from types import FrameType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Concatenate,
    Generic,
    Literal,
    ParamSpec,
    Protocol,
    Self,
    TypeAlias,
    TypedDict,
    TypeVar,
    Unpack,
    overload,
)

from toolkeel._common.checked_arguments import ArgumentKind, above, at_least, kinds_of
from toolkeel._common.other_libraries_words import attribute_hints
from toolkeel._records.record import NOTHING, NotebookDisplay, record
from toolkeel.context import ToolContext
from toolkeel.define.compile import DefinitionRequest, ParametersSchema, compile_function
from toolkeel.define.executor_names import EXECUTOR, ExecutorName
from toolkeel.define.inject import InjectedParameter
from toolkeel.define.invoker import InRun, get_invoker
from toolkeel.define.options import Ask, check_names, external, validate_on_invoke, validate_options
from toolkeel.define.reading.docstring import DocstringUse
from toolkeel.define.reading.signature import BodyKind, Parameter, calling_frame
from toolkeel.define.returns import OutputSchema, require_json_form
from toolkeel.define.schema.argument_schema import ArgumentSchema, UnknownKeys
from toolkeel.effects import UNKNOWN, Effects
from toolkeel.errors import DefinitionError
from toolkeel.hosted import Hosted
from toolkeel.messages import ToolCall

P = ParamSpec("P")
R = TypeVar("R")
Q = ParamSpec("Q")

ErrorHandler: TypeAlias = (
    bool | str | type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], str]
)
"""True: tell the model the error's own text; a text: tell it that; a callable: what it returns; one or
several exception classes: the text of those, such as ``sqlite3.Error``."""
Enabled: TypeAlias = bool | Callable[[ToolContext], "bool | Awaitable[bool]"]
ApprovalOption: TypeAlias = bool | Ask[[Any]] | Ask[[Any, ToolContext[Any]]]
"""Whether a person must approve a call; a text says why. A function of the validated arguments, or of
those and the `ToolContext`; it may refuse the call itself by raising `Denied`."""
DEFAULT_TIMEOUT = 30.0
DEFAULT_MAX_OUTPUT = 50_000


@record
class Prepared:
    """A call whose arguments passed validation.

    Args:
        call: The call as the model made it.
        tool: The tool that will run.
        arguments: Validated keyword arguments, without the injected ones. A step that wants
            others passes on a `Prepared` with other arguments; they are validated again.
        changes: Repairs made to the arguments before they passed, one phrase each.
    """

    call: ToolCall
    tool: Tool[..., Any]
    arguments: Mapping[str, Any]
    changes: tuple[str, ...] = ()

    def change(self, **arguments: Any) -> Prepared:
        """Return the call with some arguments replaced. They are validated again."""
        return Prepared(self.call, self.tool, {**self.arguments, **arguments}, self.changes)


Proceed: TypeAlias = Callable[[Prepared], Awaitable[object]]
Executor: TypeAlias = Callable[[Prepared, ToolContext], Coroutine[Any, Any, object]]
"""Runs a body elsewhere than here. Its ``check_tool(tool)``, if it has one, is asked as a step's."""

StepPlace: TypeAlias = Literal["limit", "cache", "retry"]
"""Where a step is that must come after approval, from the outside in."""


class Step(Protocol):
    """A function around each call of a tool: the one extension point.

    It runs after validation. It may look, change and pass on (``await proceed(prepared)``), answer
    by itself, or raise a `CallError`. What it returns is the tool's value.

    Those of an agent and of its toolset also stand around the calls that are made within its calls,
    by code, by another agent or by a tool itself; unless they have an attribute ``inside`` that is
    False.

    It runs before approval. One with an attribute `place` runs after it, in the order of `Place`
    (limits, then the cache, then retries, then the body), and passes on the arguments as they are.
    One with a method ``check_tool(tool)`` is asked when it is registered; what it cannot work with
    it refuses by a `SetupError`. An attribute `step_timeout` replaces the agent's `callback_timeout`.

    ::

        async def logged(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
            print("before", prepared.arguments)
            try:
                return await proceed(prepared)  # or prepared.change(limit=10)
            except CallError as error:
                print("failed", error.kind)
                raise
    """

    def __call__(
        self, prepared: Prepared, context: ToolContext, proceed: Proceed, /
    ) -> Awaitable[object]: ...


class ToolOptions(TypedDict, total=False):
    """Options of every front door.

    Attributes:
        effects: What running it can do to the world.
        timeout: Seconds until it is stopped; None for never. 30 by default.
        inline: Run a sync body on the event loop itself: only for bodies that never wait.
        executor: Where it runs, such as `Process()` of `toolkeel.executors`, or its name; else here.
        resources: What ``executor="ray"`` gives each body, such as ``{"num_gpus": 1}``.
        sequential: Let no other call of the same turn run beside it.
        ends_run: Its result ends the run and is the answer.
        returns: ``content_and_artifact`` if it returns that pair.
        unknown_keys: What becomes of arguments it does not know: ``forbid`` tells the model, ``ignore``
            drops them with a note in the details, ``allow`` passes them to ``**kwargs``.
        on_error: What the model sees when the body raises `ToolError`.
        on_invalid: What the model sees when arguments are invalid.
        on_crash: What the model sees when the body raises anything else; masked by default.
        max_output: Longest text for the model, in characters; None for no limit.
        approval: True if a person must approve a call: always, or if a predicate over the
            validated arguments, or those and the `ToolContext`, says so, by True or by a text
            that says why; it may also refuse by raising `Denied`. False: whatever a run has read.
        enabled: True if it can be called now, decided per call.
        steps: Steps around this tool alone, outermost first.
        tags: For people, to sort tools by.
        metadata: For programs; never sent.
        provider_options: What a provider shall get with the definition, such as ``cache_control``.
        hosted: What some providers have in its place.
        docstring: ``parse`` if it describes the parameters, which is the default; ``strict``
            refuses one that names parameters which are not there; ``plain`` takes it as is.
    """

    effects: Effects
    timeout: Annotated[float, above(0, "a number of seconds above 0")] | None
    inline: bool
    executor: Annotated[Executor | ExecutorName | None, EXECUTOR]
    resources: Mapping[str, float] | None
    sequential: bool
    ends_run: bool
    returns: Literal["content", "content_and_artifact"]
    unknown_keys: UnknownKeys
    on_error: ErrorHandler | None
    on_invalid: ErrorHandler | None
    on_crash: ErrorHandler | None
    max_output: Annotated[int, at_least(0, "a number of characters")] | None
    approval: ApprovalOption
    enabled: Enabled
    steps: Sequence[Step]
    tags: Sequence[str]
    metadata: Mapping[str, object]
    provider_options: Mapping[str, object]
    hosted: Hosted | None
    docstring: DocstringUse


class _ToolMeta(type):
    """Lets a tool be written as ``Tool(name, description, parameters, on_invoke)``."""

    def __call__(cls, *args: Any, **given: Any) -> Any:
        """Make a tool from a schema, or raise `DefinitionError` if it is made of a function."""
        if "arguments" in given:
            return super().__call__(**given)
        if callable((*args, 0)[0]) or not {"func", "function", "coroutine"}.isdisjoint(given):
            raise DefinitionError("Tool(...) is made of a schema; of a function write tool(f)")
        return cls.from_schema(*args, **given)  # type: ignore[attr-defined]


@dataclasses.dataclass(
    frozen=True, slots=True, eq=False, repr=False, kw_only=True, weakref_slot=True
)
class Tool(NotebookDisplay, Generic[P, R], metaclass=_ToolMeta):
    """A function that models can call. Still callable as the plain function.

    Made by `@tool` or `from_schema`, which ``Tool(name, description, parameters, on_invoke)`` is
    short for. Frozen: change it with `dataclasses.replace`.

    Attributes:
        name: Unique in a toolset.
        description: For the model.
        function: The function that runs.
        body: How it runs: ``async``, ``sync``, or a generator of either kind.
        arguments: Schema and validator of what the model fills.
        injected: Parameters that the program fills.
        positional: Parameters to pass by position, if any must be.
        output: Schema of the result, if its annotation promises a structure.
        unbound: It is a method that still waits for its instance, or its class.

    The others are those of `ToolOptions`.
    """

    name: str
    description: str
    function: Callable[P, R]
    body: BodyKind
    arguments: ArgumentSchema
    injected: tuple[InjectedParameter, ...] = ()
    positional: tuple[Parameter, ...] = ()
    output: OutputSchema | None = None
    unbound: bool = False
    result_type: object = None
    effects: Effects = UNKNOWN
    timeout: float | None = DEFAULT_TIMEOUT
    inline: bool = False
    executor: Executor | None = None
    sequential: bool = False
    ends_run: bool = False
    returns: Literal["content", "content_and_artifact"] = "content"
    unknown_keys: UnknownKeys = "forbid"
    on_error: ErrorHandler = True
    on_invalid: ErrorHandler = True
    on_crash: ErrorHandler = False
    max_output: int | None = DEFAULT_MAX_OUTPUT
    approval: ApprovalOption | None = None
    enabled: Enabled = True
    steps: tuple[Step, ...] = ()
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, object] = NOTHING
    provider_options: Mapping[str, object] = NOTHING
    hosted: Hosted | None = None

    @property
    def parameters(self) -> Mapping[str, object]:
        """JSON Schema of the arguments, as the model is shown it."""
        return self.arguments.schema

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

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...
    @overload
    def __get__(self: Tool[Concatenate[Any, Q], R], instance: Any, owner: type) -> Tool[Q, R]: ...
    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """Bind a method to its instance, as functions do."""
        if not self.unbound or (instance is None and not isinstance(self.function, classmethod)):
            return self
        method: Any = self.function.__get__(instance, owner)
        return dataclasses.replace(self, function=method, unbound=False)

    if not TYPE_CHECKING:  # there, an unknown attribute stays unknown
        __getattr__ = attribute_hints("Tool.")

    def __repr__(self) -> str:
        shown = self.parameters.get("properties")
        return f"Tool({self.name}({', '.join(shown) if isinstance(shown, Mapping) else ''}))"

    def invoke(self, value: object = "", run: InRun = None) -> Any:
        """Run the tool as the model would: validated, injected, guarded.

        Args:
            value: A dict of arguments, a text for one parameter, or a `ToolCall` or its dict (``name``, ``args``, ``id``).
            run: Run to inject from; by default the one whose code makes the call, or a new one.

        Returns:
            A `ToolMessage` for a call, else the body's own value, or the text of `on_error` or `on_invalid`.

        Raises:
            CallError: if it failed and `value` was not a call.
            SetupError: a value to inject is missing, or this waits on the library's own event loop.
        """
        return get_invoker().run_sync(lambda: self.ainvoke(value, run))

    async def ainvoke(self, value: object = "", run: InRun = None) -> Any:
        """Run the tool as the model would, asynchronously. See `invoke`."""
        return await get_invoker().ainvoke(self, value, run)

    def batch(self, values: Iterable[object], run: InRun = None) -> list[Any]:
        """Run `invoke` for each value concurrently, to its end. Return results in order, or raise the first exception."""
        return get_invoker().run_sync(lambda: self.abatch(values, run))

    async def abatch(self, values: Iterable[object], run: InRun = None) -> list[Any]:
        """Run `batch` asynchronously."""
        return await get_invoker().abatch(self, values, run)

    @classmethod
    def from_schema(
        cls,
        name: str,
        description: str,
        parameters: Mapping[str, object],
        on_invoke: Callable[[ToolContext, dict[str, Any]], Any] | None = None,
        **options: Unpack[ToolOptions],
    ) -> Tool[..., Any]:
        """Make a tool of a JSON Schema and a function that takes all arguments as one dict.

        Args:
            name: The tool's name.
            description: For the model.
            parameters: JSON Schema of the arguments.
            on_invoke: Sync or async; takes the context and the validated arguments. None: `external`.
            options: See `ToolOptions`.

        Raises:
            DefinitionError: if the schema does not compile or describes no object.

        >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        >>> Tool.from_schema("double", "", schema, lambda _, a: a["n"] * 2).invoke({"n": 4})
        8
        """
        body = validate_on_invoke(name, external if on_invoke is None else on_invoke)
        options |= {"executor": external} if body is external else {}

        def call(_tool_context: ToolContext, /, **arguments: Any) -> Any:
            """Pass the context and all arguments as one dict to the function."""
            return body(_tool_context, arguments)

        options.setdefault("inline", inspect.iscoroutinefunction(body))
        return compile_tool(call, (name, description), parameters, options, calling_frame())

    @classmethod
    def from_function(
        cls,
        func: Callable[..., Any] | None = None,
        coroutine: Callable[..., Any] | None = None,
        name: str | None = None,
        description: str | None = None,
        parameters: ParametersSchema | None = None,
        **options: Unpack[ToolOptions],
    ) -> Tool[..., Any]:
        """Make a tool without a decorator, or raise `DefinitionError` if that is not possible.

        Args:
            func: A sync function.
            coroutine: An async function; it is the one that runs if both are passed.
            name: The tool's name; the function's own by default.
            description: For the model; the docstring by default.
            parameters: Parameters described elsewhere.
            options: See `ToolOptions`.
        """
        if (function := func if coroutine is None else coroutine) is None:
            raise DefinitionError("Tool.from_function needs func= or coroutine=")
        return compile_tool(function, (name, description), parameters, options, calling_frame())


@functools.cache
def option_kinds() -> dict[str, ArgumentKind | None]:
    """Return the kind of value each tool option accepts, by its annotation; None for any."""
    return kinds_of(ToolOptions.__annotations__, __name__)


def compile_tool(
    function: Callable[..., Any],
    names: tuple[str | None, str | None],
    parameters: ParametersSchema | None,
    options: ToolOptions,
    caller: FrameType | None,
) -> Tool[..., Any]:
    """Compile a callable and its options to a `Tool`, or raise `DefinitionError`. Warns as `compile_function`."""
    if isinstance(function, Tool):
        raise DefinitionError(f"{function.name}: it is a tool already")
    check_names(*names)
    known = option_kinds() if options else {}  # many tools have none
    passed = validate_options(
        str(names[0] or getattr(function, "__name__", "a tool")), options, known
    )
    unknown_keys, docstring = passed.get("unknown_keys", "forbid"), passed.pop("docstring", "parse")
    request = DefinitionRequest(*names, parameters, unknown_keys, docstring, caller)
    plan = compile_function(function, request)
    if plan.output is None and not (passed.get("steps") or passed.get("executor") is external):
        require_json_form(plan.name, plan.result_type, passed.get("returns", "content"))
    return Tool(**{one.name: getattr(plan, one.name) for one in dataclasses.fields(plan)}, **passed)


AnyTool: TypeAlias = Tool[..., Any]
"""A tool whose parameters and result the type checker does not follow."""

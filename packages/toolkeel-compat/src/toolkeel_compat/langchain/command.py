"""What stands around a call, under LangChain's names: `wrap_tool_call`, and `Command` from a tool."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import (
    Annotated,
    Any,
    ClassVar,
    NotRequired,
    Self,
    TypeAlias,
    get_args,
    get_origin,
    get_type_hints,
)

from typing_extensions import TypedDict

from toolkeel._records.record import NOTHING, record
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed, Step
from toolkeel.errors import Crashed, SetupError
from toolkeel.messages import ToolMessage, ToolOutput, UserMessage
from toolkeel_compat.content_blocks import block_of
from toolkeel_compat.langchain.messages import ToolCall, as_call, convert_to_messages
from toolkeel_compat.langchain.runtime import ToolRuntime


@record
class Command:
    """What a tool returns to write into the run's state.

    Args:
        update: By key, what to write; under ``messages`` the call's own result.
        goto: Another node: there are none, so it is refused.
        graph: The same.
        resume: The same; a run that waits goes on with the decisions on its tickets.
    """

    update: Mapping[str, Any] = NOTHING
    goto: Any = ()
    graph: str | None = None
    resume: Any = None

    PARENT: ClassVar[str] = "__parent__"

    def __class_getitem__(cls, nodes: object) -> type[Self]:
        """``Command[Literal["node"]]`` in annotations."""
        return cls


Reducers: TypeAlias = Mapping[str, Callable[[Any, Any], Any] | None]
"""By key of the state: what joins a value that is there with one that comes; None puts it there."""


class AgentState(TypedDict):
    """The state of an agent: subclass it for keys of your own, and give it as ``state_schema``."""

    messages: list[Any]
    jump_to: NotRequired[str | None]
    structured_response: NotRequired[Any]


def reducers_of(schemas: Sequence[Any]) -> Reducers | None:
    """What classes say of a state's keys: ``Annotated[list[str], operator.add]``; None if nothing.

    Args:
        schemas: Typed dicts, dataclasses or models; None among them are passed over.
    """
    known = [schema for schema in schemas if schema is not None]
    made: dict[str, Any] = {}
    for schema in known:
        for name, hint in get_type_hints(schema, include_extras=True).items():
            joins = [one for one in get_args(hint)[1:] if callable(one)]
            made[name] = joins[-1] if get_origin(hint) is Annotated and joins else None
    return made if known else None


def put(state: Any, key: str, value: object, reducers: Reducers | None) -> None:
    """Write into a run's state.

    Raises:
        SetupError: the schema of the state has no such key.
    """
    if reducers is not None and key not in reducers:
        raise SetupError(f"state_schema has no {key!r}; it has {', '.join(sorted(reducers))}")
    join = (reducers or {}).get(key)
    state[key] = join(state[key], value) if join is not None and key in state else value


def updating(reducers: Reducers | None = None) -> Step:
    """The step that carries out the `Command` that a tool returns."""

    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        return await _updated(prepared, context, proceed, reducers)

    return step


async def _updated(
    prepared: Prepared, context: ToolContext[Any], proceed: Proceed, reducers: Reducers | None
) -> object:
    """What a tool returned, or the result that its `Command` has for the call.

    Raises:
        SetupError: the command leads elsewhere, or has no result for its call.
    """
    value = await proceed(prepared)
    if not isinstance(value, Command):
        return value
    for name in ("goto", "graph", "resume"):
        if getattr(value, name):
            raise SetupError(f"Command({name}=...): there is no graph here to go on in")
    result, said = _told(value, context.call.id, prepared.tool.name)
    for key, item in value.update.items():
        if key != "messages":
            put(context.state, key, item, reducers)
    context.run.loop_state.inbox += said
    return result


def _told(command: Command, call: str, tool: str) -> tuple[ToolMessage, list[UserMessage]]:
    """The result that a command has for a call, and what people say beside it.

    Raises:
        SetupError: it has none, or a message of another kind.
    """
    told = convert_to_messages(command.update.get("messages", ()))
    results = [one for one in told if isinstance(one, ToolMessage) and one.tool_call_id == call]
    if not results:
        raise SetupError(
            f"{tool!r} returned a Command without a ToolMessage for its call {call!r} under "
            "'messages'"
        )
    strange = [one for one in told if not isinstance(one, ToolMessage | UserMessage)]
    if strange:
        raise SetupError(
            f"Command: beside its result a tool adds what people say, not {strange[0]!r:.80}"
        )
    return results[-1], [one for one in told if isinstance(one, UserMessage)]


def told(value: object) -> ToolOutput:
    """What a body returned as a model reads it there: a text, parts, JSON, or else its ``str``."""
    if isinstance(value, str | ToolOutput):
        return value if isinstance(value, ToolOutput) else ToolOutput(value)
    parts = value if isinstance(value, list | tuple) else [value]
    blocks = tuple(map(block_of, parts))
    if None not in blocks and not isinstance(value, Mapping) and {*map(type, parts)} - {str}:
        return ToolOutput(blocks, value)
    try:
        return ToolOutput(json.dumps(value, ensure_ascii=False), value)
    except (TypeError, ValueError):
        return ToolOutput(str(value), value)


@record
class ToolCallRequest:
    """A call, as what stands around it sees it.

    Args:
        tool_call: The call.
        tool: Its tool.
        state: The run's state.
        runtime: What a running tool sees.
    """

    tool_call: ToolCall
    tool: Any
    state: Any
    runtime: Any

    def override(self, **changes: Any) -> ToolCallRequest:
        """The same with other values, such as another `tool_call`.

        Raises:
            SetupError: for one that cannot be changed.
        """
        if strange := sorted(set(changes) - {"tool_call"}):
            raise SetupError(f"a call's {', '.join(strange)} cannot be changed here")
        call = as_call(changes["tool_call"])
        return ToolCallRequest(call, self.tool, self.state, self.runtime)


Wrapper: TypeAlias = Callable[[ToolCallRequest, Callable[[ToolCallRequest], Any]], Any]


def wrapping(wrapper: Wrapper) -> Step:
    """The step that a ``wrap_tool_call`` is; a plain function runs in a thread.

    Args:
        wrapper: Given the request and what carries it out; gives the call's result.
    """

    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        async def execute(request: ToolCallRequest) -> object:
            asked, passed = request.tool_call.args, prepared
            if asked != first.tool_call.args:
                passed = Prepared(prepared.call, prepared.tool, asked, prepared.changes)
            try:
                value = await proceed(passed)
            except Crashed as crash:
                raise crash.__cause__ or crash from None
            if isinstance(value, Command):
                return value
            if not isinstance(value, ToolMessage):
                made: Any = told(value)
                about = (context.call.id, prepared.tool.name)
                value = ToolMessage(made.content, *about, artifact=made.artifact)
            return convert_to_messages([value])[0]

        runtime = ToolRuntime.from_tool_context(context)
        first = ToolCallRequest(as_call(context.call), prepared.tool, runtime.state, runtime)
        return await around(wrapper, first, execute)

    return step


async def around(hook: Callable[..., Any], request: Any, execute: Callable[[Any], Any]) -> Any:
    """What a hook around something gives; a plain one runs in a thread, and waits there for it."""
    if inspect.iscoroutinefunction(hook):
        return await hook(request, execute)
    loop = asyncio.get_running_loop()

    def wait(asked: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(execute(asked), loop).result()

    return await asyncio.to_thread(hook, request, wait)

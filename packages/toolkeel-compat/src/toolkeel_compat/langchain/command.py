"""Hooks around a tool call under LangChain's names: `wrap_tool_call`, and `Command` from a tool."""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from itertools import takewhile
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

from pydantic_core import CoreSchema, core_schema
from typing_extensions import TypedDict

from toolkeel._common.other_libraries_words import explain_foreign
from toolkeel._records.record import NOTHING, record
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import Prepared, Proceed, Step
from toolkeel.errors import Crashed, SetupError
from toolkeel.messages import AssistantMessage, ToolMessage, ToolOutput, UserMessage
from toolkeel_compat.content_blocks import to_block
from toolkeel_compat.langchain.messages import convert_to_messages
from toolkeel_compat.langchain.runtime import ToolRuntime
from toolkeel_compat.langchain.threads.message_ids import add_ids
from toolkeel_compat.langchain.tool_calls import ToolCall, to_tool_call


@record
class Command:
    """A tool's return value that writes to the run's state.

    Args:
        update: Values to write, by key; under ``messages`` the call's own result.
        goto: Refused: there are no nodes.
        graph: Refused, for the same reason.
        resume: Refused from a tool; an agent takes it as the answer to what waits.
    """

    update: Mapping[str, Any] = NOTHING
    goto: Any = ()
    graph: str | None = None
    resume: Any = None

    PARENT: ClassVar[str] = "__parent__"

    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: object) -> CoreSchema:
        """Return the schema of any value: as a tool's return type it describes no result."""
        return core_schema.any_schema()

    def __class_getitem__(cls, nodes: object) -> type[Self]:
        """Support ``Command[Literal["node"]]`` in annotations."""
        return cls


class InvalidUpdateError(SetupError):
    """Two calls of one turn update the same key of the state, which has no reducer."""


UPDATED_KEY = "updated_state_keys"
"""Key in a result's details: the keys of the state that its call replaced."""
Reducers: TypeAlias = Mapping[str, Callable[[Any, Any], Any] | None]
"""By key of the state: what joins a value that is there with one that comes; None puts it there."""


class AgentState(TypedDict):
    """The state of an agent: subclass it for keys of your own, and give it as ``state_schema``."""

    messages: list[Any]
    jump_to: NotRequired[str | None]
    structured_response: NotRequired[Any]


def read_reducers(schemas: Sequence[Any]) -> Reducers | None:
    """Read reducers such as ``Annotated[list[str], operator.add]`` from schemas; None without schemas.

    Args:
        schemas: Typed dicts, dataclasses or models; None among them is ignored.
    """
    known = [schema for schema in schemas if schema is not None]
    made: dict[str, Any] = {}
    for schema in known:
        for name, hint in get_type_hints(schema, include_extras=True).items():
            joins = [one for one in get_args(hint)[1:] if callable(one)]
            made[name] = joins[-1] if get_origin(hint) is Annotated and joins else None
    return made if known else None


def get_reducer(reducers: Reducers | None, key: str) -> Callable[[Any, Any], Any] | None:
    """Return the reducer of a key of the state; None if a new value replaces the old one.

    Raises:
        SetupError: The state's schema has no such key.
    """
    if reducers is not None and key not in reducers and not key.startswith("__"):
        raise SetupError(f"state_schema has no {key!r}; it has {', '.join(sorted(reducers))}")
    return (reducers or {}).get(key)


def write_state(state: Any, key: str, value: object, reducers: Reducers | None) -> None:
    """Write a value to a run's state, joined with the present one by the key's reducer.

    Raises:
        SetupError: The state's schema has no such key.
    """
    join = get_reducer(reducers, key)
    state[key] = join(state[key], value) if join is not None and key in state else value


def make_command_step(reducers: Reducers | None = None) -> Step:
    """Return the step that applies a `Command` returned by a tool."""

    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        return await _apply_command(prepared, context, proceed, reducers)

    return step


async def _apply_command(
    prepared: Prepared, context: ToolContext[Any], proceed: Proceed, reducers: Reducers | None
) -> object:
    """Run the call; apply a `Command` it returns, and return the call's result.

    Raises:
        SetupError: The command names another node, or has no result for its call.
        InvalidUpdateError: It updates a key that another call of the turn has updated.
    """
    value = await proceed(prepared)
    if not isinstance(value, Command):
        return value
    for name in ("goto", "graph", "resume"):
        if getattr(value, name):
            raise SetupError(f"Command({name}=...): there is no graph here to go on in")
    result, user_messages = _split_messages(value, context.call.id, prepared.tool.name)
    updates = {key: item for key, item in value.update.items() if key != "messages"}
    replaced = [key for key in updates if get_reducer(reducers, key) is None]
    _check_single_update(replaced, context)
    for key, item in updates.items():
        _update_run_state(context, key, item, get_reducer(reducers, key))
    context.run.loop_state.inbox += user_messages
    details = {**result.details, UPDATED_KEY: replaced} if replaced else result.details
    return dataclasses.replace(result, details=details)


def _update_run_state(
    context: ToolContext[Any], key: str, value: object, join: Callable[[Any, Any], Any] | None
) -> None:
    """Write a value to the run's state and its journal, joined with the old value by a reducer."""
    absent = object()

    def join_values(old: object) -> object:
        return value if join is None or old is absent else join(old, value)

    context.update(key, join_values, absent)


def track_updates(run: RunContext[Any]) -> None:
    """Treat all calls of a run that has no transcript as one turn: they update each key once."""
    run.scope.step_state[UPDATED_KEY, run.id, 0] = {}


def _check_single_update(keys: Sequence[str], context: ToolContext[Any]) -> None:
    """Record the keys that a call updates; raise if another call of its turn has updated one.

    Calls that ran before the run waited for a person are known by the details of their results.

    Raises:
        InvalidUpdateError: A key without a reducer gets a second value in one turn.
    """
    run, name = context.run, context.tool_name
    turn = sum(isinstance(one, AssistantMessage) for one in run.transcript)
    where = (UPDATED_KEY, run.id, turn)
    if turn == 0 and where not in run.scope.step_state:
        return  # a program's own loop: its turns are not known here
    updated: Any = run.scope.step_state.setdefault(where, {})
    results = takewhile(lambda one: isinstance(one, ToolMessage), reversed(run.transcript))
    for result in results:
        updated.update(dict.fromkeys(getattr(result, "details", {}).get(UPDATED_KEY, ()), name))
    if taken := [key for key in keys if key in updated]:
        raise InvalidUpdateError(
            f"two calls of one turn ({updated[taken[0]]!r} and {name!r}) update {taken[0]!r}, and "
            "one value would be lost: give create_agent a state_schema with a reducer, such as "
            f"{taken[0]}: Annotated[list[str], operator.add]"
        )
    updated.update(dict.fromkeys(keys, name))


def _split_messages(
    command: Command, call: str, tool: str
) -> tuple[ToolMessage, list[UserMessage]]:
    """Split a command's messages into the call's result and user messages.

    Raises:
        SetupError: The result is missing, or a message has another type.
    """
    messages = convert_to_messages(command.update.get("messages", ()))
    results = [one for one in messages if isinstance(one, ToolMessage) and one.tool_call_id == call]
    if not results:
        raise SetupError(
            f"{tool!r} returned a Command without a ToolMessage for its call {call!r} under "
            "'messages'"
        )
    strange = [one for one in messages if not isinstance(one, ToolMessage | UserMessage)]
    if strange:
        raise SetupError(
            f"Command: beside its result a tool adds what people say, not {strange[0]!r:.80}"
        )
    return results[-1], add_ids(one for one in messages if isinstance(one, UserMessage))


def to_tool_output(value: object) -> ToolOutput:
    """Convert a body's return value as LangChain does: text, content parts, JSON, or else its ``str``."""
    if isinstance(value, str | ToolOutput):
        return value if isinstance(value, ToolOutput) else ToolOutput(value)
    parts = value if isinstance(value, list | tuple) else [value]
    for part in parts:
        if hint := explain_foreign(part):
            raise SetupError(f"a tool's result: {hint}")
    blocks = tuple(map(to_block, parts))
    if None not in blocks and not isinstance(value, Mapping) and {*map(type, parts)} - {str}:
        return ToolOutput(blocks, value)
    try:
        return ToolOutput(json.dumps(value, ensure_ascii=False), value)
    except (TypeError, ValueError):
        return ToolOutput(str(value), value)


@record
class ToolCallRequest:
    """A tool call as wrappers get it.

    Args:
        tool_call: The call.
        tool: Its tool.
        state: The run's state.
        runtime: The tool's view of the run.
    """

    tool_call: ToolCall
    tool: Any
    state: Any
    runtime: Any

    def override(self, **changes: Any) -> ToolCallRequest:
        """Return a copy with another `tool_call`.

        Raises:
            SetupError: Another field is to change.
        """
        if strange := sorted(set(changes) - {"tool_call"}):
            raise SetupError(f"a call's {', '.join(strange)} cannot be changed here")
        call = to_tool_call(changes["tool_call"])
        return ToolCallRequest(call, self.tool, self.state, self.runtime)


ToolCallWrapper: TypeAlias = Callable[[ToolCallRequest, Callable[[ToolCallRequest], Any]], Any]


_changed_call: ContextVar[ToolCall | None] = ContextVar("_changed_call", default=None)
"""The running call as a wrapper further out has changed it."""


def make_wrapper_step(wrapper: ToolCallWrapper) -> Step:
    """Return the step for a ``wrap_tool_call`` function; a sync one runs in a thread.

    Args:
        wrapper: Gets the request and its handler, and returns the call's result.
    """

    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        async def execute(request: ToolCallRequest) -> object:
            asked, passed = request.tool_call.args, prepared
            token = None
            if asked != first.tool_call.args:
                passed = Prepared(prepared.call, prepared.tool, asked, prepared.changes)
                token = _changed_call.set(request.tool_call)
            try:
                value = await proceed(passed)
            except Crashed as crash:
                raise crash.__cause__ or crash from None
            finally:
                if token is not None:
                    _changed_call.reset(token)
            if isinstance(value, Command):
                return value
            if not isinstance(value, ToolMessage):
                made: Any = to_tool_output(value)
                about = (context.call.id, prepared.tool.name)
                value = ToolMessage(made.content, *about, artifact=made.artifact)
            return convert_to_messages([value])[0]

        runtime = ToolRuntime.from_tool_context(context)
        changed = _changed_call.get()
        outer = changed if changed is not None and changed.id == context.call.id else context.call
        first = ToolCallRequest(to_tool_call(outer), prepared.tool, runtime.state, runtime)
        return await call_wrapper(wrapper, first, execute)

    return step


async def call_wrapper(
    hook: Callable[..., Any], request: Any, execute: Callable[[Any], Any]
) -> Any:
    """Call a wrapper and return its result; run a sync one in a thread, where its handler blocks."""
    if inspect.iscoroutinefunction(hook):
        return await hook(request, execute)
    loop = asyncio.get_running_loop()

    def wait(asked: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(execute(asked), loop).result()

    return await asyncio.to_thread(hook, request, wait)

"""`ToolNode`: runs the calls of the last reply; `handle_tool_errors`; `tools_condition`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, TypeAlias, get_args

from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.enclosing_run import enclose, find_enclosing
from toolkeel.call.toolset import Toolish, as_toolset
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.subschemas import properties_of
from toolkeel.define.tool import AnyTool, Prepared, Proceed, Step
from toolkeel.errors import CallError, Crashed, RunStopped, SetupError, ToolError
from toolkeel.messages import AssistantMessage
from toolkeel.messages import ToolCall as CoreToolCall
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.langchain.command import (
    ToolCallWrapper,
    make_command_step,
    make_wrapper_step,
    track_updates,
)
from toolkeel_compat.langchain.messages import convert_to_messages
from toolkeel_compat.langchain.runtime import MessageList
from toolkeel_compat.langchain.tool_calls import ToolCall, to_tool_call

Config = Mapping[str, Any] | None


def make_run_context(
    config: Config = None, tools: Iterable[AnyTool] = (), **kwargs: Any
) -> RunContext[Any]:
    """Create the run context that the calls of one `invoke` share.

    In the code of a run, as in a tool's body, it is inside that run: rules, bounds, approver, taint and
    journal of that run apply, and what is not given here is that run's.

    Args:
        config: Passed to tools that request a `RunnableConfig`.
        tools: The tools that may run.
        kwargs: ``state``, ``store``, ``context`` of a `RunContext`; any other name is the value of the
            `InjectedToolArg` parameter of that name.

    Raises:
        SetupError: A tool has no such parameter, or the model fills it.
    """
    check_config(config)
    names = {"state": "state", "store": "store", "context": "deps"}
    _check_injected_names([name for name in kwargs if name not in names], [*tools])
    known = {names[key]: kwargs.pop(key) for key in names if key in kwargs}
    enclosing = find_enclosing()
    if enclosing is None:
        return RunContext(inject={"config": config or {}, **kwargs}, **known)
    outer, call = enclosing
    run = outer.make_inner(call, "", known.get("deps", outer.deps))
    run.id, run.recorder, run.lock, run.mask = outer.id, outer.recorder, outer.lock, outer.mask
    run.inject = {**outer.inject, **({"config": config} if config else {}), **kwargs}
    run.state, run.store = known.get("state", outer.state), known.get("store", outer.store)
    return run


def within(run: RunContext[Any]) -> AbstractContextManager[None]:
    """Return a block that adds what calls spend to the run around `run`, if there is one."""
    return nullcontext() if run.scope.outer_run is None else enclose(run)


def _check_injected_names(names: Sequence[str], tools: Sequence[AnyTool]) -> None:
    """Raise `SetupError` for a keyword of `invoke` that no tool gets."""
    injected = {one.name for tool in tools for one in tool.injected}
    for name in names:
        if name in injected:
            continue
        owner = next((tool for tool in tools if name in properties_of(tool.parameters)), None)
        if owner is not None:
            raise SetupError(
                f"invoke({name}=...): arguments of {owner.name!r} go into the first parameter: "
                f"invoke({{{name!r}: ...}})"
            )
        known = ", ".join(sorted({"context", "state", "store", *injected}))
        raise SetupError(f"invoke({name}=...): no tool has this parameter; there are {known}")


def check_config(config: Config) -> None:
    """Raise if a config has a setting that would be ignored.

    Raises:
        SetupError: It has callbacks, or another unsupported setting.
    """
    for name, instead in _REFUSED.items():
        if (config or {}).get(name):
            raise SetupError(f"config[{name!r}] is not honoured here: {instead}")


_REFUSED: Mapping[str, str] = {
    "callbacks": "listeners=[...] of a run of toolkeel's Agent are told its events",
    "max_concurrency": "ConcurrencyLimit of toolkeel.steps bounds how many calls run at once",
}


class ToolException(ToolError):
    """A tool's error under LangChain's name: without a handler it ends the run of an agent."""


HandleErrors: TypeAlias = (
    bool | str | type[Exception] | tuple[type[Exception], ...] | Callable[[Any], str]
)
"""What a model is told when a tool raises: True, the error's own text; a text; what a function of
the error says, for the errors its annotation names. Errors of other types than those named, and
all of them with False, end the run."""

_ERROR_TEMPLATE = "Error: {error}\n Please fix your mistakes."


def make_error_step(wanted: HandleErrors) -> Step:
    """Return the step that handles tool errors as `HandleErrors` says.

    Raises:
        SetupError: `wanted` is no valid `HandleErrors`.
    """
    kinds = _resolve_error_types(wanted)

    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        try:
            return await proceed(prepared)
        except (Crashed, ToolError) as failure:
            error = failure.__cause__ if isinstance(failure, Crashed) else failure
            own = prepared.tool.on_error  # a bool is no text of the tool's own
            if isinstance(failure, ToolError) and not isinstance(own, bool):
                raise
            if not isinstance(error, Exception):
                raise
            if not isinstance(error, kinds):
                name = prepared.tool.name
                raise RunStopped(f"{name!r} failed, and the run was ended.", error) from error
            raise ToolError(await _format_error(wanted, error)) from error

    return step


def _resolve_error_types(wanted: HandleErrors) -> tuple[type[Exception], ...]:
    """Return the exception types whose text goes to the model.

    Raises:
        SetupError: `wanted` is no valid `HandleErrors`.
    """
    if isinstance(wanted, bool | str):
        return () if wanted is False else (Exception,)
    found: tuple[Any, ...] = wanted if isinstance(wanted, tuple) else (wanted,)
    if not isinstance(wanted, tuple | type):
        found = _read_error_types(wanted)
    if all(isinstance(kind, type) and issubclass(kind, Exception) for kind in found):
        return found
    raise SetupError(
        f"handle_tool_errors is {wanted!r:.80}; give True, False, a text, a function of the "
        "error, or types of exceptions"
    )


def _read_error_types(function: Any) -> tuple[Any, ...]:
    """Return the types in the annotation of a function's first parameter; `Exception` without one."""
    if not callable(function):
        return (function,)
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError:  # a type that only a type checker knows
        return (Exception,)
    hint = next((one.annotation for one in signature.parameters.values()), inspect.Parameter.empty)
    return (Exception,) if hint in (inspect.Parameter.empty, Any) else get_args(hint) or (hint,)


async def _format_error(wanted: HandleErrors, error: Exception) -> str:
    if isinstance(wanted, str):
        return wanted
    if isinstance(wanted, bool | tuple | type):
        return _ERROR_TEMPLATE.format(error=repr(error))
    return str(await maybe_await(wanted(error)))


async def stop_at_error(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
    """End the run when a tool or a wrapper raises, as LangChain's agents do by default.

    What the tool's own handlers make of an error goes to the model, and so does a `ToolError` of the
    core.

    Raises:
        RunStopped: An error was not handled.
    """
    tool = prepared.tool
    try:
        return await proceed(prepared)
    except Exception as failure:
        error, is_handled = failure, isinstance(failure, SetupError | CallError)
        if isinstance(failure, Crashed) and isinstance(failure.__cause__, Exception):
            error, is_handled = failure.__cause__, tool.on_crash is not False
        elif isinstance(failure, ToolException):
            is_handled = tool.on_error is not True
        if is_handled:
            raise
        raise RunStopped(f"{tool.name!r} failed, and the run was ended.", error) from error


class UnchainableMixin:
    """Refuses ``|`` with an error: there are no chains."""

    __slots__ = ()

    def __or__(self, other: object) -> Any:
        raise SetupError("there are no chains: call one function with what the other gives")

    __ror__ = __or__


class Invokable(UnchainableMixin):
    """Sync and batch versions of `ainvoke`."""

    __slots__ = ()
    ainvoke: Any

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Call `ainvoke` from sync code."""
        return run_sync(lambda: self.ainvoke(*args, **kwargs))

    async def abatch(self, inputs: Iterable[object], *args: Any, **kwargs: Any) -> list[Any]:
        """Call `ainvoke` for each input concurrently. Raise the first failure."""
        return await asyncio.gather(*(self.ainvoke(one, *args, **kwargs) for one in inputs))

    def batch(self, inputs: Iterable[object], *args: Any, **kwargs: Any) -> list[Any]:
        """Call `abatch` from sync code."""
        return run_sync(lambda: self.abatch(inputs, *args, **kwargs))


Runnable = Invokable  # in annotations


class ToolNode(Invokable):
    """Runs the tool calls of the last reply.

    Args:
        tools: Tools of any kind this package accepts.
        handle_tool_errors: What the model gets when a tool raises; see `HandleErrors`. By
            default the error is raised, unless the tool handles it.
        messages_key: The state's key for its messages.
        wrap_tool_call: ``(request, execute) -> ToolMessage`` around each call.
        awrap_tool_call: The same as a coroutine function; takes precedence.
    """

    def __init__(
        self,
        tools: Iterable[Toolish],
        *,
        handle_tool_errors: HandleErrors | None = None,
        messages_key: str = "messages",
        wrap_tool_call: ToolCallWrapper | None = None,
        awrap_tool_call: ToolCallWrapper | None = None,
    ) -> None:
        self.tools = as_toolset(tools).with_steps(make_command_step())
        if handle_tool_errors is not None:
            self.tools = self.tools.with_steps(make_error_step(handle_tool_errors))
        if (wrapper := awrap_tool_call or wrap_tool_call) is not None:
            self.tools = self.tools.with_steps(make_wrapper_step(wrapper))
        self.tools = self.tools.with_steps(stop_at_error)
        self._key = messages_key

    @property
    def tools_by_name(self) -> dict[str, AnyTool]:
        """The tools by their names."""
        return {tool.name: tool for tool in self.tools}

    async def ainvoke(self, state: Any, /, config: Config = None, **kwargs: Any) -> Any:
        """Run the calls of the last message concurrently.

        Args:
            state: A dict or object with the messages, the messages, or a list of calls.
            config: Passed to tools that request a `RunnableConfig`.
            kwargs: See `make_run_context`.

        Returns:
            One `ToolMessage` per call, in order: a list for a list of messages, else in a dict.
        """
        if not isinstance(state, Mapping | list) and hasattr(state, self._key):
            state = vars(state)  # a dataclass or a model
        messages, in_state = state, False
        if isinstance(state, Mapping) and self._key in state:
            kwargs.setdefault("state", state)
            messages, in_state = state[self._key], True
        calls = isinstance(state, list) and bool(state) and _is_tool_call(state[-1])
        if not (in_state or calls):
            messages = convert_to_messages(messages)
            kwargs.setdefault("state", MessageList({self._key: messages}))
        asked = map(to_tool_call, state) if calls else _find_last_calls(messages)
        run = make_run_context(config, self.tools, **kwargs)
        track_updates(run)
        with within(run):
            results = await self.tools.run([*asked], run)
        made = convert_to_messages([*results, *run.loop_state.inbox])
        return {self._key: made} if in_state or calls else made


def _is_tool_call(value: Any) -> bool:
    return isinstance(value, Mapping | ToolCall) and value.get("type") == "tool_call"


def _find_last_calls(messages: Any) -> Sequence[CoreToolCall]:
    """Return the calls of the last reply.

    Raises:
        SetupError: There is no reply.
    """
    newest_first = reversed(convert_to_messages(messages))
    reply = next((one for one in newest_first if isinstance(one, AssistantMessage)), None)
    if reply is None:
        raise SetupError("there is no AIMessage: there are no calls to run")
    return reply.tool_calls


def tools_condition(state: Any, messages_key: str = "messages") -> Literal["tools", "__end__"]:
    """Return ``tools`` if the last message calls tools, else ``__end__``.

    Args:
        state: A dict with the messages, or the messages.
        messages_key: The state's key for them.
    """
    messages = state[messages_key] if isinstance(state, Mapping) else state
    last = convert_to_messages(messages)[-1]
    calls = isinstance(last, AssistantMessage) and last.tool_calls
    return "tools" if calls else "__end__"

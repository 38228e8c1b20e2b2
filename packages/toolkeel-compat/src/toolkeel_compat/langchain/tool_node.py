"""`ToolNode`: runs the calls of the last reply; `handle_tool_errors`; `tools_condition`."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args, get_type_hints

from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.toolset import Toolish, as_toolset
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool, Prepared, Proceed, Step
from toolkeel.errors import Crashed, RunStopped, SetupError, ToolError
from toolkeel.messages import AssistantMessage
from toolkeel.messages import ToolCall as CoreToolCall
from toolkeel_compat.langchain.command import Wrapper, updating, wrapping
from toolkeel_compat.langchain.messages import ToolCall, as_call, convert_to_messages

Config = Mapping[str, Any] | None


def run_of(config: Config = None, **given: Any) -> RunContext[Any]:
    """What the calls of one `invoke` share.

    Args:
        config: Handed to tools that ask for a `RunnableConfig`.
        given: ``state``, ``store``, ``context`` of a `RunContext`; any other name is the value of the
            `InjectedToolArg` parameter of that name.
    """
    check_config(config)
    names = {"state": "state", "store": "store", "context": "deps"}
    known = {names[key]: given.pop(key) for key in names if key in given}
    return RunContext(inject={"config": config or {}, **given}, **known)


def check_config(config: Config) -> None:
    """See that nothing in a config would be dropped.

    Raises:
        SetupError: it has callbacks, or something else that would not be honoured.
    """
    for name, instead in _REFUSED.items():
        if (config or {}).get(name):
            raise SetupError(f"config[{name!r}] is not honoured here: {instead}")


_REFUSED: Mapping[str, str] = {
    "callbacks": "listeners=[...] of a run of toolkeel's Agent are told its events",
    "max_concurrency": "AtOnce of toolkeel.steps bounds how many calls run at once",
}


HandleErrors: TypeAlias = (
    bool | str | type[Exception] | tuple[type[Exception], ...] | Callable[[Any], str]
)
"""What a model is told when a tool raises: True, the error's own text; a text; what a function of
the error says, for the errors its annotation names. Errors of other types than those named, and
all of them with False, end the run."""

_TOLD = "Error: {error}\n Please fix your mistakes."


def handling(wanted: HandleErrors) -> Step:
    """The step that does it.

    Raises:
        SetupError: it is none of these.
    """
    kinds = _kinds(wanted)

    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        try:
            return await proceed(prepared)
        except (Crashed, ToolError) as failure:
            error = failure.__cause__ if isinstance(failure, Crashed) else failure
            if isinstance(failure, ToolError) and prepared.tool.on_error:
                raise  # the tool has its own words
            if not isinstance(error, Exception):
                raise
            if not isinstance(error, kinds):
                name = prepared.tool.name
                raise RunStopped(f"{name!r} failed, and the run was ended.", error) from error
            raise ToolError(_text(wanted, error)) from error

    return step


def _kinds(wanted: HandleErrors) -> tuple[type[Exception], ...]:
    """The errors that are told."""
    if isinstance(wanted, bool | str):
        return () if wanted is False else (Exception,)
    if isinstance(wanted, tuple):
        return wanted
    if isinstance(wanted, type):
        return (wanted,)
    if not callable(wanted):
        raise SetupError(
            f"handle_tool_errors is {wanted!r:.80}; give True, False, a text, a function of the "
            "error, or types of exceptions"
        )
    named = list(inspect.signature(wanted).parameters)[:1]
    hint = get_type_hints(wanted).get(named[0]) if named else None
    found = tuple(kind for kind in (get_args(hint) or (hint,)) if isinstance(kind, type))
    return found or (Exception,)


def _text(wanted: HandleErrors, error: Exception) -> str:
    if isinstance(wanted, str):
        return wanted
    if isinstance(wanted, bool | tuple | type):
        return _TOLD.format(error=repr(error))
    return str(wanted(error))


class NoChains:
    """What would be a part of chains, if there were any."""

    __slots__ = ()

    def __or__(self, other: object) -> Any:
        raise SetupError("there are no chains: call one function with what the other gives")

    __ror__ = __or__


class Invoked(NoChains):
    """What is asked with `ainvoke`: also by sync code, and for several inputs."""

    __slots__ = ()
    ainvoke: Any

    def invoke(self, *given: Any, **more: Any) -> Any:
        """`ainvoke`, for sync code."""
        return run_sync(lambda: self.ainvoke(*given, **more))

    async def abatch(self, inputs: Iterable[object], *given: Any, **more: Any) -> list[Any]:
        """`ainvoke` for each, side by side; the first failure is raised."""
        return await asyncio.gather(*(self.ainvoke(one, *given, **more) for one in inputs))

    def batch(self, inputs: Iterable[object], *given: Any, **more: Any) -> list[Any]:
        """`abatch`, for sync code."""
        return run_sync(lambda: self.abatch(inputs, *given, **more))


class ToolNode(Invoked):
    """Tools that answer the calls of the last reply.

    Args:
        tools: Tools of any kind this package knows.
        handle_tool_errors: What the model is told when a tool raises; see `HandleErrors`. By
            default a `ToolException`'s text, and a masked sentence for anything else.
        messages_key: Where the state keeps its messages.
        wrap_tool_call: ``(request, execute) -> ToolMessage`` around each call.
        awrap_tool_call: The same as a coroutine function, in its place.
    """

    def __init__(
        self,
        tools: Iterable[Toolish],
        *,
        handle_tool_errors: HandleErrors | None = None,
        messages_key: str = "messages",
        wrap_tool_call: Wrapper | None = None,
        awrap_tool_call: Wrapper | None = None,
    ) -> None:
        self.tools = as_toolset(tools).around(updating())
        if handle_tool_errors is not None:
            self.tools = self.tools.around(handling(handle_tool_errors))
        if (wrapper := awrap_tool_call or wrap_tool_call) is not None:
            self.tools = self.tools.around(wrapping(wrapper))
        self._key = messages_key

    @property
    def tools_by_name(self) -> dict[str, AnyTool]:
        """The tools by their names."""
        return {tool.name: tool for tool in self.tools}

    async def ainvoke(self, state: Any, /, config: Config = None, **given: Any) -> Any:
        """Run the calls of the last message, side by side.

        Args:
            state: A dict or object with the messages, the messages, or a list of calls.
            config: Handed to tools that ask for a `RunnableConfig`.
            given: See `run_of`.

        Returns:
            One `ToolMessage` per call, in order: a list for a list of messages, else in a dict.
        """
        if not isinstance(state, Mapping | list) and hasattr(state, self._key):
            state = vars(state)  # a dataclass or a model
        held, in_state = state, False
        if isinstance(state, Mapping) and self._key in state:
            given.setdefault("state", state)
            held, in_state = state[self._key], True
        calls = isinstance(state, list) and bool(state) and _is_call(state[-1])
        asked = map(as_call, state) if calls else _asked(held)
        run = run_of(config, **given)
        results = convert_to_messages([*await self.tools.run([*asked], run), *run.loop_state.inbox])
        return {self._key: results} if in_state or calls else results


def _is_call(given: Any) -> bool:
    return isinstance(given, Mapping | ToolCall) and given.get("type") == "tool_call"


def _asked(messages: Any) -> Sequence[CoreToolCall]:
    """The calls of the last reply.

    Raises:
        SetupError: there is none.
    """
    told = reversed(convert_to_messages(messages))
    reply = next((one for one in told if isinstance(one, AssistantMessage)), None)
    if reply is None:
        raise SetupError("there is no AIMessage: there are no calls to run")
    return reply.tool_calls


def tools_condition(state: Any, messages_key: str = "messages") -> Literal["tools", "__end__"]:
    """Whether the last message calls tools, and they are next.

    Args:
        state: A dict with the messages, or the messages.
        messages_key: Where the state keeps them.
    """
    messages = state[messages_key] if isinstance(state, Mapping) else state
    last = convert_to_messages(messages)[-1]
    calls = isinstance(last, AssistantMessage) and last.tool_calls
    return "tools" if calls else "__end__"

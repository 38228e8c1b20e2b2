"""The parts that `stream` yields in each ``stream_mode`` of an agent, and versions of results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.events import Emitted, Event, Replied, Streamed, ToolFinished
from toolkeel.messages import AssistantMessage, Message, Reasoning
from toolkeel.model_interface import ReasoningDelta, TextDelta
from toolkeel_compat.langchain.messages import convert_to_messages
from toolkeel_compat.langchain.streaming.message_chunks import AIMessageChunk, end_reply
from toolkeel_compat.langchain.threads.interrupts import CHANGES_KEY, HIDDEN_KEYS, Interrupt
from toolkeel_compat.langchain.threads.message_ids import (
    ReplyBegan,
    add_result_id,
    get_id,
    read_transcript,
)

INTERRUPT_KEY = "__interrupt__"
"""Key of the final state, and of a part, for what waits."""
MODES = ("messages", "updates", "values", "custom")
REVIEW_NODE = "HumanInTheLoopMiddleware.after_model"
"""Name of the node that asks a person about calls."""
_OWN_MODES = ("events",)
"""Modes for `stream_events`."""


def sort_modes(asked: Sequence[str]) -> list[str]:
    """Return the modes in `MODES` order, after ``events``. Raise `SetupError` for an unknown one."""
    if strange := [mode for mode in asked if mode not in (*MODES, *_OWN_MODES)]:
        raise SetupError(f"stream_mode {strange[0]!r} is not here: there are {MODES}")
    return sorted(asked, key=(*_OWN_MODES, *MODES).index)


@record
class HookUpdate:
    """What a middleware's hook returned; in an `Emitted` event.

    Args:
        node: The hook's name, such as ``Name.before_model``.
        update: Its changes of the state.
    """

    node: str
    update: Any


class StreamParts:
    """The parts that a run's events give, in each of some modes.

    Args:
        modes: The modes, sorted; ``events`` gives the events themselves.
        messages: The messages that the run begins with.
        node: Name of the model's node.
        get_values: Returns the state without messages.
        pauses: Returns True if a person is asked about the calls of a reply; None if nobody is asked.
    """

    def __init__(
        self,
        modes: Sequence[str],
        messages: Sequence[Message],
        node: str,
        get_values: Callable[[], Mapping[str, Any]],
        pauses: Callable[[Any], bool] | None = None,
    ) -> None:
        self.modes, self.node, self.messages = modes, node, [*messages]
        self._get_values, self._pauses = get_values, pauses
        self._open_calls = _list_open_calls(self.messages)
        self._results: dict[str, Message] = {}
        self._delayed: list[HookUpdate] = []
        self._reply_id: str | None = None
        self._has_jumped = False
        self._changes = self._get_changes()

    def state(self) -> dict[str, Any]:
        """Return the current state."""
        state = self._get_values()
        values = {k: v for k, v in state.items() if k not in HIDDEN_KEYS}
        return {**values, "messages": read_transcript(self.messages, self._changes)}

    def convert(self, event: Event) -> Iterator[tuple[str, Any]]:
        """Yield the parts of an event, each with its mode."""
        steps = [*self._take(event)]
        for mode in self.modes:
            if mode in ("updates", "values"):
                yield from ((mode, part) for kind, part in steps if kind == mode)
            elif mode == "events":
                yield mode, event
            else:
                node = "tools" if isinstance(event, ToolFinished) else self.node
                yield from ((mode, part) for part in self._convert_event(mode, event, node))

    def begin(self, hooks: Sequence[HookUpdate]) -> Iterator[tuple[str, Any]]:
        """Yield the parts before the run's events; `hooks` are those that have run."""
        if "values" in self.modes:
            yield "values", self.state()
        yield from self._convert_hooks(hooks)

    def end(self, hooks: Sequence[HookUpdate], ended: dict[str, Any]) -> Iterator[tuple[str, Any]]:
        """Yield the parts after the run's events.

        Args:
            hooks: The hooks that have run since.
            ended: The final state.
        """
        yield from self._convert_hooks(hooks)
        waits = tuple(ended.pop(INTERRUPT_KEY, ()))
        if "events" in self.modes:
            yield "end", (ended, waits)
        if waits and "values" in self.modes:
            yield "values", {**self.state(), INTERRUPT_KEY: waits}
        for interrupt in waits if "updates" in self.modes else ():
            yield "updates", {INTERRUPT_KEY: (interrupt,)}

    def _convert_hooks(self, hooks: Sequence[HookUpdate]) -> Iterator[tuple[str, Any]]:
        for hook in hooks:
            yield from (pair for pair in self._report_hook(hook) if pair[0] in self.modes)

    def _take(self, event: Event) -> Iterator[tuple[str, Any]]:
        """Yield updates of the state, and the state after each step of a graph of this agent."""
        match event:
            case Emitted(value=ReplyBegan(id=id)):
                self._reply_id = id
            case Emitted(value=HookUpdate() as hook) if hook.node.endswith(".after_model"):
                self._delayed.append(hook)  # the reply is not reported yet
            case Emitted(value=HookUpdate() as hook):
                yield from self._report_hook(hook)
            case Replied(message=message):
                [reply] = convert_to_messages([message])
                self._reply_id = get_id(reply)
                self.messages.append(reply)
                self._open_calls = _list_open_calls(self.messages)
                if self._has_jumped:
                    self._changes = self._get_changes()
                    yield "values", self.state()
                    return
                yield "updates", {self.node: {"messages": [reply]}}
                yield "values", self.state()
                if self._pauses is not None and not self._pauses(reply):
                    yield "updates", {REVIEW_NODE: None}
                while self._delayed:
                    yield from self._report_hook(self._delayed.pop(0))
            case ToolFinished(message=message):
                result = self._read_result(message)
                yield "updates", {"tools": {"messages": [result]}}
                yield from self._add_result(message.tool_call_id, result)

    def _report_hook(self, hook: HookUpdate) -> Iterator[tuple[str, Any]]:
        self._changes = self._get_changes()
        update = hook.update
        if update:
            update = {k: v for k, v in update.items() if k not in HIDDEN_KEYS} or None
        yield "updates", {hook.node: update}
        jumps = bool(update) and update.get("jump_to") == "end"
        self._has_jumped = jumps and ".before_" in hook.node
        if update and not self._has_jumped:
            yield "values", self.state()

    def _add_result(self, call_id: str, result: Message) -> Iterator[tuple[str, Any]]:
        """Add the results of a turn, in the order of its calls, with the last one."""
        self._results[call_id] = result
        if self._results.keys() >= {*self._open_calls}:
            self.messages += [self._results.pop(id) for id in self._open_calls]
            self.messages += self._results.values()
            self._results.clear()
            self._open_calls = []
            yield "values", self.state()

    def _get_changes(self) -> dict[str, Any]:
        return {CHANGES_KEY: self._get_values().get(CHANGES_KEY)}

    def _read_result(self, message: Message) -> Any:
        """Return a tool's result with its id."""
        return add_result_id(convert_to_messages([message])[0], self._reply_id)

    def _convert_event(self, mode: str, event: Event, node: str) -> Iterator[Any]:
        """Yield an event's parts in the mode ``messages`` or ``custom``; `node` is its node's name."""
        where = {"langgraph_node": node}
        reply = {} if self._reply_id is None else {"id": self._reply_id}
        match mode, event:
            case "messages", Streamed(delta=TextDelta(text=text)):
                yield AIMessageChunk(text, metadata=reply), where
            case "messages", Streamed(delta=ReasoningDelta(text=text)) if text:
                yield AIMessageChunk("", reasoning=(Reasoning(text),), metadata=reply), where
            case "messages", Replied(message=message):
                yield from ((one, where) for one in end_reply(message, reply))
            case "messages", ToolFinished(message=message):
                yield self._read_result(message), where
            case "custom", Emitted(value=value) if not isinstance(value, HookUpdate | ReplyBegan):
                yield value


def _list_open_calls(messages: Sequence[Message]) -> list[str]:
    """Return the ids of the last reply's calls that have no result, in order."""
    done: set[str] = set()
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return [call.id for call in message.tool_calls if call.id not in done]
        done.add(getattr(message, "tool_call_id", ""))
    return []


@record
class GraphOutput:
    """The result of ``invoke(..., version="v2")``: the final state, and what waits.

    Args:
        value: The state.
        interrupts: The waiting interrupts.
    """

    value: dict[str, Any]
    interrupts: tuple[Interrupt, ...] = ()


def check_version(version: str) -> None:
    """Raise `SetupError` unless a version of the parts is known."""
    if version not in ("v1", "v2"):
        raise SetupError(f"version={version!r}: write 'v1' or 'v2'")


def to_output(state: dict[str, Any], version: str) -> Any:
    """Return the final state in a version: as it is, or as `GraphOutput`."""
    if version == "v1":
        return state
    waits = tuple(state.pop(INTERRUPT_KEY, ()))
    return GraphOutput(state, waits)


def to_part(mode: str, part: Any, version: str, *, alone: bool) -> Any:
    """Return a part of a stream in a version.

    Args:
        mode: Its mode.
        part: The part.
        version: ``v2`` for a dict.
        alone: The stream has one mode, which ``v1`` does not name.
    """
    if version == "v1":
        return part if alone else (mode, part)
    if mode != "values":
        return {"type": mode, "ns": (), "data": part}
    data = {key: value for key, value in part.items() if key != INTERRUPT_KEY}
    return {"type": mode, "ns": (), "data": data, "interrupts": part.get(INTERRUPT_KEY, ())}

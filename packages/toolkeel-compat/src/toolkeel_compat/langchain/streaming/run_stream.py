"""`stream_events(version="v3")`: what happens in a run, as streams that are read on demand.

Reading any of the streams takes further parts of the run; each part goes to the streams it belongs to.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from toolkeel.call.body.sync_bridge import SyncIterator
from toolkeel.errors import SetupError
from toolkeel.events import Event, Replied, Streamed, ToolFinished, ToolStarted
from toolkeel.model_interface import ReasoningDelta, TextDelta
from toolkeel_compat.langchain.messages import AIMessage, convert_to_messages, to_block_message
from toolkeel_compat.langchain.streaming.growing import (
    Growing,
    GrowingText,
    MessageStream,
    Source,
    ToolCallStream,
)
from toolkeel_compat.langchain.streaming.stream_modes import INTERRUPT_KEY
from toolkeel_compat.langchain.threads.interrupts import Interrupt
from toolkeel_compat.langchain.threads.message_ids import add_result_id, get_id
from toolkeel_compat.langchain.tool_calls import to_tool_call

Make: TypeAlias = Callable[[], AsyncGenerator[tuple[str, Any], None]]
"""Starts the run, and yields its parts with their modes."""
NAMES: Final = ("values", "messages", "tool_calls")
"""The streams of a run."""


def check_events_version(version: str) -> None:
    """Raise `SetupError` unless the version of an event stream is ``v3``."""
    if version != "v3":
        raise SetupError(
            f"stream_events(version={version!r}): write version='v3', or stream(stream_mode=...); "
            "there are no events of chains"
        )


class _Stream(Source):
    """What both forms of a run's streams share: the parts that were read, and what they amount to.

    Args:
        make: Starts the run.
        node: Name of the model's node.

    Attributes:
        values: The states, as a `Growing`.
        messages: The model's replies as `MessageStream`.
        tool_calls: The calls as `ToolCallStream`.
    """

    def __init__(self, make: Make, node: str = "model") -> None:
        self.node = node
        self.values, self.messages, self.tool_calls = Growing(self), Growing(self), Growing(self)
        self._make = make
        self._parts: Any = None
        self._count = 0
        self._state: Any = None
        self._interrupts: list[Interrupt] = []
        self._error: Exception | None = None
        self._is_complete = False
        self._reply: MessageStream | None = None
        self._reply_id: str | None = None
        self._reply_ids: set[str | None] = set()
        self._calls: dict[str, ToolCallStream] = {}

    def check(self) -> None:
        """Raise what ended the run, if it failed."""
        if self._error is not None:
            raise self._error

    def _push(self, name: str, item: Any) -> None:
        self._count += 1
        getattr(self, name).items.append((self._count, item))

    def _take(self, mode: str, part: Any) -> None:
        """Add a part to the streams it belongs to."""
        if mode == "values":
            self._state = self._read_state(part)
            self._push("values", self._state)
        elif mode == "end":
            state, waits = part
            self._state = self._read_state(state)
            self._interrupts += waits
        else:
            self._take_event(part)

    def _read_state(self, state: Mapping[str, Any]) -> dict[str, Any]:
        """Return a state in which the replies of this run have blocks as their content."""
        messages = [
            to_block_message(one)
            if isinstance(one, AIMessage) and one.id and one.id in self._reply_ids
            else one
            for one in state.get("messages", ())
        ]
        known = {key: value for key, value in state.items() if key != INTERRUPT_KEY}
        return {**known, "messages": messages} if "messages" in known else known

    def _take_event(self, event: Event) -> None:
        match event:
            case Streamed(delta=TextDelta(text=text)):
                self._open_reply().text.add(text)
            case Streamed(delta=ReasoningDelta(text=text)) if text:
                self._open_reply().reasoning.add(text)
            case Replied(message=message):
                [reply] = convert_to_messages([message])
                assert isinstance(reply, AIMessage)
                self._open_reply().end(to_block_message(reply))
                self._reply_id = get_id(reply)
                self._reply_ids.add(self._reply_id)
                self._reply = None
            case ToolStarted(call=call):
                self._calls[call.id] = ToolCallStream(to_tool_call(call))
                self._push("tool_calls", self._calls[call.id])
            case ToolFinished(message=message) if message.tool_call_id in self._calls:
                [result] = convert_to_messages([message])
                self._calls.pop(message.tool_call_id).end(add_result_id(result, self._reply_id))

    def _open_reply(self) -> MessageStream:
        """Return the reply that comes now."""
        if self._reply is None:
            self._reply = MessageStream(self)
            self._push("messages", self._reply)
        return self._reply

    def _end(self, error: Exception | None = None) -> None:
        """Complete all streams."""
        self._error, self._is_complete = error, True
        for name in NAMES:
            getattr(self, name).is_complete = True
        if self._reply is not None:
            self._reply.end(self._reply.message)

    def _find(self, names: tuple[str, ...]) -> dict[str, Growing]:
        """Return streams by name.

        Raises:
            KeyError: A name is unknown.
        """
        if strange := [name for name in names if name not in NAMES]:
            raise KeyError(f"a run has no stream {strange[0]!r}: there are {', '.join(NAMES)}")
        return {name: getattr(self, name) for name in names}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise SetupError(f"stream_events(): there is no {name!r}; there are {', '.join(NAMES)}")


def _pop_first(streams: dict[str, Growing]) -> tuple[str, Any] | None:
    """Remove and return the item that came first, with the name of its stream."""
    waiting = [(one.items[0][0], name) for name, one in streams.items() if one.items]
    if not waiting:
        return None
    name = min(waiting)[1]
    return name, streams[name].items.popleft()[1]


class RunStream(_Stream):
    """A run's streams, for ``for`` loops: ``values``, ``messages`` and ``tool_calls``."""

    def read_sync(self) -> bool:
        """Read one part of the run. Return False if it has ended."""
        if self._is_complete:
            return False
        if self._parts is None:
            self._parts = iter(SyncIterator(self._make))
        try:
            mode, part = next(self._parts)
        except StopIteration:
            self._end()
            return False
        except Exception as error:
            self._end(error)
            return False
        self._take(mode, part)
        return True

    async def read_async(self) -> bool:
        """Refuse to be read in async code."""
        raise SetupError("stream_events() is for sync code: await agent.astream_events(...)")

    def wait_for(self, text: GrowingText, get: Callable[[], Any]) -> Any:
        """Return a value that exists when a text is complete."""
        str(text)
        self.check()
        return get()

    def _read_all(self) -> None:
        while self.read_sync():
            pass
        self.check()

    @property
    def output(self) -> dict[str, Any]:
        """The final state. Reads the run to its end."""
        self._read_all()
        state: dict[str, Any] = self._state
        return state

    @property
    def interrupted(self) -> bool:
        """True if the run waits. Reads the run to its end."""
        return bool(self.interrupts)

    @property
    def interrupts(self) -> list[Interrupt]:
        """The waiting interrupts. Reads the run to its end."""
        self._read_all()
        return self._interrupts

    def interleave(self, *names: str) -> Iterator[tuple[str, Any]]:
        """Yield the items of several streams in the order they came, each with its stream's name.

        Raises:
            KeyError: A name is unknown.
        """
        streams = self._find(names)
        while True:
            if (found := _pop_first(streams)) is not None:
                yield found
            elif not self.read_sync():
                break
        self.check()

    def abort(self) -> None:
        """Stop the run."""
        if self._parts is not None:
            self._parts.close()
        self._end()

    def __enter__(self) -> RunStream:
        return self

    def __exit__(self, *problem: object) -> None:
        self.abort()


class AsyncRunStream(_Stream):
    """A run's streams, for ``async for`` loops: ``values``, ``messages`` and ``tool_calls``."""

    def read_sync(self) -> bool:
        """Refuse to be read in sync code."""
        raise SetupError("astream_events() is for async code: use `async for` and `await`")

    async def read_async(self) -> bool:
        """Read one part of the run. Return False if it has ended."""
        if self._is_complete:
            return False
        if self._parts is None:
            self._parts = self._make()
        try:
            mode, part = await anext(self._parts)
        except StopAsyncIteration:
            self._end()
            return False
        except Exception as error:
            self._end(error)
            return False
        self._take(mode, part)
        return True

    async def wait_for(self, text: GrowingText, get: Callable[[], Any]) -> Any:
        """Return a value that exists when a text is complete."""
        await text
        self.check()
        return get()

    async def _read_all(self) -> None:
        while await self.read_async():
            pass
        self.check()

    async def output(self) -> dict[str, Any]:
        """Read the run to its end and return the final state."""
        await self._read_all()
        state: dict[str, Any] = self._state
        return state

    async def interrupted(self) -> bool:
        """Read the run to its end and return True if it waits."""
        return bool(await self.interrupts())

    async def interrupts(self) -> list[Interrupt]:
        """Read the run to its end and return the waiting interrupts."""
        await self._read_all()
        return self._interrupts

    async def interleave(self, *names: str) -> AsyncIterator[tuple[str, Any]]:
        """Yield the items of several streams in the order they came, each with its stream's name.

        Raises:
            KeyError: A name is unknown.
        """
        streams = self._find(names)
        while True:
            if (found := _pop_first(streams)) is not None:
                yield found
            elif not await self.read_async():
                break
        self.check()

    async def abort(self) -> None:
        """Stop the run."""
        if self._parts is not None:
            await self._parts.aclose()
        self._end()

    async def __aenter__(self) -> AsyncRunStream:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.abort()

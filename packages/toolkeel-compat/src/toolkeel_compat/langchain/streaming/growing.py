"""Replies and calls that are read while they come: reading them takes further parts of the run."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any

from toolkeel_compat.langchain.messages import AIMessage


class Source:
    """The run that growing items are read from.

    Attributes:
        node: Name of the model's node.
    """

    node: str

    @abstractmethod
    def read_sync(self) -> bool:
        """Read one part of the run. Return False if it has ended."""

    @abstractmethod
    async def read_async(self) -> bool:
        """Read one part of the run. Return False if it has ended."""

    @abstractmethod
    def wait_for(self, text: GrowingText, get: Callable[[], Any]) -> Any:
        """Return a value that exists when a text is complete, or a coroutine of it."""

    @abstractmethod
    def check(self) -> None:
        """Raise what ended the run, if it failed."""


class Growing:
    """Items that come while a run goes on. Iterate it, also with ``async for``.

    Args:
        stream: The run's stream, which is read for more.
    """

    def __init__(self, stream: Source) -> None:
        self.items: deque[tuple[int, Any]] = deque()
        self.is_complete = False
        self._stream = stream

    def __iter__(self) -> Iterator[Any]:
        while self.items or (not self.is_complete and self._stream.read_sync()):
            while self.items:
                yield self.items.popleft()[1]
        self._stream.check()

    async def __aiter__(self) -> AsyncIterator[Any]:
        while self.items or (not self.is_complete and await self._stream.read_async()):
            while self.items:
                yield self.items.popleft()[1]
        self._stream.check()


class GrowingText(Growing):
    """A text that comes in pieces. ``str(text)``, or ``await text``, waits for the whole text."""

    def __init__(self, stream: Source) -> None:
        super().__init__(stream)
        self._text = ""

    @property
    def has_begun(self) -> bool:
        """True if a piece has come."""
        return bool(self._text)

    def add(self, piece: str) -> None:
        """Add a piece."""
        self._text += piece
        self.items.append((0, piece))

    def __str__(self) -> str:
        while not self.is_complete and self._stream.read_sync():
            pass
        return self._text

    def __bool__(self) -> bool:
        return bool(str(self))

    def __repr__(self) -> str:
        return repr(self._text)

    def __await__(self) -> Generator[Any, None, str]:
        return self._read_all().__await__()

    async def _read_all(self) -> str:
        while not self.is_complete and await self._stream.read_async():
            pass
        return self._text


class MessageStream:
    """One reply of the model.

    Attributes:
        node: Name of the model's node.
        text: The text, as a `GrowingText`.
        reasoning: The reasoning, as a `GrowingText`.
        tool_calls: The calls, as a `Growing`.
    """

    def __init__(self, stream: Source) -> None:
        self._stream, self.node, self.message = stream, stream.node, AIMessage("")
        self.text, self.reasoning = GrowingText(stream), GrowingText(stream)
        self.tool_calls = Growing(stream)

    @property
    def output(self) -> Any:
        """The message; in async code, await it."""
        return self._stream.wait_for(self.text, lambda: self.message)

    def end(self, message: AIMessage) -> None:
        """Complete the streams of the reply."""
        self.message = message
        for text, whole in (
            (self.text, message.text),
            (self.reasoning, "".join(one.text for one in message.reasoning)),
        ):
            if whole and not text.has_begun:
                text.add(whole)
        self.tool_calls.items.extend((0, call) for call in message.tool_calls)
        for one in (self.text, self.reasoning, self.tool_calls):
            one.is_complete = True


class ToolCallStream:
    """One call of a tool.

    Attributes:
        tool_call_id: Id of the call.
        tool_name: Name of the tool.
        input: The arguments.
        output: The result, as a message; None until it is there, or if the call failed.
        error: What the model is told of a failed call; None otherwise.
        completed: True if the call has ended.
    """

    def __init__(self, call: Any) -> None:
        self.tool_call_id, self.tool_name, self.input = call.id, call.name, call.args
        self.output: Any = None
        self.error: str | None = None
        self.completed = False

    def end(self, message: Any) -> None:
        """Set the result."""
        self.completed = True
        if message.status == "error":
            self.error = message.text
        else:
            self.output = message

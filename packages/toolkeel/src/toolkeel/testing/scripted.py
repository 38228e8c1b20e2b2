"""A model that replies from a script."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TypeAlias, cast

from toolkeel._common.checked_arguments import checked
from toolkeel.agent.bind_tools import Binds, count_in_run
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.model_interface import Delta, Finish, ModelRequest, TextDelta

Line: TypeAlias = (
    str
    | AssistantMessage
    | ToolCall
    | Sequence[ToolCall | Delta]
    | BaseException
    | Callable[[ModelRequest], "str | AssistantMessage | Sequence[ToolCall]"]
)
"""One reply: a text, a call, several calls, a message, deltas to stream, an exception to raise, or
a function of the request that gives one of them."""


def call(name: str, arguments: Mapping[str, object] | str = "", id: str = "") -> ToolCall:
    """Make a call for a script; without an id it gets one when it is played."""
    return ToolCall(id, name, arguments)


class Scripted(Binds):
    """A `Model` that plays a list of replies, one per request.

    Args:
        lines: The replies.
        name: The model's name.

    Attributes:
        requests: The requests it received, in order.

    Raises:
        ModelError: when it gets more requests than it has lines.

    >>> model = Scripted([call("add", {"a": 1, "b": 2}), "It is 3."])
    """

    @checked
    def __init__(self, lines: Iterable[Line], name: str = "scripted") -> None:
        self._lines = iter(lines)
        self._ids = itertools.count(1)
        self.name = name
        self.requests: list[ModelRequest] = []

    @count_in_run
    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Record the request and yield the next reply; raise an exception, and call a function for its reply."""
        self.requests.append(ModelRequest(tuple(request.messages), request.tools, request.settings))
        try:
            line = next(self._lines)
        except StopIteration:
            raise ModelError(f"the script of {self.name!r} has ended") from None
        if callable(line) and not isinstance(line, type):
            line = line(request)
        if isinstance(line, BaseException):
            raise line
        for delta in self._deltas(line):
            yield delta

    def _deltas(self, line: object) -> Iterable[Delta | AssistantMessage]:
        """Return a line of the script as deltas or as a message; raise TypeError if it is neither, or mixes them."""
        if isinstance(line, str):
            return [TextDelta(line), Finish("stop")]
        if isinstance(line, AssistantMessage):
            return [line]
        items = [line] if isinstance(line, ToolCall) else line
        if not isinstance(items, list | tuple) or not items:
            hint = "; its functions must be sync" if isinstance(line, Awaitable) else ""
            raise TypeError(f"a script cannot say {line!r}{hint}")
        calls = [item for item in items if isinstance(item, ToolCall)]
        if not calls:
            return cast("list[Delta]", list(items))
        if len(calls) < len(items):
            raise TypeError(f"a script cannot say calls and deltas in one line: {line!r}")
        return [self._message(calls)]

    def _message(self, calls: Sequence[ToolCall]) -> AssistantMessage:
        """Return a message with calls; calls without id get one."""
        numbered = (
            c if c.id else ToolCall(f"call_{next(self._ids)}", c.name, c.arguments) for c in calls
        )
        return AssistantMessage(tool_calls=tuple(numbered), finish_reason="tool_calls")

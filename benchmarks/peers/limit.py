"""The practical limit: validate in one call, look up, run, keep a message and two events; no more.

No injection, deadline, cancellation, step, guard or repair. What its validators cost to define is what
pydantic's `TypeAdapter` costs.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import re
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Annotated, Any, NotRequired, get_type_hints

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict

from benchmarks.peer import Peer
from benchmarks.work import RESULT, Call

ARGUMENT = re.compile(r"^ +(\w+): (.+)$", re.M)


class Message:
    """A result."""

    __slots__ = ("call_id", "content", "failed", "name")

    def __init__(self, call_id: str, name: str, content: str, failed: bool = False) -> None:
        self.call_id = call_id
        self.name = name
        self.content = content
        self.failed = failed


class Reply:
    """What a model said."""

    __slots__ = ("calls", "content")

    def __init__(self, content: str, calls: Sequence[Call] = ()) -> None:
        self.content = content
        self.calls = calls


class Event:
    """Something happened."""

    __slots__ = ("about", "kind")

    def __init__(self, kind: str, about: object) -> None:
        self.kind = kind
        self.about = about


class Tool:
    """A function with its validator and its schema."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.name = function.__name__
        self.waits = inspect.iscoroutinefunction(function)
        head, _, rest = (function.__doc__ or "").partition("Args:")
        self.description = head.strip()
        told = dict(ARGUMENT.findall(rest))
        hints = get_type_hints(function, include_extras=True)
        fields: dict[str, Any] = {}
        for parameter in inspect.signature(function).parameters.values():
            kind: Any = hints[parameter.name]
            if parameter.name in told:
                kind = Annotated[kind, Field(description=told[parameter.name])]
            fields[parameter.name] = (
                kind if parameter.default is parameter.empty else NotRequired[kind]
            )
        made: Any = TypedDict(self.name, fields)  # type: ignore[operator]
        self._adapter: Any = TypeAdapter(with_config(ConfigDict(extra="forbid"))(made))
        self.validate: Callable[[str], dict[str, Any]] = self._adapter.validator.validate_json

    @functools.cached_property
    def wire(self) -> dict[str, Any]:
        """As OpenAI takes it."""
        parameters = self._adapter.json_schema()
        about = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": about}


class Limit(Peer):
    packages = ("pydantic", "pydantic_core")
    line = "from pydantic import TypeAdapter"

    def define(self, function: Callable[..., Any]) -> Tool:
        return Tool(function)

    def schemas(self, tools: list[Tool]) -> list[dict[str, Any]]:
        return [tool.wire for tool in tools]

    async def open(self, functions: Sequence[Callable[..., Any]]) -> None:
        self.tools = {tool.name: tool for tool in map(Tool, functions)}
        self.events: deque[Event] = deque(maxlen=4096)
        self.pool = ThreadPoolExecutor(1000)

    async def one(self, call: Call) -> Message:
        id, name, arguments = call
        tool = self.tools[name]
        try:
            values = tool.validate(arguments)
        except ValidationError as error:
            lines = (
                f"{'.'.join(map(str, each['loc']))}: {each['msg']}"
                for each in error.errors(include_url=False, include_context=False)
            )
            message = Message(id, name, "\n".join(lines), True)
            self.events.append(Event("end", message))
            return message
        self.events.append(Event("start", call))
        if tool.waits:
            value = await tool.function(**values)
        else:
            work = functools.partial(copy_context().run, tool.function, **values)
            value = await asyncio.get_running_loop().run_in_executor(self.pool, work)
        message = Message(id, name, value)
        self.events.append(Event("end", message))
        return message

    async def many(self, calls: list[Call]) -> list[Message]:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.one(call)) for call in calls]
        return [task.result() for task in tasks]

    def text(self, message: Message) -> str:
        return message.content

    async def loop(self, function: Callable[..., Any], turns: int, tick: Callable[[], None]) -> str:
        await self.open([function])
        calls = (Call(f"call_{i}", function.__name__, f'{{"i": {i}}}') for i in range(turns))
        replies = iter([*(Reply("", [call]) for call in calls), Reply("done")])
        messages: list[object] = ["go"]
        while True:
            tick()
            reply = next(replies)
            messages.append(reply)
            if not reply.calls:
                return reply.content
            messages.append(await self.one(reply.calls[0]))

    def history(self, size: int) -> list[object]:
        kept: list[object] = []
        for i in range(size):
            kept.append(Reply("", [Call(f"call_{i}", "count", f'{{"i": {i}}}')]))
            kept.append(Message(f"call_{i}", "count", RESULT.format(i)))
        return kept


PEER = Limit()

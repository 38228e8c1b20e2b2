"""The practical limit: validate in one call, look up, run, make a message. Nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError, with_config
from typing_extensions import TypedDict


class Message:
    """A result."""

    __slots__ = ("call_id", "content", "failed", "name")

    def __init__(self, call_id: str, name: str, content: str, failed: bool = False) -> None:
        self.call_id = call_id
        self.name = name
        self.content = content
        self.failed = failed


class Limit:
    """Async tools by name, without injection, deadlines, steps, events or cancellation."""

    def __init__(self, *functions: Callable[..., Awaitable[str]]) -> None:
        self.tools: dict[str, tuple[Callable[[str], dict[str, Any]], Any]] = {}
        for function in functions:
            hints = get_type_hints(function)
            hints.pop("return", None)
            fields: Any = TypedDict(function.__name__, hints)  # type: ignore[operator]
            adapter: Any = TypeAdapter(with_config(ConfigDict(extra="forbid"))(fields))
            self.tools[function.__name__] = (adapter.validator.validate_json, function)

    async def call(self, call_id: str, name: str, arguments: str) -> Message:
        """One call, from its JSON text to its message."""
        validate, function = self.tools[name]
        try:
            values = validate(arguments)
        except ValidationError as error:
            lines = (f"{e['loc']}: {e['msg']}" for e in error.errors(include_url=False))
            return Message(call_id, name, "\n".join(lines), True)
        return Message(call_id, name, await function(**values))

    async def batch(self, calls: list[tuple[str, str, str]]) -> list[Message]:
        """The calls of a turn."""
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(self.call(*call)) for call in calls]
        return [task.result() for task in tasks]

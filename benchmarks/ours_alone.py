"""What has no counterpart in every peer: streamed arguments, growing requests, each feature's price."""

from __future__ import annotations

import functools
import json
from collections.abc import Awaitable, Callable
from typing import Any

from pydantic_core import from_json

from benchmarks import work
from benchmarks.clock import once, seconds
from benchmarks.large import scale
from toolkeel import AssistantMessage, RunContext, ToolCall, ToolContext, ToolMessage, Toolset, tool
from toolkeel.call.arguments.partial import PartialArguments
from toolkeel.call.steps.guard import Allow, input_guard, output_guard
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.openai_chat.encode import ChatEncoder
from toolkeel.providers.openai_chat.profile import ChatTarget
from toolkeel.providers.wire.body_cache import BodyCache

Numbers = dict[str, float]


async def streamed() -> Numbers:
    """W8: arguments of 25, 50 and 100 kB in pieces of 20 characters, the value looked at after each."""
    numbers = {}
    for size in (25_000, 50_000, 100_000):
        rows = [
            {"id": i, "name": f"parcel {i}", "ok": True, "tags": ["a", "b"]}
            for i in range(size // 62)
        ]
        text = json.dumps({"rows": rows})
        pieces = [text[i : i + 20] for i in range(0, len(text), 20)]

        async def ours(pieces: list[str] = pieces) -> None:
            preview = PartialArguments()
            for piece in pieces:
                preview.feed(piece)
                preview.value()

        async def again(pieces: list[str] = pieces) -> None:
            whole = ""
            for piece in pieces:
                whole += piece
                from_json(whole, allow_partial="trailing-strings")

        async def unasked(pieces: list[str] = pieces) -> None:
            preview = PartialArguments()
            for piece in pieces:
                preview.feed(piece)

        numbers[f"preview of {size // 1000} kB"] = await once(ours)
        numbers[f"parsed again, {size // 1000} kB"] = await once(again, 1)
        numbers[f"not looked at, {size // 1000} kB"] = await once(unasked)
    return numbers


async def requests() -> Numbers:
    """W6b: the bytes of the next request, by how many turns came before it."""
    numbers = {}
    for turns in (10, 100, 1000):
        messages: list[Any] = []
        for i in range(turns):
            call = ToolCall(f"call_{i}", "count", f'{{"i": {i}}}')
            messages += [
                AssistantMessage("", (call,), "tool_calls"),
                ToolMessage(work.RESULT.format(i), call.id, "count"),
            ]
        cache = BodyCache(ChatEncoder, ChatTarget("m"))
        cache.encode(ModelRequest(messages))

        async def next_request(
            messages: list[Any] = messages, cache: BodyCache[ChatTarget] = cache
        ) -> None:
            cache.encode(ModelRequest(messages))

        numbers[f"request after {turns} turns"] = await seconds(next_request)
    return numbers


async def features() -> Numbers:
    """W9: one call, with one more thing switched on in each row."""

    @tool
    async def plain(city: str, days: int) -> str:
        """Say what a parcel costs."""
        return city

    @tool
    async def injected(city: str, days: int, context: ToolContext[Any]) -> str:
        """Say what a parcel costs."""
        return city

    guards = [
        input_guard(lambda prepared, context: Allow(), inline=True),
        output_guard(lambda prepared, outcome, context: Allow(), inline=True),
    ]

    async def step(prepared: Any, context: Any, proceed: Any) -> object:
        return await proceed(prepared)

    async def waiting(city: str, days: int) -> str:
        """Wait once."""
        await _soon()
        return city

    heard = {"listeners": (lambda event: None,)}
    rows: dict[str, tuple[Any, dict[str, Any]]] = {
        "a plain call": (plain, {}),
        "a subscriber": (plain, heard),
        "an injected context": (injected, {}),
        "two guards": (tool(plain.function, steps=guards), {}),
        "a step": (tool(plain.function, steps=[step]), {}),
        "a permission rule": (tool(plain.function, approval=lambda arguments: False), {}),
        "a body that waits, no deadline": (tool(waiting, timeout=None), {}),
        "a body that waits, with one": (tool(waiting), {}),
        "everything": (tool(injected.function, steps=guards), heard),
    }
    numbers = {}
    for name, (made, options) in rows.items():
        tools, run = Toolset([made]), RunContext[Any](**options)
        call = [ToolCall("1", made.name, work.RATE)]
        assert (await tools.run(call, run))[0].text == "Lyon"
        numbers[name] = await seconds(functools.partial(tools.run, call, run))
    return numbers


async def _soon() -> None:
    import asyncio

    await asyncio.sleep(0)


ALONE: dict[str, Callable[[], Awaitable[Numbers]]] = {
    "W6b": requests, "W8": streamed, "W9": features, "scale": scale,
}  # fmt: skip

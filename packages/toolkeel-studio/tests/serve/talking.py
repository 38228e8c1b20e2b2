"""An agent for front ends, whose model writes as slowly as a test wants, and readers of its channel."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

from toolkeel import Agent, tool
from toolkeel.approvals import external
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import CallDelta, Delta, Finish, ModelRequest, TextDelta
from toolkeel.sessions import Sessions
from toolkeel.testing import Scripted
from toolkeel_studio.serve.channel import Channel, Channels
from toolkeel_studio.serve.items import Item

RAN: list[str] = []
"""What the tools of the current test have done."""


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay an amount."""
    RAN.append(f"pay {amount}")
    return f"paid {amount}"


@tool
def look(what: str) -> str:
    """Look at something."""
    RAN.append(f"look {what}")
    return f"saw {what}"


@tool(executor=external)
def pick(color: str) -> str:
    """Let the person pick a shade of a color."""
    raise AssertionError("its result comes from outside")


class Slow(Scripted):
    """A scripted model that waits at each `asyncio.Event` among its deltas."""

    def __init__(self, lines: Sequence[Any]) -> None:
        super().__init__([])
        self._lines = iter(lines)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        async for delta in super().stream(request):
            gate: object = delta
            if isinstance(gate, asyncio.Event):
                await gate.wait()
            else:
                yield delta
                await asyncio.sleep(0)


def text(*pieces: str) -> list[Any]:
    """Deltas of a reply that only says something."""
    return [*(TextDelta(piece) for piece in pieces), Finish("stop")]


def calls(*made: tuple[str, str, str]) -> list[Any]:
    """Deltas of a reply whose calls arrive interleaved: id, tool and arguments of each."""
    first = [CallDelta(n, id, name, arguments[:4]) for n, (id, name, arguments) in enumerate(made)]
    rest = [CallDelta(n, "", "", arguments[4:]) for n, (_, _, arguments) in enumerate(made)]
    return [*first, *rest, Finish("tool_calls")]


PAY = calls(("c1", "pay", '{"amount": 5}'))
BOTH = calls(("c1", "pay", '{"amount": 5}'), ("c2", "look", '{"what": "x"}'))


class Talk:
    """Channels over one file of sessions, for the length of a test."""

    def __init__(self, folder: Path) -> None:
        self.sessions = Sessions(folder / "talk.db")
        self._stack = AsyncExitStack()
        self._all: list[Channels] = []

    def close_later(self, channels: Channels) -> None:
        """Stop what runs in these channels when the test ends."""
        self._all.append(channels)
        self._stack.push_async_callback(channels.close)

    async def has_reader(self) -> None:
        """Return when somebody reads a session."""
        while not self.readers:  # noqa: ASYNC110  # a reader sends no event
            await asyncio.sleep(0.01)

    @property
    def readers(self) -> int:
        """Number of readers of sessions that run."""
        active = [each for channels in self._all for each in channels.active.values()]
        return sum(each.feed.readers for each in active)

    async def idle(self) -> None:
        """Return when nothing runs."""
        for channels in self._all:
            await channels.wait()

    def channels(self, lines: Sequence[Any], tools: Sequence[Any] = (pay, look, pick)) -> Channels:
        """Open the sessions for a model that plays `lines`."""
        made = Channels(Agent(Slow(lines), tools), self.sessions)
        self.close_later(made)
        return made

    async def close(self) -> None:
        """Stop what runs, and close the file."""
        await self._stack.aclose()
        self.sessions.close()


def talking(test: Callable[[Talk], Awaitable[None]], seconds: float = 60) -> Callable[[Path], None]:
    """Run an async test with its sessions in a loop of its own, for so many seconds at most."""

    @functools.wraps(test)
    def run(tmp_path: Path) -> None:
        async def main() -> None:
            RAN.clear()
            talk = Talk(tmp_path)
            try:
                await asyncio.wait_for(test(talk), seconds)
            finally:
                await talk.close()

        asyncio.run(main())

    del run.__wrapped__  # type: ignore[attr-defined]  # pytest reads the parameters of what it wraps
    return run


async def read(channel: Channel, after: str = "0") -> list[Item]:
    """Read until nothing runs."""
    return [item async for item in channel.read(after, follow=False)]


async def read_until(channel: Channel, kind: str, count: int = 1, after: str = "0") -> list[Item]:
    """Read up to the last of so many items of a kind, then leave."""
    found: list[Item] = []
    async with aclosing(channel.read(after)) as items:
        async for item in items:
            found.append(item)
            count -= item.kind == kind
            if not count:
                break
    return found


def kinds(items: Sequence[Item]) -> list[str]:
    """Return what happened, by kind."""
    return [item.kind for item in items]


def texts(items: Sequence[Item]) -> str:
    """Join the pieces of text among items."""
    deltas = [item.body.delta for item in items if item.kind == "streamed"]  # type: ignore[union-attr]
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


def approval(items: Sequence[Item], call_id: str = "") -> str:
    """Return the approval id of the last call that waits."""
    waits = [i for i in items if i.kind == "waits" and call_id in ("", i.call_id)]
    return waits[-1].approval_id

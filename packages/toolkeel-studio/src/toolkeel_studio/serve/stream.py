"""What an encoder makes of a run, as it happens, and as server-sent events.

Every front end has an encoder: a pure object that turns the items of a session, in their order, into what
its clients read. The loop around it is here, once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing, suppress
from typing import Final, Protocol, TypeVar

from toolkeel._records.entries import Decided, RunEnded
from toolkeel.sessions.session import Session
from toolkeel_studio.serve.channel import Channel
from toolkeel_studio.serve.items import Item, Problem
from toolkeel_studio.serve.json_responses import to_json
from toolkeel_studio.serve.numbering import number_journal

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
DONE: Final = "data: [DONE]\n\n"
"""The last event of a stream, in protocols that have one."""


class Encoder(Protocol[T_co]):
    """Makes what a front end sends.

    Attributes:
        is_done: True once the run has ended or waits for its client; nothing follows.
    """

    @property
    def is_done(self) -> bool: ...
    def encode(self, item: Item) -> Iterable[T_co]:
        """Return what the next item becomes."""
        ...

    def finish(self) -> Iterable[T_co]:
        """Return what ends a stream whose run has not ended in it; nothing if it has."""
        ...


async def encode_run(
    channel: Channel,
    after: str,
    encoder: Encoder[T],
    *,
    starts: Callable[[Item], bool] | None = None,
    is_across_waits: bool = False,
    is_joined: bool = True,
) -> AsyncGenerator[list[T], None]:
    """Yield what an encoder makes of a run until it is done, each time of all items that are there.

    Args:
        channel: The session.
        after: Number of the item after which it starts.
        encoder: Makes it.
        starts: Returns True for the first item that counts; what comes before it is passed over. If none
            comes because no run could start, the reason is encoded.
        is_joined: Join pieces of a text that come together. Events that are numbered forbid it.
        is_across_waits: Pass over the end of a run that only waited there, and has continued since.
    """
    reading = channel.read_batches(after, follow=False, is_joined=is_joined)
    problems: list[Item] = []
    async with aclosing(reading) as batches:
        async for batch in batches:
            items, starts = _from_first(batch, starts)
            if starts is not None:
                problems += [item for item in batch if isinstance(item.body, Problem)]
            if made := await _encode_items(channel, items, encoder, is_across_waits):
                yield made
            if encoder.is_done:
                break
    items = [] if starts is None else problems[-1:]
    if not (encoder.is_done or items):
        items = await asyncio.to_thread(_waiting_decisions, channel.session)
    if last := [*(each for item in items for each in encoder.encode(item)), *encoder.finish()]:
        yield last


async def _encode_items(
    channel: Channel, items: Sequence[Item], encoder: Encoder[T], is_across_waits: bool
) -> list[T]:
    """Return what an encoder makes of items until it is done; see `encode_run`."""
    made: list[T] = []
    for item in items:
        if encoder.is_done:
            break
        if not (is_across_waits and await _has_continued(channel, item)):
            made += encoder.encode(item)
    return made


def _waiting_decisions(session: Session) -> list[Item]:
    """Return the decisions that no run has acted on, because other calls wait."""
    if not session.decisions:
        return []
    head = session.info.head
    items = [item for item in number_journal(session) if item.position.entry == head]
    return [item for item in items[1:] if isinstance(item.body, Decided)]


def _from_first(
    items: Sequence[Item], starts: Callable[[Item], bool] | None
) -> tuple[Sequence[Item], Callable[[Item], bool] | None]:
    """Return the items from the first that counts on, and `starts` if none does."""
    for n, item in enumerate(items):
        if starts is None or starts(item):
            return items[n:], None
    return (), starts


async def _has_continued(channel: Channel, item: Item) -> bool:
    """Return True for the end of a run that only waited there, and has continued or is about to."""
    if not isinstance(item.body, RunEnded) or item.body.reason != "waiting" or item.within:
        return False
    now = await channel.status()
    return now.position.entry > item.position.entry or all(p.is_decided for p in now.pending)


async def with_heartbeat(
    lines: AsyncGenerator[str, None], seconds: float
) -> AsyncGenerator[str, None]:
    """Yield lines, and a comment whenever none came for some seconds.

    At the end, also by a cancel, the lines are closed, whatever time that takes.
    """
    upcoming: asyncio.Task[str] | None = None
    try:
        while True:
            upcoming = upcoming or asyncio.ensure_future(anext(lines))
            done, _ = await asyncio.wait([upcoming], timeout=seconds)
            if not done:
                yield ": still here\n\n"
                continue
            task, upcoming = upcoming, None
            try:
                line = task.result()
            except StopAsyncIteration:
                return
            yield line
    finally:
        closing = asyncio.create_task(_close(lines, upcoming))
        _closing.add(closing)
        closing.add_done_callback(_closing.discard)
        await asyncio.shield(closing)  # at a disconnect, a task group cancels each await here


_closing: Final[set[asyncio.Task[None]]] = set()
"""Streams that are being closed; the event loop alone would not retain their tasks."""


async def _close(lines: AsyncGenerator[str, None], upcoming: asyncio.Task[str] | None) -> None:
    """Close lines, of which one may be awaited."""
    if upcoming is not None:
        upcoming.cancel()
        with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
            await upcoming
    await lines.aclose()


def to_event(data: object, name: str = "") -> str:
    """Return data as a server-sent event."""
    return f"event: {name}\ndata: {to_json(data)}\n\n" if name else f"data: {to_json(data)}\n\n"

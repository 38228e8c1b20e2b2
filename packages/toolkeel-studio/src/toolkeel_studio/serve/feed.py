"""The latest items of one session, for any number of readers, who never hold up a run.

Entries come from the writing thread once they are durable; live events come from the run. Both go into
one list in one order, and every reader walks along that list at its own pace, taking all that is new at
once. Live events wake them at most once in `GATHER_SECONDS`, and less often if there are many; the pieces
of a text that have gathered are joined once for all of them::

    journal  1 ... 40 | 41  42  42.1  42.2  42.3  43  44        a reader is a position
                      ^ floor                      ^ now

A reader whose position is below the floor reads entries from the journal until it reaches the floor.
The list is bounded: beyond `KEPT` items it loses its oldest part, up to the start of a reply, so the
pieces of a reply are there all or not at all. A reply of more than `MOST` pieces loses the rest of them;
its complete text follows with its entry.

Entries of other processes are found by a look into the journal, four times a second while anybody
reads. They arrive without live items.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections import deque
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing, suppress
from operator import itemgetter
from time import time
from typing import Protocol

from toolkeel import events
from toolkeel._records import entries
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.journal import StoredEntry
from toolkeel.sessions.journal_state import JournalState
from toolkeel.sessions.session import Session
from toolkeel_studio.serve.errors import ChannelError
from toolkeel_studio.serve.items import Item, LiveEvent, Position, join_pieces
from toolkeel_studio.serve.numbering import Numbering, is_live_only

KEPT = 4_000
"""Items that are retained, beyond those of the reply that is being written."""
MOST = 100_000
"""Live items after which no more are retained until the next entry of a reply."""
POLL_SECONDS = 0.25
"""Seconds between two polls for entries of other processes."""
GATHER_SECONDS = 0.01
"""Seconds for which live events are gathered before readers get them."""
MOST_SECONDS = 0.1
"""The same for many readers: they share what one reader may cost in that time."""
SECONDS_A_READER = 0.0005
"""Seconds by which each reader lets live events gather longer."""
PAGE = 500
"""Entries that are read at once."""


class Activity(Protocol):
    """What this process does with the session.

    Attributes:
        is_busy: It runs the session, or is about to.
        is_writing: It is the session's one writer.
    """

    @property
    def is_busy(self) -> bool: ...
    @property
    def is_writing(self) -> bool: ...


class Feed:
    """The latest items of one session.

    Args:
        session: The session; it exists.
        here: What this process does with it.
        seconds: Seconds between two polls for entries of other processes.

    Attributes:
        readers: Number of readers.
        state: Of the session, as far as it was followed.
        is_busy_elsewhere: Another process runs the session.
    """

    def __init__(self, session: Session, here: Activity, *, seconds: float = POLL_SECONDS) -> None:
        self.readers = 0
        self.state = JournalState()
        self._session = session
        self._here = here
        self._seconds = seconds
        self._numbering = Numbering()
        self._floor = Position(0)
        self._items: list[tuple[Position, Item]] = []
        self._dropped = 0
        self._batch: tuple[tuple[int, int], Sequence[Item], Sequence[Item]] = (0, 0), (), ()
        self._starts: deque[int] = deque()
        """Places in the list, counted from the first item ever, where a reply starts."""
        self._live_count = 0
        self.is_busy_elsewhere = False
        self._news = asyncio.Event()
        self._waking: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()
        self._stop_watching: Callable[[], None] | None = None
        self._opening = asyncio.Lock()
        self._is_ready = False
        self._polling: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Follow the session from now on; what happened before is read from its journal."""
        async with self._opening:
            if self._is_ready:
                return
            self._stop_watching = await asyncio.to_thread(self._session.watch, self._receive)
            self.state, written = await asyncio.to_thread(_load, self._session)
            for stored in written:
                self._numbering.number_entry(stored)
            self._floor = self._numbering.position
            self._is_ready = True
            await self._catch_up()

    def close(self) -> None:
        """Stop following the session; readers end."""
        self._is_ready = False
        if self._stop_watching is not None:
            self._stop_watching()
            self._stop_watching = None
        if self._polling is not None:
            self._polling.cancel()
            self._polling = None
        self.wake()

    @property
    def run_id(self) -> str:
        """The session's last run; empty if there was none."""
        return self._numbering.run_id

    @property
    def reason(self) -> str:
        """Why the session's last run ended; empty while it is open."""
        return self._numbering.reason

    @property
    def ended_count(self) -> int:
        """How often a run of the session has ended or started to wait, as far as it was followed."""
        return self._numbering.ended_count

    @property
    def position(self) -> Position:
        """The number of the last item."""
        return self._numbering.position

    @property
    def is_idle(self) -> bool:
        """True if nothing runs here or in another process."""
        return not (self._here.is_busy or self.is_busy_elsewhere)

    # — what comes in —

    def _receive(self, written: Sequence[StoredEntry]) -> None:
        """Take entries over from the thread that has written them."""
        with suppress(RuntimeError):  # the loop has ended, and its readers with it
            self._loop.call_soon_threadsafe(self._take, written)

    def _take(self, written: Sequence[StoredEntry]) -> None:
        """Add entries; read the ones between the last and these, which another process wrote."""
        if not self._is_ready:
            return
        head = self._numbering.position.entry
        if written and written[0].seq > head + 1:
            with suppress(SessionError):  # it was deleted
                self._add(self._session.entries(head, written[0].seq - 1))
        self._add(written)

    def _add(self, written: Sequence[StoredEntry]) -> None:
        for stored in written:
            if stored.seq <= self._numbering.position.entry:
                continue
            item = self._numbering.number_entry(stored)
            self.state.apply(stored.seq, stored.entry)
            if isinstance(stored.entry, entries.ModelAsked) and not item.within:
                self._starts.append(self._dropped + len(self._items))
            if not item.within and isinstance(
                stored.entry, entries.ModelAsked | entries.ModelReplied
            ):
                self._live_count = 0
            self._append(item)
        self._drop_old()
        self.wake()

    def take_event(self, event: events.Event) -> None:
        """Add an event of a run of this process, unless an entry says the same."""
        if is_live_only(event):
            self.add_live(event, event.at)  # type: ignore[arg-type]

    def add_live(self, event: LiveEvent, at: float | None = None) -> None:
        """Add a live item."""
        self._live_count += 1
        if self._live_count > MOST and isinstance(event, events.RunEvent):
            return
        self._append(self._numbering.number_event(event, time() if at is None else at))
        if self._waking is None:
            seconds = min(GATHER_SECONDS + self.readers * SECONDS_A_READER, MOST_SECONDS)
            self._waking = self._loop.call_later(seconds, self.wake)

    def _append(self, item: Item) -> None:
        self._items.append((self._numbering.position, item))

    def _drop_old(self) -> None:
        """Drop the oldest replies beyond `KEPT` items; the last one stays."""
        while len(self._items) > KEPT and self._starts:
            count = self._starts[0] - self._dropped
            if count == 0:
                self._starts.popleft()
            if count:
                self._floor, _ = self._items[count - 1]
                del self._items[:count]
            self._dropped += count

    def wake(self) -> None:
        """Let readers look again."""
        if self._waking is not None:
            self._waking.cancel()
            self._waking = None
        self._news.set()
        self._news.clear()

    async def refresh(self, *, finds_writer: bool = True) -> None:
        """Read what other processes have written.

        Args:
            finds_writer: Find out whether one of them runs the session, too.

        Raises:
            SessionError: the session was deleted.
        """
        await self.open()
        await self._catch_up(finds_writer)

    async def _catch_up(self, finds_writer: bool = True) -> None:
        is_here, head = self._here.is_busy, self._numbering.position.entry
        looks = finds_writer and not is_here
        found, writes = await asyncio.to_thread(_look, self._session, head, looks)
        if found:
            self._take(found)
        if (looks or is_here) and writes != self.is_busy_elsewhere:
            self.is_busy_elsewhere = writes
            self.wake()

    async def _poll(self) -> None:
        while True:
            await asyncio.sleep(self._seconds)
            if self._here.is_writing:
                continue
            try:
                await self.refresh()
            except SessionError:  # deleted, or the database is away: readers see nothing new
                self.is_busy_elsewhere = False
                self.wake()

    # — readers —

    async def read(
        self, after: Position, *, follow: bool, is_joined: bool = False
    ) -> AsyncGenerator[Sequence[Item], None]:
        """Yield the items after a position, then new ones, each time all that are there.

        Args:
            after: The position.
            follow: Wait for the next run.
            is_joined: Join adjacent pieces of one text.
        """
        await self.open()
        if not self._here.is_busy or after.entry > self._numbering.position.entry:
            await self.refresh()
        if after.entry > self._numbering.position.entry:
            raise ChannelError(f"there is no item {after} in the session")
        self.readers += 1
        if self._polling is None:
            self._polling = asyncio.create_task(self._poll())
        try:
            async with aclosing(self._walk(after, follow, is_joined)) as batches:
                async for batch in batches:
                    yield batch
        finally:
            self.readers -= 1
            if not self.readers and self._polling is not None:
                self._polling.cancel()
                self._polling = None

    async def _walk(
        self, place: Position, follow: bool, is_joined: bool
    ) -> AsyncGenerator[Sequence[Item], None]:
        while self._is_ready:
            if place < self._floor:
                async with aclosing(self._replay(place, self._floor)) as batches:
                    async for batch in batches:
                        yield batch
                place = max(place, self._floor)
            at = self._dropped + bisect_right(self._items, place, key=itemgetter(0))
            while at >= self._dropped:
                if at < self._dropped + len(self._items):
                    batch, joined = self._batch_from(at)
                    place, at = self._items[-1][0], self._dropped + len(self._items)
                    yield joined if is_joined else batch
                elif (self.is_idle and not follow) or not self._is_ready:
                    return
                else:
                    await self._news.wait()

    def _batch_from(self, at: int) -> tuple[Sequence[Item], Sequence[Item]]:
        """Return the items from a place on, and the same joined; made once for readers at one place."""
        place = at, self._dropped + len(self._items)
        if self._batch[0] != place:
            items = [item for _, item in self._items[at - self._dropped :]]
            self._batch = place, items, join_pieces(items)
        return self._batch[1:]

    async def _replay(
        self, after: Position, upto: Position
    ) -> AsyncGenerator[Sequence[Item], None]:
        """Yield the items of entries between two positions, from the journal."""
        checkpoint = (await asyncio.to_thread(lambda: self._session.info)).checkpoint
        numbering, seq = Numbering(), checkpoint if checkpoint <= after.entry else 0
        while seq < upto.entry:
            end = min(seq + PAGE, upto.entry)
            written = await asyncio.to_thread(self._session.entries, seq, end)
            made = [numbering.number_entry(stored) for stored in written]
            if batch := [item for item in made if item.position > after]:
                yield batch
            seq += PAGE


def _load(session: Session) -> tuple[JournalState, list[StoredEntry]]:
    """Return a session's state, and the entries since its last checkpoint that are part of it."""
    while True:
        info, state = session.info, session.load_state()
        written = session.entries(info.checkpoint)
        if session.info.head == info.head:  # nothing was written meanwhile
            return state, written


def _look(session: Session, head: int, finds_writer: bool) -> tuple[list[StoredEntry], bool]:
    """Return the entries after a number, and True if another process writes to the session."""
    writes = finds_writer and session.writer is not None  # first: its last entries are among these
    info = session.info
    return (session.entries(head, info.head) if info.head > head else []), writes

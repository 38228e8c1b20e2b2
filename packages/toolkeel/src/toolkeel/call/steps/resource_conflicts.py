"""A queue of claims on places in trees: one is held when those before it that it meets have ended.

Two claims meet if they have a place in common, one that is the same or lies below, and one of them
writes. Who comes first goes first, so there is no circle of claims that wait for each other; only
calls within calls can make one, and then the last of them is refused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence

from toolkeel.call.steps.resources import Branch, overlap
from toolkeel.errors import Refused


class Claim:
    """What one call wants, or holds.

    Args:
        places: What it touches.
        write: Whether it may change that.
        outer: What the call holds that makes this one.

    Attributes:
        before: Claims that must have ended first; it is held once there are none.
        live: Whether it is wanted or held still.
        unhappened: Name of a tool whose call it followed, or is, and which waits for a person.
    """

    __slots__ = (
        "_after", "_granted", "before", "live", "outer", "places", "unhappened", "wanted", "write",
    )  # fmt: skip

    def __init__(self, places: Sequence[Branch], write: bool, outer: Claim | None = None) -> None:
        self.places = tuple(places)
        self.write = write
        self.outer = outer
        self.before: set[Claim] = set()
        self.live = self.wanted = True
        self.unhappened = ""
        self._after: list[Claim] = []
        self._granted: asyncio.Future[None] | None = None

    @property
    def held(self) -> bool:
        """Whether it waits for nobody."""
        return not self.before

    def chain(self) -> Iterator[Claim]:
        """It, and what is held by the calls around it, as long as they last."""
        claim: Claim | None = self
        while claim is not None:
            if claim.live:
                yield claim
            claim = claim.outer

    def meets(self, other: Claim) -> bool:
        """Whether the two must not be held at once."""
        if not (self.write or other.write):
            return False
        return any(overlap(one, two) for one in self.places for two in other.places)

    def follow(self, other: Claim) -> None:
        """Be held only when another one has ended."""
        if other is not self and other not in self.before:
            self.before.add(other)
            other._after.append(self)

    async def wait(self) -> bool:
        """Wait until it is held; whether there was anything to wait for."""
        if self.held:
            return False
        self._granted = asyncio.get_running_loop().create_future()
        await self._granted
        return True

    def end(self) -> Iterator[Claim]:
        """Let those go on who followed it, and tell them what has not happened."""
        self.live = False
        for claim in self._after:
            claim.before.discard(self)
            claim.unhappened = claim.unhappened or self.unhappened
            if claim.held:
                if claim._granted is not None and not claim._granted.done():
                    claim._granted.set_result(None)
                yield claim
        self._after.clear()


class _Node:
    """A place in a tree: who claimed it last."""

    __slots__ = ("below", "readers", "writer")

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.writer: Claim | None = None
        self.readers: dict[Claim, None] = {}  # since that writer, in order

    def precede(self, claim: Claim) -> int:
        """Put those who claimed this place before a claim; how many were looked at."""
        if self.writer is not None:
            claim.follow(self.writer)
        for reader in self.readers if claim.write else ():
            claim.follow(reader)
        return 1 + (len(self.readers) if claim.write else 0)

    def take(self, claim: Claim) -> None:
        """Note a claim as the last one."""
        if claim.write:  # whoever comes now follows it, and so all that it follows
            self.writer, self.readers = claim, {}
            self.below.clear()
        else:
            self.readers[claim] = None

    def drop(self, claim: Claim) -> None:
        """Forget a claim."""
        self.readers.pop(claim, None)
        if self.writer is claim:
            self.writer = None

    @property
    def idle(self) -> bool:
        return self.writer is None and not (self.readers or self.below)


class Locks:
    """Claims in order of arrival: one is held when those before it that it meets have ended.

    Each place of the trees keeps only its last writer and the readers since, so a claim looks at
    the steps to its place and at what was claimed below that, not at all claims there are.

    Attributes:
        looked: How many claims and places were looked at so far, for tests of the work done.
    """

    def __init__(self) -> None:
        self._root = _Node()
        self._live: dict[Claim, None] = {}
        self._inner: dict[Claim, None] = {}
        self.looked = 0

    def __len__(self) -> int:
        """Claims that are held or waited for."""
        return len(self._live)

    def claim(self, places: Sequence[Branch], write: bool, outer: Claim | None = None) -> Claim:
        """Queue up; `Claim.wait` says when it is one's turn, `release` gives it back.

        Args:
            places: What is wanted.
            write: Whether it is wanted alone.
            outer: What the call around this one holds. Since that one waits for this one, it goes
                before those who do not hold anything yet.

        Raises:
            Refused: it and another call would wait for each other.
        """
        claim = Claim(places, write, outer)
        around = set() if outer is None else set(outer.chain())
        if around:
            self._push_in(claim, around)
        else:
            for other in self._inner:
                if claim.meets(other):
                    claim.follow(other)
            for place in claim.places:
                self._queue(claim, place)
        self._live[claim] = None
        return claim

    def _queue(self, claim: Claim, place: Branch) -> None:
        node = self._root
        self.looked += node.precede(claim)
        for step in place:
            node = node.below.setdefault(step, _Node())
            self.looked += node.precede(claim)
        pending = deque(node.below.values())
        while pending:
            each = pending.popleft()
            self.looked += each.precede(claim)
            pending.extend(each.below.values())
        node.take(claim)

    def _push_in(self, claim: Claim, around: set[Claim]) -> None:
        met = [other for other in self._live if other not in around and claim.meets(other)]
        waits_for = [other for other in met if other.held]
        if around & self._needed(waits_for):
            raise Refused(
                "The call was refused: what it touches is held by a call that waits, in turn, for "
                "what is held here. Neither could ever go on."
            )
        for other in waits_for:
            claim.follow(other)
        for other in met:
            if not other.held:
                other.follow(claim)
        self._inner[claim] = None

    def _needed(self, claims: Sequence[Claim]) -> set[Claim]:
        """Those that must end before these can, by the calls they make."""
        found, pending = set[Claim](), list(claims)
        while pending:
            claim = pending.pop()
            if claim not in found:
                found.add(claim)
                for inner in self._inner:
                    if claim in inner.chain():
                        pending.extend(inner.before)
        return found

    def release(self, claim: Claim) -> None:
        """Give a claim back. One that is not held yet keeps its place until it would be: who
        follows it follows what it follows."""
        claim.wanted = False
        ended = [claim] if claim.held else []
        while ended:
            one = ended.pop()
            if one.live:
                self._forget(one)
                ended += [each for each in one.end() if not each.wanted]

    def _forget(self, claim: Claim) -> None:
        del self._live[claim]
        if claim in self._inner:
            del self._inner[claim]
            return
        for place in claim.places:
            path = [(self._root, "")]
            for step in place:
                below = path[-1][0].below.get(step)
                if below is None:
                    break  # a writer further up has taken over
                path.append((below, step))
            else:
                path[-1][0].drop(claim)
            while len(path) > 1 and path[-1][0].idle:
                _, step = path.pop()
                del path[-1][0].below[step]

"""Queues of claims on places in trees: each waits for the earlier claims it conflicts with.

Two claims conflict if they overlap, one place being the other or below it, and one of them writes.
First come, first served, so claims cannot wait for each other in a circle; only calls made within
calls can create one, and then the last of them is refused.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator, Sequence

from toolkeel.call.steps.resources import Branch, overlaps
from toolkeel.errors import Refused


class Claim:
    """The places that one call wants or has.

    Args:
        places: The places in the trees of resources.
        write: True for a write, which excludes all others.
        outer: The claim of the call whose body makes this call; None for none.

    Attributes:
        before: Claims that must end first; it is granted once there are none.
        was_queued: True if it was not granted at once.
        live: True until the claim has ended.
        wanted: True until the claim is released; one released before it is granted ends when it is.
        suspended_tool: Name of the tool, here or earlier, whose call waits for a person.
    """

    __slots__ = (
        "_after", "_granted", "before", "live", "outer", "places", "suspended_tool", "wanted",
        "was_queued", "write",
    )  # fmt: skip

    def __init__(self, places: Sequence[Branch], write: bool, outer: Claim | None = None) -> None:
        self.places = tuple(places)
        self.write = write
        self.outer = outer
        self.before: set[Claim] = set()
        self.live = self.wanted = True
        self.was_queued = False
        self.suspended_tool = ""
        self._after: list[Claim] = []
        self._granted: asyncio.Future[None] | None = None

    @property
    def is_granted(self) -> bool:
        """True if the claim waits for no other."""
        return not self.before

    def with_outer(self) -> Iterator[Claim]:
        """Yield the claim and those of the calls around it, without ended ones."""
        claim: Claim | None = self
        while claim is not None:
            if claim.live:
                yield claim
            claim = claim.outer

    def conflicts_with(self, other: Claim) -> bool:
        """Return True if two claims exclude each other."""
        if not (self.write or other.write):
            return False
        return any(overlaps(one, two) for one in self.places for two in other.places)

    def wait_after(self, other: Claim) -> None:
        """Note that this claim is granted only after another one has ended."""
        if other is not self and other not in self.before:
            self.before.add(other)
            other._after.append(self)

    async def wait(self) -> bool:
        """Wait until the claim is granted. Return True if it had to wait."""
        if self.is_granted:
            return False
        self._granted = asyncio.get_running_loop().create_future()
        await self._granted
        return True

    def end(self) -> Iterator[Claim]:
        """End the claim while iterated, and yield the claims that are granted by that."""
        self.live = False
        for claim in self._after:
            claim.before.discard(self)
            claim.suspended_tool = claim.suspended_tool or self.suspended_tool
            if claim.is_granted:
                if claim._granted is not None and not claim._granted.done():
                    claim._granted.set_result(None)
                yield claim
        self._after.clear()


class _Node:
    """A place in a tree, with its last writer and the readers since."""

    __slots__ = ("below", "readers", "writer")

    def __init__(self) -> None:
        self.below: dict[str, _Node] = {}
        self.writer: Claim | None = None
        self.readers: dict[Claim, None] = {}  # since that writer, in order

    def precede(self, claim: Claim) -> int:
        """Make a claim wait for the claims at this place. Return the number of claims examined."""
        if self.writer is not None:
            claim.wait_after(self.writer)
        for reader in self.readers if claim.write else ():
            claim.wait_after(reader)
        return 1 + (len(self.readers) if claim.write else 0)

    def take(self, claim: Claim) -> None:
        """Add a claim as the last one here. A write replaces all claims at and below this place."""
        if claim.write:  # whoever comes now follows it, and so all that it follows
            self.writer, self.readers = claim, {}
            self.below.clear()
        else:
            self.readers[claim] = None

    def drop(self, claim: Claim) -> None:
        """Remove a claim from this place."""
        self.readers.pop(claim, None)
        if self.writer is claim:
            self.writer = None

    @property
    def idle(self) -> bool:
        """True if the node has neither claims nor branches."""
        return self.writer is None and not (self.readers or self.below)


class ResourceLocks:
    """Resource locks in order of arrival that keep conflicting calls apart.

    Each place stores only its last writer and the readers since, so a new claim examines the path to
    its place and the claims below it, not all claims.

    Attributes:
        looked: Number of claims and places examined so far, for tests of the cost.
    """

    def __init__(self) -> None:
        self._root = _Node()
        self._live: dict[Claim, None] = {}
        self._inner: dict[Claim, None] = {}
        self.looked = 0

    def __len__(self) -> int:
        """Return the number of live claims."""
        return len(self._live)

    def claim(self, places: Sequence[Branch], write: bool, outer: Claim | None = None) -> Claim:
        """Queue and return a claim on resources. `Claim.wait` waits for it and `release` ends it.

        Args:
            places: The places of the resources.
            write: True for a write, which excludes all others.
            outer: The claim of the call around this one, if any. As that call waits for this one, the
                claim goes before those that are not granted yet.

        Raises:
            Refused: the call and another would wait for each other.
        """
        claim = Claim(places, write, outer)
        around = set() if outer is None else set(outer.with_outer())
        if around:
            self._push_in(claim, around)
        else:
            for other in self._inner:
                if claim.conflicts_with(other):
                    claim.wait_after(other)
            for place in claim.places:
                self._queue(claim, place)
        self._live[claim] = None
        return claim

    def _queue(self, claim: Claim, place: Branch) -> None:
        """Add a claim to the queue of a place, after the claims above, at and below it; count those."""
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
        """Put the claim of an inner call before those not granted yet. Raise `Refused` for a deadlock."""
        met = [other for other in self._live if other not in around and claim.conflicts_with(other)]
        waits_for = [other for other in met if other.is_granted]
        if around & self._needed(waits_for):
            raise Refused(
                "The call was refused: what it touches is held by a call that waits, in turn, for "
                "what is held here. Neither could ever go on."
            )
        for other in waits_for:
            claim.wait_after(other)
        for other in met:
            if not other.is_granted:
                other.wait_after(claim)
        self._inner[claim] = None

    def _needed(self, claims: Sequence[Claim]) -> set[Claim]:
        """Return the claims that must end first, by way of the calls inside them."""
        found, pending = set[Claim](), list(claims)
        while pending:
            claim = pending.pop()
            if claim not in found:
                found.add(claim)
                for inner in self._inner:
                    if claim in inner.with_outer():
                        pending.extend(inner.before)
        return found

    def release(self, claim: Claim) -> None:
        """End a claim, and grant those that waited for it. One not granted yet keeps its place."""
        claim.wanted = False
        ended = [claim] if claim.is_granted else []
        while ended:
            one = ended.pop()
            if one.live:
                self._forget(one)
                ended += [each for each in one.end() if not each.wanted]

    def _forget(self, claim: Claim) -> None:
        """Remove a claim from the tree of resources, with branches that become empty."""
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

"""An approver whose calls wait in a store until a person decides, in any terminal, page or program.

::

    await agent.run("Tidy up.", approver=ApprovalQueue(KeyValueStore("desk.db")))     # here a call waits

    desk = ApprovalQueue(KeyValueStore("desk.db"))                                    # there somebody decides
    for ticket in desk.waiting():
        desk.decide(ticket.approve(), "ada")
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextvars import Context
from functools import partial
from time import time
from typing import Any, Final, TypeVar

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.errors import SetupError
from toolkeel.sessions.tool_memory import KeyValueStore

T = TypeVar("T")
WAIT: Final = 300.0
"""Seconds a call waits for a decision."""
LOOK: Final = 0.2
"""Seconds between two looks at the store."""
SHOWN: Final = 1000
"""Calls that wait which are listed."""
_KEPT = 3600.0
_PLACE = ("toolkeel", "desk")


@record
class Decided:
    """A decision that counts, and who made it.

    Args:
        decision: The decision.
        who: Name of the person.
    """

    decision: Decision
    who: str


@checked
class ApprovalQueue:
    """Calls that wait in a store for a person's decision: an `Approver`, and the list to decide from.

    The first decision counts, wherever it was made; later ones are refused and get it. A call that is
    not decided in time is denied.

    Args:
        store: The store that asking and deciding programs share.
        wait: Seconds that a call waits.
    """

    def __init__(self, store: KeyValueStore, wait: float = WAIT) -> None:
        self._store = store
        self.wait = wait

    async def __call__(self, ticket: Ticket) -> Decision:
        """Add a ticket to the store, wait for its decision, and return it, or a denial when the time is over.

        If the wait is cancelled, a decision made before that is returned; else the ticket is closed.
        """
        end = time() + self.wait
        value = {"ticket": json.dumps(ticket.to_dict(), ensure_ascii=False), "until": end}
        keep = partial(self._store.put, seconds=self.wait + _KEPT)
        begun = asyncio.ensure_future(_run_apart(keep, _PLACE, ticket.id, value))
        late = ticket.deny(f"nobody decided within {self.wait:g} seconds")
        try:
            await asyncio.shield(begun)
            while time() < end:
                await asyncio.sleep(LOOK)
                found = await _run_apart(self._store.get, _PLACE, ticket.id)
                if found is not None and "decision" in found.value:
                    return Decision.from_dict(found.value["decision"])
            return (await _run_apart(self._write_once, late, "time")).decision
        except asyncio.CancelledError:
            await asyncio.wait([begun])
            decided = await _run_apart(self._write_once, late, "elsewhere")
            if decided.who == "elsewhere":
                raise
            return decided.decision

    def waiting(self) -> list[Ticket]:
        """List the calls that still wait, the longest first; of more than `SHOWN` in the store the latest."""
        found = self._store.search(_PLACE, limit=SHOWN)
        open = [item.value for item in reversed(found) if item.value.get("until", 0.0) > time()]
        return [_ticket(value["ticket"]) for value in open]

    def decide(self, decision: Decision, who: str) -> Decided | None:
        """Decide about a waiting call.

        Args:
            decision: The decision, made from the ticket as it was shown.
            who: Name of the person.

        Returns:
            The earlier decision, or None if this one counts or is equal to it.

        Raises:
            SetupError: no such call waits, or the ticket differs from the one shown.
        """
        decided = self._write_once(decision, who)
        return None if decided.decision == decision else decided

    def _write_once(self, decision: Decision, who: str) -> Decided:
        """Replace a ticket in the store by its decision, and return that, or the decision stored before.

        Raises:
            SetupError: the ticket is not stored, or differs from the one decided about.
        """
        first: list[Decided] = []

        def write(value: dict[str, Any]) -> Mapping[str, Any] | None:
            """Return the new item: only the decision and who made it, without the ticket.

            Return None, so that the item stays, if it has a decision or no ticket with the decision's seal.
            Appends the new or the stored decision to `first`; nothing if there is neither.
            """
            if "decision" in value:
                told = Decision.from_dict(value["decision"])
                first.append(Decided(told, str(value.get("who"))))
            elif "ticket" in value and _ticket(value["ticket"]).seal == decision.seal:
                first.append(Decided(decision, who))
                return {"decision": decision.to_dict(), "who": who}  # what was asked is gone
            return None

        self._store.change(_PLACE, decision.ticket, write, seconds=_KEPT)
        if not first:
            raise SetupError("the call that was shown is no longer pending")
        return first[0]


def _run_apart(function: Callable[..., T], *args: object) -> Awaitable[T]:
    """Run a function in a thread, outside of the run's context, so that what it stores has no labels."""
    return asyncio.to_thread(Context().run, function, *args)


def _ticket(text: str) -> Ticket:
    """Return the ticket that a stored text holds, or raise `ValueError`."""
    return Ticket.from_dict(json.loads(text))

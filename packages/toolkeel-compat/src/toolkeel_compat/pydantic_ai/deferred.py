"""Calls that wait for a person, under the names of Pydantic AI."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from toolkeel._records.record import NOTHING, record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.errors import SetupError


@record
class DeferredCall:
    """A call that waits.

    Args:
        tool_name: Name of the tool.
        args: Its arguments.
        tool_call_id: Its id; that of its ticket where calls of several runs have one id.
    """

    tool_name: str
    args: Mapping[str, Any]
    tool_call_id: str

    def args_as_dict(self) -> dict[str, Any]:
        """Return the arguments as a new dict."""
        return dict(self.args)


@record
class DeferredToolRequests:
    """The output of a run whose calls wait.

    Args:
        approvals: The calls that need approval.
        calls: The calls whose results come from outside.
        metadata: What `ApprovalRequired` was raised with, by call id.
    """

    approvals: Sequence[DeferredCall] = ()
    calls: Sequence[DeferredCall] = ()
    metadata: Mapping[str, Any] = NOTHING

    @classmethod
    def from_tickets(
        cls, tickets: Sequence[Ticket], raised: Mapping[str, Any] = NOTHING
    ) -> DeferredToolRequests:
        """Create the requests of waiting tickets.

        Args:
            tickets: The tickets.
            raised: Metadata of the calls whose tool asked for approval while it ran, by call id. They
                come first, as in Pydantic AI.
        """
        tickets = sorted(tickets, key=lambda ticket: ticket.call_id not in raised)
        made = [
            (DeferredCall(one.tool, dict(one.arguments), id), one)
            for id, one in _by_id(tickets).items()
        ]
        inside = [call for call, ticket in made if not ticket.external]
        metadata = {id: about for id, about in raised.items() if about is not None}
        return cls(inside, [call for call, ticket in made if ticket.external], metadata)


@record
class ToolApproved:
    """Approves a call.

    Args:
        override_args: Arguments to run it with; None for its own.
    """

    override_args: Mapping[str, Any] | None = None


@record
class ToolDenied:
    """Denies a call.

    Args:
        message: The text for the model.
    """

    message: str = "The tool call was denied."


@dataclasses.dataclass
class DeferredToolResults:
    """Decisions on the calls that wait, by call id.

    Args:
        approvals: True or False, `ToolApproved` or `ToolDenied`.
        calls: Results from outside.
    """

    approvals: dict[str, Any] = dataclasses.field(default_factory=dict)
    calls: dict[str, Any] = dataclasses.field(default_factory=dict)

    def to_core(self, tickets: Sequence[Ticket]) -> list[Decision]:
        """Convert the decisions to the core's.

        Raises:
            SetupError: A decision is for a call that does not wait, or of an unknown kind.
        """
        known = _by_id(tickets)
        if strange := sorted({*self.approvals, *self.calls} - known.keys()):
            raise SetupError(
                f"DeferredToolResults: no call {strange[0]!r} waits; {sorted(known)} do"
            )
        made = [_decide(known[id], answer) for id, answer in self.approvals.items()]
        return [*made, *(known[id].answer(value) for id, value in self.calls.items())]


def _by_id(tickets: Sequence[Ticket]) -> dict[str, Ticket]:
    """Return tickets by call id, or by their own where calls of several runs have one id."""
    count = Counter(one.call_id for one in tickets)
    return {one.call_id if count[one.call_id] == 1 else one.id: one for one in tickets}


def _decide(ticket: Ticket, answer: Any) -> Decision:
    match answer:
        case True:
            return ticket.approve()
        case False:
            return ticket.deny(ToolDenied().message)
        case ToolDenied(message=message):
            return ticket.deny(message)
        case ToolApproved(override_args=arguments):
            return ticket.approve() if arguments is None else ticket.edit(arguments)
    raise SetupError(
        f"DeferredToolResults: {answer!r:.60} is no decision; give True or ToolDenied()"
    )

"""Runs that wait for a person, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolwright.agent import saved as core
from toolwright.approval import Decision, Ticket
from toolwright.compat.agents_context import RawToolCall
from toolwright.errors import SetupError
from toolwright.providers.wire import dumps
from toolwright.record import record


@record
class ToolApprovalItem:
    """A call that waits for a person; one of `RunResult.interruptions`.

    Args:
        agent: Whose run it is.
        raw_item: The call.
        ticket: What the core shows of it: also why it asks, and the tool's declared effects.
    """

    agent: Any
    raw_item: RawToolCall
    ticket: Ticket

    @property
    def name(self) -> str:
        """Name of the tool."""
        return self.raw_item.name

    tool_name = name

    @property
    def arguments(self) -> str:
        """JSON text of the arguments."""
        return self.raw_item.arguments

    @property
    def call_id(self) -> str:
        """The model's id for the call."""
        return self.raw_item.call_id


class RunState:
    """Where a run stands that waits; decide, and give it to `Runner.run`.

    Args:
        agent: Whose run it is.
        state: The core's saved run.
        context: The user's own object, for when the run goes on.
    """

    def __init__(self, agent: Any, state: core.RunState, context: Any = None) -> None:
        self.agent = agent
        self.state = state
        self.context = context
        self._decisions: dict[str, Decision] = {}

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """What was decided, in the core's form."""
        return tuple(self._decisions.values())

    def get_interruptions(self) -> list[ToolApprovalItem]:
        """The calls that wait."""
        return [_item(self.agent, ticket) for ticket in self.state.pending]

    def approve(self, approval_item: ToolApprovalItem) -> None:
        """Let the call run: this call, with these arguments, once."""
        ticket = self._ticket(approval_item)
        self._decisions[ticket.id] = ticket.approve()

    def reject(self, approval_item: ToolApprovalItem, *, rejection_message: str = "") -> None:
        """Refuse the call.

        Args:
            approval_item: Which one.
            rejection_message: What the model is told.
        """
        ticket = self._ticket(approval_item)
        self._decisions[ticket.id] = ticket.deny(rejection_message)

    def _ticket(self, item: ToolApprovalItem) -> Ticket:
        if item.ticket not in self.state.pending:
            raise SetupError(
                f"the call {item.call_id!r} of {item.name!r} does not wait in this run"
            )
        return item.ticket

    def to_string(self, key: bytes = b"") -> str:
        """As JSON text, without decisions and the user's own object; see the core's `to_json`."""
        return self.state.to_json(key)

    @classmethod
    async def from_string(
        cls, initial_agent: Any, state_string: str, key: bytes = b"", *, context: Any = None
    ) -> RunState:
        """Back from `to_string`.

        Args:
            initial_agent: Whose run it is.
            state_string: What `to_string` gave.
            key: The key it was signed with, if it was.
            context: The user's own object.

        Raises:
            SetupError: the text is not a saved run, or not signed with this key.
        """
        return cls(initial_agent, core.RunState.from_json(state_string, key), context)


def _item(agent: Any, ticket: Ticket) -> ToolApprovalItem:
    arguments: Mapping[str, object] = ticket.arguments
    return ToolApprovalItem(
        agent, RawToolCall(ticket.call_id, ticket.tool, dumps(dict(arguments))), ticket
    )

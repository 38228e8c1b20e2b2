"""Runs that wait for approval, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, TypeVar

from toolkeel._records.record import NOTHING, record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent import run_state as core
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.providers.wire.plain_json import arguments_text
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import RunItem, to_raw_call
from toolkeel_compat.openai_agents.tools import AgentInvoker

__all__ = ["RunState", "ToolApprovalItem", "ToolErrorFormatterArgs"]

C = TypeVar("C")
AFTER_LABELS = "\0after labels"
"""A standing decision that approves calls of a tool whatever the run has read."""
DEFAULT_REJECTION = "Tool execution was not approved."
"""What a model is told of a call that a person rejected without a reason."""


@record
class ToolErrorFormatterArgs(Generic[C]):
    """The argument of ``RunConfig(tool_error_formatter=...)`` for a rejected call.

    Args:
        kind: ``approval_rejected``.
        tool_type: ``function``.
        tool_name: Name of the tool.
        call_id: The model's id for the call.
        default_message: The text for the model if the function returns None.
        run_context: The run.
    """

    kind: str
    tool_type: str
    tool_name: str
    call_id: str
    default_message: str
    run_context: Any


@record
class ToolApprovalItem(RunItem):
    """A call that waits for approval; one of `RunResult.interruptions`.

    Args:
        agent: The agent whose run it is.
        raw_item: The call.
        ticket: The core's ticket, with the reason and the tool's declared effects; None before the
            call waits.
    """

    type: ClassVar[str] = "tool_approval_item"
    tool_namespace: ClassVar[None] = None
    tool_origin: ClassVar[None] = None
    ticket: Ticket | None

    @property
    def name(self) -> str:
        """The name of the called tool."""
        return str(self.raw_item.name)

    tool_name = qualified_name = name

    @property
    def arguments(self) -> str:
        """The call's arguments, as JSON."""
        return str(self.raw_item.arguments)

    @property
    def call_id(self) -> str:
        """The call's identifier."""
        return str(self.raw_item.call_id)


def _find_owners(state: core.RunState, agent: Any) -> dict[str, tuple[Any, Any]]:
    """Return the agent and the arguments of each call that waits, by ticket id.

    Args:
        state: A saved run.
        agent: Its agent, which also stands for inner agents that are not among its tools.
    """
    calls = {
        call.id: call
        for message in state.messages
        if isinstance(message, AssistantMessage)
        for call in message.tool_calls
    }
    texts = {id: arguments_text(call.arguments) for id, call in calls.items()}
    owners = {t.id: (agent, texts.get(t.call_id) or t.arguments) for t in state.pending}
    inner_agents = {
        tool.name: tool.on_invoke_tool.agent
        for tool in getattr(agent, "tools", ())
        if isinstance(getattr(tool, "on_invoke_tool", None), AgentInvoker)
    }
    for call_id, inner in state.inner.items():
        called = inner_agents.get(calls[call_id].name if call_id in calls else "", agent)
        owners |= _find_owners(inner.state, called)
    return owners


def _is_same(text: object, arguments: Mapping[str, object]) -> bool:
    """Return True if the text of a call's arguments is that of those it would run with."""
    try:
        return bool(json.loads(text) == dict(arguments)) if isinstance(text, str) else False
    except ValueError:
        return False


class RunState:
    """The state of a waiting run; decide on its calls, and pass it to `Runner.run`.

    Args:
        agent: The agent whose run it is.
        state: The core's saved run.
        context: The user's own object, for the continued run.
        always: Standing decisions by tool: an empty string approves, any other text rejects with it;
            `AFTER_LABELS` approves also calls that are asked about because of what the run has read.
        given: Number of messages that the run started with.
        waits: How often each call has waited for approval, by its id; empty in states of earlier
            versions.
    """

    def __init__(
        self,
        agent: Any,
        state: core.RunState,
        context: Any = None,
        always: dict[str, str] | None = None,
        given: int = 0,
        waits: Mapping[str, Any] = NOTHING,
    ) -> None:
        self.waits = waits
        self.agent = agent
        self.state = state
        self.context = context
        self.standing_decisions: dict[str, str] = {} if always is None else always
        self.given = given
        self._decisions: dict[str, Decision] = {}

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """The decisions so far, in the core's form."""
        return tuple(self._decisions.values())

    def get_interruptions(self) -> list[ToolApprovalItem]:
        """Return the calls that wait."""
        owners = _find_owners(self.state, self.agent)
        return [
            ToolApprovalItem(agent, to_raw_call(ToolCall(one.call_id, one.tool, shown)), one)
            for one in self.state.pending
            for agent, text in [owners[one.id]]
            for shown in [text if _is_same(text, one.arguments) else dict(one.arguments)]
        ]

    def approve(self, approval_item: ToolApprovalItem, always_approve: bool = False) -> None:
        """Approve a call: this one, with these arguments, once.

        Args:
            approval_item: The call.
            always_approve: Approve later calls of the same tool in this run, too; those that are asked
                about because of what the run has read only if this one was.
        """
        ticket = self._find_ticket(approval_item)
        self._decisions[ticket.id] = ticket.approve()
        if always_approve:
            self.standing_decisions[ticket.tool] = AFTER_LABELS if ticket.labels else ""

    def reject(
        self,
        approval_item: ToolApprovalItem,
        always_reject: bool = False,
        *,
        rejection_message: str | None = None,
    ) -> None:
        """Reject a call.

        Args:
            approval_item: The call.
            always_reject: Reject later calls of the same tool in this run, too.
            rejection_message: The text for the model.
        """
        ticket = self._find_ticket(approval_item)
        self._decisions[ticket.id] = ticket.deny(rejection_message or DEFAULT_REJECTION)
        if always_reject:
            self.standing_decisions[ticket.tool] = rejection_message or DEFAULT_REJECTION

    def _find_ticket(self, item: ToolApprovalItem) -> Ticket:
        if item.ticket is None or item.ticket not in self.state.pending:
            raise SetupError(
                f"the call {item.call_id!r} of {item.name!r} does not wait in this run"
            )
        return item.ticket

    async def format_rejections(self, formatter: Any, context: Any) -> tuple[Decision, ...]:
        """Return the decisions, with texts of a function for rejections without a reason.

        Args:
            formatter: ``(ToolErrorFormatterArgs) -> text or None``; may be async.
            context: The run, as the function gets it.
        """
        for ticket in self.state.pending:
            decision = self._decisions.get(ticket.id)
            if decision is None or (decision.verdict, decision.reason) != (
                "deny",
                DEFAULT_REJECTION,
            ):
                continue
            about = ("approval_rejected", "function", ticket.tool, ticket.call_id)
            made = formatter(ToolErrorFormatterArgs(*about, DEFAULT_REJECTION, context))
            text = await maybe_await(made, "the tool_error_formatter")
            self._decisions[ticket.id] = ticket.deny(
                DEFAULT_REJECTION if text is None else str(text)
            )
        return self.decisions

    def decide_standing(self, ticket: Ticket) -> Decision | None:
        """Return the standing decision on a ticket, or None if there is none for its tool."""
        why = self.standing_decisions.get(ticket.tool)
        if why is None or (why == "" and ticket.labels):
            return None
        return ticket.approve() if why in ("", AFTER_LABELS) else ticket.deny(why)

    def to_json(self, key: bytes = b"") -> dict[str, Any]:
        """Return plain data with the decisions, without the user's own object.

        Args:
            key: Signs the state and the decisions, so that `from_json` refuses what others have changed.

        Raises:
            SetupError: the key is no bytes.
        """
        decided = [decision.to_dict() for decision in self._decisions.values()]
        state = json.loads(self.state.to_json(key))
        always = dict(self.standing_decisions)
        counts = {"given": self.given, "waits": dict(self.waits)}
        data = {"state": state, "decisions": decided, "always": always, **counts}
        return {**data, "signature": core.sign(data, key)} if key else data

    def to_string(self, key: bytes = b"") -> str:
        """Return `to_json` as text."""
        return json.dumps(self.to_json(key), ensure_ascii=False)

    @classmethod
    async def from_string(
        cls, initial_agent: Any, state_string: str, key: bytes = b"", *, context: Any = None
    ) -> RunState:
        """Restore a state from `to_string`.

        Args:
            initial_agent: The agent whose run it is.
            state_string: The text of `to_string`.
            key: The key it was signed with, if any.
            context: The user's own object.

        Raises:
            SetupError: The text is not a saved run, or not signed with this key.
        """
        try:
            data = json.loads(state_string)
        except ValueError as error:
            raise SetupError(f"no saved run: {error}") from error
        return await cls.from_json(initial_agent, data, key, context=context)

    @classmethod
    async def from_json(
        cls,
        initial_agent: Any,
        state_json: Mapping[str, Any],
        key: bytes = b"",
        *,
        context: Any = None,
    ) -> RunState:
        """Restore a state from `to_json`. See `from_string`."""
        if not isinstance(state_json, Mapping) or "state" not in state_json:
            raise SetupError("no saved run: it has no 'state'")
        text = json.dumps(state_json["state"], ensure_ascii=False)
        made = cls(initial_agent, core.RunState.from_json(text, key), context)
        # Earlier versions signed the state alone: without decisions it needs no further signature.
        decided = state_json.get("decisions") or state_json.get("always")
        if key and ("signature" in state_json or decided):
            data = {name: value for name, value in state_json.items() if name != "signature"}
            core.check_signature(data, state_json.get("signature"), key)
        found = [Decision.from_dict(one) for one in state_json.get("decisions", ())]
        made._decisions = {one.ticket: one for one in found}
        made.standing_decisions.update(state_json.get("always", {}))
        made.given = int(state_json.get("given", 0))
        made.waits = dict(state_json.get("waits", {}))
        return made

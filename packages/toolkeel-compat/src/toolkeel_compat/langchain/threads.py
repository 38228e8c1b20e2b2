"""Checkpointing and human review under LangChain's names: `InMemorySaver`, `HumanInTheLoopMiddleware`.

A thread is a core session, and a call that waits in it is a ticket.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import time_ns
from typing import Any
from uuid import UUID

from toolkeel._records.entries import Entry, ModelAsked, ModelReplied, RunBegan, RunEnded
from toolkeel._records.record import NOTHING, record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel._records.typed_values import load_state as load_values
from toolkeel.call.steps.join_approvals import join_approvals
from toolkeel.content import Text
from toolkeel.context import ToolContext
from toolkeel.define.base_tool import as_tool
from toolkeel.define.tool import Prepared, Proceed
from toolkeel.errors import Denied, SetupError
from toolkeel.messages import ToolMessage
from toolkeel.sessions.journal_state import JournalState
from toolkeel.sessions.session import Session
from toolkeel.sessions.sessions import Sessions
from toolkeel_compat.langchain.command import Command, to_tool_output
from toolkeel_compat.langchain.interrupts import (
    HIDDEN_KEYS,
    Interrupt,
    is_interrupt,
    pair_answers,
)
from toolkeel_compat.langchain.messages import ToolCall, convert_to_messages


class EmptyInputError(SetupError):
    """A run of a new thread has no input."""


@record
class Task:
    """A waiting node of a thread, with its interrupts."""

    name: str
    interrupts: tuple[Interrupt, ...]


@record
class StateSnapshot:
    """The current state of a thread.

    Args:
        values: The state, with its messages.
        next: ``tools`` if calls wait, else empty.
        config: The config with the thread's id.
        interrupts: The waiting interrupts.
        tickets: The same as core tickets.
        metadata: ``source`` and ``step``, of a snapshot of the history.
        created_at: When it was written, of a snapshot of the history.
        parent_config: The config of the snapshot before it.
    """

    values: dict[str, Any]
    next: tuple[str, ...] = ()
    config: Mapping[str, Any] = NOTHING
    interrupts: tuple[Interrupt, ...] = ()
    tickets: tuple[Ticket, ...] = ()
    metadata: Mapping[str, Any] | None = None
    created_at: str | None = None
    parent_config: Mapping[str, Any] | None = None

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The waiting interrupts, as one task."""
        return tuple(Task(name, self.interrupts) for name in self.next)


class InMemorySaver:
    """Stores an agent's threads, each as a core session.

    Args:
        path: A file to store them in; by default they end with the process.
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self.sessions = Sessions(path)

    def thread(self, config: Mapping[str, Any] | None) -> Session:
        """Return the session of a config's ``thread_id``.

        Raises:
            SetupError: The config has none.
        """
        known = (config or {}).get("configurable") or {}
        name, place = known.get("thread_id"), known.get("checkpoint_id")
        if place is not None:
            raise SetupError(
                f"checkpoint_id={place!r}: a thread goes on from its end; to go on from here, "
                f"saver.sessions.fork({name!r}, 'another', before={place}) makes another thread, for a "
                "snapshot whose next is ('model',)"
            )
        if name is None:
            raise SetupError(
                'an agent with a checkpointer needs config={"configurable": {"thread_id": ...}}'
            )
        return self.sessions[str(name)]

    def snapshot(self, config: Mapping[str, Any]) -> StateSnapshot:
        """Return the current state of a thread."""
        session = self.thread(config)
        if not session.exists:
            return StateSnapshot({}, config=config)
        values = {key: value for key, value in session.state.items() if key not in HIDDEN_KEYS}
        values["messages"] = convert_to_messages(session.messages)
        waits = tuple(session.pending)
        return StateSnapshot(values, ("tools",) if waits else (), config, tickets=waits)

    def history(self, config: Mapping[str, Any]) -> Iterator[StateSnapshot]:
        """Yield the states of a thread after each step, the latest first.

        Args:
            config: The config with its ``thread_id``.
        """
        session = self.thread(config)
        snapshots: list[StateSnapshot] = []
        fold, name = JournalState(), session.name
        for stored in session.entries() if session.exists else ():
            entry = stored.entry
            begins = isinstance(entry, RunBegan) and not entry.parent
            before = _read_values(fold) if begins else {}
            if entry.kind not in ("compacted", "handed_over"):
                fold.apply(stored.seq, entry)
            following = ("__start__",) if begins else _find_next(entry, fold)
            if following is None:
                continue
            place = {"thread_id": name, "checkpoint_ns": "", "checkpoint_id": str(stored.seq)}
            source = "input" if begins else "loop"
            snapshots.append(
                StateSnapshot(
                    before if begins else _read_values(fold),
                    following,
                    {"configurable": place},
                    metadata={"source": source, "step": len(snapshots) - 1, "parents": {}},
                    created_at=datetime.fromtimestamp(stored.at, UTC).isoformat(),
                    parent_config=snapshots[-1].config if snapshots else None,
                )
            )
        return reversed(snapshots)


def _read_values(fold: JournalState) -> dict[str, Any]:
    """Return the state at a point of a thread."""
    values = {
        key: value for key, value in load_values(fold.state).items() if key not in HIDDEN_KEYS
    }
    messages = convert_to_messages(list(fold.view.messages))
    return {**values, "messages": messages}


def _find_next(entry: Entry, fold: JournalState) -> tuple[str, ...] | None:
    """Return what follows a step that an entry ends; None if it ends none."""
    if getattr(entry, "run", "") != fold.last_run.run:
        return None  # of a run within a call
    match entry:
        case ModelAsked():
            return ("model",)
        case ModelReplied(message=message):
            return ("tools",) * len(message.tool_calls)
        case RunEnded(reason="returned"):
            return ()
    return None


MemorySaver = InMemorySaver


def uuid7() -> UUID:
    """Return a new id that sorts by the time of its creation, such as for a thread."""
    bits = (time_ns() // 10**6) << 80 | secrets.randbits(80)
    bits = bits & ~(0xF << 76) | 7 << 76  # the version
    return UUID(int=bits & ~(0b11 << 62) | 0b10 << 62)  # the variant


DECISIONS = ("approve", "edit", "reject", "respond")
EDIT_NOTICE = (
    "Note: a human reviewer replaced this tool call before it ran. The call recorded in your "
    "message is the one you produced, not the one that executed. This was intentional and "
    "authorized. Do not re-issue your original call."
)
"""What a model reads before the result of a call that a person has edited, word for word as there."""
NO_REASON = "no reason was given"  # what the core says of it
REJECTED_WITHOUT_REASON = (
    "id {id}. The tool was not executed. Do not retry this tool call unless the user explicitly "
    "requests it."
)
"""The same of a call that was rejected without a word."""


class HumanInTheLoopMiddleware:
    """Asks a person to decide about calls of some tools.

    Args:
        interrupt_on: By tool name: True or False, or a dict with ``allowed_decisions`` and a
            ``description``, which is a string or a function of the call, the state and the runtime.
        description_prefix: First line of a request without its own description.
        edit_notice: Text before the result of an edited call; None for none.
        interrupt_mode: ``batched`` only.

    Raises:
        SetupError: An option is not supported.
    """

    def __init__(
        self,
        interrupt_on: Mapping[str, Any],
        *,
        description_prefix: str = "Tool execution requires approval",
        edit_notice: str | None = EDIT_NOTICE,
        interrupt_mode: str = "batched",
    ) -> None:
        if interrupt_mode != "batched":
            raise SetupError(
                f"HumanInTheLoopMiddleware(interrupt_mode={interrupt_mode!r}): all calls of a turn are "
                'decided at once; leave it out, and resume with {"decisions": [...]}'
            )
        self.interrupt_on = interrupt_on
        self.description_prefix = description_prefix
        self.edit_notice = edit_notice
        self._review_options = {
            tool: _read_review_options(tool, how) for tool, how in interrupt_on.items()
        }

    def require_approval(self, tools: Sequence[Any]) -> list[Any]:
        """Return the tools, with approval required for those in `interrupt_on`.

        Raises:
            SetupError: `interrupt_on` names a tool that does not exist.
        """
        made = [as_tool(tool) for tool in tools]
        if strange := sorted({*self.interrupt_on} - {tool.name for tool in made}):
            raise SetupError(f"interrupt_on names {', '.join(strange)}, which is no tool here")
        return [
            dataclasses.replace(tool, approval=join_approvals(tool.approval, True))
            if self.interrupt_on.get(tool.name)
            else tool
            for tool in made
        ]

    def pauses(self, reply: Any) -> bool:
        """Return True if a person is asked about a call of a reply."""
        return any(self.interrupt_on.get(call.name) for call in reply.tool_calls)

    async def report_decision(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        """Word the result of a rejected or edited call as LangChain does, as a step around the call.

        Raises:
            Denied: The call was rejected.
        """
        name = prepared.tool.name
        try:
            value = await proceed(prepared)
        except Denied as denied:
            reason = denied.text.partition(" was not approved: ")[2]
            if not reason:
                raise
            why = (
                REJECTED_WITHOUT_REASON.format(id=context.call.id)
                if reason == NO_REASON
                else f"reason: {reason}"
            )
            raise Denied(f"User rejected the tool call for `{name}` with {why}") from None
        edits = [edit for edit in context.edits if edit.by == "a person"]
        if not edits or isinstance(value, ToolMessage | Command):
            return value
        quiet = [dataclasses.replace(e, told=False) if e in edits else e for e in context.edits]
        context.edits = tuple(quiet)  # the note tells it
        ran = json.dumps(edits[-1].arguments, ensure_ascii=False)
        ran = f"Executed instead: {name} with arguments {ran}."
        note = f"{self.edit_notice} {ran}\n\nTool response:\n" if self.edit_notice else ""
        made: Any = to_tool_output(value)
        is_text = isinstance(made.content, str)
        content = note + made.content if is_text else (Text(note), *made.content)
        return dataclasses.replace(made, content=content)

    def make_interrupt(
        self, tickets: Sequence[Ticket], state: Mapping[str, Any], runtime: Any
    ) -> Interrupt:
        """Build the interrupt that describes the waiting calls."""
        requests, reviews = [], []
        for ticket in tickets:
            arguments, how = dict(ticket.arguments), self._review_options.get(ticket.tool, {})
            description = how.get("description")
            if callable(description):
                description = description(
                    ToolCall(ticket.call_id, ticket.tool, arguments), state, runtime
                )
            why = self.description_prefix if ticket.tool in self.interrupt_on else ticket.reason
            description = description or f"{why}\n\nTool: {ticket.tool}\nArgs: {arguments}"
            requests.append({"name": ticket.tool, "args": arguments, "description": description})
            allowed = how.get("allowed_decisions", DECISIONS)
            reviews.append({"action_name": ticket.tool, "allowed_decisions": [*allowed]})
        value = {"action_requests": requests, "review_configs": reviews}
        return Interrupt(value, tickets[0].id, tuple(one.id for one in tickets))


def decide_tickets(
    resume: Any, interrupts: Sequence[Interrupt], tickets: Sequence[Ticket]
) -> list[Decision]:
    """Convert ``Command(resume=...)`` to decisions on the waiting calls.

    Args:
        resume: The value for the only interrupt, or a dict of values by interrupt id. For calls to
            review, the value is ``{"decisions": [...]}``.
        interrupts: Those that wait.
        tickets: Their tickets.

    Raises:
        SetupError: The value does not fit what waits.
    """
    known = {ticket.id: ticket for ticket in tickets}
    decided: list[Decision] = []
    for one, value in pair_answers(resume, interrupts):
        calls = [known[id] for id in one.ticket_ids]
        if is_interrupt(calls[0]):
            decided.append(calls[0].answer(value))
        else:
            decided += _decide_review(value, one.value["review_configs"], calls)
    return decided


def _decide_review(
    resume: Any, reviews: Sequence[Mapping[str, Any]], tickets: Sequence[Ticket]
) -> list[Decision]:
    """Convert ``{"decisions": [...]}`` to decisions on the calls to review, in order.

    Raises:
        SetupError: The number of decisions differs from that of the calls, or one is not allowed.
    """
    decisions = resume.get("decisions", ()) if isinstance(resume, Mapping) else ()
    if len(decisions) != len(tickets):
        raise SetupError(
            'Command(resume={"decisions": [...]}) takes one decision for each call that waits: '
            f"{len(tickets)}, not {len(decisions)}"
        )
    rows = zip(decisions, reviews, tickets, strict=True)
    return [
        _make_decision(one, review["allowed_decisions"], ticket) for one, review, ticket in rows
    ]


def _make_decision(decision: Mapping[str, Any], allowed: Sequence[str], ticket: Ticket) -> Decision:
    """Convert one of LangChain's decisions; raise `SetupError` if it is not allowed."""
    kind = decision.get("type")
    if kind not in allowed:
        problem = f"{kind!r:.40}; allowed_decisions has {', '.join(allowed)}"
        raise SetupError(f"a call of {ticket.tool!r} is not decided by {problem}")
    if kind == "edit":
        action = decision["edited_action"]
        if action.get("name", ticket.tool) != ticket.tool:
            raise SetupError(f"a call of {ticket.tool!r} cannot become one of another tool")
        return ticket.edit(action["args"])
    if kind == "respond":
        return ticket.answer(decision["message"])
    return ticket.approve() if kind == "approve" else ticket.deny(decision.get("message") or "")


def _read_review_options(tool: str, options: Any) -> Mapping[str, Any]:
    """Validate and return the `interrupt_on` options of a tool."""
    how = options if isinstance(options, Mapping) else {}
    where, known = f"interrupt_on[{tool!r}]", ("allowed_decisions", "description", "args_schema")
    if not isinstance(options, Mapping | bool) or (isinstance(options, Mapping) and not options):
        raise SetupError(f"{where}: True, False, or a dict with allowed_decisions")
    if strange := sorted({*how} - {*known}):
        hint = f"it has {', '.join(known)}; a predicate is written as @tool(approval=...)"
        raise SetupError(f"{where} has no {', '.join(strange)}; {hint}")
    allowed = how.get("allowed_decisions", () if how else DECISIONS)
    if not allowed or not {*allowed} <= {*DECISIONS}:
        raise SetupError(f"{where}: allowed_decisions are some of {', '.join(DECISIONS)}")
    return how

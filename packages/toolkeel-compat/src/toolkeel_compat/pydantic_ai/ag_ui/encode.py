"""A run as events of AG-UI."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any
from uuid import uuid4

from ag_ui.core import events as ui
from ag_ui.core.types import Interrupt

from toolkeel import events
from toolkeel._records.tickets import Ticket
from toolkeel.messages import AssistantMessage, ToolMessage
from toolkeel.model_interface import CallDelta, ReasoningDelta, TextDelta
from toolkeel_compat.pydantic_ai.ag_ui.decode import INTERRUPT_PREFIX

APPROVAL_SCHEMA = {
    "type": "object",
    "properties": {
        "approved": {"type": "boolean"},
        "editedArgs": {"type": "object"},
        "reason": {"type": "string"},
    },
    "required": ["approved"],
}
"""What a client answers to an interrupt."""


class RunEncoder:
    """The events of one run of the protocol.

    Args:
        sent: The client's request.

    Attributes:
        results: By call, the events that its tool has returned.
    """

    def __init__(self, sent: Any) -> None:
        self._ids: dict[str, Any] = {"thread_id": sent.thread_id, "run_id": sent.run_id}
        major = (sent.protocol_version or "0").partition(".")[0]
        self._is_current = major not in ("", "0")
        self.results: dict[str, list[ui.BaseEvent]] = {}
        self._message_id = self._started_id = ""
        self._closing: list[ui.BaseEvent] = []
        self._calls: dict[int, str] = {}

    def start(self) -> Iterator[ui.BaseEvent]:
        """Yield the begin of the run."""
        yield ui.RunStartedEvent(**self._ids, protocol_version="1.0")

    def encode(self, event: events.Event) -> Iterator[ui.BaseEvent]:
        """Yield the events of a core event."""
        match event:
            case events.Streamed(delta=TextDelta(text=text)) if text:
                yield from self._write(text)
            case events.Streamed(delta=ReasoningDelta(text=text)) if text:
                yield from self._think(text)
            case events.Streamed(delta=CallDelta() as delta):
                yield from self._argue(delta)
            case events.Retrying():  # reasoning of the next attempt is another message
                yield from self._close()
            case events.Replied(message=message):
                yield from self._complete(message)
            case events.ToolFinished(message=message):
                yield from self._add_result(message)

    def _close(self) -> Iterator[ui.BaseEvent]:
        closing, self._closing = self._closing, []
        yield from closing

    def _write(self, text: str) -> Iterator[ui.BaseEvent]:
        if not self._closing or self._message_id != self._started_id:
            yield from self._close()
            self._message_id = self._started_id = str(uuid4())
            yield ui.TextMessageStartEvent(message_id=self._message_id, role="assistant")
            self._closing = [ui.TextMessageEndEvent(message_id=self._message_id)]
        yield ui.TextMessageContentEvent(message_id=self._message_id, delta=text)

    def _think(self, text: str) -> Iterator[ui.BaseEvent]:
        if not self._closing or self._message_id == self._started_id:
            yield from self._close()
            self._message_id = id = str(uuid4())
            yield ui.ReasoningStartEvent(message_id=id)
            yield ui.ReasoningMessageStartEvent(message_id=id, role="reasoning")
            ends = ui.ReasoningMessageEndEvent(message_id=id), ui.ReasoningEndEvent(message_id=id)
            self._closing = [*ends]
        yield ui.ReasoningMessageContentEvent(message_id=self._message_id, delta=text)

    def _argue(self, delta: CallDelta) -> Iterator[ui.BaseEvent]:
        """Yield the events of a piece of a call; without an id and a name it is left to `_complete`."""
        if delta.id and delta.name and delta.index not in self._calls:
            self._calls[delta.index] = delta.id
            yield from self._begin_call(delta.id, delta.name)
        if delta.arguments and (id := self._calls.get(delta.index)):
            yield ui.ToolCallArgsEvent(tool_call_id=id, delta=delta.arguments)

    def _begin_call(self, id: str, name: str) -> Iterator[ui.BaseEvent]:
        yield from self._close()
        if not self._started_id or self._message_id != self._started_id:
            self._message_id = self._started_id = str(uuid4())
            yield ui.TextMessageStartEvent(message_id=self._message_id, role="assistant")
            yield ui.TextMessageEndEvent(message_id=self._message_id)
        yield ui.ToolCallStartEvent(
            tool_call_id=id, tool_call_name=name, parent_message_id=self._message_id
        )
        self._closing = [ui.ToolCallEndEvent(tool_call_id=id)]

    def _complete(self, message: AssistantMessage) -> Iterator[ui.BaseEvent]:
        """Yield what was not streamed of a reply, and close all of it."""
        if message.text and not self._started_id:
            yield from self._write(message.text)
        streamed = {*self._calls.values()}
        for call in message.tool_calls:
            if call.id in streamed:
                continue
            yield from self._begin_call(call.id, call.name)
            arguments = call.arguments
            text = arguments if isinstance(arguments, str) else _dump(arguments)
            if text not in ("", "{}"):
                yield ui.ToolCallArgsEvent(tool_call_id=call.id, delta=text)
        yield from self._close()
        self._calls.clear()
        self._message_id = self._started_id = ""

    def _add_result(self, message: ToolMessage) -> Iterator[ui.BaseEvent]:
        id = message.tool_call_id
        yield ui.ToolCallResultEvent(
            message_id=str(uuid4()), tool_call_id=id, content=message.text, role="tool"
        )
        yield from self.results.pop(id, ())

    def finish(self, tickets: Sequence[Ticket]) -> Iterator[ui.BaseEvent]:
        """Yield the end of the run; `tickets` are the calls that wait."""
        yield from self._close()
        asked = [_to_interrupt(one) for one in tickets if not one.external]
        outcome: Any = ui.RunFinishedSuccessOutcome()
        if asked:
            outcome = ui.RunFinishedInterruptOutcome(interrupts=asked)
        elif tickets and self._is_current:
            pending = [one.call_id for one in tickets]
            outcome = ui.RunFinishedSuccessOutcome(pending_tool_call_ids=pending)
        yield ui.RunFinishedEvent(**self._ids, outcome=outcome)

    def fail(self, error: Exception) -> Iterator[ui.BaseEvent]:
        """Yield the end of a run that failed."""
        yield ui.RunErrorEvent(message=str(error))


def _dump(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=dict)


def _to_interrupt(ticket: Ticket) -> Interrupt:
    return Interrupt(
        id=f"{INTERRUPT_PREFIX}{ticket.call_id}",
        reason="tool_call",
        message=f"Approve {ticket.tool}({_dump(dict(ticket.arguments))})?",
        tool_call_id=ticket.call_id,
        response_schema=APPROVAL_SCHEMA,
    )

"""Requests of AG-UI clients, as the run they ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ag_ui.core import types as ui

from toolkeel._records.tickets import Decision, Ticket
from toolkeel.content import Content
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel_compat.content_blocks import to_content

INTERRUPT_PREFIX = "int-"
"""How the id of an interrupt begins; the call's id follows."""


def decode_messages(messages: Iterable[Any]) -> Iterator[Message]:
    """Yield the conversation; system prompts of the client are dropped, since the agent has its own.

    Raises:
        SetupError: A part of a message has an unknown type.
    """
    names: dict[str, str] = {}
    for message in messages:
        match message:
            case ui.UserMessage():
                yield UserMessage(_decode_content(message.content))
            case ui.AssistantMessage():
                calls = tuple(
                    ToolCall(one.id, one.function.name, one.function.arguments)
                    for one in message.tool_calls or ()
                )
                names |= {one.id: one.name for one in calls}
                yield AssistantMessage(_decode_content(message.content or ""), calls)
            case ui.ToolMessage():
                status: Any = "error" if message.error else "success"
                text = message.error or _decode_content(message.content)
                id = message.tool_call_id
                yield ToolMessage(text, id, names.get(id, ""), status)


def _decode_content(content: str | Sequence[Any]) -> Content:
    if isinstance(content, str):
        return content
    return to_content([_decode_part(part) for part in content])


def _decode_part(part: Any) -> Mapping[str, Any]:
    """Return a part as `to_content` reads it."""
    source = getattr(part, "source", None)
    if source is None:
        fields: dict[str, Any] = part.model_dump(exclude_none=True)
        return fields
    kind = "file" if part.type == "document" else part.type
    if source.type == "data":
        return {"type": kind, "base64": source.value, "mime_type": source.mime_type}
    if source.type != "url":
        raise SetupError(f"a part of the type {part.type!r} has a source that is not read here")
    return {"type": kind, "url": source.value, "mime_type": source.mime_type or ""}


def decode_tools(tools: Iterable[Any]) -> list[AnyTool]:
    """Return the tools that the client runs."""
    return [
        Tool.from_schema(
            one.name, one.description, one.parameters or {"type": "object", "properties": {}}, None
        )
        for one in tools
    ]


def decode_resume(entries: Iterable[Any], tickets: Sequence[Ticket]) -> list[Decision]:
    """Return the decisions on calls that wait. Only the JSON value ``true`` approves.

    Raises:
        SetupError: An entry is for a call that does not wait.
    """
    known = {f"{INTERRUPT_PREFIX}{one.call_id}": one for one in tickets}
    decisions = []
    for entry in entries:
        if (ticket := known.get(entry.interrupt_id)) is None:
            raise SetupError(f"resume: no call waits under {entry.interrupt_id!r:.80}")
        payload = entry.payload if isinstance(entry.payload, dict) else {}
        edited, reason = payload.get("editedArgs"), payload.get("reason")
        if entry.status == "cancelled" or payload.get("approved") is not True:
            why = reason if isinstance(reason, str) else "The tool call was denied."
            decisions.append(ticket.deny(why))
        else:
            decisions.append(ticket.edit(edited) if edited else ticket.approve())
    return decisions

"""Requests of ``useChat``, as what they ask for; all other history in them is ignored."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from toolkeel._records.record import record
from toolkeel._records.record_json import describe_value, to_json_data
from toolkeel._records.tickets import Ticket
from toolkeel.content import Audio, Block, Content, File, Image, Text
from toolkeel_studio.serve.errors import ChannelError, InvalidDecision

MAX_PARTS: Final = 64
"""Parts of one message of a person."""


@record
class ApprovalAnswer:
    """What a page says to a call that waits: only the JSON value ``true`` approves."""

    approval_id: str
    approved: bool
    reason: str
    input: object
    has_input: bool


@record
class ToolResult:
    """The result of a call that the client ran; a claim of the client."""

    call_id: str
    value: object


@record
class VercelRequest:
    """What a request asks for; all other history in it is ignored.

    Args:
        chat: Id of the chat: the session's name.
        message_id: Id of the new message of the person; empty for none.
        content: The new message.
        answers: Approvals and denials in the last message of the agent.
        results: Results in that message; those of calls that do not wait are ignored.
        replaces: The message that is to be answered or written again; None for none, empty for the last.
    """

    chat: str
    message_id: str = ""
    content: Content = ""
    answers: tuple[ApprovalAnswer, ...] = ()
    results: tuple[ToolResult, ...] = ()
    replaces: str | None = None


def decode_request(body: Mapping[str, Any]) -> VercelRequest:
    """Return what the body of a ``POST`` asks for.

    Raises:
        ChannelError: it is no request of ``useChat``.
    """
    chat, messages, trigger = body.get("id"), body.get("messages"), body.get("trigger")
    if not isinstance(chat, str) or not isinstance(messages, list):
        raise ChannelError("send id and messages, as useChat does")
    said = [each for each in messages if isinstance(each, dict)]
    last = said[-1] if said else {}
    replaces = body.get("messageId")
    if trigger == "regenerate-message":
        return VercelRequest(chat, replaces=replaces if isinstance(replaces, str) else "")
    answered = next((m for m in reversed(said) if m.get("role") == "assistant"), {})
    parts = [part for part in _list(answered.get("parts")) if isinstance(part, dict)]
    answers = tuple(_answer(part) for part in parts if part.get("state") == "approval-responded")
    results = tuple(_results(parts))
    if last.get("role") != "user":
        return VercelRequest(chat, answers=answers, results=results)
    id = last.get("id")
    if not isinstance(id, str) or not id:
        raise ChannelError("the last message has no id")
    content = decode_content(_list(last.get("parts")))
    is_edit = replaces == id and trigger == "submit-message"
    return VercelRequest(chat, id, content, answers, results, id if is_edit else None)


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _answer(part: Mapping[str, Any]) -> ApprovalAnswer:
    approval = part.get("approval")
    given = approval if isinstance(approval, dict) else {}
    id, reason = given.get("id"), given.get("reason")
    return ApprovalAnswer(
        id if isinstance(id, str) else "",
        given.get("approved") is True,
        reason if isinstance(reason, str) else "",
        part.get("input"),
        "input" in part,
    )


def _results(parts: Sequence[Mapping[str, Any]]) -> Iterator[ToolResult]:
    for part in parts:
        id = part.get("toolCallId")
        if not isinstance(id, str):
            continue
        if part.get("state") == "output-available" and part.get("preliminary") is not True:
            yield ToolResult(id, part.get("output"))
        elif part.get("state") == "output-error":
            yield ToolResult(id, f"Error: {part.get('errorText')}")


def decode_content(parts: Sequence[object]) -> Content:
    """Return the content of a message of a person: its texts, and its files as ``data:`` URLs.

    Raises:
        ChannelError: a file is somewhere else, or there are too many parts.
    """
    if len(parts) > MAX_PARTS:
        raise ChannelError(f"a message has at most {MAX_PARTS} parts")
    blocks: list[Block] = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        text = part.get("text")
        if part.get("type") == "text" and isinstance(text, str):
            blocks.append(Text(text))
        elif part.get("type") == "file":
            blocks.append(_file(part))
    if all(isinstance(block, Text) for block in blocks):
        return "\n".join(block.text for block in blocks if isinstance(block, Text))
    return tuple(blocks)


def _file(part: Mapping[str, Any]) -> Block:
    url, name = part.get("url"), part.get("filename")
    head, comma, data = url.partition(",") if isinstance(url, str) else ("", "", "")
    kind, *options = head.removeprefix("data:").split(";")
    if not (comma and head.startswith("data:") and "base64" in options):
        raise ChannelError("send files as data: URLs; this server fetches nothing for a client")
    try:
        content = base64.b64decode(data, validate=True)
    except binascii.Error:
        raise ChannelError("a file is no base64") from None
    if kind.startswith("image/"):
        return Image(content, kind)
    if kind.startswith("audio/"):
        return Audio(content, kind)
    return File(content, name if isinstance(name, str) else "file", kind or "text/plain")


def check_input(answer: ApprovalAnswer, ticket: Ticket, shown: object) -> None:
    """Raise unless a decision is on the call as it was shown.

    Args:
        answer: The decision.
        ticket: Of the call.
        shown: The call's arguments as they were sent.

    Raises:
        InvalidDecision: the page decides on other arguments.
    """
    known = (shown, to_json_data(ticket.arguments, other=describe_value))
    if answer.has_input and answer.input not in known:
        raise InvalidDecision("the decision is on other arguments than those that wait")

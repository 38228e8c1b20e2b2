"""A session as the messages of a page, made by the same encoder as the stream."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from toolkeel._records import entries
from toolkeel.content import Audio, Block, Content, File, Image, Text
from toolkeel.sessions.session import Session
from toolkeel_studio.serve.contents import address_of, plain_text
from toolkeel_studio.serve.items import Item, approval_id_of, is_said
from toolkeel_studio.serve.numbering import number_journal
from toolkeel_studio.serve.vercel.encode import Chunk, VercelEncoder


def last_message(session: Session) -> tuple[str, str]:
    """Return the number of the last message of a person, and the id of what was answered to it.

    The id is empty while nothing was asked.
    """
    number, id = "0.0", ""
    for item in number_journal(session):
        if is_said(item):
            number, id = item.number, ""
        elif isinstance(item.body, entries.ModelAsked) and not item.within:
            id = id or item.message_id
    return number, id


class Place(NamedTuple):
    """Where a message of the agent continues.

    Args:
        number: What the page knows ends there; empty if nothing waits.
        message_id: Of the message.
        deferred: Approval ids of calls that wait while the conversation continues: the first
            decision on one of them starts the rest of the message.
    """

    number: str
    message_id: str
    deferred: frozenset[str] = frozenset()


def place_of_calls(session: Session, ids: Collection[str]) -> Place:
    """Return the place up to which a page knows what has happened to calls.

    A page that decides what others have decided learns what has happened since the calls waited.

    Args:
        session: The session.
        ids: What the page decides: approval ids, and ids of calls that the client runs.

    Returns:
        The last place where a run waits for one of them, or was allowed to continue without them.
    """
    id, place, is_asked = "", Place("", ""), False
    for item in number_journal(session):
        match item.body:
            case entries.ModelAsked() if not item.within:
                id = id or item.message_id
            case entries.Waits(ticket=ticket) if not item.within:
                is_asked |= item.approval_id in ids or (ticket.external and item.call_id in ids)
            case entries.Deferred(ticket=ticket) if place.message_id == id and place.number:
                place = Place(item.number, id, place.deferred | {approval_id_of(ticket)})
            case entries.RunEnded() if is_asked and not item.within:
                place, is_asked = Place(item.number, id), False
            case _ if is_said(item):
                id = ""
    return place if place.number else Place("", id)


def request_before(session: Session, message_id: str) -> int:
    """Return the number of the last request that was made for a message of the agent; 0 for none.

    Args:
        session: The session.
        message_id: Id of the agent's message; empty for the last one.
    """
    asked, is_in = 0, False
    for item in number_journal(session):
        if is_said(item):
            if asked and is_in and message_id:
                return asked
            asked, is_in = 0, not message_id
        elif isinstance(item.body, entries.ModelAsked) and not item.within:
            asked = item.position.entry
            is_in = is_in or item.message_id == message_id
    return asked if is_in else 0


def has_message(session: Session, id: str) -> bool:
    """Return True if a message of a person with this id has arrived."""
    if any(each.id == id for each in session.inbox):
        return True
    arrived = (item for item in number_journal(session) if item.message_id == id)
    return any(is_said(item) or isinstance(item.body, entries.Queued) for item in arrived)


def turn_of(session: Session, message_id: str) -> int:
    """Return the number of the turn that a message of a person started; 0 for none."""
    turn, is_first = 0, False
    for item in number_journal(session):
        if is_said(item, message_id):
            return turn if is_first else 0
        if isinstance(item.body, entries.RunBegan | entries.ModelAsked) and not item.within:
            is_first = isinstance(item.body, entries.RunBegan)
            turn += is_first
    return 0


class _Answer:
    """A message of the agent while it is read."""

    def __init__(self, is_external: Callable[[str], bool]) -> None:
        self.message = new_message()
        self._encoder = VercelEncoder(is_external, lambda error: "")

    def take(self, item: Item) -> None:
        """Add the next item of it."""
        self._encoder.is_done = False  # it may have waited, and have continued
        for chunk in self._encoder.encode(item):
            apply_chunk(self.message, chunk)
        if isinstance(item.body, entries.Decided):
            _decide(self.message["parts"], item.approval_id, item.body)


class _Transcript:
    """The messages of a session, collected from its items.

    What follows from the decision on a deferred call belongs to the message that made the call.
    """

    def __init__(self, is_external: Callable[[str], bool]) -> None:
        self._is_external = is_external
        self._answer = _Answer(is_external)
        self.messages = [self._answer.message]
        self.unread: dict[str, Content] = {}
        self._deferred: dict[str, _Answer] = {}
        """By ticket: the message that made the call."""
        self._repeated: dict[str, _Answer] = {}
        """The same by call, of those whose results come next."""

    def take(self, item: Item) -> None:
        """Take the next item."""
        match item.body:
            case entries.PersonSaid(message=message) | entries.Steered(message=message):
                self.unread.pop(item.message_id, None)
                if is_said(item):
                    self._answer, self._repeated = _Answer(self._is_external), {}
                    said = _said(item.message_id, message.content)
                    self.messages += [said, self._answer.message]
            case entries.Queued(message=message):
                self.unread[item.message_id] = message.content
            case entries.Unqueued():
                self.unread.pop(item.message_id, None)
            case entries.Deferred(ticket=ticket):
                self._deferred[ticket.id] = self._answer
            case entries.Repeated(message=reply, tickets=tickets):
                made = [self._deferred.get(id, self._answer) for id in tickets]
                calls = (call.id for call in reply.tool_calls)
                self._answer, self._repeated = made[-1], dict(zip(calls, made, strict=True))
            case _:
                self._answer_of(item).take(item)

    def _answer_of(self, item: Item) -> _Answer:
        """Return the message that an item belongs to."""
        if isinstance(item.body, entries.Decided):
            return self._deferred.get(item.body.decision.ticket, self._answer)
        if isinstance(item.body, entries.CallEnded) and not item.within:
            return self._repeated.pop(item.call_id, self._answer)
        return self._answer


def read_messages(session: Session, is_external: Callable[[str], bool]) -> list[dict[str, Any]]:
    """Return all messages of a session as ``useChat`` has them, without what went wrong.

    Args:
        session: The session.
        is_external: Returns True for the name of a tool that the client runs.
    """
    transcript = _Transcript(is_external)
    for item in number_journal(session):
        transcript.take(item)
    unread = transcript.unread | {each.id: each.message.content for each in session.inbox}
    left = [_said(id, content) for id, content in unread.items()]
    return [*(each for each in transcript.messages if each["parts"]), *left]


def new_message() -> dict[str, Any]:
    """Return an empty message of the agent."""
    return {"id": "", "role": "assistant", "parts": []}


def _said(id: str, content: Content) -> dict[str, Any]:
    blocks = (Text(content),) if isinstance(content, str) else content
    return {"id": id, "role": "user", "parts": [*map(_part, blocks)]}


def _part(block: Block) -> dict[str, Any]:
    """Return a block of a message of a person as a part of it."""
    if not isinstance(block, Image | Audio | File):
        return {"type": "text", "text": plain_text((block,))}
    named = {"filename": block.name} if isinstance(block, File) else {}
    url = address_of(block)
    return {"type": "file", "mediaType": block.media_type, "url": url, **named}


def apply_chunk(message: dict[str, Any], chunk: Chunk) -> None:
    """Apply a chunk to a message, as the page does."""
    parts, kind = message["parts"], chunk["type"]
    if kind == "start":
        message["id"] = chunk.get("messageId", message["id"])
    elif kind == "start-step":
        parts.append({"type": "step-start"})
    elif kind in ("text-start", "reasoning-start"):
        parts.append({"type": kind.removesuffix("-start"), "text": "", "state": "done"})
    elif kind in ("text-delta", "reasoning-delta"):
        parts[-1]["text"] += chunk["delta"]
    elif kind == "tool-input-available":
        _set_input(parts, chunk)
    elif kind in _STATES:
        _update(parts, chunk)
    elif kind in ("file", "source-url", "source-document") or (
        kind.startswith("data-") and not chunk.get("transient")
    ):
        parts.append(chunk)
    elif kind == "finish" and "messageMetadata" in chunk:
        message["metadata"] = chunk["messageMetadata"]


def _decide(parts: list[dict[str, Any]], approval_id: str, decided: entries.Decided) -> None:
    for part in parts:
        if part.get("approval", {}).get("id") == approval_id:
            approved = decided.decision.verdict != "deny"
            part["state"] = "approval-responded"
            part["approval"] = {"id": approval_id, "approved": approved}


def _set_input(parts: list[dict[str, Any]], chunk: Chunk) -> None:
    known = [each for each in parts if each.get("toolCallId") == chunk["toolCallId"]]
    if known:
        known[-1] |= {name: chunk[name] for name in ("toolName", "input")}
        return
    fields = ("toolCallId", "toolName", "input", "providerExecuted")
    call = {name: chunk[name] for name in fields if name in chunk}
    parts.append({"type": "dynamic-tool", "state": "input-available", **call})


_STATES = {
    "tool-approval-request": "approval-requested",
    "tool-output-available": "output-available",
    "tool-output-error": "output-error",
    "tool-output-denied": "output-denied",
}
"""By chunk: the state of the call's part after it."""


def _update(parts: list[dict[str, Any]], chunk: Chunk) -> None:
    changes: dict[str, Any] = {
        name: chunk[name] for name in ("output", "errorText", "providerExecuted") if name in chunk
    }
    if "approvalId" in chunk:
        changes["approval"] = {"id": chunk["approvalId"]}
    for part in reversed(parts):
        if part.get("toolCallId") == chunk["toolCallId"]:
            part.update(changes, state=_STATES[chunk["type"]])
            return

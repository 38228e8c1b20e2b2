"""What a reader of a channel gets: journal entries and live events, each with its number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias, cast

from toolkeel import events
from toolkeel._records import entries
from toolkeel._records.record import record
from toolkeel._records.tickets import Ticket
from toolkeel.messages import UserMessage
from toolkeel.model_interface import ReasoningDelta, TextDelta
from toolkeel_studio.serve.errors import ChannelError, UnknownApproval


class Position(NamedTuple):
    """A place in a session: the number of a journal entry, and of a live item after that entry.

    >>> Position.parse("17.3") > Position.parse("17")
    True
    >>> str(Position(17, 3))
    '17.3'
    """

    entry: int
    delta: int = 0

    def __str__(self) -> str:
        return f"{self.entry}.{self.delta}"

    @classmethod
    def parse(cls, text: str) -> Position:
        """Read a number that an item had, or one without its part after the dot.

        Raises:
            ChannelError: it is not a number of an item.
        """
        entry, _, delta = text.strip().partition(".")
        parts = [part for part in (entry, delta or "0") if part.isascii() and part.isdecimal()]
        if len(parts) != 2 or len(text) > 40:
            raise ChannelError(f"{text!r:.60} is no number of an item; give one such as '17.3'")
        return cls(int(entry), int(delta or 0))


@record
class Question:
    """A server's question during a running call (a form); only this process can answer it."""

    ticket: Ticket


@record
class QuestionClosed:
    """The end of a question: it was answered, or its call has ended."""

    ticket_id: str


@record
class Problem:
    """Why a run could not start or continue; the journal has no entry for it.

    Args:
        error: The text of the exception; it may contain secrets, so log it and send no client more
            than a fixed sentence.
    """

    error: str


LiveEvent: TypeAlias = (
    events.Streamed
    | events.Retrying
    | events.Coerced
    | events.Progress
    | events.ToolFinished
    | events.Nested
    | Question
    | QuestionClosed
    | Problem
)
"""What no journal has: pieces of replies, progress, arguments as they ran, events of inner agents."""


@record
class Item:
    """One thing that happened in a session.

    Args:
        number: ``entry.delta``: the journal entry's number, and the place of a live item after it.
        kind: The `kind` of an entry, the `type` of an event, ``question``, ``question_closed`` or
            ``problem``.
        body: The entry or event itself.
        at: When it happened, in seconds since the epoch.
        run_id: The session's run that it belongs to, also of what happens in an inner run. It is the
            same before and after the run waits.
        message_id: Of the message that it belongs to: of a reply, its pieces, and its calls and their
            results, the id of that reply; of a message of a person, the id that its sender chose.
        approval_id: What `Channel.decide` takes, of a call that waits or was decided and of a question.
        call_id: The call that it is about; of a ticket of an inner run, the outer call.
        within: The call around it, of whatever happens in an inner run or by a tool's code; empty for
            what the session's own run does.
    """

    number: str
    kind: str
    body: entries.Entry | LiveEvent
    at: float = 0.0
    run_id: str = ""
    message_id: str = ""
    approval_id: str = ""
    call_id: str = ""
    within: str = ""

    @property
    def position(self) -> Position:
        """The number, for comparisons."""
        return Position.parse(self.number)


def join_pieces(items: Sequence[Item]) -> list[Item]:
    """Return items with adjacent pieces of one text joined, under the number of the last."""
    made: list[Item] = []
    kind: object = None
    texts: list[str] = []

    def end() -> None:
        if len(texts) > 1 and isinstance(body := made[-1].body, events.Streamed):
            delta: Any = replace(cast("Any", body.delta), text="".join(texts))
            made[-1] = replace(made[-1], body=replace(body, delta=delta))

    for item in items:
        match item.body:
            case events.Streamed(delta=TextDelta(text=text) | ReasoningDelta(text=text) as delta):
                if kind == (type(delta), item.message_id):
                    made[-1] = item
                    texts.append(text)
                    continue
                end()
                kind, texts = (type(delta), item.message_id), [text]
            case _:
                end()
                kind, texts = None, []
        made.append(item)
    end()
    return made


def is_said(item: Item, id: str = "") -> bool:
    """Return True for a message of a person that has joined the transcript.

    Args:
        item: What happened.
        id: Of the message; any if empty.
    """
    match item.body:
        case entries.PersonSaid(message=message) | entries.Steered(message=message):
            by_person = isinstance(message, UserMessage) and message.origin == "person"
            return by_person and not item.within and id in ("", item.message_id)
        case _:
            return False


def approval_id_of(ticket: Ticket) -> str:
    """Return the opaque id by which a client decides: it names the ticket and what was shown of it."""
    return f"{ticket.id}.{ticket.seal}"


def split_approval_id(text: object) -> tuple[str, str]:
    """Return the ticket's id and the seal of an approval id.

    Raises:
        UnknownApproval: it is no approval id.
    """
    id, _, seal = text.partition(".") if isinstance(text, str) else ("", "", "")
    if not (id and seal):
        raise UnknownApproval("the call that was shown is no longer pending")
    return id, seal

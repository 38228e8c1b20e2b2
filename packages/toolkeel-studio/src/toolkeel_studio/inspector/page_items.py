"""What a session's page shows beside replies and calls: messages, notes, decisions and prompts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar


@dataclass
class MessageItem:
    """A message by a person, or by a program in a person's place.

    Args:
        seq: Sequence number of its entry.
        at: Time in seconds since the epoch.
        text: Text of the message.
        who: Author, if known.
        how: ``queued`` until it is in the transcript; ``system`` for instructions.
        turn: Number of the turn in the story that it began, from 1; 0 for other messages.
    """

    kind: ClassVar[str] = "said"
    seq: int
    at: float
    text: str
    who: str = ""
    how: str = ""
    turn: int = 0


@dataclass
class Note:
    """Another event: a translatable label and a text."""

    kind: ClassVar[str] = "note"
    seq: int
    at: float
    word: str
    text: str = ""


@dataclass
class DecisionView:
    """A decision about a call: time (0 until the journal has it), verdict, author and reason."""

    at: float
    verdict: str
    who: str
    reason: str


@dataclass
class Prompt:
    """What a request sent besides the messages, as far as the window shows it.

    Args:
        instructions: The system text.
        tools: Names of the tools.
        settings: The settings of the request.
        changes: Which of the three differ from the request before.
        seq: Number of the request's entry.
        origins: For each of the three that the window shows, the entry of the request that sent it first.
    """

    instructions: str = ""
    tools: tuple[str, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)
    changes: tuple[str, ...] = ()
    seq: int = 0
    origins: dict[str, int] = field(default_factory=dict)

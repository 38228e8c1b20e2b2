"""What a session's page shows: messages, notes, replies and their calls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from toolkeel._records.tickets import Ticket
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage
from toolkeel.observe.wording import arguments_of

if TYPE_CHECKING:
    from toolkeel_studio.inspector.session_view import Story


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
class CallItem:
    """A call, from the model's request to its result.

    Args:
        call: The call as the model made it.
        seq: Sequence number of the latest entry about it.
        asked: When the model requested it.
        began: When it started; None before that.
        ended: When its result was recorded.
        result: The result.
        ticket: The ticket that a person decides.
        waited: When it began to wait for the decision.
        verdict: The first decision.
        inside: Story of the nested run, if the call is an agent.
        interrupted: True if it began, and its process ended before its result.
    """

    call: ToolCall
    seq: int
    asked: float
    began: float | None = None
    ended: float | None = None
    result: ToolMessage | None = None
    ticket: Ticket | None = None
    waited: float | None = None
    verdict: DecisionView | None = None
    inside: Story | None = None
    interrupted: bool = False

    @property
    def status(self) -> str:
        """``done``, ``failed``, ``waits``, ``decided``, ``runs``, ``interrupted`` or ``planned``."""
        if self.result is not None:
            return "failed" if self.result.failed else "done"
        if self.ticket is not None:
            return "waits" if self.verdict is None else "decided"
        if self.began is None:
            return "planned"
        return "interrupted" if self.interrupted else "runs"

    @property
    def arguments(self) -> Mapping[str, Any] | str:
        """The parsed arguments, or the text if it is not a JSON object."""
        return arguments_of(self.call)


@dataclass
class DecisionView:
    """A decision about a call: author, time, verdict and reason."""

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
    """

    instructions: str = ""
    tools: tuple[str, ...] = ()
    settings: dict[str, object] = field(default_factory=dict)
    changes: tuple[str, ...] = ()


@dataclass
class ReplyItem:
    """One request to the model and its reply.

    Args:
        seq: Sequence number of the request's entry, later of the reply's.
        asked: When it was sent; None if the window begins later.
        at: When the reply was complete; None before that.
        message: The reply.
        model: Name of the model.
        turn: Number of the request in its run, from 1.
        calls: The calls in the reply.
        failures: Errors of failed attempts.
        prompt: What the request sent besides the messages; None if the window begins later.
    """

    kind: ClassVar[str] = "replied"
    seq: int
    turn: int
    model: str = ""
    asked: float | None = None
    at: float | None = None
    message: AssistantMessage | None = None
    calls: list[CallItem] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    prompt: Prompt | None = None


PageItem: TypeAlias = MessageItem | Note | ReplyItem

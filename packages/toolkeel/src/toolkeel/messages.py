"""The transcript's records: calls, results and the text around them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, TypeAlias

from toolkeel._records.record import NOTHING, notebook_html, record
from toolkeel._records.reply_sources import read_sources
from toolkeel.content import Content, content_text
from toolkeel.content import Source as Source

Kind = Literal[
    "unknown_tool",
    "malformed_arguments",
    "truncated_call",
    "invalid_arguments",
    "disabled",
    "refused",
    "denied",
    "limit_reached",
    "timeout",
    "cancelled",
    "skipped",
    "tool_error",
    "crashed",
    "invalid_output",
    "unknown_outcome",
]
Status = Literal["success", "error"]
Origin = Literal["person", "omission", "correction", "handoff"]
"""Who wrote a message in the person's place: the ``person``, or the library. It writes a note on left
out messages (``omission``), requests a corrected answer, or tells an agent what came before."""
FinishReason = Literal["stop", "tool_calls", "length", "refusal", "filtered", "error", "incomplete"]
"""Why a reply ended: ``refusal`` if the model would not, ``filtered`` if something before or behind
it did not let the reply through, ``incomplete`` if it broke off without a word."""


@record
class ToolCall:
    """A model's request to run a tool, as received.

    Args:
        id: The model's id for this call, answered by the result; may be empty or repeated.
        name: Name of the tool.
        arguments: Raw: the text the model wrote, or the object if the wire carries objects.
        complete: False if the turn was cut off before this call ended; it then never runs.
        provider_options: What else the provider sent with it and wants back.
    """

    id: str
    name: str
    arguments: str | Mapping[str, object] = ""
    complete: bool = True
    provider_options: Mapping[str, object] = NOTHING


Artifact: TypeAlias = object
"""Annotation of a field whose value is stored with its type, as far as it has a stored form."""


@record
class ToolMessage:
    """The result of one call: the only record of it there is.

    Args:
        content: For the model.
        tool_call_id: Id of the call it answers.
        name: Name of the tool.
        status: ``success`` or ``error``.
        kind: Kind of failure; None on success. Stable API, unlike the text.
        artifact: For the program, never sent to the model: any object. It is saved with its type if
            it is JSON data, a value of the standard library, a dataclass, a pydantic model or an
            enum; any other comes back from a session or a saved run as an `UnsavedValue`.
        details: For people: errors, exit codes, coercions; never sent to the model.
        duration: Seconds from the call's start event to its end.
    """

    role: ClassVar[Literal["tool"]] = "tool"
    content: Content
    tool_call_id: str = ""
    name: str = ""
    status: Status = "success"
    kind: Kind | None = None
    artifact: Artifact = None
    details: Mapping[str, object] = NOTHING
    duration: float = 0.0

    _repr_html_ = notebook_html

    @property
    def text(self) -> str:
        """The content as text, with a short note for each picture, sound and file."""
        return content_text(self.content)

    @property
    def failed(self) -> bool:
        """True if the call failed."""
        return self.status == "error"


@record
class ToolOutput:
    """Return value of a tool with separate content, artifact and details.

    Args:
        content: For the model: anything a tool may return.
        artifact: For the program.
        details: For people.
    """

    content: object
    artifact: object = None
    details: Mapping[str, object] = NOTHING


@record
class Usage:
    """Tokens and requests spent; add them up with ``+``.

    >>> Usage(1, 10, 5) + Usage(1, 20, 5)
    Usage(requests=2, input_tokens=30, output_tokens=10, cached_tokens=0, reasoning_tokens=0, cache_write_tokens=0)

    Args:
        requests: Number of requests to models.
        input_tokens: Tokens read, including those from caches.
        output_tokens: Tokens written, including reasoning.
        cached_tokens: How many of those read came from the provider's cache.
        reasoning_tokens: How many of those written were reasoning.
        cache_write_tokens: How many of those read were put into the cache, where that is reported.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        """Number of tokens read and written."""
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.output_tokens + other.output_tokens,
            self.cached_tokens + other.cached_tokens,
            self.reasoning_tokens + other.reasoning_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    def with_request(self) -> Usage:
        """Return the usage with at least one request, for models that do not count it."""
        return self if self.requests else self + Usage(1)


NO_USAGE = Usage()


@record
class Reasoning:
    """A model's reasoning, preserved because some models want it back.

    Args:
        text: What it thought; empty if hidden.
        signature: The provider's proof or encrypted form, sent back unchanged.
        model: Which model it belongs to; another model does not get it.
    """

    text: str = ""
    signature: str = ""
    model: str = ""


@record
class SystemMessage:
    """Instructions from the program.

    Args:
        content: For the model.
        metadata: For the program; see `UserMessage`.
    """

    role: ClassVar[Literal["system"]] = "system"
    content: Content
    metadata: Mapping[str, object] = NOTHING

    @property
    def text(self) -> str:
        """The content as text."""
        return content_text(self.content)


@record
class UserMessage:
    """A message in the person's place of the conversation.

    Args:
        content: For the model.
        origin: Who wrote it; saved with the message and never sent to the model.
        metadata: For the program: JSON data that is saved with the message. Of it only ``name``, who
            speaks, is sent, on the wire of OpenAI's chat completions.
    """

    role: ClassVar[Literal["user"]] = "user"
    content: Content
    origin: Origin = "person"
    metadata: Mapping[str, object] = NOTHING

    @property
    def text(self) -> str:
        """The content as text."""
        return content_text(self.content)


@record
class AssistantMessage:
    """One reply of a model.

    Args:
        content: The text; empty if it only called tools.
        tool_calls: The calls it requests, in order.
        finish_reason: Why it stopped, in one vocabulary for all providers.
        usage: What this reply cost.
        reasoning: What it thought.
        model: Which model answered.
        provider_options: What else the provider sent and wants back.
        metadata: For the program; see `UserMessage`.
    """

    role: ClassVar[Literal["assistant"]] = "assistant"
    content: Content = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: FinishReason = "stop"
    usage: Usage = Usage()
    reasoning: tuple[Reasoning, ...] = ()
    model: str = ""
    provider_options: Mapping[str, object] = NOTHING
    metadata: Mapping[str, object] = NOTHING

    @property
    def text(self) -> str:
        """The content as text."""
        return content_text(self.content)

    @property
    def sources(self) -> tuple[Source, ...]:
        """What the reply cites, on any wire, in the provider's order."""
        return read_sources(self.text, self.provider_options)


Message: TypeAlias = SystemMessage | UserMessage | AssistantMessage | ToolMessage


def unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """Return the last reply's calls without a result, in order; none if anything but results follows it.

    Calls and results are matched by id, and equal ids by position.

    >>> call = ToolCall("1", "add")
    >>> unanswered([UserMessage("hi"), AssistantMessage(tool_calls=(call,))]) == (call,)
    True
    """
    answered: list[str] = []
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            answered.append(message.tool_call_id)
            continue
        if not isinstance(message, AssistantMessage):
            return ()
        if not answered:
            return message.tool_calls
        pending = []
        for call in message.tool_calls:
            if call.id in answered:
                answered.remove(call.id)
            else:
                pending.append(call)
        return tuple(pending)
    return ()

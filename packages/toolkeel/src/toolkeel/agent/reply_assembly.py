"""A model's stream becomes one reply: deltas in, one message out.

Pieces are collected in lists and joined once, so the cost depends on the reply's length only. A reply that
was cut off or broke off has its calls marked incomplete: such calls never run.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace

from toolkeel._records.record import NOTHING
from toolkeel.content import Content, Text
from toolkeel.messages import AssistantMessage, FinishReason, Reasoning, ToolCall
from toolkeel.model_interface import CallDelta, Delta, Finish, ReasoningDelta, RetryDelta, TextDelta

_COMPLETE: frozenset[FinishReason] = frozenset({"stop", "tool_calls"})
"""How a reply ends whose calls may run."""


_RAW_NAMES: Mapping[FinishReason, str] = {
    "stop": "end_turn stop_sequence completed",
    "tool_calls": "tool_use function_call",
    "length": "max_tokens max_output_tokens model_length",
    "refusal": "refused",
    "filtered": "content_filter content_filtered safety guardrail_intervened prohibited_content",
    "error": "failed",
    "incomplete": "pause_turn",
}
_RAW_REASONS: Mapping[str, FinishReason] = {
    raw: reason for reason, names in _RAW_NAMES.items() for raw in (reason, *names.split())
}
"""Our finish reason by every name of it that a model of a program may pass on unchanged."""


class _CallBuilder:
    """A call whose deltas are still arriving."""

    __slots__ = ("id", "name", "pieces", "provider_options")

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.provider_options: Mapping[str, object] = NOTHING

    def add(self, delta: CallDelta) -> None:
        """Append a delta's arguments; its id, name and options replace or extend earlier ones."""
        if delta.arguments:
            self.pieces.append(delta.arguments)
        if delta.id:
            self.id = delta.id
        if delta.name:
            self.name = delta.name
        if delta.provider_options:
            self.provider_options = {**self.provider_options, **delta.provider_options}

    def call(self) -> ToolCall:
        """Return the call as far as it has arrived."""
        return ToolCall(
            self.id, self.name, "".join(self.pieces), provider_options=self.provider_options
        )


class _ReasoningBuilder:
    """A block of reasoning that is still arriving. Its signature ends it."""

    __slots__ = ("pieces", "signature")

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.signature = ""

    def reasoning(self, model: str) -> Reasoning:
        """Return the block as far as it has arrived, as the reasoning of a model."""
        return Reasoning("".join(self.pieces), self.signature, model)


class ReplyBuilder:
    """Assembles a reply from deltas of text, reasoning and calls, or from a complete reply.

    >>> reply = ReplyBuilder()
    >>> reply.add(CallDelta(0, "call_1", "add", '{"a": 1, '))
    >>> reply.add(CallDelta(0, arguments='"b": 2}'))
    >>> reply.add(Finish("tool_calls"))
    >>> reply.build().tool_calls[0].arguments
    '{"a": 1, "b": 2}'
    """

    __slots__ = ("_calls", "_finish", "_text", "_thoughts", "_whole")

    def __init__(self) -> None:
        self._text: list[str] = []
        self._thoughts: list[_ReasoningBuilder] = []
        self._calls: dict[int, _CallBuilder] = {}
        self._finish: Finish | None = None
        self._whole: AssistantMessage | None = None

    def add(self, delta: Delta | AssistantMessage) -> None:
        """Add the next delta, or a complete reply, which replaces all deltas. A `RetryDelta` discards the reasoning so far."""
        if isinstance(delta, CallDelta):
            call = self._calls.get(delta.index)
            if call is None:
                call = self._calls[delta.index] = _CallBuilder()
            call.add(delta)
        elif isinstance(delta, TextDelta):
            self._text.append(delta.text)
        elif isinstance(delta, ReasoningDelta):
            self._think(delta)
        elif isinstance(delta, Finish):
            self._finish = delta
        elif isinstance(delta, RetryDelta):
            self._thoughts = []  # nothing else can precede it
        else:
            self._whole = normalize_reply(delta)

    def build(self) -> AssistantMessage:
        """Return the reply from the deltas that have arrived. May be called at any time.

        Its calls are in the order of their indexes and have unique ids. Without a `Finish` the
        reply was cut off: its reason is ``incomplete``. Unless it ended with ``stop`` or
        ``tool_calls``, its calls are marked incomplete.
        """
        if self._whole is not None:
            return self._whole
        finish = self._finish or Finish("incomplete")
        calls = [self._calls[index] for index in sorted(self._calls)]
        for call in calls:
            call.id = call.id or make_call_id()
        text = "".join(self._text)
        content: Content = text
        if finish.media:
            content = (Text(text), *finish.media) if text else finish.media
        return normalize_reply(
            AssistantMessage(
                content,
                tuple(call.call() for call in calls),
                finish.reason,
                finish.usage,
                tuple(thought.reasoning(finish.model) for thought in self._thoughts),
                finish.model,
                finish.provider_options,
            )
        )

    def _think(self, delta: ReasoningDelta) -> None:
        """Add a reasoning delta to the current block, or to a new one if a signature has ended it."""
        if not self._thoughts or self._thoughts[-1].signature:
            self._thoughts.append(_ReasoningBuilder())
        thought = self._thoughts[-1]
        if delta.text:
            thought.pieces.append(delta.text)
        if delta.signature:
            thought.signature = delta.signature


def assemble(deltas: Iterable[Delta | AssistantMessage]) -> AssistantMessage:
    """Return the reply that deltas make up.

    Args:
        deltas: All deltas of one reply, in order, or one complete message.

    >>> assemble([TextDelta("Hel"), TextDelta("lo"), Finish("stop")]).text
    'Hello'
    >>> assemble([TextDelta("Hel")]).finish_reason
    'incomplete'
    """
    assembly = ReplyBuilder()
    for delta in deltas:
        assembly.add(delta)
    return assembly.build()


def normalize_reply(reply: AssistantMessage) -> AssistantMessage:
    """Return a reply whose calls have unique ids and are marked incomplete if the reply broke off.

    A missing id is created, and a repeated one gets a number. A finish reason under a provider's name,
    which a model of the program may pass on, becomes ours. A reply that is already normal is returned
    itself.

    >>> twins = AssistantMessage(tool_calls=(ToolCall("a", "f"), ToolCall("a", "f")))
    >>> [call.id for call in normalize_reply(twins).tool_calls]
    ['a', 'a_2']
    """
    reason = reply.finish_reason
    if (
        reason not in _COMPLETE
        and (ours := _RAW_REASONS.get(str(reason).lower(), reason)) != reason
    ):
        reply = replace(reply, finish_reason=ours)
    if not reply.tool_calls:
        return reply
    whole = reply.finish_reason in _COMPLETE
    given = {call.id for call in reply.tool_calls}
    if whole and len(given) == len(reply.tool_calls) and "" not in given:
        return reply
    ids = make_unique_ids([call.id or make_call_id() for call in reply.tool_calls])
    calls = tuple(
        call
        if call.id == id and (whole or not call.complete)
        else replace(call, id=id, complete=call.complete and whole)
        for id, call in zip(ids, reply.tool_calls, strict=True)
    )
    return reply if calls == reply.tool_calls else replace(reply, tool_calls=calls)


def make_unique_ids(ids: Iterable[str]) -> list[str]:
    """Return the ids in order, with a number appended to each that occurred before.

    >>> make_unique_ids(["a", "a", "b", "a_2", "a"])
    ['a', 'a_3', 'b', 'a_2', 'a_4']
    """
    wanted = list(ids)
    given = set(wanted)
    used: dict[str, int] = {}
    unique = []
    for id in wanted:
        number = used.get(id, 0) + 1
        name = id
        while number > 1 and (name := f"{id}_{number}") in given:
            number += 1
        used[id] = number
        given.add(name)
        unique.append(name)
    return unique


def make_call_id() -> str:
    """Return a new random id for a call that arrived without one."""
    return f"call_{secrets.token_hex(12)}"


def reported_end(reply: AssistantMessage) -> str:
    """Return the provider's own words for why a reply ended, or "" if it sent none.

    They are ``finish_reason``, ``stop_reason`` and ``finish_message`` of the first options that have one: those
    at the top level, then each provider's.

    >>> end = {"finish_reason": "OTHER", "finish_message": "busy"}
    >>> reported_end(AssistantMessage(provider_options={"gemini": end}))
    'OTHER: busy'
    """
    for held in (reply.provider_options, *reply.provider_options.values()):
        options = held if isinstance(held, Mapping) else {}
        words = [options.get(key) for key in ("finish_reason", "stop_reason", "finish_message")]
        if any(words):
            return ": ".join(str(word) for word in words if word)
    return ""

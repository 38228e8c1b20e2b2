"""Reads a constrained reply: a call, or an answer, which is passed on as it arrives.

A call goes to the decoder of calls written as text, like any other. A call that was cut off is one
that is incomplete, so it never runs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from toolkeel.agent.reply_assembly import make_call_id
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.model_interface import (
    CallDelta,
    Delta,
    Finish,
    OutputFormat,
    TextDelta,
    ToolDefinition,
)
from toolkeel.providers.constrained.reply_schema import MAX_CHARS, answer_function, named_tools
from toolkeel.providers.text_calls.decoder import TextCalls
from toolkeel.providers.text_pieces import BracketScanner
from toolkeel.providers.wire.media import text_without_media

_CUT_CALL = re.compile(
    r'\s*\{\s*"name"\s*:\s*"(?P<name>[^"]+)"(?:\s*,\s*"arguments"\s*:\s*(?P<arguments>.*))?',
    re.DOTALL,
)
_COMPLETE = re.compile(
    r'(?:[^"\\]|\\[^u]|\\u(?![dD][89abAB])[0-9a-fA-F]{4}'
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2})*",
    re.DOTALL,
)
"""Text of a JSON string up to an escape that is still arriving, or wrong."""
_ESCAPE = 6
"""Characters of an escape such as ``\\u00e9``."""


class ConstrainedReply:
    """Deltas of a constrained reply in; text and calls out.

    Args:
        tools: The tools that may be called.
        output: The form of an answer; None for text.

    >>> reply = ConstrainedReply([])
    >>> head = '{"name": "answer", "arguments": {"text": "'
    >>> reply.feed(TextDelta(head + "4")), reply.feed(TextDelta('2"}}')), reply.feed(Finish("stop"))[-1].reason
    ([TextDelta(text='4')], [TextDelta(text='2')], 'stop')
    """

    def __init__(self, tools: Iterable[ToolDefinition], output: OutputFormat | None = None) -> None:
        listed = list(tools)
        answer = answer_function(listed, output)
        self._head = (
            *("{", '"name"', ":", f'"{answer.name}"', ","),
            *('"arguments"', ":", "{", f'"{answer.key}"', ":"),
        )
        """What an answer begins with, in pieces between which there may be spaces."""
        self._names = {alias: tool.name for alias, tool in named_tools(listed)}
        self._calls = TextCalls(listed)
        self._is_text = output is None
        self._state: Literal["start", "call", "text", "json", "done"] = "start"
        self._buffer = ""
        self._brackets = BracketScanner('"')
        self._passed = 0
        """Characters of a JSON answer that were passed on."""
        self._has_bounded_text = False

    def feed(self, delta: Delta) -> list[Delta]:
        """Return the deltas that are certain after `delta`: answer text, or calls at the end.

        `Finish` has the reason ``tool_calls`` after calls, or ``length`` if one holds a text of the
        schema's maximum length. Deltas that are no text are returned unchanged.
        """
        if isinstance(delta, TextDelta):
            self._buffer += delta.text
            return self._read()
        if not isinstance(delta, Finish):
            return [delta]
        rest = self._finish(delta.reason)
        reason = delta.reason
        if any(isinstance(one, CallDelta) for one in rest) and reason == "stop":
            reason = "length" if self._has_bounded_text else "tool_calls"
        return [*rest, replace(delta, reason=reason)]

    def _read(self) -> list[Delta]:
        """Decide if the buffer is a call or an answer; consume and return an answer's deltas."""
        if self._state == "start":
            head = re.match(r"\s*".join(["", *map(re.escape, self._head), ""]), self._buffer)
            if head is None:
                if not "".join(self._head).startswith("".join(self._buffer.split())):
                    self._state = "call"
                return []
            begins_text = self._buffer[head.end() :][:1]
            if not begins_text:
                return []
            self._state = "text" if self._is_text and begins_text == '"' else "json"
            self._buffer = self._buffer[head.end() + (self._state == "text") :]
        if self._state == "text":
            return self._read_text()
        if self._state == "json":
            return self._read_json()
        return []

    def _read_text(self) -> list[Delta]:
        """Consume and return the next piece of an answer's JSON string; none if incomplete."""
        pieces: list[str] = []
        while match := _COMPLETE.match(self._buffer):
            pieces.append(json.loads(f'"{match.group()}"', strict=False))
            self._buffer = self._buffer[match.end() :]
            if not _is_wrong_escape(self._buffer):
                break
            pieces.append("\ufffd")
            self._buffer = self._buffer[_ESCAPE:]
        if self._buffer.startswith('"'):
            self._state = "done"
        text = "".join(pieces)
        return [TextDelta(text)] if text else []

    def _read_json(self) -> list[Delta]:
        """Consume and return the next piece of an answer's JSON value."""
        self._brackets.feed(self._buffer)
        end = len(self._buffer)
        if self._brackets.end:
            self._state, end = "done", self._brackets.end - self._passed
        self._passed += len(self._buffer)
        piece, self._buffer = self._buffer[:end], ""
        return [TextDelta(piece)] if piece else []

    def _finish(self, reason: str) -> list[Delta]:
        """Return the calls of a reply that was not an answer, and record if one was at its bounds.

        A truncated call is returned incomplete.
        """
        if self._state not in ("start", "call"):
            return []
        deltas = [*self._calls.feed(TextDelta(self._buffer)), *self._calls.finish()]
        calls = [one for one in deltas if isinstance(one, CallDelta)]
        cut = _CUT_CALL.match(self._buffer)
        if not calls and cut and reason != "stop":
            name = self._names.get(cut["name"], cut["name"])
            return [CallDelta(0, make_call_id(), name, cut["arguments"] or "")]
        self._has_bounded_text = any(_is_bounded(one.arguments) for one in calls)
        return deltas


def read_constrained(
    reply: AssistantMessage, tools: Iterable[ToolDefinition], output: OutputFormat | None = None
) -> AssistantMessage:
    """Return a complete constrained reply with its call, or with its answer as text; its end as `feed` says."""
    reader = ConstrainedReply(tools, output)
    deltas = [*reader.feed(TextDelta(text_without_media(reply)))]
    *rest, end = reader.feed(Finish(reply.finish_reason))
    assert isinstance(end, Finish)
    deltas += rest
    complete = end.reason in ("stop", "tool_calls")
    calls = tuple(
        ToolCall(one.id, one.name, one.arguments, complete)
        for one in deltas
        if isinstance(one, CallDelta)
    )
    text = "".join(one.text for one in deltas if isinstance(one, TextDelta))
    return replace(reply, content=text, tool_calls=calls, finish_reason=end.reason)


def _is_wrong_escape(text: str) -> bool:
    """Return True if an escape of half a surrogate pair, at the start, is not followed by the other half."""
    if not text.startswith("\\u") or len(text) < _ESCAPE + 1:
        return False
    return not "\\u".startswith(text[_ESCAPE : _ESCAPE + 2]) or len(text) >= 2 * _ESCAPE


def _is_bounded(arguments: str) -> bool:
    """Return True if arguments contain a text that reaches the schema's maximum length."""
    with suppress(ValueError, RecursionError):
        return _has_bounded_text(json.loads(arguments))
    return False


def _has_bounded_text(value: object) -> bool:
    """Return True if a text has the longest length that the schema allows, so that it was cut."""
    if isinstance(value, str):
        return len(value) == MAX_CHARS
    if isinstance(value, Mapping):
        return any(map(_has_bounded_text, value.values()))
    return isinstance(value, list) and any(map(_has_bounded_text, value))

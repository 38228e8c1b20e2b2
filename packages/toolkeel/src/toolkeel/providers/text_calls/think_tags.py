"""Reasoning that a server passes on as text between ``<think>`` and ``</think>``.

Servers whose model was not configured with a reasoning parser do so (vLLM, SGLang, llama.cpp), and
some services do it for every model (MiniMax). `ThinkTags` works between the decoder and readers of
its deltas. A tag counts anywhere except next to a backtick and in fenced code, where the text is about
tags, and only while the server sends no reasoning of its own. Templates that open the tag in the prompt leave only
``</think>`` in the reply: then all text before it was reasoning, and as it was streamed as text
already, the complete message follows the deltas; so it does if that tag is behind a fence that never ends.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from toolkeel.agent.reply_assembly import assemble
from toolkeel.content import Text
from toolkeel.messages import AssistantMessage, Reasoning
from toolkeel.model_interface import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolkeel.providers.text_calls.code_fences import CodeFences
from toolkeel.providers.wire.media import text_without_media

OPEN, CLOSE = "<think>", "</think>"
THINK_KEY = "think"
"""Value of a reply's ``reasoning_key`` whose reasoning arrived between tags."""
_TAG = re.compile(r"(?<!`)</?think>(?!`)")
_BREAKS = "\r\n"


class ThinkTags:
    """Turns text between tags into reasoning, delta by delta.

    >>> tags = ThinkTags()
    >>> tags.feed(TextDelta("<think>Easy.</th"))
    [ReasoningDelta(text='Easy.', signature='')]
    >>> tags.feed(TextDelta("ink>\\n\\n4")) + tags.finish()
    [TextDelta(text='4')]
    """

    def __init__(self) -> None:
        self._state: Literal["start", "text", "thinking", "inside", "off"] = "start"
        self._buffer = ""
        self._pieces: list[str] = []
        """Text after an opening tag inside the text, until its closing tag arrives."""
        self._deltas: list[Delta] = []
        self._length = 0
        """Characters of the text so far."""
        self._has_thoughts = False
        self._is_blank = True
        """True if only line breaks followed the opening tag so far."""
        self._unopened: int | None = None
        """Length of the text that turned out to be reasoning."""
        self._fenced_close: int | None = None
        """Length of the text before the first closing tag in a fence that is open."""
        self._fences = CodeFences()

    def feed(self, delta: Delta | AssistantMessage) -> list[Delta | AssistantMessage]:
        """Return the deltas decided after `delta`, buffering text that may be a tag.

        A complete message stays as it is.
        """
        if isinstance(delta, CallDelta):
            self._deltas += (delta,)
            return [delta]
        if isinstance(delta, AssistantMessage):
            return [delta]
        new: list[Delta] = []
        if isinstance(delta, TextDelta) and self._state != "off":
            if self._state == "text" and not (
                self._buffer or "<" in delta.text or "`" in delta.text
            ):
                self._length += len(delta.text)  # no part of a tag: most text
                self._fences.add(delta.text)
                new = [delta]
            else:
                self._buffer += delta.text
                new = self._read(is_final=False)
        elif isinstance(delta, Finish):
            new = [*self._read(is_final=True), self._with_key(delta)]
        else:
            if isinstance(delta, ReasoningDelta):  # the server has a parser
                new = self._read(is_final=True)
                self._state = "off"
            new.append(delta)
        self._deltas += new
        if isinstance(delta, Finish) and self._unopened is not None:
            return [*new, self._correct_reply(self._unopened)]
        if isinstance(delta, Finish) and self._fenced_close is not None and self._fences.is_open():
            return [*new, self._correct_reply(self._fenced_close, CLOSE)]
        return [*new]

    def finish(self) -> list[Delta]:
        """Return the deltas that were waiting. The reply is over."""
        return self._read(is_final=True)

    def _with_key(self, end: Finish) -> Finish:
        """Return the end of the reply, with the key for reasoning if there was some in tags."""
        if not self._has_thoughts or "reasoning_key" in end.provider_options:
            return end
        return replace(end, provider_options={**end.provider_options, "reasoning_key": THINK_KEY})

    def _correct_reply(self, length: int, tag: str = "") -> AssistantMessage:
        """Return the complete reply, with the text before an unopened closing tag as reasoning.

        Args:
            length: Length of the text before the tag.
            tag: The tag, if it is part of the text.
        """
        reply = assemble(self._deltas)
        words = text_without_media(reply)
        text, thought = words[length + len(tag) :], words[:length].strip(_BREAKS)
        text = text.lstrip(_BREAKS) if tag else text
        blocks = () if isinstance(reply.content, str) else reply.content
        media = tuple(block for block in blocks if not isinstance(block, Text))
        thoughts = (Reasoning(thought, "", reply.model), *reply.reasoning)
        content = (*((Text(text),) if text else ()), *media) if media else text
        return replace(reply, content=content, reasoning=thoughts if thought else reply.reasoning)

    # — reading —

    def _read(self, *, is_final: bool) -> list[Delta]:
        """Read the buffer as far as it is certain; return text and reasoning as deltas."""
        new: list[Delta] = []
        while self._buffer or is_final:
            before = self._state, len(self._buffer)
            match self._state:
                case "start":
                    new += self._read_start(is_final)
                case "text":
                    new += self._read_text(is_final)
                case "thinking":
                    new += self._read_thinking(is_final)
                case "inside":
                    new += self._read_inside(is_final)
                case "off":
                    break
            if before == (self._state, len(self._buffer)):
                break
        return new

    def _read_start(self, is_final: bool) -> list[Delta]:
        """Return the deltas of a text of which only blanks came so far; set the state by what it begins with."""
        if self._has_thoughts or self._unopened is not None:
            self._buffer = self._buffer.lstrip(_BREAKS)
        rest = self._buffer.lstrip()
        if rest.startswith(OPEN):
            blanks = self._take_text(len(self._buffer) - len(rest)) if self._length else []
            self._buffer = rest[len(OPEN) :]
            self._state, self._has_thoughts, self._is_blank = "thinking", True, True
            return blanks
        if is_final or not OPEN.startswith(rest):
            self._state = "text"
        return []

    def _read_text(self, is_final: bool) -> list[Delta]:
        """Return the text up to a tag, from the buffer; a tag changes the state.

        Text that may be a part of a tag stays in the buffer, unless it `is_final`.
        """
        found = _TAG.search(self._buffer)
        if found is None or (found.end() == len(self._buffer) and not is_final):
            return self._take_text(len(self._buffer) if is_final else _certain_length(self._buffer))
        emitted = self._take_text(found.start())
        if self._fences.is_open():
            if found[0] == CLOSE and self._fenced_close is None and self._is_unopened():
                self._fenced_close = self._length
            return emitted + self._take_text(len(found[0]))
        self._fenced_close = None
        self._buffer = self._buffer[len(found[0]) :]
        if found[0] == OPEN:
            self._state = "inside"
        elif not self._is_unopened():
            emitted.append(TextDelta(CLOSE))
        else:
            self._unopened = self._length
            self._state = "start"
        return emitted

    def _is_unopened(self) -> bool:
        """Return True if the reply had no reasoning so far, so that a closing tag ends some."""
        return not self._has_thoughts and self._unopened is None

    def _take_text(self, end: int) -> list[Delta]:
        """Remove text up to `end` from the buffer, and return it as a delta."""
        emitted, self._buffer = self._buffer[:end], self._buffer[end:]
        self._length += len(emitted)
        self._fences.add(emitted)
        return [TextDelta(emitted)] if emitted else []

    def _read_thinking(self, is_final: bool) -> list[Delta]:
        """Return the reasoning at the reply's beginning, from the buffer, up to its closing tag.

        Without the tag, only what cannot be a part of it, but all text if it `is_final`.
        """
        if self._is_blank:
            self._buffer = self._buffer.lstrip(_BREAKS)
            self._is_blank = not self._buffer
        thought, tag, rest = self._buffer.partition(CLOSE)
        if tag or is_final:
            self._buffer = rest
            self._state = "start" if tag else self._state
        else:
            end = _certain_length(thought)
            end = len(thought[:end].rstrip(_BREAKS))
            thought, self._buffer = thought[:end], thought[end:]
        thought = thought.rstrip(_BREAKS) if tag or is_final else thought
        return [ReasoningDelta(thought)] if thought else []

    def _read_inside(self, is_final: bool) -> list[Delta]:
        """Return the deltas behind an opening tag inside the text: text, if it is never closed."""
        thought, tag, rest = self._buffer.partition(CLOSE)
        if tag:
            joined = "".join([*self._pieces, thought]).strip(_BREAKS)
            self._pieces, self._buffer = [], rest
            self._state, self._has_thoughts = "start", True
            return [ReasoningDelta(joined)] if joined else []
        end = len(thought) if is_final else _certain_length(thought)
        self._pieces.append(thought[:end])
        self._buffer = thought[end:]
        if not is_final:
            return []
        emitted, self._pieces, self._state = OPEN + "".join(self._pieces), [], "text"
        return [TextDelta(emitted)]


def _certain_length(text: str) -> int:
    """Return how much of `text` cannot be part of a tag, or of the backtick before one."""
    start = text.rfind("<", -len(CLOSE))
    if start >= 0 and any(tag.startswith(text[start:]) for tag in (OPEN, CLOSE)):
        return start - text.endswith("`", 0, start)
    return len(text) - text.endswith("`")

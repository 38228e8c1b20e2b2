"""Finds calls in a model's text, for servers that pass them on as text.

A server knows the form in which its model writes calls and turns them into ``tool_calls``, unless it
is not configured for the model. `TextCalls` does that on the client, between the decoder and the
reader of its deltas: text that is a call, from the first character of a marker to the last of its end,
becomes a call, and all other text passes through as it arrives. A possible start of a marker waits
until it is decided, so readers never see half of one.

It is strict, since a model's text may also be *about* calls: only known tools, only arguments in the
exact form, nothing in code (fenced, or between backticks) and nothing in ``<think>``. Everything else
stays text. Two forms have no marker of their own and depend on the complete reply: bare JSON, alone or
after one sentence, up to the end; and a reply that is one code fence around calls. They wait for the end
of the reply, but only while nothing contradicts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from toolkeel.agent.reply_assembly import make_call_id
from toolkeel.content import Text
from toolkeel.define.names import wire_names
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.model_interface import CallDelta, Delta, Finish, TextDelta, ToolDefinition
from toolkeel.providers.text_calls.forms import (
    CLOSERS,
    FENCE_HEAD,
    FORMS,
    Call,
    TextForm,
    fenced_calls,
    json_calls,
    python_calls,
)
from toolkeel.providers.text_calls.starts import begins_fence, begins_json, begins_list
from toolkeel.providers.text_pieces import BracketScanner
from toolkeel.providers.wire.media import text_without_media

_FORMS = {form.open: form for form in FORMS}
_END_TOKENS = ("<|eom_id|>", "<|eot_id|>", "<|im_end|>", "<|end|>", "<|endoftext|>", "</s>")
_LEFTOVERS = frozenset({*CLOSERS, *_END_TOKENS})
"""Texts that are dropped right after a call."""
_MARKS = (*_FORMS, *_LEFTOVERS, "<think>", "</think>")
_START = re.compile(r"[<\[]")
_TOKENS = re.compile("|".join([*map(re.escape, _MARKS), r"\n|\[|\{|`+|~+"]))
_LONGEST = max(map(len, _MARKS))
_TRIES = 16
"""Times the end of a form may turn out to be part of an argument."""
_END = re.compile(f"(?:\\s|{'|'.join(map(re.escape, _END_TOKENS))})*")
_ENDS = re.compile(_END.pattern + r"\Z")
_CLOSER = re.compile("|".join(map(re.escape, CLOSERS)))
_SENTENCE_ENDS = ".:!?\u2026\u3002\uff1a\uff01\uff1f"
_LONGEST_SENTENCE = 400
"""Characters of text that may come before bare JSON."""

_LIST = TextForm("[", "", python_calls, close_is_optional=False)
_JSON = TextForm("{", "", json_calls)
_FENCE = TextForm("```", "", fenced_calls)
_UNCERTAIN = TextForm("", "", json_calls)
"""A form may start here; the next text decides."""


class TextCalls:
    """Deltas in, deltas out, with the calls that were written as text among them.

    Args:
        tools: The tools that the model may call.

    >>> from toolkeel.model_interface import CallDelta
    >>> class Add:
    ...     name, description, parameters, provider_options = "add", "", {}, {}
    >>> texts = TextCalls([Add()])
    >>> texts.feed(TextDelta('Sure. <tool_call>{"name": "add", '))
    [TextDelta(text='Sure. ')]
    >>> [call] = texts.feed(TextDelta('"arguments": {"a": 1}}</tool_call>'))
    >>> call.name, call.arguments
    ('add', '{"a":1}')
    >>> [end] = texts.feed(Finish("stop"))
    >>> end.reason
    'tool_calls'
    """

    def __init__(self, tools: Iterable[ToolDefinition]) -> None:
        listed = list(tools)
        aliases = wire_names([tool.name for tool in listed])
        self._schemas = {aliases[tool.name]: tool.parameters for tool in listed}
        self._names = {alias: name for name, alias in aliases.items()}
        self._buffer = ""
        self._form: TextForm | None = None
        self._brackets = BracketScanner("'\"")
        self._searched = self._tries = 0
        self._value_at = 0
        """Start of the last of several JSON values."""
        self._prose = ""
        """Start of the visible text so far, without reasoning."""
        self._has_calls = False
        self._after_call = False
        """True if the last output was a call."""
        self._is_line_start = True
        """True if only blanks precede on the same line."""
        self._fence = ""
        self._backticks = ""
        self._is_thinking = False
        self._numbers: dict[int, int] = {}

    def feed(self, delta: Delta) -> list[Delta]:
        """Return the deltas that are decided after `delta`; buffer text that is not."""
        if isinstance(delta, TextDelta):
            self._buffer += delta.text
            return self._read(is_final=False)
        if isinstance(delta, CallDelta):
            return [replace(delta, index=self._call_index(delta.index))]
        if isinstance(delta, Finish):
            rest = self.finish()
            calls = self._has_calls and delta.reason == "stop"
            return [*rest, replace(delta, reason="tool_calls") if calls else delta]
        return [delta]

    def finish(self) -> list[Delta]:
        """Return the deltas that were waiting. The reply is over."""
        return self._read(is_final=True)

    def _call_index(self, index: int) -> int:
        """Return a call's index among all calls of the reply, reserving one for a new call."""
        return self._numbers.setdefault(index, len(self._numbers))

    def _read(self, is_final: bool) -> list[Delta]:
        """Read the buffer as far as it is certain; return its text and calls as deltas."""
        deltas: list[Delta] = []
        while self._buffer or (self._form is not None and is_final):
            before = self._buffer, self._form
            if self._form is None:
                deltas += self._scan(is_final)
            else:
                deltas += self._end_form(self._form, is_final)
            if (self._buffer, self._form) == before:
                break
        return _join_texts(deltas)

    def _scan(self, is_final: bool) -> list[Delta]:
        """Remove and return the text up to the next form, which is entered, or to a possible start of one.

        With `is_final`, no more text follows.
        """
        buffer, at = self._buffer, 0
        for match in _TOKENS.finditer(buffer):
            if match.start() < at:
                continue
            token = match.group()
            self._track_text(buffer[at : match.start()])
            if not is_final and self._may_continue(match):
                return self._emit_text(buffer, match.start())
            at = match.end()
            form = self._form_at(match.start(), token, is_final)
            if form is not None:
                emitted = self._emit_text(buffer, match.start())
                if form is not _UNCERTAIN:
                    self._enter(form, len(token) if form.open in _FORMS else 0)
                return emitted
            if token in _LEFTOVERS and self._after_call and not buffer[: match.start()].strip():
                self._buffer = buffer[at:]
                return []
            self._track_context(token)
        end = len(buffer) if is_final else _certain_length(buffer)
        self._track_text(buffer[at:end])
        return self._emit_text(buffer, end)

    def _may_continue(self, match: re.Match[str]) -> bool:
        """Return True if a match reaches the end of the buffer and may be the start of a longer one."""
        rest = self._buffer[match.start() :]
        if rest[0] in "`~":
            return match.end() == len(self._buffer)
        return any(len(one) > len(rest) and one.startswith(rest) for one in _MARKS)

    def _form_at(self, at: int, token: str, is_final: bool) -> TextForm | None:
        """Return the form that starts at `at`, None if none does, or `_UNCERTAIN` until more text has arrived.

        With `is_final`, no more text follows.
        """
        if self._fence or self._backticks or self._is_thinking or not self._schemas:
            return None
        if token in _FORMS:
            return _FORMS[token]
        rest = self._buffer[at:]
        if token[0] in "`~" and len(token) > 2 and not self._prose.strip():
            fenced = begins_fence(rest, self._schemas, is_final)
            return _UNCERTAIN if fenced is None else _FENCE if fenced else None
        if token not in ("[", "{"):
            return None
        listed = begins_list(rest, self._schemas) if token == "[" and self._is_line_start else False
        json = begins_json(rest, self._schemas) if self._is_after_sentence() else False
        if listed or json:
            return _LIST if listed else _JSON
        return _UNCERTAIN if not is_final and None in (listed, json) else None

    def _is_after_sentence(self) -> bool:
        """Return True at the start of the reply, and after one line or sentence of less than `_LONGEST_SENTENCE` characters."""
        prose = self._prose.strip()
        ended = self._is_line_start or prose[-1:] in _SENTENCE_ENDS
        return not prose or (ended and "\n" not in prose and len(prose) < _LONGEST_SENTENCE)

    def _track_text(self, text: str) -> None:
        """Add text between tokens to the prose; unless it is blank, no line starts behind it."""
        if text.strip():
            self._is_line_start = False
        self._track_prose(text)

    def _track_prose(self, text: str) -> None:
        """Append text outside thinking, up to the length of one sentence."""
        if not self._is_thinking and len(self._prose) <= _LONGEST_SENTENCE:
            self._prose += text

    def _track_context(self, token: str) -> None:
        """Track code fences, backticks and thinking, in which markers do not count."""
        if token == "</think>" and not self._is_thinking:  # all before it was reasoning
            self._prose = ""
        elif token not in ("<think>", "</think>"):
            self._track_prose(token)
        if token == "\n":
            self._is_line_start, self._backticks = True, ""
            return
        if len(token) > 2 and token[0] in "`~" and self._is_line_start:
            if not self._fence:
                self._fence = token
            elif token.startswith(self._fence):
                self._fence = ""
        elif token[0] == "`" and not self._fence:
            self._backticks = {"": token, token: ""}.get(self._backticks, self._backticks)
        elif token in ("<think>", "</think>"):
            self._is_thinking = token == "<think>"
        self._is_line_start = token == "</think>"

    def _enter(self, form: TextForm, past: int) -> None:
        """Start reading a form, whose content begins `past` characters into the buffer."""
        self._form = form
        self._buffer = self._buffer[past:]
        self._searched = self._tries = self._value_at = 0
        self._brackets = BracketScanner("'\"" if form is _LIST else '"')

    def _end_form(self, form: TextForm, is_final: bool) -> list[Delta]:
        """Return the calls of the entered form, once its end has arrived; no deltas before.

        With `is_final`, no more text follows: a form without an end becomes text.
        """
        if form is _LIST:
            self._brackets.feed(self._buffer[self._searched :])
            self._searched, end = len(self._buffer), self._brackets.end
            if end and (calls := form.parse(self._buffer[:end], self._schemas)):
                return self._emit_calls(calls, end)
            return self._abandon_form(form) if end or is_final else []
        if form is _JSON and (ended := self._end_json()) is not None:
            return ended
        if form is _FENCE and not is_final and self._is_past_fence():
            return self._abandon_form(form)
        while form.close and self._tries < _TRIES:
            end = self._buffer.find(form.close, self._searched)
            if end < 0:
                self._searched = max(0, len(self._buffer) - len(form.close) + 1)
                break
            if calls := form.parse(self._buffer[:end], self._schemas):
                return self._emit_calls(calls, end + len(form.close))
            self._tries += 1
            self._searched = end + len(form.close)
        if is_final and form.close_is_optional:
            body = _ENDS.sub("", self._buffer)
            if calls := form.parse(body, self._schemas):
                return self._emit_calls(calls, len(self._buffer))
        return self._abandon_form(form) if is_final or self._tries >= _TRIES else []

    def _end_json(self) -> list[Delta] | None:
        """End bare JSON at a closing tag, or at text that cannot belong to it; None: go on."""
        self._brackets.feed(self._buffer[self._searched :])
        self._searched = len(self._buffer)
        while self._brackets.end and self._tries < _TRIES:
            rest = self._buffer[self._value_at + self._brackets.end :].lstrip(" \t\r\n;,")
            at = len(self._buffer) - len(rest)
            if closer := _CLOSER.match(rest):
                calls = _JSON.parse(self._buffer[:at], self._schemas)
                return self._emit_calls(calls, at + closer.end()) if calls else None
            if rest[:1] not in ("{", "["):
                return None if _may_end(rest, CLOSERS) else self._abandon_form(_JSON)
            self._tries += 1
            self._value_at, self._brackets = at, BracketScanner('"')
            self._brackets.feed(rest)
        return None

    def _is_past_fence(self) -> bool:
        """Return True if the fence was closed and text follows, so that it was an example.

        Record where the search for its end continues.
        """
        if (head := FENCE_HEAD.match(self._buffer)) is None:
            return True
        fence, at = head["fence"], max(head.end(), self._searched)
        while (end := self._buffer.find(fence, at)) >= 0:
            at = end + len(fence)
            if _may_end(self._buffer[at:]):
                self._searched = end
                return False
            self._tries += 1
            if self._tries >= _TRIES or _FENCE.parse(self._buffer[:at], self._schemas):
                return True
        self._searched = max(head.end(), len(self._buffer) - len(fence) + 1)
        return False

    def _emit_calls(self, calls: list[Call], end: int) -> list[Delta]:
        """Leave the form that ends at `end`; return a delta for each of its calls."""
        self._buffer, self._form = self._buffer[end:], None
        self._has_calls = self._after_call = True
        self._is_line_start = True
        deltas: list[Delta] = []
        for name, arguments in calls:
            number = self._call_index(-1 - len(self._numbers))
            deltas.append(CallDelta(number, make_call_id(), self._names[name], arguments))
        return deltas

    def _abandon_form(self, form: TextForm) -> list[Delta]:
        """Leave the form, and return its marker as text; calls may still follow it."""
        self._form = None
        self._after_call = False
        if form is _FENCE and (head := FENCE_HEAD.match(self._buffer)):
            self._track_context(head["fence"])
            return self._emit_text(self._buffer, len(head["fence"]))
        self._track_prose(form.open)
        self._is_line_start = False
        if form.open in _FORMS:
            return [TextDelta(form.open)]
        first, self._buffer = self._buffer[:1], self._buffer[1:]
        return [TextDelta(first)]

    def _emit_text(self, buffer: str, end: int) -> list[Delta]:
        """Remove text up to `end` from the buffer.

        Return it as a delta, without blanks after a call.
        """
        emitted, self._buffer = buffer[:end], buffer[end:]
        if self._after_call:
            emitted = emitted.lstrip()  # blanks between calls, and behind the last
            self._after_call = not emitted
        return [TextDelta(emitted)] if emitted else []


def find_calls(reply: AssistantMessage, tools: Iterable[ToolDefinition]) -> AssistantMessage:
    """Return a reply with the calls in its text, after those that it already has.

    They leave the text, whose blocks become one before the media, and ``stop`` becomes
    ``tool_calls``. A reply without such calls is returned as it is.

    Args:
        reply: As a wire's `decode` returns it.
        tools: The tools that the model may call.
    """
    texts = TextCalls(tools)
    deltas = [*texts.feed(TextDelta(text_without_media(reply))), *texts.finish()]
    found = tuple(
        ToolCall(one.id, one.name, one.arguments) for one in deltas if isinstance(one, CallDelta)
    )
    if not found:
        return reply
    emitted = "".join(one.text for one in deltas if isinstance(one, TextDelta))
    reason = "tool_calls" if reply.finish_reason == "stop" else reply.finish_reason
    calls = (*reply.tool_calls, *found)
    blocks = () if isinstance(reply.content, str) else reply.content
    made = tuple(block for block in blocks if not isinstance(block, Text))
    content = (Text(emitted), *made) if made else emitted
    return replace(reply, content=content, tool_calls=calls, finish_reason=reason)


def _may_end(rest: str, others: Sequence[str] = ()) -> bool:
    """Return True if a reply may end with `rest` and more: blanks, end tokens, one of `others`."""
    rest = _END.sub("", rest, count=1)
    return any(end.startswith(rest) for end in (*_END_TOKENS, *others))


def _certain_length(text: str) -> int:
    """Return the length of `text` up to what may be the start of a marker at its end; its whole length if nothing is."""
    for match in _START.finditer(text, max(0, len(text) - _LONGEST)):
        rest = text[match.start() :]
        if any(one.startswith(rest) for one in _MARKS):
            return match.start()
    return len(text)


def _join_texts(deltas: list[Delta]) -> list[Delta]:
    """Join neighboring text deltas."""
    joined: list[Delta] = []
    for delta in deltas:
        last = joined[-1] if joined else None
        if isinstance(delta, TextDelta) and isinstance(last, TextDelta):
            joined[-1] = TextDelta(last.text + delta.text)
        else:
            joined.append(delta)
    return joined

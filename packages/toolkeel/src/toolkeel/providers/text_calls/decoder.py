"""Finds calls in a model's text, for servers that pass them on as text.

A server knows the form in which its model writes calls and turns them into ``tool_calls``, unless it
is not configured for the model. `TextCalls` does that on the client, between the decoder and the
reader of its deltas: text that is a call, from the first character of a marker to the last of its end,
becomes a call, and all other text passes through as it arrives. A possible start of a marker waits
until it is decided, so readers never see half of one.

It is strict, since a model's text may also be *about* calls: only known tools, only arguments in the
exact form, nothing in code (fenced, or between backticks) and nothing in ``<think>``. Everything else
stays text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from toolkeel.agent.reply_assembly import make_call_id
from toolkeel.content import Text
from toolkeel.define.names import wire_names
from toolkeel.messages import AssistantMessage, ToolCall
from toolkeel.model_interface import CallDelta, Delta, Finish, TextDelta, ToolDefinition
from toolkeel.providers.text_calls.forms import FORMS, Call, TextForm, json_calls, python_calls
from toolkeel.providers.wire.media import text_without_media
from toolkeel.providers.wire.plain_json import BracketScanner

_FORMS = {form.open: form for form in FORMS}
_MARKS = (*_FORMS, "<think>", "</think>")
_TOKENS = re.compile("|".join([*map(re.escape, _MARKS), r"\n|\[|\{|`+|~+"]))
_LONGEST = max(map(len, _MARKS))
_TRIES = 16
"""Times the end of a form may turn out to be part of an argument."""
_ENDS = re.compile(r"(?:\s|<\|(?:eom_id|eot_id|im_end|end|endoftext)\|>|</s>)*\Z")

_LIST = TextForm("[", "", python_calls, close_is_optional=False)
_JSON = TextForm("{", "", json_calls)
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
        self._searched = 0
        self._tries = 0
        self._has_output = False
        """True if text or calls were emitted."""
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
        """Return the deltas that are decided after `delta`."""
        if isinstance(delta, TextDelta):
            self._buffer += delta.text
            return self._read(over=False)
        if isinstance(delta, CallDelta):
            return [replace(delta, index=self._call_index(delta.index))]
        if isinstance(delta, Finish):
            rest = self.finish()
            calls = self._has_calls and delta.reason == "stop"
            return [*rest, replace(delta, reason="tool_calls") if calls else delta]
        return [delta]

    def finish(self) -> list[Delta]:
        """Return the deltas that were waiting. The reply is over."""
        return self._read(over=True)

    def _call_index(self, index: int) -> int:
        """Return a call's index in the reply, of calls in the text and beside it together."""
        return self._numbers.setdefault(index, len(self._numbers))

    def _read(self, over: bool) -> list[Delta]:
        deltas: list[Delta] = []
        while self._buffer or (self._form is not None and over):
            before = self._buffer, self._form
            if self._form is None:
                deltas += self._scan(over)
            else:
                deltas += self._end_form(self._form, over)
            if (self._buffer, self._form) == before:
                break
        return _join_texts(deltas)

    def _scan(self, over: bool) -> list[Delta]:
        """Emit text up to the next form, which is entered, or to a possible start of one."""
        buffer, at = self._buffer, 0
        for match in _TOKENS.finditer(buffer):
            if match.start() < at:
                continue
            token = match.group()
            if buffer[at : match.start()].strip():
                self._is_line_start = False
            if not over and self._may_continue(match):
                return self._emit_text(buffer, match.start())
            at = match.end()
            form = self._form_at(match.start(), token, over)
            if form is not None:
                emitted = self._emit_text(buffer, match.start())
                if form is not _UNCERTAIN:
                    self._enter(form, len(token) if form.open in _FORMS else 0)
                return emitted
            self._track_context(token)
        end = len(buffer) if over else _certain_length(buffer)
        if buffer[at:end].strip():
            self._is_line_start = False
        return self._emit_text(buffer, end)

    def _may_continue(self, match: re.Match[str]) -> bool:
        """Return True if a match reaches the end of the buffer and may be the start of a longer one."""
        rest = self._buffer[match.start() :]
        if rest[0] in "`~":
            return match.end() == len(self._buffer)
        return any(len(one) > len(rest) and one.startswith(rest) for one in _MARKS)

    def _form_at(self, at: int, token: str, over: bool) -> TextForm | None:
        """Return the form that starts at `at`, if there is one."""
        if self._fence or self._backticks or self._is_thinking or not self._schemas:
            return None
        if token in _FORMS:
            return _FORMS[token]
        if token not in ("[", "{") or not self._is_line_start:
            return None
        rest = self._buffer[at:]
        listed = self._begins_list(rest) if token == "[" else False
        alone = not (self._has_output or self._buffer[:at].strip())
        json = self._begins_json(rest) if alone else False
        if listed or json:
            return _LIST if listed else _JSON
        return _UNCERTAIN if not over and None in (listed, json) else None

    def _begins_list(self, text: str) -> bool | None:
        """Return True if `text` starts with ``[name(``, or None if that is not decided yet."""
        rest = text[1:].lstrip()
        for name in self._schemas:
            behind = rest[len(name) :].lstrip() if rest.startswith(name) else None
            if behind and behind[0] == "(":
                return True
            if behind == "" or name.startswith(rest):
                return None if len(text) < 2 * _LONGEST + len(name) else False
        return False

    def _begins_json(self, text: str) -> bool | None:
        """Return True if `text` starts like the JSON of a call; None if that is not decided yet."""
        compact = "".join(text[: 4 * _LONGEST].split()).removeprefix("[")
        heads = [f'{{"name":"{name}"' for name in self._schemas]
        heads += ['{"type":"function",', '{"function":{']
        if any(compact.startswith(head) for head in heads):
            return True
        return None if any(head.startswith(compact) for head in heads) else False

    def _track_context(self, token: str) -> None:
        """Track code fences, backticks and thinking, in which markers do not count."""
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
        self._form = form
        self._buffer = self._buffer[past:]
        self._searched = self._tries = 0
        self._brackets = BracketScanner("'\"")

    def _end_form(self, form: TextForm, over: bool) -> list[Delta]:
        """Return the calls of the entered form, once its end has arrived."""
        if form is _LIST:
            self._brackets.feed(self._buffer[self._searched :])
            self._searched, end = len(self._buffer), self._brackets.end
            if end and (calls := form.parse(self._buffer[:end], self._schemas)):
                return self._emit_calls(calls, end)
            return self._abandon_form(form) if end or over else []
        while form.close and self._tries < _TRIES:
            end = self._buffer.find(form.close, self._searched)
            if end < 0:
                self._searched = max(0, len(self._buffer) - len(form.close) + 1)
                break
            if calls := form.parse(self._buffer[:end], self._schemas):
                return self._emit_calls(calls, end + len(form.close))
            self._tries += 1
            self._searched = end + len(form.close)
        if over and form.close_is_optional:
            body = _ENDS.sub("", self._buffer)
            if calls := form.parse(body, self._schemas):
                return self._emit_calls(calls, len(self._buffer))
        return self._abandon_form(form) if over or self._tries >= _TRIES else []

    def _emit_calls(self, calls: list[Call], end: int) -> list[Delta]:
        self._buffer, self._form = self._buffer[end:], None
        self._has_output = self._has_calls = self._after_call = True
        self._is_line_start = True
        deltas: list[Delta] = []
        for name, arguments in calls:
            number = self._call_index(-1 - len(self._numbers))
            deltas.append(CallDelta(number, make_call_id(), self._names[name], arguments))
        return deltas

    def _abandon_form(self, form: TextForm) -> list[Delta]:
        """Emit the marker as text; calls may still follow it."""
        self._form = None
        self._has_output = True
        self._is_line_start = False
        self._after_call = False
        if form.open in _FORMS:
            return [TextDelta(form.open)]
        first, self._buffer = self._buffer[:1], self._buffer[1:]
        return [TextDelta(first)]

    def _emit_text(self, buffer: str, end: int) -> list[Delta]:
        emitted, self._buffer = buffer[:end], buffer[end:]
        if self._after_call:
            emitted = emitted.lstrip()  # blanks between calls, and behind the last
            self._after_call = not emitted
        self._has_output = self._has_output or bool(emitted.strip())
        return [TextDelta(emitted)] if emitted else []


def find_calls(reply: AssistantMessage, tools: Iterable[ToolDefinition]) -> AssistantMessage:
    """Return a reply with the calls in its text, after those that it already has.

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


def _certain_length(text: str) -> int:
    """Return how many characters of `text` cannot belong to a marker that is still arriving."""
    start = max(text.rfind("<", -_LONGEST), text.rfind("[", -_LONGEST))
    if start < 0:
        return len(text)
    rest = text[start:]
    return start if any(one.startswith(rest) for one in _MARKS) else len(text)


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

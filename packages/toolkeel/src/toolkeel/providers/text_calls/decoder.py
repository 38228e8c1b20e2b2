"""Calls in what a model says, for servers that pass them on as text.

A server knows the form in which its model writes calls and makes ``tool_calls`` of them, unless
nobody told it to. `TextCalls` does it on this side, between the decoder and whoever reads its
deltas: text that is calls, from the first character of a marker to the last of its end, becomes
calls, and all other text goes through as it comes. What might be the beginning of a marker waits
until it is one or not, so nobody ever sees half of one.

It is strict, since what a model says may also be *about* calls: only tools that there are, only
arguments that are exactly what the form allows, nothing in code (fenced, or between backticks) and
nothing in ``<think>``. Everything else stays the text that it is.
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
from toolkeel.providers.wire.media import words_alone
from toolkeel.providers.wire.plain_json import Brackets

_FORMS = {form.open: form for form in FORMS}
_MARKS = (*_FORMS, "<think>", "</think>")
_TOKENS = re.compile("|".join([*map(re.escape, _MARKS), r"\n|\[|\{|`+|~+"]))
_LONGEST = max(map(len, _MARKS))
_TRIES = 16
"""How often what ends a form may turn out to be part of an argument."""
_ENDS = re.compile(r"(?:\s|<\|(?:eom_id|eot_id|im_end|end|endoftext)\|>|</s>)*\Z")

_LIST = TextForm("[", "", python_calls, may_end=False)
_JSON = TextForm("{", "", json_calls)
_UNCERTAIN = TextForm("", "", json_calls)
"""Stands for a form that may begin here, or not: what comes next tells."""


class TextCalls:
    """Deltas in, deltas out, with the calls that were written as text among them.

    Args:
        tools: What the model may call.

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
        self._held = ""
        self._form: TextForm | None = None
        self._brackets = Brackets("'\"")
        self._searched = 0
        self._tries = 0
        self._begun = False
        """Whether anything was said or called before."""
        self._called = False
        self._fresh = False
        """Whether a call was the last thing that was said."""
        self._blank = True
        """Whether nothing but blanks stands before on the same line."""
        self._fence = ""
        self._ticks = ""
        self._thinks = False
        self._numbers: dict[int, int] = {}

    def feed(self, delta: Delta) -> list[Delta]:
        """What `delta` says, as far as it is certain what it is."""
        if isinstance(delta, TextDelta):
            self._held += delta.text
            return self._read(over=False)
        if isinstance(delta, CallDelta):
            return [replace(delta, index=self._number(delta.index))]
        if isinstance(delta, Finish):
            rest = self.finish()
            calls = self._called and delta.reason == "stop"
            return [*rest, replace(delta, reason="tool_calls") if calls else delta]
        return [delta]

    def finish(self) -> list[Delta]:
        """What was held back: nothing more is said."""
        return self._read(over=True)

    def _number(self, index: int) -> int:
        """A call's number in the reply, of those in text and those beside it together."""
        return self._numbers.setdefault(index, len(self._numbers))

    def _read(self, over: bool) -> list[Delta]:
        deltas: list[Delta] = []
        while self._held or (self._form is not None and over):
            before = self._held, self._form
            if self._form is None:
                deltas += self._scan(over)
            else:
                deltas += self._end_form(self._form, over)
            if (self._held, self._form) == before:
                break
        return _joined(deltas)

    def _scan(self, over: bool) -> list[Delta]:
        """Pass text on up to the next form, which is entered, or to what may be one."""
        held, at = self._held, 0
        for match in _TOKENS.finditer(held):
            if match.start() < at:
                continue
            token = match.group()
            if held[at : match.start()].strip():
                self._blank = False
            if not over and self._may_grow(match):
                return self._say(held, match.start())
            at = match.end()
            form = self._form_at(match.start(), token, over)
            if form is not None:
                said = self._say(held, match.start())
                if form is not _UNCERTAIN:
                    self._enter(form, len(token) if form.open in _FORMS else 0)
                return said
            self._note(token)
        end = len(held) if over else _certain(held)
        if held[at:end].strip():
            self._blank = False
        return self._say(held, end)

    def _may_grow(self, match: re.Match[str]) -> bool:
        """Whether what was found reaches the end and may be the beginning of something longer."""
        rest = self._held[match.start() :]
        if rest[0] in "`~":
            return match.end() == len(self._held)
        return any(len(one) > len(rest) and one.startswith(rest) for one in _MARKS)

    def _form_at(self, at: int, token: str, over: bool) -> TextForm | None:
        """The form that begins at `at`, if one does."""
        if self._fence or self._ticks or self._thinks or not self._schemas:
            return None
        if token in _FORMS:
            return _FORMS[token]
        if token not in ("[", "{") or not self._blank:
            return None
        rest = self._held[at:]
        listed = self._begins_list(rest) if token == "[" else False
        alone = not (self._begun or self._held[:at].strip())
        json = self._begins_json(rest) if alone else False
        if listed or json:
            return _LIST if listed else _JSON
        return _UNCERTAIN if not over and None in (listed, json) else None

    def _begins_list(self, text: str) -> bool | None:
        """Whether `text` begins with ``[name(``; None if it may yet."""
        rest = text[1:].lstrip()
        for name in self._schemas:
            behind = rest[len(name) :].lstrip() if rest.startswith(name) else None
            if behind and behind[0] == "(":
                return True
            if behind == "" or name.startswith(rest):
                return None if len(text) < 2 * _LONGEST + len(name) else False
        return False

    def _begins_json(self, text: str) -> bool | None:
        """Whether `text` begins as the JSON of a call does; None if it may yet."""
        begun = "".join(text[: 4 * _LONGEST].split()).removeprefix("[")
        heads = [f'{{"name":"{name}"' for name in self._schemas]
        heads += ['{"type":"function",', '{"function":{']
        if any(begun.startswith(head) for head in heads):
            return True
        return None if any(head.startswith(begun) for head in heads) else False

    def _note(self, token: str) -> None:
        """Take note of what decides whether a marker counts."""
        if token == "\n":
            self._blank, self._ticks = True, ""
            return
        if len(token) > 2 and token[0] in "`~" and self._blank:
            if not self._fence:
                self._fence = token
            elif token.startswith(self._fence):
                self._fence = ""
        elif token[0] == "`" and not self._fence:
            self._ticks = {"": token, token: ""}.get(self._ticks, self._ticks)
        elif token in ("<think>", "</think>"):
            self._thinks = token == "<think>"
        self._blank = token == "</think>"

    def _enter(self, form: TextForm, past: int) -> None:
        self._form = form
        self._held = self._held[past:]
        self._searched = self._tries = 0
        self._brackets = Brackets("'\"")

    def _end_form(self, form: TextForm, over: bool) -> list[Delta]:
        """The calls of the form that was entered, once its end is there."""
        if form is _LIST:
            self._brackets.feed(self._held[self._searched :])
            self._searched, end = len(self._held), self._brackets.end
            if end and (calls := form.parse(self._held[:end], self._schemas)):
                return self._calls(calls, end)
            return self._give_up(form) if end or over else []
        while form.close and self._tries < _TRIES:
            end = self._held.find(form.close, self._searched)
            if end < 0:
                self._searched = max(0, len(self._held) - len(form.close) + 1)
                break
            if calls := form.parse(self._held[:end], self._schemas):
                return self._calls(calls, end + len(form.close))
            self._tries += 1
            self._searched = end + len(form.close)
        if over and form.may_end:
            body = _ENDS.sub("", self._held)
            if calls := form.parse(body, self._schemas):
                return self._calls(calls, len(self._held))
        return self._give_up(form) if over or self._tries >= _TRIES else []

    def _calls(self, calls: list[Call], end: int) -> list[Delta]:
        self._held, self._form = self._held[end:], None
        self._begun = self._called = self._fresh = True
        self._blank = True
        deltas: list[Delta] = []
        for name, arguments in calls:
            number = self._number(-1 - len(self._numbers))
            deltas.append(CallDelta(number, make_call_id(), self._names[name], arguments))
        return deltas

    def _give_up(self, form: TextForm) -> list[Delta]:
        """What looked like calls is text; what stands behind its marker may still be calls."""
        self._form = None
        self._begun = True
        self._blank = False
        self._fresh = False
        if form.open in _FORMS:
            return [TextDelta(form.open)]
        first, self._held = self._held[:1], self._held[1:]
        return [TextDelta(first)]

    def _say(self, held: str, end: int) -> list[Delta]:
        said, self._held = held[:end], held[end:]
        if self._fresh:
            said = said.lstrip()  # blanks between calls, and behind the last
            self._fresh = not said
        self._begun = self._begun or bool(said.strip())
        return [TextDelta(said)] if said else []


def find_calls(reply: AssistantMessage, tools: Iterable[ToolDefinition]) -> AssistantMessage:
    """A reply with the calls that stand in its text, behind those that it has already.

    Args:
        reply: As a wire's `decode` gives it.
        tools: What the model may call.
    """
    texts = TextCalls(tools)
    deltas = [*texts.feed(TextDelta(words_alone(reply))), *texts.finish()]
    found = tuple(
        ToolCall(one.id, one.name, one.arguments) for one in deltas if isinstance(one, CallDelta)
    )
    if not found:
        return reply
    said = "".join(one.text for one in deltas if isinstance(one, TextDelta))
    reason = "tool_calls" if reply.finish_reason == "stop" else reply.finish_reason
    calls = (*reply.tool_calls, *found)
    blocks = () if isinstance(reply.content, str) else reply.content
    made = tuple(block for block in blocks if not isinstance(block, Text))
    content = (Text(said), *made) if made else said
    return replace(reply, content=content, tool_calls=calls, finish_reason=reason)


def _certain(text: str) -> int:
    """How much of `text` cannot be part of a marker that is still coming."""
    start = max(text.rfind("<", -_LONGEST), text.rfind("[", -_LONGEST))
    if start < 0:
        return len(text)
    rest = text[start:]
    return start if any(one.startswith(rest) for one in _MARKS) else len(text)


def _joined(deltas: list[Delta]) -> list[Delta]:
    """`deltas` with neighbouring texts in one piece."""
    joined: list[Delta] = []
    for delta in deltas:
        last = joined[-1] if joined else None
        if isinstance(delta, TextDelta) and isinstance(last, TextDelta):
            joined[-1] = TextDelta(last.text + delta.text)
        else:
            joined.append(delta)
    return joined

"""Streamed arguments: an incremental parser for previews, whose result cannot be executed.

Theory of operation. `PartialArguments.feed` only stores text. When a value is read, `_parse`
joins what is new and runs a state machine over it from where it stopped, so each character is read
once, whatever the sizes of the pieces and however often a value is read: the time is linear in the
text. (pydantic-core's partial mode is quadratic: it parses from the start for each value.)

A state is a method ``(text, at) -> at``: it takes what it can from position ``at`` and returns the
position behind it. Containers are on ``_stack``; the tree in ``_root`` is complete except for its
right edge. Three things can be cut in two by the end of a piece: a string, which grows in ``_text`` and
is in its container as ``OPEN``; a number or a word, whose pieces wait in ``_token`` until another
character ends it; an escape, which waits in ``_tail`` and is put before the next piece.

::

    _before --{--> _key_or_end --"--> _in_key --"--> _colon --:--> _value
                      ^  | }                                         | string, token, { or [
                      |  v                                           v
    _after <--root closed-- _pop <--} or ]-- _comma_or_end <--value complete--
                                                  | , then _next_key (object) or _value (list)

Malformed text ends the preview (`error`); the strict parse of the complete text reports what is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final, TypeAlias

from toolkeel.call.arguments.parse import MAX_DEPTH, MAX_DIGITS, MAX_SIZE
from toolkeel.call.arguments.partial_value import OPEN, Leaf, PartialValue

_BLANKS: Final = " \t\n\r"
_SPECIAL = re.compile(r'["\\]')
_AFTER_TOKEN = re.compile(r"[^-+.0-9A-Za-z]")
_COMPLETE_KEY = re.compile(r'"([^"\\]*)"[ \t\n\r]*:[ \t\n\r]*')  # as most keys are
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_CODE = re.compile(r"\\u([0-9a-fA-F]{4})")
_CUT = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_ESCAPES = {'"': '"', "\\": "\\", "/": "/", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}
_WORDS: dict[str, Leaf] = {"true": True, "false": False, "null": None}
_NOWHERE: Final = 1 << 62


class PartialArguments:
    """The arguments of one call, as a preview, fed piece by piece.

    A text is shown while it arrives, another value once it has ended. Text that is no JSON raises
    nothing: the preview stays as it is and `error` says why.

    >>> arguments = PartialArguments()
    >>> for piece in ('{"pa', 'th": "a.txt", "li', 'nes": [1, 2'):
    ...     arguments.feed(piece)
    >>> arguments.value(), arguments.complete
    ({'path': 'a.txt', 'lines': [1]}, False)
    """

    __slots__ = (
        "_error", "_fresh", "_key", "_root", "_seen", "_stack", "_state", "_tail", "_text",
        "_token",
    )  # fmt: skip

    def __init__(self) -> None:
        self._fresh: list[str] = []
        self._root: dict[str, object] = {}
        self._stack: list[dict[str, object] | list[object]] = []
        self._state: _State = PartialArguments._before
        self._key = ""
        self._text = ""  # of the string that is open
        self._tail = ""  # an escape that is cut in two: at most 11 characters
        self._token: list[str] = []  # a number or a word that may go on
        self._seen = 0
        self._error = ""

    def feed(self, text: str) -> None:
        """Append the next piece of text. It is parsed when a value is read."""
        self._fresh.append(text)

    def value(self) -> PartialValue:
        """Return a live view of the value so far: complete members, and the beginning of an unfinished string."""
        self._parse()
        return PartialValue(self._root, self)

    @property
    def complete(self) -> bool:
        """True once the object has been closed."""
        self._parse()
        return self._state is PartialArguments._after and not self._error

    @property
    def error(self) -> str:
        """The reason why parsing stopped before the end of the text, or "" if it did not."""
        self._parse()
        return self._error

    @property
    def open_text(self) -> str:
        """The unfinished string, a value or a key, at the end of what has been parsed, or "" if there is none."""
        return self._text

    def _parse(self) -> None:
        """Parse the pieces fed since the last call. Once an error is set, they are dropped."""
        if not self._fresh:
            return
        text = "".join(self._fresh)
        self._fresh.clear()
        self._seen += len(text)
        if self._error:
            return
        if self._seen > MAX_SIZE:
            self._error = "too large"
            return
        if self._tail:
            text, self._tail = self._tail + text, ""
        at, end = 0, len(text)
        while at < end:
            if text[at] in _BLANKS and self._state not in _IN_TEXT:
                at += 1
            else:
                at = self._state(self, text, at)

    def _before(self, text: str, at: int) -> int:
        """Read the brace that opens the arguments. Return the next position."""
        if text[at] != "{":
            return self._fail("not an object")
        self._push(self._root)
        return at + 1

    def _after(self, text: str, at: int) -> int:
        """Fail: text follows the end of the arguments."""
        return self._fail("text after the object")

    def _key_or_end(self, text: str, at: int) -> int:
        """Read the first key of an object, or its end. Return the next position."""
        return self._pop(at) if text[at] == "}" else self._next_key(text, at)

    def _next_key(self, text: str, at: int) -> int:
        """Read a key, or its opening quote, and set the next state. Return the next position."""
        found = _COMPLETE_KEY.match(text, at)
        if found:
            self._key = found[1]
            self._state = PartialArguments._value
            return found.end()
        if text[at] != '"':
            return self._fail("no key")
        self._state = PartialArguments._in_key
        return at + 1

    def _colon(self, text: str, at: int) -> int:
        """Read the colon behind a key, then expect a value. Return the next position."""
        if text[at] != ":":
            return self._fail("no colon")
        self._state = PartialArguments._value
        return at + 1

    def _value_or_end(self, text: str, at: int) -> int:
        """Read the first value of a list, or its end. Return the next position."""
        return self._pop(at) if text[at] == "]" else self._value(text, at)

    def _value(self, text: str, at: int) -> int:
        """Read the beginning of any value, and set the next state. Return the next position."""
        first = text[at]
        if first == '"':
            self._put(OPEN)
            self._state = PartialArguments._in_string
            return self._in_string(text, at + 1)
        if first == "{":
            return self._open({}, at)
        if first == "[":
            return self._open([], at)
        return self._in_token(text, at)

    def _comma_or_end(self, text: str, at: int) -> int:
        """Read a comma behind a member, or its container's end. Return the next position."""
        is_object = type(self._stack[-1]) is dict
        if text[at] == ",":
            self._state = PartialArguments._next_key if is_object else PartialArguments._value
            return at + 1
        if text[at] == ("}" if is_object else "]"):
            return self._pop(at)
        return self._fail("neither a comma nor an end")

    def _in_token(self, text: str, at: int) -> int:
        """Read a number or a literal; once it is whole, put it and set the next state. Return the next position."""
        after = _AFTER_TOKEN.search(text, at)
        if not after:
            self._token.append(text[at:])
            self._state = PartialArguments._in_token
            return len(text)
        end = after.start()
        token = text[at:end]
        if self._token:
            token = "".join(self._token) + token
            self._token.clear()
        found = _leaf(token)
        if found is OPEN:
            return self._fail("no value")
        self._put(found)
        self._state = PartialArguments._comma_or_end
        return end

    def _in_key(self, text: str, at: int) -> int:
        """Extend an unfinished key; at its end expect a colon. Return the next position."""
        at, closed = self._grow(text, at)
        if closed:
            self._key, self._text = self._text, ""
            self._state = PartialArguments._colon
        return at

    def _in_string(self, text: str, at: int) -> int:
        """Extend an unfinished string; at its end store it. Return the next position."""
        at, closed = self._grow(text, at)
        if closed:
            found, self._text = self._text, ""
            self._put(found)
            self._state = PartialArguments._comma_or_end
        return at

    def _grow(self, text: str, at: int) -> tuple[int, bool]:
        """Extend the unfinished string. Return the new position and True if the string ended."""
        grown, self._text = self._text, ""  # no other reference, so it grows in place
        closed, length = False, len(text)
        while at < length and not closed:
            special = _SPECIAL.search(text, at)
            if not special:
                grown += text[at:]
                at = length
                break
            end = special.start()
            grown += text[at:end]
            closed = text[end] == '"'
            piece, at = ("", end + 1) if closed else self._escape(text, end)
            grown += piece
        self._text = grown
        return at, closed

    def _escape(self, text: str, at: int) -> tuple[str, int]:
        """Return the character of an escape and the position behind it.

        Wait if it is incomplete.

        Half of a pair becomes U+FFFD: a preview must be fit to be shown.
        """
        plain = _ESCAPES.get(text[at + 1 : at + 2])
        if plain:
            return plain, at + 2
        found = _CODE.match(text, at)
        if not found:
            return (
                self._wait(text, at) if _CUT.fullmatch(text, at) else ("", self._fail("no escape"))
            )
        code = int(found[1], 16)
        if not 0xD800 <= code < 0xE000:
            return chr(code), found.end()
        end = found.end()
        other = _CODE.match(text, end)
        low = int(other[1], 16) if other else 0
        if other and code < 0xDC00 and 0xDC00 <= low < 0xE000:
            return chr(0x10000 + ((code - 0xD800) << 10) + low - 0xDC00), other.end()
        if code < 0xDC00 and (end == len(text) or _CUT.fullmatch(text, end)):
            return self._wait(text, at)
        return "\ufffd", end

    def _wait(self, text: str, at: int) -> tuple[str, int]:
        """Store an incomplete escape for the next piece. Return no text and the end of this one."""
        self._tail = text[at:]
        return "", len(text)

    def _open(self, made: dict[str, object] | list[object], at: int) -> int:
        """Store and enter a new list or object; fail if it is in `MAX_DEPTH` others. Return the next position."""
        if len(self._stack) >= MAX_DEPTH:
            return self._fail("too deep")
        self._put(made)
        self._push(made)
        return at + 1

    def _push(self, container: dict[str, object] | list[object]) -> None:
        """Enter a container: put it on the stack, and expect its first member or its end."""
        self._stack.append(container)
        is_object = isinstance(container, dict)
        first = PartialArguments._key_or_end if is_object else PartialArguments._value_or_end
        self._state = first

    def _pop(self, at: int) -> int:
        """Leave the innermost container, and set the next state. Return the next position."""
        self._stack.pop()
        self._state = PartialArguments._comma_or_end if self._stack else PartialArguments._after
        return at + 1

    def _put(self, value: object) -> None:
        """Add a value to its container. It replaces the unfinished string, if there is one."""
        top = self._stack[-1]
        if isinstance(top, dict):
            top[self._key] = value
        elif self._state is PartialArguments._in_string:
            top[-1] = value
        else:
            top.append(value)

    def _fail(self, why: str) -> int:
        """Store why the preview ends, and return a position behind any text."""
        self._error = why
        return _NOWHERE


_State: TypeAlias = Callable[[PartialArguments, str, int], int]
_IN_TEXT: Final[tuple[_State, ...]] = (
    PartialArguments._in_string,
    PartialArguments._in_key,
    PartialArguments._in_token,
)
"""Where a blank belongs to what is read, or ends it."""


def _leaf(token: str) -> object:
    """Return the value of a number or a literal; `OPEN` for any other token, and a number beyond `MAX_DIGITS` or infinite."""
    if token in _WORDS:
        return _WORDS[token]
    found = _NUMBER.fullmatch(token)
    if not found or len(token) > MAX_DIGITS:
        return OPEN
    try:
        value = float(token) if found[1] or found[2] else int(token)
    except ValueError:  # more digits than Python converts
        return OPEN
    return OPEN if value in (float("inf"), float("-inf")) else value

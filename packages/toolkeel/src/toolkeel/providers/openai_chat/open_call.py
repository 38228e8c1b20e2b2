"""A call that is still arriving, and the pieces in which it arrives."""

from __future__ import annotations

import re

from toolkeel.providers.openai_chat.listed_calls import arguments_of
from toolkeel.providers.text_pieces import BracketScanner, SurrogateJoiner
from toolkeel.providers.wire.plain_json import (
    Json,
    arguments_piece,
    as_id,
    as_text,
)

_PLACEHOLDERS = ("{}", "null")
"""Arguments that a proxy sends first and replaces at the same index, as in Anthropic's block start."""
_QUOTED_BRACE = re.compile(r'\s*\{\s*"(?:$|[\s,:}\]])')
_LONG_INDEX = 10


class CallPiece:
    """One element of ``delta.tool_calls``, with parts of any type."""

    __slots__ = ("id", "index", "name", "object", "text")

    def __init__(self, index: object, id: object, function: Json) -> None:
        arguments = arguments_of(function)
        self.index = index if type(index) is int else _parse_index(index)
        self.id = as_id(id)
        self.name = as_text(function.get("name"))
        self.object: Json | None = arguments if isinstance(arguments, dict) else None
        self.text = "" if self.object is not None else arguments_piece(arguments)

    @property
    def is_empty(self) -> bool:
        """True if the piece has nothing of a call."""
        return not (self.id or self.name or self.text) and self.object is None

    @property
    def is_blank(self) -> bool:
        """True if the piece has at most a placeholder for arguments."""
        return not self.object and self.text.strip() in ("", *_PLACEHOLDERS)

    @property
    def starts_object(self) -> bool:
        """True if the text may be the start of an object."""
        return self.text.lstrip().startswith("{")


class OpenCall:
    """A call that is still arriving."""

    __slots__ = (
        "_end",
        "_first",
        "_scanned",
        "_surrogates",
        "call_index",
        "id",
        "is_repeated",
        "name",
        "object",
        "pieces",
        "surplus",
    )

    def __init__(self, number: int) -> None:
        self.call_index = number
        self.id = ""
        self.name = ""
        self.pieces: list[str] = []
        self.object: Json | None = None
        self.surplus: list[str] = []
        """What came after the arguments were complete."""
        self.is_repeated = False
        """True if the surplus came with a name that starts a call, so that it may be empty."""
        self._surrogates = SurrogateJoiner(keep_lone=True)
        self._end = BracketScanner('"')
        self._scanned = 0
        self._first: str | None = ""
        """The arguments without blanks, while they may still be a placeholder."""

    @property
    def has_arguments(self) -> bool:
        """True if any part of the arguments has arrived."""
        return bool(self.pieces) or bool(self.object)

    @property
    def is_complete(self) -> bool:
        """True if the arguments so far are a complete object; scans new pieces and records that."""
        if self.object:
            return True
        while self._scanned < len(self.pieces):
            self._end.feed(self.pieces[self._scanned])
            self._scanned += 1
        return self._end.end > 0

    def append(self, text: str, *, replaces: bool = True) -> str:
        """Append a piece of the arguments. Return the part that is new and certain; empty for a placeholder.

        A piece after the end does not belong to them, but replaces a placeholder if `replaces` is True.
        """
        is_object = text.lstrip()[:1] == "{"
        begins = is_object or ("null" in text and text.strip() == "null")
        if is_object and replaces and self.is_placeholder and not self.surplus:
            self.pieces, self._surrogates = [], SurrogateJoiner(keep_lone=True)
            self._end, self._scanned, self._first = BracketScanner('"'), 0, ""
        elif self.surplus or (self.pieces and begins and self.is_complete):
            self.surplus.append(text)
            self.is_repeated = self.is_repeated or not replaces
            return ""
        if is_object and 0 < len(self.pieces) <= len(text):
            text = self._without_repetition(text)
        text = self._surrogates.feed(text)
        self.pieces.append(text)
        if self._first is None:
            return text
        self._first += "".join(text.split())
        if any(one.startswith(self._first) for one in _PLACEHOLDERS):
            return ""
        return self.release()

    def _without_repetition(self, text: str) -> str:
        """Return a piece without the arguments so far, which some servers repeat in each piece."""
        before = "".join(self.pieces) if text.startswith(self.pieces[0]) else ":"
        # where an inner object may start, or a string end with `{`, the piece can only look alike
        is_alike = before.rstrip()[-1:] in (":", "[", ",") or _QUOTED_BRACE.match(before)
        return text if is_alike else text.removeprefix(before)

    @property
    def is_placeholder(self) -> bool:
        """True while the arguments are ``{}`` or ``null``, which a proxy may replace, and were not released."""
        return self._first in _PLACEHOLDERS

    def release(self) -> str:
        """Count the arguments as final, and return those that were withheld as a placeholder; "" if none were."""
        waiting, self._first = self._first, None
        return "" if waiting is None else "".join(self.pieces)

    def set_name(self, name: str) -> bool:
        """Set a name, a piece of one, or the same again. Return True if the name changed."""
        if name == self.name:
            return False
        self.name = name if name.startswith(self.name) else self.name + name
        return True


def _parse_index(index: object) -> int | None:
    """Return an index sent as text or as another kind of number; None if it is no index."""
    text = str(index).removesuffix(".0")
    return int(text) if text.isdecimal() and len(text) < _LONG_INDEX else None

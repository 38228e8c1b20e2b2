"""Readers of text that arrives in pieces: cut characters, ends of brackets, repeated text."""

from __future__ import annotations

import re

from toolkeel.providers.wire.plain_json import clean_text

_BRACKETS = re.compile(r"""\\(?:.|$)|[\[\](){}'"]""", re.DOTALL)
_TELLING = 8
"""Least number of characters that are not repeated by chance."""


class SurrogateJoiner:
    """Joins text that arrives in pieces, where a piece may end inside a surrogate pair.

    Args:
        keep_lone: True to keep lone surrogates and NUL, for a reader that must reject them.
    """

    __slots__ = ("_half", "_keep_lone")

    def __init__(self, *, keep_lone: bool = False) -> None:
        self._half = ""
        self._keep_lone = keep_lone

    def feed(self, text: str) -> str:
        """Return `text` with pairs joined; half a pair at its end waits for the next piece.

        Other halves and NUL are removed, unless `keep_lone`.
        """
        if self._half:
            text, self._half = self._half + text, ""
        elif text.isascii() and "\0" not in text:
            return text
        if "\ud800" <= text[-1:] <= "\udbff":
            text, self._half = text[:-1], text[-1]
        if not self._keep_lone:
            return clean_text(text)
        if text.isascii():
            return text
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")


class BracketScanner:
    """Finds where the outermost brackets of a text end that arrives in pieces.

    Args:
        quotes: Quotes of strings, which may contain brackets.

    Attributes:
        end: Number of characters up to the end; 0 until it is found.
    """

    __slots__ = ("_depth", "_escaping", "_quote", "_quotes", "_read", "end")

    def __init__(self, quotes: str) -> None:
        self._quotes = quotes
        self._quote = ""
        self._depth = self._read = self.end = 0
        self._escaping = ""

    def feed(self, piece: str) -> None:
        """Scan a piece, updating depth and quotes; set `end` behind the outermost bracket."""
        start = self._read - len(self._escaping)
        text, self._escaping = self._escaping + piece, ""
        self._read = start + len(text)
        for match in _BRACKETS.finditer(text):
            token = match.group()
            if token == "\\":
                self._escaping = token
            elif self._quote:
                self._quote = "" if token == self._quote else self._quote
            elif token in self._quotes:
                self._quote = token
            elif token in "()[]{}":
                self._depth += 1 if token in "([{" else -1
                if self._depth <= 0 and not self.end:
                    self.end = start + match.end()


class CumulativeText:
    """Finds what is new in each piece of a streamed text, for servers that send the text so far.

    Some do so in every piece, some in the last one. Two pieces cannot show it, since a model may repeat
    its first words, so the second one waits for the third. It shows if each of three begins with all of
    the one before, or if the last one of a stream is all of several others: as parts of one text they
    would double it exactly where the server cut it. A unit that recurs ("hahaha") shows nothing.

    >>> text = CumulativeText()
    >>> [text.feed(piece) for piece in ("It", "It is", "It is cold.", "It is cold. Yes.")]
    ['It', '', ' is cold.', ' Yes.']
    >>> text = CumulativeText()
    >>> [text.feed(piece) for piece in ("ha", "haha", "!")]
    ['ha', '', 'haha!']
    """

    __slots__ = ("_is_cumulative", "_length", "_pieces", "_waiting")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        """Number of characters in `_pieces`."""
        self._waiting: list[str] = []
        """Pieces after the first that begin with it, each with all of the one before."""
        self._is_cumulative = False

    def feed(self, piece: str, *, is_last: bool = False) -> str:
        """Store a piece. Return the part of it, and of those before it, that is new and certain; may be empty.

        Args:
            piece: The piece.
            is_last: True if the stream ends with it.
        """
        if self._waiting and piece:
            return self._decide(piece)
        if len(piece) < self._length or not self._length:  # most: too short to repeat the others
            return self._accept(piece)
        before = "".join(self._pieces)
        if not piece.startswith(before):
            return self._accept(piece)
        has_all = is_last and piece == before and len(self._pieces) > 2 and _is_telling(before)
        if self._is_cumulative or has_all:
            return self._accept(piece[self._length :])
        if len(self._pieces) > 1 or piece == before:
            return self._accept(piece)
        self._waiting.append(piece)
        return ""

    def finish(self) -> str:
        """Accept the text that waited for a further piece, and return it; "" if none did."""
        waiting, self._waiting = self._waiting, []
        return "".join(map(self._accept, waiting))

    def _decide(self, piece: str) -> str:
        """Return the text that is certain after a piece, while others wait; empty if this one waits, too."""
        if not piece.startswith(self._waiting[-1]):
            return self.finish() + self.feed(piece)
        self._waiting.append(piece)
        if len(piece) == len(self._waiting[0]) or not _is_telling(piece):
            return ""
        self._waiting, self._is_cumulative = [], True
        return self._accept(piece[self._length :])

    def _accept(self, text: str) -> str:
        """Append a text to the pieces, and return it."""
        if text:
            self._pieces.append(text)
            self._length += len(text)
        return text


def _is_telling(text: str) -> bool:
    """Return True if a text has enough characters, and is not one unit that recurs."""
    return len(text) >= _TELLING and text not in (text + text)[1:-1]

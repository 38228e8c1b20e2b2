"""Invisible characters in texts for a model: removed from a server's definitions.

What is invisible to the person who approves a description must not speak to the model. Removed are
controls, tag characters (U+E0000 and on, "ASCII smuggling"), zero-width and bidirectional controls
(CVE-2021-42574) and selectors that select nothing. Joiners and selectors that belong to a script or
an emoji stay.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import to_json

from toolkeel._records.record import record

_JOINERS = "\u200c\u200d"
_SELECTORS = range(0xFE00, 0xFE10)
_MORE_SELECTORS = range(0xE0100, 0xE01F0)
BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_VISIBLE_FORMATS = frozenset(map(chr, (*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2)))
_TEXT_KEYS = frozenset(("description", "title", "$comment"))
_DEPTH = 100


@record
class HiddenCharacters:
    """The hidden characters in one text of a definition.

    Args:
        path: Path from the definition's root, such as ``inputSchema.properties.q.description``.
        characters: The code points, in order, at most 20.
        count: How many there were.
        is_removed: True if they were removed. False in values that the server compares, such as the
            members of an ``enum``.
    """

    path: str
    characters: tuple[str, ...]
    count: int
    is_removed: bool

    def __str__(self) -> str:
        more = " ..." if self.count > len(self.characters) else ""
        done = "removed" if self.is_removed else "left where it is, because the server compares it"
        return f"{self.path}: {self.count} hidden ({' '.join(self.characters)}{more}), {done}"


def remove_hidden(text: str) -> tuple[str, list[str]]:
    r"""Return a text without hidden characters, and those characters.

    >>> remove_hidden("add\u200b two\U000e0041")
    ('add two', ['\u200b', '\U000e0041'])
    >>> remove_hidden("👩\u200d👧 می\u200cخواهم ❤\ufe0f")[1]
    []
    """
    if text.isascii() and text.isprintable():
        return text, []
    visible: list[str] = []
    removed: list[str] = []
    for char in text:
        (visible if _is_visible(char, visible[-1] if visible else "") else removed).append(char)
    return "".join(visible), removed


def _is_visible(char: str, before: str) -> bool:
    """Return True if a character is visible, or belongs to the script or emoji before it."""
    if char in "\n\t" or (char.isprintable() and char not in BLANK and not _is_selector(char)):
        return True
    if char == "\r":
        return False
    if char in _JOINERS:  # between letters of Persian or Hindi, and parts of an emoji
        return bool(before) and not before.isascii() and before not in _JOINERS
    if ord(char) in _SELECTORS:
        return (
            bool(before)
            and (not before.isascii() or before in "#*0123456789")
            and (not _is_selector(before))
        )
    if ord(char) in _MORE_SELECTORS:  # of Chinese and Japanese variants
        return unicodedata.name(before, "").startswith("CJK ") if before else False
    # spaces of other widths are no secret; private and unassigned characters show as boxes
    return unicodedata.category(char) in ("Zs", "Co") or char in _VISIBLE_FORMATS


def _is_selector(char: str) -> bool:
    """Return True if a character selects a variant of the one before it."""
    return ord(char) in _SELECTORS or ord(char) in _MORE_SELECTORS


def clean_definition(
    definition: Mapping[str, Any],
) -> tuple[dict[str, Any], tuple[HiddenCharacters, ...]]:
    """Return a definition without hidden characters in the texts a model reads.

    Args:
        definition: A tool as ``tools/list`` has it.

    Returns:
        A copy, and what was found where.
    """
    if _is_plain(definition):
        return dict(definition), ()
    found: list[HiddenCharacters] = []

    def text(value: str, where: str, readable: bool) -> str:
        """Record hidden characters of a text. Return it, without them if it is `readable` text."""
        cleaned, hidden = remove_hidden(value)
        if not hidden:
            return value
        points = tuple(f"U+{ord(char):04X}" for char in hidden[:20])
        found.append(HiddenCharacters(where, points, len(hidden), readable))
        return cleaned if readable else value

    return _walk(definition, "", text, 0), tuple(found)


def _is_plain(definition: Mapping[str, Any]) -> bool:
    """Return True if each character of a definition is visible by itself, as in most."""
    try:
        text = to_json(definition).decode()
    except ValueError:
        return False
    return text.isprintable() and not _NOT_PLAIN.search(text)


_NOT_PLAIN = re.compile(
    rf"\\[^nt\"\\]|[{''.join(BLANK)}{chr(_SELECTORS[0])}-{chr(_SELECTORS[-1])}"
    rf"{chr(_MORE_SELECTORS[0])}-{chr(_MORE_SELECTORS[-1])}]"
)


def _walk(value: Any, where: str, text: Callable[[str, str, bool], str], depth: int) -> Any:
    """Return a copy of a value with each text replaced by what `text` returns; keys are passed to it, but not replaced."""
    if depth > _DEPTH:
        return value
    if isinstance(value, Mapping):
        copy = {}
        for key, item in value.items():
            text(key, f"{where}.{key}".lstrip(".")[:200], False)
            path = f"{where}.{key}".lstrip(".")
            if isinstance(item, str):
                copy[key] = text(item, path[:200], key in _TEXT_KEYS)
            else:
                copy[key] = _walk(item, path, text, depth + 1)
        return copy
    if isinstance(value, list):
        return [_walk(item, f"{where}[{i}]", text, depth + 1) for i, item in enumerate(value)]
    return text(value, where[:200], False) if isinstance(value, str) else value

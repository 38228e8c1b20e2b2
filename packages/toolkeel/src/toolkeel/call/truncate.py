"""Results too long for the model: a shortened form, and how to read the rest."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TypeAlias

from pydantic_core import from_json, to_json

from toolkeel.content import Block, Content, Data, Text

MAX_PRUNED = 20_000_000
"""Longest JSON that is shown in part as JSON, in characters."""
KEEPER = "keeps_results"
"""Metadata key of the function that stores long results, in the tool that reads them."""
Keeper: TypeAlias = tuple[str, Callable[[bytes], str]]
"""Name of the tool that reads stored results, and the function that stores one."""

_NAMED = re.compile(r'path="output:\w+"')
"""The notice of a tool that has cut its output itself, and says where all of it is."""
MAX_MEDIA = 100
"""Pictures, sounds and files of one result that a model is shown."""
NARROW = "ask for a smaller part, or narrow the arguments, to see them"
"""The note about the rest where it is not stored but other arguments may return less."""
NOT_READABLE = "no call gives them: go on with what is here, and say that it is a part"
"""The same of a tool that takes no arguments: it would give as much once more."""


def shorten(text: str, limit: int, keeper: Keeper | None = None, rest: str = NARROW) -> str:
    """Shorten a longer text to `limit` characters, and add a note of its size and how to read the rest.

    The keeper, if any, stores the complete text.

    JSON is reduced to the first items of each list and object, other text to its head and tail.

    >>> shorten("a" * 100, 20).splitlines()[0]
    'aaaaaaaaaaaaa'
    """
    if pruned := _pruned(text, limit):
        return f"{pruned}\n\n[{_left_out(len(text) - len(pruned), text, keeper, rest)}]"
    head = text[: limit * 2 // 3]
    tail = text[len(text) - (limit - len(head)) :]
    left = len(text) - len(head) - len(tail)
    return f"{head}\n\n[{_left_out(left, text, keeper, rest)}]\n\n{tail}"


def _left_out(characters: int, text: str, keeper: Keeper | None, rest: str) -> str:
    """Return a note of how much is missing and how to read it.

    Side effect: stores `text` with the keeper, if there is one.

    Args:
        characters: Number of characters left out.
        text: The complete text.
        keeper: Name of the tool that reads stored results, and the function that stores one.
        rest: What to do instead if nothing is stored.
    """
    note = f"{characters:,} of {len(text):,} characters left out here"
    name = keeper[1](text.encode("utf-8", "replace")) if keeper is not None else ""
    if keeper is not None and name:
        what = "all that was shown" if _NAMED.search(text) else "all of it"
        return f'{note}; {what}: {keeper[0]}(path="{name}")'
    return f"{note}; {rest}"


def _pruned(text: str, limit: int) -> str:
    """Return JSON with fewer items, at most `limit` characters long, or "" if impossible."""
    if text[:1] not in ("[", "{") or len(text) > MAX_PRUNED:
        return ""
    try:
        value = from_json(text)
    except ValueError:
        return ""
    for items in (500, 100, 30, 10, 5, 3, 2, 1):
        if len(shown := to_json(_first(value, items)).decode()) <= limit:
            return shown
    return ""


def _first(value: object, items: int) -> object:
    """Return a value with the first items of each list and object, and the start of each text."""
    if isinstance(value, str) and len(value) > (most := max(80, items * 20)):
        return f"{value[:most]}... {len(value) - most:,} more characters"
    if isinstance(value, list):
        first = [_first(item, items) for item in value[:items]]
        return [*first, f"... {len(value) - items:,} more items"] if len(value) > items else first
    if isinstance(value, dict):
        found = {key: _first(value[key], items) for key in list(value)[:items]}
        return {**found, "...": f"{len(value) - items:,} more"} if len(value) > items else found
    return value


def limit_media(content: Content) -> Content:
    """Return the content with at most `MAX_MEDIA` pictures, sounds and files, and a text on those left out.

    Content with no more is returned unchanged.
    """
    if isinstance(content, str) or len(content) <= MAX_MEDIA:
        return content
    kept: list[Block] = []
    media = 0
    for block in content:
        media += not isinstance(block, Text | Data)
        if media <= MAX_MEDIA or isinstance(block, Text | Data):
            kept.append(block)
    if media <= MAX_MEDIA:
        return content
    left = f"{media - MAX_MEDIA:,} of {media:,} pictures, sounds and files"
    return (*kept, Text(f"[{left} left out here; {NARROW}]"))


def content_length(blocks: tuple[Block, ...]) -> int:
    """Return the number of characters of text in blocks."""
    return sum(len(block.text) for block in blocks if isinstance(block, Text | Data))


def limit_content(
    content: Content, limit: int, keeper: Keeper | None, rest: str = NARROW
) -> Content:
    """Return longer content with its first `limit` characters of text, and a note on the rest.

    Other blocks stay. A text alone is cut as by `shorten`. The keeper, if any, stores the complete text.
    """
    if isinstance(content, str):
        return shorten(content, limit, keeper, rest)
    texts = [block.text for block in content if isinstance(block, Text | Data)]
    if len(texts) == 1:
        return tuple(
            Text(shorten(block.text, limit, keeper, rest), block.extra)
            if isinstance(block, Text | Data)
            else block
            for block in content
        )
    blocks, whole_ones = _first_blocks(content, limit)
    joined = "\n\n".join(texts)
    missing = _left_out(len(joined) - limit, joined, keeper, rest)
    return (*blocks, Text(f"[{missing}: {whole_ones} of {len(texts)} texts are complete]"))


def _first_blocks(content: tuple[Block, ...], limit: int) -> tuple[list[Block], int]:
    """Return the blocks with the first `limit` characters of text, media all, and how many of their texts are complete."""
    blocks: list[Block] = []
    left, complete, over = limit, 0, False
    for block in content:
        if isinstance(block, Text | Data):
            over = over or len(block.text) > left
            if over and not left:
                continue
            if over:
                block = Text(block.text[:left], block.extra)
            complete, left = complete + (not over), 0 if over else left - len(block.text)
        blocks.append(block)
    return blocks, complete

"""The order of a reply's parts, where it is unusual.

A message of ours has reasoning, text and calls, in that order. A provider may interleave them, put
its own tools' calls and results between, and cite sources; it wants all that back unchanged. Then
the message's ``provider_options`` holds a layout: a list in which ``"reasoning"`` and ``"call"``
refer to the message's own parts, one by one, and everything else is the wire's block. It is JSON,
so it can be saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from toolkeel.providers.wire.plain_json import Json, as_list

Kind: TypeAlias = Literal["reasoning", "text", "call", "other"]
REASONING = "reasoning"
CALL = "call"

_RANK = {"reasoning": 0, "text": 1, "call": 2}


def make_layout(parts: Sequence[tuple[Kind, Json]]) -> list[object]:
    """Return the layout of a reply, or an empty list if its parts are in the usual order.

    Args:
        parts: Each block with its kind; a text that is more than text is ``other``.

    >>> make_layout([("text", {"text": "Hi"}), ("call", {"name": "f"})])
    []
    >>> make_layout([("call", {"name": "f"}), ("text", {"text": "Hi"})])
    ['call', {'text': 'Hi'}]
    """
    ranks = [_RANK.get(kind, -1) for kind, _ in parts]
    if -1 not in ranks and ranks == sorted(ranks) and ranks.count(1) <= 1:
        return []
    return [kind if kind in (REASONING, CALL) else wire for kind, wire in parts]


def arrange_blocks(
    layout: Sequence[object],
    own: Sequence[Sequence[Json]],
    calls: Sequence[Json],
    text_blocks: tuple[str, Sequence[Json]],
    text_of: Callable[[Json], str],
) -> list[Json]:
    """Return a reply's blocks in the order of its layout.

    If the message was changed since, so that the layout no longer fits it, its parts come in the usual
    order, with blocks that only the provider knows before the text.

    Args:
        layout: As `make_layout` returned it; empty for the usual order.
        own: The blocks of each part of the reasoning.
        calls: The block of each call.
        text_blocks: The message's text, and its blocks.
        text_of: Returns the text of a block of the layout.
    """
    text, texts = text_blocks
    thoughts = [block for blocks in own for block in blocks]
    others = [entry for entry in as_list(list(layout)) if isinstance(entry, dict)]
    fits = layout.count(REASONING) == len(own) and layout.count(CALL) == len(calls)
    if not layout or not fits or "".join(map(text_of, others)) != text:
        return [*thoughts, *(entry for entry in others if not text_of(entry)), *texts, *calls]
    rest_own, rest_calls = iter(own), iter(calls)
    blocks: list[Json] = []
    for entry in layout:
        if isinstance(entry, dict):
            blocks.append(entry)
        else:
            blocks += next(rest_own) if entry == REASONING else [next(rest_calls)]
    return blocks

"""The order of a reply's parts, where it is not the plain one.

A message of ours says what was thought, what was said and what is called, in that order. A
provider may interleave them, put its own tools' calls and results between, and cite sources; it
wants all that back unchanged. Then the message's ``provider_options`` holds a layout beside: a list in which
``"reasoning"`` and ``"call"`` stand for the message's own parts, one by one, and everything else
is the wire's block. It is JSON, so it can be saved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

from toolkeel.providers.wire.plain_json import Json, as_list

Kind: TypeAlias = Literal["reasoning", "text", "call", "other"]
REASONING = "reasoning"
CALL = "call"

_RANK = {"reasoning": 0, "text": 1, "call": 2}


def layout_of(parts: Sequence[tuple[Kind, Json]]) -> list[object]:
    """The layout of a reply; empty if its parts stand in the plain order.

    Args:
        parts: Each block with its kind; a text that is more than text is ``other``.

    >>> layout_of([("text", {"text": "Hi"}), ("call", {"name": "f"})])
    []
    >>> layout_of([("call", {"name": "f"}), ("text", {"text": "Hi"})])
    ['call', {'text': 'Hi'}]
    """
    ranks = [_RANK.get(kind, -1) for kind, _ in parts]
    if -1 not in ranks and ranks == sorted(ranks) and ranks.count(1) <= 1:
        return []
    return [kind if kind in (REASONING, CALL) else wire for kind, wire in parts]


def arrange(
    layout: Sequence[object],
    own: Sequence[Sequence[Json]],
    calls: Sequence[Json],
    said: tuple[str, Sequence[Json]],
    spoken: Callable[[Json], str],
) -> list[Json]:
    """A reply's blocks in its layout.

    Where the message was changed since, so that the layout does not fit it any more, its parts
    stand in the plain order, with what only the provider knows before what was said.

    Args:
        layout: As `layout_of` made it; empty for the plain order.
        own: The blocks of each part of the reasoning.
        calls: The block of each call.
        said: The message's text, and its blocks.
        spoken: The text in a block of the layout.
    """
    text, texts = said
    thoughts = [block for blocks in own for block in blocks]
    others = [entry for entry in as_list(list(layout)) if isinstance(entry, dict)]
    fits = layout.count(REASONING) == len(own) and layout.count(CALL) == len(calls)
    if not layout or not fits or "".join(map(spoken, others)) != text:
        return [*thoughts, *(entry for entry in others if not spoken(entry)), *texts, *calls]
    rest_own, rest_calls = iter(own), iter(calls)
    blocks: list[Json] = []
    for entry in layout:
        if isinstance(entry, dict):
            blocks.append(entry)
        else:
            blocks += next(rest_own) if entry == REASONING else [next(rest_calls)]
    return blocks

"""How well a value in a prompt suits a slot of a tool."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from toolkeel._records.record import record
from toolkeel.providers.offline import concepts
from toolkeel.providers.offline.slots import Checker, Slot
from toolkeel.providers.offline.values import Value
from toolkeel.providers.offline.words import idea, pieces

_NEIGHBOUR = re.compile(r"[A-Za-zÀ-ÿ]+|[\u4e00-\u9fff]+|[=:：,，;；.。]")
_BREAKS = frozenset([",", "，", ";", "；", ".", "。"])
_DIRECTION = {
    "by": concepts.BY,
    **dict.fromkeys(("from", "从"), concepts.FROM),
    **dict.fromkeys(("to", "into", "到", "至"), concepts.TO),
}

_ROLELESS = {
    "quoted": 2.0, "name": 1.0, "code": 1.0, "symbol": 0.9, "place": 0.8, "path": 0.8, "url": 0.8,
    "email": 0.8, "language": 0.6, "when": 0.6, "date": 0.6, "number": 0.3,
}  # fmt: skip


@record
class Pair:
    """A value that may fill a slot.

    Args:
        slot: The slot.
        value: The value in the prompt.
        argument: The value in the slot's type.
        base: How well their kinds suit, from 0 to 3.
        bonus: How plainly the words beside the value name the slot; negative if they name another.
    """

    slot: Slot
    value: Value
    argument: object
    base: float
    bonus: float

    @property
    def score(self) -> float:
        return self.base + self.bonus


def pair(
    slot: Slot, value: Value, text: str, checker: Checker, listed: bool = False
) -> Pair | None:
    """Slot and value as a pair; None if the value cannot fill the slot."""
    base = affinity(slot, value, listed)
    argument = convert(slot, value.value) if base else None
    if argument is None or not checker.fits(slot, argument):
        return None
    return Pair(slot, value, argument, base, _bonus(slot, value, text))


def affinity(slot: Slot, value: Value, listed: bool = False) -> float:
    """How well the kind of a value suits a slot, from 0 (not at all) to 3.

    Args:
        slot: The slot.
        value: The value.
        listed: Whether the slot is one of a list, which also takes the terms of a sum.
    """
    if slot.type in ("integer", "number"):
        return {"number": 2.0, "term": 1.0 if listed else 0.0}.get(value.kind, 0.0)
    if slot.type not in ("string", ""):
        return 0.0
    if not slot.role:
        return _ROLELESS.get(value.kind, 0.0)
    kinds = concepts.KINDS[slot.role]
    if value.kind in kinds:
        return 3.0 - 0.5 * kinds.index(value.kind)
    return 0.0


def convert(slot: Slot, value: str | int | float) -> object:
    """The value in the slot's type; None if it has no such form."""
    if slot.type == "integer":
        return int(value) if not isinstance(value, str) and value == int(value) else None
    if slot.type == "number":
        return None if isinstance(value, str) else value
    if slot.type == "string":
        return value if isinstance(value, str) else f"{value:g}" if value % 1 else str(int(value))
    return value


def _bonus(slot: Slot, value: Value, text: str) -> float:
    before, after = neighbours(text, value.start, value.end)
    best = 0.0
    for distance, word in enumerate(before):
        if distance == 0 and word in _DIRECTION:
            best = max(best, _direction(slot, _DIRECTION[word]), key=abs)
        best = max(best, _naming(slot, word) * 0.8**distance, key=abs)
    if after:
        best = max(best, _naming(slot, after[0]) * 0.9, key=abs)
    return best


def _direction(slot: Slot, side: frozenset[str]) -> float:
    labels = set(slot.labels)
    if labels & side:
        return 1.5
    return -1.0 if side is concepts.BY or labels & (concepts.FROM | concepts.TO) else 0.0


def _naming(slot: Slot, word: str) -> float:
    if word in slot.labels or word.removesuffix("s") in slot.labels:
        return 2.0
    meaning = idea(word) if word.isascii() else _chinese_idea(word)
    if not meaning:
        return 0.0
    if any(idea(label) == meaning for label in slot.labels):
        return 1.8
    if meaning not in slot.ideas:
        return 0.0
    return 1.0 if slot.type in ("integer", "number") else 0.3


@lru_cache(maxsize=512)
def neighbours(text: str, start: int, end: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Up to three words before a value and two after it, nearest first, without fillers."""
    before = _near(reversed(_NEIGHBOUR.findall(text[max(0, start - 40) : start])), 3, True)
    after = _near(_NEIGHBOUR.findall(text[end : end + 30]), 2, False)
    return before, after


def _near(words: Iterable[str], most: int, backwards: bool) -> tuple[str, ...]:
    found: list[str] = []
    for word in words:
        if word in _BREAKS or len(found) >= most:
            break
        if word.isascii():
            found += [] if word.lower() in concepts.FILLERS else [word.lower()]
        else:
            parts = [piece.text for piece in pieces(word) if piece.text not in concepts.FILLERS]
            found += parts[::-1] if backwards else parts
    return tuple(found[:most])


def _chinese_idea(word: str) -> str:
    found = pieces(word)
    return found[0].idea if found else ""

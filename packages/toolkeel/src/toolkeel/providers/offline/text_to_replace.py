"""What a prompt wants replaced, and by what."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from toolkeel.providers.offline.slots import Slot

_OLD = frozenset(("old", "find", "search", "before", "original"))
_NEW = frozenset(("new", "replace", "replacement", "after", "substitute"))


def _said(name: str) -> str:
    """A pattern of a text in quotes, or of a word without any."""
    quoted = "|".join(f"{a}[^{b}\n]+{b}" for a, b in ('""', "''", "``", "“”", "「」"))
    return rf"(?P<{name}>{quoted}|[^\s\"'`“「，。]+)"


_ENGLISH = re.compile(
    rf"\b(?:replace|change|substitute|swap)\s+{_said('old')}\s+(?:with|by|to|for|into)\s+{_said('new')}",
    re.IGNORECASE,
)
_CHINESE = re.compile(
    rf"(?:把|将|中的|里的|的)\s*{_said('old')}\s*(?:替换|换|改)(?:为|成)\s*{_said('new')}"
)


class Found(NamedTuple):
    """A text for a slot, and where it stands in the prompt."""

    slot: Slot
    text: str
    start: int
    end: int


def swapped(text: str, slots: Sequence[Slot]) -> Iterator[Found]:
    """What to look for and what to put there, if a tool has a slot for each and both are said.

    Args:
        text: The prompt.
        slots: What is to be filled yet.
    """
    texts = [slot for slot in slots if slot.type in ("string", "") and len(slot.path) == 1]
    old = next((slot for slot in texts if _OLD & set(slot.labels)), None)
    new = next((slot for slot in texts if _NEW & set(slot.labels) and slot is not old), None)
    match = _ENGLISH.search(text[:4000]) or _CHINESE.search(text[:4000])
    if old is None or new is None or match is None:
        return
    for slot, name in ((old, "old"), (new, "new")):
        start, end = match.span(name)
        said = match[name]
        quoted = said[0] in "\"'`“「"
        yield Found(slot, said[1:-1] if quoted else said.rstrip(".,;"), start, end)

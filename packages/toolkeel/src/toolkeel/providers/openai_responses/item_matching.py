"""Which streamed item an event or an entry of the final list belongs to.

Ids do not identify an item: servers repeat them for several items (xAI's reasoning), replace them
between two events (Copilot) or omit them. The structure does: an item has one ``output_index``, and
each entry of a list is an item of its own. Ids only help where an index is missing or shifted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from toolkeel.providers.wire.decoder import Block
from toolkeel.providers.wire.plain_json import Json

B = TypeVar("B", bound=Block)


def is_same_item(item: Block, wire: Json) -> bool:
    """Return True if `wire`, which arrived at the index of `item`, is a later form of it."""
    if not _is_compatible(item, wire):
        return False
    return item.is_open or item.wire == wire or _has_same_id(item, wire)


def find_done_item(
    by_index: Mapping[int, B], items: Mapping[int, B], index: object, wire: Json
) -> B | None:
    """Return the item that an event with its last form completes, or None if it is a new one.

    Args:
        by_index: The latest item of each ``output_index``.
        items: All items, in the order of the reply by their keys.
        index: The event's ``output_index``; anything but an int if it has none.
        wire: The last form.
    """
    if isinstance(index, int):
        known = by_index.get(index)
        if known is None or is_same_item(known, wire):
            return known
    for item in items.values():
        if item.is_open and _is_compatible(item, wire) and _has_same_id(item, wire):
            return item
    repeats = [] if isinstance(index, int) else items.values()
    return next((item for item in repeats if item.wire == wire), None)


def match_items(items: Mapping[int, B], wires: Sequence[Json]) -> list[B | None]:
    """Return the item of each entry of a complete list; no item belongs to two entries.

    Index and id together count most, then the id alone (a final list may omit items, which shifts
    the others), then the index alone (an id may have been replaced).
    """
    found: list[B | None] = [None] * len(wires)
    free = dict(items)

    def take(place: int, key: int | None) -> None:
        """Assign the item with this key, if any, to an entry, so that no other entry gets it."""
        if key is not None:
            found[place] = free.pop(key)

    for place, wire in enumerate(wires):
        known = free.get(place)
        if known is not None and _is_compatible(known, wire) and _has_same_id(known, wire):
            take(place, place)
    for place, wire in enumerate(wires):
        if found[place] is None:
            same = (key for key, item in free.items() if _has_same_id(item, wire))
            take(place, next((key for key in same if _is_compatible(free[key], wire)), None))
    for place, wire in enumerate(wires):
        if found[place] is None and place in free and _is_compatible(free[place], wire):
            take(place, place)
    return found


def _is_compatible(item: Block, wire: Json) -> bool:
    """Return True if two forms can be of one item: same type, and not two different calls."""
    if item.wire.get("type") != wire.get("type"):
        return False
    before, now = item.wire.get("call_id"), wire.get("call_id")
    return not before or not now or before == now


def _has_same_id(item: Block, wire: Json) -> bool:
    """Return True if both forms have the same ``id`` or ``call_id``."""
    keys = ("id", "call_id")
    return any(wire.get(key) and item.wire.get(key) == wire.get(key) for key in keys)

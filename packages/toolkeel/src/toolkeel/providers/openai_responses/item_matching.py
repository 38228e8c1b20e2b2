"""Which streamed item an event or an entry of the final list belongs to.

Ids do not identify an item: servers repeat them for several items (xAI's reasoning), replace them
between two events (Copilot) or omit them. The structure does: an item has one ``output_index``, and
each entry of a list is an item of its own. Ids only help where an index is missing or shifted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeVar

from toolkeel.providers.openai_responses.open_item import OpenItem
from toolkeel.providers.openai_responses.profile import output_index
from toolkeel.providers.wire.decoder import Block
from toolkeel.providers.wire.plain_json import Json

B = TypeVar("B", bound=Block)


class OpenItems:
    """The output items of one answer, by their places in the reply."""

    def __init__(self) -> None:
        self._by_place: dict[int, OpenItem] = {}
        self._by_index: dict[int, OpenItem] = {}
        """The latest item of each ``output_index``."""

    def in_order(self) -> list[OpenItem]:
        """Return the items in the order of the reply."""
        return [self._by_place[place] for place in sorted(self._by_place)]

    def at(self, index: int) -> OpenItem | None:
        """Return the latest item of an ``output_index``, or None."""
        return self._by_index.get(index)

    def add(self, index: int, wire: Json, call_index: int) -> OpenItem:
        """Register a new item at an index and return it; an earlier one there keeps its place in the reply."""
        item = self._by_index[index] = OpenItem(dict(wire), call_index)
        item.place = index if index not in self._by_place else max(self._by_place) + 1
        self._by_place[item.place] = item
        return item

    def find(self, event: Json, kind: str) -> OpenItem | None:
        """Return the item that an event is about, or None.

        The index decides; at a new one the id of an open item does, and without an index any id, the
        open item first. Without both it is the last item, if that is open and of this kind.
        """
        index, id = event.get("output_index"), event.get("item_id")
        if isinstance(index, int) and index in self._by_index:
            return self._by_index[index]
        items = self.in_order()
        if not id:
            last = () if isinstance(index, int) else items[-1:]
            return next((one for one in last if one.is_open and one.type == kind), None)
        named = [one for one in items if one.wire.get("id") == id and one.type == kind]
        named = [one for one in named if one.is_open or not isinstance(index, int)]
        return next((one for one in named if one.is_open), named[-1] if named else None)

    def free_index(self, event: Json) -> int:
        """Return the index at which the item of an event starts, if there is none yet."""
        has_index = isinstance(event.get("output_index"), int)
        return output_index(event) if has_index else len(self._by_place)

    def find_done(self, index: object, wire: Json) -> OpenItem | None:
        """Return the item that an event with its last form completes, or None if it is a new one."""
        return find_done_item(self._by_index, self._by_place, index, wire)

    def match(self, wires: Sequence[Json]) -> list[OpenItem | None]:
        """Return for each entry of a complete list its item, or None without one."""
        return match_items(self._by_place, wires)


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
    """Return for each entry of a complete list its item, or None; no item has two entries.

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

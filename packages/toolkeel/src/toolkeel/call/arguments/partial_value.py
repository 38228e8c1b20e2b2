"""The value of a preview: an object or a list that may still grow, which cannot be executed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Protocol, TypeAlias

Leaf: TypeAlias = str | int | float | bool | None
PartialItem: TypeAlias = "Leaf | PartialValue"

OPEN: Final = object()
"""Placeholder in its container for the string that still grows."""


class _Parser(Protocol):
    """What a value needs of the parser that fills it."""

    @property
    def open_text(self) -> str:
        """The unfinished string, a value or a key, at the end of what has been parsed, or "" if there is none."""
        ...


class PartialValue:
    """A read-only live view of a list or object that is still arriving.

    It is no mapping and no sequence: it cannot be unpacked into a call, sent, or run.

    >>> from toolkeel.streaming import PartialArguments
    >>> arguments = PartialArguments()
    >>> arguments.feed('{"city": "Par')
    >>> arguments.value()["city"], arguments.value() == {"city": "Par"}
    ('Par', True)
    """

    __slots__ = ("_data", "_parser")

    def __init__(self, data: dict[str, object] | list[object], parser: _Parser) -> None:
        self._data = data
        self._parser = parser

    @property
    def is_list(self) -> bool:
        """True for a list, False for an object."""
        return isinstance(self._data, list)

    def __getitem__(self, key: str | int) -> PartialItem:
        if isinstance(self._data, list):
            return self._value_of(self._data[int(key)])
        return self._value_of(self._data[str(key)])

    def get(self, key: str, default: PartialItem = None) -> PartialItem:
        """Return an object's value under a key; the default if it has not arrived, and for a list."""
        data = self._data
        return self._value_of(data[key]) if isinstance(data, dict) and key in data else default

    def items(self) -> Iterator[tuple[str | int, PartialItem]]:
        """Yield keys, or indexes, with their values."""
        for key, item in _pairs(self._data):
            yield key, self._value_of(item)

    def __contains__(self, key: object) -> bool:
        return isinstance(self._data, dict) and key in self._data

    def __len__(self) -> int:
        return len(self._data)

    def __iter__(self) -> Iterator[PartialItem]:
        """Iterate over the keys of an object, the items of a list."""
        if isinstance(self._data, dict):
            return iter(list(self._data))
        return (item for _, item in self.items())

    def __eq__(self, other: object) -> bool:
        if isinstance(other, PartialValue):
            if self.is_list != other.is_list:
                return False
            theirs: dict[str | int, object] = dict(other.items())
        elif isinstance(other, dict | list) and type(other) is type(self._data):
            theirs = dict(_pairs(other))
        else:
            return False
        if len(theirs) != len(self):
            return False
        return all(key in theirs and _same(item, theirs[key]) for key, item in self.items())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        if self.is_list:
            return f"[{', '.join(repr(item) for _, item in self.items())}]"
        return f"{{{', '.join(f'{key!r}: {item!r}' for key, item in self.items())}}}"

    def _value_of(self, item: object) -> PartialItem:
        """Return the text of an unfinished string, a view of a container, or the item itself."""
        if item is OPEN:
            return self._parser.open_text
        if isinstance(item, dict | list):
            return PartialValue(item, self._parser)
        return item  # type: ignore[return-value]


def _pairs(data: dict[str, object] | list[object]) -> list[tuple[str | int, object]]:
    """Return the members of a list or object, each with its index or key."""
    if isinstance(data, list):
        return list(enumerate(data))
    return list(data.items())


def _same(item: PartialItem, other: object) -> bool:
    """Return True if a member equals a value and has its type, so that 1 is not true."""
    if isinstance(item, PartialValue):
        return item == other
    return type(item) is type(other) and item == other

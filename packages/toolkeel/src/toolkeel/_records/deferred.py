"""Records that are made at their first use, for many of which few are ever used."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar, cast

T = TypeVar("T")


class _Deferred:
    """Stand-in for a record: it is equal to it, and has its fields once one of them is read."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    @functools.cached_property
    def _made(self) -> Any:
        """The record, made at first use."""
        return self._make()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # copying and pickling look for these
            raise AttributeError(name)
        vars(self).update(
            {field: getattr(self._made, field) for field in self._made.__match_args__}
        )
        return getattr(self._made, name)

    def __eq__(self, other: object) -> bool:
        return bool(self._made == (other._made if isinstance(other, _Deferred) else other))

    def __hash__(self) -> int:
        return hash(self._made)


def deferred(make: Callable[[], T]) -> T:
    """Return a stand-in for a record that `make` returns; it is called when a field is first read.

    Args:
        make: Returns the record. Two threads may both call it.

    >>> from toolkeel.content import Text
    >>> text = deferred(lambda: Text("made now"))
    >>> text.text
    'made now'
    """
    return cast("T", _Deferred(make))

"""LangChain's in-memory stores: flat keys, and LangGraph's namespaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from toolkeel._records.record import record
from toolkeel._records.taint_sources import Source
from toolkeel.call.stored_labels import labels_to_store, record_stored_labels

Namespace = tuple[str, ...]
_OPERATORS = {"$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def _matches_filter(value: Any, wanted: Any) -> bool:
    """Return True if a value satisfies a filter; a missing value satisfies no comparison."""
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if not any(name.startswith("$") for name in wanted):
        return isinstance(value, Mapping) and all(
            _matches_filter(value.get(k), v) for k, v in wanted.items()
        )
    if lost := [name for name in wanted if name not in _OPERATORS]:
        raise ValueError(f"a filter compares by {', '.join(_OPERATORS)}, not by {', '.join(lost)}")
    equal = {"$eq", "$ne"}.issuperset(wanted)
    return (equal or value is not None) and all(_OPERATORS[k](value, v) for k, v in wanted.items())


@record
class Item:
    """A stored value, as `InMemoryStore.get` returns it.

    Args:
        namespace: Its namespace.
        key: Its key there.
        value: The stored value.
    """

    namespace: Namespace
    key: str
    value: Any


class BaseStore(ABC):
    """Memory by namespace; a custom store implements `put`, `get`, `delete` and `search`."""

    @abstractmethod
    def put(self, namespace: Sequence[str], key: str, value: Any) -> None:
        """Store a value; None deletes it."""

    @abstractmethod
    def get(self, namespace: Sequence[str], key: str) -> Item | None:
        """Return the stored item, or None."""

    @abstractmethod
    def delete(self, namespace: Sequence[str], key: str) -> None:
        """Delete a value."""

    search: Callable[..., list[Item]]
    """What lies below a namespace; see `InMemoryStore.search`."""

    async def aput(self, namespace: Sequence[str], key: str, value: Any) -> None:
        """Call `put`, for async code."""
        self.put(namespace, key, value)

    async def aget(self, namespace: Sequence[str], key: str) -> Item | None:
        """Call `get`, for async code."""
        return self.get(namespace, key)

    async def adelete(self, namespace: Sequence[str], key: str) -> None:
        """Call `delete`, for async code."""
        self.delete(namespace, key)

    async def asearch(self, namespace_prefix: Sequence[str], /, **options: Any) -> list[Item]:
        """Call `search`, for async code."""
        return self.search(namespace_prefix, **options)


class InMemoryStore(BaseStore):
    """Memory of one process: ``mset`` / ``mget`` by key, ``put`` / ``get`` / ``search`` by namespace.

    >>> store = InMemoryStore()
    >>> store.mset([("city", "北京")])
    >>> store.put(("users", "ada"), "likes", {"tea": True})
    >>> store.mget(["city", "none"]), store.get(("users", "ada"), "likes").value
    (['北京', None], {'tea': True})
    """

    def __init__(self) -> None:
        self._items: dict[Namespace, dict[str, Any]] = {}
        self._labels: dict[tuple[Namespace, str], tuple[Source, ...]] = {}

    # — flat keys —

    def mset(self, pairs: Sequence[tuple[str, Any]]) -> None:
        """Store values by key."""
        for key, value in pairs:
            self._items.setdefault((), {})[key] = value
            self._labels[(), key] = labels_to_store()

    def mget(self, keys: Sequence[str]) -> list[Any]:
        """Return the values of the keys, with None for each missing key."""
        self._record_labels(((), key) for key in keys)
        return [self._items.get((), {}).get(key) for key in keys]

    def mdelete(self, keys: Sequence[str]) -> None:
        """Delete keys."""
        for key in keys:
            self.delete((), key)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """Iterate over the flat keys in insertion order."""
        return iter([key for key in self._items.get((), ()) if key.startswith(prefix or "")])

    # — namespaces —

    def put(self, namespace: Sequence[str], key: str, value: Any) -> None:
        """Store a value; None deletes it."""
        self._items.setdefault(tuple(namespace), {})[key] = value
        self._labels[tuple(namespace), key] = labels_to_store()
        if value is None:
            self.delete(namespace, key)

    def get(self, namespace: Sequence[str], key: str) -> Item | None:
        """Return the stored item, or None."""
        space = tuple(namespace)
        values = self._items.get(space, {})
        self._record_labels([(space, key)])
        return Item(space, key, values[key]) if key in values else None

    def delete(self, namespace: Sequence[str], key: str) -> None:
        """Delete a value."""
        self._items.get(tuple(namespace), {}).pop(key, None)
        self._labels.pop((tuple(namespace), key), None)

    def _record_labels(self, places: Iterable[tuple[Namespace, str]]) -> None:
        """Label the run whose code reads values."""
        record_stored_labels(source for each in places for source in self._labels.get(each, ()))

    def list_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """Return the namespaces that hold items, sorted.

        Args:
            prefix: First parts of the namespace.
            suffix: Last parts of the namespace.
            max_depth: Truncate each namespace to this many parts.
            limit: Maximum number of namespaces to return.
            offset: Number of namespaces to skip.
        """
        first, last = tuple(prefix), tuple(suffix)
        found = {
            space[:max_depth]
            for space, values in self._items.items()
            if space
            and values
            and space[: len(first)] == first
            and (not last or space[-len(last) :] == last)
        }
        return sorted(found)[offset : offset + limit]

    def search(
        self,
        namespace_prefix: Sequence[str],
        /,
        *,
        query: str | None = None,
        filter: Mapping[str, Any] | None = None,
        limit: int = 10,
        offset: int = 0,
    ) -> list[Item]:
        """Return the items below a namespace, grouped by namespace, oldest first.

        Args:
            namespace_prefix: Where to search.
            query: Text that the value must contain.
            filter: Fields that the value, a dict, must have; ``{"$gt": 5}`` and similar compare.
            limit: Maximum number of items to return.
            offset: Number of items to skip.

        Raises:
            ValueError: The filter has an unknown operator.
        """
        prefix = tuple(namespace_prefix)
        found = [
            Item(space, key, value)
            for space, values in self._items.items()
            for key, value in values.items()
            if space[: len(prefix)] == prefix
            and (query is None or query.lower() in str(value).lower())
            and (not filter or _matches_filter(value, filter))
        ]
        shown = found[offset : offset + limit]
        self._record_labels((item.namespace, item.key) for item in shown)
        return shown

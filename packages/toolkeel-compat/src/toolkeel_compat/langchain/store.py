"""LangChain's in-memory stores: flat keys, and LangGraph's namespaces."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from operator import eq, ge, gt, le, lt, ne
from typing import Any

from toolkeel._records.record import record

Namespace = tuple[str, ...]
_COMPARE = {"$eq": eq, "$ne": ne, "$gt": gt, "$gte": ge, "$lt": lt, "$lte": le}


def _fits(value: Any, wanted: Any) -> bool:
    """Whether a value is as a filter has it; what is not there lies on no side of a bound."""
    if not isinstance(wanted, Mapping):
        return bool(value == wanted)
    if not any(name.startswith("$") for name in wanted):
        return isinstance(value, Mapping) and all(_fits(value.get(k), v) for k, v in wanted.items())
    if lost := [name for name in wanted if name not in _COMPARE]:
        raise ValueError(f"a filter compares by {', '.join(_COMPARE)}, not by {', '.join(lost)}")
    equal = {"$eq", "$ne"}.issuperset(wanted)
    return (equal or value is not None) and all(_COMPARE[k](value, v) for k, v in wanted.items())


@record
class Item:
    """What `InMemoryStore.get` finds.

    Args:
        namespace: Where it lies.
        key: Its key there.
        value: What was put.
    """

    namespace: Namespace
    key: str
    value: Any


class BaseStore(ABC):
    """Memory by namespace; a store of your own writes these four methods."""

    @abstractmethod
    def put(self, namespace: Sequence[str], key: str, value: Any) -> None:
        """Keep a value; None forgets it."""

    @abstractmethod
    def get(self, namespace: Sequence[str], key: str) -> Item | None:
        """What lies there; None if nothing does."""

    @abstractmethod
    def delete(self, namespace: Sequence[str], key: str) -> None:
        """Forget a value."""

    search: Callable[..., list[Item]]
    """What lies below a namespace; see `InMemoryStore.search`."""

    async def aput(self, namespace: Sequence[str], key: str, value: Any) -> None:
        """`put`, to be awaited, as the others."""
        self.put(namespace, key, value)

    async def aget(self, namespace: Sequence[str], key: str) -> Item | None:
        """`get`."""
        return self.get(namespace, key)

    async def adelete(self, namespace: Sequence[str], key: str) -> None:
        """`delete`."""
        self.delete(namespace, key)

    async def asearch(self, namespace_prefix: Sequence[str], /, **options: Any) -> list[Item]:
        """`search`."""
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

    # — flat keys —

    def mset(self, pairs: Sequence[tuple[str, Any]]) -> None:
        """Keep values by key."""
        self._items.setdefault((), {}).update(pairs)

    def mget(self, keys: Sequence[str]) -> list[Any]:
        """The values of the keys; None where there is none."""
        return [self._items.get((), {}).get(key) for key in keys]

    def mdelete(self, keys: Sequence[str]) -> None:
        """Forget keys."""
        for key in keys:
            self.delete((), key)

    def yield_keys(self, *, prefix: str | None = None) -> Iterator[str]:
        """The flat keys, in the order in which they came."""
        return iter([key for key in self._items.get((), ()) if key.startswith(prefix or "")])

    # — namespaces —

    def put(self, namespace: Sequence[str], key: str, value: Any) -> None:
        """Keep a value; None forgets it."""
        self._items.setdefault(tuple(namespace), {})[key] = value
        if value is None:
            self.delete(namespace, key)

    def get(self, namespace: Sequence[str], key: str) -> Item | None:
        """What lies there; None if nothing does."""
        space = tuple(namespace)
        kept = self._items.get(space, {})
        return Item(space, key, kept[key]) if key in kept else None

    def delete(self, namespace: Sequence[str], key: str) -> None:
        """Forget a value."""
        self._items.get(tuple(namespace), {}).pop(key, None)

    def list_namespaces(
        self,
        *,
        prefix: Sequence[str] = (),
        suffix: Sequence[str] = (),
        max_depth: int | None = None,
        limit: int = 100,
        offset: int = 0,
    ) -> list[Namespace]:
        """The namespaces where something lies, in order.

        Args:
            prefix: How they begin.
            suffix: How they end.
            max_depth: How much of each is told.
            limit: How many to give.
            offset: How many to leave out.

        Raises:
            ValueError: there is no such comparison.
        """
        first, last = tuple(prefix), tuple(suffix)
        found = {
            space[:max_depth]
            for space, kept in self._items.items()
            if space
            and kept
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
        """What lies below a namespace, namespace by namespace, the oldest first.

        Args:
            namespace_prefix: Where to look.
            query: Text that must stand in the value.
            filter: Fields that the value, a dict, must have; ``{"$gt": 5}`` and the like compare.
            limit: How many to give.
            offset: How many to leave out.
        """
        prefix = tuple(namespace_prefix)
        found = [
            Item(space, key, value)
            for space, kept in self._items.items()
            for key, value in kept.items()
            if space[: len(prefix)] == prefix
            and (query is None or query.lower() in str(value).lower())
            and (not filter or _fits(value, filter))
        ]
        return found[offset : offset + limit]

"""Remembering results: opt-in, after approval, never of failures.

A cached call still passes validation, guards and approval; only its body is spared. Calls that
come while the first of their kind runs wait for it instead of running too.
"""

from __future__ import annotations

import asyncio
import copy
import json
from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, Literal, TypeAlias

from toolwright.call.lock import resource_keys
from toolwright.call.validate import as_json
from toolwright.context import ToolContext
from toolwright.define.tool import Place, Prepared, Proceed
from toolwright.record import record

Scope: TypeAlias = Literal["run", "process"] | Callable[[ToolContext[Any]], Hashable]
"""Who shares results: the calls of one run, everybody, or those for whom a function agrees."""


@record
class _Kept:
    value: object
    expires: float
    resources: frozenset[str]


class Cache:
    """A `Step`: keeps the results of one or more tools.

    Share one cache between the tools that read a resource and those that write it: a call that
    writes a resource forgets every result that was read from it.

    Args:
        ttl: Seconds a result is good for.
        size: Results kept; the least recently used go first.
        scope: Who shares them.
    """

    place: Place = "cache"

    def __init__(self, ttl: float = 60.0, size: int = 1000, scope: Scope = "run") -> None:
        self.ttl = ttl
        self.size = size
        self.scope = scope
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()
        self._running: dict[Hashable, asyncio.Future[None]] = {}

    def key(self, prepared: Prepared, context: ToolContext[Any]) -> Hashable:
        """What tells this call from others: who shares it, the tool, its canonical arguments."""
        tool = prepared.tool
        scope: Hashable = "process"
        if self.scope == "run":
            scope = context.run.id
        elif callable(self.scope):
            scope = self.scope(context)
        arguments = json.dumps(as_json(prepared), sort_keys=True)
        return scope, tool.name, id(tool.function), arguments

    def get(self, key: Hashable) -> _Kept | None:
        """A result that is still good."""
        kept = self._kept.get(key)
        if kept is None:
            return None
        if monotonic() >= kept.expires:
            del self._kept[key]
            return None
        self._kept.move_to_end(key)
        return kept

    def put(self, key: Hashable, value: object, resources: frozenset[str]) -> None:
        """Keep a result; a copy, so that nobody changes it."""
        try:
            kept = _Kept(copy.deepcopy(value), monotonic() + self.ttl, resources)
        except Exception:  # what cannot be copied cannot be shared
            return
        self._kept[key] = kept
        while len(self._kept) > self.size:
            self._kept.popitem(last=False)

    def forget(self, resources: frozenset[str]) -> None:
        """Drop what was read from any of these."""
        for key in [key for key, kept in self._kept.items() if kept.resources & resources]:
            del self._kept[key]

    async def __call__(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        """Give the kept result, wait for the one being made, or make it."""
        resources = frozenset(resource_keys(prepared))
        if prepared.tool.effects.writes:
            try:
                return await proceed(prepared)
            finally:
                self.forget(resources)
        key = self.key(prepared, context)
        while True:
            if kept := self.get(key):
                return copy.deepcopy(kept.value)
            running = self._running.get(key)
            if running is None or running.get_loop() is not asyncio.get_running_loop():
                return await self._make(key, prepared, proceed, resources)
            await asyncio.shield(running)

    async def _make(
        self, key: Hashable, prepared: Prepared, proceed: Proceed, resources: frozenset[str]
    ) -> object:
        running: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._running[key] = running
        try:
            value = await proceed(prepared)
            self.put(key, value, resources)
            return value
        finally:
            del self._running[key]
            running.set_result(None)

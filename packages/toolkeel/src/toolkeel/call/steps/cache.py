"""Remembering results: opt-in, after approval, never of failures.

A cached call still passes validation, guards and approval; only its body is spared. Calls that
come while the first of their kind runs wait for it instead of running too.
"""

from __future__ import annotations

import asyncio
import copy
import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from time import monotonic
from typing import Literal, TypeAlias

from toolkeel._common.checked_arguments import checked
from toolkeel._records.record import record
from toolkeel.call.arguments.validate import as_json
from toolkeel.call.steps.resources import Branch, branches_of, overlap, resource_keys
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Place, Prepared, Proceed
from toolkeel.errors import SetupError

Scope: TypeAlias = Literal["run", "process"] | Callable[[ToolContext], Hashable]
"""Who shares results: the calls of one run, everybody, or those for whom a function agrees."""


@record
class _CachedResult:
    """One result.

    Args:
        value: A copy nobody else holds.
        expires: When it is no longer good, on the monotonic clock.
        resources: What was read for it.
        function: The body, kept alive so that no other can take its `id` in the key.
    """

    value: object
    expires: float
    resources: tuple[Branch, ...]
    function: object


class _Flight:
    """A body that runs, and those who wait for its result.

    Attributes:
        landed: Resolved when it has ended: True if who waits should look, or take over.
        stale: Something it reads was written meanwhile, so its result is not kept.
    """

    __slots__ = ("landed", "resources", "stale")

    def __init__(self, resources: tuple[Branch, ...]) -> None:
        self.landed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.resources = resources
        self.stale = False


@checked
class Cache:
    """A `Step`: keeps the results of one or more tools.

    Share one cache between the tools that read a resource and those that write it: a call that
    writes a resource forgets every result that was read from it.

    Args:
        ttl: Seconds a result is good for.
        size: Results kept; the least recently used go first.
        scope: Who shares them.

    Raises:
        SetupError: for numbers that make no cache; and when it is registered with a tool of which
            it is not known what it reads or writes.
    """

    place: Place = "cache"

    def __init__(self, ttl: float = 60.0, size: int = 1000, scope: Scope = "run") -> None:
        if not (ttl > 0 and size > 0):
            raise SetupError(f"Cache(ttl={ttl}, size={size}) would keep nothing")
        if not (scope in ("run", "process") or callable(scope)):
            raise SetupError(f"Cache: scope is 'run', 'process' or a function, not {scope!r}")
        self.ttl = ttl
        self.size = size
        self.scope = scope
        self._kept: OrderedDict[Hashable, _CachedResult] = OrderedDict()
        self._flights: dict[Hashable, _Flight] = {}
        self._lock = threading.Lock()

    def check_tool(self, tool: AnyTool) -> None:
        """See that the tool says enough about itself to be cached, or to make results stale.

        Raises:
            SetupError: naming the tool and the fix.
        """
        effects = tool.effects
        if effects.writes and not effects.resources:
            raise SetupError(
                f"{tool.name}: a Cache stands around it, but it does not say what it touches. If "
                "it only reads, give @tool(effects=Effects(read_only=True)); if it writes, name "
                'what, Effects(resources=("file:{path}",)), and what was read from there is '
                "forgotten"
            )
        if self.scope == "process" and not effects.writes and tool.injected:
            names = ", ".join(parameter.name for parameter in tool.injected)
            raise SetupError(
                f"{tool.name}: its result may depend on what is injected ({names}), so it cannot "
                "be shared by everybody; say who shares it: Cache(scope=lambda context: ...), or "
                "Cache(scope='run')"
            )

    async def __call__(self, prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
        """Give the kept result, wait for the one being made, or make it."""
        resources = branches_of(resource_keys(prepared))
        if prepared.tool.effects.writes:
            try:
                return await proceed(prepared)
            finally:
                self.forget(resources)
        key = self.key(prepared, context)
        while True:
            kept, flight = self._look(key)
            if kept is not None:
                return copy.deepcopy(kept.value)
            if flight is None:
                return await self._lead(key, prepared, proceed, resources)
            if not await asyncio.shield(flight.landed):
                return await proceed(prepared)

    def key(self, prepared: Prepared, context: ToolContext) -> Hashable:
        """What tells this call from others: who shares it, the tool, its canonical arguments.

        Raises:
            SetupError: the scope function gave something that cannot be a key.
        """
        tool = prepared.tool
        scope: Hashable = ("run", context.run.id) if self.scope == "run" else "process"
        if callable(self.scope):
            scope = ("own", self.scope(context))
            try:
                hash(scope)
            except TypeError as error:
                raise SetupError(
                    f"{tool.name}: the scope of its Cache gave something that cannot be a key "
                    f"({error}); give a text, a number or a tuple of these"
                ) from None
        arguments = json.dumps(as_json(prepared), sort_keys=True)
        return scope, tool.name, id(tool.function), arguments

    def forget(self, resources: tuple[Branch, ...]) -> None:
        """Drop what was read from any of these, and what is being read."""
        with self._lock:
            for flight in self._flights.values():
                flight.stale = flight.stale or _touch(flight.resources, resources)
            stale = [key for key, kept in self._kept.items() if _touch(kept.resources, resources)]
            for key in stale:
                del self._kept[key]

    def _look(self, key: Hashable) -> tuple[_CachedResult | None, _Flight | None]:
        """What there is of a result: itself, or the body that makes it."""
        loop = id(asyncio.get_running_loop())
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and monotonic() < kept.expires:
                self._kept.move_to_end(key)
                return kept, None
            self._kept.pop(key, None)
            return None, self._flights.get((loop, key))

    async def _lead(
        self, key: Hashable, prepared: Prepared, proceed: Proceed, resources: tuple[Branch, ...]
    ) -> object:
        """Make the result, keep it if it can be shared, and tell who waits."""
        place = (id(asyncio.get_running_loop()), key)
        flight = self._flights[place] = _Flight(resources)
        landed = True  # who waits looks again; if it was stopped, one of them takes over
        try:
            value = await proceed(prepared)
            landed = self._keep(key, value, flight, prepared)
            return value
        except Exception:
            landed = False
            raise
        finally:
            with self._lock:
                del self._flights[place]
            flight.landed.set_result(landed)

    def _keep(self, key: Hashable, value: object, flight: _Flight, prepared: Prepared) -> bool:
        """Keep a copy of a result, so that nobody changes it; whether it could be kept."""
        try:
            mine = copy.deepcopy(value)
        except Exception:  # what cannot be copied cannot be shared
            return False
        with self._lock:
            if flight.stale:
                return False
            expires = monotonic() + self.ttl
            self._kept[key] = _CachedResult(mine, expires, flight.resources, prepared.tool.function)
            while len(self._kept) > self.size:
                self._kept.popitem(last=False)
        return True


def _touch(some: Iterable[Branch], others: Sequence[Branch]) -> bool:
    return any(overlap(one, other) for one in some for other in others)

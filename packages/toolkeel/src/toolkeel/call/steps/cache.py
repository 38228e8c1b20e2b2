"""Caching of results: opt-in, after approval, never of failures.

A cached call still passes validation, guards and approval; only its body is skipped. Calls that
arrive while the first of their kind runs wait for its result (single-flight).
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
from toolkeel._records.taint_sources import Source
from toolkeel.call.arguments.canonical_arguments import as_json
from toolkeel.call.body.callback import CallbackTimeout, run_callback
from toolkeel.call.body.stop_errors import late_step_error
from toolkeel.call.steps.label_sources import as_read_by_others, collect_sources, record_source
from toolkeel.call.steps.resources import Branch, branches_of, overlaps, resource_keys
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Prepared, Proceed, StepPlace
from toolkeel.errors import SetupError

Scope: TypeAlias = Literal["run", "process"] | Callable[[ToolContext], Hashable]
"""Who shares results: the calls of one run, everybody, or those for whom a function agrees."""


@record
class _CachedResult:
    """One cached result.

    Args:
        value: A private copy.
        expires: Time on the monotonic clock at which it expires.
        resources: The resources that it was read from.
        function: The body, referenced so that its `id` in the key stays unique.
        sources: What its body has read: labels for each run that gets the result.
    """

    value: object
    expires: float
    resources: tuple[Branch, ...]
    function: object
    sources: tuple[Source, ...] = ()


class _Flight:
    """A running body and the calls that wait for its result.

    Attributes:
        landed: Resolved when the body has ended: False if it failed or its result cannot be cached, so
            that the waiting calls run their own.
        stale: True if a resource that it reads was written meanwhile: the result is not cached.
    """

    __slots__ = ("landed", "resources", "stale")

    def __init__(self, resources: tuple[Branch, ...]) -> None:
        self.landed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self.resources = resources
        self.stale = False


@checked
class Cache:
    """A `Step` that caches the results of one or more tools.

    Share one cache between the tools that read a resource and those that write it: a call that writes
    a resource removes all results that were read from it. Equal calls that come at once run the body
    once. Results are copied, and each run that uses one has the labels of its source.

    Args:
        ttl: Seconds for which a result is used.
        size: Maximum number of results; the least recently used are removed.
        scope: Who shares results: a run, everyone, or the key that a function returns.

    Raises:
        SetupError: a number is invalid; or, when registered, the tool does not declare what it reads
            or writes, or has injected parameters whose results everyone would share; or, in a call, the
            key of `scope` cannot be hashed.
    """

    place: StepPlace = "cache"
    step_timeout = None  # its waits have bounds of their own

    def __init__(self, ttl: float = 60.0, size: int = 1000, scope: Scope = "run") -> None:
        if not (ttl > 0 and size > 0):
            raise SetupError(f"Cache(ttl={ttl}, size={size}) would keep nothing")
        if not (scope in ("run", "process") or callable(scope)):
            raise SetupError(f"Cache: scope is 'run', 'process' or a function, not {scope!r}")
        self.ttl = ttl
        self.size = size
        self.scope = scope
        self._results: OrderedDict[Hashable, _CachedResult] = OrderedDict()
        self._flights: dict[Hashable, _Flight] = {}
        self._lock = threading.Lock()

    def check_tool(self, tool: AnyTool) -> None:
        """Raise unless the tool declares enough to be cached or to invalidate results.

        Raises:
            SetupError: naming the tool and the fix.
        """
        effects = tool.effects
        if effects.writes and not effects.resources:
            raise SetupError(
                f"{tool.name}: a Cache wraps it, but it does not say what it touches. If "
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
        """Return the cached result, or that of a running body for the same key, or run the body. Raises as `key`.

        A call that writes runs, and then invalidates what was read from its resources.
        """
        resources = branches_of(resource_keys(prepared))
        if prepared.tool.effects.writes:
            try:
                return await proceed(prepared)
            finally:
                self.forget(resources)
        key = await self.key(prepared, context)
        while True:
            cached, flight = self._look_up(key)
            if cached is not None:
                for source in cached.sources:
                    record_source(context.run, source, context)
                return copy.deepcopy(cached.value)
            if flight is None:
                return await self._compute(key, prepared, proceed, resources)
            if not await asyncio.shield(flight.landed):
                return await proceed(prepared)

    async def key(self, prepared: Prepared, context: ToolContext) -> Hashable:
        """Return the cache key of a call: scope, tool, canonical arguments.

        Raises:
            SetupError: the scope function returned an unhashable value.
            TimedOut: it took longer than the run's `callback_timeout`.
        """
        tool = prepared.tool
        scope: Hashable = ("run", context.run.id) if self.scope == "run" else "process"
        if callable(self.scope):
            limit, name = context.run.scope.callback_timeout, "Cache(scope=)"
            try:
                found = await run_callback(self.scope, context, seconds=limit, name=name)
            except CallbackTimeout as error:
                raise late_step_error(context, name, error.seconds, "stopped") from error
            scope = ("own", found)
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
        """Invalidate cached and running reads of any of these resources."""
        with self._lock:
            for flight in self._flights.values():
                flight.stale = flight.stale or _overlaps_any(flight.resources, resources)
            stale = [
                key
                for key, cached in self._results.items()
                if _overlaps_any(cached.resources, resources)
            ]
            for key in stale:
                del self._results[key]

    def _look_up(self, key: Hashable) -> tuple[_CachedResult | None, _Flight | None]:
        """Return a key's cached result, or else the body running for it; drop an expired result."""
        loop = id(asyncio.get_running_loop())
        with self._lock:
            cached = self._results.get(key)
            if cached is not None and monotonic() < cached.expires:
                self._results.move_to_end(key)
                return cached, None
            self._results.pop(key, None)
            return None, self._flights.get((loop, key))

    async def _compute(
        self, key: Hashable, prepared: Prepared, proceed: Proceed, resources: tuple[Branch, ...]
    ) -> object:
        """Run the body, cache its result if possible, and wake the calls that wait."""
        place = (id(asyncio.get_running_loop()), key)
        flight = self._flights[place] = _Flight(resources)
        landed = True  # those who wait look it up again; if it was stopped, one of them takes over
        try:
            with collect_sources() as read:
                value = await proceed(prepared)
            landed = self._store(key, value, flight, prepared, as_read_by_others(read))
            return value
        except Exception:
            landed = False
            raise
        finally:
            with self._lock:
                del self._flights[place]
            flight.landed.set_result(landed)

    def _store(
        self,
        key: Hashable,
        value: object,
        flight: _Flight,
        prepared: Prepared,
        sources: tuple[Source, ...],
    ) -> bool:
        """Cache a copy of a result, and drop old ones beyond `size`. Return False if it is stale or cannot be copied."""
        try:
            mine = copy.deepcopy(value)
        except Exception:  # what cannot be copied cannot be shared
            return False
        with self._lock:
            if flight.stale:
                return False
            expires = monotonic() + self.ttl
            self._results[key] = _CachedResult(
                mine, expires, flight.resources, prepared.tool.function, sources
            )
            while len(self._results) > self.size:
                self._results.popitem(last=False)
        return True


def _overlaps_any(some: Iterable[Branch], others: Sequence[Branch]) -> bool:
    """Return True if a branch of `some` overlaps one of `others`."""
    return any(overlaps(one, other) for one in some for other in others)

"""The state of an agent's run, which reports an assignment that loses the write of another call.

Calls of a turn run at the same time. One that reads a value, waits and assigns a new one loses what
another call has written meanwhile. `ToolContext.update` cannot lose it; an assignment can, so it is
reported as a `StateOverwritten` event where the call has not read the value since the other wrote it.
"""

from __future__ import annotations

from collections.abc import ItemsView, ValuesView
from time import perf_counter
from typing import Any

from toolkeel._records.record import record
from toolkeel._records.typed_values import RunValues
from toolkeel.context import ENCLOSING, ToolContext


@record
class _Write:
    """The last write of a key: its call, its time, and the calls that have read the key since."""

    by: ToolContext[Any]
    at: float
    readers: set[int]


class WatchedState(RunValues):
    """The state of an agent's run; it reports lost writes as events.

    >>> state = WatchedState()
    >>> state["n"] = 1
    >>> state
    {'n': 1}
    """

    def __init__(self) -> None:
        super().__init__()
        self._writes: dict[str, _Write] = {}

    def __setitem__(self, key: str, value: object) -> None:
        """Set a value and record its writer; report another call's overwritten, unread value."""
        super().__setitem__(key, value)
        if (call := self._running_call()) is None:
            self._writes.pop(key, None)
            return
        last = self._writes.get(key)
        self._writes[key] = _Write(call, perf_counter(), {id(call)})
        if last is None or last.by is call or id(call) in last.readers:
            return
        if last.at >= call.started_at > 0:
            call.report_overwrite(key, last.by.call.id)

    def __getitem__(self, key: str) -> object:
        self._mark_read(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return a value or the default, and record the read."""
        self._mark_read(key)
        return super().get(key, default)

    def items(self) -> ItemsView[str, object]:  # type: ignore[override]
        """Return all items, and record a read of each."""
        self._mark_read(*self._writes)
        return super().items()

    def values(self) -> ValuesView[object]:  # type: ignore[override]
        """Return all values, and record a read of each."""
        self._mark_read(*self._writes)
        return super().values()

    def _mark_read(self, *keys: str) -> None:
        """Record that the running call, if any, has read these keys."""
        if self._writes and (call := self._running_call()) is not None:
            for key in keys:
                if (last := self._writes.get(key)) is not None:
                    last.readers.add(id(call))

    def _running_call(self) -> ToolContext[Any] | None:
        """Return the call whose body runs here, if this is its run's state."""
        found = ENCLOSING.get()
        return found if isinstance(found, ToolContext) and found.run.state is self else None

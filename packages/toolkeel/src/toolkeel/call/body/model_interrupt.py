"""Interrupting a model request when its run is cancelled."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from toolkeel.context import RunContext


class Interrupt:
    """A link from a run's cancel token to the task of its model request.

    While it is armed, a cancel of the run cancels the task. One object serves all turns of a run.
    """

    __slots__ = ("_armed", "_before", "_cancel", "_forget", "_is_interrupted", "_loop", "_task")

    def __init__(self, run: RunContext) -> None:
        self._task = asyncio.current_task()
        self._before = 0
        self._loop = asyncio.get_running_loop()
        self._armed = self._is_interrupted = False
        self._cancel = run.cancel
        self._forget = run.cancel.watch(self._on_cancel)

    def arm(self) -> None:
        """Cancel the task when the run is cancelled from now on, or at once if it is already."""
        if self._task is not None:
            self._before = self._task.cancelling()
        self._armed = True
        if self._cancel.cancelled:
            self._on_cancel()

    def _on_cancel(self) -> None:
        """Interrupt the task from any thread; do nothing once the loop has closed."""
        with suppress(RuntimeError):  # the loop has closed: there is nothing left to cancel
            self._loop.call_soon_threadsafe(self._interrupt)

    def _interrupt(self) -> None:
        """Cancel the task and record that, once, if the interrupt is armed."""
        if self._task is not None and self._armed and not self._is_interrupted:
            self._is_interrupted = True
            self._task.cancel()

    def is_own(self) -> bool:
        """Undo the run's cancellation of the task, and return True if no other is left.

        Return False if the run has not cancelled the task.
        """
        if not self._is_interrupted or self._task is None:
            return False
        self._is_interrupted = False
        return self._task.uncancel() <= self._before

    def disarm(self) -> None:
        """Let the task run on when the run is cancelled, and undo a cancellation that was not caught."""
        self._armed = False
        if self._is_interrupted and self._task is not None:
            self._is_interrupted = False
            self._task.uncancel()

    def close(self) -> None:
        """Stop watching the run's cancel token."""
        self._forget()
        self.disarm()
        self._task = None

"""The process executor: bodies in worker processes that are killed at their deadline.

::

    @tool(executor=Process(), timeout=10)
    def crunch(data: str) -> str: ...

Python cannot end a thread that runs C code, such as a regular expression that backtracks forever. A
process is killed with all its children. The first call pays for starting Python, some tenths of a
second; then the process stays warm. Arguments, results and reports cross as JSON, never pickled.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Hashable
from pathlib import Path

from toolkeel._common.checked_arguments import checked
from toolkeel._common.package_data import require_file
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Prepared
from toolkeel.errors import SetupError
from toolkeel.executors import warm_pool
from toolkeel.executors.command_limits import Limits
from toolkeel.executors.executor import Capabilities
from toolkeel.executors.frames import Message, pack_message
from toolkeel.executors.process_tree import CommandResult, get_current_folder
from toolkeel.executors.supervised import SUPERVISOR_SCRIPT, Confinement, Unconfined
from toolkeel.executors.warm_pool import CrossLoopSemaphore, Worker
from toolkeel.executors.worker import TOO_LARGE
from toolkeel.executors.worker_request import (
    DIED,
    check_sendable,
    forward_report,
    make_request,
    read_outcome,
)

MAX_CONCURRENCY = 8
MAX_CALLS_PER_WORKER = 1000
"""Calls a worker serves before a fresh one replaces it."""
_START_CODE = (
    "import sys; sys.path = sys.argv[1:]; from toolkeel.executors.worker import main; main()"
)
_PACKAGES = ("toolkeel", "toolkeel_workspace", "toolkeel_studio", "toolkeel_compat")
_MAX_FAILED_STARTS = 3  # workers in a row that end before a body starts


@checked
class Process:
    """An executor: bodies in warm worker processes, each killed at its call's deadline.

    The tool must be a module-level name of a module or script, where the process can find it. All
    `Process()` with the same limits share their workers. Module globals persist in a worker from call to
    call; a worker in which a body left child processes serves no further call.

    Args:
        sandbox: Confines the process; by default only `limits` apply. The files of toolkeel and of the
            tool are readable inside, too.
        limits: Resource limits of a process without sandbox; a sandbox has its own.
        max_concurrency: Calls that run at once; further ones wait, within their deadline.
        max_calls_per_worker: Calls a worker serves; ``1`` starts a fresh process for each call, which is
            also the default with a sandbox.
        queue_timeout: Seconds a call may wait for a slot; then it is refused, and has not started.
        max_retries: How often to repeat a call whose process died; only for tools whose effects are
            declared `read_only` or `idempotent`. All others run once.

    Raises:
        SetupError: this system cannot start such processes (Windows), or fewer than 1 call at once.

    >>> from toolkeel import tool
    >>> @tool(executor=Process(), timeout=10)
    ... def crunch(data: str) -> str:
    ...     "Work hard."
    """

    capabilities = Capabilities(
        can_kill=True, can_stream=True, is_isolated=True, has_queue_timeout=True
    )

    def __init__(
        self,
        sandbox: Confinement | None = None,
        *,
        limits: Limits | None = None,
        max_concurrency: int = MAX_CONCURRENCY,
        max_calls_per_worker: int | None = None,
        queue_timeout: float | None = None,
        max_retries: int = 0,
    ) -> None:
        self._sandbox = None if sandbox is None or sandbox.mode == "off" else sandbox
        self._unconfined = Unconfined(sandbox.limits if sandbox else limits)
        self._max_calls_per_worker = max_calls_per_worker or (
            MAX_CALLS_PER_WORKER if self._sandbox is None else 1
        )
        self._queue_timeout = queue_timeout
        self._max_retries = max_retries
        if max_concurrency < 1:
            raise SetupError(f"Process(max_concurrency={max_concurrency}): it must be 1 or more")
        self._slots = CrossLoopSemaphore(max_concurrency)

    def check_tool(self, tool: AnyTool) -> None:
        """Check that a worker can find and run the tool. See `Executor`."""
        require_file(SUPERVISOR_SCRIPT)
        check_sendable(tool, "Process()")

    async def __call__(self, prepared: Prepared, context: ToolContext) -> object:
        """Run the body in a worker and return its value; a cancel kills the worker first. See `Executor`."""
        body, context.body_state = (
            context.body_state,
            "" if context.body_state == "runs" else context.body_state,
        )
        await self._slots.acquire_within(self._queue_timeout, prepared.tool.name)
        context.body_state = body
        tool = prepared.tool
        tries = 1 + (self._max_retries if tool.effects.repeatable else 0)
        try:
            outcome = await self.run_request(
                make_request(prepared, context),
                tries,
                lambda message: forward_report(message, context),
            )
        finally:
            self._slots.release()
        return read_outcome(tool, outcome)

    async def run_request(
        self, request: Message, max_starts: int, report: Callable[[Message], object]
    ) -> Message:
        """Run a request in a worker; replace a worker that ended before the body started.

        Args:
            request: See `toolkeel.executors.worker_request.make_request`.
            max_starts: How often the body may start.
            report: Called with each report of the body.

        Returns:
            An outcome for `toolkeel.executors.worker_request.read_outcome`.

        Raises:
            MessageTooLarge: the request cannot be sent.
            ToolError: this program's folder was removed.
        """
        starts = _MAX_FAILED_STARTS
        kind = self._worker_key(request)
        folder = str(self._sandbox.roots[0]) if self._sandbox else get_current_folder()
        packed = pack_message({**request, "folder": folder})
        while True:
            worker = warm_pool.take_idle(kind)
            fresh = worker is None
            if worker is None:
                worker = self._start_worker(request["file"])
            outcome = await worker.send_request(packed, report)
            printed = worker.read_output()
            await self._release_worker(kind, worker, outcome)
            if outcome is not None:
                return {**outcome, "printed": printed}
            if worker.end_reason == "output":
                return {"kind": TOO_LARGE}
            if worker.body_started:
                max_starts -= 1
            elif fresh:
                starts -= 1
            if not (max_starts and starts):
                return _make_died_outcome(worker, printed)

    def _worker_key(self, request: Message) -> Hashable:
        """Return a key equal for requests that may share a worker: same limits and `sys.path`.

        In a sandbox: the same one, and the same folder of the tool's file.
        """
        if self._sandbox is None:
            return repr(self._unconfined.limits), tuple(sys.path)
        return self._sandbox, Path(request["file"]).parent, tuple(sys.path)

    def _start_worker(self, file: str) -> Worker:
        """Start a Python process that runs bodies, in the sandbox or under limits alone."""
        argv = [sys.executable, "-I", "-c", _START_CODE, *map(os.path.abspath, sys.path)]
        if self._sandbox is None:
            command = self._unconfined.build_command(argv)
            return Worker(command, self._unconfined.limits.total_memory)
        sandbox = self._sandbox.with_readable(*_find_library_folders(), Path(file).parent)
        return Worker(sandbox.build_command(argv), sandbox.limits.total_memory)

    async def _release_worker(
        self, kind: Hashable, worker: Worker, outcome: Message | None
    ) -> None:
        """Put a worker back into the warm pool, or end it if it is worn out or the pool is full.

        Without an outcome it has ended by itself, and nothing is done.
        """
        if outcome is None:
            return
        is_worn_out = outcome.get("retire", True) or worker.calls >= self._max_calls_per_worker
        if is_worn_out or not warm_pool.put_idle(kind, worker):
            await asyncio.shield(worker.end())


def _find_library_folders() -> list[Path]:
    """Return the folders that the library's distributions are imported from."""
    folders = [Path(entry or ".") for entry in sys.path]
    return [folder for folder in folders if any((folder / name).is_dir() for name in _PACKAGES)]


def _make_died_outcome(worker: Worker, printed: str) -> Message:
    """Return the outcome of a worker that ended: how it ended, and what it printed."""
    found = CommandResult(worker.exit_code, worker.end_reason, b"", b"", 0.0, worker.signal)
    may_mean = f", which may mean {found.possible_signal}" if found.possible_signal else ""
    how = f"exited ({found.exit_code}{may_mean})"
    how = f"was killed by {found.signal}" if found.signal else how
    details = {"exit_code": found.exit_code, "signal": found.signal, "stderr": printed}
    return {"kind": DIED, "text": how, "details": details}

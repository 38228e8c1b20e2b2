"""Commands that run on between calls: started, looked at, answered, stopped, and bounded.

A job belongs to the run whose call started it, or to its session, see `lifetime`; outside of an agent it
belongs to the program and ends with its event loop. Each look returns the output since the last one.

::

    start ──> running ──exits──────────────────────────> ended ──owner's end──> forgotten
                 └──stop, owner's end, MAX_SECONDS, MAX_OUTPUT──^
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import ExitStack, suppress
from typing import Any

from toolkeel.context import RunContext
from toolkeel.errors import ToolError
from toolkeel.executors.process_tree import (
    CommandResult,
    RunningCommand,
    finish_command,
    start_command,
)
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.shell.command import (
    MAX_OUTPUT,
    check_command,
    describe_failure,
    explain_not_started,
    without_terminal,
)
from toolkeel_workspace.shell.lifetime import (
    Lifetime,
    ends_with_run,
    find_highest_number,
    find_owner,
    list_earlier_jobs,
)
from toolkeel_workspace.shell.output_tail import OutputTail
from toolkeel_workspace.shell.prompts import describe_wait

MAX_JOBS = 8
"""Jobs that may run at once in one run."""
MAX_SECONDS = 3600.0
"""Longest time a job may run."""
FIRST_LOOK = 1.0
"""Seconds that a start waits for the job's end, so that an early failure is reported at once."""
REST_OF_ANSWER = 0.1
"""Seconds that a look waits after the first output that follows input, such as for the next prompt."""


class Job:
    """A command in the background.

    Args:
        id: Its name for the model.
        command: The line of shell.
        seconds: How long it may run.

    Attributes:
        is_stopped: The model or the end of the run has stopped it.
        on_end: Called when the run has ended and stopped the job.
    """

    def __init__(self, id: str, command: str, seconds: float) -> None:
        self.id = id
        self.command = command
        self.seconds = seconds
        self._tail = OutputTail(_ignore)
        self._partial = b""
        self._unfinished = b""
        self._stack = ExitStack()
        self._running: RunningCommand | None = None
        self._task: asyncio.Task[CommandResult] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.is_stopped = False
        self._new_output = asyncio.Event()
        self.on_end: Callable[[], Awaitable[object]] | None = None

    async def start(self, sandbox: Sandbox, argv: list[str]) -> None:
        """Start the command.

        Raises:
            ToolError: it cannot be started.
        """
        try:
            command = self._stack.enter_context(without_terminal(sandbox).build_command(argv))
            self._running = await start_command(command, merge_stderr=True)
        except OSError as error:
            self._stack.close()
            raise ToolError(explain_not_started(error)) from None
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._finish(sandbox.limits.total_memory))

    async def _finish(self, max_memory: int | None) -> CommandResult:
        assert self._running is not None
        try:
            return await finish_command(
                self._running,
                stdin=None,
                timeout=self.seconds,
                sink=self._add,
                max_output=MAX_OUTPUT,
                max_memory=max_memory,
            )
        except asyncio.CancelledError:  # the event loop ends
            self.is_stopped = True
            raise
        finally:
            self._stack.close()
            self._new_output.set()

    def _add(self, piece: bytes) -> None:
        """Add output, without the beginning of a character whose end has not arrived."""
        data = self._partial + piece
        cut = _count_partial_bytes(data)
        self._partial = data[len(data) - cut :]
        complete = data[: len(data) - cut]
        self._tail.add(complete)
        self._unfinished = (self._unfinished + complete).rpartition(b"\n")[2][-1000:]
        self._new_output.set()

    @property
    def is_running(self) -> bool:
        """True until the command has ended."""
        return self._task is not None and not self._task.done()

    async def wait(self, seconds: float, *, for_end: bool = True) -> None:
        """Wait until the command ends, or for so many seconds.

        Args:
            seconds: Longest wait.
            for_end: False to return at the next output, too.
        """
        await self._on_own_loop(self._wait, seconds, for_end)

    async def _wait(self, seconds: float, for_end: bool) -> None:
        if self._task is None or self._task.done():
            return
        waits: list[asyncio.Future[Any]] = [asyncio.ensure_future(asyncio.shield(self._task))]
        if not for_end:
            self._new_output.clear()
            waits.append(asyncio.ensure_future(self._new_output.wait()))
        done, rest = await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        for each in rest:
            each.cancel()
        for each in done:
            with suppress(asyncio.CancelledError):
                each.exception()

    async def send(self, text: str) -> None:
        """Write to the command's standard input.

        Raises:
            ToolError: it has ended, or no longer reads.
        """
        await self._on_own_loop(self._send, text)

    async def _on_own_loop(self, work: Callable[..., Awaitable[None]], *arguments: object) -> None:
        """Do work on the event loop that started the command, which runs of a session may not share."""
        if not self.is_running or self._loop in (None, asyncio.get_running_loop()):
            await work(*arguments)
            return

        async def run() -> None:
            await work(*arguments)

        assert self._loop is not None
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run(), self._loop))

    async def _send(self, text: str) -> None:
        process = None if self._running is None else self._running.process
        if not self.is_running or process is None or process.stdin is None:
            raise ToolError(f"{self.id} has ended, so it takes no input.\n\n{self.look()}".strip())
        try:
            process.stdin.write(text.encode("utf-8", "replace"))
            await process.stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise ToolError(f"{self.id} has closed its input.") from None
        self._unfinished = b""

    async def stop(self) -> None:
        """Kill the command with all that it started, and wait until it has ended."""
        if self._running is not None and self.is_running:
            self.is_stopped = True
            self._running.kill()
            await self.wait(MAX_SECONDS)

    def look(self) -> str:
        """Return the output since the last look, and the state of the command."""
        tail, self._tail = self._tail, OutputTail(_ignore)
        if not self.is_running and self._partial:
            tail.add(self._partial)
            self._partial = b""
        tail.close()
        text, notice = tail.render()
        said = [f"[{each}]" for each in (notice, *tail.describe_changes()) if each]
        return "\n\n".join([text or "(no new output)", *said, self._describe(text)])

    def _describe(self, text: str) -> str:
        if self._running is not None and self.is_running:
            line = self._unfinished.decode("utf-8", "replace")
            waits = describe_wait(self._running.process.pid, text, line)
            return f"[{self.id} is running.{' ' * bool(waits)}{waits}]"
        if self.is_stopped:
            return f"[{self.id} was stopped.]"
        return f"[{self.id} has ended. {self.failure or 'Command exited with code 0.'}]"

    @property
    def failure(self) -> str:
        """Why the ended command counts as failed; empty if it does not."""
        if self._task is None or not self._task.done() or self._task.cancelled():
            return ""
        return describe_failure(self._task.result(), self.seconds)


class Jobs:
    """The jobs of a workspace, by what they belong to.

    Args:
        lifetime: How long they last.
    """

    def __init__(self, lifetime: Lifetime = "run") -> None:
        self.lifetime: Lifetime = lifetime
        self._of_owner: dict[str, dict[str, Job]] = {}
        self._lost: dict[str, list[str]] = {}
        self._count = 0

    async def start(
        self,
        run: RunContext,
        sandbox: Sandbox,
        command: tuple[str, list[str]],
        timeout: float | None = None,
    ) -> Job:
        """Start a command, which the end of its owner stops.

        Args:
            run: The run of the call.
            sandbox: What it may do.
            command: The line of shell, and its argv.
            timeout: Seconds; `MAX_SECONDS` by default and at most.

        Raises:
            ToolError: it cannot be started, or `MAX_JOBS` run already.
        """
        line, argv = command
        seconds = check_command(argv, timeout, default=MAX_SECONDS, highest=MAX_SECONDS)
        jobs = self._jobs_of(run)
        running = self.list_running(run)
        if len(running) >= MAX_JOBS:
            raise ToolError(f"{MAX_JOBS} jobs run already ({', '.join(running)}); stop one first.")
        self._count = 1 + max(self._count, find_highest_number(list_earlier_jobs(run)))
        job = jobs[f"job-{self._count}"] = Job(f"job-{self._count}", line, seconds)
        try:
            await job.start(sandbox, argv)
            await job.wait(FIRST_LOOK)
        except BaseException:
            await job.stop()
            del jobs[job.id]
            raise
        return job

    def _jobs_of(self, run: RunContext) -> dict[str, Job]:
        """Return the jobs that a run may use. Those that end with it end at its end from now on."""
        owner = find_owner(run, self.lifetime)
        if owner not in self._of_owner:
            self._of_owner[owner] = {}
            earlier = list_earlier_jobs(run).items()
            self._lost[owner] = [id for id, was_running in earlier if was_running]
            if ends_with_run(owner):
                run.loop_state.cleanups.append(lambda: self.stop_all(owner))
        return self._of_owner[owner]

    def list_running(self, run: RunContext) -> list[str]:
        """Return the ids of the jobs of a run that have not ended."""
        return [job.id for job in self._jobs_of(run).values() if job.is_running]

    def find(self, run: RunContext, id: str) -> Job:
        """Return a job of a run by its id.

        Raises:
            ToolError: there is none; it lists those that there are.
        """
        jobs = self._jobs_of(run)
        if id in jobs:
            return jobs[id]
        known = ", ".join(f"{each} ({job.command[:60]})" for each, job in jobs.items())
        there = f"Jobs: {known or 'none'}."
        if id in list_earlier_jobs(run):
            raise ToolError(f"{id!r} does not exist any more. {self._explain_end(run)} {there}")
        raise ToolError(f"There is no job {id!r}. {there}")

    def describe_lost(self, run: RunContext) -> str:
        """Return a sentence about jobs that ran when the model last looked, and do not exist any more.

        It is returned once. Empty if there are none.
        """
        self._jobs_of(run)
        if lost := self._lost.pop(find_owner(run, self.lifetime), []):
            return f"Stopped meanwhile: {', '.join(lost)}. {self._explain_end(run)}"
        return ""

    def _explain_end(self, run: RunContext) -> str:
        is_short = ends_with_run(find_owner(run, self.lifetime))
        when = "the agent has finished or waits for a person" if is_short else "their program ends"
        return f"Jobs end when {when}. Start it again if it is needed."

    async def stop_all(self, owner: str) -> None:
        """Stop all jobs of an owner and forget them."""
        self._lost.pop(owner, None)
        for job in self._of_owner.pop(owner, {}).values():
            await job.stop()
            if job.on_end is not None:
                await job.on_end()

    async def close(self) -> None:
        """Stop the jobs of all owners."""
        for owner in list(self._of_owner):
            await self.stop_all(owner)


def _count_partial_bytes(data: bytes) -> int:
    """Return how many bytes at the end begin a UTF-8 character that is not complete.

    >>> _count_partial_bytes("ü".encode()[:1]), _count_partial_bytes("ü".encode())
    (1, 0)
    """
    for back in range(1, min(4, len(data) + 1)):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        length = 4 if byte >= 0xF0 else 3 if byte >= 0xE0 else 2 if byte >= 0xC0 else 1
        return back if length > back else 0
    return 0


def _ignore(text: str) -> None:
    """Report no progress: no call listens."""

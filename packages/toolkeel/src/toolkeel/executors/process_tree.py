"""Start a command, feed it, read it, and end it with all its descendants."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import sys
import tempfile
import threading
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Literal

from toolkeel._records.record import record
from toolkeel.errors import ToolError
from toolkeel.executors import cgroup_pids, memory_used

Sink = Callable[[bytes], object]
EndReason = Literal["exit", "timeout", "output", "memory"]
_CHUNK_SIZE = 1 << 16
_CHECK_INTERVAL = 0.25  # seconds between checks of the memory
_SUPERVISOR_SECONDS = 10.0  # seconds for a supervisor to kill what it supervises


class CommandNotStarted(OSError):
    """Raised when a command cannot be started; no process was created."""


def open_memory_file(data: bytes) -> int:
    """Return a descriptor to read data from, of a file without a name."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("toolkeel")
        os.write(descriptor, data)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return descriptor
    with tempfile.TemporaryFile() as file:
        file.write(data)
        file.seek(0)
        return os.dup(file.fileno())


class Command:
    """A command ready to start, with the descriptors and control group it owns until it is closed.

    ::

        with sandbox.build_command(["python3", "-c", "print(1)"]) as command:
            subprocess.run(command.argv, env=command.env, pass_fds=command.pass_fds)

    Args:
        argv: The program and its arguments.
        env: Its complete environment.
        pass_fds: Open descriptors the process inherits.
        lifeline: Descriptor that ends the command with its descendants when closed; -1 if killing the
            process does that.
        on_close: Called when the command is closed.
        group: Control group it starts in, removed when it is closed.
    """

    def __init__(
        self,
        argv: list[str],
        env: dict[str, str],
        pass_fds: tuple[int, ...],
        lifeline: int = -1,
        on_close: Sequence[Callable[[], object]] = (),
        group: Path | None = None,
    ) -> None:
        self.argv = argv if group is None else cgroup_pids.wrap_command(group, argv)
        self._group = group
        self.env = env
        self.pass_fds = pass_fds
        self._has_lifeline, self._lifeline = lifeline >= 0, lifeline
        self._on_close = list(on_close)

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close_passed_fds(self) -> None:
        """Close our copies of the inherited descriptors, after the start; `close` does it, too."""
        for descriptor in self.pass_fds:
            with suppress(OSError):
                os.close(descriptor)
        self.pass_fds = ()

    def stop(self) -> bool:
        """Kill the command with its descendants, once; False, doing nothing, if only killing the process can."""
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            os.close(lifeline)
        return self._has_lifeline

    def close(self) -> None:
        """End the command if it still runs, and release its resources."""
        self.close_passed_fds()
        self.stop()
        while self._on_close:
            self._on_close.pop()()
        if self._group is not None:
            cgroup_pids.remove_group(self._group)
            self._group = None


@record
class CommandResult:
    """How a command ended.

    Args:
        exit_code: 128 plus the signal's number if a signal killed it. A shell returns such a code, too,
            for a command of its own that a signal killed, and so can any program.
        end_reason: ``exit`` by itself, or what ended it: the timeout, or too much output or memory.
        stdout: Its standard output, unless a sink received it.
        stderr: Its standard error; empty if it was merged into the output.
        seconds: How long it ran.
        signal: Name of the signal that killed it, such as ``SIGKILL``; empty for none, and where only
            the exit code is known, as behind bubblewrap.
    """

    exit_code: int
    end_reason: EndReason
    stdout: bytes
    stderr: bytes
    seconds: float
    signal: str = ""

    @property
    def possible_signal(self) -> str:
        """Name of the signal that the exit code may mean; empty if it can mean none."""
        return _name_signal(self.exit_code - 128)


def split_return_code(code: int) -> tuple[int, str]:
    """Return the exit code and the name of the signal that a process's return code means."""
    return (code, "") if code >= 0 else (128 - code, _name_signal(-code))


def _name_signal(number: int) -> str:
    """Return the name of a signal, or an empty string for an unknown number."""
    with suppress(ValueError):
        return signal.Signals(number).name
    return ""


@record
class RunningCommand:
    """A started command.

    Args:
        process: The process.
        command: What it was started from; `stop` ends it.
        started_at: By `time.perf_counter`.
    """

    process: Process
    command: Command
    started_at: float

    def kill(self) -> None:
        """Kill it with its descendants, without waiting."""
        if not self.command.stop():
            _kill(self.process)

    async def stop(self) -> None:
        """Kill it with its descendants, wait until all have exited, and drop the rest of its output."""
        self.kill()
        pipes = [pipe for pipe in (self.process.stdout, self.process.stderr) if pipe is not None]
        rest = asyncio.gather(
            self.process.wait(), *(_read_stream(pipe, _discard) for pipe in pipes)
        )
        try:
            await asyncio.wait_for(rest, _SUPERVISOR_SECONDS)
        except TimeoutError:  # its supervisor hangs
            _kill(self.process)
            await self.process.wait()


def _require_thread() -> None:
    """Check that a thread can be started, where the event loop waits for a process in one.

    Else the process would be started and then lost.

    Raises:
        OSError: there is none left.
    """
    if sys.version_info >= (3, 12) and hasattr(os, "pidfd_open"):
        return
    try:
        threading.Thread(target=int, daemon=True).start()
    except RuntimeError:
        raise OSError(errno.EAGAIN, "the system has no thread left") from None


def get_current_folder() -> str:
    """Return the folder that this program runs in.

    Raises:
        ToolError: the folder was removed.
    """
    try:
        return os.getcwd()
    except FileNotFoundError:
        raise ToolError(
            "The folder that this program runs in was removed, and what it starts needs one. A person "
            "must start the program again, in another folder."
        ) from None


async def start_command(command: Command, *, merge_stderr: bool = False) -> RunningCommand:
    """Start a command with pipes for its streams.

    Args:
        command: What to start; keep it open until the process has ended.
        merge_stderr: Send standard error to standard output.

    Raises:
        OSError: if it cannot be started.
    """
    _require_thread()
    started_at = perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        env=command.env,
        pass_fds=command.pass_fds,
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT if merge_stderr else PIPE,
        start_new_session=True,
    )
    command.close_passed_fds()
    return RunningCommand(process, command, started_at)


async def finish_command(
    running: RunningCommand,
    *,
    stdin: bytes | None = b"",
    timeout: float | None = None,
    sink: Sink | None = None,
    max_output: int,
    max_memory: int | None = None,
) -> CommandResult:
    """Feed a started command, read its output and wait for its end, under the limits. Return how it ended.

    A cancel kills it, with its descendants, before it is raised.

    Args:
        running: The command.
        stdin: Its standard input; None if the caller writes it.
        timeout: Seconds after which it is killed.
        sink: Called with each piece of standard output instead of collecting it.
        max_output: Bytes of output after which it is killed.
        max_memory: Bytes of memory of all its processes after which it is killed.
    """
    process = running.process
    collected: tuple[list[bytes], list[bytes]] = ([], [])
    budget = _OutputBudget(max_output, running.kill)
    timed_out = False
    guard = asyncio.create_task(_limit_memory(running, max_memory))
    try:
        async with asyncio.timeout(timeout):
            await asyncio.gather(
                _write_stdin(process, stdin),
                _read_stream(process.stdout, budget.limit_sink(sink or collected[0].append)),
                _read_stream(process.stderr, budget.limit_sink(collected[1].append)),
                process.wait(),
            )
    except TimeoutError:
        timed_out = True
    finally:
        guard.cancel()
        await asyncio.shield(running.stop())
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    ended: EndReason = "output" if budget.is_exceeded else "timeout" if timed_out else "exit"
    if guard.done() and not guard.cancelled() and guard.result():
        ended = "memory"
    seconds = perf_counter() - running.started_at
    stdout, stderr = (b"".join(pieces) for pieces in collected)
    code, name = split_return_code(code)
    return CommandResult(code, ended, stdout, stderr, seconds, name)


async def _limit_memory(running: RunningCommand, max_memory: int | None) -> bool:
    """Kill a command when its processes together exceed the limit, and return true; False without a limit."""
    if max_memory is None:
        return False
    while True:
        await asyncio.sleep(_CHECK_INTERVAL)
        if memory_used.measure_tree_memory(running.process.pid) > max_memory:
            running.kill()
            return True


class _OutputBudget:
    """Shared limit on the output of both streams of a command.

    Args:
        limit: In bytes.
        on_exceeded: Called once when there is more.
    """

    def __init__(self, limit: int, on_exceeded: Callable[[], object]) -> None:
        self._remaining = limit
        self._on_exceeded = on_exceeded
        self.is_exceeded = False

    def limit_sink(self, sink: Sink) -> Sink:
        """Wrap a sink so that it gets only what fits in the budget; for more, call `on_exceeded` once."""

        def within_budget(piece: bytes) -> None:
            """Pass on what fits in the budget; call `on_exceeded` once for more."""
            if self._remaining:
                sink(piece[: self._remaining])
            if len(piece) > self._remaining and not self.is_exceeded:
                self.is_exceeded = True
                self._on_exceeded()
            self._remaining = max(self._remaining - len(piece), 0)

        return within_budget


async def _write_stdin(process: Process, data: bytes | None) -> None:
    """Write all input to the process and close the pipe; None leaves it to the caller."""
    assert process.stdin is not None
    if data is None:
        return
    with suppress(BrokenPipeError, ConnectionResetError):  # it ended without reading all
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _read_stream(stream: asyncio.StreamReader | None, sink: Sink) -> None:
    """Pass each piece of a stream to the sink until its end; return at once without a stream."""
    while stream is not None and (piece := await stream.read(_CHUNK_SIZE)):
        sink(piece)


def _discard(piece: bytes) -> None:
    """Ignore a piece of output."""


def _kill(process: Process) -> None:
    """Kill one process, unless it has ended."""
    with suppress(ProcessLookupError):
        process.kill()

"""A process that is started, fed, read, and ended with all that it started."""

from __future__ import annotations

import asyncio
import os
import signal
import tempfile
from asyncio.subprocess import PIPE, STDOUT, Process
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import Literal

from toolkeel._records.record import record
from toolkeel.executors import cgroup_pids, memory_used

Sink = Callable[[bytes], object]
Ended = Literal["exit", "timeout", "output", "memory"]
_PIECE = 1 << 16
_LOOK = 0.25  # seconds between looks at the memory
_PATIENCE = 10.0  # seconds for a supervisor to end what it supervises


class NotStarted(OSError):
    """A command could not be started: no process of it has begun."""


def memory_file(data: bytes) -> int:
    """A descriptor to read data from, that is in no folder."""
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
    """A confined command, ready to be started; keep it open until the process has ended.

    ::

        with sandbox.command(["python3", "-c", "print(1)"]) as command:
            subprocess.run(command.argv, env=command.env, pass_fds=command.pass_fds)

    Args:
        argv: The words to start.
        env: The whole environment to start them with.
        pass_fds: Open descriptors the process needs.
        lifeline: Descriptor whose closing ends the command and all it started; -1 if killing the
            process does that.
        ends: What is called at the end.
        group: Control group it starts in, to remove at the end.
    """

    def __init__(
        self,
        argv: list[str],
        env: dict[str, str],
        pass_fds: tuple[int, ...],
        lifeline: int = -1,
        ends: Sequence[Callable[[], object]] = (),
        group: Path | None = None,
    ) -> None:
        self.argv = argv if group is None else cgroup_pids.entering(group, argv)
        self._group = group
        self.env = env
        self.pass_fds = pass_fds
        self._lifeline = lifeline
        self._ends = list(ends)

    def __enter__(self) -> Command:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def started(self) -> None:
        """Close this side of what the process was given; `close` does it, too."""
        for descriptor in self.pass_fds:
            with suppress(OSError):
                os.close(descriptor)
        self.pass_fds = ()

    def stop(self) -> bool:
        """Have the command and all its descendants killed; False if that is up to the caller,
        by killing the process."""
        if self._lifeline < 0:
            return False
        os.close(self._lifeline)
        self._lifeline = -1
        return True

    def close(self) -> None:
        """End the command if it still runs, and give back what it held."""
        self.started()
        self.stop()
        while self._ends:
            self._ends.pop()()
        if self._group is not None:
            cgroup_pids.remove(self._group)
            self._group = None


@record
class Finished:
    """How a command ended.

    Args:
        code: Its exit code; 128 and the signal's number if a signal killed it.
        ended: What ended it: itself, the timeout, or too much output or memory.
        stdout: Its standard output, unless a sink was given it.
        stderr: Its standard error, unless a sink was given it.
        seconds: How long it took.
    """

    code: int
    ended: Ended
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def signal(self) -> str:
        """Name of the signal that killed the command, such as ``SIGKILL``; empty for none."""
        with suppress(ValueError):
            return signal.Signals(self.code - 128).name if self.code > 128 else ""
        return ""


@record
class Running:
    """A command that has been started.

    Args:
        process: The process.
        command: What it was started from; `stop` ends it.
        begun: When, as `time.perf_counter` tells it.
    """

    process: Process
    command: Command
    begun: float

    def kill(self) -> None:
        """Have it killed with all that it started, without waiting for that."""
        if not self.command.stop():
            _kill(self.process)

    async def stop(self) -> None:
        """Kill it with all that it started, and wait until that is done."""
        self.kill()
        pipes = [pipe for pipe in (self.process.stdout, self.process.stderr) if pipe is not None]
        rest = asyncio.gather(self.process.wait(), *(_read(pipe, _ignore) for pipe in pipes))
        try:
            await asyncio.wait_for(rest, _PATIENCE)
        except TimeoutError:  # its supervisor hangs
            _kill(self.process)
            await self.process.wait()


async def start(command: Command, *, merged: bool = False) -> Running:
    """Start a command with pipes for its streams.

    Args:
        command: What to start; it must be kept open until the process has ended.
        merged: Whether its standard error goes where its standard output does.

    Raises:
        OSError: if it cannot be started.
    """
    begun = perf_counter()
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        env=command.env,
        pass_fds=command.pass_fds,
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT if merged else PIPE,
        start_new_session=True,
    )
    command.started()
    return Running(process, command, begun)


async def finish(
    running: Running,
    *,
    stdin: bytes = b"",
    timeout: float | None = None,
    sink: Sink | None = None,
    max_output: int,
    max_memory: int | None = None,
) -> Finished:
    """Feed a started command, read it, and see to its end, however that comes."""
    process = running.process
    kept: tuple[list[bytes], list[bytes]] = ([], [])
    budget = _Budget(max_output, running.kill)
    timed_out = False
    guard = asyncio.create_task(_limit_memory(running, max_memory))
    try:
        async with asyncio.timeout(timeout):
            await asyncio.gather(
                _feed(process, stdin),
                _read(process.stdout, budget.within(sink or kept[0].append)),
                _read(process.stderr, budget.within(kept[1].append)),
                process.wait(),
            )
    except TimeoutError:
        timed_out = True
    finally:
        guard.cancel()
        await asyncio.shield(running.stop())
    code = process.returncode if process.returncode is not None else -signal.SIGKILL
    ended: Ended = "output" if budget.spent else "timeout" if timed_out else "exit"
    if guard.done() and not guard.cancelled() and guard.result():
        ended = "memory"
    seconds = perf_counter() - running.begun
    stdout, stderr = (b"".join(pieces) for pieces in kept)
    return Finished(code if code >= 0 else 128 - code, ended, stdout, stderr, seconds)


async def _limit_memory(running: Running, most: int | None) -> bool:
    """End a command once all its processes use too much memory together; true then."""
    if most is None:
        return False
    while True:
        await asyncio.sleep(_LOOK)
        if memory_used.used_below(running.process.pid) > most:
            running.kill()
            return True


class _Budget:
    """How much output there may still be, of both streams together.

    Args:
        left: In bytes.
        spend: Called when more has come.
    """

    def __init__(self, left: int, spend: Callable[[], object]) -> None:
        self._left = left
        self._spend = spend
        self.spent = False

    def within(self, sink: Sink) -> Sink:
        """Hand a sink as much as fits."""

        def within_budget(piece: bytes) -> None:
            if self._left:
                sink(piece[: self._left])
            if len(piece) > self._left and not self.spent:
                self.spent = True
                self._spend()
            self._left = max(self._left - len(piece), 0)

        return within_budget


async def _feed(process: Process, data: bytes) -> None:
    assert process.stdin is not None
    with suppress(BrokenPipeError, ConnectionResetError):  # it ended without reading all
        process.stdin.write(data)
        await process.stdin.drain()
    process.stdin.close()


async def _read(stream: asyncio.StreamReader | None, sink: Sink) -> None:
    while stream is not None and (piece := await stream.read(_PIECE)):
        sink(piece)


def _ignore(piece: bytes) -> None:
    """For output that nobody wants any more."""


def _kill(process: Process) -> None:
    with suppress(ProcessLookupError):
        process.kill()

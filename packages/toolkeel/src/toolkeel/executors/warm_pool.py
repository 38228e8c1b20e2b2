"""Worker processes that stay warm for the next call.

A worker is a supervised command: when we close its lifeline or die, the supervisor kills it with all its
children. It is called over a socket that belongs to no event loop, so it can serve the calls of all loops
of this process, one at a time.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import socket
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Hashable
from contextlib import suppress
from typing import Final

from toolkeel.errors import LimitReached
from toolkeel.executors import memory_used
from toolkeel.executors.frames import (
    MAX_MESSAGE_BYTES,
    FrameDecoder,
    Message,
    MessageTooLarge,
    is_outcome,
)
from toolkeel.executors.process_tree import Command, EndReason, open_memory_file, split_return_code

_CHECK_INTERVAL = 0.25  # seconds between checks of memory and output
_EXIT_SECONDS = 2.0  # seconds for a process that closed its socket to exit
_SUPERVISOR_SECONDS = 10.0  # seconds for a supervisor to kill what it supervises
MAX_IDLE_WORKERS: Final = 16
"""Idle workers of one kind; more are ended."""


class Worker:
    """A process that runs bodies, one after another, from its creation until a request gets no outcome.

    Args:
        command: Starts it; its standard input is the socket.
        max_memory: Bytes of all its processes together, beyond which it is killed; None for no limit.

    Attributes:
        calls: Requests sent to it.
        body_started: True once the last request's body started.
        end_reason: Why we ended it; ``exit`` if it ended by itself.
        exit_code: 0 until it has ended; 128 plus the number of the signal if one killed it.
        signal: Name of that signal, if it is known.
    """

    def __init__(self, command: Command, max_memory: int | None) -> None:
        self.calls = 0
        self.body_started = False
        self.end_reason: EndReason = "exit"
        self.exit_code = 0
        self.signal = ""
        self._command = command
        self._max_memory = max_memory
        self._socket, theirs = socket.socketpair()
        self._socket.setblocking(False)
        self._output_file = open_memory_file(b"")
        try:
            with theirs:
                self._process = subprocess.Popen(
                    command.argv,
                    env=command.env,
                    pass_fds=command.pass_fds,
                    stdin=theirs.fileno(),
                    stdout=self._output_file,
                    stderr=self._output_file,
                    start_new_session=True,
                )
        except BaseException:
            self._close()
            raise
        command.close_passed_fds()

    async def send_request(
        self, request: bytes, report: Callable[[Message], object]
    ) -> Message | None:
        """Send a request and return its outcome; None if the process ended first, or was ended for a limit.

        Args:
            request: As a packed message.
            report: Called with each report of the body.

        Raises:
            asyncio.CancelledError: the call was cancelled; the process has ended.
        """
        loop = asyncio.get_running_loop()
        self.calls += 1
        self.body_started = False
        look = loop.call_later(_CHECK_INTERVAL, self._check_limits, loop)
        self._limit_timer = look
        frames = FrameDecoder()
        try:
            await loop.sock_sendall(self._socket, request)
            while data := await loop.sock_recv(self._socket, 1 << 18):
                for message in frames.feed(data):
                    if is_outcome(message):
                        return message
                    self.body_started = True
                    report(message)
        except MessageTooLarge:
            self.end_reason = "output"
            self.kill()
        except (
            ConnectionError,
            ValueError,
            RecursionError,
        ):  # it has ended, or something else writes to its socket
            pass
        except BaseException:
            await asyncio.shield(self.end())
            raise
        finally:
            self._limit_timer.cancel()
        try:
            await asyncio.shield(asyncio.to_thread(self._wait_for_exit))
        except asyncio.CancelledError:
            await asyncio.shield(self.end())
            raise
        return None

    def _check_limits(self, loop: asyncio.AbstractEventLoop) -> None:
        """Kill the process if it uses more memory or output than its limits; else schedule the next check."""
        if os.fstat(self._output_file).st_size > MAX_MESSAGE_BYTES:
            self.end_reason = "output"
        elif (
            self._max_memory
            and memory_used.measure_tree_memory(self._process.pid) > self._max_memory
        ):
            self.end_reason = "memory"
        if self.end_reason == "exit":
            self._limit_timer = loop.call_later(_CHECK_INTERVAL, self._check_limits, loop)
        else:
            self.kill()

    def read_output(self) -> str:
        """Return the last 20,000 bytes that the last body printed, on both streams."""
        start = max(os.fstat(self._output_file).st_size - 20_000, 0)
        return os.pread(self._output_file, 20_000, start).decode("utf-8", "replace")

    def kill(self) -> None:
        """Kill it with all its children, without waiting."""
        if not self._command.stop():
            self._process.kill()

    async def end(self) -> None:
        """Kill it and wait until all its processes have exited."""
        self.kill()
        await asyncio.to_thread(self.wait)

    def _wait_for_exit(self) -> None:
        """Wait up to 2 seconds for a process that closed its socket to exit, then kill it; store its exit code."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_EXIT_SECONDS)
        self.kill()
        self.wait()

    def wait(self) -> None:
        """Wait until the process has exited, killed after `_SUPERVISOR_SECONDS`, and release all but its output.

        Stores its exit code.
        """
        try:
            code = self._process.wait(_SUPERVISOR_SECONDS)
        except subprocess.TimeoutExpired:  # its supervisor hangs
            self._process.kill()
            code = self._process.wait()
        self.exit_code, self.signal = split_return_code(code)
        self._socket.close()
        self._command.close()

    def _close(self) -> None:
        """Close the socket, and end the command."""
        self._socket.close()
        self._command.close()

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            os.close(self._output_file)


_idle: dict[Hashable, list[Worker]] = {}
_lock = threading.Lock()
_abandoned: list[Worker] = []
"""The parent's workers, in a forked child: the parent ends them."""


def take_idle(key: Hashable) -> Worker | None:
    """Remove and return the most recently used idle worker of a kind; None if there is none."""
    with _lock:
        idle = _idle.get(key)
        return idle.pop() if idle else None


def put_idle(key: Hashable, worker: Worker) -> bool:
    """Put a worker back for the next call; False, and the worker is not taken, if the pool is full."""
    with _lock:
        idle = _idle.setdefault(key, [])
        if len(idle) >= MAX_IDLE_WORKERS:
            return False
        idle.append(worker)
        return True


@atexit.register
def kill_idle_workers() -> None:
    """Kill every idle worker, and wait until its process has ended."""
    with _lock:
        workers = [worker for idle in _idle.values() for worker in idle]
        _idle.clear()
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()


def _forget_after_fork() -> None:
    """Empty the pool in a forked child without ending the parent's workers."""
    global _lock
    _lock = threading.Lock()
    _abandoned.extend(worker for idle in _idle.values() for worker in idle)
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def make_queue_timeout(name: str, seconds: float) -> LimitReached:
    """Build the error for a call that waited for a slot in vain."""
    return LimitReached(
        f"{name!r} waited {seconds:g} seconds for room, and has not started. Try again later."
    )


class CrossLoopSemaphore:
    """A fair semaphore shared by all event loops of the process.

    Args:
        max_concurrency: How many may hold it at once.
    """

    def __init__(self, max_concurrency: int) -> None:
        self._free = max_concurrency
        self._waiters: deque[asyncio.Future[None]] = deque()
        self._lock = threading.Lock()

    async def acquire(self) -> None:
        """Wait for a slot and take it; a cancelled wait takes none."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = asyncio.get_running_loop().create_future()
            self._waiters.append(turn)
        try:
            await turn
        except BaseException:
            with self._lock:
                waits = turn in self._waiters
                if waits:
                    self._waiters.remove(turn)
            if turn.done() and not turn.cancelled():
                self.release()  # the slot was granted meanwhile
            raise

    async def acquire_within(self, seconds: float | None, name: str) -> None:
        """Wait for a slot for a limited time.

        Args:
            seconds: None for no limit.
            name: The tool, for the message.

        Raises:
            LimitReached: no slot became free in time.
        """
        try:
            async with asyncio.timeout(seconds):
                await self.acquire()
        except TimeoutError:
            raise make_queue_timeout(name, seconds or 0.0) from None

    def release(self) -> None:
        """Pass the slot to the next waiter whose loop is open, or make it free."""
        with self._lock:
            while self._waiters:
                turn = self._waiters.popleft()
                with suppress(RuntimeError):  # its loop is closed: skip this waiter
                    turn.get_loop().call_soon_threadsafe(self._grant, turn)
                    return
            self._free += 1

    def _grant(self, turn: asyncio.Future[None]) -> None:
        """Wake a waiter, or pass its slot on if it was cancelled meanwhile."""
        if turn.done():
            self.release()
        else:
            turn.set_result(None)

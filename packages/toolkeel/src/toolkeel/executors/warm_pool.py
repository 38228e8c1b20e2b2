"""A warm pool of worker processes: started when needed, kept for the next call, ended whole.

A worker is a command like any other: a supervisor stands above it that ends it, with all that it
started, when we say so or die. It is asked over a socket that belongs to no event loop, so it serves
calls of all loops of this process, one at a time.
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
from toolkeel.executors.frames import MOST, Frames, Message, TooLarge, is_outcome
from toolkeel.executors.process_tree import Command, Ended, memory_file

_LOOK = 0.25  # seconds between looks at memory and output
_GOING = 2.0  # seconds for a process that has let go of its line to be gone
_PATIENCE = 10.0  # seconds for a supervisor to end what it supervises
KEPT: Final = 16
"""Workers of one kind that wait for a call; more are ended."""


class Worker:
    """One process that runs bodies, one after the other.

    Args:
        command: Starts it; its standard input is the socket.
        most_memory: Bytes of all its processes together; None for no limit.

    Attributes:
        calls: How many it was asked for.
        begun: Whether the last body has begun.
        ended: What ended it, if we did.
        code: Its exit code, once it has ended; 128 and the signal's number if a signal killed it.
    """

    def __init__(self, command: Command, most_memory: int | None) -> None:
        self.calls = 0
        self.begun = False
        self.ended: Ended = "exit"
        self.code = 0
        self._killed = False
        self._command = command
        self._most_memory = most_memory
        self._line, theirs = socket.socketpair()
        self._line.setblocking(False)
        self._said = memory_file(b"")
        try:
            with theirs:
                self._process = subprocess.Popen(
                    command.argv,
                    env=command.env,
                    pass_fds=command.pass_fds,
                    stdin=theirs.fileno(),
                    stdout=self._said,
                    stderr=self._said,
                    start_new_session=True,
                )
        except BaseException:
            self._close()
            raise
        command.started()

    async def ask(self, order: bytes, tell: Callable[[Message], object]) -> Message | None:
        """Have an order carried out; None if the process ended first.

        Args:
            order: As a packed message.
            tell: Takes what the body reports meanwhile.

        Raises:
            asyncio.CancelledError: it was cancelled; the process has ended by then.
        """
        loop = asyncio.get_running_loop()
        self.calls += 1
        self.begun = False
        look = loop.call_later(_LOOK, self._look, loop)
        self._looking = look
        frames = Frames()
        try:
            await loop.sock_sendall(self._line, order)
            while data := await loop.sock_recv(self._line, 1 << 18):
                for message in frames.feed(data):
                    if is_outcome(message):
                        return message
                    self.begun = True
                    tell(message)
        except TooLarge:
            self.ended = "output"
            self.kill()
        except (
            ConnectionError,
            ValueError,
            RecursionError,
        ):  # it has ended, or something else speaks for it
            pass
        except BaseException:
            await asyncio.shield(self.end())
            raise
        finally:
            self._looking.cancel()
        try:
            await asyncio.shield(asyncio.to_thread(self._gone))
        except asyncio.CancelledError:
            await asyncio.shield(self.end())
            raise
        return None

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        """End it when it uses or prints too much."""
        if os.fstat(self._said).st_size > MOST:
            self.ended = "output"
        elif self._most_memory and memory_used.used_below(self._process.pid) > self._most_memory:
            self.ended = "memory"
        if self.ended == "exit":
            self._looking = loop.call_later(_LOOK, self._look, loop)
        else:
            self.kill()

    def said(self) -> str:
        """The end of what the last body printed."""
        start = max(os.fstat(self._said).st_size - 20_000, 0)
        return os.pread(self._said, 20_000, start).decode("utf-8", "replace")

    def kill(self) -> None:
        """Have it killed with all that it started, without waiting for that."""
        killed, self._killed = self._killed, True
        if not (killed or self._command.stop()):  # a second time it would meet its supervisor
            self._process.kill()

    async def end(self) -> None:
        """Kill it, and wait until nothing of it is left."""
        self.kill()
        await asyncio.to_thread(self.wait)

    def _gone(self) -> None:
        """Its end of the line is closed: let it end as it does, but not for long."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_GOING)
        self.kill()
        self.wait()

    def wait(self) -> None:
        """Wait until nothing of it is left; what it printed can still be read."""
        try:
            code = self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:  # its supervisor hangs
            self._process.kill()
            code = self._process.wait()
        self.code = code if code >= 0 else 128 - code
        self._line.close()
        self._command.close()

    def _close(self) -> None:
        self._line.close()
        os.close(self._said)
        self._command.close()

    def __del__(self) -> None:
        with suppress(OSError, AttributeError):
            os.close(self._said)


_idle: dict[Hashable, list[Worker]] = {}
_lock = threading.Lock()
_abandoned: list[Worker] = []
"""Of the parent, in a child that was forked: to end them is its business."""


def take(kind: Hashable) -> Worker | None:
    """A worker that waits for a call, if there is one of this kind; the latest used first."""
    with _lock:
        kept = _idle.get(kind)
        return kept.pop() if kept else None


def keep(kind: Hashable, worker: Worker) -> bool:
    """Put a worker back for the next call; False if there are enough."""
    with _lock:
        kept = _idle.setdefault(kind, [])
        if len(kept) >= KEPT:
            return False
        kept.append(worker)
        return True


@atexit.register
def end_all() -> None:
    """End every worker that waits."""
    with _lock:
        workers = [worker for kept in _idle.values() for worker in kept]
        _idle.clear()
    for worker in workers:
        worker.kill()
    for worker in workers:
        worker.wait()


def _forget_after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _abandoned.extend(worker for kept in _idle.values() for worker in kept)
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)


def no_room(name: str, seconds: float) -> LimitReached:
    """What is told of a call that waited for room in vain."""
    return LimitReached(
        f"{name!r} waited {seconds:g} seconds for room, and has not started. Try again later."
    )


class Room:
    """So many at once, over all event loops of the process; who waits is served in order.

    Args:
        width: How many.
    """

    def __init__(self, width: int) -> None:
        self._free = width
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._lock = threading.Lock()

    async def enter(self) -> None:
        """Wait for room; who is cancelled meanwhile has taken none."""
        with self._lock:
            if self._free:
                self._free -= 1
                return
            turn = asyncio.get_running_loop().create_future()
            self._waiting.append(turn)
        try:
            await turn
        except BaseException:
            with self._lock:
                waits = turn in self._waiting
                if waits:
                    self._waiting.remove(turn)
            if turn.done() and not turn.cancelled():
                self.leave()  # it came just now
            raise

    async def enter_within(self, seconds: float | None, name: str) -> None:
        """Wait for room, but only so long.

        Args:
            seconds: How long; None for as long as it takes.
            name: Of the tool.

        Raises:
            LimitReached: there was none.
        """
        try:
            async with asyncio.timeout(seconds):
                await self.enter()
        except TimeoutError:
            raise no_room(name, seconds or 0.0) from None

    def leave(self) -> None:
        """Give room to the next."""
        with self._lock:
            while self._waiting:
                turn = self._waiting.popleft()
                with suppress(RuntimeError):  # its loop has closed: nobody waits there
                    turn.get_loop().call_soon_threadsafe(self._grant, turn)
                    return
            self._free += 1

    def _grant(self, turn: asyncio.Future[None]) -> None:
        if turn.done():
            self.leave()
        else:
            turn.set_result(None)

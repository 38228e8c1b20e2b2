"""No server outlives us, also where nothing of ours runs any more: a guardian at the end of a pipe.

Whatever can be caught ends servers itself. Against SIGKILL, a crash or ``os._exit`` there is one small
shell a program, which reads which process groups live from a pipe that only we hold. When the pipe
ends, it ends the groups: a signal for the parent's death would miss the children of npx and uvx.
"""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress

_SCRIPT = """
live=""
while read -r what group; do
  rest=""
  for each in $live; do [ "$each" = "$group" ] || rest="$rest $each"; done
  live=$rest
  [ "$what" = "+" ] && live="$live $group"
done
[ -n "$live" ] || exit 0
for each in $live; do kill -s TERM -- "-$each" 2>/dev/null; done
sleep 2
for each in $live; do kill -s KILL -- "-$each" 2>/dev/null; done
"""
_SHELL = "/bin/sh"
_lock = threading.Lock()
_pipe: list[int] = []
"""Where the guardian listens, once there is one."""


def guard_group(group: int) -> None:
    """Have the guardian, which the first call starts, kill a process group when this program ends.

    Does nothing without a shell.
    """
    with _lock:
        if sys.platform != "win32" and os.path.exists(_SHELL):
            if not _pipe:
                _pipe.append(_start())
            _send_command("+", group)


def release_group(group: int) -> None:
    """Stop guarding a process group: it has ended, and its id may be reused."""
    with _lock:
        if _pipe:
            _send_command("-", group)


def _send_command(what: str, group: int) -> None:
    """Write a command on a process group, ``+`` or ``-``, to the guardian; do nothing if that has ended."""
    with suppress(OSError):  # somebody has ended the guardian; then there is none
        os.write(_pipe[0], f"{what} {group}\n".encode())


def _start() -> int:
    """Start the guardian in its own session, and return the pipe to it."""
    read, write = os.pipe()
    nothing = os.open(os.devnull, os.O_WRONLY)
    try:
        os.posix_spawn(
            _SHELL,
            [_SHELL, "-c", _SCRIPT],
            {"PATH": "/usr/bin:/bin"},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, read, 0),
                (os.POSIX_SPAWN_DUP2, nothing, 1),
                (os.POSIX_SPAWN_DUP2, nothing, 2),
            ],
            setsid=True,
        )
    finally:
        os.close(read)
        os.close(nothing)
    return write


def _forget_after_fork() -> None:
    """Close the pipe in a forked child, which would keep it open."""
    if _pipe:
        with suppress(OSError):
            os.close(_pipe.pop())


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_after_fork)

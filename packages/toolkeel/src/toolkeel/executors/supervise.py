"""The supervisor: the parent program of a command. It sets limits, confines the command and ends it.

This file is a separate program and imports nothing of toolkeel: it starts with an empty environment, so
that the secrets of toolkeel's process cannot be read from it.

Theory of operation. The library starts the supervisor with two descriptors as arguments: a file with the
spec as JSON, and the read end of a pipe, the *lifeline*. The supervisor forks; the child sets limits,
confines itself and executes the command. The supervisor waits for either of two events: the command
exits, or the lifeline closes because the library closed it or died. Both lead to the same end: it kills
every descendant of the command. On Linux it is a *child subreaper*, so that the kernel makes it the
parent of orphans, and a daemon of a daemon is found as well. It kills in rounds until `waitpid` reports
that no child is left, because a descendant may fork between the listing and the kill.

::

    start ── read spec, fork ──> waiting ──command exits──> killing ──no child left──> exit like the command
               │                    └──lifeline closes────────^
               └─ the child: limits, Landlock, seccomp, exec; a failure exits with 125, 126 or 127
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import select
import signal
import stat
import struct
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 444, 445, 446
_PR_SET_PDEATHSIG, _PR_SET_SECCOMP, _PR_CAPBSET_DROP = 1, 22, 24
_PR_SET_SECUREBITS, _PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 28, 36, 38
_NOROOT = 0b1111  # SECBIT_NOROOT and SECBIT_NO_SETUID_FIXUP, both locked
_SINGLE_FILE_RIGHTS = 0x1 | 0x2 | 0x4 | 0x4000 | 0x8000  # execute, write, read, truncate, ioctl
_PF_EXITING = 0x4
EXIT_NOT_CONFINED = 125
"""Exit code when the command could not be confined; it has not run then."""

_LIBC = ctypes.CDLL(None, use_errno=True)


class CommandSpec:
    """Specification of a command: what to run, where, and under which limits.

    Args:
        fields: Of the JSON object: ``argv``, ``env``, ``cwd``, ``limits`` (names of `resource`
            to numbers), ``session`` (true for a session of its own), ``landlock`` (None, or
            ``handled`` rights and ``rules``: pairs of path and rights), ``seccomp`` (hex or ""),
            ``leftovers`` (None, or a format to print the names of processes left running, and most names).
    """

    def __init__(self, fields: Mapping[str, Any]) -> None:
        self.argv: list[str] = fields["argv"]
        self.env: dict[str, str] = fields["env"]
        self.cwd: str = fields["cwd"]
        self.limits: dict[str, int] = fields["limits"]
        self.session: bool = fields["session"]
        self.landlock: dict[str, Any] | None = fields["landlock"]
        self.seccomp = bytes.fromhex(fields["seccomp"])
        self.leftovers: tuple[str, int] | None = fields["leftovers"]


def main(spec_file: int, lifeline: int) -> NoReturn:
    """Run the command until it exits or the lifeline closes, kill its descendants, and exit as it did.

    Args:
        spec_file: Descriptor of the `CommandSpec` as JSON.
        lifeline: Descriptor that closes when the starting process ends.
    """
    for descriptor in (spec_file, lifeline):
        os.set_inheritable(descriptor, False)
    with os.fdopen(spec_file, "rb") as file:
        spec = CommandSpec(json.load(file))
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # at a terminal, Ctrl-C is for the command
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    if sys.platform == "linux":
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    child = os.fork()
    if child == 0:
        _exec_command(spec, os.getppid())
    output = os.dup(1) if spec.leftovers else -1
    _close_streams()
    status = _wait_for_command(child, wake, lifeline)
    if status is not None and spec.leftovers:
        _report_leftovers(*spec.leftovers, output)
    _kill_descendants(child)
    _exit_like(int(signal.SIGKILL) if status is None else status)


# — the command's side —


def _exec_command(spec: CommandSpec, parent: int) -> NoReturn:
    """Replace this process by the command; on a failure, print it and exit with 125 to 127.

    Exits at once if `parent` is no longer this process's parent.
    """
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        if spec.session:
            os.setsid()
        if sys.platform == "linux":
            _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != parent:
                os._exit(EXIT_NOT_CONFINED)
        os.chdir(spec.cwd)
        for name, value in spec.limits.items():
            _set_limit(getattr(resource, name), value)
        _confine(spec)
    except BaseException as error:
        _exit_with_message(f"cannot confine the command: {error}", EXIT_NOT_CONFINED)
    try:
        os.execvpe(spec.argv[0], spec.argv, spec.env)
    except FileNotFoundError:
        _exit_with_message(f"{spec.argv[0]}: command not found", 127)
    except OSError as error:
        _exit_with_message(f"{spec.argv[0]}: {error.strerror}", 126)


def _exit_with_message(text: str, code: int) -> NoReturn:
    """Write a message to standard error and exit at once."""
    os.write(2, f"toolkeel: {text}\n".encode("utf-8", "backslashreplace"))
    os._exit(code)


def _set_limit(resource_number: int, value: int) -> None:
    """Set soft and hard limit of a resource, at most to the hard limit in force."""
    hard = resource.getrlimit(resource_number)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(resource_number, (value, value))


def _confine(spec: CommandSpec) -> None:
    """Drop root's capabilities and apply Landlock and seccomp; nothing if the spec has neither. Raises `OSError`."""
    if spec.landlock is None and not spec.seccomp:
        return
    if os.geteuid() == 0:
        _drop_capabilities()
    _prctl(_PR_SET_NO_NEW_PRIVS, 1)
    if spec.landlock is not None:
        restrict_with_landlock(spec.landlock["handled"], spec.landlock["rules"])
    if spec.seccomp:
        instructions = ctypes.create_string_buffer(spec.seccomp, len(spec.seccomp))
        filter_ = struct.pack("HxxxxxxP", len(spec.seccomp) // 8, ctypes.addressof(instructions))
        _prctl(_PR_SET_SECCOMP, 2, ctypes.c_char_p(filter_))


def _drop_capabilities() -> None:
    """Drop root's capabilities for this process and its children, or raise `OSError`."""
    _prctl(_PR_SET_SECUREBITS, _NOROOT)
    for capability in range(64):
        try:
            _prctl(_PR_CAPBSET_DROP, capability)
        except OSError:
            break  # past the last one this kernel has
    header = struct.pack("Ii", 0x20080522, 0)
    if _LIBC.capset(header, b"\0" * 24) != 0:
        raise OSError(ctypes.get_errno(), "capset failed")


def restrict_with_landlock(handled: Iterable[int], rules: Iterable[tuple[str | int, int]]) -> None:
    """Confine this process by Landlock, permanently.

    Args:
        handled: Rights that need a rule: of files, of the network, and scopes; as many of these
            as the kernel knows.
        rules: Paths or open handles, which are closed, and the rights below each; a missing path is skipped.

    Raises:
        OSError: the kernel refuses, or has no Landlock.
    """
    attributes = b"".join(value.to_bytes(8, sys.byteorder) for value in handled)
    ruleset = _syscall(LANDLOCK_CREATE, attributes, ctypes.c_size_t(len(attributes)), 0)
    for path, rights in rules:
        try:
            place = path if isinstance(path, int) else os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _SINGLE_FILE_RIGHTS
        _syscall(LANDLOCK_ADD, ruleset, 1, struct.pack("=Qi", rights, place), 0)
        os.close(place)
    _syscall(LANDLOCK_RESTRICT, ruleset, 0)
    os.close(ruleset)


def _syscall(number: int, *arguments: object) -> int:
    """Make a system call and return its result.

    Raises:
        OSError: if it fails.
    """
    longs = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = int(_LIBC.syscall(ctypes.c_long(number), *longs))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def _prctl(option: int, value: int, pointer: object = None) -> None:
    """Call `prctl`.

    Raises:
        OSError: if it fails.
    """
    zero = ctypes.c_ulong(0)
    if _LIBC.prctl(option, ctypes.c_ulong(value), pointer or zero, zero, zero) != 0:
        code = ctypes.get_errno()
        raise OSError(code, f"prctl {option}: {os.strerror(code)}")


# — the parent's side —


def _close_streams() -> None:
    """Replace the standard streams by the null device, so that readers see the end of the command's output."""
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)


def _wait_for_command(child: int, wake: int, lifeline: int) -> int | None:
    """Wait for the command and return its wait status; None if the lifeline closes first.

    Side effect: other children that end meanwhile are reaped.

    Args:
        child: Process id of the command.
        wake: Descriptor that becomes readable when a child ends.
        lifeline: Descriptor that closes when the starting process ends.
    """
    poll = select.poll()
    poll.register(wake, select.POLLIN)
    poll.register(lifeline, select.POLLIN)
    while True:
        events = dict(poll.poll())
        if wake in events:
            os.read(wake, 4096)
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == child:
                return status
            if pid == 0:
                break
        if lifeline in events:
            return None


def _report_leftovers(notice: str, most: int, output: int) -> None:
    """Print the names of the processes that the command left running; nothing without any, or off Linux.

    Args:
        notice: Format with one ``%s`` for the names.
        most: Maximum number of names; the others are counted.
        output: Descriptor to write to; failures to write are ignored.
    """
    if sys.platform != "linux":
        return
    left = [name for pid in sorted(_find_descendants(os.getpid())) if (name := _read_name(pid))]
    if left:
        names = ", ".join(left[:most])
        more = len(left) - most
        text = notice % (f"{names} and {more} more" if more > 0 else names)
        with contextlib.suppress(OSError):
            os.write(output, text.encode("utf-8", "replace"))


def _read_name(pid: int) -> str:
    """Return the name of a running process; empty if it has ended or is ending."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            head, _, rest = file.read().rpartition(b")")
        state, flags = rest.split()[0], int(rest.split()[6])
    except (OSError, IndexError, ValueError):
        return ""
    if state == b"Z" or flags & _PF_EXITING:
        return ""
    return " ".join(head.partition(b"(")[2].decode("utf-8", "replace").split())


def _kill_descendants(child: int) -> None:
    """Kill until no descendant is left; without a subreaper, kill the command's process group."""
    if sys.platform != "linux":
        with contextlib.suppress(OSError):
            os.killpg(child, signal.SIGKILL)
        return
    while True:
        for pid in _find_descendants(os.getpid()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return


def _find_descendants(ancestor: int) -> set[int]:
    """Return the ids of all processes below one, by the parents in /proc."""
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError, ValueError):
                continue
    found: set[int] = set()
    while more := {p for p, up in parents.items() if up in found or up == ancestor} - found:
        found |= more
    return found


def _exit_like(status: int) -> NoReturn:
    """Exit with the command's code, or by the same signal, without a core dump."""
    if os.WIFEXITED(status):
        os._exit(os.WEXITSTATUS(status))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    number = os.WTERMSIG(status)
    if number not in (signal.SIGKILL, signal.SIGSTOP):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)
    os._exit(128 + number)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))

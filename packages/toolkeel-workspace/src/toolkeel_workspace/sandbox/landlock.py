"""Commands confined by Landlock, where there are no namespaces to be had.

Landlock takes rights away from a process and all its children, for good: here all rights on files
but those that rules give back, TCP, signals to outside processes and abstract sockets. What it
leaves open is closed by the filter of system calls, which lets no socket be opened at all (and,
with the network on, none that is local: a local socket of a service is reached by its path).
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import cache

from toolkeel_workspace.sandbox.mounts import Places
from toolkeel_workspace.sandbox.seccomp import INTERNET, program

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
READ = EXECUTE | READ_FILE | READ_DIR
ALL = (1 << 16) - 1
WRITE = ALL & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)
MIN_VERSION = 3
"""Before it, files outside could be truncated."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


@cache
def version() -> int:
    """Which Landlock the kernel has; 0 for none."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    asked = (ctypes.c_long(444), ctypes.c_void_p(None), ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(int(libc.syscall(*asked)), 0)


def handled(network: bool) -> list[int]:
    """The rights that need a rule: on files, on the network, and scopes."""
    known = version()
    files = ALL if known >= 5 else ALL & ~IOCTL_DEV
    rights = [files]
    if known >= 4:
        rights.append(0 if network else 0b11)  # bind and connect of TCP
    if known >= 6:
        rights.append(0b11)  # abstract sockets and signals
    return rights


def rules(places: Places, home: str) -> list[tuple[str, int]]:
    """Paths and the rights below each.

    Args:
        places: What may be seen and changed.
        home: A folder of the command's own.
    """
    kept = handled(True)[0]
    return [(path, rights & kept) for path, rights in _rules(places, home)]


def _rules(places: Places, home: str) -> Iterator[tuple[str, int]]:
    for path in (*places.system, *places.readable, "/proc"):
        yield path, READ
    for path in (*places.writable, home):
        yield path, WRITE
    for name in _DEVICES:
        yield f"/dev/{name}", READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV


def seccomp(network: bool) -> bytes:
    """The filter that closes what Landlock leaves open: UDP, other families, local sockets."""
    return program(families=INTERNET if network else ())


def open_ends() -> Iterator[str]:
    """What Landlock leaves open where bubblewrap does not, each as a sentence."""
    yield "The command lines of other processes can be read."
    # Rules only add rights, and a right to make files in a folder holds in all below it. To keep
    # .git/hooks by them, no file could be made at the top of the root either.
    yield "Protected files inside writable roots are not kept read-only."
    yield "Modes, times and owners of files outside can be changed, where our user may."
    if version() < 6:
        yield "Other processes of the same user can be sent signals."

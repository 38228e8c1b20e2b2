"""Rules of Landlock, which confines commands where namespaces are unavailable.

Landlock removes rights from a process and its children, permanently: here all rights on files except
those that rules grant, TCP, signals to outside processes, and abstract sockets. The seccomp filter closes
what Landlock leaves open: it refuses all sockets, or with the network only Unix ones, because the socket
of a service is reached by its path.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Iterator
from functools import cache

from toolkeel_workspace.sandbox.mounts import SandboxPaths
from toolkeel_workspace.sandbox.seccomp import INTERNET, build_filter

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
REFER, TRUNCATE, IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15
MAKE_CHAR, MAKE_BLOCK = 1 << 6, 1 << 11
READ = EXECUTE | READ_FILE | READ_DIR
ALL = (1 << 16) - 1
WRITE = ALL & ~(MAKE_CHAR | MAKE_BLOCK | IOCTL_DEV)
MIN_ABI_VERSION = 3
"""Older versions allow truncating files outside."""
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


@cache
def get_abi_version() -> int:
    """Return the kernel's Landlock version, or 0 for none."""
    if not sys.platform.startswith("linux"):
        return 0
    libc = ctypes.CDLL(None, use_errno=True)
    asked = (ctypes.c_long(444), ctypes.c_void_p(None), ctypes.c_size_t(0), ctypes.c_uint32(1))
    return max(int(libc.syscall(*asked)), 0)


def handled_rights(network: bool) -> list[int]:
    """List the rights that need a rule: on files, on the network, and scopes."""
    known = get_abi_version()
    files = ALL if known >= 5 else ALL & ~IOCTL_DEV
    rights = [files]
    if known >= 4:
        rights.append(0 if network else 0b11)  # bind and connect of TCP
    if known >= 6:
        rights.append(0b11)  # abstract sockets and signals
    return rights


def make_rules(paths: SandboxPaths, home: str) -> list[tuple[str, int]]:
    """List paths and the rights below each.

    Args:
        paths: The sandbox's paths.
        home: The command's own folder.
    """
    handled = handled_rights(True)[0]
    return [(path, rights & handled) for path, rights in _iter_rules(paths, home)]


def _iter_rules(paths: SandboxPaths, home: str) -> Iterator[tuple[str, int]]:
    for path in (*paths.system, *paths.readable, "/proc"):
        yield path, READ
    for path in (*paths.writable, home):
        yield path, WRITE
    for name in _DEVICES:
        yield f"/dev/{name}", READ_FILE | WRITE_FILE | TRUNCATE | IOCTL_DEV


def build_landlock_filter(network: bool) -> bytes:
    """Build the seccomp filter for what Landlock leaves open: UDP, other families, Unix sockets."""
    return build_filter(families=INTERNET if network else ())


def list_gaps() -> Iterator[str]:
    """Yield what Landlock leaves open and bubblewrap does not, each as a sentence."""
    yield "The command lines of other processes can be read."
    # Rules only add rights, and a right to create files in a folder applies to all below it. To protect
    # .git/hooks, creating files at the top of the root would have to be refused, too.
    yield "Protected files inside writable roots stay writable."
    yield "Modes, times and owners of files outside can be changed, where our user may."
    if get_abi_version() < 6:
        yield "Other processes of the same user can be sent signals."

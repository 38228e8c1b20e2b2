"""Commands in namespaces of their own, made by bubblewrap, behind a filter of system calls.

What is not named is not there: the file system begins empty, and the system's folders, the roots
and a private folder for temporary files are mounted into it. The network is an empty one, and the
only processes are the command's. bubblewrap itself starts with an empty environment, because it
stays on as process 1, and what it was started with can be read there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from toolkeel_workspace.sandbox.mounts import Places
from toolkeel_workspace.sandbox.seccomp import INTERNET, UNIX, program

HOME = "/tmp"
"""The command's home and folder for temporary files: empty, its own, gone with it."""
_NOBODY = "65534"
_SETTINGS_OF_THE_KERNEL = ("acpi", "bus", "driver", "fs", "irq", "pressure", "scsi", "sys")
_SECRETS_OF_THE_KERNEL = (
    "kallsyms", "kcore", "key-users", "keys", "kmsg", "mtrr", "pagetypeinfo", "sched_debug",
    "slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo",
)  # fmt: skip
FOLDERS = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
"""Where bubblewrap is looked for, whatever our ``PATH`` says."""


def found() -> str:
    """Where bubblewrap is: never in a folder that a command may have written to."""
    return shutil.which("bwrap", path=FOLDERS) or ""


def arguments(
    mounts: list[str], *, env: Mapping[str, str], cwd: str, network: bool, tmp_size: int
) -> list[str]:
    """Bubblewrap's options, all but the filter.

    A new ``/proc`` shows the kernel's settings, and bubblewrap leaves ``/proc/sys`` as it is: to
    the files there root inside is root. So all of it is mounted once more, to be read only; by
    ``kernel/core_pattern`` alone a command would leave every namespace.

    Args:
        mounts: What is there, as `mounting` gives it.
        env: The command's variables.
        cwd: Where it starts.
        network: Whether it has the machine's network.
        tmp_size: Size of its folder for temporary files, in bytes.
    """
    made = ["--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
    made += ["--unshare-user", "--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"]
    if network:
        made += ["--share-net"]
    made += ["--proc", "/proc", *_kernel(), "--dev", "/dev"]
    made += ["--size", str(tmp_size), "--tmpfs", "/dev/shm"]
    made += ["--size", str(tmp_size), "--perms", "0700", "--tmpfs", HOME, *mounts]
    made += ["--remount-ro", "/", "--remount-ro", "/dev"]
    for name, value in env.items():
        made += ["--setenv", name, value]
    return [*made, "--chdir", cwd]


def _kernel() -> Iterator[str]:
    """The kernel's settings to be read only, and what only its root may read as if it were empty."""
    for name in _SETTINGS_OF_THE_KERNEL:
        if os.path.isdir(f"/proc/{name}"):
            yield from ("--ro-bind", f"/proc/{name}", f"/proc/{name}")
    for name in _SECRETS_OF_THE_KERNEL:
        if os.path.exists(f"/proc/{name}"):
            yield from ("--ro-bind", "/dev/null", f"/proc/{name}")


def mounting(places: Places, source: Callable[[str], str], *, staged: bool) -> list[str]:
    """The options that mount what is there.

    Args:
        places: What is there.
        source: Gives what each is mounted from.
        staged: Whether what lies within the roots is mounted already; see `stage`.
    """
    made = []
    for _, how, path in sorted(set(_mounts(places, staged))):
        at = os.readlink(path) if how == "--symlink" else source(path)
        made += [how, at, path]
    return made


def _mounts(places: Places, staged: bool) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Each mount behind the parts of its place, so that sorting puts folders before their own."""
    for path in places.tops():
        link = path in places.system and os.path.islink(path) and Path(path).parent == Path("/")
        how = "--symlink" if link else "--bind" if path in places.writable else "--ro-bind"
        yield Path(path).parts, how, path
    for path, writes in () if staged else places.inside().items():
        yield Path(path).parts, "--bind" if writes else "--ro-bind", path


def seccomp(unix_sockets: bool) -> bytes:
    """The filter beside the namespaces.

    Args:
        unix_sockets: Whether local sockets may be opened. By them a command reaches whatever
            listens below its folders (read-only stops no connect) and, with the machine's
            network, every abstract socket.
    """
    return program(families=UNIX + INTERNET if unix_sockets else INTERNET)

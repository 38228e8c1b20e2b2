"""Commands in namespaces of their own, made by bubblewrap, behind a filter of system calls.

What is not named is not there: the file system begins empty, and the system's folders, the roots
and a private folder for temporary files are mounted into it. The network is an empty one, and the
only processes are the command's. bubblewrap itself starts with an empty environment, because it
stays on as process 1, and what it was started with can be read there.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from toolkeel.engines.sandbox.mounts import Places
from toolkeel.engines.sandbox.seccomp import INTERNET, UNIX, program

HOME = "/tmp"
"""The command's home and folder for temporary files: empty, its own, gone with it."""
_NOBODY = "65534"
_SETTINGS_OF_THE_KERNEL = ("acpi", "bus", "driver", "fs", "irq", "pressure", "scsi", "sys")
_SECRETS_OF_THE_KERNEL = (
    "kallsyms",
    "kcore",
    "key-users",
    "keys",
    "kmsg",
    "mtrr",
    "pagetypeinfo",
    "sched_debug",
    "slabinfo",
    "sysrq-trigger",
    "timer_list",
    "vmallocinfo",
)
FOLDERS = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
"""Where bubblewrap is looked for, whatever our ``PATH`` says."""


def found() -> str:
    """Where bubblewrap is: never in a folder that a command may have written to."""
    return shutil.which("bwrap", path=FOLDERS) or ""


def arguments(
    places: Places,
    *,
    env: Mapping[str, str],
    cwd: str,
    network: bool,
    tmp_size: int,
    shown: Mapping[str, str],
) -> list[str]:
    """Bubblewrap's options, all but the filter.

    A new ``/proc`` shows the kernel's settings, and bubblewrap leaves ``/proc/sys`` as it is: to
    the files there root inside is root. So all of it is mounted once more, to be read only; by
    ``kernel/core_pattern`` alone a command would leave every namespace.

    Args:
        places: What is there.
        env: The command's variables.
        cwd: Where it starts.
        network: Whether it has the machine's network.
        tmp_size: Size of its folder for temporary files, in bytes.
        shown: Places that `become` shows elsewhere, to where.
    """
    made = ["--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
    made += ["--unshare-user", "--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"]
    if network:
        made += ["--share-net"]
    made += ["--proc", "/proc", *_kernel(), "--dev", "/dev"]
    made += ["--size", str(tmp_size), "--tmpfs", "/dev/shm"]
    made += ["--size", str(tmp_size), "--perms", "0700", "--tmpfs", HOME]
    for _, step in sorted(_mounts(places, shown)):
        made += step
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


def _mounts(
    places: Places, shown: Mapping[str, str]
) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Each mount under the parts of its place, so that sorting puts folders before their own."""

    def mount(how: str, path: str) -> tuple[tuple[str, ...], list[str]]:
        above = [place for place in shown if path == place or path.startswith(f"{place}/")]
        nearest = max(above, key=len, default="")
        source = shown[nearest] + path.removeprefix(nearest) if nearest else path
        return Path(path).parts, [how, source, path]

    for path in places.system:
        if os.path.islink(path) and Path(path).parent == Path("/"):
            yield Path(path).parts, ["--symlink", os.readlink(path), path]
        else:
            yield mount("--ro-bind", path)
    for path in places.readable:
        yield mount("--ro-bind", path)
    for path in places.writable:
        yield mount("--bind", path)
    for path in places.protected:
        # Folders on the way become mounts, too: what is one can not be moved aside.
        for parent in Path(path).parents:
            if str(parent) in places.writable:
                break
            yield mount("--bind", str(parent))
        yield mount("--ro-bind", path)


def seccomp(unix_sockets: bool) -> bytes:
    """The filter beside the namespaces.

    Args:
        unix_sockets: Whether local sockets may be opened. By them a command reaches whatever
            listens below its folders (read-only stops no connect) and, with the machine's
            network, every abstract socket.
    """
    return program(families=UNIX + INTERNET if unix_sockets else INTERNET)


def limits_shell(limits: Mapping[str, int]) -> list[str]:
    """The words before a command that set its limits, in a shell that then becomes the command.

    Args:
        limits: Names of `resource` to numbers.
    """
    flags = {
        "RLIMIT_CPU": ("-t", 1),
        "RLIMIT_DATA": ("-d", 1024),
        "RLIMIT_FSIZE": ("-f", 512),
        "RLIMIT_NOFILE": ("-n", 1),
        "RLIMIT_CORE": ("-c", 512),
    }
    lines = []
    for name, value in limits.items():
        if name == "RLIMIT_NPROC":  # the one flag on which shells differ
            lines.append(f"{{ ulimit -u {value} || ulimit -p {value}; }} 2>/dev/null")
        else:
            flag, unit = flags[name]
            lines.append(f"ulimit {flag} {value // unit}")
    script = " && ".join([*lines, 'exec "$@"'])
    return ["/bin/sh", "-c", f"{script} || exit 125", "sh"]

"""Commands in namespaces of their own, made by bubblewrap, behind a filter of system calls.

What is not named is not there: the file system begins empty, and the system's folders, the roots
and a private folder for temporary files are mounted into it. The network is an empty one, and the
only processes are the command's. bubblewrap itself starts with an empty environment, because it
stays on as process 1, and what it was started with can be read there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

from toolwright.engines.places import Places
from toolwright.engines.seccomp import INTERNET, UNIX, program

HOME = "/tmp"
"""The command's home and folder for temporary files: empty, its own, gone with it."""
_NOBODY = "65534"
FOLDERS = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
"""Where bubblewrap is looked for, whatever our ``PATH`` says."""


def arguments(
    places: Places, *, env: Mapping[str, str], cwd: str, network: bool, tmp_size: int
) -> list[str]:
    """Bubblewrap's options, all but the filter.

    Args:
        places: What is there.
        env: The command's variables.
        cwd: Where it starts.
        network: Whether it has the machine's network.
        tmp_size: Size of its folder for temporary files, in bytes.
    """
    made = ["--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
    made += ["--unshare-user", "--uid", _NOBODY, "--gid", _NOBODY, "--hostname", "sandbox"]
    if network:
        made += ["--share-net"]
    made += ["--proc", "/proc", "--dev", "/dev"]
    made += ["--size", str(tmp_size), "--tmpfs", "/dev/shm"]
    made += ["--size", str(tmp_size), "--perms", "0700", "--tmpfs", HOME]
    for _, step in sorted(_mounts(places)):
        made += step
    made += ["--remount-ro", "/", "--remount-ro", "/dev"]
    for name, value in env.items():
        made += ["--setenv", name, value]
    return [*made, "--chdir", cwd]


def _mounts(places: Places) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Each mount under the parts of its place, so that sorting puts folders before their own."""
    for path in places.system:
        if os.path.islink(path) and Path(path).parent == Path("/"):
            yield Path(path).parts, ["--symlink", os.readlink(path), path]
        else:
            yield Path(path).parts, ["--ro-bind", path, path]
    for path in places.readable:
        yield Path(path).parts, ["--ro-bind", path, path]
    for path in places.writable:
        yield Path(path).parts, ["--bind", path, path]
    for path in places.protected:
        # Folders on the way become mounts, too: what is one can not be moved aside.
        for parent in Path(path).parents:
            if str(parent) in places.writable:
                break
            yield parent.parts, ["--bind", str(parent), str(parent)]
        yield Path(path).parts, ["--ro-bind", path, path]


def seccomp() -> bytes:
    """The filter beside the namespaces: local sockets reach nothing that is not mounted."""
    return program(families=UNIX + INTERNET)


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

"""Options of bubblewrap, which runs commands in namespaces behind a seccomp filter.

What is not mounted does not exist: the file system starts empty, and the system's folders, the roots and
a private folder for temporary files are mounted into it. The network is empty, and only the command's
processes are visible. bubblewrap itself starts with an empty environment, because it stays as process 1,
whose environment the command can read.
"""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from toolkeel.executors.supervised import LEFTOVERS_NOTICE, MAX_LEFTOVERS
from toolkeel_workspace.sandbox.mounts import SandboxPaths
from toolkeel_workspace.sandbox.seccomp import INTERNET, UNIX, build_filter

HOME = "/tmp"
"""The command's home and folder for temporary files: private, empty, deleted at its end."""
_NOBODY_UID = "65534"
_KERNEL_SETTINGS = ("acpi", "bus", "driver", "fs", "irq", "pressure", "scsi", "sys")
_KERNEL_SECRETS = (
    "kallsyms", "kcore", "key-users", "keys", "kmsg", "mtrr", "pagetypeinfo", "sched_debug",
    "slabinfo", "sysrq-trigger", "timer_list", "vmallocinfo",
)  # fmt: skip
_REPORTING_SCRIPT = f"""exec 3>&2 2>/dev/null
(exec "$@") 2>&3 3>&-
code=$? left= count=0
for each in /proc/[0-9]*; do
  pid=${{each#/proc/}}
  [ "$pid" = 1 ] || [ "$pid" = $$ ] || {{
    read -r state < "$each/stat" && read -r name < "$each/comm" || continue
    set -- ${{state##*) }}
    [ "$1" != Z ] && [ $(($7 & 4)) = 0 ] || continue
    count=$((count + 1))
    [ $count -gt {MAX_LEFTOVERS} ] || left="$left${{left:+, }}$name"
  }}
done
[ $count -le {MAX_LEFTOVERS} ] || left="$left and $((count - {MAX_LEFTOVERS})) more"
[ -z "$left" ] || printf {shlex.quote(LEFTOVERS_NOTICE)} "$left"
exit $code
"""
SEARCH_PATH = "/usr/bin:/usr/local/bin:/bin:/run/current-system/sw/bin"
"""Where bubblewrap is searched, regardless of ``PATH``."""


def find_bubblewrap() -> str:
    """Return bubblewrap's path, searched only in folders that a command cannot write to; empty if missing."""
    return shutil.which("bwrap", path=SEARCH_PATH) or ""


def make_reporting_argv(argv: list[str]) -> list[str]:
    """Return the argv of a shell that runs a command, and prints what processes it left running."""
    return ["/bin/sh", "-c", _REPORTING_SCRIPT, "sh", *argv]


def make_options(
    mounts: list[str], *, env: Mapping[str, str], cwd: str, network: bool, tmp_size: int
) -> list[str]:
    """Return bubblewrap's options, without the seccomp filter.

    A new ``/proc`` shows the kernel's settings, and bubblewrap leaves ``/proc/sys`` writable for root inside.
    ``kernel/core_pattern`` alone would let a command leave every namespace. So all of it is mounted again,
    read-only.

    Args:
        mounts: From `make_mount_options`.
        env: The command's variables.
        cwd: Where it starts.
        network: Share the machine's network.
        tmp_size: Size of its folder for temporary files, in bytes.
    """
    made = ["--unshare-all", "--die-with-parent", "--cap-drop", "ALL"]
    made += ["--unshare-user", "--uid", _NOBODY_UID, "--gid", _NOBODY_UID, "--hostname", "sandbox"]
    if network:
        made += ["--share-net"]
    made += ["--proc", "/proc", *_kernel_options(), "--dev", "/dev"]
    made += ["--size", str(tmp_size), "--tmpfs", "/dev/shm"]
    made += ["--size", str(tmp_size), "--perms", "0700", "--tmpfs", HOME, *mounts]
    made += ["--remount-ro", "/", "--remount-ro", "/dev"]
    for name, value in env.items():
        made += ["--setenv", name, value]
    return [*made, "--chdir", cwd]


def make_file_options(files: Mapping[str, int]) -> list[str]:
    """Return the options that put files into the command's home.

    Args:
        files: Descriptors of their contents, by name.
    """
    made = list[str]()
    for name, descriptor in files.items():
        made += ["--file", str(descriptor), f"{HOME}/{name}"]
    return made


def _kernel_options() -> Iterator[str]:
    """Yield mounts that make kernel settings read-only and root-only files empty."""
    for name in _KERNEL_SETTINGS:
        if os.path.isdir(f"/proc/{name}"):
            yield from ("--ro-bind", f"/proc/{name}", f"/proc/{name}")
    for name in _KERNEL_SECRETS:
        if os.path.exists(f"/proc/{name}"):
            yield from ("--ro-bind", "/dev/null", f"/proc/{name}")


def make_mount_options(
    paths: SandboxPaths, source_of: Callable[[str], str], *, is_staged: bool
) -> list[str]:
    """Return the options that mount the sandbox's paths.

    Args:
        paths: The sandbox's paths.
        source_of: Maps a path to the one it is mounted from.
        is_staged: Nested paths are mounted already; see `stage`.
    """
    made = []
    for _, how, path in sorted(set(_iter_mounts(paths, is_staged))):
        at = os.readlink(path) if how == "--symlink" else source_of(path)
        made += [how, at, path]
    return made


def _iter_mounts(
    paths: SandboxPaths, is_staged: bool
) -> Iterator[tuple[tuple[str, ...], str, str]]:
    """Yield each mount with its path's parts first, so that sorting puts parents before children."""
    for path in paths.list_top_level():
        link = path in paths.system and os.path.islink(path) and Path(path).parent == Path("/")
        how = "--symlink" if link else "--bind" if path in paths.writable else "--ro-bind"
        yield Path(path).parts, how, path
    for path, writes in () if is_staged else paths.list_nested().items():
        yield Path(path).parts, "--bind" if writes else "--ro-bind", path


def build_namespace_filter(unix_sockets: bool) -> bytes:
    """Build the seccomp filter that goes with the namespaces.

    Args:
        unix_sockets: Allow Unix sockets. They reach services below visible folders (read-only mounts
            do not prevent a connect) and, with the machine's network, all abstract sockets.
    """
    return build_filter(families=UNIX + INTERNET if unix_sockets else INTERNET)

"""The paths of the machine that a confined command can read and change."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice
from pathlib import Path

from toolkeel._common.data_folder import expand_home
from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel_workspace.sandbox.protected_files import MAX_FILES_COMPARED, find_protected

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
_SETTINGS = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies",
    "debian_version", "fonts", "group", "host.conf", "hosts", "inputrc", "java", "ld.so.cache",
    "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "locale.alias", "localtime", "login.defs",
    "magic", "mime.types", "nsswitch.conf", "os-release", "passwd", "perl", "pki/ca-trust",
    "pki/tls/certs", "profile", "protocols", "services", "ssl/certs", "ssl/openssl.cnf",
    "terminfo", "timezone",
)  # fmt: skip
HANDLE_FLAGS = getattr(os, "O_PATH", 0) | getattr(os, "O_CLOEXEC", 0)
"""Flags for opening a handle that only identifies a path."""
STAGE_SCRIPT = Path(__file__).with_name("stage.py")
"""The program that runs before bubblewrap, outside of the sandbox."""
_FORBIDDEN_ROOTS = (
    "/",
    "/proc",
    "/sys",
    "/dev",
    "/etc",
    "/usr",
    "/bin",
    "/lib",
    "/tmp",
    "/var",
    "/home",
)
_PASSED_VARIABLES = ("LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES")


@record
class SandboxPaths:
    """Folders and files, each as an absolute path without links.

    Args:
        system: Readable parts of the machine.
        readable: Other readable paths: more folders, or read-only roots.
        writable: Paths that may be changed.
        protected: Read-only paths inside writable ones.
    """

    system: tuple[str, ...]
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    protected: tuple[str, ...]

    def find_enclosing_root(self, path: str) -> str:
        """Return the outermost writable folder that contains a path, or empty if none does."""
        return min((r for r in self.writable if path.startswith(f"{r}/")), key=len, default="")

    def list_top_level(self) -> tuple[str, ...]:
        """List the paths that are inside no writable folder."""
        found = dict.fromkeys((*self.system, *self.readable, *self.writable))
        return tuple(path for path in found if not self.find_enclosing_root(path))

    def list_private(self) -> tuple[str, ...]:
        """List the top-level paths that only one user may be able to read."""
        public = {path for path in self.system if path.startswith((*_SYSTEM, "/etc/"))}
        return tuple(
            path for path in self.list_top_level() if path not in public - {*self.writable}
        )

    def list_nested(self) -> dict[str, bool]:
        """List the paths inside writable ones, where a command could place a link to elsewhere.

        Maps each to true if it is writable, parents first: protected files, roots, readable folders, and the
        folders on the way to them, because a mount point cannot be moved aside.
        """
        read_only = [
            p
            for p in (*self.system, *self.readable, *self.protected)
            if self.find_enclosing_root(p)
        ]
        roots = [path for path in self.writable if self.find_enclosing_root(path)]
        way = (str(above) for path in (*read_only, *roots) for above in Path(path).parents)
        found = dict.fromkeys(
            (*(path for path in way if self.find_enclosing_root(path)), *roots), True
        )
        found |= dict.fromkeys(read_only, False)
        return {path: found[path] for path in sorted(found, key=lambda path: Path(path).parts)}


def collect_paths(
    roots: Iterable[Path], readable: Iterable[Path], *, is_writable: bool, network: bool
) -> SandboxPaths:
    """Collect the existing paths for a sandbox.

    Args:
        roots: The folders the command works in.
        readable: More readable paths.
        is_writable: The roots may be changed.
        network: Include the files that name DNS servers.
    """
    work = tuple(dict.fromkeys(str(path) for path in roots))
    read_only = (
        dict.fromkeys(str(p) for root in work for p in _find_read_only(Path(root)))
        if is_writable
        else {}
    )
    return SandboxPaths(
        system=tuple(path for path in _system_paths(network) if not is_behind_link(path, work)),
        readable=tuple(map(str, readable)) + (() if is_writable else work),
        writable=work if is_writable else (),
        protected=tuple(read_only),
    )


def is_behind_link(path: str, roots: Iterable[str]) -> bool:
    """Return true if a path in a root passes through a link, which a command can replace."""
    inside = any(path.startswith(f"{root}/") for root in roots)
    return inside and os.path.realpath(path) != path


def _find_read_only(root: Path) -> Iterator[Path]:
    """Yield what stays read-only in a root: protected files, and this program's own runtime."""
    for path in (*find_protected(root), *find_shared_environments(root), *find_runtime_paths(root)):
        if not is_behind_link(str(path), [str(root)]):
            yield path


def find_shared_environments(root: Path) -> Iterator[Path]:
    """Yield environments at the top of a folder whose files have hard links elsewhere.

    Installers link packages from a machine-wide cache: writing one would write all.
    """
    for name in (".venv", "venv", "node_modules"):
        files = (path for path in islice((root / name).rglob("*"), MAX_FILES_COMPARED))
        if any(_has_hard_link(path) for path in files):
            yield root / name


def _has_hard_link(path: Path) -> bool:
    with suppress(OSError):
        found = path.lstat()
        return stat.S_ISREG(found.st_mode) and found.st_nlink > 1
    return False


def find_runtime_paths(root: Path, *more: Path) -> list[Path]:
    """List the paths of this program's Python, and more named ones, that are inside a root."""
    ours = dict.fromkeys((*map(Path, _python_prefixes()), *more, STAGE_SCRIPT))
    return [place for place in ours if root in place.parents]


def _python_prefixes() -> Iterator[str]:
    """Yield the folders of this program's Python, under each of their names."""
    for prefix in (sys.base_prefix, sys.prefix):
        yield from (prefix, os.path.realpath(prefix))


def resolve_paths(paths: Iterable[str | os.PathLike[str]], role: str) -> tuple[Path, ...]:
    """Resolve paths to absolute ones without links.

    Args:
        paths: Existing paths; ``~`` is expanded.
        role: ``root``, or another word for the message.

    Raises:
        SetupError: if one is missing, or is a folder that no sandbox may open entirely.
    """
    found = []
    for path in paths:
        place = expand_home(os.fspath(path)).resolve()
        if not place.exists():
            raise SetupError(f"the sandbox's {role} {str(path)!r} does not exist")
        if str(place) in _FORBIDDEN_ROOTS and role == "root":
            raise SetupError(f"{str(place)!r} cannot be a sandbox's root: name a folder below it")
        found.append(place)
    return tuple(found)


def open_path(path: str) -> int:
    """Open a handle of a path, following no link: a command may have replaced a folder by one.

    Args:
        path: Absolute, without links.

    Raises:
        OSError: if it is missing, or a link is on the way now.
    """
    place = os.open("/", HANDLE_FLAGS)
    for part in Path(path).parts[1:]:
        above = place
        try:
            place = os.open(part, HANDLE_FLAGS | os.O_NOFOLLOW, dir_fd=above)
        finally:
            os.close(above)
        if stat.S_ISLNK(os.fstat(place).st_mode):
            os.close(place)
            raise OSError(errno.ELOOP, f"a link has taken the place of {path} or of one above")
    return place


def open_paths(paths: Iterable[str]) -> dict[str, int]:
    """Open a handle of each path. See `open_path`."""
    handles: dict[str, int] = {}
    try:
        for path in paths:
            handles[path] = open_path(path)
    except OSError:
        close_handles(handles.values())
        raise
    return handles


def close_handles(handles: Iterable[int]) -> None:
    """Close handles."""
    for handle in handles:
        os.close(handle)


def find_import_folders(root: Path) -> list[str]:
    """List the folders at or below a root that this program imports its own code from.

    Installed packages are left out: environments are protected in other ways.

    Args:
        root: Absolute, without links.
    """
    found = (Path(entry or ".").resolve() for entry in sys.path)
    return [
        str(place)
        for place in dict.fromkeys(found)
        if (place == root or root in place.parents)
        and place.is_dir()
        and not {"site-packages", "dist-packages"} & set(place.parts)
    ]


def _system_paths(network: bool) -> Iterable[str]:
    names = [*_SETTINGS, "resolv.conf"] if network else _SETTINGS
    candidates = [*_SYSTEM, *(f"/etc/{name}" for name in names), *_python_prefixes()]
    return [path for path in dict.fromkeys(candidates) if os.path.exists(path)]


def make_environment(home: str, visible: Iterable[str], extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a confined command: some of our variables, none with a secret.

    Args:
        home: Its home, which is also its folder for temporary files.
        visible: Folders it can see; entries of our ``PATH`` outside of them are dropped.
        extra: More variables, from the user.
    """
    ours = {k: v for k, v in os.environ.items() if k in _PASSED_VARIABLES or k.startswith("LC_")}
    folders = tuple(visible)
    path = [str(Path(sys.prefix, "bin")), *os.environ.get("PATH", "").split(os.pathsep)]
    path += ["/usr/local/bin", "/usr/bin", "/bin"]
    visible = [p for p in path if any(p == s or p.startswith(f"{s}/") for s in folders)]
    return {
        "PATH": os.pathsep.join(dict.fromkeys(visible)),
        "LANG": "C.UTF-8",
        **ours,
        "HOME": home,
        "TMPDIR": home,
        **extra,
    }

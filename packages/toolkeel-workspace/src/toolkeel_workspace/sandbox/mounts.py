"""What a confined command may see and change of the machine's files."""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel_workspace.sandbox.protected_files import protected_below, shared_environments

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
_SETTINGS = (
    "alternatives", "ca-certificates", "ca-certificates.conf", "crypto-policies",
    "debian_version", "fonts", "group", "host.conf", "hosts", "inputrc", "java", "ld.so.cache",
    "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "locale.alias", "localtime", "login.defs",
    "magic", "mime.types", "nsswitch.conf", "os-release", "passwd", "perl", "pki/ca-trust",
    "pki/tls/certs", "profile", "protocols", "services", "ssl/certs", "ssl/openssl.cnf",
    "terminfo", "timezone",
)  # fmt: skip
HANDLE = getattr(os, "O_PATH", 0) | os.O_CLOEXEC
"""How a place is opened that is only to be shown."""
STAGING = Path(__file__).with_name("stage.py")
"""The program before bubblewrap, outside of all walls."""
_NOT_ROOTS = ("/", "/proc", "/sys", "/dev", "/etc", "/usr", "/bin", "/lib", "/tmp", "/var", "/home")
_KEPT = ("LANG", "LANGUAGE", "TZ", "TERM", "COLORTERM", "NO_COLOR", "COLUMNS", "LINES")


@record
class Places:
    """Folders and files, each an absolute path without links.

    Args:
        system: What may be read of the machine.
        readable: What may be read beside it: more folders, or the roots themselves.
        writable: What may be changed.
        protected: What stays read-only inside of that.
    """

    system: tuple[str, ...]
    readable: tuple[str, ...]
    writable: tuple[str, ...]
    protected: tuple[str, ...]

    def root_above(self, path: str) -> str:
        """The outermost folder that may be changed and holds a place; empty for none."""
        return min((r for r in self.writable if path.startswith(f"{r}/")), key=len, default="")

    def tops(self) -> tuple[str, ...]:
        """What lies within nothing that may be changed."""
        found = dict.fromkeys((*self.system, *self.readable, *self.writable))
        return tuple(path for path in found if not self.root_above(path))

    def owned(self) -> tuple[str, ...]:
        """Those of them that may belong to a user alone: all but what everybody may read."""
        public = {path for path in self.system if path.startswith((*_SYSTEM, "/etc/"))}
        return tuple(path for path in self.tops() if path not in public - {*self.writable})

    def inside(self) -> dict[str, bool]:
        """Places within what may be changed, where a command could put a link to elsewhere.

        Gives each with whether it may be changed, those above first: protected files, roots and
        folders to read, and the folders on the way, since what is a mount can not be moved aside.
        """
        kept = [p for p in (*self.system, *self.readable, *self.protected) if self.root_above(p)]
        roots = [path for path in self.writable if self.root_above(path)]
        way = (str(above) for path in (*kept, *roots) for above in Path(path).parents)
        found = dict.fromkeys((*(path for path in way if self.root_above(path)), *roots), True)
        found |= dict.fromkeys(kept, False)
        return {path: found[path] for path in sorted(found, key=lambda path: Path(path).parts)}


def places(
    roots: Iterable[Path], readable: Iterable[Path], *, writes: bool, network: bool
) -> Places:
    """What there is of all that.

    Args:
        roots: The folders that are worked in.
        readable: More that may be read.
        writes: Whether the roots may be changed.
        network: Whether the files that name servers are needed.
    """
    work = tuple(dict.fromkeys(str(path) for path in roots))
    kept = (
        dict.fromkeys(str(p) for root in work for p in _read_only_within(Path(root)))
        if writes
        else {}
    )
    return Places(
        system=tuple(path for path in _system(network) if not led_by_link(path, work)),
        readable=tuple(map(str, readable)) + (() if writes else work),
        writable=work if writes else (),
        protected=tuple(kept),
    )


def led_by_link(path: str, roots: Iterable[str]) -> bool:
    """Whether a place in a root is one by a link, which a root holds as any other file."""
    inside = any(path.startswith(f"{root}/") for root in roots)
    return inside and os.path.realpath(path) != path


def _read_only_within(root: Path) -> Iterator[Path]:
    """What of a root stays as it is: protected files, and what this very program runs from."""
    for path in (*protected_below(root), *shared_environments(root), *runs_from(root)):
        if not led_by_link(str(path), [str(root)]):
            yield path


def runs_from(root: Path, *more: Path) -> list[Path]:
    """What of a root this very program runs from: its Python, and more that is named."""
    ours = dict.fromkeys((*map(Path, _pythons()), *more, STAGING))
    return [place for place in ours if root in place.parents]


def _pythons() -> Iterator[str]:
    """Where this program's Python is, by whatever name."""
    for prefix in (sys.base_prefix, sys.prefix):
        yield from (prefix, os.path.realpath(prefix))


def resolved(paths: Iterable[str | os.PathLike[str]], what: str) -> tuple[Path, ...]:
    """Folders as they are called without links.

    Raises:
        SetupError: if one is not there, or is a place no sandbox may open as a whole.
    """
    found = []
    for path in paths:
        place = Path(path).expanduser().resolve()
        if not place.exists():
            raise SetupError(f"the sandbox's {what} {str(path)!r} does not exist")
        if str(place) in _NOT_ROOTS and what == "root":
            raise SetupError(f"{str(place)!r} cannot be a sandbox's root: name a folder below it")
        found.append(place)
    return tuple(found)


def opened(path: str) -> int:
    """A handle of a place by its own name: a command may have put a link where a folder was.

    Args:
        path: Absolute, without links.

    Raises:
        OSError: if it is not there, or there is a link on the way now.
    """
    place = os.open("/", HANDLE)
    for part in Path(path).parts[1:]:
        above = place
        try:
            place = os.open(part, HANDLE | os.O_NOFOLLOW, dir_fd=above)
        finally:
            os.close(above)
        if stat.S_ISLNK(os.fstat(place).st_mode):
            os.close(place)
            raise OSError(errno.ELOOP, f"a link has taken the place of {path} or of one above")
    return place


def opened_all(paths: Iterable[str]) -> dict[str, int]:
    """A handle of each place; see `opened`."""
    handles: dict[str, int] = {}
    try:
        for path in paths:
            handles[path] = opened(path)
    except OSError:
        close_all(handles.values())
        raise
    return handles


def close_all(handles: Iterable[int]) -> None:
    """Close them."""
    for handle in handles:
        os.close(handle)


def imported_from(root: Path) -> list[str]:
    """Folders at or below a root that this program imports its own code from.

    Installed packages are left out: an environment is kept from being written by other means.

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


def _system(network: bool) -> Iterable[str]:
    names = [*_SETTINGS, "resolv.conf"] if network else _SETTINGS
    candidates = [*_SYSTEM, *(f"/etc/{name}" for name in names), *_pythons()]
    return [path for path in dict.fromkeys(candidates) if os.path.exists(path)]


def environment(home: str, search: Iterable[str], extra: Mapping[str, str]) -> dict[str, str]:
    """The variables a confined command has: a few of ours, none of which is a secret.

    Args:
        home: Its home, which is its folder for temporary files, too.
        search: Folders it may see; those of our ``PATH`` below them are its ``PATH``.
        extra: More variables, as the user says.
    """
    ours = {k: v for k, v in os.environ.items() if k in _KEPT or k.startswith("LC_")}
    seen = tuple(search)
    path = [str(Path(sys.prefix, "bin")), *os.environ.get("PATH", "").split(os.pathsep)]
    path += ["/usr/local/bin", "/usr/bin", "/bin"]
    visible = [p for p in path if any(p == s or p.startswith(f"{s}/") for s in seen)]
    return {
        "PATH": os.pathsep.join(dict.fromkeys(visible)),
        "LANG": "C.UTF-8",
        **ours,
        "HOME": home,
        "TMPDIR": home,
        **extra,
    }

"""What a confined command may see and change of the machine's files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from toolkeel._records.record import record
from toolkeel.engines.sandbox.protected_files import protected_below, shared_environments
from toolkeel.errors import SetupError

_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store")
_SETTINGS = (
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "locale.alias",
    "localtime",
    "login.defs",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "profile",
    "protocols",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
)
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

    def owned(self) -> tuple[str, ...]:
        """Those that may belong to a user alone: all but what everybody may read."""
        public = [path for path in self.system if path.startswith((*_SYSTEM, "/etc/"))]
        return tuple(p for p in (*self.system, *self.readable, *self.writable) if p not in public)


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
    kept = dict.fromkeys(str(p) for root in work for p in _kept(Path(root))) if writes else {}
    return Places(
        system=tuple(_system(network)),
        readable=tuple(map(str, readable)) + (() if writes else work),
        writable=work if writes else (),
        protected=tuple(kept),
    )


def _kept(root: Path) -> Iterator[Path]:
    """What of a root stays as it is: protected files, and what this very program runs from."""
    yield from protected_below(root)
    yield from shared_environments(root)
    yield from (
        place for place in (Path(sys.prefix), Path(sys.base_prefix)) if root in place.parents
    )


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
    python = (sys.base_prefix, sys.prefix)
    candidates = [*_SYSTEM, *(f"/etc/{name}" for name in names), *python]
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

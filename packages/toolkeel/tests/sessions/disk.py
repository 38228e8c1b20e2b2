"""A disk that loses power: what a program has written is recorded, and replayed up to any moment.

Only what was synced is sure to be there. Of the rest each sector of 512 bytes may be there or not, and
of new, changed and removed names any beginning: a name counts when its folder was synced.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from random import Random
from shutil import which

from tests.shared import ROOT, cannot_run

SECTOR = 512
SHIM = Path(__file__).with_name("disk.c")


@dataclass(frozen=True)
class Op:
    """A write, a cut (`t`), a sync, a file that was unlinked or renamed, or a new folder (`m`)."""

    kind: str
    path: str
    rest: tuple[str, ...]
    data: bytes = b""


def record(words: Sequence[str], folder: Path) -> list[Op]:
    """Run a program of Python to its end, and give what it did to the files below a folder."""
    compiler = which("cc")
    if sys.platform != "linux" or compiler is None:
        cannot_run("no C compiler on Linux, so nobody counts what is synced: apt-get install gcc")
    shim, log = folder.with_name("disk.so"), folder.with_name("disk.log")
    built = [compiler, "-shared", "-fPIC", "-O1", "-o", str(shim), str(SHIM), "-ldl", "-lpthread"]
    made = subprocess.run(built, capture_output=True, text=True)
    if made.returncode:
        cannot_run(f"the C compiler makes nothing here: {made.stderr[:300]}")
    environ = {"LD_PRELOAD": str(shim), "DISK_FOLDER": str(folder), "DISK_LOG": str(log)}
    done = subprocess.run(
        [sys.executable, *words], env=os.environ | environ, cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return list(_ops(log.read_bytes()))


def _ops(log: bytes) -> Iterator[Op]:
    at = 0
    while at < len(log):
        end = log.index(b"\n", at)
        kind, path, *rest = log[at:end].decode().split("\t")
        at = end + 1
        size = int(rest[1]) if kind == "w" else 0
        yield Op(kind, path, tuple(rest), log[at : at + size])
        at += size


@dataclass
class File:
    """What is safe of a file, and what came after: data at a place, or a size."""

    safe: bytearray = field(default_factory=bytearray)
    pending: list[tuple[int, bytes | None]] = field(default_factory=list)

    def bytes(self, luck: Random | None, keep: float) -> bytes:
        """Its bytes after a power cut; each sector of what came after is kept with a chance."""
        found = bytearray(self.safe)
        for place, data in self.pending:
            if data is None:
                if luck is None or luck.random() < keep:
                    _resize(found, place)
                continue
            for start, piece in _sectors(place, data):
                if luck is None or luck.random() < keep:
                    _put(found, start, piece)
        return bytes(found)

    def sync(self) -> None:
        """All of it is safe."""
        self.safe = bytearray(self.bytes(None, 1))
        self.pending.clear()


def _sectors(place: int, data: bytes) -> Iterator[tuple[int, bytes]]:
    at = 0
    while at < len(data):
        size = SECTOR - (place + at) % SECTOR
        yield place + at, data[at : at + size]
        at += size


def _put(found: bytearray, place: int, data: bytes) -> None:
    _resize(found, max(len(found), place + len(data)))
    found[place : place + len(data)] = data


def _resize(found: bytearray, size: int) -> None:
    del found[size:]
    found.extend(bytes(size - len(found)))


class Disk:
    """The files below a folder.

    Args:
        folder: Where they were written.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._now: dict[str, File] = {}
        self._safe: dict[str, File] = {}
        self._renamed: list[dict[str, File | None]] = []

    def see(self, op: Op) -> None:
        """One more thing was done."""
        path = op.path.removeprefix(self._folder).lstrip("/")
        if op.kind in "wt":
            if path not in self._now:
                self._name({path: File()})
            place = int(op.rest[0])
            self._now[path].pending.append((place, op.data if op.kind == "w" else None))
        elif op.kind == "u":
            self._name({path: None})
        elif op.kind == "m":
            self._name({f"{path}/": File()})
        elif op.kind == "r":
            to = op.rest[0].removeprefix(self._folder).lstrip("/")
            self._name({path: None, to: self._now[path]})
        elif path in self._now:
            self._now[path].sync()
        else:
            self._sync_folder(path)

    def _name(self, names: dict[str, File | None]) -> None:
        self._renamed.append(names)
        _rename(self._now, names)

    def _sync_folder(self, folder: str) -> None:
        for names in list(self._renamed):
            if {os.path.dirname(name.rstrip("/")) for name in names} == {folder}:
                _rename(self._safe, names)
                self._renamed.remove(names)

    def cut_power(self, into: Path, luck: Random | None = None, keep: float = 1) -> None:
        """Write the files as they may be found when the power is back; see `File.bytes`.

        Args:
            into: An empty folder.
            luck: Says what of all that was not synced is there; without it all is.
            keep: The chance of each sector.
        """
        names, renamed = dict(self._safe), self._renamed
        count = len(renamed) if luck is None else int(luck.random() * keep * (len(renamed) + 1))
        for each in renamed[:count]:
            _rename(names, each)
        for name, file in names.items():
            above = [f"{each}/" for each in PurePath(name).parents if each.name]
            if name.endswith(("-shm", "/")) or not all(each in names for each in above):
                continue  # shared memory is no more
            path = into / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(file.bytes(luck, keep))


def _rename(files: dict[str, File], names: dict[str, File | None]) -> None:
    for name, file in names.items():
        if file is None:
            files.pop(name, None)
        else:
            files[name] = file

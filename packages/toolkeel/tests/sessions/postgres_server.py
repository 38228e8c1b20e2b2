"""A server of PostgreSQL for tests: of the Debian package, started alone, as a user who is not root."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from tests.shared import cannot_run
from tests.waiting import until_sync

_names = count()


class Server:
    """A server on a socket of its own, and the databases it is asked to make.

    Args:
        programs: Folder of its programs.
        folder: Where it keeps everything.
        fsync: ``on`` where the time of a commit matters.
    """

    def __init__(self, programs: Path, folder: Path, fsync: str) -> None:
        self._programs, self._folder = programs, folder
        self._fsync = fsync
        self._user = "nobody" if os.geteuid() == 0 else None
        if self._user:
            os.chown(folder, pwd.getpwnam("nobody").pw_uid, -1)
        self._run("initdb", "-D", str(folder / "data"), "-U", "keel", "-A", "trust", "-N")
        self.start()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = [f"unix_socket_directories={self._folder}", "listen_addresses="]
        settings += [f"fsync={self._fsync}"]
        words = [str(self._programs / "postgres"), "-D", str(self._folder / "data")]
        self._process = subprocess.Popen(
            [*words, *(w for setting in settings for w in ("-c", setting))],
            user=self._user,
            cwd=self._folder,
            stderr=subprocess.DEVNULL,
        )
        until_sync(lambda: self._answers() == 0, 60)

    def stop(self) -> None:
        """End it at once, whoever is connected and whatever they do."""
        subprocess.run(
            [
                str(self._programs / "pg_ctl"),
                "-D",
                str(self._folder / "data"),
                "-m",
                "immediate",
                "stop",
            ],
            user=self._user,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            check=True,
        )
        self._process.wait()

    def new_database(self) -> str:
        """The address of a database that is empty."""
        name = f"keel{next(_names)}"
        self._run("createdb", "-h", str(self._folder), "-U", "keel", name)
        return f"postgresql://keel@/{name}?host={self._folder}"

    def _answers(self) -> int:
        words = [str(self._programs / "pg_isready"), "-q", "-h", str(self._folder)]
        return subprocess.run(words, check=False).returncode

    def _run(self, program: str, *words: str) -> None:
        subprocess.run(
            [str(self._programs / program), *words],
            user=self._user,
            cwd=self._folder,
            stdout=subprocess.DEVNULL,
            check=True,
        )


def _debians() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"))
    path = shutil.which("postgres")
    if not found and path is None:
        cannot_run("there is no PostgreSQL: make test installs it where it can")
    return found[-1].parent if found else Path(str(path)).parent


@contextmanager
def serving(fsync: str = "off", programs: Path | None = None) -> Iterator[Server]:
    """A server while the block runs, of Debian's programs unless others are named."""
    if programs is None:
        programs = _debians()
    folder = Path(tempfile.mkdtemp(prefix="keel-pg-", dir="/tmp"))
    try:
        server = Server(programs, folder, fsync)
        yield server
        server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)

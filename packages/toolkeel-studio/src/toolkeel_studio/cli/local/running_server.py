"""The server that ``toolkeel local`` runs now, as other commands find it: a file in the state folder."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from toolkeel._common.data_folder import state_folder
from toolkeel.errors import SetupError
from toolkeel.providers.constrained.server_facts import Loading, Locked, ServerClient
from toolkeel_studio.cli.terminal.streams import DIM, note

URL_VARIABLE = "LLAMACPP_BASE_URL"
"""Variable that names another server, which then counts alone."""
_VENDOR = "llamacpp:"


@dataclass(frozen=True)
class RunningServer:
    """A server of ``toolkeel local``.

    Args:
        url: Its base URL, ``/v1`` included.
        model: Name of its model.
        pid: Its process.
    """

    url: str
    model: str
    pid: int

    def is_alive(self) -> bool:
        """Return True if it answers, or is still loading."""
        try:
            return bool(ServerClient(self.url).fetch("/health"))
        except Loading:
            return True
        except (OSError, Locked, ValueError):
            return False


def _place() -> Path:
    return state_folder() / "local.json"


@contextmanager
def announced(server: RunningServer) -> Iterator[None]:
    """Let other commands find a server until the block ends."""
    place = _place()
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(json.dumps(asdict(server)), encoding="utf-8")
    try:
        yield
    finally:
        known = _read(place)
        if known is not None and known.pid == server.pid:
            place.unlink(missing_ok=True)


def find_running_server() -> RunningServer | None:
    """Return the server that runs now, or None if there is none."""
    if os.environ.get(URL_VARIABLE):
        return None
    try:
        server = _read(_place())
    except SetupError:  # no home folder
        return None
    return server if server is not None and server.is_alive() else None


def resolve_local_model(name: str, *, is_default: bool) -> str:
    """Return `name`, or the name of the model of the server that runs now, if that is meant.

    The server's model is printed to stderr, and its address is set in this process's environment.

    Args:
        name: The model that a command is to use; the server's own is found by it, too.
        is_default: True if no model was named, so that any server's is meant.
    """
    if not is_default and not name.startswith(_VENDOR):
        return name
    server = find_running_server()
    if server is None or (not is_default and name != f"{_VENDOR}{server.model}"):
        return name
    os.environ.setdefault(URL_VARIABLE, server.url)
    name = f"{_VENDOR}{server.model}"
    note(f"model: {name}, of toolkeel local", DIM)
    return name


def _read(place: Path) -> RunningServer | None:
    try:
        found = json.loads(place.read_text(encoding="utf-8"))
        return RunningServer(str(found["url"]), str(found["model"]), int(found["pid"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None

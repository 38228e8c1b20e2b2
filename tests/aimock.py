"""A server that speaks the providers' wires, written by others (npm ``@copilotkit/aimock``)."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import pytest

from tests.shared import node_command

SCRIPT = "@copilotkit/aimock/dist/cli.js"
START_SECONDS = 20


@dataclass(frozen=True)
class Server:
    """A running server.

    Args:
        url: Its root, without a slash at the end; OpenAI's base URL is ``url + "/v1"``.
    """

    url: str

    def journal(self) -> list[dict[str, Any]]:
        """Every request the server got so far, with its answer, oldest first."""
        with urllib.request.urlopen(f"{self.url}/__aimock/journal", timeout=5) as reply:
            entries: list[dict[str, Any]] = json.load(reply)
        return entries


@contextlib.contextmanager
def serving(fixtures: Path) -> Iterator[Server]:
    """Run the server on a free loopback port until the block ends.

    Args:
        fixtures: What it answers, such as ``shared_file("kit/aimock/fixtures.json")``.
    """
    port = _free_port()
    command = [*node_command(SCRIPT), "-p", str(port), "-f", str(fixtures), "--strict"]
    server = Server(f"http://127.0.0.1:{port}")
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            [*command, "--log-level", "warn"], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        ) as process,
    ):
        try:
            _wait_until_up(server, process, log)
            yield server
        finally:
            process.kill()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port: int = free.getsockname()[1]
    return port


def _wait_until_up(server: Server, process: subprocess.Popen[bytes], log: IO[bytes]) -> None:
    give_up = time.monotonic() + START_SECONDS
    while time.monotonic() < give_up:
        if process.poll() is not None:
            log.seek(0)
            pytest.fail(f"aimock ended by itself:\n{log.read().decode()}", pytrace=False)
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            server.journal()
            return
        time.sleep(0.05)
    pytest.fail(f"aimock was not up within {START_SECONDS} s", pytrace=False)

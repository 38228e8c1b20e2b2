"""The peer of the client's tests on a real port."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.waiting import until_sync
from tests.warm import WARM

PEER = [*WARM, str(Path(__file__).with_name("peer.py"))]
SSE_PEER = [*WARM, str(Path(__file__).with_name("sse_peer.py"))]
OLD_PEER = [*PEER, "legacy"]


def free_port() -> int:
    """A port nobody listens on."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def http_peer(
    words: Sequence[str] = tuple(PEER), path: str = "/mcp"
) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Its address and its process."""
    port = free_port()
    process = subprocess.Popen([*words, str(port)])
    try:
        until_sync(lambda: answers(port), 30)
        yield f"http://127.0.0.1:{port}{path}", process
    finally:
        process.kill()
        process.wait()


def answers(port: int) -> bool:
    """Whether somebody listens there."""
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0

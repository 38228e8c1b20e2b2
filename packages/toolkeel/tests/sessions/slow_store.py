"""Databases that are slow on purpose: a lock that another process holds, round trips that take long."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

HOLD = """
import sqlite3, sys, time
lock = sqlite3.connect(sys.argv[1], 60, isolation_level=None)
print("ready", flush=True)
while True:
    lock.execute("BEGIN IMMEDIATE")
    time.sleep(float(sys.argv[2]))
    lock.execute("COMMIT")
    time.sleep(0.02)
"""


@contextmanager
def locked_often(path: str, seconds: float = 0.35) -> Iterator[None]:
    """Another process holds the write lock of a SQLite file most of the time, while the block runs."""
    words = [sys.executable, "-c", HOLD, path, str(seconds)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            yield
        finally:
            process.kill()


@contextmanager
def delayed(address: str, seconds: float = 0.04) -> Iterator[str]:
    """The address of a proxy that delays each round trip to a PostgreSQL server on a Unix socket."""
    parts = urlsplit(address)
    [folder] = parse_qs(parts.query)["host"]
    ends: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        words = server, f"{folder}/.s.PGSQL.5432", seconds, ends
        threading.Thread(target=_serve, args=words, daemon=True).start()
        try:
            yield f"postgresql://{parts.username}@127.0.0.1:{server.getsockname()[1]}{parts.path}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for end in ends:
                end.close()


def _serve(server: socket.socket, path: str, seconds: float, ends: list[socket.socket]) -> None:
    with suppress(OSError):
        while True:
            client, _ = server.accept()
            there = socket.socket(socket.AF_UNIX)
            ends += client, there
            there.connect(path)
            for words in ((client, there, seconds), (there, client, 0)):
                threading.Thread(target=_pump, args=words, daemon=True).start()


def _pump(source: socket.socket, target: socket.socket, seconds: float) -> None:
    with suppress(OSError):
        while data := source.recv(1 << 16):
            time.sleep(seconds)
            target.sendall(data)
    with suppress(OSError):  # also of a client that was killed: the server frees its locks
        target.shutdown(socket.SHUT_WR)

"""Proxies before a PostgreSQL server: one whose connections can fall silent, one that pools transactions."""

from __future__ import annotations

import itertools
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from urllib.parse import parse_qs, urlsplit

numbers = itertools.count(1)


def _socket_path(address: str) -> str:
    [folder] = parse_qs(urlsplit(address).query)["host"]
    return f"{folder}/.s.PGSQL.5432"


def _to(path: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.connect(path)
    return made


@contextmanager
def _listening(
    address: str, serve: Callable[[socket.socket], None], ends: list[socket.socket]
) -> Iterator[str]:
    """The address of a proxy that serves each connection in a thread; at the end all are closed."""
    parts = urlsplit(address)

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = server.accept()
                ends.append(client)
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=accept, daemon=True).start()
        try:
            yield f"postgresql://{parts.username}@127.0.0.1:{server.getsockname()[1]}{parts.path}"
        finally:
            server.shutdown(socket.SHUT_RDWR)
            for end in ends:
                with suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)
                end.close()


class Silence:
    """Which connections have fallen silent: they take what is sent, and answer nothing.

    Attributes:
        clients: The connections so far.
    """

    def __init__(self) -> None:
        self.clients: list[socket.socket] = []
        self.silent: set[int] = set()
        self.ends: list[socket.socket] = []

    def fall(self) -> None:
        """Let all connections so far fall silent; new ones are served."""
        self.silent = {id(each) for each in self.clients}

    def serve(self, path: str, client: socket.socket) -> None:
        there = _to(path)
        self.clients.append(client)
        self.ends.append(there)

        def pump(source: socket.socket, target: socket.socket, answers: bool) -> None:
            with suppress(OSError):
                while data := source.recv(1 << 16):
                    if not (answers and id(client) in self.silent):
                        target.sendall(data)
                if id(client) not in self.silent:  # nor does the end of a silent one arrive
                    target.shutdown(socket.SHUT_WR)

        for words in ((client, there, False), (there, client, True)):
            threading.Thread(target=pump, args=words, daemon=True).start()


@contextmanager
def falling_silent(address: str) -> Iterator[tuple[str, Silence]]:
    """A proxy, and what makes its connections fall silent without closing them."""
    silence, path = Silence(), _socket_path(address)
    with _listening(address, lambda client: silence.serve(path, client), silence.ends) as made:
        yield made, silence


@contextmanager
def pooling(address: str, *, transactions: bool, in_turn: bool = False) -> Iterator[str]:
    """A pooler that gives each transaction, or else each session, a connection of the server.

    Like the common ones it answers the greeting itself, with a number of a process that it invents. It
    lends the connection that was used last, or all of them in turn.
    """
    path = _socket_path(address)
    free: list[socket.socket] = []
    ends: list[socket.socket] = []

    def serve(client: socket.socket) -> None:
        with suppress(OSError, struct.error):
            greeting = _sized(client)
            while struct.unpack("!I", greeting[4:8])[0] == 80877103:  # it asks for TLS
                client.sendall(b"N")
                greeting = _sized(client)
            mine: socket.socket | None = None
            first = _to(path)
            ends.append(first)
            first.sendall(greeting)
            for kind, message in _until_ready(first):
                number = struct.pack("!cIII", b"K", 12, next(numbers), 7)
                client.sendall(number if kind == b"K" else message)
            free.append(first)
            if not transactions:
                mine = free.pop()
            while True:
                head = _exactly(client, 5)
                data = head + _exactly(client, struct.unpack("!I", head[1:])[0] - 4)
                if head[:1] == b"X":
                    break
                mine = mine or free.pop(0 if in_turn else -1)
                mine.sendall(data)
                if head[:1] not in (b"S", b"Q"):
                    continue
                for kind, message in _until_ready(mine):
                    client.sendall(message)
                    if transactions and kind == b"Z" and message[5:6] == b"I":
                        free.append(mine)
                        mine = None
        client.close()

    with _listening(address, serve, ends) as made:
        yield made


def _exactly(source: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = source.recv(size - len(data))
        if not more:
            raise OSError("the other side has ended")
        data += more
    return data


def _sized(source: socket.socket) -> bytes:
    size = _exactly(source, 4)
    return size + _exactly(source, struct.unpack("!I", size)[0] - 4)


def _until_ready(source: socket.socket) -> Iterator[tuple[bytes, bytes]]:
    while True:
        kind = _exactly(source, 1)
        message = kind + _sized(source)
        yield kind, message
        if kind == b"Z":
            return

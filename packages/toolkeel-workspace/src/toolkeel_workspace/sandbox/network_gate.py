"""The one way out of a sandbox with a network: a proxy outside, which listens inside.

A command of a sandbox has a network of its own, in which there is nothing. Before it starts, a few
lines inside open a port on the loopback there and hand it out, by a pair of sockets they have
inherited; out here a proxy answers it (`toolkeel_workspace.sandbox.proxy`), which reaches what it may and
checks each address. So no service of this machine or of its network is reached, by whatever name.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from contextlib import suppress

from toolkeel_workspace.sandbox.proxy import Proxy
from toolkeel_workspace.sandbox.reachable_hosts import Reach

_PORT = 3128
_OPENING = """
import os, socket, sys
pair = socket.socket(fileno=int(sys.argv[1]))
port = socket.create_server(("127.0.0.1", int(sys.argv[2])), backlog=128)
socket.send_fds(pair, [b"."], [port.fileno()])
pair.close()
port.close()
try:
    os.execvp(sys.argv[3], sys.argv[3:])
except OSError as error:
    sys.exit(f"{sys.argv[3]}: {error.strerror}")
"""


class NetworkGate:
    """A proxy for one command; `close` ends it.

    Args:
        reach: What may be reached.
    """

    def __init__(self, reach: Reach) -> None:
        self._ours, theirs = socket.socketpair()
        self._theirs = theirs.detach()
        self._proxy = Proxy(reach)
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="toolkeel-gate", daemon=True)
        self._thread.start()

    def words(self, given: list[int]) -> list[str]:
        """What starts a command behind it, inside.

        Args:
            given: The descriptors that the command is given; the gate's is added.
        """
        given.append(self._theirs)
        return [sys.executable, "-I", "-S", "-c", _OPENING, str(self._theirs), str(_PORT)]

    def env(self) -> dict[str, str]:
        """The variables by which programs find it."""
        url = f"http://{self._proxy.user}:{self._proxy.password}@127.0.0.1:{_PORT}"
        names = ("http_proxy", "https_proxy", "all_proxy")
        return {
            **dict.fromkeys((*names, *map(str.upper, names)), url),
            **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1"),
            "NODE_USE_ENV_PROXY": "1",
        }

    def close(self) -> None:
        """End it, with all connections."""
        with suppress(OSError):
            self._ours.shutdown(socket.SHUT_RDWR)
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            with self._ours as ours, suppress(OSError):
                _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
                if descriptors:
                    self._loop.run_until_complete(self._serve(descriptors[0]))
        finally:
            self._loop.close()

    async def _serve(self, descriptor: int) -> None:
        with socket.socket(fileno=descriptor) as port:
            port.setblocking(False)
            async with self._proxy.at(port):
                await self._ended.wait()

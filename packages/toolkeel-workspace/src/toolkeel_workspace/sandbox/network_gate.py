"""The only way out of a sandbox with a network: a proxy outside that listens inside.

The command's network namespace is empty. Before the command starts, a few lines of Python inside open a
port on the loopback there and send the listening socket out over an inherited socket pair. Outside,
`toolkeel_workspace.sandbox.proxy` accepts on it and checks each address. So no service of this machine or of its
network can be reached, by whatever name.
"""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
from contextlib import suppress

from toolkeel_workspace.sandbox.proxy import Proxy
from toolkeel_workspace.sandbox.reachable_hosts import HostPolicy

_PORT = 3128
_LISTENER_CODE = """
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
    """A proxy for one command, in a thread of its own; `close` ends it.

    Args:
        policy: Which hosts may be connected to.
    """

    def __init__(self, policy: HostPolicy) -> None:
        self._socket, theirs = socket.socketpair()
        self._inner_fd = theirs.detach()
        self._proxy = Proxy(policy)
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="toolkeel-gate", daemon=True)
        self._thread.start()

    def make_argv(self, pass_fds: list[int]) -> list[str]:
        """Return the argv that opens the port inside and then executes the command.

        Args:
            pass_fds: The descriptors the command inherits; the gate's is appended.
        """
        pass_fds.append(self._inner_fd)
        return [sys.executable, "-I", "-S", "-c", _LISTENER_CODE, str(self._inner_fd), str(_PORT)]

    def make_env(self) -> dict[str, str]:
        """Return the variables that name the proxy to programs."""
        url = f"http://{self._proxy.user}:{self._proxy.password}@127.0.0.1:{_PORT}"
        names = ("http_proxy", "https_proxy", "all_proxy")
        return {
            **dict.fromkeys((*names, *map(str.upper, names)), url),
            **dict.fromkeys(("no_proxy", "NO_PROXY"), "localhost,127.0.0.1,::1"),
            "NODE_USE_ENV_PROXY": "1",
        }

    def close(self) -> None:
        """End the proxy and all its connections."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with suppress(RuntimeError):  # it has ended
            self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()

    def _run(self) -> None:
        try:
            with self._socket as ours, suppress(OSError):
                _, descriptors, _, _ = socket.recv_fds(ours, 1, 1)
                if descriptors:
                    self._loop.run_until_complete(self._serve(descriptors[0]))
        finally:
            self._loop.close()

    async def _serve(self, descriptor: int) -> None:
        with socket.socket(fileno=descriptor) as port:
            port.setblocking(False)
            async with self._proxy.use_socket(port):
                await self._ended.wait()

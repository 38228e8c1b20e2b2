"""Several processes that serve at one address, and are replaced one by one (HUP) without a lost call.

They listen on one socket that this process holds, so a connection that waits is taken by another
one when a worker goes.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess
from threading import Thread
from typing import TYPE_CHECKING

from uvicorn.supervisors import Multiprocess

from toolkeel.mcp.server.keep_alive import web_config

if TYPE_CHECKING:
    from starlette.applications import Starlette


def serve_in_workers(
    make: Callable[[], Starlette], host: str, port: int, drain: int, workers: int
) -> None:
    """Serve until told to end (TERM); replace the workers when told to (HUP).

    Args:
        make: Makes what is served, in a worker; it is sent there by its import path.
        host: Address to listen on.
        port: Port to listen on.
        drain: Seconds a worker waits for what is being answered, when it is told to end.
        workers: How many.
    """
    config = web_config(make, host, port, drain, workers=workers, timeout_worker_healthcheck=30)
    _Workers(config, sockets=[config.bind_socket()]).run()


class _Workers(Multiprocess):
    def terminate_all(self) -> None:
        """End them; who connects when they listen no more is refused, and waits for nobody."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()


def end_with_parent() -> None:
    """In a worker: be told to end when the process that started it is gone, however that died."""
    parent = parent_process()
    if parent is not None:
        Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)

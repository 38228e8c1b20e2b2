"""Several processes that serve at one address, replaced one by one (SIGHUP) without a lost call.

They listen on one socket that the parent process owns, so another worker accepts a pending connection
when one ends.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from multiprocessing import parent_process
from multiprocessing.process import BaseProcess
from tempfile import TemporaryDirectory
from threading import Thread
from typing import TYPE_CHECKING

from uvicorn.supervisors import Multiprocess

from toolkeel._common.prometheus_text import share_with_children
from toolkeel.mcp.server.keep_alive import web_config
from toolkeel_studio.cli.terminal.streams import YELLOW, note

if TYPE_CHECKING:
    from starlette.applications import Starlette


def serve_in_workers(
    make: Callable[[], Starlette], host: str, port: int, drain: int, workers: int
) -> None:
    """Serve until SIGTERM; replace the workers at SIGHUP.

    Args:
        make: Creates the application, in a worker; it is sent there by its import path.
        host: Address to listen on.
        port: Port to listen on.
        drain: Seconds that a worker waits for open requests when it is ending.
        workers: Number of workers.
    """
    config = web_config(make, host, port, drain, workers=workers, timeout_worker_healthcheck=30)
    with TemporaryDirectory(prefix="toolkeel-metrics-") as folder:
        share_with_children(folder)
        _Workers(config, sockets=[config.bind_socket()]).run()


class _Workers(Multiprocess):
    def terminate_all(self) -> None:
        """Terminate all workers; new connections are refused at once."""
        for listener in self.sockets:
            listener.close()
        super().terminate_all()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that have died, and say so."""
        before = list(self.processes)
        super().keep_subprocess_alive()
        for dead, new in zip(before, self.processes, strict=True):
            if new is not dead:
                now = datetime.now(UTC).isoformat(timespec="seconds")
                text = f"{now} WARNING the worker {dead.pid} died (exit code {dead.exitcode})"
                note(f"{text} and was replaced by {new.pid}", YELLOW)


def end_with_parent() -> None:
    """Terminate this worker when the process that started it has ended, however it ended."""
    parent = parent_process()
    if parent is not None:
        Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: BaseProcess) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)

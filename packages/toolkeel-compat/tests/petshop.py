"""A small service on loopback with an OpenAPI document, which tells what it was asked."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Pets", "version": "1"},
    "servers": [{"url": "http://{host}:1/v1", "variables": {"host": {"default": "127.0.0.1"}}}],
    "paths": {
        "/pets": {
            "parameters": [
                {"$ref": "#/components/parameters/Trace"},
                {"name": "limit", "in": "query", "schema": {"type": "string"}},
            ],
            "get": {
                "operationId": "listPets",
                "summary": "List pets.",
                "description": "The newest first.",
                "tags": ["read"],
                "parameters": [
                    {
                        "name": "limit",
                        "in": "query",
                        "description": "How many.",
                        "schema": {"type": "integer", "maximum": 100, "default": 10},
                    },
                    {"name": "tag", "in": "query", "schema": {"$ref": "#/components/schemas/Tags"}},
                    {
                        "name": "near",
                        "in": "query",
                        "style": "deepObject",
                        "schema": {"type": "object", "additionalProperties": {"type": "number"}},
                    },
                    {
                        "name": "api_key",
                        "in": "query",
                        "required": True,
                        "schema": {"type": "string"},
                    },
                    {"name": "Authorization", "in": "header", "schema": {"type": "string"}},
                    {"name": "session", "in": "cookie", "schema": {"type": "string"}},
                ],
            },
            "post": {
                "operationId": "addPet",
                "summary": "Add a pet.",
                "tags": ["write"],
                "requestBody": {
                    "required": True,
                    "description": "The pet.",
                    "content": {
                        "application/xml": {},
                        "application/json": {"schema": {"$ref": "#/components/schemas/Pet"}},
                    },
                },
            },
        },
        "/pets/{id}": {
            "get": {
                "tags": ["read"],
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}},
                    {"name": "id", "in": "query", "schema": {"type": "integer"}},
                ],
            },
            "delete": {
                "operationId": "dropPet",
                "parameters": [
                    {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}}
                ],
            },
        },
        "/form": {
            "post": {
                "operationId": "sendForm",
                "requestBody": {
                    "content": {
                        "application/x-www-form-urlencoded": {
                            "schema": {"type": "object", "properties": {"a": {"type": "string"}}}
                        }
                    }
                },
            }
        },
        "/upload": {
            "post": {
                "operationId": "upload",
                "requestBody": {
                    "content": {
                        "multipart/form-data": {
                            "schema": {"type": "object", "properties": {"file": {"type": "string"}}}
                        }
                    }
                },
            }
        },
        "/note": {
            "put": {"operationId": "note", "requestBody": {"content": {"text/markdown": {}}}}
        },
    },
    "components": {
        "parameters": {
            "Trace": {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
        },
        "schemas": {
            "Tags": {"type": "array", "items": {"type": "string"}},
            "Pet": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer", "readOnly": True},
                    "name": {"type": "string"},
                    "tags": {"$ref": "#/components/schemas/Tags"},
                    "parent": {"$ref": "#/components/schemas/Pet"},
                },
                "required": ["id", "name"],
            },
            "Unused": {"type": "string"},
        },
    },
}


class Petshop:
    """The server, running while the block runs; its address is what the block gets."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._thread = Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    def _answer(self) -> None:
        split = urlsplit(self.path)
        size = int(self.headers.get("Content-Length") or 0)
        seen = {
            "method": self.command,
            "raw": split.path,
            "path": unquote(split.path),
            "query": parse_qsl(split.query, keep_blank_values=True),
            "headers": {key.lower(): value for key, value in self.headers.items()},
            "body": self.rfile.read(size).decode(),
        }
        status, kind, data = _reply(seen)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if status == 302:
            self.send_header("Location", "http://127.0.0.1:1/elsewhere")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


def _reply(seen: dict[str, Any]) -> tuple[int, str, bytes]:
    """What the path of a pet asks for, or what was seen."""
    special = {
        "/v1/pets/gone": (404, "application/json", '{"错误":"没有"}'.encode()),
        "/v1/pets/empty": (204, "text/plain", b""),
        "/v1/pets/moved": (302, "text/plain", b""),
        "/v1/pets/picture": (200, "image/png", b"\x89PNG\r\n\x1a\n..."),
        "/v1/pets/poem": (200, "text/plain; charset=gb18030", "春眠不觉晓".encode("gb18030")),
        "/v1/pets/broken": (200, "application/json", b"{oops"),
        "/v1/pets/huge": (200, "text/plain", b"x" * 3_000_000),
    }
    seen_reply = (200, "application/json", json.dumps(seen, ensure_ascii=False).encode())
    return special.get(seen["path"], seen_reply)

"""Requests with a login: side by side, refreshed where the login came from, and never the browser first."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import httpx2
import pytest

from toolkeel.mcp.client.oauth.login import OAuth, resolve_auth
from toolkeel.mcp.config import ServerConfig


class Server(ThreadingHTTPServer):
    """A server that wants a token, and where it is refreshed: two of these.

    Attributes:
        token: The one that is good.
        posted: Bodies sent to ``/token``.
        together: Waited for by each answer, if it is set.
    """

    token = "good"
    together: threading.Barrier | None = None

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.posted: list[dict[str, list[str]]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"] or 0)).decode()
        if self.path == "/token":
            self.server.posted.append(parse_qs(body))
            said = {"access_token": "good", "token_type": "Bearer", "expires_in": 60}
            self.answer(200, said)
        elif self.headers["authorization"] != f"Bearer {self.server.token}":
            self.answer(401, {})
        else:
            if self.server.together is not None:
                self.server.together.wait(30)
            self.answer(200, {"ok": True})

    def do_GET(self) -> None:
        self.answer(404, {})

    def answer(self, status: int, said: object) -> None:
        data = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def resource() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def issuer() -> Iterator[Server]:
    with serving() as server:
        yield server


def login(path: Path, resource: Server, issuer: Server | None, **tokens: Any) -> httpx2.Auth:
    """What a process finds that begins after somebody has logged in."""
    kept: dict[str, Any] = {
        "tokens": {"token_type": "Bearer", "refresh_token": "again", **tokens},
        "client": {"client_id": "c", "redirect_uris": ["http://127.0.0.1:1/callback"]},
        "expires": tokens.pop("expires", None),
    }
    if issuer is not None:
        kept["server"] = {
            "issuer": issuer.url,
            "authorization_endpoint": f"{issuer.url}/authorize",
            "token_endpoint": f"{issuer.url}/token",
        }
    path.write_text(json.dumps(kept))

    async def visit(url: str) -> str:
        raise AssertionError("nobody shall be sent to the browser")

    found = resolve_auth(
        OAuth(tokens=path, visit=visit), ServerConfig("s", url=resource.url, kind="http")
    )
    assert found is not None
    return found


async def post(auth: httpx2.Auth, url: str, times: int = 1) -> list[int]:
    async with httpx2.AsyncClient(auth=auth, timeout=60) as client:
        answers = await asyncio.gather(*(client.post(f"{url}/mcp") for _ in range(times)))
        return [answer.status_code for answer in answers]


def test_requests_of_one_login_are_on_their_way_together(
    tmp_path: Path, resource: Server, issuer: Server
) -> None:
    resource.together = threading.Barrier(4)
    auth = login(tmp_path / "login.json", resource, issuer, access_token="good")
    assert asyncio.run(post(auth, resource.url, 4)) == [200] * 4


@pytest.mark.parametrize("expires", [1.0, None])
def test_a_token_is_refreshed_where_it_came_from_and_nowhere_else(
    tmp_path: Path, resource: Server, issuer: Server, expires: float | None
) -> None:
    """Expired since the last process, or refused although nobody knew of an end."""
    path = tmp_path / "login.json"
    auth = login(path, resource, issuer, access_token="old", expires=expires)
    assert asyncio.run(post(auth, resource.url, 3)) == [200] * 3
    assert resource.posted == []
    assert [body["refresh_token"] for body in issuer.posted] == [["again"]]
    assert json.loads(path.read_text())["tokens"]["access_token"] == "good"


def test_a_refresh_token_is_sent_nowhere_if_nobody_knows_where_it_belongs(
    tmp_path: Path, resource: Server
) -> None:
    auth = login(tmp_path / "login.json", resource, None, access_token="old", expires=1.0)
    with suppress(Exception):  # however the login ends, as nobody is there to log in
        asyncio.run(post(auth, resource.url))
    assert not [body for body in resource.posted if "refresh_token" in body]

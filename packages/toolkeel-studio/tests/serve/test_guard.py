"""Requests of strangers, other pages and other hosts reach no route."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from tests.serve.serving import serve
from toolkeel_studio.serve.app import _too_large
from toolkeel_studio.serve.guard import LOCAL, BodyTooLarge, Guard


async def echo(request: Request) -> JSONResponse:
    """Answer with the length of the body."""
    return JSONResponse(len(await request.body()))


def guarded(**options: object) -> Guard:
    """Protect a route."""
    inner = Starlette(
        routes=[Route("/", echo, methods=["GET", "POST"])],
        exception_handlers={BodyTooLarge: _too_large},
    )
    return Guard(inner, max_body=100, **options)  # type: ignore[arg-type]


JSON = {"content-type": "application/json"}


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (JSON, 200),
        ({**JSON, "content-type": "application/json; charset=utf-8"}, 200),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-type": "multipart/form-data; boundary=x"}, 415),
        ({**JSON, "host": "evil.example"}, 421),
        ({**JSON, "host": "evil.example:80"}, 421),
        ({**JSON, "host": "127.0.0.1.evil.example"}, 421),
        ({**JSON, "host": "localhost:1"}, 200),
        ({**JSON, "host": "[::1]:1", "origin": "http://[::1]:1"}, 200),
        ({**JSON, "host": "1:80"}, 421),
        ({**JSON, "host": "a.page.example.org"}, 200),
        ({**JSON, "host": "page.example.org.evil.example"}, 421),
        ({**JSON, "host": "chat.example.org"}, 200),
        ({**JSON, "origin": "https://evil.example"}, 403),
        ({**JSON, "origin": "null"}, 403),
        ({**JSON, "origin": "http://[evil"}, 403),
        ({**JSON, "origin": "https://127.0.0.1.evil.example"}, 403),
        ({**JSON, "origin": "http://localhost:3000"}, 200),
        ({**JSON, "origin": "https://page.example.org"}, 200),
        ({**JSON, "origin": "http://page.example.org"}, 403),
    ],
)
def test_host_origin_and_kind_of_the_body(headers: dict[str, str], status: int) -> None:
    async def use() -> None:
        own = guarded(
            hosts=(*LOCAL, "chat.example.org", "*.page.example.org"),
            origins=("https://page.example.org",),
        )
        async with serve(own) as client:
            answered = await client.post("/", content=b"{}", headers=headers)
            assert answered.status_code == status

    asyncio.run(use())


def test_without_the_token_nobody_gets_in() -> None:
    async def use() -> None:
        async with serve(guarded(token="secret")) as client:
            for header in ("", "Bearer", "Bearer x", "Basic secret", "Bearer secret2", "secret"):
                sent = {"authorization": header} if header else {}
                assert (await client.get("/", headers=sent)).status_code == 401
            answered = await client.get("/", headers={"authorization": "bearer secret"})
            assert answered.status_code == 200

    asyncio.run(use())


def test_a_body_that_is_too_long_is_refused_whether_or_not_it_names_its_length() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b"x" * 10

    async def use() -> None:
        async with serve(guarded()) as client:
            named = await client.post("/", content=b"x" * 101, headers=JSON)
            unnamed = await client.post("/", content=pieces(), headers=JSON)
            fits = await client.post("/", content=b"x" * 100, headers=JSON)
        assert (named.status_code, unnamed.status_code, fits.status_code) == (413, 413, 200)

    asyncio.run(use())

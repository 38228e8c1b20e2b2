"""Services that the program named: however large, broken or late, the answer is bounded."""

from __future__ import annotations

import asyncio
import gzip

import pytest

from tests.builtin.webserver import Answer, Asked, Write, always, redirect, response, serving
from toolkeel.errors import ToolError
from toolkeel_workspace.web.service import MAX_RESPONSE_BYTES, is_local, parse_json, send_request


def ask(answer: Answer, most: int = 1000) -> tuple[tuple[int, bytes], Asked]:
    async def go() -> tuple[tuple[int, bytes], Asked]:
        async with serving(answer) as server:
            got = await send_request(
                "It", "POST", server.url, 5, max_bytes=most, headers={"X-Key": "k"}
            )
            return got, server.asked[0]

    return asyncio.run(go())


def test_an_answer_comes_with_its_status_also_compressed() -> None:
    got, asked = ask(always(response("oops", status="500 No")))
    assert got == (500, b"oops")
    assert (asked.headers["x-key"], asked.headers["accept-encoding"]) == ("k", "gzip")
    squeezed = response(gzip.compress(b"x" * 999), Content_Encoding="gzip")
    assert ask(always(squeezed))[0] == (200, b"x" * 999)


async def without_end(asked: Asked, write: Write) -> None:
    await write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        await write(b"x" * 1000)


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (without_end, "more than 1,000 bytes"),
        (always(response(gzip.compress(b"x" * 2000), Content_Encoding="gzip")), "more than 1,000"),
        (always(response(b"x", Content_Encoding="br")), "which was not asked for"),
        (always(b"nonsense\r\n\r\n"), r"It cannot be reached \(RemoteProtocolError\)"),
    ],
)
def test_what_is_too_large_or_broken_is_told(answer: Answer, told: str) -> None:
    with pytest.raises(ToolError, match=told):
        ask(answer)


def test_a_bomb_is_refused_by_how_far_it_swells() -> None:
    bomb = gzip.compress(b"\0" * 3_000_000)
    with pytest.raises(ToolError, match="swells"):
        ask(always(response(bomb, Content_Encoding="gzip")), MAX_RESPONSE_BYTES)


def test_no_redirect_is_followed() -> None:
    assert ask(redirect("http://127.0.0.1:9/"))[0] == (302, b"")


def test_a_service_that_says_nothing_is_given_up() -> None:
    async def silent(asked: Asked, write: Write) -> None:
        await asyncio.sleep(60)

    async def go() -> None:
        async with serving(silent) as server:
            await send_request("It", "GET", server.url, 0.1)

    with pytest.raises(ToolError, match="It did not answer in time"):
        asyncio.run(go())


@pytest.mark.parametrize("body", [b"<html>", b"\xff", b"[" * 5000])
def test_what_is_no_json_is_told_however_deep(body: bytes) -> None:
    assert parse_json("It", b'{"a": 1}') == {"a": 1}
    with pytest.raises(ToolError, match="It did not send JSON"):
        parse_json("It", body)


def test_no_proxy_of_the_environment_is_asked_for_what_is_on_this_machine() -> None:
    assert (
        is_local("http://127.0.0.1:1/x")
        and is_local("http://[::1]")
        and is_local("http://localhost")
    )
    assert not is_local("https://example.org") and not is_local("http://localhost.example.org")

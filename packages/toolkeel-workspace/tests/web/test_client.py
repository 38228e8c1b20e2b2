"""Pages from a real server: pinned, bounded, and with credentials for one origin (T17, T19-T21)."""

from __future__ import annotations

import asyncio
import gzip
import resource
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from tests.builtin.webserver import Asked, WebServer, Write, always, redirect, response, serving
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.sandbox.reachable_hosts import HostPolicy
from toolkeel_workspace.web.bounded_decompression import BodyTooLarge
from toolkeel_workspace.web.client import Page, WebClient, WebLimits, parse_url

T = TypeVar("T")


def run(
    answer: Callable[[Asked, Write], Awaitable[None]], use: Callable[[WebServer], Awaitable[T]]
) -> T:
    async def go() -> T:
        async with serving(answer) as server:
            return await use(server)

    return asyncio.run(go())


def client(server: WebServer, *more: str, **options: object) -> WebClient:
    return WebClient(HostPolicy([server.place, *more]), **options)  # type: ignore[arg-type]


def test_a_page_comes_with_its_type_and_where_it_was() -> None:
    async def use(server: WebServer) -> Page:
        seen: list[int] = []
        page = await client(server).get(f"{server.url}/a?b=1#c", seen.append)
        assert seen[-1] == len(page.body)
        assert server.asked[0].path == "/a?b=1"
        assert server.asked[0].headers["host"] == server.place
        assert server.asked[0].headers["accept-encoding"] == "identity"
        return page

    page = run(always(response("<p>北京", "Text/HTML; charset=UTF-8")), use)
    assert (page.status, page.media_type, page.charset) == (200, "text/html", "UTF-8")
    assert page.body.decode() == "<p>北京"


def test_a_host_is_resolved_once_and_the_checked_address_is_the_one_connected_to() -> None:
    """A resolver that answers public first and loopback then finds nobody asking twice."""
    asked: list[str] = []

    async def use(server: WebServer) -> None:
        async def rebinding(host: str, port: int) -> Sequence[str]:
            asked.append(host)
            return ["192.0.2.1"] if len(asked) == 1 else ["127.0.0.1"]

        limits = WebLimits(connect_seconds=0.5, total_seconds=3)
        reach = HostPolicy(["192.0.2.0/24"], ports=[server.port], resolve=rebinding)
        with pytest.raises(ToolError, match=r"cannot be reached|did not answer|took longer"):
            await WebClient(reach, limits).get(f"http://rebind.example:{server.port}/")
        assert server.connections == 0
        with pytest.raises(ToolError, match=r"127\.0\.0\.1, which is not on the public"):
            await WebClient(reach, limits).get(f"http://rebind.example:{server.port}/")
        assert server.connections == 0

    run(always(response("secret")), use)
    assert asked == ["rebind.example", "rebind.example"]


@pytest.mark.parametrize(
    "place",
    [
        "127.1",
        "0x7f000001",
        "2130706433",
        "[::ffff:127.0.0.1]",
        "localhost",
        "0.0.0.0",
        "169.254.169.254",
        "[::1]",
        "0177.0.0.1",
        "[2002:7f00:1::]",
        "[64:ff9b::7f00:1]",
        "①②⑦.⓪.⓪.①",
    ],
)
def test_a_redirect_to_a_place_that_is_not_public_is_refused_and_never_connected_to(
    place: str,
) -> None:
    async def use(inner: WebServer) -> None:
        target = f"http://{place}:{inner.port}/secret"
        async with serving(redirect(target)) as outer:
            reach = HostPolicy([outer.place], ports=[inner.port])
            with pytest.raises(ToolError):
                await WebClient(reach).get(outer.url)
            with pytest.raises(ToolError):
                await WebClient(reach).get(target)
        assert (len(outer.asked), inner.connections) == (1, 0)

    run(always(response("secret")), use)


def test_the_name_that_is_looked_up_is_the_one_that_the_server_is_sent() -> None:
    """To the system ``straße.example`` is ``strasse.example``, somebody else's host."""
    asked = []

    async def resolve(host: str, port: int) -> list[str]:
        asked.append(host)
        return []

    reach = HostPolicy(only=["straße.example"], resolve=resolve)
    with pytest.raises(ToolError, match="no address"):
        asyncio.run(WebClient(reach).get("http://straße.example/"))
    assert asked == ["xn--strae-oqa.example"]


@pytest.mark.parametrize(
    "target", ["file:///etc/passwd", "ftp://x/", "gopher://x", "http://u:p@h/", "data:,x"]
)
def test_a_redirect_to_another_scheme_is_refused(target: str) -> None:
    async def use(server: WebServer) -> None:
        with pytest.raises(ToolError, match="redirects to a place that is refused"):
            await client(server).get(server.url)

    run(redirect(target), use)


def test_redirects_are_followed_and_counted() -> None:
    async def answer(asked: Asked, write: Write) -> None:
        left = int(asked.path.strip("/"))
        moved = response(status="307 Temporary Redirect", location=f"/{left - 1}")
        await write(moved if left else response("here"))

    async def use(server: WebServer) -> Page:
        with pytest.raises(ToolError, match="redirects more than 5 times"):
            await client(server).get(f"{server.url}/6")
        return await client(server).get(f"{server.url}/3")

    page = run(answer, use)
    assert (page.body, len(page.hops)) == (b"here", 4)


def test_a_credential_goes_to_its_origin_and_no_further() -> None:
    async def use(second: WebServer) -> None:
        async with serving(redirect(f"{second.url}/stolen")) as first:
            getter = WebClient(
                HostPolicy([first.place, second.place]), auth={first.url: "Bearer canary"}
            )
            await getter.get(first.url)
        assert first.asked[0].headers["authorization"] == "Bearer canary"
        assert "authorization" not in second.asked[0].headers

    run(always(response("thanks")), use)


def test_no_cookie_of_one_answer_goes_into_the_next_request() -> None:
    async def answer(asked: Asked, write: Write) -> None:
        moved = response(status="302 Found", location="/b", set_cookie="session=1; Path=/")
        await write(moved if asked.path == "/a" else response("b"))

    async def use(server: WebServer) -> None:
        await client(server).get(f"{server.url}/a")
        assert "cookie" not in server.asked[1].headers

    run(answer, use)


def test_nothing_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")

    async def use(server: WebServer) -> Page:
        return await client(server).get(server.url)

    assert run(always(response("direct")), use).body == b"direct"


@pytest.mark.parametrize("name", ["Authorization", "cookie", "Host"])
def test_a_header_that_would_go_everywhere_may_carry_no_credential(name: str) -> None:
    with pytest.raises(SetupError, match="would go to every host"):
        WebClient(headers={name: "x"})


@pytest.mark.parametrize("place", ["example.org", "http://example.org", "https://example.org/path"])
def test_a_credential_needs_an_origin_and_https(place: str) -> None:
    with pytest.raises(SetupError, match="auth="):
        WebClient(auth={place: "Bearer x"})


def memory() -> int:
    """The most memory this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def bomb(size: int) -> bytes:
    """Gzip of `size` zeros, made a member at a time so that the test itself stays small."""
    return gzip.compress(bytes(1 << 20)) * (size >> 20)


def test_a_gzip_bomb_is_refused_and_costs_no_memory() -> None:
    data = bomb(1 << 30)
    assert len(data) < 2 << 20

    async def use(server: WebServer) -> None:
        large = WebLimits(max_bytes=1 << 40)
        with pytest.raises(ToolError, match="swells more than"):
            await client(server, limits=large).get(server.url)
        with pytest.raises(BodyTooLarge):
            await client(server, limits=WebLimits(max_bytes=500_000)).get(server.url)

    before = memory()
    run(always(response(data, content_encoding="gzip")), use)
    assert memory() - before < 20 << 20


def test_a_body_is_refused_by_the_size_it_announces_and_by_the_size_it_has() -> None:
    async def endless(asked: Asked, write: Write) -> None:
        await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        while True:
            await write(b"x" * 65536)

    async def use(server: WebServer) -> None:
        with pytest.raises(BodyTooLarge):
            await client(server, limits=WebLimits(max_bytes=100_000)).get(server.url)

    run(endless, use)
    run(always(response(b"x" * 200_000)), use)


def test_a_server_that_drips_ends_at_the_deadline() -> None:
    async def drip(asked: Asked, write: Write) -> None:
        await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: ")
        while True:
            await write(b"x")
            await asyncio.sleep(0.05)

    async def use(server: WebServer) -> None:
        begin = time.monotonic()
        with pytest.raises(ToolError, match=r"took longer than 0\.5 seconds; it was stopped"):
            await client(server, limits=WebLimits(total_seconds=0.5)).get(server.url)
        assert time.monotonic() - begin < 15

    run(drip, use)


@pytest.mark.parametrize("head", [b"", b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nabc"])
def test_a_server_that_falls_silent_is_left(head: bytes) -> None:
    async def silent(asked: Asked, write: Write) -> None:
        await write(head)
        await asyncio.sleep(30)

    async def use(server: WebServer) -> None:
        with pytest.raises(ToolError, match=r"did not answer in time|stopped sending"):
            await client(server, limits=WebLimits(idle_seconds=0.3, total_seconds=20)).get(
                server.url
            )

    run(silent, use)


def test_an_answer_that_breaks_off_or_is_none_is_told() -> None:
    async def use(server: WebServer) -> None:
        with pytest.raises(ToolError, match="broke off"):
            await client(server).get(server.url)

    run(always(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort"), use)
    run(always(b"this is no HTTP\r\n\r\n"), use)


def test_the_next_address_is_tried_if_one_cannot_be_connected_to() -> None:
    async def use(server: WebServer) -> Page:
        async def both(host: str, port: int) -> Sequence[str]:
            return ["127.0.0.2", "127.0.0.1"]

        reach = HostPolicy([f"two.example:{server.port}"], resolve=both)
        page = await WebClient(reach).get(f"http://two.example:{server.port}/")
        assert server.asked[0].headers["host"] == f"two.example:{server.port}"
        return page

    assert run(always(response("second")), use).body == b"second"


@pytest.mark.parametrize(
    "text",
    ["", "example.org", "http://", "javascript:alert(1)", "http://[::1", "http://:@`", "http://:@example.org", "http://ada@example.org", "x" * 3000]
)  # fmt: skip
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(ToolError):
        parse_url(text)

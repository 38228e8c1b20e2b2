"""Getting a page that the model named, from nowhere it must not reach.

Every hop of a redirect is a request of its own: its host is resolved and checked (`engines/reachable_hosts.py`),
the connection goes to the address that was checked, and the certificate must still be the host's.
No cookie, no proxy and no credential of the environment is used; a credential of the program's
goes to the one origin it is for. The body is read piece by piece, under a limit of bytes, of how
far it may swell, and of time.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from toolkeel._common.checked_arguments import checked
from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.record import NOTHING, record
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.sandbox.reachable_hosts import Reach
from toolkeel_workspace.web.bounded_decompression import Inflater, TooLarge

with needs_extra("toolkeel_workspace.web.fetch", "web"):
    import httpx2

MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_URL = 2000
"""Longest address, in characters; a longer one is a message, not an address."""
AGENT = "toolkeel (a tool of a language model)"

_BOUND = frozenset({"authorization", "cookie", "proxy-authorization", "host"})


@checked
@record
class WebLimits:
    """How much a page may cost.

    Args:
        bytes: Most bytes of the body, decompressed.
        connect: Seconds to connect.
        idle: Seconds between two pieces, and until the first.
        total: Seconds for everything, redirects included.
    """

    bytes: int = 5 * 1024 * 1024
    connect: float = 5.0
    idle: float = 10.0
    total: float = 25.0


@record
class Page:
    """What came back.

    Args:
        url: Where it was at last.
        status: The HTTP status.
        media_type: Without parameters, in lower case; empty if the server did not say.
        charset: What the server called its encoding; empty if it did not.
        body: The bytes, decompressed.
        hops: Every address that was asked, in order.
        headers: The answer's, by lower-case name.
    """

    url: str
    status: int
    media_type: str
    charset: str
    body: bytes
    hops: tuple[str, ...] = ()
    headers: Mapping[str, str] = NOTHING  # type: ignore[assignment]


class WebClient:
    """Gets pages.

    Args:
        reach: What may be reached.
        limits: How much a page may cost.
        auth: Value of the header ``Authorization`` by origin, such as
            ``{"https://api.example.org": "Bearer ..."}``. It is sent there and nowhere else,
            whatever redirects to where.
        headers: Further headers of every request; none that names the one who asks.
        verify: What certificates are checked with; an `ssl.SSLContext` of your own, or the
            system's.

    Raises:
        SetupError: if a header could carry a credential everywhere, or an origin is none.
    """

    def __init__(
        self,
        reach: Reach | None = None,
        limits: WebLimits | None = None,
        auth: Mapping[str, str] = NOTHING,  # type: ignore[assignment]
        headers: Mapping[str, str] = NOTHING,  # type: ignore[assignment]
        verify: Any = True,
    ) -> None:
        self._reach = reach or Reach()
        self.limits = limits or WebLimits()
        if loose := [name for name in headers if name.lower() in _BOUND]:
            raise SetupError(
                f"headers={{{loose[0]!r}: ...}} would go to every host; give it as "
                "auth={'https://host': value}"
            )
        self._headers = {"user-agent": AGENT, "accept": "*/*", **_lower(headers)}
        self._auth = {_auth_origin(place): value for place, value in auth.items()}
        self._verify = verify

    async def get(
        self,
        url: str,
        on_bytes: Callable[[int], object] | None = None,
        on_hop: Callable[[str], object] | None = None,
    ) -> Page:
        """The page at an address, wherever it redirects to.

        Args:
            url: An ``http`` or ``https`` address.
            on_bytes: Told how many bytes there are, as they come.
            on_hop: Told of each address a redirect leads to, before it is asked; may refuse it.

        Raises:
            ToolError: saying why there is no page: refused, not found, too large, too slow.
        """
        try:
            async with asyncio.timeout(self.limits.total):
                return await self._follow(url, on_bytes, on_hop)
        except TimeoutError:
            raise ToolError(
                f"{_shown(url)} took longer than {self.limits.total:g} seconds; it was stopped."
            ) from None

    async def _follow(
        self,
        url: str,
        on_bytes: Callable[[int], object] | None,
        on_hop: Callable[[str], object] | None,
    ) -> Page:
        hops: list[str] = []
        target = parse_url(url)
        while True:
            hops.append(str(target))
            async with self._fetch(target) as response:
                if response.status_code not in REDIRECTS or "location" not in response.headers:
                    return await self._read(response, target, hops, on_bytes)
                location = response.headers["location"]
            if len(hops) > MAX_REDIRECTS:
                raise ToolError(f"{_shown(url)} redirects more than {MAX_REDIRECTS} times.")
            try:
                target = parse_url(str(target.join(location)))
                if on_hop is not None:
                    on_hop(str(target))
            except (ToolError, httpx2.InvalidURL) as error:
                text = f"{_shown(url)} redirects to a place that is refused. {error}"
                raise ToolError(text) from None

    @asynccontextmanager
    async def _fetch(self, url: httpx2.URL) -> AsyncIterator[httpx2.Response]:
        """The answer of one hop, from the first of its addresses that can be connected to."""
        host, port = url.host, url.port or {"http": 80, "https": 443}[url.scheme]
        addresses = await self._reach.addresses(host, port, url.raw_host.decode())
        transport = httpx2.AsyncHTTPTransport(verify=self._verify, trust_env=False)
        async with transport:
            response = await self._connected(transport, url, addresses)
            try:
                yield response
            except httpx2.TimeoutException:
                raise ToolError(f"{_shown(str(url))} stopped sending.") from None
            except httpx2.HTTPError as error:
                raise ToolError(f"{_shown(str(url))} broke off ({error}).") from None
            finally:
                await response.aclose()

    async def _connected(
        self, transport: httpx2.AsyncHTTPTransport, url: httpx2.URL, addresses: list[str]
    ) -> httpx2.Response:
        problem: Exception | None = None
        for address in addresses:
            try:
                return await transport.handle_async_request(self._request(url, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                problem = error
            except httpx2.TimeoutException:
                raise ToolError(f"{_shown(str(url))} did not answer in time.") from None
            except httpx2.HTTPError as error:
                raise ToolError(f"{_shown(str(url))} broke off ({error}).") from None
        said = str(problem) or type(problem).__name__
        raise ToolError(f"{_shown(str(url))} cannot be reached ({said}).")

    def _request(self, url: httpx2.URL, address: str) -> httpx2.Request:
        """The request, at an address instead of a name; who is asked stays what it was."""
        limits = self.limits
        wait = {"connect": limits.connect, "read": limits.idle}
        headers = {"host": url.netloc.decode(), "accept-encoding": "identity", **self._headers}
        credential = self._auth.get(origin_of(url))
        if credential is not None:
            headers["authorization"] = credential
        return httpx2.Request(
            "GET",
            url.copy_with(host=address, username=None, password=None, fragment=None),
            headers=headers,
            extensions={
                "timeout": {**wait, "write": limits.idle, "pool": limits.connect},
                "sni_hostname": url.raw_host.decode(),
            },
        )

    async def _read(
        self,
        response: httpx2.Response,
        url: httpx2.URL,
        hops: list[str],
        on_bytes: Callable[[int], object] | None,
    ) -> Page:
        limit = self.limits.bytes
        announced = response.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > limit:
            raise TooLarge(limit)
        inflater = Inflater(response.headers.get("content-encoding", ""), limit)
        body = bytearray()
        async for data in response.aiter_raw():
            for piece in inflater.feed(data):
                body += piece
            if on_bytes is not None:
                on_bytes(len(body))
        kind = response.headers.get("content-type", "")
        charset = re.search(r"charset\s*=\s*[\"']?([\w.:-]+)", kind, re.IGNORECASE)
        return Page(
            str(url),
            response.status_code,
            kind.partition(";")[0].strip().lower(),
            charset[1] if charset else "",
            bytes(body),
            tuple(hops),
            dict(response.headers),
        )


def parse_url(text: str) -> httpx2.URL:
    """An address that may be asked for.

    Raises:
        ToolError: if it is none.

    >>> parse_url("ftp://example.org")
    Traceback (most recent call last):
    ...
    toolkeel.errors.ToolError: 'ftp://example.org' is no http or https address.
    """
    text = text.strip()
    if len(text) > MAX_URL:
        raise ToolError(f"The address has {len(text)} characters; at most {MAX_URL} are sent.")
    try:
        url = httpx2.URL(text)
        host, who = url.host, url.userinfo
    except (httpx2.InvalidURL, ValueError, TypeError) as error:
        raise ToolError(f"{_shown(text)} is no address ({error}).") from None
    if url.scheme not in ("http", "https") or not host:
        raise ToolError(f"{_shown(text)} is no http or https address.")
    if who:  # also ":" alone, a name and a password that are empty
        raise ToolError(f"{_shown(url.host)}: an address with a name or password is not used.")
    return url


def origin_of(url: httpx2.URL) -> tuple[str, str, int]:
    """Scheme, host and port (RFC 6454)."""
    return url.scheme, url.host.lower(), url.port or {"http": 80, "https": 443}.get(url.scheme, 0)


def _auth_origin(place: str) -> tuple[str, str, int]:
    try:
        url = httpx2.URL(place)
    except (httpx2.InvalidURL, TypeError):
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.path not in ("", "/"):
        raise SetupError(f"auth={{{place!r}: ...}}: give an origin, such as 'https://example.org'")
    if url.scheme == "http" and not _is_loopback(url.host):
        raise SetupError(f"auth={{{place!r}: ...}}: a credential is sent over https only")
    return origin_of(url)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _lower(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _shown(url: str) -> str:
    return repr(url if len(url) <= 200 else url[:200] + "…")

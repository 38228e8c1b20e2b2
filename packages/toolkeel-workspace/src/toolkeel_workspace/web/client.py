"""An HTTP client for pages that the model names. It connects only to allowed hosts.

Every redirect is a new request: its host is resolved and checked (`toolkeel_workspace.sandbox.reachable_hosts`), the
connection goes to the checked address, and the certificate must match the host. No cookie, proxy or
credential of the environment is used; a credential of the program is sent to its origin only. The body
is read in pieces, with limits on bytes, compression ratio and time.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from toolkeel._common.checked_arguments import checked
from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.record import NOTHING, record
from toolkeel._records.taint_sources import UNREAD
from toolkeel.errors import SetupError, ToolError
from toolkeel_workspace.sandbox.reachable_hosts import HostPolicy
from toolkeel_workspace.web.bounded_decompression import BodyTooLarge, Decompressor

with needs_extra("toolkeel_workspace.web.fetch", "web"):
    import httpx2

MAX_REDIRECTS = 5
REDIRECTS = frozenset({301, 302, 303, 307, 308})
MAX_URL_CHARS = 2000
"""Longest address, in characters; a longer one is a message, not an address."""
USER_AGENT = "toolkeel (a tool of a language model)"

_CREDENTIAL_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization", "host"})


@checked
@record
class WebLimits:
    """Limits on fetching a page.

    Args:
        max_bytes: Bytes of the body, decompressed.
        connect_seconds: To connect.
        idle_seconds: Between two pieces, and until the first.
        total_seconds: For everything, redirects included.
    """

    max_bytes: int = 5 * 1024 * 1024
    connect_seconds: float = 5.0
    idle_seconds: float = 10.0
    total_seconds: float = 25.0


@record
class Page:
    """A fetched page.

    Args:
        url: The final address.
        status: The HTTP status.
        media_type: Without parameters, in lower case; empty if the server sent none.
        charset: The encoding the server declared; empty if none.
        body: The bytes, decompressed.
        hops: All requested addresses, in order.
        headers: The response's headers, by lower-case name.
    """

    url: str
    status: int
    media_type: str
    charset: str
    body: bytes
    hops: tuple[str, ...] = ()
    headers: Mapping[str, str] = NOTHING  # type: ignore[assignment]


class WebClient:
    """Fetches pages.

    Args:
        policy: Which hosts may be connected to.
        limits: Limits on a page.
        auth: Value of the header ``Authorization`` by origin, such as
            ``{"https://api.example.org": "Bearer ..."}``. It is sent to that origin only, also after
            redirects.
        headers: Further headers of every request, without credentials.
        verify: What certificates are checked with; an `ssl.SSLContext` of your own, or the
            system's.

    Raises:
        SetupError: if a header could send a credential everywhere, or an origin is invalid.
    """

    def __init__(
        self,
        policy: HostPolicy | None = None,
        limits: WebLimits | None = None,
        auth: Mapping[str, str] = NOTHING,  # type: ignore[assignment]
        headers: Mapping[str, str] = NOTHING,  # type: ignore[assignment]
        verify: Any = True,
    ) -> None:
        self._policy = policy or HostPolicy()
        self.limits = limits or WebLimits()
        if loose := [name for name in headers if name.lower() in _CREDENTIAL_HEADERS]:
            raise SetupError(
                f"headers={{{loose[0]!r}: ...}} would go to every host; give it as "
                "auth={'https://host': value}"
            )
        self._headers = {"user-agent": USER_AGENT, "accept": "*/*", **_lower_names(headers)}
        self._auth = {_parse_auth_origin(place): value for place, value in auth.items()}
        self._verify = verify

    async def get(
        self,
        url: str,
        on_bytes: Callable[[int], object] | None = None,
        on_hop: Callable[[str], object] | None = None,
    ) -> Page:
        """Fetch the page at an address, following redirects.

        Args:
            url: An ``http`` or ``https`` address.
            on_bytes: Called with the number of bytes so far.
            on_hop: Called with the target of each redirect before it is requested; may refuse it.

        Raises:
            ToolError: saying why there is no page: refused, not found, too large, too slow.
        """
        try:
            async with asyncio.timeout(self.limits.total_seconds):
                return await self._follow(url, on_bytes, on_hop)
        except TimeoutError:
            raise ToolError(
                f"{_quote_url(url)} took longer than {self.limits.total_seconds:g} seconds; it was stopped."
            ) from None

    async def _follow(
        self,
        url: str,
        on_bytes: Callable[[int], object] | None,
        on_hop: Callable[[str], object] | None,
    ) -> Page:
        hops: list[str] = []
        with _before_reading(True):
            target = parse_url(url)
        while True:
            hops.append(str(target))
            async with self._fetch(target, len(hops) == 1) as response:
                if response.status_code not in REDIRECTS or "location" not in response.headers:
                    return await self._read(response, target, hops, on_bytes)
                location = response.headers["location"]
            if len(hops) > MAX_REDIRECTS:
                raise ToolError(f"{_quote_url(url)} redirects more than {MAX_REDIRECTS} times.")
            try:
                target = parse_url(str(target.join(location)))
                if on_hop is not None:
                    on_hop(str(target))
            except (ToolError, httpx2.InvalidURL) as error:
                text = f"{_quote_url(url)} redirects to a place that is refused. {error}"
                raise ToolError(text) from None

    @asynccontextmanager
    async def _fetch(self, url: httpx2.URL, is_first: bool) -> AsyncIterator[httpx2.Response]:
        """Request one hop, at the first of its addresses that accepts a connection."""
        host, port = url.host, url.port or {"http": 80, "https": 443}[url.scheme]
        with _before_reading(is_first):
            addresses = await self._policy.resolve_addresses(host, port, url.raw_host.decode())
        transport = httpx2.AsyncHTTPTransport(verify=self._verify, trust_env=False)
        async with transport:
            response = await self._send(transport, url, addresses, is_first)
            try:
                yield response
            except httpx2.TimeoutException:
                raise ToolError(f"{_quote_url(str(url))} stopped sending.") from None
            except httpx2.HTTPError as error:
                raise ToolError(f"{_quote_url(str(url))} broke off ({error}).") from None
            finally:
                await response.aclose()

    async def _send(
        self,
        transport: httpx2.AsyncHTTPTransport,
        url: httpx2.URL,
        addresses: list[str],
        is_first: bool,
    ) -> httpx2.Response:
        problem: Exception | None = None
        for address in addresses:
            try:
                return await transport.handle_async_request(self._build_request(url, address))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                problem = error
            except httpx2.TimeoutException:
                raise ToolError(f"{_quote_url(str(url))} did not answer in time.") from None
            except httpx2.HTTPError as error:
                raise ToolError(f"{_quote_url(str(url))} broke off ({error}).") from None
        reason = str(problem) or type(problem).__name__
        details: dict[str, object] = {UNREAD: True} if is_first else {}
        raise ToolError(f"{_quote_url(str(url))} cannot be reached ({reason}).", details)

    def _build_request(self, url: httpx2.URL, address: str) -> httpx2.Request:
        """Build the request to an address instead of a name, with the name in Host and SNI."""
        limits = self.limits
        wait = {"connect": limits.connect_seconds, "read": limits.idle_seconds}
        headers = {"host": url.netloc.decode(), "accept-encoding": "identity", **self._headers}
        credential = self._auth.get(get_origin(url))
        if credential is not None:
            headers["authorization"] = credential
        return httpx2.Request(
            "GET",
            url.copy_with(host=address, username=None, password=None, fragment=None),
            headers=headers,
            extensions={
                "timeout": {**wait, "write": limits.idle_seconds, "pool": limits.connect_seconds},
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
        limit = self.limits.max_bytes
        announced = response.headers.get("content-length", "")
        if announced.isdecimal() and int(announced) > limit:
            raise BodyTooLarge(limit)
        inflater = Decompressor(response.headers.get("content-encoding", ""), limit)
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


@contextmanager
def _before_reading(is_first: bool) -> Iterator[None]:
    """Mark errors of the first request as raised before anything was read."""
    try:
        yield
    except ToolError as error:
        if not is_first:
            raise
        raise ToolError(error.text, {**error.details, UNREAD: True}) from None


def parse_url(text: str) -> httpx2.URL:
    """Parse an address that may be requested.

    Raises:
        ToolError: if it is not http or https, too long, or contains a password.

    >>> parse_url("ftp://example.org")
    Traceback (most recent call last):
    ...
    toolkeel.errors.ToolError: 'ftp://example.org' is not an http or https address.
    """
    text = text.strip()
    if len(text) > MAX_URL_CHARS:
        raise ToolError(
            f"The address has {len(text)} characters; at most {MAX_URL_CHARS} are sent."
        )
    try:
        url = httpx2.URL(text)
        host, who = url.host, url.userinfo
    except (httpx2.InvalidURL, ValueError, TypeError) as error:
        raise ToolError(f"{_quote_url(text)} is not an address ({error}).") from None
    if url.scheme not in ("http", "https") or not host:
        raise ToolError(f"{_quote_url(text)} is not an http or https address.")
    if who:  # also ":" alone, a name and a password that are empty
        raise ToolError(
            f"{_quote_url(url.host)}: an address with a user name or password is refused."
        )
    return url


def get_origin(url: httpx2.URL) -> tuple[str, str, int]:
    """Return scheme, host and port (RFC 6454)."""
    return url.scheme, url.host.lower(), url.port or {"http": 80, "https": 443}.get(url.scheme, 0)


def _parse_auth_origin(place: str) -> tuple[str, str, int]:
    try:
        url = httpx2.URL(place)
    except (httpx2.InvalidURL, TypeError):
        url = httpx2.URL("")
    if url.scheme not in ("http", "https") or not url.host or url.path not in ("", "/"):
        raise SetupError(f"auth={{{place!r}: ...}}: give an origin, such as 'https://example.org'")
    if url.scheme == "http" and not _is_loopback(url.host):
        raise SetupError(f"auth={{{place!r}: ...}}: a credential is sent over https only")
    return get_origin(url)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _quote_url(url: str) -> str:
    return repr(url if len(url) <= 200 else url[:200] + "…")

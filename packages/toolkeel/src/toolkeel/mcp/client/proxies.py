"""Network settings: proxies and TLS from the environment, a file or the program's client.

``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` count, in capitals or not, as do the
settings of the system where Python reads them. An HTTP client that is given a transport heeds none of
them, so they are heeded here. ``SSL_CERT_FILE`` and ``SSL_CERT_DIR`` say whose certificates are
trusted, in place of the system's.
"""

from __future__ import annotations

import ipaddress
import ssl
import urllib.request
from collections.abc import Mapping
from contextlib import suppress

import httpx2

from toolkeel.errors import SetupError


def tls_context(files: Mapping[str, str]) -> ssl.SSLContext | bool:
    """Return the TLS context: trusted authorities and the client certificate; True (the default) without files.

    Args:
        files: ``ca``, trusted beside those of the system; ``cert`` and ``key``, of ours.

    Raises:
        SetupError: one of the files cannot be used.
    """
    if not files:
        return True
    context = ssl.create_default_context()
    try:
        if ca := files.get("ca"):
            context.load_verify_locations(ca)
        if cert := files.get("cert"):
            context.load_cert_chain(cert, files.get("key") or None, password=_no_password)
    except (OSError, ValueError) as error:
        names = ", ".join(f"{key}={path}" for key, path in files.items())
        raise SetupError(f"tls: {names}: these files cannot be used: {error}") from None
    return context


def _no_password() -> str:
    """Raise `ValueError`: keys with a passphrase are not supported."""
    raise ValueError("the key has a passphrase; give one without")


class ClientTransport(httpx2.AsyncBaseTransport):
    """Transport that sends through the program's own HTTP client.

    Args:
        client: The program's client, which stays open.
        home: Address of the server.
    """

    def __init__(self, client: httpx2.AsyncClient, home: str) -> None:
        self._client = client
        self._home = httpx2.URL(home)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request, following no redirect, and return the response with its body unread.

        A request to the server itself gets the client's headers, those it lacks, and its authorization.
        """
        at, home = request.url, self._home
        own = (at.scheme, at.netloc) == (home.scheme, home.netloc)
        for name, value in self._client.headers.items() if own else ():
            if name not in request.headers:
                request.headers[name] = value
        auth = self._client.auth if own else None
        found = await self._client.send(request, stream=True, auth=auth, follow_redirects=False)
        return httpx2.Response(
            found.status_code,
            headers=found.headers,
            stream=found.stream,
            extensions=found.extensions,
        )


class ProxyTransport(httpx2.AsyncBaseTransport):
    """Transport that sends directly, or through the proxy that is set for an address.

    Args:
        verify: Trusted certificates; by default those that the environment sets.
    """

    def __init__(self, verify: ssl.SSLContext | bool = True) -> None:
        self._verify = verify
        self._direct = httpx2.AsyncHTTPTransport(verify=verify)
        self._by_proxy: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Raises:
            SetupError: the proxy that is set cannot be used.
        """
        proxy = find_proxy(request.url)
        if not proxy:
            return await self._direct.handle_async_request(request)
        if proxy not in self._by_proxy:
            try:
                self._by_proxy[proxy] = httpx2.AsyncHTTPTransport(proxy=proxy, verify=self._verify)
            except (ValueError, ImportError, httpx2.InvalidURL) as error:
                why = str(error).replace(proxy, "its address")  # which may hold a password
                raise SetupError(
                    f"the proxy that the environment sets for {request.url.scheme} cannot be used: "
                    f"{why}; for socks5:// install httpx2[socks]"
                ) from None
        return await self._by_proxy[proxy].handle_async_request(request)

    async def aclose(self) -> None:
        """Close all connections."""
        for each in (self._direct, *self._by_proxy.values()):
            await each.aclose()


def find_proxy(url: httpx2.URL) -> str:
    """Return the proxy that environment or system set for a URL; empty for a direct connection, as loopback always is."""
    here = url.host in ("localhost", "::1") or url.host.startswith("127.")
    address = url.host if url.port is None else f"{url.host}:{url.port}"
    found = urllib.request.getproxies()
    if (
        here
        or urllib.request.proxy_bypass(address)
        or _is_in_networks(url.host, found.get("no", ""))
    ):
        return ""
    proxy = found.get(url.scheme) or found.get("all") or ""
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"


def _is_in_networks(host: str, no_proxy: str) -> bool:
    """Return True if a host is an address in one of the networks of ``NO_PROXY``, as 10.0.0.0/8."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return False
    for entry in no_proxy.split(","):
        with suppress(ValueError):
            if address in ipaddress.ip_network(entry.strip().strip("[]"), strict=False):
                return True
    return False

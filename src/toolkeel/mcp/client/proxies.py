"""The network as the environment has it: proxies for all addresses but this machine's own.

``HTTP_PROXY``, ``HTTPS_PROXY``, ``ALL_PROXY`` and ``NO_PROXY`` count, in capitals or not, as do the
settings of the system where Python reads them. An HTTP client that is given a transport heeds none of
them, so they are heeded here.
"""

from __future__ import annotations

import urllib.request

import httpx2

from toolkeel.errors import SetupError


class ByEnvironment(httpx2.AsyncBaseTransport):
    """Sends each request directly, or by the proxy that is set for its address."""

    def __init__(self) -> None:
        self._direct = httpx2.AsyncHTTPTransport()
        self._by_proxy: dict[str, httpx2.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request.

        Raises:
            SetupError: the proxy that is set cannot be used.
        """
        proxy = proxy_of(request.url)
        if not proxy:
            return await self._direct.handle_async_request(request)
        if proxy not in self._by_proxy:
            try:
                self._by_proxy[proxy] = httpx2.AsyncHTTPTransport(proxy=proxy)
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


def proxy_of(url: httpx2.URL) -> str:
    """The proxy that an address is reached by; empty if directly, as this machine's own always are."""
    here = url.host in ("localhost", "::1") or url.host.startswith("127.")
    address = url.host if url.port is None else f"{url.host}:{url.port}"
    if here or urllib.request.proxy_bypass(address):
        return ""
    found = urllib.request.getproxies()
    proxy = found.get(url.scheme) or found.get("all") or ""
    return proxy if "://" in proxy or not proxy else f"http://{proxy}"

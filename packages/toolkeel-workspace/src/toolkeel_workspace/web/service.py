"""Requests to services that the program names, with limited responses and errors for the model.

The program chooses the addresses, so `toolkeel_workspace.sandbox.reachable_hosts` is not needed. Redirects are not
followed.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import ToolError
from toolkeel_workspace.web.bounded_decompression import Decompressor

MAX_RESPONSE_BYTES = 8 << 20
"""Default limit of a response's body, in bytes."""


async def send_request(
    name: str,
    method: str,
    url: str,
    timeout: float,
    *,
    max_bytes: int = MAX_RESPONSE_BYTES,
    **more: Any,
) -> tuple[int, bytes]:
    """Send a request. Return the response's status and body.

    Args:
        name: The service, for errors.
        method: The HTTP method.
        url: The address.
        timeout: Seconds to connect, and between two pieces.
        max_bytes: Bytes of the body.
        more: Further arguments of the request, as httpx names them.

    Raises:
        ToolError: there is no response, or it is too large.
    """
    with needs_extra(name, "web"):
        import httpx2
    headers = {**more.pop("headers", {}), "Accept-Encoding": "gzip"}
    try:
        async with (
            httpx2.AsyncClient(timeout=timeout, trust_env=not is_local(url)) as client,
            client.stream(method, url, headers=headers, **more) as response,
        ):
            body = Decompressor(response.headers.get("content-encoding", ""), max_bytes)
            pieces = [piece async for data in response.aiter_raw() for piece in body.feed(data)]
            return response.status_code, b"".join(pieces)
    except httpx2.TimeoutException:
        raise ToolError(f"{name} did not answer in time.") from None
    except (httpx2.HTTPError, ValueError) as error:
        raise ToolError(f"{name} cannot be reached ({type(error).__name__}).") from None


def is_local(url: str) -> bool:
    """Return true if a service is on this machine, where proxies of the environment do not apply."""
    return urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")


def parse_json(name: str, body: bytes) -> Any:
    """Parse a service's response.

    Raises:
        ToolError: it is not JSON.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ToolError(f"{name} did not send JSON.") from None

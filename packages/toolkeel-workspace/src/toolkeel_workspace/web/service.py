"""Asking a service that the program named: an answer of bounded size, and errors a model can read.

The addresses are the program's, so none of `engines/reachable_hosts.py` is needed here; nothing redirects.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlsplit

from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import ToolError
from toolkeel_workspace.web.bounded_decompression import Inflater

MOST = 8 << 20
"""Most bytes of an answer, unless more are asked for."""


async def status_and_body(
    name: str, method: str, url: str, timeout: float, *, most: int = MOST, **more: Any
) -> tuple[int, bytes]:
    """Status and body of a service's answer.

    Args:
        name: How the service is called in errors.
        method: Of the request.
        url: What is asked.
        timeout: Seconds to connect, and between two pieces.
        most: Most bytes of the body.
        more: What else the request has, as httpx names it.

    Raises:
        ToolError: there is no answer, or it is too large.
    """
    with needs_extra(name, "web"):
        import httpx2
    headers = {**more.pop("headers", {}), "Accept-Encoding": "gzip"}
    try:
        async with (
            httpx2.AsyncClient(timeout=timeout, trust_env=not is_local(url)) as client,
            client.stream(method, url, headers=headers, **more) as response,
        ):
            body = Inflater(response.headers.get("content-encoding", ""), most)
            pieces = [piece async for data in response.aiter_raw() for piece in body.feed(data)]
            return response.status_code, b"".join(pieces)
    except httpx2.TimeoutException:
        raise ToolError(f"{name} did not answer in time.") from None
    except (httpx2.HTTPError, ValueError) as error:
        raise ToolError(f"{name} cannot be reached ({type(error).__name__}).") from None


def is_local(url: str) -> bool:
    """Whether a service is on this machine: no proxy of the environment knows it then."""
    return urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")


def json_of(name: str, body: bytes) -> Any:
    """What a service said.

    Raises:
        ToolError: it is no JSON.
    """
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise ToolError(f"{name} did not send JSON.") from None

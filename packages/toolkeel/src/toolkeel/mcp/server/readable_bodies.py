"""Bodies of requests over HTTP: mended as over stdio, and answered by their id where they show one."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from mcp_types import INVALID_REQUEST, PARSE_ERROR
from pydantic_core import from_json

from toolkeel.mcp.messages import (
    read_client_message,
    strip_invalid_bytes,
    unreadable_reason,
    visible_id,
)

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_BODY_BYTES = 4 * 1024 * 1024
"""Larger bodies pass as they come: the server refuses them."""


class ReadableBodies:
    """ASGI middleware that mends bodies before the SDK parses them, and its answers to bad ones."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Mend the body of a POST, pass it on, and improve an answer of 400; other requests pass unchanged."""
        if scope["type"] != "http" or scope["method"] != "POST":
            await self._app(scope, receive, send)
            return
        messages = [message := await receive()]
        size = len(message.get("body", b""))
        while message.get("more_body") and size <= MAX_BODY_BYTES:
            messages.append(message := await receive())
            size += len(message.get("body", b""))
        if message["type"] != "http.request" or message.get("more_body"):
            await self._app(scope, _replay(messages, receive), send)
            return
        body = b"".join(each.get("body", b"") for each in messages)
        mended = _mend(body)
        passed_on = b"" if _has_invalid_id(mended) else mended  # nothing is refused with 400
        whole: Message = {"type": "http.request", "body": passed_on, "more_body": False}
        answer = _BadRequestAnswer(mended, send)
        await self._app(scope, _replay([whole], receive), answer.send)


def _replay(messages: list[Message], receive: Receive) -> Receive:
    """Return a `receive` that yields these messages first."""

    async def next_message() -> Message:
        """Return the next stored message, then those of the client."""
        return messages.pop(0) if messages else await receive()

    return next_message


def _mend(body: bytes) -> bytes:
    r"""Return a body without byte order mark, lone surrogates and invalid UTF-8 replaced.

    >>> _mend(b'{"text": "\\ud83d"}')
    b'{"text": "\\ufffd"}'
    """
    if b"\\ud" in body or b"\\uD" in body or not body.isascii():
        return strip_invalid_bytes(body)
    return body


_NO_ID = re.compile(rb'"id"\s*+:\s*+(?:[ntf\[{]|-?[0-9]++[.eE])')


def _has_invalid_id(body: bytes) -> bool:
    """Return True for a request whose id is null, a fraction, or of another type."""
    if not _NO_ID.search(body):
        return False
    try:
        read_client_message(body)
    except ValueError:
        return True
    return False


class _BadRequestAnswer:
    """Wrapper of `send` that replaces the SDK's answer to an unreadable body."""

    def __init__(self, body: bytes, send: Send) -> None:
        self._body, self._send = body, send
        self._start: Message | None = None
        self._parts: list[bytes] = []

    async def send(self, message: Message) -> None:
        """Send a message; those of a 400 answer are collected first."""
        if message["type"] == "http.response.start" and message["status"] == 400:
            self._start = message
        elif self._start is None:
            await self._send(message)
        else:
            self._parts.append(message.get("body", b""))
            if not message.get("more_body"):
                await self._finish(self._start, b"".join(self._parts))

    async def _finish(self, start: Message, answer: bytes) -> None:
        """Send the collected answer, improved, with its new length."""
        answer = _better_answer(self._body, answer)
        headers = [pair for pair in start["headers"] if pair[0].lower() != b"content-length"]
        length = (b"content-length", str(len(answer)).encode())
        await self._send({**start, "headers": [*headers, length]})
        await self._send({"type": "http.response.body", "body": answer})


def _better_answer(body: bytes, answer: bytes) -> bytes:
    """Return the answer to a refused body. An unreadable body's gets the body's id and the reason.

    The answer is unchanged if the body is readable, or if the answer is no JSON object.
    """
    try:
        error: Any = from_json(answer)
        read_client_message(body)
    except ValueError as failure:
        if not answer.lstrip().startswith(b"{"):
            return answer
        parsed = _is_json(body)
        code, text = (
            (INVALID_REQUEST, "Invalid Request") if parsed else (PARSE_ERROR, "Parse error")
        )
        error = {"code": code, "message": f"{text}: {unreadable_reason(failure)}"}
        reply = {"jsonrpc": "2.0", "id": visible_id(body), "error": error}
        return json.dumps(reply, ensure_ascii=False).encode("utf-8", "replace")
    return answer


def _is_json(body: bytes) -> bool:
    """Return True if a body is JSON."""
    try:
        from_json(body)
    except ValueError:
        return False
    return True

"""Calls of a client over stdio, from line to line (relay): what passes through needs no models.

The first call goes by the SDK's session, which has agreed with the client on a revision and on what
it can do. Calls like it are then made of the same parts without that session's queues and models;
whatever is not exactly such a call goes the first one's way.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeGuard

import anyio
import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.context import ServerMiddleware
from mcp.server.session import ServerSession
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import MCPError, NoBackChannelError
from mcp.shared.transport_context import TransportContext
from mcp_types import CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY, PROTOCOL_VERSION_META_KEY
from pydantic import ValidationError
from pydantic_core import from_json, to_json

from toolkeel.mcp.server.multi_round_calls import Request, is_modern
from toolkeel_studio.gateway.calls import RawRequest

MAX_CONCURRENT = 1000
"""Calls beyond which they go by the session, which bounds what it reads."""
_ENVELOPE = (PROTOCOL_VERSION_META_KEY, CLIENT_CAPABILITIES_META_KEY, CLIENT_INFO_META_KEY)

log = logging.getLogger("toolkeel.mcp")
Send = Callable[[bytes], Awaitable[None]]
"""Writes a line to the client."""


class RawCalls:
    """The calls of the client on stdio.

    Args:
        middleware: What a request passes; the last of it answers calls.
    """

    def __init__(self, middleware: list[ServerMiddleware[Any]]) -> None:
        self._middleware = middleware
        self._first: Request | None = None
        self._connection: Any = None
        self._envelope: tuple[object, ...] = ()
        self._running: dict[str | int, asyncio.Task[None]] = {}

    def capture_session(self, request: Request) -> None:
        """Store the session of a first call; similar calls no longer need it."""
        if self._first is None and request.request is None:
            self._connection = request.session._connection  # pyright: ignore[reportPrivateUsage]
            self._envelope = _envelope(request.params)
            self._first = request

    def handle_line(self, line: bytes, send: Send) -> bool:
        """Handle a line that is a call or cancels one. Return True if it was.

        Args:
            line: As it came.
            send: Writes the answer.
        """
        if self._first is None or not (b'"tools/call"' in line or self._cancels_call(line)):
            return False
        try:
            message = from_json(line)
        except ValueError:
            return False
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return False
        id, params = message.get("id"), message.get("params")
        if message.get("method") == _CANCELLED and isinstance(params, dict):
            return self._cancel(params.get("requestId"))
        if message.get("method") != "tools/call" or not _is_plain(params):
            return False
        if isinstance(id, bool) or not isinstance(id, str | int) or id in self._running:
            return False
        if len(self._running) >= MAX_CONCURRENT or _envelope(params) != self._envelope:
            return False
        task = asyncio.create_task(self._forward_call(self._first, id, params, send))
        self._running[id] = task
        task.add_done_callback(lambda _: self._running.pop(id))  # also if it never began
        return True

    def _cancels_call(self, line: bytes) -> bool:
        return bool(self._running) and _CANCELLED.encode() in line

    def _cancel(self, id: object) -> bool:
        task = self._running.get(id) if isinstance(id, str | int) else None
        return task is not None and task.cancel()

    async def close(self) -> None:
        """Cancel running calls: the client has disconnected."""
        tasks = list(self._running.values())
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _forward_call(
        self, first: Request, id: str | int, params: dict[str, Any], send: Send
    ) -> None:
        channel = _Channel(id, params, send, self._connection, not is_modern(first))
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else None
        request = RawRequest(
            session=ServerSession(channel, self._connection, request_meta=meta),  # type: ignore[arg-type]
            lifespan_context=first.lifespan_context,
            method="tools/call",
            params=params,
            request_id=id,
            meta=meta,  # type: ignore[arg-type]
            protocol_version=first.protocol_version,
        )
        try:
            reply: dict[str, Any] = {"result": await self._call_middleware(request)}
        except MCPError as error:
            reply = _error(error.error)
        except ValidationError:
            reply = _error(types.ErrorData(code=types.INVALID_PARAMS, message=_INVALID, data=""))
        except Exception:
            log.exception("a call failed in the gateway")
            reply = _error(types.ErrorData(code=types.INTERNAL_ERROR, message="Internal error"))
        finally:
            channel.can_send_request = False
        await send(_line({"id": id, **reply}))

    async def _call_middleware(self, request: Request) -> Any:
        async def nobody(_: Request) -> Any:
            raise MCPError(types.METHOD_NOT_FOUND, "Method not found")

        call: Callable[[Request], Awaitable[Any]] = nobody
        for each in reversed(self._middleware):
            call = partial(_apply_middleware, each, call)
        return await call(request)


_CANCELLED = "notifications/cancelled"
_INVALID = "Invalid request parameters"


async def _apply_middleware(
    middleware: ServerMiddleware[Any], call: Any, request: ServerRequestContext[Any, Any]
) -> Any:
    return await middleware(request, call)


def _line(message: Mapping[str, object]) -> bytes:
    envelope = {"jsonrpc": "2.0", **message}
    try:
        return to_json(envelope) + b"\n"
    except ValueError:  # half a surrogate pair, such as a person types into a reason
        return json.dumps(envelope, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _error(error: types.ErrorData) -> dict[str, Any]:
    return {"error": error.model_dump(mode="json", by_alias=True, exclude_none=True)}


def _is_plain(params: object) -> TypeGuard[dict[str, Any]]:
    """Return True if parameters have the expected types. The session reports others."""
    return (
        isinstance(params, dict)
        and isinstance(params.get("name"), str)
        and all(isinstance(params.get(key, {}), dict) for key in ("arguments", "_meta"))
    )


def _envelope(params: Mapping[str, Any] | None) -> tuple[object, ...]:
    """Return what a request without a session states about its client."""
    meta = (params or {}).get("_meta")
    return tuple(meta.get(key) for key in _ENVELOPE) if isinstance(meta, Mapping) else (None,) * 3


class _Channel:
    """How the client of one call is reached meanwhile: the SDK's `DispatchContext`."""

    message_metadata = None

    def __init__(
        self, id: str | int, params: Mapping[str, Any], send: Send, connection: Any, can_ask: bool
    ) -> None:
        self.request_id = id
        self.can_send_request = can_ask
        self.cancel_requested = anyio.Event()
        self._token = (params.get("_meta") or {}).get("progressToken")
        self._send = send
        self._connection = connection

    @property
    def transport(self) -> TransportContext:
        return TransportContext(kind="jsonrpc", can_send_request=self.can_send_request)

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        if not self.can_send_request:
            raise NoBackChannelError(method)
        answer: dict[str, Any] = await self._connection.outbound.send_raw_request(
            method, params, opts
        )
        return answer

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        fields = {} if params is None else {"params": params}
        await self._send(_line({"method": method, **fields}))

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        if self._token is not None:
            fields = {"progressToken": self._token, "progress": progress}
            more = {"total": total, "message": message}
            fields |= {key: value for key, value in more.items() if value is not None}
            await self.notify("notifications/progress", fields)

"""Requests to a server process as plain JSON, beside the SDK's session.

A gateway passes on what it is given, so nothing between a line and its answer needs to be understood.
These requests share the pipe with the SDK's session and are told apart by their ids.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.client.session import LoggingFnT
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from pydantic_core import to_json

from toolkeel._records.record import record
from toolkeel.mcp.client.frames import RateLimiter
from toolkeel.mcp.client.mend_responses import ResponseRepair, mark_peer_error
from toolkeel.mcp.messages import read_response

FIRST_ID = 1_000_000_000
"""Ids of these requests count from here, those of the SDK's session from 1; both fit 32 bits."""

MAX_CALLBACKS = 1000
"""Progress and log lines that may wait to be passed on; what comes then is dropped."""
CALLBACK_SECONDS = 0.5
"""Seconds an answer waits at most until what the server said before it has been passed on."""

Progressed = Callable[[float, float | None, str | None], Awaitable[None]]


@record
class _PendingRequest:
    """A request without an answer so far.

    Args:
        method: Its method.
        answer: Completed with the result, or the error.
        progressed: Called with progress; None ignores it.
        pending: Callbacks of it that still run.
    """

    method: str
    answer: asyncio.Future[dict[str, Any]]
    progressed: Progressed | None
    pending: set[asyncio.Future[None]]


class RawRequests:
    """Requests of one connection that bypass the SDK's session.

    Args:
        name: Name of the server, for the log.
        sift: Repairs results.
        log: Called with each log message of the server.
    """

    def __init__(self, name: str, sift: ResponseRepair, log: LoggingFnT) -> None:
        self._sift = sift
        self._log = log
        self._rate = RateLimiter(name)
        self._stdin: asyncio.StreamWriter | None = None
        self._next = FIRST_ID
        self._waiting: dict[int, _PendingRequest] = {}
        self._logging: set[asyncio.Future[None]] = set()

    @property
    def is_open(self) -> bool:
        """True if there is a pipe to send on."""
        return self._stdin is not None

    def open(self, stdin: asyncio.StreamWriter) -> None:
        """Send requests to this stdin of a process from now on."""
        self._stdin = stdin

    def close(self) -> None:
        """Drop the connection to the server, and fail all pending requests: no response will arrive."""
        self._stdin = None
        for waiting in self._waiting.values():
            _fail(waiting, types.ErrorData(code=types.CONNECTION_CLOSED, message=_CLOSED))

    async def send(
        self,
        method: str,
        params: Mapping[str, Any],
        timeout: float,
        progressed: Progressed | None = None,
    ) -> dict[str, Any]:
        """Send a request and return its result; if it takes more than `timeout` or is cancelled, cancel it at the server.

        Args:
            method: Method of the protocol.
            params: Parameters, as JSON.
            timeout: Seconds to wait for the answer.
            progressed: Called with the server's progress; without it, none is requested.

        Raises:
            MCPError: an error is the answer, or there is none.
        """
        if self._stdin is None:
            raise MCPError(types.CONNECTION_CLOSED, _CLOSED)
        id, self._next = self._next, self._next + 1
        if progressed is not None:
            params = {**params, "_meta": {**(params.get("_meta") or {}), "progressToken": id}}
        loop = asyncio.get_running_loop()
        waiting = self._waiting[id] = _PendingRequest(
            method, loop.create_future(), progressed, set()
        )
        before = set(self._logging)
        timer = loop.call_later(timeout, self._expire, id, method)
        try:
            await self._write({"id": id, "method": method, "params": params})
            answer = await waiting.answer
            # Progress and logs of the call come before its result; slow callbacks are not awaited.
            if callbacks := waiting.pending | (self._logging - before):
                await asyncio.wait(callbacks, timeout=CALLBACK_SECONDS)
            return answer
        except asyncio.CancelledError:
            self._cancel(id, "caller cancelled")
            raise
        finally:
            timer.cancel()
            del self._waiting[id]
            for each in list(waiting.pending):
                each.cancel()

    async def _write(self, message: dict[str, Any]) -> None:
        """Write a message to the process; do nothing if the connection was dropped.

        Raises:
            MCPError: the pipe is closed.
        """
        stdin = self._stdin
        if stdin is not None:
            stdin.write(to_json({"jsonrpc": "2.0", **message}) + b"\n")
            try:
                await stdin.drain()
            except OSError:
                raise MCPError(types.CONNECTION_CLOSED, _CLOSED) from None

    def _expire(self, id: int, method: str) -> None:
        """Fail a pending request as timed out, and cancel it at the server."""
        message = f"Request {method!r} timed out"
        self._cancel(id, "timed out")
        _fail(self._waiting[id], types.ErrorData(code=types.REQUEST_TIMEOUT, message=message))

    def _cancel(self, id: int, reason: str) -> None:
        """Tell the server that a request is cancelled. Do nothing once its input is closed."""
        if self._stdin is not None:
            params = {"requestId": id, "reason": reason}
            notification = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            self._stdin.write(to_json(notification) + b"\n")

    # — what comes back —

    def handle_line(self, line: bytes) -> bool:
        """Handle a line for one of these requests. Return True if it was one."""
        if not self._waiting:
            return False
        try:
            message = read_response(line)
        except ValueError:
            return False
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return False
        if (method := message.get("method")) is not None:
            handlers = {
                "notifications/progress": self._progress,
                "notifications/message": self._logged,
            }
            take = handlers.get(method) if isinstance(method, str) else None
            return take(message.get("params")) if take is not None else False
        return self._settle(message)

    def _settle(self, message: dict[str, Any]) -> bool:
        """Complete the request that a response answers. Return False if it answers none."""
        waiting = self._waiting_for(message.get("id"))
        if waiting is None:
            return False
        if isinstance(result := message.get("result"), dict):
            self._sift.repair(result, waiting.method)
            if not waiting.answer.done():
                waiting.answer.set_result(result)
            return True
        try:
            _fail(waiting, mark_peer_error(types.ErrorData.model_validate(message.get("error"))))
        except ValidationError:
            return False
        return True

    def end_by_error(self, item: SessionMessage) -> bool:
        """Fail the request an unreadable line belongs to. Return True if there is one."""
        message = item.message
        waiting = self._waiting_for(getattr(message, "id", None))
        if waiting is None or not isinstance(message, types.JSONRPCError):
            return False
        _fail(waiting, message.error)
        return True

    def _waiting_for(self, id: object) -> _PendingRequest | None:
        """Return the request with an id, which servers may send back as text, or None."""
        if isinstance(id, str) and id.isdecimal() and len(id) < 20:
            id = int(id)  # some servers send ids back as texts
        return self._waiting.get(id) if isinstance(id, int) else None

    def _progress(self, params: object) -> bool:
        """Report progress of one of these requests. Return False if it is of none."""
        fields = params if isinstance(params, dict) else {}
        waiting = self._waiting_for(fields.get("progressToken"))
        if waiting is None:
            return False
        done, total = _number(fields.get("progress")), _number(fields.get("total"))
        if waiting.progressed is None or done is None or not self._has_room(waiting.pending):
            return True
        message = fields.get("message")
        message = message if isinstance(message, str) else None
        _spawn_callback(waiting.progressed(done, total, message), waiting.pending)
        return True

    def _logged(self, params: object) -> bool:
        """Pass on a log message. Return False if it is not one."""
        try:
            notification = types.LoggingMessageNotificationParams.model_validate(params)
        except ValidationError:
            return False
        if self._has_room(self._logging):
            _spawn_callback(self._log(notification), self._logging)
        return True

    def _has_room(self, untold: set[asyncio.Future[None]]) -> bool:
        """Return True if another callback may be started, which consumes one unit of the rate."""
        return len(untold) < MAX_CALLBACKS and self._rate.take_one()


_CLOSED = "Connection closed"


def _spawn_callback(callback: Awaitable[None], pending: set[asyncio.Future[None]]) -> None:
    """Run a callback as a task, which stays in `pending` until it ends."""
    task = asyncio.ensure_future(callback)
    pending.add(task)
    task.add_done_callback(pending.discard)


def _number(value: object) -> float | None:
    """Return a number, or None for anything else."""
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _fail(waiting: _PendingRequest, error: types.ErrorData) -> None:
    """Fail a request with an error, unless it has ended."""
    if not waiting.answer.done():
        waiting.answer.set_exception(MCPError(error.code, error.message, error.data))

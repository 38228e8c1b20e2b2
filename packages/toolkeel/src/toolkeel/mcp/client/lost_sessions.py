"""Sessions that a server has forgotten: recognized by its answer, replaced without losing other calls.

The protocol says 404. Many servers are copies of an example that answers 400 with a sentence about
the session and no id; others say 405, 410 or 422. All are given before the message is looked at, so the
request can be sent again. Where a refusal does not say what it is about, a ping tells. An answer that carries the id of the request shows that somebody read it: then the next request
begins a new session, and this one is not repeated.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from mcp import Client, types
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED

from toolkeel.mcp.client.mend_responses import (
    FORGOTTEN,
    SESSION_ENDED,
    UNCLEAR,
    PeerErrorData,
)

MAX_RENEWALS = 8
"""How often one request is sent again because the server had forgotten the session.

On a busy machine a server may restart several times while one request waits.
"""
_MAX_BYTES = 4096
_TAG = re.compile(r"<[^<>]*>")
_PING_SECONDS = 5.0
_SESSION = r"(?:(?:mcp|transport|http)[ -])?(?:session|transport)(?:[ -]?id)?"
_ABSENT = (
    r"(?:no such|no|not|invalid|missing|unknown|expired|unrecognized|stale|closed|terminated|lost"
    r"|(?:can ?not|can't|could not|couldn't|unable to|failed to|did not) find)"
)
_FORGOTTEN = re.compile(
    r"(?:(?:bad request|not found|invalid request|error)?[\s:.,]*)"
    r"(?:"
    rf"{_ABSENT}(?:,? or {_ABSENT})*(?: an?| the| any| valid| active| existing)* ?{_SESSION}\b.{{0,100}}"
    rf"|(?:(?:the|your|this) )?{_SESSION}(?: header)?(?: (?:with|for)(?: id)?)?(?: \S{{1,80}})?"
    r" (?:(?:is|was|has|does|been|have|had|not|no longer|longer|yet|a) )*"
    r"(?:found|exists?|unknown|invalid|expired|terminated|closed|missing|required|ended|lost|gone"
    r"|valid|available|active|evicted|recognized|initialized|timed out|mismatch).{0,100}"
    r"|(?:the )?(?:server |client |connection )?(?:is |has )?not (?:yet )?(?:been )?initialized.{0,60}"
    r")",
    re.IGNORECASE | re.DOTALL,
)


def session_error(content: bytes, request: bytes) -> int | None:
    """Return the error code of an HTTP refusal that is about the session, or None if it is not.

    Args:
        content: The body of the response.
        request: The message it answers.

    Returns:
        `FORGOTTEN` if the server surely did not read the message, else `SESSION_ENDED`.
    """
    if len(content) > _MAX_BYTES:
        return None
    text, id = _TAG.sub(" ", content.decode("utf-8", "replace")).strip(), None
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        pass
    else:
        text, id = _error_text(body), body.get("id") if isinstance(body, dict) else None
    if _FORGOTTEN.fullmatch(text.replace("_", " ")) is None:
        return None
    return SESSION_ENDED if id is not None and str(id) == str(_id_of(request)) else FORGOTTEN


def _error_text(body: object) -> str:
    """Return the message in a JSON error of JSON-RPC or a web framework, a text as it is; "" if it has no message."""
    for key in ("error", "message", "detail"):
        if isinstance(body, dict) and key in body:
            return _error_text(body[key])
    return body if isinstance(body, str) else ""


def _id_of(request: bytes) -> object:
    """Return the id of a request, or None."""
    try:
        message = json.loads(request)
    except (ValueError, RecursionError):
        return None
    return message.get("id") if isinstance(message, dict) else None


def is_closed(error: BaseException | None) -> bool:
    """Return True if the error says that a server closed the connection instead of answering; False for None."""
    return isinstance(error, MCPError) and error.code == CONNECTION_CLOSED


def innermost_error(error: BaseException | None) -> BaseException | None:
    """Return the first error inside nested exception groups; None for None."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return error


def is_session_lost(error: MCPError) -> bool:
    """Return True if the server ended our session without executing the request."""
    return error.code == FORGOTTEN and not isinstance(error.data, PeerErrorData)


def is_session_over(error: MCPError) -> bool:
    """Return True if the server ended our session, perhaps after executing the request."""
    ended = error.code in (FORGOTTEN, SESSION_ENDED)
    return ended and not isinstance(error.data, PeerErrorData)


async def has_session_ended(error: MCPError, client: Client) -> bool:
    """Return True if the server ended our session; after a refusal that may say so, send it a ping."""
    if not _is_unclear(error) or client.session.initialize_result is None:
        return is_session_over(error)
    try:
        await client.session.send_request(types.PingRequest(), types.EmptyResult, _PING_SECONDS)
    except MCPError as later:
        return is_session_over(later) or _is_unclear(later)
    except ValueError:  # an odd answer is one, too
        pass
    return False


def _is_unclear(error: MCPError) -> bool:
    """Return True for a refusal by HTTP that may be about the session."""
    return error.code == UNCLEAR and not isinstance(error.data, PeerErrorData)


class RetiredClients:
    """Clients of ended sessions, each closed when its last request has an answer; counts the requests of all clients."""

    def __init__(self) -> None:
        self._requests: Counter[int] = Counter()  # by id: clients cannot be hashed
        self._retired: dict[int, tuple[asyncio.Task[None], asyncio.Event]] = {}

    @property
    def is_busy(self) -> bool:
        """True if some client, retired or not, has an open request."""
        return bool(self._requests)

    @contextmanager
    def in_use(self, client: Client) -> Iterator[None]:
        """Register a request of a client while the context is active."""
        self._requests[id(client)] += 1
        try:
            yield
        finally:
            self._requests[id(client)] -= 1
            self._end_unused(id(client))

    def retire(self, client: Client, task: asyncio.Task[None], over: asyncio.Event) -> None:
        """End a client as soon as it has no open request.

        Args:
            client: Client of the session that is over.
            task: Task that holds its connection open.
            over: Event that ends the task.
        """
        key = id(client)
        self._retired[key] = task, over
        task.add_done_callback(lambda _: self._retired.pop(key, None))
        self._end_unused(key)

    def _end_unused(self, key: int) -> None:
        """End a retired client that has no open request."""
        if self._requests[key] > 0:
            return
        del self._requests[key]
        if key in self._retired:
            self._retired[key][1].set()

    async def close(self) -> None:
        """End all retired clients now, with their open requests, and wait until they have ended."""
        for _, over in list(self._retired.values()):
            over.set()
        if tasks := [task for task, _ in self._retired.values()]:
            await asyncio.wait(tasks)

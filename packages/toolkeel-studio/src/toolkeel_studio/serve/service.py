"""What all front ends of one application share: users, deciders, bodies, streams, masked errors."""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import re
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Coroutine, Mapping
from contextlib import aclosing
from itertools import islice
from typing import Any, Literal, TypeAlias, TypeVar

from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import BaseRoute

from toolkeel._records.tickets import Ticket
from toolkeel.define.options import external
from toolkeel_studio.serve.channel import Channel, Channels
from toolkeel_studio.serve.errors import ChannelError, Disconnected, Forbidden, UnknownSession
from toolkeel_studio.serve.stream import with_heartbeat

log = logging.getLogger("toolkeel")
T = TypeVar("T")
UserOf: TypeAlias = Callable[[Request], "str | Awaitable[str | None] | None"]
"""Returns the name of the user who sends a request, the scope of their sessions; None refuses it."""
Deciders: TypeAlias = (
    Literal["user", "operator"] | Callable[[str, Ticket], "bool | Awaitable[bool]"]
)
"""Who may decide calls that wait: the ``user`` of the session; an ``operator``, who does it elsewhere,
such as in the inspector; or whoever a function of the user's name and the ticket lets."""
HEARTBEAT_SECONDS = 15.0
"""Seconds after which a quiet stream sends a comment, so that no proxy closes it."""
GRACE_SECONDS = 3.0
"""Seconds after which a lost connection cancels a run, if it does: a page that reloads is back by then."""
MAX_TOKENS = 500_000
"""Texts, commas and brackets of a body: parsing millions of values would block everybody for seconds."""
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{,]', re.DOTALL)
MASKED = "Something went wrong. Error {id}."
STREAM_HEADERS = {"Cache-Control": "no-cache, no-transform", "X-Accel-Buffering": "no"}


class Service:
    """What the protocols of one application share.

    Args:
        channels: The sessions.
        user: See `app`.
        deciders: See `app`.
        on_disconnect: See `app`.

    Attributes:
        channels: The sessions.
    """

    def __init__(
        self,
        channels: Channels,
        user: UserOf | None,
        deciders: Deciders | None,
        on_disconnect: Literal["continue", "cancel"] = "continue",
    ) -> None:
        self.channels = channels
        self._user = user
        self._deciders = deciders
        self._on_disconnect = on_disconnect

    async def user_of(self, request: Request) -> str:
        """Return the scope of the user who sends a request.

        Raises:
            Forbidden: the application refuses the request.
        """
        found = "" if self._user is None else self._user(request)
        name = await found if inspect.isawaitable(found) else found
        if name is None or (self._user is not None and not name):
            raise Forbidden("this request is not allowed")
        return name

    async def open(self, request: Request, name: str) -> Channel:
        """Return the channel of a session of the user who sends a request."""
        return self.channels.open(name, await self.user_of(request))

    async def find(self, request: Request, name: str) -> Channel:
        """Return the channel of a session that exists.

        Raises:
            UnknownSession: the user has no such session.
        """
        channel = await self.open(request, name)
        if not await asyncio.to_thread(lambda: channel.session.exists):
            raise UnknownSession("there is no such session")
        return channel

    async def check_decider(self, user: str, ticket: Ticket) -> None:
        """Raise unless a user may decide a ticket.

        Raises:
            Forbidden: the user may not.
        """
        who = self._deciders
        allowed: object = who == "user"
        if callable(who):
            allowed = who(user, ticket)
            allowed = await allowed if inspect.isawaitable(allowed) else allowed
        if allowed is not True:
            raise Forbidden("this call is decided by somebody else")

    def is_external(self, declared: Collection[str] = ()) -> Callable[[str], bool]:
        """Return a function that is True for the names of tools that clients run.

        Args:
            declared: Names of tools that the client has declared.
        """
        own = self.channels.agent.tools
        return lambda name: own[name].executor is external if name in own else name in declared

    async def read_json(self, request: Request) -> Mapping[str, Any]:
        """Return the JSON object of a request's body. Half a surrogate pair in it becomes ``?``.

        Raises:
            ChannelError: it is none, or has more than about 250,000 values.
        """
        sent = await request.body()
        if len(sent) > MAX_TOKENS and any(islice(_TOKEN.finditer(sent), MAX_TOKENS, None)):
            raise ChannelError("the body has too many values")
        try:
            text = sent.decode("utf-8-sig")  # `json` reads halves of pairs from bytes
            body = json.loads(text, parse_constant=_refuse_constant)
            if "\\u" in text:  # an escape may be half a pair, which no response could repeat
                text = json.dumps(body, ensure_ascii=False)
                body = json.loads(text.encode("utf-8", "replace"))
        except (ValueError, RecursionError):
            raise ChannelError("the body is no JSON") from None
        if not isinstance(body, dict):
            raise ChannelError("the body is no JSON object")
        return body

    def stream(
        self,
        channel: Channel,
        lines: AsyncGenerator[str, None],
        headers: Mapping[str, str],
        *,
        is_background: bool = False,
    ) -> StreamingResponse:
        """Return a response of server-sent events with a heartbeat.

        Args:
            channel: Its session, for what happens at a disconnect.
            lines: The events as text.
            headers: Further headers.
            is_background: A disconnect never cancels the run.
        """
        sent = with_heartbeat(lines, HEARTBEAT_SECONDS)
        if self._on_disconnect == "cancel" and not is_background:
            sent = self._cancel_unread(channel, sent)
        return StreamingResponse(
            sent, media_type="text/event-stream", headers={**STREAM_HEADERS, **headers}
        )

    async def read_all(
        self, request: Request, channel: Channel, batches: AsyncGenerator[T, None]
    ) -> list[T]:
        """Return all that a response without a stream is made of.

        Args:
            request: Its request, whose body was read.
            channel: Its session, for what happens at a disconnect.
            batches: What it is made of; they are closed at a disconnect.

        Raises:
            Disconnected: the client has left.
        """
        if self._on_disconnect == "cancel":
            batches = self._cancel_unread(channel, batches)
        return await while_connected(request, _collect(batches))

    async def _cancel_unread(
        self, channel: Channel, lines: AsyncGenerator[T, None]
    ) -> AsyncGenerator[T, None]:
        """Yield lines; a while after a disconnect, cancel the run unless somebody reads it."""

        def cancel() -> None:
            runner = self.channels.find_runner(channel.session)
            if runner is not None and not runner.feed.readers:
                runner.cancel("the client has disconnected")

        is_complete = False
        try:
            async for line in lines:
                yield line
            is_complete = True
        finally:
            await lines.aclose()
            if not is_complete:
                asyncio.get_running_loop().call_later(GRACE_SECONDS, cancel)


async def _collect(batches: AsyncGenerator[T, None]) -> list[T]:
    async with aclosing(batches):
        return [each async for each in batches]


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return what `work` returns; cancel it when the client leaves.

    Args:
        request: The client's request, whose body was read.
        work: What the client waits for.

    Raises:
        Disconnected: the client has left.
    """
    working = asyncio.create_task(work)
    leaving = asyncio.create_task(_wait_for_disconnect(request))
    try:
        await asyncio.wait([working, leaving], return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise Disconnected("the client has disconnected")
        return working.result()
    finally:
        working.cancel()
        leaving.cancel()
        await asyncio.gather(working, leaving, return_exceptions=True)


async def _wait_for_disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _refuse_constant(name: str) -> None:
    """Raise for NaN and infinity, which are no JSON."""
    raise ValueError(name)


def mask_error(error: str) -> str:
    """Log the text of an error, and return the sentence that a client gets, with an id to find it by."""
    id = secrets.token_hex(6)
    log.error("error %s of a front end: %s", id, error)
    return MASKED.format(id=id)


Protocol: TypeAlias = Callable[[Service], list[BaseRoute]]
"""Makes the routes of a protocol."""

"""One connection to a server, the calls that run on it, and the server's questions meanwhile (lane).

What is asked in the middle of a call goes to the client whose call it is. Over stdio such a question
of the older revisions names no call; where calls of two clients are running, nobody can know whose it
is, so it is cancelled rather than guessed.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any

import mcp_types as types
from mcp import Client as ClientSdk
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY

from toolkeel._records.record import record
from toolkeel.mcp.client.connection import Connection, ConnectionOptions
from toolkeel.mcp.client.elicitation import OpenCalls, limit_concurrency
from toolkeel.mcp.client.oauth.login import find_login
from toolkeel.mcp.client.raw_requests import MAX_CALLBACKS
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.page_links import Pages
from toolkeel.mcp.server.calling import LEVELS, Client, Feature, Level
from toolkeel.mcp.server.multi_round_calls import Exchange, is_modern
from toolkeel.mcp.server.sessions import Sessions

CALL_SECONDS = 600.0
"""Seconds of one call; hosts have limits of their own, which are nearly always shorter."""
CONNECT_SECONDS = 60.0


@record
class RunningCall:
    """A call that runs on a connection.

    Args:
        client: Its client: the name of a token, or the connection where clients have none.
        exchange: The client's request, through which it can be asked.
        level: Lowest log level that it wants; None: no logs.
        capabilities: What it can be asked for, in the form of the newest revision.
        connection: The connection on which it runs.
    """

    client: object
    exchange: Exchange
    level: Level | None
    capabilities: Mapping[str, Any]
    connection: ServerConnection


_call: ContextVar[RunningCall | None] = ContextVar("toolkeel_gateway_call", default=None)
_ASKABLE = {"elicitation", "sampling", "roots"}


class ServerConnection:
    """One connection to a server, and the calls that run on it.

    Args:
        server: The server.
        config: The server's address or command.
        sessions: The clients' sessions, with the log level that each wants.
        asked: Called for each question of the server; True if the question named its call.
        name_resources: Replaces the URIs of resources in a question by those that its client knows.

    Attributes:
        calls: The open calls.
        last_used: Monotonic time at which the last call ended.
    """

    def __init__(
        self,
        server: object,
        config: ServerConfig,
        sessions: Sessions,
        asked: Callable[[bool], object],
        name_resources: Callable[[dict[str, Any]], object] = lambda _: None,
    ) -> None:
        self.server = server
        self._name_resources = name_resources
        self._name = config.name
        self._sessions = sessions
        self._on_question = asked
        seconds = config.timeout or CALL_SECONDS, config.connect_timeout or CONNECT_SECONDS
        options = ConnectionOptions(
            config,
            find_login(config),
            self._elicit,
            *seconds,
            self._sample,
            self._roots,
            extensions=(Pages(),),
        )
        self.link = Connection(options)
        self.link.on_log, self.link.on_open = (
            limit_concurrency(self._on_log, MAX_CALLBACKS, None),
            self._send_log_level,
        )
        self.calls: OpenCalls[RunningCall] = OpenCalls()
        self._turn = asyncio.Lock()
        self.last_used = time.monotonic()

    @property
    def is_busy(self) -> bool:
        """True if calls run on it, or wait to run."""
        return bool(self.calls) or self._turn.locked()

    @asynccontextmanager
    async def run_call(
        self, client: object, exchange: Exchange, one_by_one: bool
    ) -> AsyncIterator[None]:
        """Register a call while the context is active, so that questions reach its client.

        Args:
            client: Whose it is.
            exchange: The client's request.
            one_by_one: True if calls wait for each other: those of clients nobody can tell apart.
        """
        turn: AbstractAsyncContextManager[Any] = self._turn if one_by_one else nullcontext()
        async with turn:
            call = self._running_of(client, exchange)
            token = _call.set(call)
            try:
                with self.calls.open(client, call):
                    yield
            finally:
                _call.reset(token)
                self.last_used = time.monotonic()

    def _running_of(self, client: object, exchange: Exchange) -> RunningCall:
        request = exchange.request
        assert request is not None
        modern = is_modern(request)
        level = (
            (request.meta or {}).get(LOG_LEVEL_META_KEY)
            if modern
            else self._sessions.log_level(request)
        )
        can = request.session.client_capabilities
        offered = can.model_dump(by_alias=True, exclude_none=True, include=_ASKABLE) if can else {}
        level = level if level in LEVELS else None
        return RunningCall(client, exchange, level, offered, self)

    # — its questions —

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        wanted: Feature = (
            "url" if isinstance(params, types.ElicitRequestURLParams) else "elicitation"
        )
        exchange = self._find_asked_call(wanted)
        if exchange is None:
            return types.ElicitResult(action="cancel")
        request = types.ElicitRequest(params=params)
        return await exchange.ask("elicit", request, types.ElicitResult)

    async def _sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        exchange = self._find_asked_call("sampling")
        if exchange is None:
            return types.ErrorData(code=-1, message="the client has no model to lend")
        named = params.model_dump(mode="json", by_alias=True, exclude_none=True)
        self._name_resources(named)
        request = types.CreateMessageRequest(params=type(params).model_validate(named))
        return await exchange.ask("sample", request, types.CreateMessageResult)

    async def _roots(
        self, context: ClientRequestContext
    ) -> types.ListRootsResult | types.ErrorData:
        exchange = self._find_asked_call("roots")
        if exchange is None:
            return types.ListRootsResult(roots=[])
        return await exchange.ask("roots", types.ListRootsRequest(), types.ListRootsResult)

    def _find_asked_call(self, feature: Feature) -> Exchange | None:
        """Return the call a question belongs to, if it is known and its client can answer.

        Over HTTP it comes in answer to a request of ours, and so in that one's context.
        """
        call = self.calls.find_owner_call(_call.get())
        if self.calls:
            self._on_question(call is not None and call is _call.get())
        if call is None:
            return None
        return call.exchange if Client(call.exchange).supports(feature) else None

    async def send_log_level(self) -> None:
        """Set the lowest wanted log level at a server with sessions."""
        if self.link.is_alive:
            await self._send_log_level(await self.link.client())

    async def _send_log_level(self, client: ClientSdk) -> None:
        level = self._sessions.lowest_log_level()
        with_sessions = client.session.initialize_result is not None
        if level and with_sessions and client.server_capabilities.logging is not None:
            ask = client.session._dispatcher.send_raw_request  # pyright: ignore[reportPrivateUsage]
            with suppress(MCPError):  # that method of the SDK warns, since newer revisions lack it
                await ask("logging/setLevel", {"level": level}, {"timeout": 5.0})

    async def _on_log(self, params: types.LoggingMessageNotificationParams) -> None:
        call = self.calls.find_owner_call(_call.get())
        if call is None or call.level is None:
            return
        if LEVELS.index(params.level) >= LEVELS.index(call.level):
            logger_name = f"{self._name}: {params.logger}" if params.logger else self._name
            await Client(call.exchange).log(params.level, params.data, logger_name)


def current_call() -> ServerConnection | None:
    """Return the connection of the call that is answered in this context."""
    call = _call.get()
    return call.connection if call is not None else None


def abandon_call() -> None:
    """Record that the current call no longer waits. Its server may continue it."""
    if (call := _call.get()) is not None:
        call.connection.calls.abandon(call.client)


def stamp_client(meta: dict[str, Any] | None) -> None:
    """Declare in a request's ``_meta`` only what the calling client can do."""
    call = _call.get()
    if call is None or meta is None or CLIENT_CAPABILITIES_META_KEY not in meta:
        return
    meta[CLIENT_CAPABILITIES_META_KEY] = call.capabilities
    if call.level is not None:
        meta[LOG_LEVEL_META_KEY] = call.level

"""One server behind the gateway: its lists, its calls in plain JSON, and its questions.

A call goes as the JSON it came as, and its result comes back as JSON: nothing on the way is made a
model of. There is one connection for all clients, until the server asks something without saying in
which call, as over stdio in the older revisions: from then on each client has one of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from contextvars import Context
from functools import partial
from time import monotonic, time
from types import MappingProxyType
from typing import Any

import mcp_types as types
from mcp import Client
from mcp.shared.exceptions import MCPError

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.mcp.client.connection import Connection
from toolkeel.mcp.client.lost_sessions import MAX_RENEWALS
from toolkeel.mcp.client.mend_responses import (
    UNREACHED,
    Unreachable,
    error_data,
    is_transport_error,
)
from toolkeel.mcp.client.outcome import with_hint
from toolkeel.mcp.client.pages import fetch_pages
from toolkeel.mcp.client.raw_requests import Progressed
from toolkeel.mcp.config import ServerConfig, with_overrides
from toolkeel.mcp.hidden_text import remove_hidden
from toolkeel.mcp.messages import unreadable_reason
from toolkeel.mcp.server.multi_round_calls import Exchange, Request, is_modern
from toolkeel.mcp.server.sessions import Sessions
from toolkeel_studio.gateway.server_connection import (
    CALL_SECONDS,
    ServerConnection,
    abandon_call,
    current_call,
    stamp_client,
)

MAX_CONNECTIONS = 32
"""Connections of one server beside the first; clients beyond that share one, call after call."""
IDLE_SECONDS = 600.0
"""Seconds after which the connection of a client that calls no more is ended."""
MAX_INSTRUCTIONS = 4000
"""Most characters of what one server says of its use: a stranger's text, in everybody's prompt."""

RESTART_SECONDS = 5.0
"""Seconds for which calls wait for a server on the network that was reachable and is not any more."""
RESTART_PAUSE = 0.2

log = logging.getLogger("toolkeel.mcp")


@record
class ServerLists:
    """What a server has.

    Args:
        tools: By its own names.
        prompts: By its own names.
        resources: By address.
        templates: By address.
    """

    tools: Mapping[str, types.Tool]
    prompts: Mapping[str, types.Prompt]
    resources: Mapping[str, types.Resource]
    templates: Mapping[str, types.ResourceTemplate]


NO_LISTS = ServerLists({}, {}, {}, {})


class Upstream:
    """One server behind the gateway.

    Args:
        config: Where it is.
        changed: Told when its lists may have changed.
        sessions: Know from which level on each wants to be told what is logged.
        env: More variables of its program.

    Attributes:
        lists: What it had when it was last asked.
        problem: Why it cannot be used; empty if it can.
        failures: How often in a row it could not be used.
        since: When it became usable or unusable, in seconds of Unix time.
        listed: Set when it was asked for the first time, whatever came of it.
        listed_seconds: Seconds from `made_at`, on the monotonic clock, until then.
        call_count: How many calls were sent to it.
        questions: How often it asked something.
        has_own_connections: True if each client has a connection of its own.
        name_resources: Replaces the URIs of resources in a question to a client by those it knows.
    """

    def __init__(
        self,
        config: ServerConfig,
        changed: Callable[[], object],
        sessions: Sessions | None = None,
        env: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.config = config
        self._started = with_overrides(config, None, env if config.command else None, None)
        self.made_at, self.listed_seconds = monotonic(), 0.0
        self.failures, self.call_count, self.since = 0, 0, time()
        self._sessions = sessions or Sessions()
        self.lists = NO_LISTS
        self.problem = ""
        self.listed = asyncio.Event()
        self.questions = 0
        self.has_own_connections = False
        self.name_resources: Callable[[dict[str, Any]], object] = lambda _: None
        self._unreached_since: float | None = None
        self._probe: asyncio.Task[None] | None = None
        self._is_closed = False
        self._shared = self._make_connection()
        self.link.on_lists_changed = changed
        self._client_connections: dict[object, ServerConnection] = {}
        self._users: list[object] = []
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def link(self) -> Connection:
        """The connection that lists are requested on."""
        return self._shared.link

    @property
    def name(self) -> str:
        """The name in the file."""
        return self.config.name

    @property
    def cache_scope(self) -> str:
        """The scope under which gateways share its cached results."""
        return f"{self.name} {self.config.identity}"

    def allows_tool(self, tool: types.Tool) -> bool:
        """Return True if the server's file allows a tool."""
        return self.config.allows_tool(tool.name)

    @property
    def is_ready(self) -> bool:
        """True if it was listed and can be used."""
        return self.listed.is_set() and not self.problem

    async def refresh(self) -> None:
        """Request its lists; on failure set `problem` and empty the lists."""
        problem, lists = "", NO_LISTS
        try:
            lists = await self._fetch_lists()
        except (Unreachable, SetupError, MCPError, ValueError) as error:
            problem = unreadable_reason(error) if isinstance(error, ValueError) else str(error)
            if problem != self.problem:
                log.warning("%s is left out: %s", self.name, error)
        except BaseException:
            self.listed.set()
            raise
        if bool(problem) != bool(self.problem) or not self.listed.is_set():
            self.since = time()
        self.problem, self.failures = problem, self.failures + 1 if problem else 0
        if lists != self.lists:  # else what was made of them stays
            self.lists = lists
        if not self.listed.is_set():
            self.listed_seconds = monotonic() - self.made_at
            self.listed.set()

    async def _fetch_lists(self) -> ServerLists:
        tools = await self.link.tools(fresh=True)  # also of a server that does not say it has some
        has = (await self.link.client()).server_capabilities
        prompts = await self._fetch_list("prompts", Client.list_prompts, "name", has.prompts)
        resources = await self._fetch_list("resources", Client.list_resources, "uri", has.resources)
        templates = await self._fetch_list(
            "resource_templates", Client.list_resource_templates, "uri_template", has.resources
        )
        return ServerLists(tools, prompts, resources, templates)

    async def _fetch_list(
        self, what: str, fetch: Callable[..., Awaitable[Any]], key: str, declared: object
    ) -> dict[str, Any]:
        """Request one list besides the tools; a failure affects no other list."""
        found: dict[str, Any] = {}
        try:
            if declared is not None:
                async for page in fetch_pages(
                    lambda at: self.link.run(partial(fetch, cursor=at)), self.name
                ):
                    found |= {getattr(each, key): each for each in getattr(page, what)}
        except (MCPError, ValueError) as error:
            if not isinstance(error, MCPError) or error.code != types.METHOD_NOT_FOUND:
                log.warning("%s does not list its %s: %s", self.name, what, error)
        return found

    async def instructions(self) -> str:
        """Return the server's instructions under its name, or an empty string if there are none."""
        text = (await self.link.client()).instructions if self.link.is_alive else None
        text = remove_hidden(text or "")[0].strip()[:MAX_INSTRUCTIONS]
        return f"# {self.name}\n\n{text}" if text else ""

    # — requests —

    async def send(
        self, method: str, params: Mapping[str, Any], progressed: Progressed | None = None
    ) -> dict[str, Any]:
        """Send a request and return its raw result; wait for a server that restarts.

        Raises:
            MCPError: it answered with an error, or there is no answer.
            Unreachable, SetupError: there is no connection; nothing was sent.
        """
        while True:
            try:
                result = await self._send_in_session(method, params, progressed)
            except (MCPError, Unreachable) as error:
                if not (is_unreached(error) and is_first_round(params) and self._may_restart()):
                    raise
                await self._wait_for_restart()
                if self._is_closed:  # a call would open it again
                    raise
            else:
                self._unreached_since = None
                return result

    async def _wait_for_restart(self) -> None:
        """Return when the server answers again, after `RESTART_SECONDS`, or on `close`; all calls wait for one probe."""
        if self._probe is None or self._probe.done():
            self._probe = asyncio.create_task(self._ping_until_answered(), context=Context())
        await asyncio.wait([self._probe])  # `close` cancels the probe, not those who wait for it

    async def _ping_until_answered(self) -> None:
        """Send a ping again and again, and begin a new session if the old one is forgotten."""
        while self._may_restart():
            await asyncio.sleep(RESTART_PAUSE)
            try:
                await asyncio.wait_for(self._send_in_session("ping", {}, None), RESTART_SECONDS)
            except (MCPError, Unreachable) as error:
                if is_unreached(error):
                    continue
            except (SetupError, TimeoutError):
                pass  # each call finds out by itself
            return

    def _may_restart(self) -> bool:
        """Return True for some seconds after a server on the network could be reached."""
        self._unreached_since = self._unreached_since or monotonic()
        recently = monotonic() - self._unreached_since < RESTART_SECONDS
        return recently and self.is_ready and bool(self.config.url) and not self._is_closed

    async def _send_in_session(
        self, method: str, params: Mapping[str, Any], progressed: Progressed | None
    ) -> dict[str, Any]:
        """Send a request and return its raw result; again in a new session if ours is over."""
        for renewals in range(MAX_RENEWALS + 1):
            link = self._link()
            client = await link.client()
            try:
                with link.in_use(client):
                    return await self._send_raw(link, client, method, params, progressed)
            except MCPError as error:
                if error.code == types.REQUEST_TIMEOUT:
                    abandon_call()
                did_nothing = await link.renew_after(error, client) and is_first_round(params)
                if not did_nothing or renewals == MAX_RENEWALS:
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def _send_raw(
        self,
        link: Connection,
        client: Client,
        method: str,
        params: Mapping[str, Any],
        progressed: Progressed | None,
    ) -> dict[str, Any]:
        session = client.session
        data: dict[str, Any] = {"method": method, "params": dict(params)}
        seconds = self.config.timeout or CALL_SECONDS
        options: Any = {"timeout": seconds}
        if progressed is not None:
            options["on_progress"] = progressed
        # The session's own envelope and dispatcher, without its models of requests and results.
        session._stamp(data, options)  # pyright: ignore[reportPrivateUsage]
        stamp_client(data["params"].get("_meta"))
        if link.raw.is_open:
            return await link.raw.send(method, data["params"], seconds, progressed)
        dispatcher = session._dispatcher  # pyright: ignore[reportPrivateUsage]
        return await dispatcher.send_raw_request(method, data["params"], options)

    def _link(self) -> Connection:
        """Return the connection of the current call, or the shared one."""
        lane = current_call()
        return lane.link if lane is not None and lane.server is self else self.link

    # — whose connection —

    @asynccontextmanager
    async def run_call(self, client: str, exchange: Exchange) -> AsyncIterator[None]:
        """Register a call while the context is active, so that questions reach its client."""
        request = exchange.request
        assert request is not None
        self.call_count += 1
        connection = request.session._connection  # pyright: ignore[reportPrivateUsage]
        nameless = is_modern(request) and request.request is not None  # and has no session
        key = client or (None if nameless else connection)
        lane = self._connection_for(key)
        one_by_one = self.has_own_connections and lane is self._client_connections.get(None)
        try:
            async with lane.run_call(client or connection, exchange, one_by_one):
                yield
        finally:
            if lane is not self._shared:
                asyncio.get_running_loop().call_later(IDLE_SECONDS, self._close_idle, IDLE_SECONDS)

    def _connection_for(self, key: object) -> ServerConnection:
        """Return the connection of a client. The shared one until clients must be separated."""
        if not self.has_own_connections and key not in self._users[:2]:
            self._users.append(key)  # a third changes nothing
            del self._users[2:]
        if not self.has_own_connections or (self._users == [key] and key is not None):
            return self._shared
        if key not in self._client_connections and len(self._client_connections) >= MAX_CONNECTIONS:
            self._close_idle(0.0)
            key = key if len(self._client_connections) < MAX_CONNECTIONS else None
        if key not in self._client_connections:
            self._client_connections[key] = self._make_connection()
        return self._client_connections[key]

    def _make_connection(self) -> ServerConnection:
        name = lambda question: self.name_resources(question)  # noqa: E731 - it is replaced later
        return ServerConnection(self, self._started, self._sessions, self._on_question, name)

    def _on_question(self, named: bool) -> None:
        self.questions += 1
        self.has_own_connections = self.has_own_connections or not named

    def _close_idle(self, seconds: float) -> None:
        """Close connections that were idle for so long; stop their processes."""
        for key, lane in list(self._client_connections.items()):
            if not lane.is_busy and monotonic() - lane.last_used >= seconds:
                del self._client_connections[key]
                task = asyncio.create_task(lane.link.close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)

    async def send_log_level(self) -> None:
        """Set the lowest wanted log level on all connections."""
        await asyncio.gather(
            *(each.send_log_level() for each in (self._shared, *self._client_connections.values()))
        )

    async def close(self) -> None:
        """Close all connections; stop their processes; calls that wait for a restart fail as not sent."""
        self._is_closed = True
        if self._probe is not None:
            self._probe.cancel()
        self._close_idle(0.0)
        busy = [lane.link.close() for lane in (self._shared, *self._client_connections.values())]
        await asyncio.gather(*busy, *self._closing)


def is_unreached(error: Exception) -> bool:
    """Return True if a request was surely not sent, because there was no connection."""
    if isinstance(error, MCPError):
        return error.code == UNREACHED and is_transport_error(error)
    return isinstance(error, Unreachable)


def is_first_round(params: Mapping[str, Any]) -> bool:
    """Return True if a request answers no earlier question of the server."""
    return "requestState" not in params and "inputResponses" not in params


def as_client_error(error: MCPError) -> MCPError:
    """Convert an error of a server to one for the client."""
    return MCPError(error.code, with_hint(error.message), error_data(error.error))


async def raise_as_protocol_error(work: Callable[[], Awaitable[Any]], request: Request) -> Any:
    """Run a request. Raise failures as protocol errors."""
    try:
        result = await work()
    except MCPError as error:
        raise as_client_error(error) from error
    except (Unreachable, SetupError) as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
    if isinstance(result, dict) and is_modern(request):  # what servers of older ones do not say
        caching = {"ttlMs": 0, "cacheScope": "private"} if "contents" in result else {}
        return {"resultType": "complete", **caching, **result}
    return result

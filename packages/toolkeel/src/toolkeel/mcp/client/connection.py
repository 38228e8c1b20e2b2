"""The connection to one MCP server: opened on first use, reopened after a loss.

Theory of operation. All of this runs on the library's own event loop; callers on others use `on_own_loop`.
The SDK's cancel scopes are left by the task that entered them, so one task per connection (`_hold_open`)
enters transport and client, publishes the client, and waits for the end. States of a `Connection`::

               client()                  handshake done
    CLOSED ------------------> OPENING ------------------> OPEN --+
      ^                          |   |                       |    | tools(), calls
      |   Unreachable/SetupError |   | HTTP only: try SSE    |    |
      +--------------------------+   +--> OPENING            +----+
      |                                                      |
      +---- close(), process ended, stream closed, error ----+

- CLOSED to OPENING: if a person consented to the server, what it starts is compared once more with
  what they agreed to (`check_unchanged`). A lock makes concurrent callers share one attempt.
- OPENING: `mode="auto"` negotiates the newest revision. After a server has answered in an older one,
  later attempts start with that. A failed HTTP attempt is repeated once with the older SSE transport,
  a process that ended at the first question once in the older form, where `initialize` comes first.
- OPEN: `GuardedStream` limits incoming messages, repairs responses before the SDK validates them, and
  sets the end event when the transport ends. Lists are cached until the server reports a change.
- On loss, open requests fail. The next `client()` reopens the connection, and resource subscriptions
  are renewed. If the server has only forgotten the session, its client is retired: it ends when its
  last request has an answer, and the next request opens a new one. `run` then repeats what only reads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from contextvars import Context
from typing import Any, TypeVar

import httpx2
import mcp_types as types
from mcp.client import Client, ClientExtension
from mcp.client.session import ElicitationFnT, ListRootsFnT, LoggingFnT, SamplingFnT
from mcp.shared.exceptions import MCPError

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.mcp.client.elicitation import MAX_QUESTIONS, limit_concurrency
from toolkeel.mcp.client.frames import RateLimiter
from toolkeel.mcp.client.guarded_stream import GuardedStream
from toolkeel.mcp.client.http import NetworkOptions, http
from toolkeel.mcp.client.lost_sessions import (
    MAX_RENEWALS,
    RetiredClients,
    has_session_ended,
    innermost_error,
    is_closed,
    is_session_lost,
    is_session_over,
)
from toolkeel.mcp.client.mend_responses import (
    OUTPUT_FOLLOWS,
    ResponseRepair,
    Unreachable,
    UnreachableQuoted,
    describe_failure,
)
from toolkeel.mcp.client.pages import fetch_pages
from toolkeel.mcp.client.raw_requests import RawRequests
from toolkeel.mcp.client.resource_subscriptions import ResourceSubscriptions, listen_for_changes
from toolkeel.mcp.client.stdio import Stderr, stdio
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.consent import check_unchanged
from toolkeel.mcp.messages import unreadable_reason

MAX_TOOLS = 10_000  # of one server
LEGACY_SECONDS = 10.0
"""Seconds for a server on the network to answer in the older form, once the newer has failed."""
log = logging.getLogger("toolkeel.mcp")
T = TypeVar("T")


@record
class ConnectionOptions:
    """How a server is connected.

    Args:
        config: Its address or command.
        auth: Authorizes requests on the network; None for none.
        elicit: Answers questions of the server to a person; None refuses them.
        timeout: Seconds for each request on an open connection; None for no limit.
        connect_timeout: Seconds to open the connection, handshake included.
        sample: Answers requests of the server to the program's model; None refuses them.
        roots: Returns the folders that the server may work in; None for none.
        http_client: The program's own client that sends requests on the network; None for ours.
        extensions: Extensions declared to the server.
    """

    config: ServerConfig
    auth: httpx2.Auth | None
    elicit: ElicitationFnT | None
    timeout: float | None
    connect_timeout: float
    sample: SamplingFnT | None = None
    roots: ListRootsFnT | None = None
    http_client: httpx2.AsyncClient | None = None
    extensions: tuple[ClientExtension, ...] = ()


class Connection:
    """The connection to one server, opened at first use and again after a loss; for the library's own loop only."""

    def __init__(self, options: ConnectionOptions) -> None:
        self._options = options
        self._name = options.config.name
        self._lock = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._client: Client | None = None
        self._closed = asyncio.Event()
        self._legacy = options.config.is_legacy
        self.revision: str | None = None
        self._sse = options.config.kind == "sse"
        self._network = NetworkOptions(options.config, options.auth, options.http_client)
        self._tools: dict[str, types.Tool] | None = None
        self.sift = ResponseRepair(lambda: self.revision)
        self.watches = ResourceSubscriptions(self.run, lambda: self._legacy)
        self.sessions = RetiredClients()
        self.in_use = self.sessions.in_use
        self.stderr = Stderr()
        self.raw = RawRequests(self._name, self.sift, self._on_log_message)
        self.open_count = 0
        self.on_lists_changed: Callable[[], object] = lambda: None
        self.on_log: LoggingFnT | None = None
        self.on_open: Callable[[Client], Awaitable[object]] = lambda _: asyncio.sleep(0)

    # — opening and closing —

    async def client(self) -> Client:
        """Return the SDK's client of the open connection; open one if there is none.

        Raises:
            Unreachable: there is none, and it says why.
            SetupError: the connection cannot be opened, now or later.
        """
        async with self._lock:
            if self._client is None or self._closed.is_set():
                await self._close()
                await self._open()
            assert self._client is not None
            return self._client

    @property
    def is_alive(self) -> bool:
        """True if the connection is open, as far as is known."""
        return self._client is not None and not self._closed.is_set()

    async def close(self) -> None:
        """Close the connection, and stop the server's process."""
        async with self._lock:
            await self.sessions.close()
            await self._close()

    async def run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Run requests that only read, at most `MAX_RENEWALS` times again in a new session if the server ended ours.

        Raises:
            Unreachable, SetupError: As of `client`.
            MCPError: the server answered a request with an error.
        """
        for renewals in range(MAX_RENEWALS + 1):
            client = await self.client()
            try:
                with self.in_use(client):
                    return await work(client)
            except MCPError as error:
                await self.renew_after(error, client)
                if renewals == MAX_RENEWALS or not is_session_over(error):
                    raise
        raise AssertionError("the last attempt returns or raises")

    async def renew_after(self, error: MCPError, client: Client) -> bool:
        """Retire a client if an error ended its session. Return True if the server surely did not run the request.

        Args:
            error: Error of a request.
            client: The client that sent it. A client that was replaced already is ignored.
        """
        if await has_session_ended(error, client):
            async with self._lock:
                if self._client is client and self._task is not None:
                    self.watches.close()
                    self.sessions.retire(client, self._task, self._closed)
                    self._task, self._client, self._tools = None, None, None
                    self._closed = asyncio.Event()  # the old one ends the old connection
        return is_session_lost(error)

    async def _close(self) -> None:
        """End the connection's task and wait for it; stop its subscriptions; forget its client and tools."""
        self._closed.set()
        self.watches.close()
        task, self._task, self._client, self._tools = self._task, None, None, None
        if task is not None:
            await asyncio.wait([task])

    async def _open(self) -> None:
        """Open a connection, in an older form if the newest fails at once; raise Unreachable or SetupError."""
        try:
            await self._attempt(self._options.connect_timeout)
        except Unreachable as error:
            if not self._legacy and self._options.config.command and is_closed(error.__cause__):
                self._legacy = True  # many end at any first request but `initialize`
                try:
                    return await self._attempt(self._options.connect_timeout)
                finally:
                    self._legacy = self.is_alive
            if self._sse or not self._network.config.url or error.__cause__ is None:  # or silent
                raise
            self._sse = True  # it may know only the older form, with events
            try:
                await self._attempt(min(self._options.connect_timeout, LEGACY_SECONDS))
            except (Unreachable, SetupError):
                raise error from error.__cause__
            finally:
                self._sse = self.is_alive

    async def _attempt(self, limit: float) -> None:
        """Open a connection in `limit` seconds, longer while a person logs in, or raise as `client`; renew subscriptions."""
        self._closed = asyncio.Event()
        self.revision = None
        self.stderr = Stderr()
        self.raw = RawRequests(self._name, self.sift, self._on_log_message)
        ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._hold_open(ready, self._closed), context=Context())
        await asyncio.wait([ready], timeout=limit)
        while not ready.done() and getattr(self._options.auth, "at_login", False):
            await asyncio.wait([ready], timeout=limit)  # a person takes as long as it takes
        if ready.done() and ready.exception() is None:
            self._task, self._client = task, ready.result()
            self.open_count += 1
            await self.on_open(self._client)
            if self.open_count > 1:
                await self.watches.resubscribe(self._client)
            return
        error = innermost_error(ready.exception()) if ready.done() else None
        task.cancel()
        await asyncio.wait([task])
        if isinstance(error, SetupError):
            raise error
        why = describe_failure(error) if error else f"it did not answer within {limit:g} seconds"
        output = f"{OUTPUT_FOLLOWS}\n{self.stderr}" if str(self.stderr).strip() else ""
        kind = UnreachableQuoted if output or isinstance(error, MCPError) else Unreachable
        raise kind(f"the MCP server {self._name!r} cannot be used: {why}{output}") from error

    async def _hold_open(self, ready: asyncio.Future[Client], over: asyncio.Event) -> None:
        """Hold a connection open until `over`; pass its client, or the error, to `ready`. A later break is logged."""
        try:
            async with self._connected(over) as client:
                ready.set_result(client)
                listener = asyncio.create_task(
                    listen_for_changes(client, self._invalidate_lists, self._name)
                )
                try:
                    await over.wait()
                finally:
                    listener.cancel()
                    await asyncio.wait([listener])
        except BaseException as error:
            if not ready.done():
                why = error if isinstance(error, Exception) else Unreachable("cancelled")
                ready.set_exception(why)
                ready.exception()  # whoever waits takes it; nobody else has to
            elif isinstance(error, Exception):
                log.warning(
                    "the connection to %s broke: %s",
                    self._name,
                    describe_failure(innermost_error(error) or error),
                )
        finally:
            over.set()

    @asynccontextmanager
    async def _connected(self, over: asyncio.Event) -> AsyncIterator[Client]:
        """Yield an initialized client until the context ends; record the protocol's revision and form."""
        options = self._options
        elicit = options.elicit and limit_concurrency(options.elicit, MAX_QUESTIONS, _CANCELLED)
        sample = options.sample and limit_concurrency(options.sample, MAX_QUESTIONS, _BUSY)
        client = Client(
            self._guarded_transport(over),
            elicitation_callback=elicit,
            sampling_callback=sample,
            list_roots_callback=options.roots,
            logging_callback=self._on_log_message,
            message_handler=self._on_message,
            client_info=types.Implementation(name="toolkeel", version="0"),
            extensions=options.extensions,
            mode="legacy" if self._legacy or self._sse else "auto",
        )
        async with client:
            # Checked by us: with bounds, and without regular expressions that never end.
            client.session.validate_tool_result = _skip_validation  # type: ignore[method-assign]
            # Not before: `connect_timeout` bounds the handshake.
            client.read_timeout_seconds = options.timeout
            client.session._session_read_timeout_seconds = options.timeout
            self._legacy = client.session.initialize_result is not None
            self.revision = client.protocol_version
            yield client

    @asynccontextmanager
    async def _guarded_transport(self, over: asyncio.Event) -> AsyncIterator[Any]:
        """Yield the transport with a rate limit, repaired responses and an end event. Raises as `check_unchanged`."""
        if self._options.config.agreed_fingerprint:
            await asyncio.to_thread(check_unchanged, self._options.config)
        async with self._transport() as (read, write):
            yield GuardedStream(read, RateLimiter(self._name), over.set, self.sift), write

    def _transport(self) -> AbstractAsyncContextManager[Any]:
        """Return the transport, not open: a process, or HTTP (with ``_sse`` the older form). Raises as `stdio`."""
        config = self._options.config
        if config.command:
            return stdio(config, self.stderr, self.raw)
        return http(self._network, min(self._options.connect_timeout, 30.0), older=self._sse)

    # — the tools —

    @property
    def known_tools(self) -> dict[str, types.Tool] | None:
        """The cached tools; None if they must be requested. Safe to read from any thread."""
        return self._tools if self.is_alive else None

    async def tools(self, *, fresh: bool = False) -> dict[str, types.Tool]:
        """Return the server's tools by name, in its order; cached until it says that they changed.

        Args:
            fresh: Request them again, unless the server declared how long its answer is valid.

        Raises:
            Unreachable, SetupError: As of `client`, or the listing cannot be read.
        """
        await self.client()
        if self._tools is None or fresh:
            self.sift.problems = {}
            tools = self._tools = await self._list_tools()
            return tools
        return self._tools

    async def _list_tools(self) -> dict[str, types.Tool]:
        """Request up to `MAX_TOOLS` tools, of each name the first, or raise `Unreachable`; none without that method."""
        found: dict[str, types.Tool] = {}
        try:
            async for page in fetch_pages(
                lambda at: self.run(lambda client: client.list_tools(cursor=at)), self._name
            ):
                for tool in page.tools[: MAX_TOOLS - len(found)]:
                    if tool.name in found:
                        log.warning("%s lists %r twice; the first counts", self._name, tool.name)
                    found.setdefault(tool.name, tool)
        except MCPError as error:
            if error.code == types.METHOD_NOT_FOUND:
                return found
            why = error.message
        except ValueError as error:
            why = f"its answer breaks the protocol: {unreadable_reason(error)}"
        else:
            return found
        raise UnreachableQuoted(f"the MCP server {self._name!r} does not list its tools: {why}")

    # — what the server says by itself —

    async def _on_message(self, message: object) -> None:
        """Notify watchers of a changed resource, or drop cached lists; ignore any other notification."""
        if isinstance(message, types.ResourceUpdatedNotification):
            self.watches.notify(str(message.params.uri))
        elif isinstance(message, _LIST_CHANGES):
            self._invalidate_lists()

    def _invalidate_lists(self) -> None:
        """Drop cached lists, which may have changed, and call `on_lists_changed`."""
        self._tools = None
        self.on_lists_changed()

    async def _on_log_message(self, params: types.LoggingMessageNotificationParams) -> None:
        """Log what the server logs, and pass it to `on_log`."""
        log.log(_LEVELS.get(params.level, logging.INFO), "%s: %.2000s", self._name, params.data)
        if self.on_log is not None:
            await self.on_log(params)


_CANCELLED = types.ElicitResult(action="cancel")
_BUSY = types.ErrorData(code=-1, message="too much is asked at once")
_LIST_CHANGES = (
    types.ToolListChangedNotification,
    types.PromptListChangedNotification,
    types.ResourceListChangedNotification,
)
_LEVELS = {
    "debug": logging.DEBUG,
    "warning": logging.WARNING,
    **dict.fromkeys(("error", "critical", "alert", "emergency"), logging.ERROR),
}


async def _skip_validation(name: str, result: types.CallToolResult) -> None:
    """Do nothing, in place of the SDK's validation: the tool validates its own results."""

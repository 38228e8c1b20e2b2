"""One server behind the gateway: its lists, its calls in plain JSON, and what it asks.

A call goes as the JSON it came as, and its result comes back as JSON: nothing on the way is made a
model of. What the server asks in the middle of a call goes to the client whose call it is. Over
stdio such a question names no call; where calls of two clients are running, nobody can know whose
it is, so it is cancelled rather than guessed, and from then on that server's calls queue.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from contextvars import ContextVar
from typing import Any

import mcp_types as types
from mcp.client import ClientRequestContext
from mcp.shared.exceptions import MCPError
from mcp_types import CLIENT_CAPABILITIES_META_KEY, LOG_LEVEL_META_KEY

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.mcp.client.connection import Link, LinkOptions, Unreachable
from toolkeel.mcp.client.login import kept
from toolkeel.mcp.client.outcome import was_forgotten
from toolkeel.mcp.client.pages import walk
from toolkeel.mcp.client.raw_requests import Progressed
from toolkeel.mcp.client.salvage import data_of
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.hidden_text import clean
from toolkeel.mcp.server.asking import LEVELS, Client, Feature, Level
from toolkeel.mcp.server.rounds import Exchange, Request, is_modern

TIMEOUT = 600.0
"""Seconds of one call; hosts have limits of their own, which are nearly always shorter."""
CONNECT = 60.0
INSTRUCTIONS = 4000
"""Most characters of what one server says of its use: a stranger's text, in everybody's prompt."""

log = logging.getLogger("toolkeel.mcp")


@record
class Lists:
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


EMPTY = Lists({}, {}, {}, {})


@record
class Running:
    """A call that is running there.

    Args:
        client: Whose it is: a name that goes with a token, or a connection where nobody has one.
        exchange: The client's request, by which it can be asked.
        level: From which level on it wants to be told what is logged; None: nothing.
        offered: What it can be asked for, as a request of the newest revision says it.
    """

    client: object
    exchange: Exchange
    level: Level | None
    offered: Mapping[str, Any]


_call: ContextVar[Running | None] = ContextVar("toolkeel_gateway_call", default=None)
_ASKABLE = {"elicitation", "sampling", "roots"}


class Upstream:
    """One server.

    Args:
        config: Where it is.
        changed: Told when its lists may have changed.
        level_of: From which level on the session of a request wants to be told what is logged.

    Attributes:
        lists: What it had when it was last asked.
        problem: Why it cannot be used; empty if it can.
        ready: Set when it was asked for the first time, whatever came of it.
    """

    def __init__(
        self,
        config: ServerConfig,
        changed: Callable[[], object],
        level_of: Callable[[Request], str] = lambda _: "debug",
    ) -> None:
        self.config = config
        self._level_of = level_of
        self.lists = EMPTY
        self.problem = ""
        self.ready = asyncio.Event()
        options = LinkOptions(
            config, kept(config), self._elicit, TIMEOUT, CONNECT, self._sample, self._roots
        )
        self.link = Link(options)
        self.link.changed = changed
        self.link.logged = self._logged
        self._running: dict[int, Running] = {}
        self._turn = asyncio.Lock()
        self._asks = False

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.config.name

    def takes(self, tool: types.Tool) -> bool:
        """Whether its file lets a tool be used."""
        return self.config.takes(tool.name)

    async def refresh(self) -> None:
        """Ask for its lists; what is wrong is in `problem`, and then it has nothing."""
        try:
            self.lists = await self._listed()
            self.problem = ""
        except (Unreachable, SetupError, MCPError, ValueError) as error:
            self.lists, self.problem = EMPTY, str(error)
            log.warning("%s is left out: %s", self.name, error)
        finally:
            self.ready.set()

    async def _listed(self) -> Lists:
        client = await self.link.client()
        has = client.server_capabilities
        tools = await self.link.tools(fresh=True) if has.tools is not None else {}
        prompts: dict[str, types.Prompt] = {}
        resources: dict[str, types.Resource] = {}
        templates: dict[str, types.ResourceTemplate] = {}
        if has.prompts is not None:
            async for page in walk(lambda at: client.list_prompts(cursor=at), self.name):
                prompts |= {each.name: each for each in page.prompts}
        if has.resources is not None:
            async for page in walk(lambda at: client.list_resources(cursor=at), self.name):
                resources |= {each.uri: each for each in page.resources}
            async for page in walk(lambda at: client.list_resource_templates(cursor=at), self.name):
                templates |= {each.uri_template: each for each in page.resource_templates}
        return Lists(tools, prompts, resources, templates)

    async def instructions(self) -> str:
        """How it says it should be used, under its name; empty if it says nothing."""
        said = (await self.link.client()).instructions if self.link.alive else None
        text = clean(said or "")[0].strip()[:INSTRUCTIONS]
        return f"# {self.name}\n\n{text}" if text else ""

    # — requests —

    async def send(
        self, method: str, params: Mapping[str, Any], progressed: Progressed | None = None
    ) -> dict[str, Any]:
        """Make a request, and give its result as it came.

        Raises:
            MCPError: it answered with an error, or there is no answer.
            Unreachable, SetupError: there is no connection; nothing was sent.
        """
        try:
            return await self._sent(method, params, progressed)
        except MCPError as error:
            if not (was_forgotten(error) and is_first(params)):
                raise
        await self.link.close()  # the server has forgotten us, and did nothing
        return await self._sent(method, params, progressed)

    async def _sent(
        self, method: str, params: Mapping[str, Any], progressed: Progressed | None
    ) -> dict[str, Any]:
        session = (await self.link.client()).session
        data: dict[str, Any] = {"method": method, "params": dict(params)}
        options: Any = {"timeout": TIMEOUT}
        if progressed is not None:
            options["on_progress"] = progressed
        # The session's own envelope and dispatcher, without its models of requests and results.
        session._stamp(data, options)  # pyright: ignore[reportPrivateUsage]
        _stamp_client(data["params"].get("_meta"))
        if self.link.raw.usable:
            return await self.link.raw.send(method, data["params"], TIMEOUT, progressed)
        dispatcher = session._dispatcher  # pyright: ignore[reportPrivateUsage]
        return await dispatcher.send_raw_request(method, data["params"], options)

    @asynccontextmanager
    async def running(self, client: str, exchange: Exchange) -> AsyncIterator[None]:
        """Around a call, so that what the server asks meanwhile reaches whose call it is."""
        turn: AbstractAsyncContextManager[Any] = self._turn if self._asks else nullcontext()
        async with turn:
            call = self._running_of(client, exchange)
            self._running[id(call)] = call
            token = _call.set(call)
            try:
                yield
            finally:
                _call.reset(token)
                del self._running[id(call)]

    def _running_of(self, client: str, exchange: Exchange) -> Running:
        request = exchange.request
        assert request is not None
        modern = is_modern(request)
        level = (request.meta or {}).get(LOG_LEVEL_META_KEY) if modern else self._level_of(request)
        connection = request.session._connection  # pyright: ignore[reportPrivateUsage]
        can = request.session.client_capabilities
        offered = can.model_dump(by_alias=True, exclude_none=True, include=_ASKABLE) if can else {}
        return Running(client or connection, exchange, level if level in LEVELS else None, offered)

    # — what it asks —

    async def _elicit(
        self, context: ClientRequestContext, params: types.ElicitRequestParams
    ) -> types.ElicitResult | types.ErrorData:
        wanted: Feature = (
            "url" if isinstance(params, types.ElicitRequestURLParams) else "elicitation"
        )
        exchange = self._whose(wanted)
        if exchange is None:
            return types.ElicitResult(action="cancel")
        request = types.ElicitRequest(params=params)
        return await exchange.ask("elicit", request, types.ElicitResult)

    async def _sample(
        self, context: ClientRequestContext, params: types.CreateMessageRequestParams
    ) -> types.CreateMessageResult | types.ErrorData:
        exchange = self._whose("sampling")
        if exchange is None:
            return types.ErrorData(code=-1, message="the client has no model to lend")
        request = types.CreateMessageRequest(params=params)
        return await exchange.ask("sample", request, types.CreateMessageResult)

    async def _roots(
        self, context: ClientRequestContext
    ) -> types.ListRootsResult | types.ErrorData:
        exchange = self._whose("roots")
        if exchange is None:
            return types.ListRootsResult(roots=[])
        return await exchange.ask("roots", types.ListRootsRequest(), types.ListRootsResult)

    def _whose(self, feature: Feature) -> Exchange | None:
        """The call that a question belongs to, if that is known and its client can answer."""
        call = self._known_call()
        if call is None:
            self._asks = bool(self._running) or self._asks
            return None
        return call.exchange if Client(call.exchange).can(feature) else None

    def _known_call(self) -> Running | None:
        """The call that something of the server's belongs to, if that is known.

        Over HTTP it comes in answer to a request of ours, and so in that one's context.
        """
        own = _call.get()
        if own is not None and id(own) in self._running:
            return own
        calls = list(self._running.values())
        return calls[-1] if len({call.client for call in calls}) == 1 else None

    async def _logged(self, params: types.LoggingMessageNotificationParams) -> None:
        call = self._known_call()
        if call is None or call.level is None:
            return
        if LEVELS.index(params.level) >= LEVELS.index(call.level):
            said = f"{self.name}: {params.logger}" if params.logger else self.name
            await Client(call.exchange).log(params.level, params.data, said)

    async def close(self) -> None:
        """End the connection; a process of ours is stopped."""
        await self.link.close()


def _stamp_client(meta: dict[str, Any] | None) -> None:
    """A request of the newest revision offers what the client in front can do, and no more."""
    call = _call.get()
    if call is None or meta is None or CLIENT_CAPABILITIES_META_KEY not in meta:
        return
    meta[CLIENT_CAPABILITIES_META_KEY] = call.offered
    if call.level is not None:
        meta[LOG_LEVEL_META_KEY] = call.level


async def instructions_of(servers: Iterable[Upstream]) -> dict[str, str]:
    """What servers say of their use, one after the other, as a part of a greeting."""
    said = [await each.instructions() for each in servers]
    return {"instructions": "\n\n".join(filter(None, said))} if any(said) else {}


def is_first(params: Mapping[str, Any]) -> bool:
    """Whether a request begins something: it answers no question that the server asked before."""
    return "requestState" not in params and "inputResponses" not in params


def as_it_came(error: MCPError) -> MCPError:
    """An error of a server, for the client in front."""
    return MCPError(error.code, error.message, data_of(error.error))

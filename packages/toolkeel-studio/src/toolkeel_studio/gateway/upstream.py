"""One server behind the gateway: its lists, its calls in plain JSON, and what it asks.

A call goes as the JSON it came as, and its result comes back as JSON: nothing on the way is made a
model of. There is one connection for all clients, until the server asks something without saying in
which call, as over stdio in the older revisions: from then on each client has one of its own.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from time import monotonic
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.mcp.client.connection import Link, Unreachable
from toolkeel.mcp.client.mend_responses import data_of
from toolkeel.mcp.client.outcome import was_forgotten, with_remedy
from toolkeel.mcp.client.pages import walk
from toolkeel.mcp.client.raw_requests import Progressed
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.hidden_text import clean
from toolkeel.mcp.server.multi_round_calls import Exchange, Request, is_modern
from toolkeel.mcp.server.sessions import Sessions
from toolkeel_studio.gateway.server_connection import TIMEOUT, Lane, current, give_up, stamp_client

MOST = 32
"""Connections of one server beside the first; clients beyond that share one, call after call."""
IDLE = 600.0
"""Seconds after which the connection of a client that calls no more is ended."""
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


class Upstream:
    """One server.

    Args:
        config: Where it is.
        changed: Told when its lists may have changed.
        sessions: Know from which level on each wants to be told what is logged.

    Attributes:
        lists: What it had when it was last asked.
        problem: Why it cannot be used; empty if it can.
        ready: Set when it was asked for the first time, whatever came of it.
        questions: How often it asked something.
        apart: Whether each client has a connection of its own.
    """

    def __init__(
        self, config: ServerConfig, changed: Callable[[], object], sessions: Sessions | None = None
    ) -> None:
        self.config = config
        self._sessions = sessions or Sessions()
        self.lists = EMPTY
        self.problem = ""
        self.ready = asyncio.Event()
        self.questions = 0
        self.apart = False
        self._shared = self._made()
        self.link.changed = changed
        self._own: dict[object, Lane] = {}
        self._users: list[object] = []
        self._closing: set[asyncio.Task[None]] = set()

    @property
    def link(self) -> Link:
        """The connection by which it is listed."""
        return self._shared.link

    @property
    def name(self) -> str:
        """Its name in the file."""
        return self.config.name

    @property
    def place(self) -> str:
        """Under which gateways keep its results together."""
        return f"{self.name} {self.config.identity}"

    def takes(self, tool: types.Tool) -> bool:
        """Whether its file lets a tool be used."""
        return self.config.takes(tool.name)

    async def refresh(self) -> None:
        """Ask for its lists; what is wrong is in `problem`, and then it has nothing."""
        try:
            lists = await self._listed()
            if lists != self.lists:  # else what was made of them stays
                self.lists = lists
            self.problem = ""
        except (Unreachable, SetupError, MCPError, ValueError) as error:
            self.lists, self.problem = EMPTY, str(error)
            log.warning("%s is left out: %s", self.name, error)
        finally:
            self.ready.set()

    async def _listed(self) -> Lists:
        client = await self.link.client()
        has = client.server_capabilities
        tools = await self.link.tools(fresh=True)  # also of a server that does not say it has some
        prompts = await self._every("prompts", client.list_prompts, "name", has.prompts)
        resources = await self._every("resources", client.list_resources, "uri", has.resources)
        templates = await self._every(
            "resource_templates", client.list_resource_templates, "uri_template", has.resources
        )
        return Lists(tools, prompts, resources, templates)

    async def _every(
        self, what: str, fetch: Callable[..., Awaitable[Any]], key: str, declared: object
    ) -> dict[str, Any]:
        """A list besides that of tools; one that cannot be had costs no other."""
        found: dict[str, Any] = {}
        try:
            if declared is not None:
                async for page in walk(lambda at: fetch(cursor=at), self.name):
                    found |= {getattr(each, key): each for each in getattr(page, what)}
        except (MCPError, ValueError) as error:
            if not isinstance(error, MCPError) or error.code != types.METHOD_NOT_FOUND:
                log.warning("%s does not list its %s: %s", self.name, what, error)
        return found

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
            if error.code == types.REQUEST_TIMEOUT:
                give_up()
            if not (was_forgotten(error) and is_first(params)):
                raise
        await self._link().close()  # the server has forgotten us, and did nothing
        return await self._sent(method, params, progressed)

    async def _sent(
        self, method: str, params: Mapping[str, Any], progressed: Progressed | None
    ) -> dict[str, Any]:
        link = self._link()
        session = (await link.client()).session
        data: dict[str, Any] = {"method": method, "params": dict(params)}
        seconds = self.config.timeout or TIMEOUT
        options: Any = {"timeout": seconds}
        if progressed is not None:
            options["on_progress"] = progressed
        # The session's own envelope and dispatcher, without its models of requests and results.
        session._stamp(data, options)  # pyright: ignore[reportPrivateUsage]
        stamp_client(data["params"].get("_meta"))
        if link.raw.usable:
            return await link.raw.send(method, data["params"], seconds, progressed)
        dispatcher = session._dispatcher  # pyright: ignore[reportPrivateUsage]
        return await dispatcher.send_raw_request(method, data["params"], options)

    def _link(self) -> Link:
        """Of the call that is being answered here, or the one for all."""
        lane = current()
        return lane.link if lane is not None and lane.server is self else self.link

    # — whose connection —

    @asynccontextmanager
    async def running(self, client: str, exchange: Exchange) -> AsyncIterator[None]:
        """Around a call, so that what the server asks meanwhile reaches whose call it is."""
        request = exchange.request
        assert request is not None
        connection = request.session._connection  # pyright: ignore[reportPrivateUsage]
        nameless = is_modern(request) and request.request is not None  # and has no session
        key = client or (None if nameless else connection)
        lane = self._lane(key)
        one_by_one = self.apart and lane is self._own.get(None)
        try:
            async with lane.running(client or connection, exchange, one_by_one):
                yield
        finally:
            if lane is not self._shared:
                asyncio.get_running_loop().call_later(IDLE, self._end_idle, IDLE)

    def _lane(self, key: object) -> Lane:
        """The connection of a client; the first that came keeps the first, if it was alone there."""
        if not self.apart and key not in self._users[:2]:
            self._users.append(key)  # a third changes nothing
            del self._users[2:]
        if not self.apart or (self._users == [key] and key is not None):
            return self._shared
        if key not in self._own and len(self._own) >= MOST:
            self._end_idle(0.0)
            key = key if len(self._own) < MOST else None
        if key not in self._own:
            self._own[key] = self._made()
        return self._own[key]

    def _made(self) -> Lane:
        return Lane(self, self.config, self._sessions, self._asked)

    def _asked(self, named: bool) -> None:
        self.questions += 1
        self.apart = self.apart or not named

    def _end_idle(self, seconds: float) -> None:
        """End connections that nobody has used for so long; processes of ours are stopped."""
        for key, lane in list(self._own.items()):
            if not lane.busy and monotonic() - lane.used >= seconds:
                del self._own[key]
                task = asyncio.create_task(lane.link.close())
                self._closing.add(task)
                task.add_done_callback(self._closing.discard)

    async def tell_level(self) -> None:
        """Have all its processes tell of what is logged from the lowest level on that is wanted."""
        await asyncio.gather(*(each.tell_level() for each in (self._shared, *self._own.values())))

    async def close(self) -> None:
        """End all connections; processes of ours are stopped."""
        self._end_idle(0.0)
        busy = [lane.link.close() for lane in (self._shared, *self._own.values())]
        await asyncio.gather(*busy, *self._closing)


async def instructions_of(servers: Iterable[Upstream]) -> dict[str, str]:
    """What servers say of their use, one after the other, as a part of a greeting."""
    said = [await each.instructions() for each in servers]
    return {"instructions": "\n\n".join(filter(None, said))} if any(said) else {}


def is_first(params: Mapping[str, Any]) -> bool:
    """Whether a request begins something: it answers no question that the server asked before."""
    return "requestState" not in params and "inputResponses" not in params


def as_it_came(error: MCPError) -> MCPError:
    """An error of a server, for the client in front."""
    return MCPError(error.code, with_remedy(error.message), data_of(error.error))


async def told(work: Callable[[], Awaitable[Any]], request: Request) -> Any:
    """A request without results that are errors: what goes wrong is an error of the protocol."""
    try:
        result = await work()
    except MCPError as error:
        raise as_it_came(error) from error
    except (Unreachable, SetupError) as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
    if isinstance(result, dict) and is_modern(request):  # what servers of older ones do not say
        kept = {"ttlMs": 0, "cacheScope": "private"} if "contents" in result else {}
        return {"resultType": "complete", **kept, **result}
    return result

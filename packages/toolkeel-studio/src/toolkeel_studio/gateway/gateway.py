"""Many MCP servers behind one: tools, prompts, resources, questions and progress passed through.

`Gateway` is a `ToolServer` whose offer lies elsewhere: transports, both eras of the protocol,
sessions, subscriptions and waiting rounds are those of any server.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, cast

import mcp_types as types
from mcp.server import Server
from mcp.server.context import CallNext, HandlerResult
from mcp.shared.exceptions import MCPError
from mcp.shared.subscriptions import PromptsListChanged, ResourcesListChanged, ToolsListChanged

from toolkeel._records.tickets import Approver
from toolkeel.errors import SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.pins import Pins
from toolkeel.mcp.server.multi_round_calls import Exchange, Request, client_id, is_modern
from toolkeel.mcp.server.snapshot import paginate
from toolkeel.mcp.server.tool_server import Paginated, ToolServer
from toolkeel_studio.gateway.audit import Audit
from toolkeel_studio.gateway.calls import (
    PASSED,
    Call,
    Gatekeeper,
    as_model,
    enveloped,
    error_result,
    forwarded,
    progress_of,
    send_asking_client,
)
from toolkeel_studio.gateway.changes import Changes, Shown
from toolkeel_studio.gateway.ledger import Ledger, SharedStore
from toolkeel_studio.gateway.policy import SEARCH_ABOVE, Policy
from toolkeel_studio.gateway.public_names import check_server
from toolkeel_studio.gateway.raw_calls import RawCalls
from toolkeel_studio.gateway.routes import Route, Table, for_revision
from toolkeel_studio.gateway.search import DEFINITION, NAME, find
from toolkeel_studio.gateway.upstream import Upstream, instructions_of, told

LISTING = 20.0
"""Seconds a list waits for servers that have not been reached yet."""
GREETING = 5.0
"""Seconds a client that connects waits for them: its host gives up soon after."""

log = logging.getLogger("toolkeel.mcp")


class Gateway(ToolServer):
    """Many servers as one.

    Args:
        configs: Where the servers are.
        policy: Who may call what; everything by default.
        pins: Approved definitions.
        audit: Where calls are written down.
        prefixed: False for one server whose names shall stay as they are.
        threshold: Tools beyond which they are searched for instead of listed.
        approver: Decides beside the host about calls that need a person: a `Desk`, or a function.
        shared: Where several gateways count calls and keep results together: a `KeyValueStore`.

    Attributes:
        policy: Who may call what now.
        beside: What runs as long as it serves.

    Raises:
        SetupError: names of servers that tools could not carry, or several without prefixes.
    """

    def __init__(
        self,
        configs: Iterable[ServerConfig],
        policy: Policy | None = None,
        pins: Pins | None = None,
        audit: Audit | None = None,
        *,
        prefixed: bool = True,
        threshold: int = SEARCH_ABOVE,
        approver: Approver | None = None,
        shared: SharedStore | None = None,
    ) -> None:
        super().__init__((), name="toolkeel gateway", version="0", prompts=(), resources=())
        configs = list(configs)
        if not prefixed and len(configs) != 1:
            raise SetupError("names can stay without a prefix only if there is one server")
        self._tasks: set[asyncio.Task[None]] = set()
        self._changes = Changes(
            self._renew, self.resource_updated, self._spawn, self._sessions.subscribed_uris
        )
        self._servers = {each.name: self._upstream(each.name, each) for each in configs}
        self.beside: list[Callable[[], Awaitable[None]]] = [self._renew]
        self._prefixed = prefixed
        self._threshold = threshold
        self.policy = policy or Policy()
        self._keeper = Gatekeeper(self.policy, pins or Pins(), audit, Ledger(shared), approver)
        self._keeper.figures = self.metrics
        self._audit = audit
        self._table = Table((), prefixed)
        self._found: dict[str, dict[str, None]] = {}
        self._shown = Shown(self._list, self._sessions.notify)
        self.sdk.middleware.append(self._hot)
        self._stamp = self.sdk.server_info_stamp
        self._raw = RawCalls(self.sdk.middleware)
        self.handle_line = self._raw.takes  # type: ignore[method-assign]

    @property
    def problems(self) -> Mapping[str, str]:
        """Servers that cannot be used now, and why."""
        return {name: each.problem for name, each in self._servers.items() if each.problem}

    # — servers —

    def _upstream(self, name: str, config: ServerConfig) -> Upstream:
        check_server(name)
        return Upstream(config, self._changes.stale, self._sessions)

    @asynccontextmanager
    async def _lifespan(self, _: Server[Any]) -> AsyncIterator[None]:
        for work in self.beside:
            self._spawn(work())
        try:
            yield
        finally:
            self._sessions.close()
            self._rounds.close()
            await self._raw.close()
            for task in list(self._tasks):
                task.cancel()
            closing = (each.close() for each in self._servers.values())
            await asyncio.gather(*closing, return_exceptions=True)
            if self._audit is not None:
                await asyncio.to_thread(self._audit.close)

    async def _renew(self) -> None:
        """Ask all servers for their lists, and tell the clients whose lists are others now."""
        await asyncio.gather(*map(self._reach, self._servers.values()))
        if not self.problems:
            for rule in self.policy.naming_nothing(self._table.tools):
                log.warning("a rule is about no tool there is: %s", rule)
        await self._shown.tell_changes()

    async def _reach(self, server: Upstream) -> None:
        await server.refresh()
        self._table = Table(self._servers.values(), self._prefixed, self._table)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def replace(self, configs: Mapping[str, ServerConfig]) -> None:
        """Other servers from now on; those that are the same go on, their calls too.

        Raises:
            SetupError: a name that tools could not carry; then nothing is changed.
        """
        old = self._servers
        kept = {
            name: old[name]
            for name, config in configs.items()
            if name in old and old[name].config == config
        }
        self._servers = {
            name: kept.get(name) or self._upstream(name, config) for name, config in configs.items()
        }
        await self._renew()
        for name, server in old.items():
            if name not in kept:
                await self._keeper.forget(server)
                await server.close()

    async def obey(self, policy: Policy) -> None:
        """Other rules from now on, for every call that is not sent yet.

        Raises:
            SetupError: as `Policy.become`; then nothing is changed.
        """
        self.policy.become(policy)
        await self._renew()

    async def _current(self, seconds: float = LISTING) -> Table:
        """The table, once every server was asked or has taken too long."""
        waiting = [each.ready.wait() for each in self._servers.values() if not each.ready.is_set()]
        if waiting:
            tasks = [asyncio.ensure_future(each) for each in waiting]
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
        return self._table

    # — calls —

    async def _hot(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Calls of tools: by the fast way, which knows no models, wherever that is enough."""
        if ctx.method == "tools/call":
            self._raw.begin(ctx)
            return await self._call(ctx, dict(ctx.params or {}))
        if ctx.method in ("resources/subscribe", "subscriptions/listen"):
            table = await self._current()
            self._shown.show_all(client_id(ctx))  # who listens need not have asked for a list
            async with self._changes.watching(table, ctx.params or {}):
                return await call_next(ctx)
        result = await call_next(ctx)
        if ctx.method == "resources/unsubscribe":
            self._spawn(self._changes.forget())  # no client waits for a server there
        if ctx.method == "logging/setLevel":
            await asyncio.gather(*(each.tell_level() for each in self._servers.values()))
        if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
            await self._current(GREETING)
            result |= await instructions_of(self._servers.values())
        return result

    async def _call(self, request: Request, params: dict[str, Any]) -> HandlerResult:
        name = params.get("name")
        if not isinstance(name, str):
            raise MCPError(types.INVALID_PARAMS, "name: a text is needed")
        if name == NAME and NAME not in self._table.tools:
            return self._enveloped(await self._search(request, params), request)
        table = self._table if name in self._table.tools else await self._current()
        client = client_id(request)
        route = table.tool(name, partial(self.policy.hides, client))
        call = Call(client, name, route, params)
        state = params.get("requestState")
        resumed = isinstance(state, str) and state.startswith(PASSED)
        if resumed:
            own = {**params, "requestState": str(state).removeprefix(PASSED)}
            call = Call(call.client, call.tool, route, own)
        elif state is not None and is_modern(request):  # older sessions have no rounds
            return await self._slow(call, request, "")
        if why := await self._keeper.refusal(call):
            return self._enveloped(self._keeper.refused(call, why), request)
        question = "" if resumed else await self._keeper.question(call)
        if question or self._may_be_asked(call, request):
            return await self._slow(call, request, question)
        return self._enveloped(await self._sent(call, request), request)

    def _may_be_asked(self, call: Call, request: Request) -> bool:
        """Whether a question in mid-call must wait for a further round of the client's."""
        revision = call.route.server.link.revision
        return is_modern(request) and (revision is None or revision < request.protocol_version)

    async def _sent(self, call: Call, request: Request) -> dict[str, Any]:
        server, exchange = call.route.server, Exchange(request)
        async with server.running(call.client, exchange):
            result = await self._keeper.send(call, progress_of(request))
            self._table.name_resources(server, result)
            if result.get("resultType") != "input_required":
                return result
            if is_modern(request):  # its own client can answer: the round is passed on
                said = result.get("requestState")
                return {**result, "requestState": f"{PASSED}{said}"} if said is not None else result
            params = forwarded({**call.params, "name": call.route.name})
            return await send_asking_client(
                server, "tools/call", params, exchange, progress_of(request)
            )

    async def _slow(self, call: Call, request: Request, question: str) -> HandlerResult:
        """A call that asks somebody, or may be asked something, before it ends."""
        params = types.CallToolRequestParams.model_validate(dict(call.params), by_name=False)

        async def work(exchange: Exchange) -> Any:
            allowed = await self._keeper.approve(call, question, exchange) if question else call
            if not isinstance(allowed, Call):
                return as_model(allowed)
            if why := self._table.changed(call.tool, call.route):
                return as_model(self._keeper.refused(call, why))
            server = call.route.server
            async with server.running(call.client, exchange):
                result = await self._keeper.send(allowed, progress_of(request))
                if result.get("resultType") == "input_required":
                    sent = forwarded({**allowed.params, "name": call.route.name})
                    result = await send_asking_client(server, "tools/call", sent, exchange, None)
            self._table.name_resources(server, result)
            return as_model(result)

        found = cast("Any", await self._run_in_rounds(request, params, work))
        if isinstance(found, types.InputRequiredResult):
            return found.model_dump(mode="json", by_alias=True, exclude_none=True)
        return self._enveloped(found, request)

    def _enveloped(self, result: dict[str, Any], request: Request) -> dict[str, Any]:
        return enveloped(result, request, self._stamp)

    async def _search(self, request: Request, params: Mapping[str, Any]) -> dict[str, Any]:
        await self._current()
        client = client_id(request)
        given = params.get("arguments")
        query = given.get("query") if isinstance(given, Mapping) else None
        if not isinstance(query, str):
            return error_result("query: words for what to do are needed, as a text")
        visible = self._visible(client)
        found = find(query, visible)
        known = (name for name in self._found.get(client, ()) if name in visible)
        self._found[client] = dict.fromkeys([*known, *(tool.name for tool in found)])
        await self._shown.tell_changes(client)
        told = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in found]
        said = json.dumps(told, ensure_ascii=False) if told else "no tool fits; try other words"
        return {"content": [{"type": "text", "text": said}]}

    # — lists —

    def _visible(self, client: str) -> dict[str, types.Tool]:
        return {
            name: route.definition
            for name, route in self._table.tools.items()
            if not self.policy.hides(client, name)
        }

    def _list(self, event: object, client: str | None) -> Mapping[str, Any]:
        """The list that an event tells of, as it is now."""
        table = self._table
        if client is None:
            resources = {**table.resources, **table.templates}
            return table.prompts if event == PromptsListChanged() else resources
        tools = self._visible(client)
        if len(tools) <= self._threshold:
            return tools
        found = self._found.get(client, ())
        return {NAME: DEFINITION} | {name: tools[name] for name in found if name in tools}

    async def _list_tools(self, asked: Request, params: Paginated | None) -> types.ListToolsResult:
        await self._current()
        tools = self._shown.show(ToolsListChanged(), client_id(asked))
        shown = [for_revision(asked, tool) for tool in tools.values()]
        listed, cursor = paginate(shown, params, self._page_size)
        return types.ListToolsResult(tools=listed, next_cursor=cursor)

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        route = self._table.tools.get(name)
        return route.definition.input_schema if route else None

    async def _prompts(self) -> list[types.Prompt]:
        await self._current()
        return [each.definition for each in self._shown.show(PromptsListChanged()).values()]

    async def _resources(self) -> list[types.Resource]:
        table, _ = await self._current(), self._shown.show(ResourcesListChanged())
        return [route.definition for route in table.resources.values()]

    async def _templates(self) -> list[types.ResourceTemplate]:
        table, _ = await self._current(), self._shown.show(ResourcesListChanged())
        return [route.definition for route in table.templates.values()]

    # — prompts, resources, completion —

    async def _get_prompt(self, request: Request, params: types.GetPromptRequestParams) -> Any:
        route = (await self._current()).prompt(params.name)
        return await self._passed(request, params, route, {"name": route.name})

    async def _read_resource(
        self, request: Request, params: types.ReadResourceRequestParams
    ) -> Any:
        route = (await self._current()).resource(params.uri)
        result = await self._passed(request, params, route, {"uri": route.name})
        if isinstance(result, dict) and route.name != params.uri:
            for part in result.get("contents", ()):
                if part.get("uri") == route.name:
                    part["uri"] = params.uri
        return result

    async def _passed(
        self, request: Request, params: Any, route: Route, own: Mapping[str, str]
    ) -> Any:
        method = request.method
        sent = forwarded({**(request.params or {}), **own})
        for key in ("requestState", "inputResponses"):
            sent.pop(key, None)

        async def work(exchange: Exchange) -> Any:
            async with route.server.running(client_id(request), exchange):
                return as_model(
                    await send_asking_client(route.server, method, sent, exchange, None)
                )

        return await told(lambda: self._run_in_rounds(request, params, work), request)

    async def _complete(self, request: Request, params: types.CompleteRequestParams) -> Any:
        table, said = await self._current(), dict(request.params or {})
        if isinstance(params.ref, types.PromptReference):
            route = table.prompt(params.ref.name)
            said["ref"] = {**said["ref"], "name": route.name}
        else:
            route = table.resource(params.ref.uri)
            said["ref"] = {**said["ref"], "uri": route.name}
        said = forwarded(said)
        return await told(lambda: route.server.send("completion/complete", said), request)

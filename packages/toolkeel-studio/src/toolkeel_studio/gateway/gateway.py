"""Many MCP servers behind one: tools, prompts, resources, questions and progress passed through.

`Gateway` is a `ToolServer` whose offer lies elsewhere: transports, both eras of the protocol,
sessions, subscriptions and waiting rounds are those of any server.
"""

from __future__ import annotations

import asyncio
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
from toolkeel_studio.gateway.audit import AuditLog
from toolkeel_studio.gateway.calls import (
    UPSTREAM_STATE,
    Call,
    PolicyEnforcer,
    as_model,
    error_result,
    forwarded_params,
    needs_rounds,
    progress_sender,
    send_asking_client,
    with_envelope,
)
from toolkeel_studio.gateway.changes import ChangeRelay, ListNotifier
from toolkeel_studio.gateway.ledger import ClientLedger, SharedStore
from toolkeel_studio.gateway.policy import SEARCH_ABOVE, Policy
from toolkeel_studio.gateway.public_names import check_server_name
from toolkeel_studio.gateway.raw_calls import RawCalls
from toolkeel_studio.gateway.routes import Route, RoutingTable, for_revision
from toolkeel_studio.gateway.search import DEFINITION, NAME, query_of, search_result, search_tools
from toolkeel_studio.gateway.upstream import Upstream, collect_instructions, raise_as_protocol_error

LIST_SECONDS = 20.0
"""Seconds a list waits for servers that have not been reached yet."""
CONNECT_LIST_SECONDS = 5.0
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
        approver: Decides beside the host about calls that need a person: an `ApprovalQueue`, or a function.
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
        audit: AuditLog | None = None,
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
        self._changes = ChangeRelay(
            self._refresh, self.resource_updated, self._spawn, self._sessions.subscribed_uris
        )
        self._servers = {each.name: self._upstream(each.name, each) for each in configs}
        self.background: list[Callable[[], Awaitable[None]]] = [self._refresh]
        self._prefixed = prefixed
        self._threshold = threshold
        self.policy = policy or Policy()
        self._enforcer = PolicyEnforcer(
            self.policy, pins or Pins(), audit, ClientLedger(shared), approver
        )
        self._enforcer.metrics = self.metrics
        self._audit = audit
        self._table = RoutingTable((), prefixed)
        self._found_tools: dict[str, dict[str, None]] = {}
        self._notifier = ListNotifier(self._list, self._sessions.notify)
        self.sdk.middleware.append(self._handle_raw)
        self._server_info = self.sdk.server_info_stamp
        self._raw = RawCalls(self.sdk.middleware)
        self.handle_line = self._raw.handle_line  # type: ignore[method-assign]

    @property
    def problems(self) -> Mapping[str, str]:
        """Servers that cannot be used now, and why."""
        return {name: each.problem for name, each in self._servers.items() if each.problem}

    # — servers —

    def _upstream(self, name: str, config: ServerConfig) -> Upstream:
        check_server_name(name)
        return Upstream(config, self._changes.invalidate_lists, self._sessions)

    @asynccontextmanager
    async def _lifespan(self, _: Server[Any]) -> AsyncIterator[None]:
        for work in self.background:
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

    async def _refresh(self) -> None:
        """Request all lists again, and notify clients whose lists changed."""
        await asyncio.gather(*map(self._refresh_server, self._servers.values()))
        if not self.problems:
            for rule in self.policy.unmatched_rules(self._table.tools):
                log.warning("a rule is about no tool there is: %s", rule)
        await self._notifier.notify_changes()

    async def _refresh_server(self, server: Upstream) -> None:
        await server.refresh()
        self._table = RoutingTable(self._servers.values(), self._prefixed, self._table)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def set_servers(self, configs: Mapping[str, ServerConfig]) -> None:
        """Replace the servers; unchanged ones continue, with their calls.

        Raises:
            SetupError: a name that tools could not carry; then nothing is changed.
        """
        old = self._servers
        unchanged = {
            name: old[name]
            for name, config in configs.items()
            if name in old and old[name].config == config
        }
        made = {key: unchanged.get(key) or self._upstream(key, configs[key]) for key in configs}
        self._servers = made
        await self._refresh()
        for name, server in old.items():
            if name not in unchanged:
                await self._enforcer.invalidate(server)
                await server.close()

    async def set_policy(self, policy: Policy) -> None:
        """Replace the policy, for every call that is not sent yet.

        Raises:
            SetupError: as `Policy.become`; then nothing is changed.
        """
        self.policy.replace_with(policy)
        await self._refresh()

    async def _wait_for_table(self, seconds: float = LIST_SECONDS) -> RoutingTable:
        """Return the table once every server was listed or timed out."""
        waiting = [
            each.listed.wait() for each in self._servers.values() if not each.listed.is_set()
        ]
        if waiting:
            tasks = [asyncio.ensure_future(each) for each in waiting]
            _, late = await asyncio.wait(tasks, timeout=seconds)
            for task in late:
                task.cancel()
        return self._table

    # — calls —

    async def _handle_raw(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Handle tool calls as raw JSON wherever possible (middleware)."""
        if ctx.method == "tools/call":
            self._raw.capture_session(ctx)
            return await self._call(ctx, dict(ctx.params or {}))
        if ctx.method in ("resources/subscribe", "subscriptions/listen"):
            table = await self._wait_for_table()
            self._notifier.track_all(client_id(ctx))  # who listens need not have asked for a list
            async with self._changes.watch_during(table, ctx.params or {}):
                return await call_next(ctx)
        result = await call_next(ctx)
        if ctx.method == "resources/unsubscribe":
            self._spawn(self._changes.unwatch_unused())  # no client waits for a server there
        if ctx.method == "logging/setLevel":
            await asyncio.gather(*(each.send_log_level() for each in self._servers.values()))
        if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
            await self._wait_for_table(CONNECT_LIST_SECONDS)
            result |= await collect_instructions(self._servers.values())
        return result

    async def _call(self, request: Request, params: dict[str, Any]) -> HandlerResult:
        name = params.get("name")
        if not isinstance(name, str):
            raise MCPError(types.INVALID_PARAMS, "name: a text is needed")
        if name == NAME and NAME not in self._table.tools:
            return self._with_envelope(await self._search(request, params), request)
        table = self._table if name in self._table.tools else await self._wait_for_table()
        client = client_id(request)
        route = table.tool(name, partial(self.policy.is_hidden, client))
        call = Call(client, name, route, params)
        state = params.get("requestState")
        resumed = isinstance(state, str) and state.startswith(UPSTREAM_STATE)
        if resumed:
            own = {**params, "requestState": str(state).removeprefix(UPSTREAM_STATE)}
            call = Call(call.client, call.tool, route, own)
        elif state is not None and is_modern(request):  # older sessions have no rounds
            return await self._call_in_rounds(call, request, "")
        if why := await self._enforcer.find_refusal(call):
            return self._with_envelope(self._enforcer.refuse(call, why), request)
        question = "" if resumed else await self._enforcer.approval_reason(call)
        if question or needs_rounds(call, request):
            return await self._call_in_rounds(call, request, question)
        return self._with_envelope(await self._send_call(call, request), request)

    async def _send_call(self, call: Call, request: Request) -> dict[str, Any]:
        server, exchange = call.route.server, Exchange(request)
        async with server.run_call(call.client, exchange):
            result = await self._enforcer.send(call, progress_sender(request))
            self._table.name_resources(server, result)
            if result.get("resultType") != "input_required":
                return result
            if is_modern(request):  # its own client can answer: the round is passed on
                state = result.get("requestState")
                return (
                    {**result, "requestState": f"{UPSTREAM_STATE}{state}"}
                    if state is not None
                    else result
                )
            params = forwarded_params({**call.params, "name": call.route.name})
            return await send_asking_client(
                server, "tools/call", params, exchange, progress_sender(request)
            )

    async def _call_in_rounds(self, call: Call, request: Request, question: str) -> HandlerResult:
        """Run a call that needs a person, or may be asked something, in rounds."""
        params = types.CallToolRequestParams.model_validate(dict(call.params), by_name=False)

        async def work(exchange: Exchange) -> Any:
            allowed = await self._enforcer.approve(call, question, exchange) if question else call
            if not isinstance(allowed, Call):
                return as_model(allowed)
            if why := self._table.change_since(call.tool, call.route):
                return as_model(self._enforcer.refuse(call, why))
            server = call.route.server
            async with server.run_call(call.client, exchange):
                result = await self._enforcer.send(allowed, progress_sender(request))
                if result.get("resultType") == "input_required":
                    sent = forwarded_params({**allowed.params, "name": call.route.name})
                    result = await send_asking_client(server, "tools/call", sent, exchange, None)
            self._table.name_resources(server, result)
            return as_model(result)

        found = cast("Any", await self._run_in_rounds(request, params, work))
        if isinstance(found, types.InputRequiredResult):
            return found.model_dump(mode="json", by_alias=True, exclude_none=True)
        return self._with_envelope(found, request)

    def _with_envelope(self, result: dict[str, Any], request: Request) -> dict[str, Any]:
        return with_envelope(result, request, self._server_info)

    async def _search(self, request: Request, params: Mapping[str, Any]) -> dict[str, Any]:
        await self._wait_for_table()
        client = client_id(request)
        if (query := query_of(params)) is None:
            return error_result("query: write words for what to do, as a string")
        visible = self._visible_tools(client)
        found = search_tools(query, visible)
        known = (name for name in self._found_tools.get(client, ()) if name in visible)
        self._found_tools[client] = dict.fromkeys([*known, *(tool.name for tool in found)])
        await self._notifier.notify_changes(client)
        return search_result(found)

    # — lists —

    def _visible_tools(self, client: str) -> dict[str, types.Tool]:
        return {
            name: route.definition
            for name, route in self._table.tools.items()
            if not self.policy.is_hidden(client, name)
        }

    def _list(self, event: object, client: str | None) -> Mapping[str, Any]:
        """Return the current list that an event is about."""
        table = self._table
        if client is None:
            resources = {**table.resources, **table.templates}
            return table.prompts if event == PromptsListChanged() else resources
        tools = self._visible_tools(client)
        if len(tools) <= self._threshold:
            return tools
        found = self._found_tools.get(client, ())
        return {NAME: DEFINITION} | {name: tools[name] for name in found if name in tools}

    async def _list_tools(self, asked: Request, params: Paginated | None) -> types.ListToolsResult:
        await self._wait_for_table()
        tools = self._notifier.read_list(ToolsListChanged(), client_id(asked))
        shown = [for_revision(asked, tool) for tool in tools.values()]
        listed, cursor = paginate(shown, params, self._page_size)
        return types.ListToolsResult(tools=listed, next_cursor=cursor)

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        route = self._table.tools.get(name)
        return route.definition.input_schema if route else None

    async def _prompts(self) -> list[types.Prompt]:
        await self._wait_for_table()
        return [each.definition for each in self._notifier.read_list(PromptsListChanged()).values()]

    async def _resources(self) -> list[types.Resource]:
        table, _ = await self._wait_for_table(), self._notifier.read_list(ResourcesListChanged())
        return [route.definition for route in table.resources.values()]

    async def _templates(self) -> list[types.ResourceTemplate]:
        table, _ = await self._wait_for_table(), self._notifier.read_list(ResourcesListChanged())
        return [route.definition for route in table.templates.values()]

    # — prompts, resources, completion —

    async def _get_prompt(self, request: Request, params: types.GetPromptRequestParams) -> Any:
        route = (await self._wait_for_table()).prompt(params.name)
        return await self._forward(request, params, route, {"name": route.name})

    async def _read_resource(
        self, request: Request, params: types.ReadResourceRequestParams
    ) -> Any:
        route = (await self._wait_for_table()).resource(params.uri)
        result = await self._forward(request, params, route, {"uri": route.name})
        if isinstance(result, dict) and route.name != params.uri:
            for part in result.get("contents", ()):
                if part.get("uri") == route.name:
                    part["uri"] = params.uri
        return result

    async def _forward(
        self, request: Request, params: Any, route: Route, own: Mapping[str, str]
    ) -> Any:
        method = request.method
        sent = forwarded_params({**(request.params or {}), **own})
        for key in ("requestState", "inputResponses"):
            sent.pop(key, None)

        async def work(exchange: Exchange) -> Any:
            async with route.server.run_call(client_id(request), exchange):
                return as_model(
                    await send_asking_client(route.server, method, sent, exchange, None)
                )

        return await raise_as_protocol_error(
            lambda: self._run_in_rounds(request, params, work), request
        )

    async def _complete(self, request: Request, params: types.CompleteRequestParams) -> Any:
        table, sent = await self._wait_for_table(), dict(request.params or {})
        if isinstance(params.ref, types.PromptReference):
            route = table.prompt(params.ref.name)
            sent["ref"] = {**sent["ref"], "name": route.name}
        else:
            route = table.resource(params.ref.uri)
            sent["ref"] = {**sent["ref"], "uri": route.name}
        sent = forwarded_params(sent)
        return await raise_as_protocol_error(
            lambda: route.server.send("completion/complete", sent), request
        )

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
from toolkeel_studio.gateway import upstream_pool
from toolkeel_studio.gateway.audit import AuditLog
from toolkeel_studio.gateway.calls import (
    UPSTREAM_STATE,
    PolicyEnforcer,
    as_model,
    error_result,
    needs_rounds,
    progress_sender,
    send_asking_client,
    with_envelope,
)
from toolkeel_studio.gateway.changes import ChangeRelay, ListNotifier
from toolkeel_studio.gateway.client_call import Call, forwarded_params
from toolkeel_studio.gateway.ledger import ClientLedger, SharedStore
from toolkeel_studio.gateway.policy import SEARCH_ABOVE, Policy
from toolkeel_studio.gateway.raw_calls import RawCalls
from toolkeel_studio.gateway.routes import Route, RoutingTable, for_revision
from toolkeel_studio.gateway.search import DEFINITION, NAME, query_of, search_result, search_tools
from toolkeel_studio.gateway.status import STATUS, STATUS_URI, gateway_instructions, status_contents
from toolkeel_studio.gateway.upstream import Upstream, raise_as_protocol_error
from toolkeel_studio.gateway.upstream_pool import LIST_SECONDS, UpstreamPool

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
        servers: The servers, by name.
        activity: What clients do, and the rules that fired.
        background: What runs as long as it serves.

    Raises:
        SetupError: one of the servers is this gateway, or several are without prefixes.
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
            self._refresh_server, self.resource_updated, self._spawn, self._sessions.subscribed_uris
        )
        self.servers = UpstreamPool(
            configs, self._changes.invalidate_lists, self._sessions, self._spawn
        )
        self.background: list[Callable[[], Awaitable[None]]] = [self._refresh]
        self._prefixed, self._threshold = prefixed, threshold
        self.policy = policy or Policy()
        self._enforcer = PolicyEnforcer(
            self.policy, pins or Pins(), audit, ClientLedger(shared), approver
        )
        self._enforcer.metrics, self.activity = self.metrics, self._enforcer.activity
        self.activity.open_sessions = self._sessions.open_counts
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
        return {name: each.problem for name, each in self.servers.items() if each.problem}

    # — servers —

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
            closing = (each.close() for each in self.servers.values())
            await asyncio.gather(*closing, return_exceptions=True)
            if self._audit is not None:
                await asyncio.to_thread(self._audit.close)

    async def _refresh(self) -> None:
        """Request the lists of all servers; each is offered as soon as it has answered."""
        await asyncio.gather(*map(self._refresh_server, self.servers.values()))
        self._warn_of_unmatched_rules()

    async def _refresh_server(self, server: Upstream) -> None:
        await server.refresh()
        if self.servers.get(server.name) is not server:
            return  # it was replaced meanwhile
        await self._offer_current()
        if server.problem:
            self.servers.retry_later(server)

    async def _offer_current(self) -> None:
        """Offer what the servers have now, and notify clients whose lists changed."""
        self._table = RoutingTable(self.servers.values(), self._prefixed, self._table)
        for server in self.servers.values():
            server.name_resources = partial(self._table.name_resources, server)
        await self._notifier.notify_changes()
        if self._prefixed:
            await self.resource_updated(STATUS_URI)

    def _warn_of_unmatched_rules(self) -> None:
        if all(each.is_ready for each in self.servers.values()):
            for rule in self.policy.unmatched_rules(self._table.tools):
                log.warning("a rule is about no tool there is: %s", rule)

    def _spawn(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def set_servers(self, configs: Mapping[str, ServerConfig]) -> None:
        """Replace the servers; unchanged ones continue, with their calls.

        Raises:
            SetupError: one of them is this gateway; then nothing is changed.
        """
        new, removed = self.servers.replace(configs)
        for server in new:
            self._spawn(self._refresh_server(server))
        await self._wait_for_table()
        await self._offer_current()
        self._warn_of_unmatched_rules()
        for server in removed:
            await self._enforcer.invalidate(server)
            await server.close()

    async def set_policy(self, policy: Policy) -> None:
        """Replace the policy, for every call that is not sent yet.

        Raises:
            SetupError: as `Policy.become`; then nothing is changed.
        """
        self.policy.replace_with(policy)
        self._warn_of_unmatched_rules()
        await self._notifier.notify_changes()

    async def _wait_for_table(self, seconds: float = LIST_SECONDS) -> RoutingTable:
        """Return the table once the servers were listed, without those that are much slower."""
        await self.servers.wait_listed(seconds)
        return self._table

    # — calls —

    async def _handle_raw(self, ctx: Request, call_next: CallNext) -> HandlerResult:
        """Handle tool calls as raw JSON wherever possible (middleware)."""
        self.activity.record_request(ctx)
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
            await asyncio.gather(*(each.send_log_level() for each in self.servers.values()))
        if ctx.method in ("initialize", "server/discover") and isinstance(result, dict):
            await self._wait_for_table(upstream_pool.CONNECT_LIST_SECONDS)
            result |= await gateway_instructions(self.servers.values())
        return result

    async def _call(self, request: Request, params: dict[str, Any]) -> HandlerResult:
        name = params.get("name")
        if not isinstance(name, str):
            raise MCPError(types.INVALID_PARAMS, "name: a text is needed")
        if name == NAME and NAME not in self._table.tools:
            return self._with_envelope(await self._search(request, params), request)
        client = client_id(request)
        if name not in self._table.tools:
            await self.servers.wait_for_tool(name)
        route = self._table.tool(name, partial(self.policy.is_hidden, client))
        call = Call(client, name, route, params)
        state = params.get("requestState")
        if isinstance(state, str) and state.startswith(UPSTREAM_STATE):
            own = {**params, "requestState": str(state).removeprefix(UPSTREAM_STATE)}
            call = Call(client, name, route, own)
        elif state is not None and is_modern(request):  # older sessions have no rounds
            return await self._call_in_rounds(call, request, "")
        if why := await self._enforcer.find_refusal(call):
            return self._with_envelope(self._enforcer.refuse(call, why), request)
        question = await self._enforcer.approval_reason(call)  # by what was read until now
        if question or needs_rounds(call, request):
            return await self._call_in_rounds(call, request, question)
        return self._with_envelope(await self._send_call(call, request), request)

    async def _send_call(self, call: Call, request: Request) -> dict[str, Any]:
        server, exchange = call.route.server, Exchange(request)
        async with server.run_call(call.client, exchange):
            result = await self._enforcer.send(call, progress_sender(request))
            if result.get("resultType") == "input_required":
                if is_modern(request):  # its own client can answer: the round is passed on
                    server.name_resources(result)
                    if (state := result.get("requestState")) is not None:
                        result["requestState"] = f"{UPSTREAM_STATE}{state}"
                    return result
                result = await send_asking_client(
                    server, "tools/call", call.sent_params, exchange, progress_sender(request)
                )
            self._table.name_resources(server, result)
            return result

    async def _call_in_rounds(self, call: Call, request: Request, question: str) -> HandlerResult:
        """Run a call that needs a person, or may be asked something, in rounds."""
        of_server = ("requestState", "inputResponses") if question else ()  # no handle, no answers
        own = {key: value for key, value in call.params.items() if key not in of_server}
        params = types.CallToolRequestParams.model_validate(own, by_name=False)
        server = call.route.server

        async def work(exchange: Exchange) -> Any:
            allowed = await self._enforcer.approve(call, question, exchange) if question else call
            if not isinstance(allowed, Call):
                return as_model(allowed)
            if why := self._table.change_since(call.tool, call.route):
                return as_model(self._enforcer.refuse(call, why))
            async with server.run_call(call.client, exchange):
                result = await self._enforcer.send(allowed, progress_sender(request))
                if result.get("resultType") == "input_required":
                    result = await send_asking_client(
                        server, "tools/call", allowed.sent_params, exchange, None
                    )
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
        listed = [route.definition for route in table.resources.values()]
        return [STATUS, *listed] if self._prefixed else listed

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
        if params.uri == STATUS_URI and self._prefixed:
            return status_contents(self.servers.values())
        route = (await self._wait_for_table()).resource(params.uri)
        return await self._forward(request, params, route, {"uri": route.name})

    async def _forward(
        self, request: Request, params: Any, route: Route, own: Mapping[str, str]
    ) -> Any:
        method, client = request.method, client_id(request)
        await self._enforcer.label_contents(client, self._table.names_of(route.server))
        sent = forwarded_params({**(request.params or {}), **own})
        for key in ("requestState", "inputResponses"):
            sent.pop(key, None)

        asked = {route.name: str(params.uri)} if "uri" in own else {}

        async def work(exchange: Exchange) -> Any:
            async with route.server.run_call(client, exchange):
                result = await send_asking_client(route.server, method, sent, exchange, None)
            self._table.name_resources(route.server, result, asked)
            return as_model(result)

        run = partial(self._run_in_rounds, request, params, work)
        return await raise_as_protocol_error(run, request)

    async def _complete(self, request: Request, params: types.CompleteRequestParams) -> Any:
        table, sent = await self._wait_for_table(), dict(request.params or {})
        if isinstance(params.ref, types.PromptReference):
            route = table.prompt(params.ref.name)
            sent["ref"] = {**sent["ref"], "name": route.name}
        else:
            route = table.resource(params.ref.uri)
            sent["ref"] = {**sent["ref"], "uri": route.name}
        ask = partial(route.server.send, "completion/complete", forwarded_params(sent))
        return await raise_as_protocol_error(ask, request)

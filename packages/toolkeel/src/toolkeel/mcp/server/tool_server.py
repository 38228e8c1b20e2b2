"""`ToolServer`: serves tools to programs that speak the Model Context Protocol.

It uses the low-level `mcp.server.Server`, which implements the wire format and both eras of the
protocol. Each call runs through the same pipeline as a call of a model.
"""

from __future__ import annotations

from asyncio import CancelledError
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, cast

from toolkeel._common.checked_arguments import checked
from toolkeel._common.needs_extra import needs_extra
from toolkeel._common.other_libraries_words import attribute_hints
from toolkeel.errors import SetupError

with needs_extra("A server of tools", "mcp"):
    import mcp_types as types
from mcp.server import Server
from mcp.server.caching import CACHEABLE_METHODS, CacheHint
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.subscriptions import (
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ToolsListChanged,
)
from pydantic import BaseModel

from toolkeel.call.tool_sources import ToolOrSource, gather_tools
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.mcp.page_links import EXTENSION
from toolkeel.mcp.server.calls import NewRun, run_client_call
from toolkeel.mcp.server.invalid_requests import name_invalid_params
from toolkeel.mcp.server.multi_round_calls import CallRounds, Exchange, Params, Request, is_modern
from toolkeel.mcp.server.prometheus_metrics import CallMetrics
from toolkeel.mcp.server.prompts_resources import (
    Prompt,
    Resource,
    result_value,
    to_prompt_messages,
    to_resource_contents,
)
from toolkeel.mcp.server.sessions import NotifyingServer, Sessions
from toolkeel.mcp.server.snapshot import (
    ServerSnapshot,
    build_result,
    completion_result,
    find_completed_primitive,
    not_found_error,
    paginate,
)
from toolkeel.mcp.server.sources import split_sources
from toolkeel.messages import ToolCall, ToolMessage

if TYPE_CHECKING:
    from mcp import Client

PAGE_SIZE = 200
"""Default number of items on one page of a list."""

Result = TypeVar("Result", bound=BaseModel)
Paginated = types.PaginatedRequestParams


@checked
class ToolServer:
    """Tools, prompts and resources as a server of the Model Context Protocol.

    Args:
        tools: A toolset, or tools and tool sources; sources are read when the server starts.
        name: Name of the server.
        version: Its version.
        title: Its name for people.
        instructions: How a model should use it.
        prompts: Prompts made by `prompt`; None if the server never has any.
        resources: Resources made by `resource`; likewise.
        run: Creates the run of each call from the client's request, with deps, store and listeners.
            Its approver is asked instead of the client's person.
        page_size: Items on one page of a list.
        ttl: Seconds for which clients may keep lists and what they have read.

    Attributes:
        sdk: The low-level server of the `mcp` package, for its further features.
        metrics: Counts of its calls.

    Raises:
        SetupError: two prompts have one name, or two resources one URI; `page_size` is below 1; or an
            `MCPServer` is among the sources, of which only the tools could be served.

    >>> def add(a: int, b: int) -> int:
    ...     "Add two numbers."
    ...     return a + b
    >>> ToolServer([add], name="adder").tools
    Toolset(add)
    """

    def __init__(
        self,
        tools: Toolset | Iterable[ToolOrSource] = (),
        *,
        name: str = "toolkeel",
        version: str = "",
        title: str | None = None,
        instructions: str | None = None,
        prompts: Iterable[Prompt[..., Any]] | None = None,
        resources: Iterable[Resource[..., Any]] | None = None,
        run: NewRun = lambda _: RunContext(),
        page_size: int = PAGE_SIZE,
        ttl: float = 0.0,
    ) -> None:
        if page_size < 1:
            raise SetupError(f"page_size={page_size}: a page has at least one item; use 1 or more")
        known, self._sources = split_sources(tools)
        self._snapshot = ServerSnapshot(known, prompts or (), resources or ())
        self._new_run = run
        self.metrics = CallMetrics()
        self._page_size = page_size
        self._rounds = CallRounds()
        self._sessions = Sessions()
        hint = CacheHint(ttl_ms=int(ttl * 1000))
        self.sdk: Server[Any] = NotifyingServer(
            name,
            version=version,
            title=title,
            instructions=instructions,
            cache_hints=cast("Any", dict.fromkeys(CACHEABLE_METHODS, hint)) if ttl else None,
            lifespan=self._lifespan,
            get_tool_input_schema=self._input_schema,
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_subscriptions_listen=self._sessions.listen,
        )
        # Clients store the state of a call between its rounds: it is sealed and bound to the call.
        sealed = RequestStateBoundary(RequestStateSecurity.ephemeral(), default_audience=name)
        self.sdk.middleware += [name_invalid_params, sealed]
        if self._snapshot.has_pages:
            self.sdk.extensions[EXTENSION] = {}
        offers_resources = resources is not None or self._snapshot.has_pages
        self._add_handlers(prompts is not None, offers_resources)

    if not TYPE_CHECKING:  # there, an unknown attribute stays unknown
        __getattr__ = attribute_hints("ToolServer.")

    def _add_handlers(self, prompts: bool, resources: bool) -> None:
        """Add handlers only for what is offered: the SDK derives capabilities from them."""
        add, sessions = self.sdk.add_request_handler, self._sessions
        self.sdk.add_notification_handler(
            "notifications/initialized", types.NotificationParams, sessions.handle_initialized
        )
        add("logging/setLevel", types.SetLevelRequestParams, sessions.set_level)
        if prompts:
            add("prompts/list", Paginated, self._list_prompts)
            add("prompts/get", types.GetPromptRequestParams, self._get_prompt)
        if resources:
            add("resources/list", Paginated, self._list_resources)
            add("resources/templates/list", Paginated, self._list_templates)
            add("resources/read", types.ReadResourceRequestParams, self._read_resource)
            add("resources/subscribe", types.SubscribeRequestParams, sessions.subscribe)
            add("resources/unsubscribe", types.UnsubscribeRequestParams, sessions.unsubscribe)
        if prompts or resources:
            add("completion/complete", types.CompleteRequestParams, self._complete)

    def client(self, **options: Any) -> Client:
        """Return the official client, connected to this server in memory, to test it; options of ``mcp.Client``."""
        from mcp import Client

        return Client(self.sdk, **options)

    # — what is offered —

    @property
    def tools(self) -> Toolset:
        """The tools that are served now."""
        return self._snapshot.tools

    @property
    def interactive_tools(self) -> tuple[str, ...]:
        """Wire names of the tools that may ask their client something during a call."""
        return tuple(name for name, served in self._snapshot.served_tools.items() if served.may_ask)

    async def update(
        self,
        tools: Toolset | Iterable[ToolOrSource] | None = None,
        *,
        prompts: Iterable[Prompt[..., Any]] | None = None,
        resources: Iterable[Resource[..., Any]] | None = None,
    ) -> None:
        """Replace tools, prompts or resources, and notify every client.

        Nothing changes if it fails.

        Args:
            tools: Replaces the tools; None leaves them.
            prompts: Replaces the prompts; None leaves them.
            resources: Replaces the resources; None leaves them.

        Raises:
            SetupError: The server was created without prompts or resources (a tool's page is one), and clients
                know that; or a source is an `MCPServer`.
            DuplicateToolError: Two tools have the same name.
            DefinitionError, ValidationError: A tool's provider options are not what MCP accepts.
        """
        for replacement, method in ((prompts, "prompts/list"), (resources, "resources/list")):
            if replacement is not None and self.sdk.get_request_handler(method) is None:
                what = method.partition("/")[0]
                raise SetupError(f"this server was made without {what}: ToolServer({what}=[])")
        old, sources = self._snapshot, self._sources
        served = old.tools
        if tools is not None:
            served, sources = split_sources(tools)
            if sources:
                served = await gather_tools(sources, served.with_tools(()), RunContext())
        offer = ServerSnapshot(
            served,
            old.prompts.values() if prompts is None else prompts,
            old.own_resources if resources is None else resources,
        )
        self._check_pages(offer)
        _ = offer.served_tools  # raises here rather than at the next client's list
        self._snapshot, self._sources = offer, sources
        if tools is not None:
            await self._sessions.notify(ToolsListChanged())
        if prompts is not None:
            await self._sessions.notify(PromptsListChanged())
        if resources is not None:
            await self._sessions.notify(ResourcesListChanged())

    def _check_pages(self, offer: ServerSnapshot) -> None:
        """Raise SetupError if tools have pages, and clients were told that there are no resources."""
        if offer.has_pages and self.sdk.get_request_handler("resources/list") is None:
            raise SetupError("tools with pages came later: make the server with resources=[]")

    def handle_line(self, line: bytes, send: Callable[[bytes], Awaitable[None]]) -> bool:
        """Return False: the SDK's session handles the stdio line. A subclass may handle it, and return True."""
        return False

    def close_streams(self) -> None:
        """End all subscriptions; clients reconnect, possibly to another process."""
        self._sessions.close()

    async def resource_updated(self, uri: str) -> None:
        """Notify the clients that subscribe to a resource that it has changed."""
        await self._sessions.notify(ResourceUpdated(uri))

    @asynccontextmanager
    async def _lifespan(self, _: Server[Any]) -> AsyncIterator[None]:
        """Read the tool sources into a new snapshot at the start; end streams and waiting calls at the end."""
        if self._sources:
            old = self._snapshot
            tools = await gather_tools(self._sources, old.tools.with_tools(()), RunContext())
            offer = ServerSnapshot(tools, old.prompts.values(), old.own_resources)
            self._check_pages(offer)
            self._snapshot = offer
        try:
            yield
        finally:
            self._sessions.close()
            self._rounds.close()

    # — tools —

    async def _list_tools(self, asked: Request, params: Paginated | None) -> types.ListToolsResult:
        """Return one page of the served tools; raise MCPError for a cursor that is wrong or of an earlier list."""
        definitions = [served.definition for served in self._snapshot.served_tools.values()]
        tools, cursor = paginate(definitions, params, self._page_size)
        return types.ListToolsResult(tools=tools, next_cursor=cursor)

    def _input_schema(self, name: str) -> Mapping[str, Any] | None:
        """Return a served tool's input schema, or None if there is no such tool."""
        served = self._snapshot.served_tools.get(name)
        return served.definition.input_schema if served else None

    async def _call_tool(
        self, request: Request, params: types.CallToolRequestParams
    ) -> types.CallToolResult | types.InputRequiredResult:
        """Handle ``tools/call``, in rounds if the tool may ask; raise MCPError for an unknown tool."""
        served, tools = self._snapshot.find_tool(params.name), self._snapshot.tools
        name, arguments = served.entry.tool.name, params.arguments or {}

        async def work(exchange: Exchange) -> types.CallToolResult:
            """Run the call and convert its result."""
            return build_result(served, await self._run_call(exchange, name, arguments, tools))

        if served.may_ask:
            return await self._run_in_rounds(request, params, work)
        return await work(Exchange(request))

    async def _run_in_rounds(
        self, request: Request, params: Params, work: Callable[[Exchange], Awaitable[Result]]
    ) -> Result | types.InputRequiredResult:
        """Run a call that may ask its client something, and may outlive its request. Raises as `run_round`."""
        if not is_modern(request):
            return await work(Exchange(request))
        found = await self._rounds.run_round(request, params, work)
        return cast("Result | types.InputRequiredResult", found)

    async def _run_call(
        self, exchange: Exchange, name: str, arguments: Mapping[str, object], tools: Toolset
    ) -> ToolMessage:
        """Run a call through the pipeline, and count its outcome and duration."""
        request = exchange.request
        assert request is not None
        call = ToolCall(str(request.request_id), name, arguments)
        outcome, began = "protocol_error", monotonic()
        try:
            run = self._new_run(request)
            self._sessions.share_labels(request, run)
            message = await run_client_call(exchange, call, tools, run, self._sessions.log_level)
            outcome = message.kind or "success"
        except CancelledError:
            outcome = "cancelled"
            raise
        finally:
            self.metrics.record(outcome, monotonic() - began, name)
        return message

    # — prompts and resources —

    async def _list_prompts(self, _: Request, params: Paginated) -> types.ListPromptsResult:
        """Return one page of the prompts; raise MCPError for a wrong cursor."""
        prompts, cursor = paginate(await self._prompts(), params, self._page_size)
        return types.ListPromptsResult(prompts=prompts, next_cursor=cursor)

    async def _prompts(self) -> Sequence[types.Prompt]:
        """Return the prompts' definitions."""
        return [each.definition() for each in self._snapshot.prompts.values()]

    async def _get_prompt(
        self, request: Request, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | types.InputRequiredResult:
        """Return a prompt's messages, or questions for the client; raise `MCPError` without such a prompt."""
        found, calls = self._snapshot.find_prompt(params.name), self._snapshot.prompt_toolset

        async def work(exchange: Exchange) -> types.GetPromptResult:
            """Run the prompt's function, and return its messages; raise MCPError if it fails."""
            message = await self._run_call(exchange, found.name, params.arguments or {}, calls)
            messages = list(to_prompt_messages(result_value(found, message)))
            return types.GetPromptResult(
                description=found.tool.description or None, messages=messages
            )

        return await self._run_in_rounds(request, params, work)

    async def _list_resources(self, _: Request, params: Paginated) -> types.ListResourcesResult:
        """Return one page of the resources; raise MCPError for a wrong cursor."""
        found, cursor = paginate(await self._resources(), params, self._page_size)
        return types.ListResourcesResult(resources=found, next_cursor=cursor)

    async def _resources(self) -> Sequence[types.Resource]:
        """Return the definitions of resources with one address each."""
        listed = self._snapshot.resource_definitions(templates=False)
        return [types.Resource.model_validate(each) for each in listed]

    async def _list_templates(
        self, _: Request, params: Paginated
    ) -> types.ListResourceTemplatesResult:
        """Return one page of the resource templates; raise MCPError for a wrong cursor."""
        found, cursor = paginate(await self._templates(), params, self._page_size)
        return types.ListResourceTemplatesResult(resource_templates=found, next_cursor=cursor)

    async def _templates(self) -> Sequence[types.ResourceTemplate]:
        """Return the definitions of resource templates."""
        listed = self._snapshot.resource_definitions(templates=True)
        return [types.ResourceTemplate.model_validate(each) for each in listed]

    async def _read_resource(
        self, request: Request, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult | types.InputRequiredResult:
        """Return a resource's contents, or questions for the client; raise `MCPError` without such a resource."""
        found, variables = self._snapshot.find_resource(params.uri)
        calls = self._snapshot.resource_toolsets[found.uri]

        async def work(exchange: Exchange) -> types.ReadResourceResult:
            """Run the resource's function; raise MCPError if it fails or finds nothing."""
            message = await self._run_call(exchange, found.name, variables, calls)
            if message.details.get("not_found"):
                raise not_found_error(params.uri)
            contents = to_resource_contents(found, params.uri, result_value(found, message))
            return types.ReadResourceResult(contents=contents)

        return await self._run_in_rounds(request, params, work)

    async def _complete(
        self, request: Request, params: types.CompleteRequestParams
    ) -> types.CompleteResult:
        """Return suggestions for an argument of a prompt or template; raise MCPError for an unknown one."""
        part = find_completed_primitive(self._snapshot, params)
        others = (params.context.arguments if params.context else None) or {}
        typed = params.argument
        return completion_result(await part.suggest_values(typed.name, typed.value, others))

"""MCP servers under the names of the OpenAI Agents SDK: the core's `MCPServer` with its parameters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, TypedDict, Unpack, cast

from toolkeel._records.record import record
from toolkeel.builtin.hosted_mcp import get_mcp_name
from toolkeel.call.steps.join_approvals import join_approvals
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool, ApprovalOption, Prepared, Proceed
from toolkeel.errors import SetupError
from toolkeel.mcp.client import MCPServer as CoreServer
from toolkeel.mcp.config import ServerConfig
from toolkeel.messages import ToolMessage, ToolOutput
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper
from toolkeel_compat.openai_agents.tools import mark_strict, return_rejection

log = logging.getLogger("toolkeel.mcp")

__all__ = [
    "MCPServer", "MCPServerManager", "MCPServerSse", "MCPServerStdio", "MCPServerStreamableHttp",
    "MCPUtil", "ToolFilter", "ToolFilterContext", "create_static_tool_filter",
]  # fmt: skip


@record
class ToolFilterContext:
    """The first argument of a tool filter.

    Args:
        run_context: The run.
        agent: The agent whose run it is.
        server_name: The server of the tool.
    """

    run_context: RunContextWrapper[Any]
    agent: Any
    server_name: str


ToolFilter: TypeAlias = Mapping[str, Sequence[str]] | Callable[[ToolFilterContext, Any], Any]
"""Names under ``allowed_tool_names`` and ``blocked_tool_names``, or ``(context, tool)`` decides."""
Approvals: TypeAlias = str | bool | Mapping[str, Any] | Callable[..., Any] | None


def create_static_tool_filter(
    allowed_tool_names: Sequence[str] | None = None, blocked_tool_names: Sequence[str] | None = None
) -> dict[str, list[str]] | None:
    """Create a filter from allowed and blocked tool names."""
    lists = {"allowed_tool_names": allowed_tool_names, "blocked_tool_names": blocked_tool_names}
    return {key: list(names) for key, names in lists.items() if names is not None} or None


async def passes_filter(
    tool: AnyTool, wanted: ToolFilter | None, context: ToolFilterContext
) -> bool:
    """Return True if a filter accepts a tool, or False if the filter raises."""
    name = get_mcp_name(tool)
    if callable(wanted):
        try:
            return bool(await maybe_await(wanted(context, tool)))
        except Exception:
            log.exception(
                "the filter of %s failed on %s, which is left out", context.server_name, name
            )
            return False
    lists = cast("Mapping[str, Sequence[str]]", wanted or {})
    allowed, blocked = lists.get("allowed_tool_names"), lists.get("blocked_tool_names") or ()
    return (allowed is None or name in allowed) and name not in blocked


def read_approvals(approvals: Any) -> frozenset[str]:
    """Return the tools whose calls need approval; an empty name stands for all.

    Raises:
        SetupError: It is no valid ``require_approval``.
    """
    each = dict(approvals) if isinstance(approvals, Mapping) else {"": approvals}
    lists = {word: each.pop(word) for word in ("always", "never") if word in each}
    if not (
        all(map(_is_tool_names, lists.values()))
        and all(map(_APPROVAL_VALUES.__contains__, each.values()))
    ):
        raise SetupError(
            "require_approval is 'always', 'never', a function, {tool: 'always'}, or "
            "{'always': {'tool_names': [...]}, 'never': ...}"
        )
    asked = {name for name, one in each.items() if one in ("always", True)}
    return frozenset(asked | set(lists.get("always", {}).get("tool_names", ())))


_APPROVAL_VALUES = (None, "always", "never", True, False)


def _is_tool_names(value: object) -> bool:
    return isinstance(value, Mapping) and {*value} <= {"tool_names"}


class ServerOptions(TypedDict, total=False):
    """Options of a server.

    Attributes:
        client_session_timeout_seconds: Seconds for one call; None for no limit.
        tool_filter: See `ToolFilter`.
        require_approval: ``always`` or True: every call needs approval; a mapping: calls of the tools
            it names; ``(context, agent, tool)`` decides. By default, as in the SDK, no call needs
            approval, and the server's tool annotations are trusted.
    """

    client_session_timeout_seconds: float | None
    tool_filter: ToolFilter | None
    require_approval: Approvals


class MCPServer(CoreServer):
    """A server for ``Agent(mcp_servers=[...])``; an async context manager.

    Args:
        config: The server's location.
        options: See `ServerOptions`; an option without a counterpart is refused by name.

    Raises:
        SetupError: An option is not supported.
    """

    def __init__(self, config: ServerConfig, **options: Unpack[ServerOptions]) -> None:
        unknown = {k: v for k, v in options.items() if k not in ServerOptions.__annotations__}
        if strange := sorted(key for key, value in unknown.items() if value):
            raise SetupError(f"an MCP server's {', '.join(strange)} has no counterpart here")
        self._approvals = wanted = options.get("require_approval")
        self._tools_needing_approval = (
            frozenset[str]() if callable(wanted) else read_approvals(wanted)
        )
        self.tool_filter = options.get("tool_filter")
        super().__init__(
            config,
            trust="" not in self._tools_needing_approval,
            timeout=options.get("client_session_timeout_seconds", 5),
        )

    async def get_tools(self, run: RunContext | None = None) -> list[AnyTool]:
        """Return the server's tools that pass its filter."""
        run = run or RunContext()
        context = ToolFilterContext(RunContextWrapper.from_run(run), run.agent, self.name)
        all_tools = await super().get_tools()
        accepted = [one for one in all_tools if await passes_filter(one, self.tool_filter, context)]
        return [self._apply_approval(one) for one in accepted]

    def _apply_approval(self, tool: AnyTool) -> AnyTool:
        """Return a tool with the approval that ``require_approval`` asks for.

        If no call needs approval, the tool's output is trusted: as in the SDK, it causes no later approval.
        """
        decide, asked, effects = self._approvals, self._tools_needing_approval, tool.effects
        needs: ApprovalOption | None = join_approvals(tool.approval, get_mcp_name(tool) in asked)
        if callable(decide):
            needs = join_approvals(tool.approval, partial(_call_approval_function, decide, tool))
        elif not asked & {"", get_mcp_name(tool)}:
            effects = replace(effects, stranger=False)
        steps = (return_rejection, _return_server_error, *tool.steps)
        return replace(tool, approval=needs, effects=effects, steps=steps)

    def invalidate_tools_cache(self) -> None:
        """Do nothing: the tools are listed at every use."""

    async def list_tools(
        self, run_context: RunContextWrapper[Any] | None = None, agent: Any = None
    ) -> list[AnyTool]:
        """Return the current tools; run and agent are for filters that are functions."""
        return await self.get_tools(RunContext(getattr(run_context, "context", None), agent=agent))

    async def call_tool(self, tool_name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call a tool as the program itself, and return the protocol's result.

        Raises:
            SetupError: The server cannot be reached.
            ToolError: It answered with an error.
        """
        return await self._ask(lambda client: client.call_tool(tool_name, dict(arguments or {})))

    async def list_prompts(self) -> Any:
        """Return its prompts, as in the protocol; raises as `call_tool` does."""
        return await self._ask(lambda client: client.list_prompts())

    async def get_prompt(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Return a prompt with its arguments filled in."""
        return await self._ask(lambda client: client.get_prompt(name, dict(arguments or {})))

    async def list_resources(self, cursor: str | None = None) -> Any:
        """Return its resources."""
        return await self._ask(lambda client: client.list_resources(cursor=cursor))

    async def list_resource_templates(self, cursor: str | None = None) -> Any:
        """Return its resource templates."""
        return await self._ask(lambda client: client.list_resource_templates(cursor=cursor))

    async def read_resource(self, uri: str) -> Any:
        """Return the contents of a resource."""
        return await self._ask(lambda client: client.read_resource(uri))

    async def connect(self) -> None:
        """Connect now instead of at the first use of its tools."""
        await self.get_tools()

    async def cleanup(self) -> None:
        """Close the connection, and end the server's process if there is one."""
        await self.close()


class _ParamsServer(MCPServer):
    """A server with the SDK's parameters.

    Args:
        params: The server's location.
        cache_tools_list: Ignored: a listing is cached until the server reports a change.
        name: The display name; the command or the URL by default.
        options: See `ServerOptions`.
    """

    _accepted_params: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        params: Mapping[str, Any],
        cache_tools_list: bool = False,
        name: str | None = None,
        **options: Unpack[ServerOptions],
    ) -> None:
        if strange := sorted(set(params) - {*self._accepted_params}):
            raise SetupError(f"params: {', '.join(strange)} would not be honoured")
        super().__init__(self._make_config(params, name), **options)

    def _make_config(self, params: Mapping[str, Any], name: str | None) -> ServerConfig:
        raise NotImplementedError


class MCPServerStdio(_ParamsServer):
    """A server process: ``command``, ``args``, ``env`` and ``cwd``."""

    _accepted_params = ("command", "args", "env", "cwd")

    def _make_config(self, params: Mapping[str, Any], name: str | None) -> ServerConfig:
        command = (str(params["command"]), *map(str, params.get("args") or ()))
        env, cwd = params.get("env") or {}, str(params.get("cwd") or "")
        return ServerConfig(name or command[0], command, env, cwd)


class MCPServerStreamableHttp(_ParamsServer):
    """A server over Streamable HTTP: ``url`` and ``headers``."""

    _accepted_params = ("url", "headers")
    _kind: ClassVar[Literal["http", "sse"]] = "http"

    def _make_config(self, params: Mapping[str, Any], name: str | None) -> ServerConfig:
        url, headers = str(params["url"]), params.get("headers") or {}
        return ServerConfig(name or url, url=url, headers=headers, kind=self._kind)


class MCPServerSse(MCPServerStreamableHttp):
    """A server over HTTP with SSE, the older transport."""

    _kind = "sse"


class MCPServerManager:
    """Several servers in one ``async with``; unreachable ones are left out.

    Args:
        servers: The servers.
        strict: Raise if one cannot be reached.

    Attributes:
        active_servers: The connected servers.
        failed_servers: The others; `errors` has the reason by server.
    """

    def __init__(self, servers: Sequence[MCPServer], *, strict: bool = False) -> None:
        self.all_servers = list(servers)
        self.active_servers: list[MCPServer] = []
        self.failed_servers: list[MCPServer] = []
        self.errors: dict[MCPServer, Exception] = {}
        self._strict = strict

    async def __aenter__(self) -> MCPServerManager:
        await self.reconnect(failed_only=False)
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self.all_servers:
            await server.cleanup()

    async def reconnect(self, *, failed_only: bool = True) -> list[MCPServer]:
        """Connect to the failed servers again, or to all. Return the connected ones."""
        for server in list(self.failed_servers if failed_only else self.all_servers):
            self.errors.pop(server, None)
            try:
                await server.connect()
            except SetupError as error:
                if self._strict:
                    raise
                self.errors[server] = error
        self.failed_servers = [one for one in self.all_servers if one in self.errors]
        self.active_servers = [one for one in self.all_servers if one not in self.errors]
        return self.active_servers


class MCPUtil:
    """Functions that list the tools of servers."""

    @staticmethod
    async def get_all_function_tools(
        servers: Sequence[MCPServer],
        convert_schemas_to_strict: bool,
        run_context: RunContextWrapper[Any],
        agent: Any,
    ) -> list[AnyTool]:
        """Return the tools of all servers.

        Args:
            servers: The servers.
            convert_schemas_to_strict: Ask OpenAI to enforce the schemas.
            run_context: The first argument of filters that are functions.
            agent: Their second argument.
        """
        run = RunContext(run_context.context, agent=agent)
        tools = [tool for server in servers for tool in await server.get_tools(run)]
        return mark_strict(tools, every=True) if convert_schemas_to_strict else tools


def _call_approval_function(
    decide: Callable[..., Any], tool: AnyTool, _: object, context: ToolContext
) -> Any:
    """Call a ``require_approval`` function with the run, the agent and the tool."""
    return decide(RunContextWrapper.from_run(context.run), context.agent, tool)


async def _return_server_error(
    prepared: Prepared, context: ToolContext, proceed: Proceed
) -> object:
    """Return a server's error text unchanged to the model, as a step around the call."""
    result = await proceed(prepared)
    if isinstance(result, ToolMessage) and result.kind == "tool_error":
        return ToolOutput(result.content, result.artifact, result.details)
    return result

"""MCP servers, under the names of the OpenAI Agents SDK: the core's `MCPServer` with its parameters."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Literal, TypeAlias, TypedDict, Unpack, cast

from toolkeel._records.record import record
from toolkeel.builtin.hosted_mcp import own_name
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool, Needs, Prepared, Proceed
from toolkeel.errors import SetupError
from toolkeel.mcp.client import MCPServer as CoreServer
from toolkeel.mcp.config import ServerConfig
from toolkeel.messages import ToolMessage, ToolOutput
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper
from toolkeel_compat.openai_agents.tools import as_strict, rejection_as_told

log = logging.getLogger("toolkeel.mcp")

__all__ = [
    "MCPServer", "MCPServerManager", "MCPServerSse", "MCPServerStdio", "MCPServerStreamableHttp",
    "MCPUtil", "ToolFilter", "ToolFilterContext", "create_static_tool_filter",
]  # fmt: skip


@record
class ToolFilterContext:
    """What a filter of tools sees.

    Args:
        run_context: The run.
        agent: Whose run it is.
        server_name: Whose tool it is.
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
    """Which of a server's tools are taken."""
    given = {"allowed_tool_names": allowed_tool_names, "blocked_tool_names": blocked_tool_names}
    return {key: list(names) for key, names in given.items() if names is not None} or None


async def taken(tool: AnyTool, wanted: ToolFilter | None, context: ToolFilterContext) -> bool:
    """Whether a filter lets a tool through."""
    name = own_name(tool)
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


def asked_about(approvals: Any) -> frozenset[str]:
    """The tools whose calls a person is asked about; an empty name if about all.

    Raises:
        SetupError: it is none of the forms of ``require_approval``.
    """
    each = dict(approvals) if isinstance(approvals, Mapping) else {"": approvals}
    lists = {word: each.pop(word) for word in ("always", "never") if word in each}
    if not (
        all(map(_names_tools, lists.values())) and all(map(_WORDS.__contains__, each.values()))
    ):
        raise SetupError(
            "require_approval is 'always', 'never', a function, {tool: 'always'}, or "
            "{'always': {'tool_names': [...]}, 'never': ...}"
        )
    asked = {name for name, one in each.items() if one in ("always", True)}
    return frozenset(asked | set(lists.get("always", {}).get("tool_names", ())))


_WORDS = (None, "always", "never", True, False)


def _names_tools(given: object) -> bool:
    return isinstance(given, Mapping) and {*given} <= {"tool_names"}


class ServerOptions(TypedDict, total=False):
    """Options of a server.

    Attributes:
        client_session_timeout_seconds: Seconds of one call; None for ever.
        tool_filter: See `ToolFilter`.
        require_approval: ``always`` or True asks a person about every call, a mapping about those
            of the tools it names, ``(context, agent, tool)`` about those it says; by default nobody
            is asked, as there, and what the server says of its tools is believed.
    """

    client_session_timeout_seconds: float | None
    tool_filter: ToolFilter | None
    require_approval: Approvals


class MCPServer(CoreServer):
    """A server for ``Agent(mcp_servers=[...])``; an async context manager.

    Args:
        config: Where it is.
        options: See `ServerOptions`; what has no counterpart is refused by name.

    Raises:
        SetupError: for an option that would not be honoured.
    """

    def __init__(self, config: ServerConfig, **options: Unpack[ServerOptions]) -> None:
        unknown = {k: v for k, v in options.items() if k not in ServerOptions.__annotations__}
        if strange := sorted(key for key, value in unknown.items() if value):
            raise SetupError(f"an MCP server's {', '.join(strange)} has no counterpart here")
        self._approvals = wanted = options.get("require_approval")
        self._asked_about = frozenset[str]() if callable(wanted) else asked_about(wanted)
        self.tool_filter = options.get("tool_filter")
        super().__init__(
            config,
            trust="" not in self._asked_about,
            timeout=options.get("client_session_timeout_seconds", 5),
        )

    async def get_tools(self, run: RunContext | None = None) -> list[AnyTool]:
        """The server's tools that its filter lets through."""
        run = run or RunContext()
        context = ToolFilterContext(RunContextWrapper.of(run), run.agent, self.name)
        given = await super().get_tools()
        kept = [one for one in given if await taken(one, self.tool_filter, context)]
        return [self._asking(one) for one in kept]

    def _asking(self, tool: AnyTool) -> AnyTool:
        """The tool, about whose calls a person is asked as it is said.

        What it tells is believed if nobody is asked: as there, it asks about no later call either.
        """
        decide, asked, effects = self._approvals, self._asked_about, tool.effects
        needs: Needs = own_name(tool) in asked or tool.approval
        if callable(decide):
            needs = partial(_decided, decide, tool)
        elif not asked & {"", own_name(tool)}:
            effects = replace(effects, stranger=False)
        steps = (rejection_as_told, _as_said, *tool.steps)
        return replace(tool, approval=needs, effects=effects, steps=steps)

    def invalidate_tools_cache(self) -> None:
        """Nothing to do: its tools are asked for whenever they are looked for."""

    async def list_tools(
        self, run_context: RunContextWrapper[Any] | None = None, agent: Any = None
    ) -> list[AnyTool]:
        """The tools it has now; run and agent are for filters that are functions."""
        return await self.get_tools(RunContext(getattr(run_context, "context", None), agent=agent))

    async def call_tool(self, tool_name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """Call one of its tools as the program itself: its answer as the protocol has it.

        Raises:
            SetupError: the server cannot be reached.
            ToolError: it answered with an error.
        """
        return await self._ask(lambda client: client.call_tool(tool_name, dict(arguments or {})))

    async def list_prompts(self) -> Any:
        """Its prompts, as the protocol has them; so the others, with the same exceptions."""
        return await self._ask(lambda client: client.list_prompts())

    async def get_prompt(self, name: str, arguments: Mapping[str, Any] | None = None) -> Any:
        """One of them, filled in."""
        return await self._ask(lambda client: client.get_prompt(name, dict(arguments or {})))

    async def list_resources(self, cursor: str | None = None) -> Any:
        """Its resources."""
        return await self._ask(lambda client: client.list_resources(cursor=cursor))

    async def list_resource_templates(self, cursor: str | None = None) -> Any:
        """Addresses of resources with parts to fill in."""
        return await self._ask(lambda client: client.list_resource_templates(cursor=cursor))

    async def read_resource(self, uri: str) -> Any:
        """What one of them holds."""
        return await self._ask(lambda client: client.read_resource(uri))

    async def connect(self) -> None:
        """Connect now rather than when its tools are first asked for."""
        await self.get_tools()

    async def cleanup(self) -> None:
        """Close the connection, and end the process if there is one."""
        await self.close()


class _ByParams(MCPServer):
    """A server by the SDK's parameters.

    Args:
        params: Where it is.
        cache_tools_list: Nothing to do: a listing is kept until the server says it has changed.
        name: What people call it; its command or its address by default.
        options: See `ServerOptions`.
    """

    _taken: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        params: Mapping[str, Any],
        cache_tools_list: bool = False,
        name: str | None = None,
        **options: Unpack[ServerOptions],
    ) -> None:
        if strange := sorted(set(params) - {*self._taken}):
            raise SetupError(f"params: {', '.join(strange)} would not be honoured")
        super().__init__(self._config(params, name), **options)

    def _config(self, params: Mapping[str, Any], name: str | None) -> ServerConfig:
        raise NotImplementedError


class MCPServerStdio(_ByParams):
    """A server that is a process: ``command``, ``args``, ``env`` and ``cwd``."""

    _taken = ("command", "args", "env", "cwd")

    def _config(self, params: Mapping[str, Any], name: str | None) -> ServerConfig:
        command = (str(params["command"]), *map(str, params.get("args") or ()))
        env, cwd = params.get("env") or {}, str(params.get("cwd") or "")
        return ServerConfig(name or command[0], command, env, cwd)


class MCPServerStreamableHttp(_ByParams):
    """A server on the network: ``url`` and ``headers``."""

    _taken = ("url", "headers")
    _kind: ClassVar[Literal["http", "sse"]] = "http"

    def _config(self, params: Mapping[str, Any], name: str | None) -> ServerConfig:
        url, headers = str(params["url"]), params.get("headers") or {}
        return ServerConfig(name or url, url=url, headers=headers, kind=self._kind)


class MCPServerSse(MCPServerStreamableHttp):
    """A server on the network that speaks the older form."""

    _kind = "sse"


class MCPServerManager:
    """Several servers in one ``async with``; those that cannot be reached are left out.

    Args:
        servers: The servers.
        strict: Whether one that cannot be reached is an error.

    Attributes:
        active_servers: Those that are connected.
        failed_servers: The others; `errors` has why, by server.
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
        """Try again those that could not be reached, or all; gives those that are connected."""
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
    """Tools of servers, for who wants to look at them."""

    @staticmethod
    async def get_all_function_tools(
        servers: Sequence[MCPServer],
        convert_schemas_to_strict: bool,
        run_context: RunContextWrapper[Any],
        agent: Any,
    ) -> list[AnyTool]:
        """The tools of all servers, as they may be given to an agent.

        Args:
            servers: The servers.
            convert_schemas_to_strict: Whether OpenAI holds their arguments to their schemas.
            run_context: For filters that are functions.
            agent: The same.
        """
        run = RunContext(run_context.context, agent=agent)
        tools = [tool for server in servers for tool in await server.get_tools(run)]
        return as_strict(tools, every=True) if convert_schemas_to_strict else tools


def _decided(decide: Callable[..., Any], tool: AnyTool, _: object, context: ToolContext) -> Any:
    """Whether a person must approve a call, by a function of the run, the agent and the tool."""
    return decide(RunContextWrapper.of(context.run), context.agent, tool)


async def _as_said(prepared: Prepared, context: ToolContext, proceed: Proceed) -> object:
    """A step: the model reads what a server says of a failure as it says it, as there."""
    said = await proceed(prepared)
    if isinstance(said, ToolMessage) and said.kind == "tool_error":
        return ToolOutput(said.content, said.artifact, said.details)
    return said

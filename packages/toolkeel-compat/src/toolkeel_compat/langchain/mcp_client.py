"""`MultiServerMCPClient` of ``langchain-mcp-adapters``: the core's MCP servers with its parameters."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from types import MappingProxyType
from typing import Any, TypeAlias

from toolkeel._records.record import record
from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError
from toolkeel.mcp.client import MCPServer
from toolkeel.mcp.config import ServerConfig
from toolkeel_compat.langchain.command import ToolCallRequest, make_wrapper_step
from toolkeel_compat.langchain.tools import StructuredTool

__all__ = ["MCPToolCallRequest", "MultiServerMCPClient", "load_mcp_tools"]

_NO_HEADERS: Mapping[str, str] = MappingProxyType({})
_call_headers: ContextVar[Mapping[str, str]] = ContextVar("mcp_call_headers", default=_NO_HEADERS)
"""Headers that interceptors set for the running call."""
_KINDS: Mapping[str, Any] = {
    "stdio": "stdio",
    "sse": "sse",
    "http": "http",
    "streamable_http": "http",
    "streamable-http": "http",
}
_KEYS = {
    "stdio": ("command", "args", "env", "cwd"),
    "http": ("url", "headers", "auth", "timeout"),
    "sse": ("url", "headers", "auth", "timeout"),
}
"""Keys of a connection, by how the server is spoken to."""


@record
class MCPToolCallRequest:
    """A call as interceptors get it.

    Args:
        name: Name of the tool.
        args: The arguments.
        server_name: Name of the server.
        headers: More headers for this call; None for none.
        runtime: The tool's view of the run.
    """

    name: str
    args: Mapping[str, Any]
    server_name: str
    headers: Mapping[str, str] | None = None
    runtime: Any = None

    def override(self, **changes: Any) -> MCPToolCallRequest:
        """Return a copy with other `args` or `headers`.

        Raises:
            SetupError: Another field is to change.
        """
        if strange := sorted(changes.keys() - {"args", "headers"}):
            raise SetupError(f"a call's {', '.join(strange)} cannot be changed here")
        return dataclasses.replace(self, **changes)


Interceptor: TypeAlias = Callable[
    [MCPToolCallRequest, Callable[[MCPToolCallRequest], Awaitable[Any]]], Awaitable[Any]
]
"""Awaits the handler with a request, and returns its result or another one."""


class MultiServerMCPClient:
    """Several MCP servers, by name.

    Args:
        connections: By name: ``transport``, and ``command``, ``args``, ``env``, ``cwd`` of a program or
            ``url``, ``headers``, ``auth``, ``timeout`` of an address.
        tool_interceptors: Called around each call, the first outermost.
        tool_name_prefix: Put the server's name before the names of its tools.

    Raises:
        SetupError: A connection has an unknown transport, or a setting that would be lost.
    """

    def __init__(
        self,
        connections: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        tool_interceptors: Sequence[Interceptor] | None = None,
        tool_name_prefix: bool = False,
    ) -> None:
        self.connections = dict(connections or {})
        self._interceptors = tuple(tool_interceptors or ())
        self._prefixes = tool_name_prefix
        self._servers = {
            name: self._make_server(name, how) for name, how in self.connections.items()
        }

    def _make_server(self, name: str, how: Mapping[str, Any]) -> MCPServer:
        kind = _KINDS.get(how.get("transport", "stdio" if "command" in how else ""))
        if kind is None:
            raise SetupError(
                f"the connection {name!r}: transport is one of {', '.join(_KINDS)}, not "
                f"{how.get('transport')!r}"
            )
        given = {
            key: value for key, value in how.items() if key != "transport" and value is not None
        }
        if strange := sorted(given.keys() - {*_KEYS[kind]}):
            raise SetupError(
                f"the connection {name!r} has {strange[0]!r}, which is not here; it has "
                f"{', '.join(_KEYS[kind])}"
            )
        if kind == "stdio":
            command = (str(given["command"]), *map(str, given.get("args", ())))
            config = ServerConfig(
                name, command, given.get("env", {}), str(given.get("cwd", "")), kind=kind
            )
            return MCPServer(config, trust=True, results="ours")
        config = ServerConfig(
            name, url=str(given["url"]), headers=given.get("headers", {}), kind=kind
        )
        options: dict[str, Any] = {key: given[key] for key in ("auth",) if key in given}
        if "timeout" in given:
            seconds = given["timeout"]
            options["timeout"] = getattr(seconds, "total_seconds", lambda: seconds)()
        if self._interceptors:
            options["headers"] = lambda run: dict(_call_headers.get())
        return MCPServer(config, trust=True, results="ours", **options)

    async def get_tools(self, *, server_name: str | None = None) -> list[StructuredTool]:
        """Return the tools of all servers, or of one.

        Args:
            server_name: Name of the server.

        Raises:
            ValueError: There is no such server.
            SetupError: A server cannot be used; the others answer by their names.
        """
        names = list(self._servers) if server_name is None else [server_name]
        found = await asyncio.gather(*map(self._list_tools, names))
        return [tool for tools in found for tool in tools]

    async def _list_tools(self, name: str) -> list[StructuredTool]:
        tools = await self._find_server(name).get_tools()
        return [self._convert(tool, name) for tool in tools]

    def _find_server(self, name: str) -> MCPServer:
        if name not in self._servers:
            known = ", ".join(map(repr, self._servers))
            raise ValueError(f"there is no server {name!r}; there are {known or 'none'}")
        return self._servers[name]

    def _convert(self, tool: AnyTool, server: str) -> StructuredTool:
        steps = [
            make_wrapper_step(_to_wrapper(interceptor, tool.name, server))
            for interceptor in self._interceptors
        ]
        name = f"{server}_{tool.name}" if self._prefixes else tool.name
        return _to_structured_tool(
            dataclasses.replace(tool, name=name, steps=(*steps, *tool.steps))
        )

    @asynccontextmanager
    async def session(self, server_name: str) -> AsyncIterator[MCPServer]:
        """Open a connection for the block, for `load_mcp_tools`.

        Args:
            server_name: Name of the server.

        Raises:
            ValueError: There is no such server.
        """
        async with self._find_server(server_name) as server:
            yield server

    async def __aenter__(self) -> MultiServerMCPClient:
        """Refuse: a client is no context manager, as there.

        Raises:
            NotImplementedError: Always.
        """
        raise NotImplementedError(
            "MultiServerMCPClient is no context manager: tools = await client.get_tools(), or "
            "async with client.session(name) as session: tools = await load_mcp_tools(session)"
        )

    async def __aexit__(self, *problem: object) -> None:
        """Do nothing."""


async def load_mcp_tools(session: Any) -> list[StructuredTool]:
    """Return the tools of a session.

    Args:
        session: That of `MultiServerMCPClient.session`, or an `MCPServer` of toolkeel.

    Raises:
        SetupError: It is another one.
    """
    if not isinstance(session, MCPServer):
        raise SetupError(
            "load_mcp_tools takes the session of MultiServerMCPClient({...}).session(name), or an "
            f"MCPServer of toolkeel.mcp, not {session!r:.60}"
        )
    return [_to_structured_tool(tool) for tool in await session.get_tools()]


def _to_structured_tool(tool: AnyTool) -> StructuredTool:
    return StructuredTool._from_core(tool, None, None, None)


def _to_wrapper(interceptor: Interceptor, tool: str, server: str) -> Any:
    """Return an interceptor as a ``wrap_tool_call`` function."""

    async def wrap(request: ToolCallRequest, execute: Callable[[ToolCallRequest], Any]) -> Any:
        args = request.tool_call.args
        first = MCPToolCallRequest(tool, args, server, None, request.runtime)

        async def handle(asked: MCPToolCallRequest) -> Any:
            changed = request
            if asked.args != args:
                call = {**dict(request.tool_call), "args": dict(asked.args)}
                changed = request.override(tool_call=call)
            token = _call_headers.set({**_call_headers.get(), **(asked.headers or {})})
            try:
                return await execute(changed)
            finally:
                _call_headers.reset(token)

        return await interceptor(first, handle)

    return wrap

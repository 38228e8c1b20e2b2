"""MCP servers, under the names of the OpenAI Agents SDK: the core's `MCPServer` with its parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeAlias, TypedDict, Unpack

from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError
from toolkeel.mcp.client import MCPServer as CoreServer
from toolkeel.mcp.config import ServerConfig

Approvals: TypeAlias = Literal["always", "never"] | bool | None


class ServerOptions(TypedDict, total=False):
    """Options of a server.

    Attributes:
        client_session_timeout_seconds: Seconds of one call; None for ever.
        tool_filter: See `create_static_tool_filter`; functions are refused.
        require_approval: ``always`` or True asks a person about every call; by default nobody is
            asked, as there, and what the server says of its tools is believed.
    """

    client_session_timeout_seconds: float | None
    tool_filter: Mapping[str, Sequence[str]] | None
    require_approval: Approvals


def create_static_tool_filter(
    allowed_tool_names: Sequence[str] | None = None, blocked_tool_names: Sequence[str] | None = None
) -> dict[str, list[str]] | None:
    """Which of a server's tools are taken."""
    made = {}
    if allowed_tool_names is not None:
        made["allowed_tool_names"] = list(allowed_tool_names)
    if blocked_tool_names is not None:
        made["blocked_tool_names"] = list(blocked_tool_names)
    return made or None


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
        approval = options.get("require_approval")
        if approval not in (None, "always", "never", True, False):
            raise SetupError("require_approval is 'always' or 'never' here; use Rules for more")
        super().__init__(
            config,
            trust=approval in (None, "never", False),
            only=_allowed(options.get("tool_filter")),
            timeout=options.get("client_session_timeout_seconds", 5),
        )

    async def list_tools(self) -> list[AnyTool]:
        """The tools it has now."""
        return await self.get_tools()

    async def cleanup(self) -> None:
        """Close the connection, and end the process if there is one."""
        await self.close()


class MCPServerStdio(MCPServer):
    """A server that is a process.

    Args:
        params: ``command``, ``args``, ``env`` and ``cwd``.
        cache_tools_list: Nothing to do: a listing is kept until the server says it has changed.
        name: What people call it; its command by default.
        options: See `ServerOptions`.
    """

    def __init__(
        self,
        params: Mapping[str, Any],
        cache_tools_list: bool = False,
        name: str | None = None,
        **options: Unpack[ServerOptions],
    ) -> None:
        _only(params, ("command", "args", "env", "cwd"))
        command = (str(params["command"]), *map(str, params.get("args") or ()))
        env, cwd = params.get("env") or {}, str(params.get("cwd") or "")
        super().__init__(ServerConfig(name or command[0], command, env, cwd), **options)


class MCPServerStreamableHttp(MCPServer):
    """A server on the network.

    Args:
        params: ``url`` and ``headers``.
        cache_tools_list: Nothing to do: a listing is kept until the server says it has changed.
        name: What people call it; its address by default.
        options: See `ServerOptions`.
    """

    _kind: ClassVar[Literal["http", "sse"]] = "http"

    def __init__(
        self,
        params: Mapping[str, Any],
        cache_tools_list: bool = False,
        name: str | None = None,
        **options: Unpack[ServerOptions],
    ) -> None:
        _only(params, ("url", "headers"))
        url, headers = str(params["url"]), params.get("headers") or {}
        super().__init__(
            ServerConfig(name or url, url=url, headers=headers, kind=self._kind), **options
        )


class MCPServerSse(MCPServerStreamableHttp):
    """A server on the network that speaks the older form."""

    _kind = "sse"


def _allowed(tool_filter: Any) -> list[str] | None:
    if tool_filter is None:
        return None
    if not isinstance(tool_filter, Mapping):
        raise SetupError("tool_filter: give create_static_tool_filter(...), not a function")
    if "blocked_tool_names" in tool_filter:
        raise SetupError("tool_filter: name the tools that are allowed, or give Rules(deny=...)")
    return list(tool_filter["allowed_tool_names"])


def _only(params: Mapping[str, Any], known: Sequence[str]) -> None:
    if strange := sorted(set(params) - {*known}):
        raise SetupError(f"params: {', '.join(strange)} would not be honoured")

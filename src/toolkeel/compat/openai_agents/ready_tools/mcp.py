"""`HostedMCPTool` of the OpenAI Agents SDK: the core's `HostedMCP` with its words."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from operator import attrgetter
from typing import Any, Literal, TypedDict

from toolkeel._records.record import record
from toolkeel.builtin.hosted_mcp import HostedMCP
from toolkeel.compat.openai_agents.context import RunContextWrapper
from toolkeel.context import ToolContext
from toolkeel.errors import SetupError

__all__ = [
    "HostedMCPTool", "MCPToolApprovalFunctionResult", "MCPToolApprovalRequest", "Mcp",
    "McpApprovalRequest",
]  # fmt: skip


@record
class Mcp:
    """Where a hosted MCP server is.

    Args:
        server_url: Its address.
        api_key: Sent as a bearer token.
        config: More, by OpenAI's names: ``server_label`` (its name), ``allowed_tools`` (those to
            take), ``require_approval="never"`` (ask nobody).
    """

    server_url: str
    api_key: str | None = None
    config: Mapping[str, Any] | None = None

    def __getitem__(self, key: str) -> Any:
        return {"server_url": self.server_url, **(self.config or {})}[key]


@record
class McpApprovalRequest:
    """A call that is asked about."""

    tool_name: str
    arguments: Mapping[str, Any]
    server_name: str = ""

    name = property(attrgetter("tool_name"))
    server_label = property(attrgetter("server_name"))


@record
class MCPToolApprovalRequest:
    """What an approval function is given."""

    ctx_wrapper: RunContextWrapper[Any]
    data: McpApprovalRequest


class MCPToolApprovalFunctionResult(TypedDict, total=False):
    """What an approval function answers."""

    approve: bool
    reason: str


Approval = Callable[
    [MCPToolApprovalRequest],
    MCPToolApprovalFunctionResult | Awaitable[MCPToolApprovalFunctionResult],
]


class HostedMCPTool(HostedMCP):
    """The tools of an MCP server, each call approved by a function; see `HostedMCP`.

    Args:
        tool_config: Where it is.
        on_approval_request: Approves its calls. Without one the run's approver is asked.
        where: Where its tools run; see `HostedMCP`.
    """

    name = "hosted_mcp"

    def __init__(
        self,
        tool_config: Mcp | Mapping[str, Any],
        on_approval_request: Approval | None = None,
        where: Literal["auto", "local"] = "auto",
    ) -> None:
        if isinstance(tool_config, Mapping):
            url, key = tool_config.get("server_url", ""), tool_config.get("authorization")
            tool_config = Mcp(url, key, tool_config)
        self.tool_config = tool_config
        self.on_approval_request = on_approval_request
        more = tool_config.config or {}
        asked = more.get("require_approval")
        each = {"require_approval": asked} if isinstance(asked, Mapping) else {}
        super().__init__(
            tool_config.server_url,
            connector=more.get("connector_id", ""),
            name=more.get("server_label"),
            token=tool_config.api_key,
            only=more.get("allowed_tools"),
            trust=_trusted(asked),
            approve=None if on_approval_request is None else self._asked,
            openai={key: more[key] for key in _OPENAI if key in more} | each,
            where=where,
        )

    def _asked(self, name: str, arguments: Mapping[str, Any], context: ToolContext[Any]) -> Any:
        assert self.on_approval_request is not None
        data = McpApprovalRequest(name, arguments, self.server_name)
        wrapper = RunContextWrapper.from_tool_context(context)
        return self.on_approval_request(MCPToolApprovalRequest(wrapper, data))


_OPENAI = ("server_description", "headers", "defer_loading")


def _trusted(asked: Any) -> bool | list[str]:
    """Whether nobody is asked, by ``require_approval``; or about which tools nobody is."""
    if isinstance(asked, Mapping):
        return list((asked.get("never") or {}).get("tool_names") or ())
    if asked not in (None, "always", "never"):
        raise SetupError(f"require_approval={asked!r:.60}: write 'always', 'never' or a dict")
    return bool(asked == "never")

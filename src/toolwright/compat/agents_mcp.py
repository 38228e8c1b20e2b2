"""`HostedMCPTool` of the OpenAI Agents SDK: an MCP server with a function that approves its calls."""

from __future__ import annotations

import dataclasses
import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypedDict
from urllib.parse import urlsplit

from toolwright.builtin.catalog import load_from
from toolwright.compat.agents_context import RunContextWrapper
from toolwright.context import ToolContext
from toolwright.define.tool import AnyTool, Prepared, Proceed
from toolwright.effects import UNKNOWN
from toolwright.errors import Denied
from toolwright.record import record


@record
class Mcp:
    """Where a hosted MCP server is.

    Args:
        server_url: Its address.
        api_key: Sent as a bearer token.
        config: More: ``server_label`` (its name) and ``allowed_tools`` (those to take).
    """

    server_url: str
    api_key: str | None = None
    config: Mapping[str, Any] | None = None


@record
class McpApprovalRequest:
    """A call that is asked about."""

    tool_name: str
    arguments: Mapping[str, Any]
    server_name: str = ""


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


class HostedMCPTool:
    """The tools of an MCP server, each call approved by a function.

    The server is talked to from here, so its tools stand under every rule and guard of the run.

    Args:
        tool_config: Where it is.
        on_approval_request: Approves its calls. Without one the run's approver is asked.
    """

    def __init__(
        self,
        tool_config: Mcp | Mapping[str, Any],
        on_approval_request: Approval | None = None,
    ) -> None:
        if isinstance(tool_config, Mapping):
            more = {
                k: v for k, v in tool_config.items() if k not in ("server_url", "authorization")
            }
            url, key = str(tool_config["server_url"]), tool_config.get("authorization")
            tool_config = Mcp(url, key, more)
        self.tool_config = tool_config
        self.on_approval_request = on_approval_request
        self._server: Any = None

    @property
    def name(self) -> str:
        """The tool's name."""
        return "hosted_mcp"

    @property
    def server_name(self) -> str:
        """What the server is called: its label, else its host."""
        config = self.tool_config.config or {}
        return str(config.get("server_label") or urlsplit(self.tool_config.server_url).hostname)

    @property
    def prefix(self) -> str:
        """What is put before names that another source of tools has, too."""
        return f"{self.server_name}_"

    async def get_tools(self) -> list[AnyTool]:
        """The server's tools.

        Raises:
            SetupError: the server cannot be reached.
        """
        if self._server is None:
            config, key = self.tool_config.config or {}, self.tool_config.api_key
            self._server = load_from(
                "mcp-server",
                self.tool_config.server_url,
                name=self.server_name,
                trust=self.on_approval_request is not None,
                headers={"Authorization": f"Bearer {key}"} if key else None,
                only=config.get("allowed_tools"),
            )
        tools: list[AnyTool] = await self._server.get_tools()
        if self.on_approval_request is None:
            return tools
        return [
            dataclasses.replace(tool, effects=UNKNOWN, steps=(self._approved, *tool.steps))
            for tool in tools
        ]

    async def _approved(
        self, prepared: Prepared, context: ToolContext[Any], proceed: Proceed
    ) -> object:
        """Let a call through that the function approves.

        Raises:
            Denied: it does not, or it failed.
        """
        assert self.on_approval_request is not None
        known = prepared.tool.metadata.get("mcp")
        name = known.get("tool") if isinstance(known, Mapping) else prepared.tool.name
        data = McpApprovalRequest(str(name), dict(prepared.arguments), self.server_name)
        wrapper = RunContextWrapper.from_tool_context(context)
        try:
            answer = self.on_approval_request(MCPToolApprovalRequest(wrapper, data))
            said = await answer if inspect.isawaitable(answer) else answer
        except Exception as error:
            logging.getLogger("toolwright").exception(
                "the approval function of %s failed", self.server_name
            )
            raise Denied(
                f"The call of {prepared.tool.name!r} was not approved: the approval function "
                f"failed ({type(error).__name__})."
            ) from error
        if not isinstance(said, Mapping) or said.get("approve") is not True:
            reason = said.get("reason") if isinstance(said, Mapping) else None
            why = reason or "no reason was given"
            raise Denied(f"The call of {prepared.tool.name!r} was not approved: {why}")
        return await proceed(prepared)

"""Tools that OpenAI hosts, under the names of the OpenAI Agents SDK: code, files, computers, MCP."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Literal, TypeAlias, TypedDict

from toolkeel._records.record import record
from toolkeel.builtin.hosted_mcp import HostedMCP
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError
from toolkeel.hosted import Hosted
from toolkeel_compat.openai_agents.context import RunContextWrapper
from toolkeel_workspace.code.interpreter import CodeInterpreterTool as CoreTool
from toolkeel_workspace.computer import tool as core
from toolkeel_workspace.shell.local_shell import WIRE

__all__ = [
    "AsyncComputer", "Button", "CodeInterpreterTool", "Computer", "ComputerTool",
    "ComputerToolSafetyCheckData", "Filters", "HostedMCPTool", "ImageGenerationToolConfig",
    "MCPToolApprovalFunctionResult", "MCPToolApprovalRequest", "Mcp", "McpApprovalRequest",
    "RankingOptions",
]  # fmt: skip


@dataclasses.dataclass(eq=False)
class CodeInterpreterTool:
    """Runs Python at OpenAI in a configured container; with other models in a local sandbox.

    Args:
        tool_config: OpenAI's JSON: ``{"type": "code_interpreter", "container": ...}``.
    """

    tool_config: Mapping[str, Any]
    name = "code_interpreter"

    @cached_property
    def tool(self) -> AnyTool:
        """The core's tool."""
        made = CoreTool(where="auto").tool
        assert made.hosted is not None
        there = dataclasses.replace(made.hosted.natives[WIRE], body=dict(self.tool_config))
        return dataclasses.replace(made, hosted=Hosted({WIRE: there}))


ImageGenerationToolConfig: TypeAlias = dict[str, Any]
"""The hosted tool's JSON; `ImageGenerationTool` refuses keys that it does not have."""


@record
class RankingOptions:
    """Options for ranking found passages."""

    ranker: str | None = None
    score_threshold: float | None = None


@record
class Filters:
    """Filters of the searched documents."""

    metadata: Mapping[str, Any] | None = None
    file_ids: Sequence[str] | None = None


class Computer:
    """A custom computer, with the SDK's methods or the core's small interface."""


AsyncComputer = Computer
"""The same: methods may be async."""
Button: TypeAlias = Literal["left", "right", "wheel", "back", "forward"]


@record
class ComputerToolSafetyCheckData:
    """The argument of a safety check function.

    Args:
        ctx_wrapper: The user's own object, and the usage.
        agent: The agent whose run it is.
        tool_call: The call.
        safety_check: The provider's warning: ``id``, ``code``, ``message``.
    """

    ctx_wrapper: RunContextWrapper[Any]
    agent: Any
    tool_call: Any
    safety_check: core.SafetyCheck


@dataclasses.dataclass(eq=False)
class ComputerTool:
    """A computer as a tool; `tool` is the core's.

    Args:
        computer: With the small or the full interface.
        on_safety_check: Decides on each warning of the provider; without it a call with warnings
            needs approval.
    """

    computer: Any
    on_safety_check: Callable[[ComputerToolSafetyCheckData], bool | Awaitable[bool]] | None = None
    name = "computer"

    def __post_init__(self) -> None:
        check = self._call_safety_check if self.on_safety_check is not None else None
        self.tool: AnyTool = core.ComputerTool(self.computer, on_safety_check=check).tool

    def _call_safety_check(self, check: core.SafetyCheck) -> bool | Awaitable[bool]:
        assert self.on_safety_check is not None
        context = check.context
        wrapper = RunContextWrapper.from_tool_context(context)
        data = ComputerToolSafetyCheckData(wrapper, context.agent, context.call, check)
        return self.on_safety_check(data)


@record
class Mcp:
    """The location of a hosted MCP server.

    Args:
        server_url: Its URL.
        api_key: Sent as a bearer token.
        config: Further keys by OpenAI's names: ``server_label`` (its name), ``allowed_tools``,
            ``require_approval="never"``.
    """

    server_url: str
    api_key: str | None = None
    config: Mapping[str, Any] | None = None

    def __getitem__(self, key: str) -> Any:
        return {"server_url": self.server_url, **(self.config or {})}[key]


@record
class McpApprovalRequest:
    """A call that needs approval."""

    tool_name: str
    arguments: Mapping[str, Any]
    server_name: str = ""

    @property
    def name(self) -> str:
        """The tool's name, as the hosted call spells it."""
        return self.tool_name

    @property
    def server_label(self) -> str:
        """The server's label, as the hosted call spells it."""
        return self.server_name


@record
class MCPToolApprovalRequest:
    """The argument of an approval function."""

    ctx_wrapper: RunContextWrapper[Any]
    data: McpApprovalRequest


class MCPToolApprovalFunctionResult(TypedDict, total=False):
    """The answer of an approval function."""

    approve: bool
    reason: str


Approval = Callable[
    [MCPToolApprovalRequest],
    MCPToolApprovalFunctionResult | Awaitable[MCPToolApprovalFunctionResult],
]


class HostedMCPTool(HostedMCP):
    """The tools of an MCP server, each call approved by a function. See `HostedMCP`.

    Args:
        tool_config: The server's location.
        on_approval_request: Approves its calls; without one the run's approver does.
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
        if unknown := sorted(more.keys() - {*_CONFIG_KEYS, *_OPENAI_KEYS}):
            raise SetupError(
                f"HostedMCPTool(tool_config=...) has no {unknown[0]!r}; it has "
                f"{', '.join((*_CONFIG_KEYS, *_OPENAI_KEYS))}"
            )
        asked = more.get("require_approval")
        each = {"require_approval": asked} if isinstance(asked, Mapping) else {}
        super().__init__(
            tool_config.server_url,
            connector=more.get("connector_id", ""),
            name=more.get("server_label"),
            token=tool_config.api_key,
            only=more.get("allowed_tools"),
            trust=_read_trust(asked),
            approve=None if on_approval_request is None else self._call_approval_function,
            openai={key: more[key] for key in _OPENAI_KEYS if key in more} | each,
            where=where,
        )

    def _call_approval_function(
        self, name: str, arguments: Mapping[str, Any], context: ToolContext
    ) -> Any:
        assert self.on_approval_request is not None
        data = McpApprovalRequest(name, arguments, self.server_name)
        wrapper = RunContextWrapper.from_tool_context(context)
        return self.on_approval_request(MCPToolApprovalRequest(wrapper, data))


_CONFIG_KEYS = (
    "type", "server_url", "authorization", "connector_id", "server_label", "allowed_tools",
    "require_approval",
)  # fmt: skip
_OPENAI_KEYS = ("server_description", "headers", "defer_loading")


def _read_trust(asked: Any) -> bool | list[str]:
    """Return True if ``require_approval`` is never needed, or the tools that never need it."""
    if isinstance(asked, Mapping):
        return list((asked.get("never") or {}).get("tool_names") or ())
    if asked not in (None, "always", "never"):
        raise SetupError(f"require_approval={asked!r:.60}: write 'always', 'never' or a dict")
    return bool(asked == "never")

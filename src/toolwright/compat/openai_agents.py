"""The OpenAI Agents SDK's names over this core: change the import lines, keep the tools.

``from toolwright.compat.openai_agents import function_tool, Agent, Runner, ...`` stands for imports
from ``agents``, ``agents.tool`` and ``agents.tool_guardrails``. Every tool made here holds one core
`Tool` (its attribute `tool`), so it can be given to a `Toolset` or an `Agent` as it is. What differs
is said in ``docs/coming-from-openai-agents.md``.
"""

from __future__ import annotations

from toolwright.builtin.file_search import FileSearchTool
from toolwright.builtin.image_generation import ImageGenerationTool
from toolwright.builtin.web_search import UserLocation, WebSearchTool, WebSearchToolFilters
from toolwright.compat.agents_agent import (
    Agent,
    AgentOutputSchema,
    MaxTurnsExceeded,
    RunResult,
)
from toolwright.compat.agents_computer import (
    AsyncComputer,
    ComputerTool,
    ComputerToolSafetyCheckData,
)
from toolwright.compat.agents_context import RunContextWrapper, RunItem, ToolContext
from toolwright.compat.agents_guardrails import (
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
    tool_input_guardrail,
    tool_output_guardrail,
)
from toolwright.compat.agents_hosted import (
    Computer,
    Filters,
    RankingOptions,
)
from toolwright.compat.agents_mcp import (
    HostedMCPTool,
    Mcp,
    McpApprovalRequest,
    MCPToolApprovalFunctionResult,
    MCPToolApprovalRequest,
)
from toolwright.compat.agents_run import (
    FunctionToolResult,
    Runner,
    ToolCallOutputItem,
    execute_tool,
)
from toolwright.compat.agents_shell import (
    ApplyPatchEditor,
    ApplyPatchOperation,
    ApplyPatchResult,
    ApplyPatchTool,
    LocalShellCommandRequest,
    LocalShellTool,
    ShellActionRequest,
    ShellCallData,
    ShellCallOutcome,
    ShellCommandOutput,
    ShellCommandRequest,
    ShellResult,
    ShellTool,
)
from toolwright.compat.agents_state import RunState, ToolApprovalItem
from toolwright.compat.agents_tools import FunctionTool, default_tool_error_function, function_tool
from toolwright.compat.agents_verdicts import (
    AgentsException,
    AllowBehavior,
    RaiseExceptionBehavior,
    RejectContentBehavior,
    ToolGuardrailFunctionOutput,
    ToolInputGuardrailResult,
    ToolInputGuardrailTripwireTriggered,
    ToolOutputGuardrailResult,
    ToolOutputGuardrailTripwireTriggered,
)
from toolwright.messages import Usage

Tool = FunctionTool
"""Any tool an agent may be given."""

__all__ = [
    "Agent",
    "AgentOutputSchema",
    "AgentsException",
    "AllowBehavior",
    "ApplyPatchEditor",
    "ApplyPatchOperation",
    "ApplyPatchResult",
    "ApplyPatchTool",
    "AsyncComputer",
    "Computer",
    "ComputerTool",
    "ComputerToolSafetyCheckData",
    "FileSearchTool",
    "Filters",
    "FunctionTool",
    "FunctionToolResult",
    "HostedMCPTool",
    "ImageGenerationTool",
    "LocalShellCommandRequest",
    "LocalShellTool",
    "MCPToolApprovalFunctionResult",
    "MCPToolApprovalRequest",
    "MaxTurnsExceeded",
    "Mcp",
    "McpApprovalRequest",
    "RaiseExceptionBehavior",
    "RankingOptions",
    "RejectContentBehavior",
    "RunContextWrapper",
    "RunItem",
    "RunResult",
    "RunState",
    "Runner",
    "ShellActionRequest",
    "ShellCallData",
    "ShellCallOutcome",
    "ShellCommandOutput",
    "ShellCommandRequest",
    "ShellResult",
    "ShellTool",
    "Tool",
    "ToolApprovalItem",
    "ToolCallOutputItem",
    "ToolContext",
    "ToolGuardrailFunctionOutput",
    "ToolInputGuardrail",
    "ToolInputGuardrailData",
    "ToolInputGuardrailResult",
    "ToolInputGuardrailTripwireTriggered",
    "ToolOutputGuardrail",
    "ToolOutputGuardrailData",
    "ToolOutputGuardrailResult",
    "ToolOutputGuardrailTripwireTriggered",
    "Usage",
    "UserLocation",
    "WebSearchTool",
    "WebSearchToolFilters",
    "default_tool_error_function",
    "execute_tool",
    "function_tool",
    "tool_input_guardrail",
    "tool_output_guardrail",
]

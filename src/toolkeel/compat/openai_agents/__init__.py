"""The OpenAI Agents SDK's names over this core: change the import lines, keep the tools.

context        what a running tool is handed: `RunContextWrapper`, `ToolContext`, `Usage`
guardrails     guardrails of tools and of agents
items          what happened in a run, as items of the Responses wire
tool_outputs   texts, pictures and files that a tool returns
handoffs       `handoff`: one agent gives the run to another
handoff_filters  what the other one sees of the history
tools          `function_tool` and `FunctionTool`
settings       `ModelSettings` and `RunConfig`
models         which model an agent asks: bare names are OpenAI's
state          runs that wait for a person: `RunState`, interruptions
result         `RunResult`
sessions       what was said before joins the next run: `SQLiteSession`
stream         streamed runs: `Runner.run_streamed` gives them
hooks          methods that are awaited as a run goes
prompts        prompts kept at OpenAI
output         types of answers
behavior       when results of tools are the answer
agent          `Agent`
tracing        traces and spans, handed to processors, sent to nobody
run            `Runner`
ready_tools    shells, patches, computers, hosted tools and MCP servers
missing_names  the SDK's names that are not here, and what to write instead; as of its version 0.24
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

from toolkeel.builtin.pictures.generate import ImageGenerationTool
from toolkeel.builtin.search.file_search import FileSearchTool
from toolkeel.builtin.web.search import UserLocation, WebSearchTool, WebSearchToolFilters
from toolkeel.compat.missing import missing
from toolkeel.compat.openai_agents import handoff_filters
from toolkeel.compat.openai_agents.agent import Agent, MaxTurnsExceeded
from toolkeel.compat.openai_agents.behavior import (
    FunctionToolResult,
    StopAtTools,
    ToolsToFinalOutputFunction,
    ToolsToFinalOutputResult,
)
from toolkeel.compat.openai_agents.context import RunContextWrapper, RunItem, ToolContext, Usage
from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
    GuardrailFunctionOutput,
    InputGuardrail,
    InputGuardrailResult,
    InputGuardrailTripwireTriggered,
    OutputGuardrail,
    OutputGuardrailResult,
    OutputGuardrailTripwireTriggered,
    input_guardrail,
    output_guardrail,
)
from toolkeel.compat.openai_agents.guardrails.tool_guardrails import (
    ToolInputGuardrail,
    ToolInputGuardrailData,
    ToolOutputGuardrail,
    ToolOutputGuardrailData,
    tool_input_guardrail,
    tool_output_guardrail,
)
from toolkeel.compat.openai_agents.guardrails.verdicts import (
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
from toolkeel.compat.openai_agents.handoffs import (
    RECOMMENDED_PROMPT_PREFIX,
    Handoff,
    HandoffInputData,
    HandoffInputFilter,
    handoff,
    prompt_with_handoff_instructions,
)
from toolkeel.compat.openai_agents.hooks import (
    AgentHookContext,
    AgentHooks,
    ModelResponse,
    RunHooks,
)
from toolkeel.compat.openai_agents.items import (
    HandoffCallItem,
    HandoffOutputItem,
    ItemHelpers,
    MessageOutputItem,
    ReasoningItem,
    ToolCallItem,
    ToolCallOutputItem,
    TResponseInputItem,
)
from toolkeel.compat.openai_agents.missing_names import NAMES
from toolkeel.compat.openai_agents.models import (
    ModelProvider,
    OpenAIChatCompletionsModel,
    OpenAIProvider,
    OpenAIResponsesModel,
    get_default_model,
    get_default_model_settings,
    is_gpt_5_default,
    set_default_openai_api,
    set_default_openai_client,
    set_default_openai_key,
)
from toolkeel.compat.openai_agents.output import AgentOutputSchema, AgentOutputSchemaBase
from toolkeel.compat.openai_agents.prompts import (
    DynamicPromptFunction,
    GenerateDynamicPromptData,
    Prompt,
)
from toolkeel.compat.openai_agents.ready_tools.computer import (
    AsyncComputer,
    Computer,
    ComputerTool,
    ComputerToolSafetyCheckData,
)
from toolkeel.compat.openai_agents.ready_tools.file_search import Filters, RankingOptions
from toolkeel.compat.openai_agents.ready_tools.mcp import (
    HostedMCPTool,
    Mcp,
    McpApprovalRequest,
    MCPToolApprovalFunctionResult,
    MCPToolApprovalRequest,
)
from toolkeel.compat.openai_agents.ready_tools.mcp_servers import (
    MCPServer,
    MCPServerSse,
    MCPServerStdio,
    MCPServerStreamableHttp,
    create_static_tool_filter,
)
from toolkeel.compat.openai_agents.ready_tools.shell import (
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
from toolkeel.compat.openai_agents.result import RunResult
from toolkeel.compat.openai_agents.run import Runner, execute_tool
from toolkeel.compat.openai_agents.sessions import (
    OpenAIConversationsSession,
    Session,
    SessionABC,
    SQLiteSession,
)
from toolkeel.compat.openai_agents.settings import ModelSettings, RunConfig, SessionSettings
from toolkeel.compat.openai_agents.state import RunState, ToolApprovalItem, ToolErrorFormatterArgs
from toolkeel.compat.openai_agents.stream import (
    AgentToolStreamEvent,
    AgentUpdatedStreamEvent,
    RawResponsesStreamEvent,
    RunItemStreamEvent,
    RunResultStreaming,
    StreamEvent,
)
from toolkeel.compat.openai_agents.tool_outputs import (
    ToolOutputFileContent,
    ToolOutputFileContentDict,
    ToolOutputImage,
    ToolOutputImageDict,
    ToolOutputText,
    ToolOutputTextDict,
)
from toolkeel.compat.openai_agents.tools import (
    FunctionTool,
    default_tool_error_function,
    function_tool,
)
from toolkeel.compat.openai_agents.tracing import (
    BatchTraceProcessor,
    Span,
    Trace,
    TracingExporter,
    TracingProcessor,
    add_trace_processor,
    agent_span,
    custom_span,
    flush_traces,
    function_span,
    gen_span_id,
    gen_trace_id,
    generation_span,
    get_current_span,
    get_current_trace,
    set_trace_processors,
    set_tracing_disabled,
    set_tracing_export_api_key,
    trace,
)
from toolkeel.errors import OutputError, SetupError

AgentBase = Agent
"""Any agent, in annotations."""
UserError = SetupError
"""The program is wired up wrongly."""
ModelBehaviorError = OutputError
"""The model gave no answer of the form that was asked for."""
Tool = FunctionTool
"""Any tool an agent may be given."""
Button: TypeAlias = Literal["left", "right", "wheel", "back", "forward"]
ImageGenerationToolConfig: TypeAlias = dict[str, Any]
"""The hosted tool's JSON; `ImageGenerationTool` refuses keys that it does not have."""
tool = function_tool
"""The same under the name it has in ``agents.decorators``."""

__all__ = [
    "RECOMMENDED_PROMPT_PREFIX",
    "Agent",
    "AgentBase",
    "AgentHookContext",
    "AgentHooks",
    "AgentOutputSchema",
    "AgentOutputSchemaBase",
    "AgentToolStreamEvent",
    "AgentUpdatedStreamEvent",
    "AgentsException",
    "AllowBehavior",
    "ApplyPatchEditor",
    "ApplyPatchOperation",
    "ApplyPatchResult",
    "ApplyPatchTool",
    "AsyncComputer",
    "BatchTraceProcessor",
    "Button",
    "Computer",
    "ComputerTool",
    "ComputerToolSafetyCheckData",
    "DynamicPromptFunction",
    "FileSearchTool",
    "Filters",
    "FunctionTool",
    "FunctionToolResult",
    "GenerateDynamicPromptData",
    "GuardrailFunctionOutput",
    "Handoff",
    "HandoffCallItem",
    "HandoffInputData",
    "HandoffInputFilter",
    "HandoffOutputItem",
    "HostedMCPTool",
    "ImageGenerationTool",
    "ImageGenerationToolConfig",
    "InputGuardrail",
    "InputGuardrailResult",
    "InputGuardrailTripwireTriggered",
    "ItemHelpers",
    "LocalShellCommandRequest",
    "LocalShellTool",
    "MCPServer",
    "MCPServerSse",
    "MCPServerStdio",
    "MCPServerStreamableHttp",
    "MCPToolApprovalFunctionResult",
    "MCPToolApprovalRequest",
    "MaxTurnsExceeded",
    "Mcp",
    "McpApprovalRequest",
    "MessageOutputItem",
    "ModelBehaviorError",
    "ModelProvider",
    "ModelResponse",
    "ModelSettings",
    "OpenAIChatCompletionsModel",
    "OpenAIConversationsSession",
    "OpenAIProvider",
    "OpenAIResponsesModel",
    "OutputGuardrail",
    "OutputGuardrailResult",
    "OutputGuardrailTripwireTriggered",
    "Prompt",
    "RaiseExceptionBehavior",
    "RankingOptions",
    "RawResponsesStreamEvent",
    "ReasoningItem",
    "RejectContentBehavior",
    "RunConfig",
    "RunContextWrapper",
    "RunHooks",
    "RunItem",
    "RunItemStreamEvent",
    "RunResult",
    "RunResultStreaming",
    "RunState",
    "Runner",
    "SQLiteSession",
    "Session",
    "SessionABC",
    "SessionSettings",
    "ShellActionRequest",
    "ShellCallData",
    "ShellCallOutcome",
    "ShellCommandOutput",
    "ShellCommandRequest",
    "ShellResult",
    "ShellTool",
    "Span",
    "StopAtTools",
    "StreamEvent",
    "TResponseInputItem",
    "Tool",
    "ToolApprovalItem",
    "ToolCallItem",
    "ToolCallOutputItem",
    "ToolContext",
    "ToolErrorFormatterArgs",
    "ToolGuardrailFunctionOutput",
    "ToolInputGuardrail",
    "ToolInputGuardrailData",
    "ToolInputGuardrailResult",
    "ToolInputGuardrailTripwireTriggered",
    "ToolOutputFileContent",
    "ToolOutputFileContentDict",
    "ToolOutputGuardrail",
    "ToolOutputGuardrailData",
    "ToolOutputGuardrailResult",
    "ToolOutputGuardrailTripwireTriggered",
    "ToolOutputImage",
    "ToolOutputImageDict",
    "ToolOutputText",
    "ToolOutputTextDict",
    "ToolsToFinalOutputFunction",
    "ToolsToFinalOutputResult",
    "Trace",
    "TracingExporter",
    "TracingProcessor",
    "Usage",
    "UserError",
    "UserLocation",
    "WebSearchTool",
    "WebSearchToolFilters",
    "add_trace_processor",
    "agent_span",
    "create_static_tool_filter",
    "custom_span",
    "default_tool_error_function",
    "execute_tool",
    "flush_traces",
    "function_span",
    "function_tool",
    "gen_span_id",
    "gen_trace_id",
    "generation_span",
    "get_current_span",
    "get_current_trace",
    "get_default_model",
    "get_default_model_settings",
    "handoff",
    "handoff_filters",
    "input_guardrail",
    "is_gpt_5_default",
    "output_guardrail",
    "prompt_with_handoff_instructions",
    "set_default_openai_api",
    "set_default_openai_client",
    "set_default_openai_key",
    "set_trace_processors",
    "set_tracing_disabled",
    "set_tracing_export_api_key",
    "tool",
    "tool_input_guardrail",
    "tool_output_guardrail",
    "trace",
]

__getattr__ = missing("the Agents SDK", NAMES)

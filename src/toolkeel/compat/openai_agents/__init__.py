"""The OpenAI Agents SDK's names over this core: change the import lines, keep the tools.

context        what a running tool is handed: `RunContextWrapper`, `ToolContext`, `Usage`
guardrails     guardrails of tools and of agents
items          what happened in a run, as items of the Responses wire
tool_outputs   texts, pictures and files that a tool returns
handoffs       `handoff`: one agent gives the run to another
handoff_filters  what the other one sees of the history
tools          `function_tool` and `FunctionTool`
settings       `ModelSettings` and `RunConfig`
models         whom an agent asks: bare names are OpenAI's
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
names          where the names are, and what to write instead of those that are not here
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkeel import _doors
from toolkeel.compat.missing import missing
from toolkeel.compat.openai_agents.names import NAMES, PLACES

if TYPE_CHECKING:
    from toolkeel.builtin.pictures.generate import ImageGenerationTool as ImageGenerationTool
    from toolkeel.builtin.search.file_search import FileSearchTool as FileSearchTool
    from toolkeel.builtin.web.search import UserLocation as UserLocation
    from toolkeel.builtin.web.search import WebSearchTool as WebSearchTool
    from toolkeel.builtin.web.search import WebSearchToolFilters as WebSearchToolFilters
    from toolkeel.compat.openai_agents.agent import Agent as Agent
    from toolkeel.compat.openai_agents.agent import AgentBase as AgentBase
    from toolkeel.compat.openai_agents.agent import MaxTurnsExceeded as MaxTurnsExceeded
    from toolkeel.compat.openai_agents.behavior import FunctionToolResult as FunctionToolResult
    from toolkeel.compat.openai_agents.behavior import StopAtTools as StopAtTools
    from toolkeel.compat.openai_agents.behavior import (
        ToolsToFinalOutputFunction as ToolsToFinalOutputFunction,
    )
    from toolkeel.compat.openai_agents.behavior import (
        ToolsToFinalOutputResult as ToolsToFinalOutputResult,
    )
    from toolkeel.compat.openai_agents.context import RunContextWrapper as RunContextWrapper
    from toolkeel.compat.openai_agents.context import RunItem as RunItem
    from toolkeel.compat.openai_agents.context import ToolContext as ToolContext
    from toolkeel.compat.openai_agents.context import Usage as Usage
    from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
        GuardrailFunctionOutput as GuardrailFunctionOutput,
    )
    from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
        InputGuardrail as InputGuardrail,
    )
    from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
        InputGuardrailResult as InputGuardrailResult,
    )
    from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
        InputGuardrailTripwireTriggered as InputGuardrailTripwireTriggered,
    )
    from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
        OutputGuardrail as OutputGuardrail,
    )
    from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
        OutputGuardrailResult as OutputGuardrailResult,
    )
    from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
        OutputGuardrailTripwireTriggered as OutputGuardrailTripwireTriggered,
    )
    from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
        input_guardrail as input_guardrail,
    )
    from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
        output_guardrail as output_guardrail,
    )
    from toolkeel.compat.openai_agents.guardrails.tool_guardrails import (
        ToolInputGuardrail as ToolInputGuardrail,
    )
    from toolkeel.compat.openai_agents.guardrails.tool_guardrails import (
        ToolInputGuardrailData as ToolInputGuardrailData,
    )
    from toolkeel.compat.openai_agents.guardrails.tool_guardrails import (
        ToolOutputGuardrail as ToolOutputGuardrail,
    )
    from toolkeel.compat.openai_agents.guardrails.tool_guardrails import (
        ToolOutputGuardrailData as ToolOutputGuardrailData,
    )
    from toolkeel.compat.openai_agents.guardrails.tool_guardrails import (
        tool_input_guardrail as tool_input_guardrail,
    )
    from toolkeel.compat.openai_agents.guardrails.tool_guardrails import (
        tool_output_guardrail as tool_output_guardrail,
    )
    from toolkeel.compat.openai_agents.guardrails.verdicts import AgentsException as AgentsException
    from toolkeel.compat.openai_agents.guardrails.verdicts import AllowBehavior as AllowBehavior
    from toolkeel.compat.openai_agents.guardrails.verdicts import (
        ModelBehaviorError as ModelBehaviorError,
    )
    from toolkeel.compat.openai_agents.guardrails.verdicts import (
        RaiseExceptionBehavior as RaiseExceptionBehavior,
    )
    from toolkeel.compat.openai_agents.guardrails.verdicts import (
        RejectContentBehavior as RejectContentBehavior,
    )
    from toolkeel.compat.openai_agents.guardrails.verdicts import (
        ToolGuardrailFunctionOutput as ToolGuardrailFunctionOutput,
    )
    from toolkeel.compat.openai_agents.guardrails.verdicts import (
        ToolInputGuardrailResult as ToolInputGuardrailResult,
    )
    from toolkeel.compat.openai_agents.guardrails.verdicts import (
        ToolInputGuardrailTripwireTriggered as ToolInputGuardrailTripwireTriggered,
    )
    from toolkeel.compat.openai_agents.guardrails.verdicts import (
        ToolOutputGuardrailResult as ToolOutputGuardrailResult,
    )
    from toolkeel.compat.openai_agents.guardrails.verdicts import (
        ToolOutputGuardrailTripwireTriggered as ToolOutputGuardrailTripwireTriggered,
    )
    from toolkeel.compat.openai_agents.guardrails.verdicts import UserError as UserError
    from toolkeel.compat.openai_agents.handoff_filters import remove_all_tools as remove_all_tools
    from toolkeel.compat.openai_agents.handoffs import (
        RECOMMENDED_PROMPT_PREFIX as RECOMMENDED_PROMPT_PREFIX,
    )
    from toolkeel.compat.openai_agents.handoffs import Handoff as Handoff
    from toolkeel.compat.openai_agents.handoffs import HandoffInputData as HandoffInputData
    from toolkeel.compat.openai_agents.handoffs import HandoffInputFilter as HandoffInputFilter
    from toolkeel.compat.openai_agents.handoffs import handoff as handoff
    from toolkeel.compat.openai_agents.handoffs import (
        prompt_with_handoff_instructions as prompt_with_handoff_instructions,
    )
    from toolkeel.compat.openai_agents.hooks import AgentHookContext as AgentHookContext
    from toolkeel.compat.openai_agents.hooks import AgentHooks as AgentHooks
    from toolkeel.compat.openai_agents.hooks import RunHooks as RunHooks
    from toolkeel.compat.openai_agents.items import HandoffCallItem as HandoffCallItem
    from toolkeel.compat.openai_agents.items import HandoffOutputItem as HandoffOutputItem
    from toolkeel.compat.openai_agents.items import ItemHelpers as ItemHelpers
    from toolkeel.compat.openai_agents.items import MessageOutputItem as MessageOutputItem
    from toolkeel.compat.openai_agents.items import ReasoningItem as ReasoningItem
    from toolkeel.compat.openai_agents.items import ToolCallItem as ToolCallItem
    from toolkeel.compat.openai_agents.items import ToolCallOutputItem as ToolCallOutputItem
    from toolkeel.compat.openai_agents.items import TResponseInputItem as TResponseInputItem
    from toolkeel.compat.openai_agents.models.named import AnyLLMModel as AnyLLMModel
    from toolkeel.compat.openai_agents.models.named import LitellmModel as LitellmModel
    from toolkeel.compat.openai_agents.models.named import ModelProvider as ModelProvider
    from toolkeel.compat.openai_agents.models.named import (
        OpenAIChatCompletionsModel as OpenAIChatCompletionsModel,
    )
    from toolkeel.compat.openai_agents.models.named import OpenAIProvider as OpenAIProvider
    from toolkeel.compat.openai_agents.models.named import (
        OpenAIResponsesModel as OpenAIResponsesModel,
    )
    from toolkeel.compat.openai_agents.models.named import get_default_model as get_default_model
    from toolkeel.compat.openai_agents.models.named import (
        get_default_model_settings as get_default_model_settings,
    )
    from toolkeel.compat.openai_agents.models.named import is_gpt_5_default as is_gpt_5_default
    from toolkeel.compat.openai_agents.models.named import (
        set_default_openai_api as set_default_openai_api,
    )
    from toolkeel.compat.openai_agents.models.named import (
        set_default_openai_client as set_default_openai_client,
    )
    from toolkeel.compat.openai_agents.models.named import (
        set_default_openai_key as set_default_openai_key,
    )
    from toolkeel.compat.openai_agents.models.own import Model as Model
    from toolkeel.compat.openai_agents.models.own import ModelResponse as ModelResponse
    from toolkeel.compat.openai_agents.models.own import ModelTracing as ModelTracing
    from toolkeel.compat.openai_agents.models.scripted import ModelCall as ModelCall
    from toolkeel.compat.openai_agents.models.scripted import ScriptedModel as ScriptedModel
    from toolkeel.compat.openai_agents.models.scripted import (
        assistant_message as assistant_message,
    )
    from toolkeel.compat.openai_agents.models.scripted import function_call as function_call
    from toolkeel.compat.openai_agents.output import AgentOutputSchema as AgentOutputSchema
    from toolkeel.compat.openai_agents.output import AgentOutputSchemaBase as AgentOutputSchemaBase
    from toolkeel.compat.openai_agents.prompts import DynamicPromptFunction as DynamicPromptFunction
    from toolkeel.compat.openai_agents.prompts import (
        GenerateDynamicPromptData as GenerateDynamicPromptData,
    )
    from toolkeel.compat.openai_agents.prompts import Prompt as Prompt
    from toolkeel.compat.openai_agents.ready_tools.approving import (
        ApplyPatchOnApprovalFunctionResult as ApplyPatchOnApprovalFunctionResult,
    )
    from toolkeel.compat.openai_agents.ready_tools.approving import (
        ShellOnApprovalFunctionResult as ShellOnApprovalFunctionResult,
    )
    from toolkeel.compat.openai_agents.ready_tools.code_interpreter import (
        CodeInterpreterTool as CodeInterpreterTool,
    )
    from toolkeel.compat.openai_agents.ready_tools.computer import AsyncComputer as AsyncComputer
    from toolkeel.compat.openai_agents.ready_tools.computer import Button as Button
    from toolkeel.compat.openai_agents.ready_tools.computer import Computer as Computer
    from toolkeel.compat.openai_agents.ready_tools.computer import ComputerTool as ComputerTool
    from toolkeel.compat.openai_agents.ready_tools.computer import (
        ComputerToolSafetyCheckData as ComputerToolSafetyCheckData,
    )
    from toolkeel.compat.openai_agents.ready_tools.file_search import Filters as Filters
    from toolkeel.compat.openai_agents.ready_tools.file_search import (
        ImageGenerationToolConfig as ImageGenerationToolConfig,
    )
    from toolkeel.compat.openai_agents.ready_tools.file_search import (
        RankingOptions as RankingOptions,
    )
    from toolkeel.compat.openai_agents.ready_tools.mcp import HostedMCPTool as HostedMCPTool
    from toolkeel.compat.openai_agents.ready_tools.mcp import Mcp as Mcp
    from toolkeel.compat.openai_agents.ready_tools.mcp import (
        McpApprovalRequest as McpApprovalRequest,
    )
    from toolkeel.compat.openai_agents.ready_tools.mcp import (
        MCPToolApprovalFunctionResult as MCPToolApprovalFunctionResult,
    )
    from toolkeel.compat.openai_agents.ready_tools.mcp import (
        MCPToolApprovalRequest as MCPToolApprovalRequest,
    )
    from toolkeel.compat.openai_agents.ready_tools.mcp_servers import MCPServer as MCPServer
    from toolkeel.compat.openai_agents.ready_tools.mcp_servers import (
        MCPServerManager as MCPServerManager,
    )
    from toolkeel.compat.openai_agents.ready_tools.mcp_servers import MCPServerSse as MCPServerSse
    from toolkeel.compat.openai_agents.ready_tools.mcp_servers import (
        MCPServerStdio as MCPServerStdio,
    )
    from toolkeel.compat.openai_agents.ready_tools.mcp_servers import (
        MCPServerStreamableHttp as MCPServerStreamableHttp,
    )
    from toolkeel.compat.openai_agents.ready_tools.mcp_servers import MCPUtil as MCPUtil
    from toolkeel.compat.openai_agents.ready_tools.shell import ApplyPatchEditor as ApplyPatchEditor
    from toolkeel.compat.openai_agents.ready_tools.shell import (
        ApplyPatchOperation as ApplyPatchOperation,
    )
    from toolkeel.compat.openai_agents.ready_tools.shell import ApplyPatchResult as ApplyPatchResult
    from toolkeel.compat.openai_agents.ready_tools.shell import ApplyPatchTool as ApplyPatchTool
    from toolkeel.compat.openai_agents.ready_tools.shell import (
        LocalShellCommandRequest as LocalShellCommandRequest,
    )
    from toolkeel.compat.openai_agents.ready_tools.shell import (
        LocalShellExecutor as LocalShellExecutor,
    )
    from toolkeel.compat.openai_agents.ready_tools.shell import LocalShellTool as LocalShellTool
    from toolkeel.compat.openai_agents.ready_tools.shell import (
        ShellActionRequest as ShellActionRequest,
    )
    from toolkeel.compat.openai_agents.ready_tools.shell import ShellCallData as ShellCallData
    from toolkeel.compat.openai_agents.ready_tools.shell import ShellCallOutcome as ShellCallOutcome
    from toolkeel.compat.openai_agents.ready_tools.shell import (
        ShellCommandOutput as ShellCommandOutput,
    )
    from toolkeel.compat.openai_agents.ready_tools.shell import (
        ShellCommandRequest as ShellCommandRequest,
    )
    from toolkeel.compat.openai_agents.ready_tools.shell import ShellExecutor as ShellExecutor
    from toolkeel.compat.openai_agents.ready_tools.shell import ShellResult as ShellResult
    from toolkeel.compat.openai_agents.ready_tools.shell import ShellTool as ShellTool
    from toolkeel.compat.openai_agents.ready_tools.shell import (
        ShellToolInlineSkill as ShellToolInlineSkill,
    )
    from toolkeel.compat.openai_agents.ready_tools.shell import (
        ShellToolLocalSkill as ShellToolLocalSkill,
    )
    from toolkeel.compat.openai_agents.ready_tools.shell import (
        ShellToolSkillReference as ShellToolSkillReference,
    )
    from toolkeel.compat.openai_agents.ready_tools.shell import apply_diff as apply_diff
    from toolkeel.compat.openai_agents.ready_tools.tool_filter import ToolFilter as ToolFilter
    from toolkeel.compat.openai_agents.ready_tools.tool_filter import (
        ToolFilterContext as ToolFilterContext,
    )
    from toolkeel.compat.openai_agents.ready_tools.tool_filter import (
        create_static_tool_filter as create_static_tool_filter,
    )
    from toolkeel.compat.openai_agents.result import RunResult as RunResult
    from toolkeel.compat.openai_agents.run import Runner as Runner
    from toolkeel.compat.openai_agents.run import execute_tool as execute_tool
    from toolkeel.compat.openai_agents.sessions import (
        OpenAIConversationsSession as OpenAIConversationsSession,
    )
    from toolkeel.compat.openai_agents.sessions import Session as Session
    from toolkeel.compat.openai_agents.sessions import SessionABC as SessionABC
    from toolkeel.compat.openai_agents.sessions import SQLiteSession as SQLiteSession
    from toolkeel.compat.openai_agents.settings import MCPToolChoice as MCPToolChoice
    from toolkeel.compat.openai_agents.settings import ModelSettings as ModelSettings
    from toolkeel.compat.openai_agents.settings import RunConfig as RunConfig
    from toolkeel.compat.openai_agents.settings import SessionSettings as SessionSettings
    from toolkeel.compat.openai_agents.state import RunState as RunState
    from toolkeel.compat.openai_agents.state import ToolApprovalItem as ToolApprovalItem
    from toolkeel.compat.openai_agents.state import ToolErrorFormatterArgs as ToolErrorFormatterArgs
    from toolkeel.compat.openai_agents.stream import AgentToolStreamEvent as AgentToolStreamEvent
    from toolkeel.compat.openai_agents.stream import (
        AgentUpdatedStreamEvent as AgentUpdatedStreamEvent,
    )
    from toolkeel.compat.openai_agents.stream import (
        RawResponsesStreamEvent as RawResponsesStreamEvent,
    )
    from toolkeel.compat.openai_agents.stream import RunItemStreamEvent as RunItemStreamEvent
    from toolkeel.compat.openai_agents.stream import RunResultStreaming as RunResultStreaming
    from toolkeel.compat.openai_agents.stream import StreamEvent as StreamEvent
    from toolkeel.compat.openai_agents.tool_outputs import (
        ToolOutputFileContent as ToolOutputFileContent,
    )
    from toolkeel.compat.openai_agents.tool_outputs import (
        ToolOutputFileContentDict as ToolOutputFileContentDict,
    )
    from toolkeel.compat.openai_agents.tool_outputs import ToolOutputImage as ToolOutputImage
    from toolkeel.compat.openai_agents.tool_outputs import (
        ToolOutputImageDict as ToolOutputImageDict,
    )
    from toolkeel.compat.openai_agents.tool_outputs import ToolOutputText as ToolOutputText
    from toolkeel.compat.openai_agents.tool_outputs import ToolOutputTextDict as ToolOutputTextDict
    from toolkeel.compat.openai_agents.tools import FunctionTool as FunctionTool
    from toolkeel.compat.openai_agents.tools import Tool as Tool
    from toolkeel.compat.openai_agents.tools import (
        default_tool_error_function as default_tool_error_function,
    )
    from toolkeel.compat.openai_agents.tools import function_tool as function_tool
    from toolkeel.compat.openai_agents.tools import tool as tool
    from toolkeel.compat.openai_agents.tracing import BatchTraceProcessor as BatchTraceProcessor
    from toolkeel.compat.openai_agents.tracing import Span as Span
    from toolkeel.compat.openai_agents.tracing import Trace as Trace
    from toolkeel.compat.openai_agents.tracing import TracingExporter as TracingExporter
    from toolkeel.compat.openai_agents.tracing import TracingProcessor as TracingProcessor
    from toolkeel.compat.openai_agents.tracing import add_trace_processor as add_trace_processor
    from toolkeel.compat.openai_agents.tracing import agent_span as agent_span
    from toolkeel.compat.openai_agents.tracing import custom_span as custom_span
    from toolkeel.compat.openai_agents.tracing import flush_traces as flush_traces
    from toolkeel.compat.openai_agents.tracing import function_span as function_span
    from toolkeel.compat.openai_agents.tracing import gen_span_id as gen_span_id
    from toolkeel.compat.openai_agents.tracing import gen_trace_id as gen_trace_id
    from toolkeel.compat.openai_agents.tracing import generation_span as generation_span
    from toolkeel.compat.openai_agents.tracing import get_current_span as get_current_span
    from toolkeel.compat.openai_agents.tracing import get_current_trace as get_current_trace
    from toolkeel.compat.openai_agents.tracing import set_trace_processors as set_trace_processors
    from toolkeel.compat.openai_agents.tracing import set_tracing_disabled as set_tracing_disabled
    from toolkeel.compat.openai_agents.tracing import (
        set_tracing_export_api_key as set_tracing_export_api_key,
    )
    from toolkeel.compat.openai_agents.tracing import trace as trace
else:
    _door = _doors.door(__name__, PLACES)
    _, __dir__, __all__ = _door
    __getattr__ = missing("the Agents SDK", NAMES, _door)

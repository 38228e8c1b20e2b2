"""The OpenAI Agents SDK's names over this core: change the import lines, keep the tools.

context          what a running tool is handed: `RunContextWrapper`, `ToolContext`, `Usage`
exceptions       what ends a run
guardrails       guardrails of tools and of agents
items            what happened in a run, as items of the Responses wire
tool_outputs     texts, pictures and files that a tool returns
handoffs         `handoff`: one agent gives the run to another, and what that one sees
tools            `function_tool` and `FunctionTool`
settings         `ModelSettings` and `RunConfig`
models           whom an agent asks: bare names are OpenAI's
state            runs that wait for a person: `RunState`, interruptions
result           `RunResult`
sessions         what was said before joins the next run: `SQLiteSession`
begun            what holds for a run
stream           streamed runs: `Runner.run_streamed` gives them
hooks            methods that are awaited as a run goes
output           types of answers
behavior         when results of tools are the answer
agent_tool       agents as tools of others
agent            `Agent`
tracing          traces and spans, handed to processors, sent to nobody
run              `Runner`
ready_tools      shells, patches, computers, hosted tools and MCP servers
names            where the names are, and what to write instead of those that are not here
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkeel import _doors
from toolkeel.compat.missing import missing
from toolkeel.compat.openai_agents.names import NAMES, PLACES

if TYPE_CHECKING:
    # fmt: off
    # isort: off
    from toolkeel.builtin.pictures.generate import ImageGenerationTool as ImageGenerationTool
    from toolkeel.builtin.search.file_search import FileSearchTool as FileSearchTool
    from toolkeel.builtin.web.search import (
        UserLocation as UserLocation, WebSearchTool as WebSearchTool,
        WebSearchToolFilters as WebSearchToolFilters,
    )
    from toolkeel.compat.openai_agents.agent import Agent as Agent, AgentBase as AgentBase
    from toolkeel.compat.openai_agents.behavior import (
        FunctionToolResult as FunctionToolResult, StopAtTools as StopAtTools,
        ToolsToFinalOutputFunction as ToolsToFinalOutputFunction,
        ToolsToFinalOutputResult as ToolsToFinalOutputResult,
    )
    from toolkeel.compat.openai_agents.begun import (
        RunErrorHandlerInput as RunErrorHandlerInput,
        RunErrorHandlerResult as RunErrorHandlerResult,
    )
    from toolkeel.compat.openai_agents.context import (
        RunContextWrapper as RunContextWrapper, RunItem as RunItem,
        TResponseInputItem as TResponseInputItem, ToolContext as ToolContext, Usage as Usage,
    )
    from toolkeel.compat.openai_agents.exceptions import (
        AgentsException as AgentsException,
        InputGuardrailTripwireTriggered as InputGuardrailTripwireTriggered,
        MaxTurnsExceeded as MaxTurnsExceeded, ModelBehaviorError as ModelBehaviorError,
        OutputGuardrailTripwireTriggered as OutputGuardrailTripwireTriggered,
        ToolInputGuardrailTripwireTriggered as ToolInputGuardrailTripwireTriggered,
        ToolOutputGuardrailTripwireTriggered as ToolOutputGuardrailTripwireTriggered,
        ToolTimeoutError as ToolTimeoutError, UserError as UserError,
    )
    from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
        GuardrailFunctionOutput as GuardrailFunctionOutput, InputGuardrail as InputGuardrail,
        InputGuardrailResult as InputGuardrailResult, OutputGuardrail as OutputGuardrail,
        OutputGuardrailResult as OutputGuardrailResult, input_guardrail as input_guardrail,
        output_guardrail as output_guardrail,
    )
    from toolkeel.compat.openai_agents.guardrails.tool_guardrails import (
        AllowBehavior as AllowBehavior, RaiseExceptionBehavior as RaiseExceptionBehavior,
        RejectContentBehavior as RejectContentBehavior,
        ToolGuardrailFunctionOutput as ToolGuardrailFunctionOutput,
        ToolInputGuardrail as ToolInputGuardrail, ToolInputGuardrailData as ToolInputGuardrailData,
        ToolInputGuardrailResult as ToolInputGuardrailResult,
        ToolOutputGuardrail as ToolOutputGuardrail,
        ToolOutputGuardrailData as ToolOutputGuardrailData,
        ToolOutputGuardrailResult as ToolOutputGuardrailResult,
        tool_input_guardrail as tool_input_guardrail,
        tool_output_guardrail as tool_output_guardrail,
    )
    from toolkeel.compat.openai_agents.handoffs import (
        Handoff as Handoff, HandoffHistoryMapper as HandoffHistoryMapper,
        HandoffInputData as HandoffInputData, HandoffInputFilter as HandoffInputFilter,
        RECOMMENDED_PROMPT_PREFIX as RECOMMENDED_PROMPT_PREFIX,
        default_handoff_history_mapper as default_handoff_history_mapper, handoff as handoff,
        nest_handoff_history as nest_handoff_history,
        prompt_with_handoff_instructions as prompt_with_handoff_instructions,
        remove_all_tools as remove_all_tools,
    )
    from toolkeel.compat.openai_agents.hooks import (
        AgentHookContext as AgentHookContext, AgentHooks as AgentHooks, RunHooks as RunHooks,
    )
    from toolkeel.compat.openai_agents.items import (
        HandoffCallItem as HandoffCallItem, HandoffOutputItem as HandoffOutputItem,
        ItemHelpers as ItemHelpers, MessageOutputItem as MessageOutputItem,
        ReasoningItem as ReasoningItem, ToolCallItem as ToolCallItem,
        ToolCallOutputItem as ToolCallOutputItem,
    )
    from toolkeel.compat.openai_agents.models.model_input import (
        CallModelData as CallModelData, CallModelInputFilter as CallModelInputFilter,
        DynamicPromptFunction as DynamicPromptFunction,
        GenerateDynamicPromptData as GenerateDynamicPromptData, ModelInputData as ModelInputData,
        Prompt as Prompt,
    )
    from toolkeel.compat.openai_agents.models.named import (
        AnyLLMModel as AnyLLMModel, LitellmModel as LitellmModel, ModelProvider as ModelProvider,
        OpenAIChatCompletionsModel as OpenAIChatCompletionsModel, OpenAIProvider as OpenAIProvider,
        OpenAIResponsesModel as OpenAIResponsesModel, get_default_model as get_default_model,
        get_default_model_settings as get_default_model_settings,
        is_gpt_5_default as is_gpt_5_default, set_default_openai_api as set_default_openai_api,
        set_default_openai_client as set_default_openai_client,
        set_default_openai_key as set_default_openai_key,
    )
    from toolkeel.compat.openai_agents.models.own import (
        Model as Model, ModelResponse as ModelResponse, ModelTracing as ModelTracing,
    )
    from toolkeel.compat.openai_agents.models.scripted import (
        ModelCall as ModelCall, ScriptedModel as ScriptedModel,
        assistant_message as assistant_message, function_call as function_call,
    )
    from toolkeel.compat.openai_agents.output import (
        AgentOutputSchema as AgentOutputSchema, AgentOutputSchemaBase as AgentOutputSchemaBase,
    )
    from toolkeel.compat.openai_agents.ready_tools.approving import (
        ApplyPatchOnApprovalFunctionResult as ApplyPatchOnApprovalFunctionResult,
        ShellOnApprovalFunctionResult as ShellOnApprovalFunctionResult,
    )
    from toolkeel.compat.openai_agents.ready_tools.hosted import (
        AsyncComputer as AsyncComputer, Button as Button,
        CodeInterpreterTool as CodeInterpreterTool, Computer as Computer,
        ComputerTool as ComputerTool, ComputerToolSafetyCheckData as ComputerToolSafetyCheckData,
        Filters as Filters, ImageGenerationToolConfig as ImageGenerationToolConfig,
        RankingOptions as RankingOptions,
    )
    from toolkeel.compat.openai_agents.ready_tools.mcp import (
        HostedMCPTool as HostedMCPTool,
        MCPToolApprovalFunctionResult as MCPToolApprovalFunctionResult,
        MCPToolApprovalRequest as MCPToolApprovalRequest, Mcp as Mcp,
        McpApprovalRequest as McpApprovalRequest,
    )
    from toolkeel.compat.openai_agents.ready_tools.mcp_servers import (
        MCPServer as MCPServer, MCPServerManager as MCPServerManager, MCPServerSse as MCPServerSse,
        MCPServerStdio as MCPServerStdio, MCPServerStreamableHttp as MCPServerStreamableHttp,
        MCPUtil as MCPUtil, ToolFilter as ToolFilter, ToolFilterContext as ToolFilterContext,
        create_static_tool_filter as create_static_tool_filter,
    )
    from toolkeel.compat.openai_agents.ready_tools.shell import (
        ApplyPatchEditor as ApplyPatchEditor, ApplyPatchOperation as ApplyPatchOperation,
        ApplyPatchResult as ApplyPatchResult, ApplyPatchTool as ApplyPatchTool,
        LocalShellCommandRequest as LocalShellCommandRequest,
        LocalShellExecutor as LocalShellExecutor, LocalShellTool as LocalShellTool,
        ShellActionRequest as ShellActionRequest, ShellCallData as ShellCallData,
        ShellCallOutcome as ShellCallOutcome, ShellCommandOutput as ShellCommandOutput,
        ShellCommandRequest as ShellCommandRequest, ShellExecutor as ShellExecutor,
        ShellResult as ShellResult, ShellTool as ShellTool,
        ShellToolInlineSkill as ShellToolInlineSkill, ShellToolLocalSkill as ShellToolLocalSkill,
        ShellToolSkillReference as ShellToolSkillReference, apply_diff as apply_diff,
    )
    from toolkeel.compat.openai_agents.result import RunResult as RunResult
    from toolkeel.compat.openai_agents.run import Runner as Runner, execute_tool as execute_tool
    from toolkeel.compat.openai_agents.sessions import (
        OpenAIConversationsSession as OpenAIConversationsSession, SQLiteSession as SQLiteSession,
        Session as Session, SessionABC as SessionABC,
    )
    from toolkeel.compat.openai_agents.settings import (
        MCPToolChoice as MCPToolChoice, ModelSettings as ModelSettings, RunConfig as RunConfig,
        SessionSettings as SessionSettings,
    )
    from toolkeel.compat.openai_agents.state import (
        RunState as RunState, ToolApprovalItem as ToolApprovalItem,
        ToolErrorFormatterArgs as ToolErrorFormatterArgs,
    )
    from toolkeel.compat.openai_agents.stream import (
        AgentToolStreamEvent as AgentToolStreamEvent,
        AgentUpdatedStreamEvent as AgentUpdatedStreamEvent,
        RawResponsesStreamEvent as RawResponsesStreamEvent,
        RunItemStreamEvent as RunItemStreamEvent, RunResultStreaming as RunResultStreaming,
        StreamEvent as StreamEvent,
    )
    from toolkeel.compat.openai_agents.tool_outputs import (
        ToolOutputFileContent as ToolOutputFileContent,
        ToolOutputFileContentDict as ToolOutputFileContentDict, ToolOutputImage as ToolOutputImage,
        ToolOutputImageDict as ToolOutputImageDict, ToolOutputText as ToolOutputText,
        ToolOutputTextDict as ToolOutputTextDict,
    )
    from toolkeel.compat.openai_agents.tools import (
        FunctionTool as FunctionTool, Tool as Tool,
        default_tool_error_function as default_tool_error_function, function_tool as function_tool,
        tool as tool,
    )
    from toolkeel.compat.openai_agents.tracing import (
        BatchTraceProcessor as BatchTraceProcessor, Span as Span, Trace as Trace,
        TracingExporter as TracingExporter, TracingProcessor as TracingProcessor,
        add_trace_processor as add_trace_processor, agent_span as agent_span,
        custom_span as custom_span, flush_traces as flush_traces, function_span as function_span,
        gen_span_id as gen_span_id, gen_trace_id as gen_trace_id,
        generation_span as generation_span, get_current_span as get_current_span,
        get_current_trace as get_current_trace, set_trace_processors as set_trace_processors,
        set_tracing_disabled as set_tracing_disabled,
        set_tracing_export_api_key as set_tracing_export_api_key, trace as trace,
    )
    # isort: on
    # fmt: on
else:
    _door = _doors.door(__name__, PLACES)
    _, __dir__, __all__ = _door
    __getattr__ = missing("the Agents SDK", NAMES, _door)

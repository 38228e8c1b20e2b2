"""Where the Agents SDK's names are here; of those that are not, what to write instead (0.24)."""

from __future__ import annotations

from collections.abc import Mapping

PLACES: Mapping[str, str] = {
    "builtin.pictures.generate": "ImageGenerationTool",
    "builtin.search.file_search": "FileSearchTool",
    "builtin.web.search": "UserLocation WebSearchTool WebSearchToolFilters",
    "compat.openai_agents.agent": "Agent AgentBase MaxTurnsExceeded",
    "compat.openai_agents.behavior": (
        "FunctionToolResult StopAtTools ToolsToFinalOutputFunction ToolsToFinalOutputResult"
    ),
    "compat.openai_agents.context": "RunContextWrapper RunItem ToolContext Usage",
    "compat.openai_agents.guardrails.agent_guardrails": (
        "GuardrailFunctionOutput InputGuardrail InputGuardrailResult "
        "InputGuardrailTripwireTriggered OutputGuardrail OutputGuardrailResult "
        "OutputGuardrailTripwireTriggered input_guardrail output_guardrail"
    ),
    "compat.openai_agents.guardrails.tool_guardrails": (
        "ToolInputGuardrail ToolInputGuardrailData ToolOutputGuardrail ToolOutputGuardrailData "
        "tool_input_guardrail tool_output_guardrail"
    ),
    "compat.openai_agents.guardrails.verdicts": (
        "AgentsException AllowBehavior ModelBehaviorError RaiseExceptionBehavior "
        "RejectContentBehavior ToolGuardrailFunctionOutput ToolInputGuardrailResult "
        "ToolInputGuardrailTripwireTriggered ToolOutputGuardrailResult "
        "ToolOutputGuardrailTripwireTriggered UserError"
    ),
    "compat.openai_agents.handoffs": (
        "Handoff HandoffInputData HandoffInputFilter RECOMMENDED_PROMPT_PREFIX handoff "
        "prompt_with_handoff_instructions"
    ),
    "compat.openai_agents.handoff_filters": "remove_all_tools",
    "compat.openai_agents.hooks": "AgentHookContext AgentHooks RunHooks",
    "compat.openai_agents.items": (
        "HandoffCallItem HandoffOutputItem ItemHelpers MessageOutputItem ReasoningItem "
        "TResponseInputItem ToolCallItem ToolCallOutputItem"
    ),
    "compat.openai_agents.models.named": (
        "AnyLLMModel LitellmModel ModelProvider OpenAIChatCompletionsModel OpenAIProvider OpenAIResponsesModel "
        "get_default_model get_default_model_settings is_gpt_5_default set_default_openai_api "
        "set_default_openai_client set_default_openai_key"
    ),
    "compat.openai_agents.models.own": "Model ModelResponse ModelTracing",
    "compat.openai_agents.models.scripted": (
        "ModelCall ScriptedModel assistant_message function_call"
    ),
    "compat.openai_agents.output": "AgentOutputSchema AgentOutputSchemaBase",
    "compat.openai_agents.prompts": "DynamicPromptFunction GenerateDynamicPromptData Prompt",
    "compat.openai_agents.ready_tools.approving": (
        "ApplyPatchOnApprovalFunctionResult ShellOnApprovalFunctionResult"
    ),
    "compat.openai_agents.ready_tools.code_interpreter": "CodeInterpreterTool",
    "compat.openai_agents.ready_tools.computer": (
        "AsyncComputer Button Computer ComputerTool ComputerToolSafetyCheckData"
    ),
    "compat.openai_agents.ready_tools.file_search": (
        "Filters ImageGenerationToolConfig RankingOptions"
    ),
    "compat.openai_agents.ready_tools.mcp": (
        "HostedMCPTool MCPToolApprovalFunctionResult MCPToolApprovalRequest Mcp McpApprovalRequest"
    ),
    "compat.openai_agents.ready_tools.tool_filter": (
        "ToolFilter ToolFilterContext create_static_tool_filter"
    ),
    "compat.openai_agents.ready_tools.mcp_servers": (
        "MCPServer MCPServerManager MCPServerSse MCPServerStdio MCPServerStreamableHttp MCPUtil"
    ),
    "compat.openai_agents.ready_tools.shell": (
        "ApplyPatchEditor ApplyPatchOperation ApplyPatchResult ApplyPatchTool "
        "LocalShellCommandRequest LocalShellExecutor LocalShellTool ShellActionRequest "
        "ShellCallData ShellCallOutcome ShellCommandOutput ShellCommandRequest ShellExecutor "
        "ShellResult ShellTool ShellToolInlineSkill ShellToolLocalSkill ShellToolSkillReference "
        "apply_diff"
    ),
    "compat.openai_agents.result": "RunResult",
    "compat.openai_agents.run": "Runner execute_tool",
    "compat.openai_agents.sessions": "OpenAIConversationsSession SQLiteSession Session SessionABC",
    "compat.openai_agents.settings": "MCPToolChoice ModelSettings RunConfig SessionSettings",
    "compat.openai_agents.state": "RunState ToolApprovalItem ToolErrorFormatterArgs",
    "compat.openai_agents.stream": (
        "AgentToolStreamEvent AgentUpdatedStreamEvent RawResponsesStreamEvent "
        "RunItemStreamEvent RunResultStreaming StreamEvent"
    ),
    "compat.openai_agents.tool_outputs": (
        "ToolOutputFileContent ToolOutputFileContentDict ToolOutputImage ToolOutputImageDict "
        "ToolOutputText ToolOutputTextDict"
    ),
    "compat.openai_agents.tools": (
        "FunctionTool Tool default_tool_error_function function_tool tool"
    ),
    "compat.openai_agents.tracing": (
        "BatchTraceProcessor Span Trace TracingExporter TracingProcessor add_trace_processor "
        "agent_span custom_span flush_traces function_span gen_span_id gen_trace_id "
        "generation_span get_current_span get_current_trace set_trace_processors "
        "set_tracing_disabled set_tracing_export_api_key trace"
    ),
}
"""For each module of the library, the names it gives."""
NAMES: Mapping[str, str] = {
    r"nest_handoff_history|default_handoff_history_mapper|HandoffHistoryMapper"
    r"|OpenAIHostedMultiAgent\w*|get_hosted_agent_metadata": (
        "give Handoff(agent, input_filter=as_text), both of toolkeel.runs"
    ),
    r"(OpenAIResponsesCompaction|SQLAlchemy|AsyncSQLite|AdvancedSQLite|Redis|Dapr|MongoDB)Session"
    r"|OpenAIResponsesCompaction.*|is_openai_responses_compaction_aware_session|DAPR_\w+": (
        "give SQLiteSession, a class with its four methods, or a session of toolkeel.sessions"
    ),
    r"Encrypted(Session|Envelope)": "keep the file on an encrypted disk",
    r"MultiProvider": (
        "a model of your own is a toolkeel.Model: name, and async def stream(request)"
    ),
    r"ModelRetry.*|Retry(Decision|Policy.*)|retry_policies": (
        "failed requests are sent again by the model itself: max_retries"
    ),
    r"ModelTimeoutError": "catch toolkeel.ModelError",
    r"ModelRefusalError": "catch toolkeel.ModelError; its text is what the model said",
    r"ToolTimeoutError": "a call that timed out is a result of the kind 'timeout'",
    r"TContext": "annotate with Agent[YourContext]",
    r"RunError.*|ToolErrorFormatter|ToolNotFoundBehavior|ToolNameCollisionPolicy": (
        "unknown tools and wrong arguments are told to the model; catch MaxTurnsExceeded"
    ),
    r"AgentToolInvocation": ("an inner agent's events come as toolkeel.events.Nested to listeners"),
    r"MCP(Server\w*Params)": "params is a dict",
    r"ToolFilter\w+|MCPTool(Meta|Custom|Cancel).*|LocalMCP.*": (
        "give the servers as mcp_servers=[...]; toolkeel.mcp has the rest"
    ),
    r"MCP(Approval|List).*Item|MCPToolApprovalFunction|\w*SearchCallItem|ToolSearchOutputItem"
    r"|CompactionItem|InputItem|ReasoningItemIdPolicy": "items of hosted tools are not told apart",
    r"ToolSearchTool": "Agent(search_tools=True) of toolkeel finds tools among many",
    r"ProgrammaticToolCallingTool|ToolCaller|ToolOrigin.*|ToolExecutionConfig": "",
    r"CustomTool|\w+CustomData(Context|Extractor)": "",
    r"Environment|ComputerProvider|resolve_computer|dispose_resolved_computers": (
        "ComputerTool takes a Computer or AsyncComputer; plain texts name buttons"
    ),
    r"ShellTool\w+": "ShellTool(environment=...) takes a dict",
    r"WebSearchToolImageSettings": "its fields are keyword arguments here",
    r"(\w+_)?span|\w*SpanData|SpanError|set_trace_provider|\w+_span": (
        "there are custom_span, agent_span, function_span and generation_span"
    ),
    r"set_default_openai_\w+|OpenAIAgentRegistrationConfig|OpenAI\w*W(S|eb)\w*|\w*[Ww]eb_?[Ss]ocket\w*": (
        "requests go over HTTP; OpenAIResponsesModel takes a client of your own"
    ),
    r"enable_verbose_stdout_logging": "logging.getLogger('toolkeel') is the logger",
    r"run_demo_loop": "toolkeel run starts an agent in the terminal",
    r"tool_namespace": "toolset.with_prefix(...)",
    r"\w+_conversation_history_wrappers|OutputGuardrailBlocked.*": "",
    r"sandbox": "toolkeel.engines.Sandbox, and Workspace(folder) for an agent's files",
}
"""By regular expression of the name."""

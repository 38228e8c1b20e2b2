"""The Agents SDK's names that are not here, and what to write instead; as of its version 0.24."""

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    r"nest_handoff_history|default_handoff_history_mapper|HandoffHistoryMapper"
    r"|OpenAIHostedMultiAgent\w*|get_hosted_agent_metadata": (
        "give handoff(agent, input_filter=as_text) of toolkeel.runs"
    ),
    r"(OpenAIResponsesCompaction|SQLAlchemy|AsyncSQLite|AdvancedSQLite|Redis|Dapr|MongoDB)Session"
    r"|OpenAIResponsesCompaction.*|is_openai_responses_compaction_aware_session|DAPR_\w+": (
        "give SQLiteSession, a class with its four methods, or a session of toolkeel.sessions"
    ),
    r"Encrypted(Session|Envelope)": "keep the file on an encrypted disk",
    r"Model|MultiProvider|ModelTracing": (
        "a model of your own is a toolkeel.Model: name, and async def stream(request)"
    ),
    r"ModelRetry.*|Retry(Decision|Policy.*)|retry_policies": (
        "failed requests are sent again by the model itself: max_retries"
    ),
    r"ModelTimeoutError": "catch toolkeel.ModelError",
    r"ModelRefusalError": "catch toolkeel.ModelError; its text is what the model said",
    r"ToolTimeoutError": "a call that timed out is a result of the kind 'timeout'",
    r"CodeInterpreterTool": "from toolkeel.tools import CodeInterpreterTool",
    r"TContext": "annotate with Agent[YourContext]",
    r"RunError.*|ToolErrorFormatter|ToolNotFoundBehavior|ToolNameCollisionPolicy": (
        "unknown tools and wrong arguments are told to the model; catch MaxTurnsExceeded"
    ),
    r"AgentToolInvocation": ("an inner agent's events come as toolkeel.events.Nested to listeners"),
    r"MCP(Server\w*Params)": "params is a dict",
    r"MCPServerManager|MCPUtil|MCPTool(Meta|Custom|Cancel).*|ToolFilter.*|LocalMCP.*": (
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
    r"LocalShellExecutor|ShellExecutor|ShellTool\w+": "ShellTool(executor=...) takes a function",
    r"WebSearchToolImageSettings": "its fields are keyword arguments here",
    r"apply_diff": "ApplyPatchTool(workspace=...) applies patches itself",
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

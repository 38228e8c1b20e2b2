"""The module that exports each LangChain and LangGraph name, and replacements for missing names."""

from __future__ import annotations

from collections.abc import Mapping

from toolkeel._common.other_libraries_words import explain_foreign
from toolkeel_compat.missing import replacement_hint

EXPORTS: Mapping[str, str] = {
    "toolkeel_compat.langchain.agent": "create_agent create_react_agent",
    "toolkeel_compat.langchain.models.chat_models": "ChatModel ProviderStrategy StructuredOutputValidationError ToolStrategy init_chat_model",
    "toolkeel_compat.langchain.models.own_models": "BaseChatModel ChatGeneration ChatGenerationChunk ChatResult GenericFakeChatModel",
    "toolkeel_compat.langchain.models.vendors": "ChatAnthropic ChatBedrockConverse ChatDeepSeek ChatFireworks ChatGoogleGenerativeAI ChatGroq ChatMistralAI ChatOllama ChatOpenAI ChatXAI",
    "toolkeel_compat.langchain.convert_tool": "convert_to_anthropic_tool convert_to_openai_function convert_to_openai_tool render_text_description render_text_description_and_args",
    "toolkeel_compat.langchain.history": "REMOVE_ALL_MESSAGES RemoveMessage count_tokens_approximately trim_messages",
    "toolkeel_compat.langchain.threads.interrupts": "GraphInterrupt Interrupt get_stream_writer interrupt",
    "toolkeel_compat.langchain.mcp_client": "MCPToolCallRequest MultiServerMCPClient load_mcp_tools",
    "toolkeel_compat.langchain.messages": "AIMessage AnyMessage BaseMessage HumanMessage SystemMessage ToolMessage convert_to_messages",
    "toolkeel_compat.langchain.streaming.message_chunks": "AIMessageChunk message_chunk_to_message",
    "toolkeel_compat.langchain.middleware": "AgentMiddleware ModelCallResult ModelRequest ModelResponse Runtime after_agent after_model before_agent before_model dynamic_prompt hook_config wrap_model_call wrap_tool_call",
    "toolkeel_compat.langchain.ready.context_editing": "ClearToolUsesEdit ContextEditingMiddleware",
    "toolkeel_compat.langchain.ready.limits": "ModelCallLimitExceededError ModelCallLimitMiddleware ToolCallLimitExceededError ToolCallLimitMiddleware",
    "toolkeel_compat.langchain.ready.pii": "PIIDetectionError PIIMatch PIIMiddleware detect_credit_card detect_email detect_ip detect_mac_address detect_url",
    "toolkeel_compat.langchain.ready.retries": "ModelFallbackMiddleware ModelRetryMiddleware Todo TodoListMiddleware ToolRetryMiddleware",
    "toolkeel_compat.langchain.recursion_limit": "GraphRecursionError",
    "toolkeel_compat.langchain.runtime": "AsyncCallbackManagerForToolRun CallbackManagerForToolRun InjectedState InjectedStore InjectedToolArg InjectedToolCallId RunnableConfig ToolRuntime",
    "toolkeel_compat.langchain.serialization": "dumpd dumps load loads message_to_dict messages_from_dict messages_to_dict",
    "toolkeel_compat.langchain.store": "BaseStore InMemoryStore",
    "toolkeel_compat.langchain.streaming.stream_modes": "GraphOutput",
    "toolkeel_compat.langchain.ready.summarization": "SummarizationMiddleware",
    "toolkeel_compat.langchain.threads.checkpoints": "EmptyInputError InMemorySaver MemorySaver StateSnapshot",
    "toolkeel_compat.langchain.threads.message_ids": "uuid7",
    "toolkeel_compat.langchain.threads.decisions": "ApproveDecision RejectDecision RespondDecision",
    "toolkeel_compat.langchain.threads.human_review": "HumanInTheLoopMiddleware",
    "toolkeel_compat.langchain.tool_node": "Runnable ToolException ToolNode tools_condition",
    "toolkeel_compat.langchain.tool_calls": "ToolCall",
    "toolkeel_compat.langchain.tools": "BaseTool StructuredTool Tool tool",
    "toolkeel_compat.langchain.command": "AgentState Command InvalidUpdateError ToolCallRequest",
    "toolkeel.errors": "SchemaAnnotationError",
}
"""For each module of the library, the names it gives."""
REPLACEMENTS: Mapping[str, str] = {
    "StateGraph|MessageGraph|MessagesState|Graph|START|END|Send|add_messages|entrypoint|task|CompiledStateGraph": "there are no graphs: an Agent is the loop, and plain Python joins agents; docs/coming-from-langchain.md has a pattern for each shape",
    "HumanInTheLoopMiddleware|InterruptOnConfig": "@tool(approval=True), or Rules(ask=[...]) for tools as they are: docs/approvals.md",
    "ContextEdit|TriggerClause": "an edit is an object with apply(messages, *, count_tokens)",
    "RedactionRule": "PIIMiddleware, or model_steps=[Redact(pattern)] of toolkeel's Agent, with Redact of toolkeel.steps",
    "(LLMToolSelector|ProviderToolSearch)Middleware": "Agent(search_tools=True) of toolkeel finds tools among many",
    "(ShellTool|FilesystemFileSearch)Middleware|(CodexSandbox|Docker|Host)ExecutionPolicy": "Workspace(folder) of toolkeel.tools gives an agent a shell and files: docs/workspace.md",
    "ToolErrorMiddleware": "@wrap_tool_call with except around handler(request) returns a ToolMessage(..., status='error')",
    "LLMToolEmulator": "Scripted of toolkeel.testing, and tools of your test",
    "ExtendedModelResponse": "wrap_model_call gives a ModelResponse; a tool writes state by Command(update=...)",
    "(In|Out)putAgentState": "state_schema= has the keys of both",
    "configure_trace_policy": "docs/watching.md has what traces hold",
    "SimpleChatModel|(Fake|Parrot)\\w*Model|BaseL?LM|LLM|BaseLanguageModel": "BaseChatModel is for models of your own, GenericFakeChatModel for tests",
    r"\w+Middleware": "what stands around a call is a step, steps=[...]: docs/steps.md",
    "AgentExecutor|create_(tool_calling|openai_tools|openai_functions|structured_chat|json_chat)_agent|initialize_agent|AgentType": "create_agent(model, tools) runs the whole loop",
    "(Sqlite|Postgres|AsyncSqlite|AsyncPostgres)Saver|BaseCheckpointSaver": "InMemorySaver(path) keeps threads in a file",
    "PostgresStore": "InMemoryStore, or KeyValueStore of toolkeel.sessions for a file",
    "Runnable(Lambda|Parallel|Passthrough|Sequence)?|chain|RunnableWithMessageHistory": "there are no chains: call one function with what the other gives",
    r"(\w*Prompt)(Template|Value)|MessagesPlaceholder": "write an f-string, and messages as a list",
    r"\w*OutputParser": "with_structured_output(T) gives instances",
    "FunctionMessage|ChatMessage|InvalidToolCall": "a call that cannot be read is answered with what is wrong in it",
    r"(Azure)?Chat\w+": "init_chat_model('vendor:model')",
    r"create_retriever_tool|\w*Retriever|\w*VectorStore|\w*Embeddings": "toolkeel.tools has FileSearchTool over documents of your own",
    "get_(config|store|runtime)": "a parameter runtime: ToolRuntime of a tool has .config, .store and .context",
    "MCPAdapter|as_langchain_tool|load_mcp_(resources|prompt)|Callbacks|\\w+Connection": "MultiServerMCPClient, or an MCPServer of toolkeel.mcp among the tools of an agent: docs/mcp-client.md",
    "BaseToolkit": "a list of tools, or a Toolset",
    "BaseMessageChunk|MessageLikeRepresentation": "annotate with Message of toolkeel.messages",
    r"\w*(Block|Annotation|Citation)|ServerTool\w+|is_data_content_block|merge_content|convert_to_openai_(data|image)_block": "parts of messages are dicts, or Text, Image and File of toolkeel",
    r"(Usage|InputToken|OutputToken)\w*|\w*[Nn]otification_?[Mm]etadata|LC_\w+PREFIX|ensure_id": "a message's usage is toolkeel.Usage",
    r"_messages?_(from|to)_dicts?|convert_to_openai_messages|get_buffer_string|filter_messages|merge_message_runs|\w+MessageChunk|ToolCallChunk": "messages are records: choose among them by a comprehension; a session keeps them",
    r"\w*(Stream(Part|Mode|Writer)|Payload|Task|StateUpdate|StateSnapshot)|Durability|(Retry|Timeout|Cache|Trace)Policy|All|Overwrite|omit_payload|\w*[Cc]heckpointer|ToolCallTransformer|ValidationNode": "there are no graphs: an Agent is the loop, and tells what it does by events",
    "FILTERED_ARGS|ArgsSchema|RetrieverInput|ToolsRenderer|_get_runnable_config_param|convert_runnable_to_tool|create_schema_from_function": "a tool's parameters are tool.parameters, made of its function",
    r"\w*Callback\w*": "listeners=[...] of a run are told its events",
}
"""By regular expression of the name."""


def explain_object(value: object) -> str:
    """Return what to write instead of a LangChain object; "" for other objects."""
    foreign = explain_foreign(value)
    return foreign and (
        replacement_hint("LangChain", REPLACEMENTS, type(value).__name__) or foreign
    )


def suggest_replacement(name: str) -> str:
    """Return what to write instead of an object whose class has this name."""
    hint = replacement_hint("LangChain", REPLACEMENTS, name)
    return hint or f"{name} has no counterpart here; a step stands around calls: docs/steps.md"

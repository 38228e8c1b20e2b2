"""LangChain's and LangGraph's names that are not here, and what to write instead."""

from __future__ import annotations

from collections.abc import Mapping

NAMES: Mapping[str, str] = {
    r"StateGraph|MessageGraph|Graph|START|END|Send|add_messages|entrypoint|task|CompiledStateGraph": (
        "there are no graphs: an Agent is the loop, and an agent is a tool of another"
    ),
    r"HumanInTheLoopMiddleware|InterruptOnConfig": (
        "@tool(approval=True), or Rules(ask=[...]) for tools as they are: docs/approvals.md"
    ),
    r"ToolCallLimitMiddleware|ModelCallLimitMiddleware": "RunLimits of toolkeel.runs",
    r"(Summarization|ContextEditing)Middleware": "history= of toolkeel's Agent: docs/sessions.md",
    r"\w+Middleware": "what stands around a call is a step, steps=[...]: docs/steps.md",
    r"AgentExecutor|create_(tool_calling|openai_tools|openai_functions|structured_chat|json_chat)_agent"
    r"|initialize_agent|AgentType": "create_agent(model, tools) runs the whole loop",
    r"(Sqlite|Postgres|AsyncSqlite|AsyncPostgres)Saver|BaseCheckpointSaver": (
        "InMemorySaver(path) keeps threads in a file"
    ),
    r"PostgresStore": "InMemoryStore, or KeyValueStore of toolkeel.sessions for a file",
    r"Runnable(Lambda|Parallel|Passthrough|Sequence)?|chain|RunnableWithMessageHistory": (
        "there are no chains: call one function with what the other gives"
    ),
    r"(Chat)?PromptTemplate|MessagesPlaceholder": "write an f-string, and messages as a list",
    r"\w*OutputParser": "with_structured_output(T) gives instances",
    r"(AI|Human|Tool|System)MessageChunk|FunctionMessage|ChatMessage|InvalidToolCall": (
        "a call that cannot be read is answered with what is wrong in it"
    ),
    r"Chat(OpenAI|Anthropic|GoogleGenerativeAI|VertexAI|Bedrock(Converse)?|Ollama|Groq|Mistral\w*)": (
        "init_chat_model('vendor:model')"
    ),
    r"create_retriever_tool|\w*Retriever|\w*VectorStore|\w*Embeddings": (
        "toolkeel.tools has FileSearchTool over documents of your own"
    ),
    r"BaseToolkit": "a list of tools, or a Toolset",
    r"ToolRetryMiddleware": "@tool(steps=[Retry(2)]) of toolkeel, with Retry of toolkeel.steps",
    r"\w*Callback\w*": "listeners=[...] of a run are told its events",
}
"""By regular expression of the name."""

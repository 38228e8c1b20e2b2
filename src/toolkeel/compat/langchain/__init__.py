"""LangChain's names over this core: change the import lines, keep the tools.

messages          LangChain's messages and calls, over the core's records
runtime           what a running tool is handed by marker or type: ids, state, config, runtime, callbacks
interrupts        `interrupt` in a tool: its run waits for a value from outside
history           which messages a model is shown: `trim_messages`, `RemoveMessage`
middleware        middleware of an agent: steps around requests and calls
ready_middleware  middleware that is there: limits, retries, another model, a list of tasks
fields            pydantic's words in a tool's class
store             in-memory stores: flat keys, and LangGraph's namespaces
convert_tool      ``convert_to_openai_tool`` and its kin: a tool as a provider wants it
wrapping          `wrap_tool_call`, and `Command` from a tool
tool_node         `ToolNode` with its `handle_tool_errors`, and `tools_condition`
chat_models       `init_chat_model`, and a chat model with bound tools
threads           `InMemorySaver`, and `HumanInTheLoopMiddleware`
agent             `create_agent`, `create_react_agent`
tools             `tool`, `StructuredTool.from_function`, `BaseTool`
names             LangChain's names that are not here, and what to write instead
"""

from __future__ import annotations

from toolkeel.compat.langchain.agent import create_agent, create_react_agent
from toolkeel.compat.langchain.chat_models import (
    ChatModel,
    ProviderStrategy,
    ToolStrategy,
    init_chat_model,
)
from toolkeel.compat.langchain.convert_tool import (
    convert_to_anthropic_tool,
    convert_to_openai_function,
    convert_to_openai_tool,
    render_text_description,
    render_text_description_and_args,
)
from toolkeel.compat.langchain.history import (
    REMOVE_ALL_MESSAGES,
    RemoveMessage,
    count_tokens_approximately,
    trim_messages,
)
from toolkeel.compat.langchain.interrupts import Interrupt, get_stream_writer, interrupt
from toolkeel.compat.langchain.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    convert_to_messages,
)
from toolkeel.compat.langchain.middleware import (
    AgentMiddleware,
    ModelCallResult,
    ModelRequest,
    ModelResponse,
    Runtime,
    after_agent,
    after_model,
    before_agent,
    before_model,
    dynamic_prompt,
    hook_config,
    wrap_model_call,
    wrap_tool_call,
)
from toolkeel.compat.langchain.names import NAMES
from toolkeel.compat.langchain.ready_middleware import (
    ModelCallLimitExceededError,
    ModelCallLimitMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    Todo,
    TodoListMiddleware,
    ToolCallLimitExceededError,
    ToolCallLimitMiddleware,
    ToolRetryMiddleware,
)
from toolkeel.compat.langchain.runtime import (
    AsyncCallbackManagerForToolRun,
    CallbackManagerForToolRun,
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
    RunnableConfig,
    ToolRuntime,
)
from toolkeel.compat.langchain.store import BaseStore, InMemoryStore
from toolkeel.compat.langchain.threads import (
    GraphRecursionError,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    MemorySaver,
    StateSnapshot,
)
from toolkeel.compat.langchain.tool_node import ToolNode, tools_condition
from toolkeel.compat.langchain.tools import BaseTool, StructuredTool, Tool, tool
from toolkeel.compat.langchain.wrapping import AgentState, Command, ToolCallRequest
from toolkeel.compat.missing import missing
from toolkeel.errors import SchemaAnnotationError
from toolkeel.errors import ToolError as ToolException

__all__ = [
    "REMOVE_ALL_MESSAGES", "AIMessage", "AgentMiddleware", "AgentState", "AnyMessage",
    "AsyncCallbackManagerForToolRun", "BaseMessage", "BaseStore", "BaseTool", "CallbackManagerForToolRun",
    "ChatModel", "Command", "GraphRecursionError", "HumanInTheLoopMiddleware", "HumanMessage",
    "InMemorySaver", "InMemoryStore", "InjectedState", "InjectedStore", "InjectedToolArg",
    "InjectedToolCallId", "Interrupt", "MemorySaver", "ModelCallLimitExceededError", "ModelCallLimitMiddleware", "ModelCallResult", "ModelFallbackMiddleware", "ModelRequest",
    "ModelResponse", "ModelRetryMiddleware", "ProviderStrategy", "RemoveMessage", "RunnableConfig", "Runtime", "SchemaAnnotationError", "StateSnapshot", "StructuredTool",
    "SystemMessage", "Todo", "TodoListMiddleware", "Tool", "ToolCall", "ToolCallLimitExceededError", "ToolCallLimitMiddleware", "ToolCallRequest", "ToolException", "ToolMessage",
    "ToolNode", "ToolRetryMiddleware", "ToolRuntime", "ToolStrategy", "after_agent", "after_model", "before_agent", "before_model",
    "convert_to_anthropic_tool", "convert_to_messages", "convert_to_openai_function",
    "convert_to_openai_tool", "count_tokens_approximately", "create_agent", "create_react_agent", "dynamic_prompt", "get_stream_writer",
    "hook_config", "init_chat_model", "interrupt", "render_text_description", "render_text_description_and_args",
    "tool", "tools_condition", "trim_messages", "wrap_model_call", "wrap_tool_call",
]  # fmt: skip

__getattr__ = missing("LangChain", NAMES)

"""LangChain's names over this core: change the import lines, keep the tools.

messages  LangChain's messages and calls, over the core's records
inject    LangChain's markers of parameters that the program fills
runtime   what a running tool is handed by the type of a parameter: config, runtime, callbacks
store     in-memory stores: flat keys, and LangGraph's namespaces
convert   ``convert_to_openai_tool`` and its kin: a tool as a provider wants it
errors    `handle_tool_errors` of a `ToolNode`
wrapping  `wrap_tool_call`, and `Command` from a tool
run       a chat model with bound tools, `ToolNode`, `tools_condition`
threads   `InMemorySaver`, and `HumanInTheLoopMiddleware`
agent     `create_agent`
tools     `tool`, `StructuredTool.from_function`, `BaseTool`
names     LangChain's names that are not here, and what to write instead
"""

from __future__ import annotations

from toolkeel.compat.langchain.agent import create_agent, create_react_agent
from toolkeel.compat.langchain.convert import (
    convert_to_anthropic_tool,
    convert_to_openai_function,
    convert_to_openai_tool,
)
from toolkeel.compat.langchain.inject import (
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
)
from toolkeel.compat.langchain.messages import (
    AIMessage,
    HumanMessage,
    ToolCall,
    convert_to_messages,
)
from toolkeel.compat.langchain.names import NAMES
from toolkeel.compat.langchain.run import ChatModel, ToolNode, init_chat_model, tools_condition
from toolkeel.compat.langchain.runtime import (
    AsyncCallbackManagerForToolRun,
    CallbackManagerForToolRun,
    RunnableConfig,
    ToolRuntime,
)
from toolkeel.compat.langchain.store import InMemoryStore
from toolkeel.compat.langchain.threads import (
    GraphRecursionError,
    HumanInTheLoopMiddleware,
    InMemorySaver,
    Interrupt,
    MemorySaver,
)
from toolkeel.compat.langchain.tools import BaseTool, StructuredTool, tool
from toolkeel.compat.langchain.wrapping import Command, ToolCallRequest
from toolkeel.compat.missing import missing
from toolkeel.errors import SchemaAnnotationError
from toolkeel.errors import ToolError as ToolException
from toolkeel.messages import SystemMessage, ToolMessage

__all__ = [
    "AIMessage",
    "AsyncCallbackManagerForToolRun",
    "BaseTool",
    "CallbackManagerForToolRun",
    "ChatModel",
    "Command",
    "GraphRecursionError",
    "HumanInTheLoopMiddleware",
    "HumanMessage",
    "InMemorySaver",
    "InMemoryStore",
    "InjectedState",
    "InjectedStore",
    "InjectedToolArg",
    "InjectedToolCallId",
    "Interrupt",
    "MemorySaver",
    "RunnableConfig",
    "SchemaAnnotationError",
    "StructuredTool",
    "SystemMessage",
    "ToolCall",
    "ToolCallRequest",
    "ToolException",
    "ToolMessage",
    "ToolNode",
    "ToolRuntime",
    "convert_to_anthropic_tool",
    "convert_to_messages",
    "convert_to_openai_function",
    "convert_to_openai_tool",
    "create_agent",
    "create_react_agent",
    "init_chat_model",
    "tool",
    "tools_condition",
]

__getattr__ = missing("LangChain", NAMES)

"""LangChain's names over this core: change the import lines, keep the tools.

``from toolwright.compat.langchain import tool, BaseTool, ToolNode, ...`` stands for imports from
``langchain_core.tools``, ``langchain_core.messages``, ``langgraph.prebuilt`` and their neighbours.
Every tool made here holds one core `Tool` (its attribute `tool`), so it can be given to a `Toolset`
or an `Agent` as it is. What differs is said in ``docs/coming-from-langchain.md``.
"""

from __future__ import annotations

from toolwright.compat.langchain_agent import create_agent
from toolwright.compat.langchain_convert import (
    convert_to_anthropic_tool,
    convert_to_openai_function,
    convert_to_openai_tool,
)
from toolwright.compat.langchain_injected import (
    AsyncCallbackManagerForToolRun,
    CallbackManagerForToolRun,
    RunnableConfig,
    ToolRuntime,
)
from toolwright.compat.langchain_messages import (
    AIMessage,
    HumanMessage,
    ToolCall,
    convert_to_messages,
)
from toolwright.compat.langchain_run import ChatModel, ToolNode, init_chat_model
from toolwright.compat.langchain_store import InMemoryStore
from toolwright.compat.langchain_tools import BaseTool, StructuredTool, tool
from toolwright.define.inject import (
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
)
from toolwright.errors import SchemaAnnotationError
from toolwright.errors import ToolError as ToolException
from toolwright.messages import SystemMessage, ToolMessage

__all__ = [
    "AIMessage",
    "AsyncCallbackManagerForToolRun",
    "BaseTool",
    "CallbackManagerForToolRun",
    "ChatModel",
    "HumanMessage",
    "InMemoryStore",
    "InjectedState",
    "InjectedStore",
    "InjectedToolArg",
    "InjectedToolCallId",
    "RunnableConfig",
    "SchemaAnnotationError",
    "StructuredTool",
    "SystemMessage",
    "ToolCall",
    "ToolException",
    "ToolMessage",
    "ToolNode",
    "ToolRuntime",
    "convert_to_anthropic_tool",
    "convert_to_messages",
    "convert_to_openai_function",
    "convert_to_openai_tool",
    "create_agent",
    "init_chat_model",
    "tool",
]

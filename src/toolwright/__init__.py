"""The tool-calling runtime for LLM agents: define a tool once; any model can call it."""

# isort: skip_file
# The chapters in reading order.

# Words: data every chapter speaks with.
from toolwright.errors import (
    CallError,
    ModelError,
    SetupError,
    ToolError,
    ToolwrightError,
)
from toolwright.content import Audio, File, Image, Text
from toolwright.messages import (
    AssistantMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolOutput,
    Usage,
    UserMessage,
    unanswered,
)
from toolwright.effects import Effects
from toolwright.context import CancelToken, Run, ToolContext
from toolwright.model import Model, Settings

# 1. A function becomes a tool.
from toolwright.define.inject import (
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
)
from toolwright.define.secret import Secret
from toolwright.define.base import BaseTool
from toolwright.define.decorator import tool
from toolwright.define.tool import Prepared, Proceed, Step, Tool

# 2. A call becomes a message.
from toolwright.call.rules import Rules
from toolwright.call.toolset import Toolset
import toolwright.call.direct  # noqa: F401 - gives tools their `invoke`

# 3. Messages grow until the model stops calling.
from toolwright.agent.saved import RunState
from toolwright.agent.result import RunResult
from toolwright.agent.agent import Agent

# 4. Models by name.
from toolwright.providers.connect import connect

__all__ = [
    "Agent",
    "AssistantMessage",
    "Audio",
    "BaseTool",
    "CallError",
    "CancelToken",
    "Effects",
    "File",
    "Image",
    "InjectedState",
    "InjectedStore",
    "InjectedToolArg",
    "InjectedToolCallId",
    "Model",
    "ModelError",
    "Prepared",
    "Proceed",
    "Rules",
    "Run",
    "RunResult",
    "RunState",
    "Secret",
    "Settings",
    "SetupError",
    "Step",
    "SystemMessage",
    "Text",
    "Tool",
    "ToolCall",
    "ToolContext",
    "ToolError",
    "ToolMessage",
    "ToolOutput",
    "Toolset",
    "ToolwrightError",
    "Usage",
    "UserMessage",
    "connect",
    "tool",
    "unanswered",
]

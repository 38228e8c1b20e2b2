"""The tool-calling runtime for LLM agents: define a tool once; any model can call it."""

# isort: skip_file
# The chapters in reading order. What defines a tool is there at once; the rest is loaded when it is
# asked for, so that a file of tools costs little more than pydantic does.

from importlib import import_module as _load
import typing as _typing

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
from toolwright.model import Model, Settings, lend_connect as _lend_connect

# 1. A function becomes a tool.
from toolwright.define.inject import (
    InjectedState,
    InjectedStore,
    InjectedToolArg,
    InjectedToolCallId,
)
from toolwright.define.secret import Secret
from toolwright.define.tool import Prepared, Proceed, Step, Tool, lend as _lend
from toolwright.define.decorator import tool

_LATER = {
    "BaseTool": "define.base",
    "Rules": "call.rules",
    "Toolset": "call.toolset",
    "RunState": "agent.saved",
    "Agent": "agent.agent",
    "RunResult": "agent.result",
    "connect": "providers.connect",
}

if _typing.TYPE_CHECKING:
    from toolwright.define.base import BaseTool

    # 2. A call becomes a message.
    from toolwright.call.rules import Rules
    from toolwright.call.toolset import Toolset

    # 3. Messages grow until the model stops calling.
    from toolwright.agent.saved import RunState
    from toolwright.agent.result import RunResult
    from toolwright.agent.agent import Agent

    # 4. Models by name.
    from toolwright.providers.connect import connect
else:

    def __getattr__(name):
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = globals()[name] = getattr(_load(f"{__name__}.{_LATER[name]}"), name)
        return value

    def __dir__():
        return sorted({*globals(), *_LATER})


# Two things are lent backwards: tools get their `invoke`, and agents take a model by name.
_lend(lambda: _load("toolwright.call.direct").DIRECT)
_lend_connect(lambda name: _load("toolwright.providers.connect").connect(name))

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

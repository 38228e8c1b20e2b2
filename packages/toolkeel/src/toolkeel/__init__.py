"""The tool-calling runtime for LLM agents: define a tool once; any model can call it."""

# isort: skip_file
# The chapters in reading order. What defines a tool is there at once; the rest is loaded when it is
# asked for, so that a file of tools costs little more than pydantic does.

from importlib import import_module as _load
import typing as _typing

from toolkeel._lazy_exports import door as _door
from toolkeel._common.other_libraries_words import NAMES as _NAMES
from toolkeel._records.record import set_html_renderer as _set_html_renderer

# Words: data every chapter speaks with.
from toolkeel.errors import CallError, ModelError, SetupError, ToolError, ToolkeelError
from toolkeel.content import Audio, File, Image, Text
from toolkeel.messages import (
    AssistantMessage,
    SystemMessage,
    ToolCall,
    ToolMessage,
    ToolOutput,
    Usage,
    UserMessage,
    unanswered,
)
from toolkeel.effects import Effects
from toolkeel.context import CancelToken, RunContext, ToolContext
from toolkeel.model_interface import (
    Model,
    Settings,
    set_history_lookup as _set_history_lookup,
    set_model_resolver as _set_model_resolver,
    set_price_lookup as _set_price_lookup,
    set_session_lookup as _set_session_lookup,
)

# 1. A function becomes a tool.
from toolkeel.define.inject import Injected
from toolkeel.define.secret import Secret
from toolkeel.define.invoker import set_invoker as _set_invoker
from toolkeel.define.tool import Prepared, Proceed, Step, Tool
from toolkeel.define.decorator import tool

if _typing.TYPE_CHECKING:
    from toolkeel.define.base_tool import BaseTool

    # 2. A call becomes a message.
    from toolkeel.call.steps.rules import Rules
    from toolkeel.call.toolset import Toolset

    # 3. Messages grow until the model stops calling.
    from toolkeel.agent.run_state import RunState
    from toolkeel.agent.result import RunResult
    from toolkeel.agent.agent import Agent

    # 4. Models by name.
    from toolkeel.providers.model_by_name import connect
else:
    __getattr__, __dir__, _ = _door(
        __name__,
        {
            "toolkeel.define.base_tool": "BaseTool",
            "toolkeel.call.steps.rules": "Rules",
            "toolkeel.call.toolset": "Toolset",
            "toolkeel.agent.run_state": "RunState",
            "toolkeel.agent.result": "RunResult",
            "toolkeel.agent.agent": "Agent",
            "toolkeel.providers.model_by_name": "connect",
        },
        _NAMES,
    )

__version__ = "0.1.0"

# Lent backwards: tools get their `invoke`, agents take a model or a session by name, notebooks
# show what there is.
_set_invoker(lambda: _typing.cast("_typing.Any", _load("toolkeel.call.direct_invoke")))
_set_model_resolver(lambda name: _load("toolkeel.providers.model_by_name").connect(name))
_set_price_lookup(lambda name: _load("toolkeel.providers.prices").price_of(name))
_set_html_renderer(lambda value: _load("toolkeel._common.installed").render_html(value))
_set_history_lookup(lambda tokens: _load("toolkeel.sessions.history_policies").KeepTokens(tokens))
_set_session_lookup(lambda name: _load("toolkeel.sessions").session(name))

__all__ = [
    "Agent", "AssistantMessage", "Audio", "BaseTool", "CallError", "CancelToken", "Effects",
    "File", "Image", "Injected", "Model", "ModelError", "Prepared", "Proceed", "Rules",
    "RunContext", "RunResult", "RunState", "Secret", "Settings", "SetupError", "Step",
    "SystemMessage", "Text", "Tool", "ToolCall", "ToolContext", "ToolError", "ToolMessage",
    "ToolOutput", "ToolkeelError", "Toolset", "Usage", "UserMessage", "connect", "tool",
    "unanswered",
]  # fmt: skip

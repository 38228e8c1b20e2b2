"""LangChain's names over this core: change the import lines, keep the tools.

names             where the names are, and what to write instead of those that are not here
messages          LangChain's messages and calls, over the core's records
runtime           what a running tool is handed by marker or type: ids, state, config, runtime, callbacks
interrupts        `interrupt` in a tool: its run waits for a value from outside
history           which messages a model is shown: `trim_messages`, `RemoveMessage`
middleware        middleware of an agent: steps around requests and calls
ready_middleware  middleware that is there: limits, retries, another model, a list of tasks
fields            pydantic's words in a tool's class
store             in-memory stores: flat keys, and LangGraph's namespaces
convert_tool      ``convert_to_openai_tool`` and its kin: a tool as a provider wants it
command           `wrap_tool_call`, and `Command` from a tool
tool_node         `ToolNode` with its `handle_tool_errors`, and `tools_condition`
chat_models       `init_chat_model`, and a chat model with bound tools
threads           `InMemorySaver`, and `HumanInTheLoopMiddleware`
agent             `create_agent`, `create_react_agent`
tools             `tool`, `StructuredTool.from_function`, `BaseTool`
"""

# ruff: noqa: F403
# `PLACES` says what each module gives to programs.

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkeel import _lazy_exports
from toolkeel_compat.langchain.names import NAMES, PLACES
from toolkeel_compat.missing import missing

if TYPE_CHECKING:
    from toolkeel.errors import SchemaAnnotationError as SchemaAnnotationError
    from toolkeel_compat.langchain.agent import *
    from toolkeel_compat.langchain.chat_models import *
    from toolkeel_compat.langchain.command import *
    from toolkeel_compat.langchain.convert_tool import *
    from toolkeel_compat.langchain.history import *
    from toolkeel_compat.langchain.interrupts import *
    from toolkeel_compat.langchain.messages import *
    from toolkeel_compat.langchain.middleware import *
    from toolkeel_compat.langchain.ready_middleware import *
    from toolkeel_compat.langchain.runtime import *
    from toolkeel_compat.langchain.store import *
    from toolkeel_compat.langchain.threads import *
    from toolkeel_compat.langchain.tool_node import *
    from toolkeel_compat.langchain.tools import *
else:
    _door = _lazy_exports.door(__name__, PLACES)
    _, __dir__, __all__ = _door
    __getattr__ = missing("LangChain", NAMES, _door)

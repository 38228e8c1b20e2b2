"""LangChain's names over this core: change the import lines, keep the tools.

names             which module exports each name, and the replacement of names that are missing
messages          LangChain's messages, over the core's records
tool_calls        LangChain's calls, over the core's records
runtime           values injected into a running tool: ids, state, config, runtime, callbacks
serialization     messages as LangChain's JSON: `dumpd`, `load`, `messages_to_dict`
history           which messages the model gets: `trim_messages`, `RemoveMessage`
middleware        agent middleware: steps around model requests and tool calls
ready             ready middleware: limits, retries, summaries, edits of the context, personal data
fields            pydantic fields and validators in a tool's class
store             in-memory stores: flat keys, and LangGraph's namespaces
mcp_client        `MultiServerMCPClient`: tools of MCP servers
convert_tool      ``convert_to_openai_tool`` and similar: a tool in a provider's format
command           `wrap_tool_call`, `Command` from a tool, and updates of the state with reducers
tool_node         `ToolNode` with its `handle_tool_errors`, and `tools_condition`
models            chat models: by name, of partner packages, of your own
threads           threads that last, `interrupt`, and people who decide about calls
streaming         what `stream` and `stream_events` yield
agent_options     options of an agent, and what they say about its state
recursion_limit   `GraphRecursionError`: the steps of one run, as LangGraph counts them
compiled_agent    `CompiledAgent`: invoke, stream and the state of threads
agent             `create_agent`, `create_react_agent`
tools             `tool`, `StructuredTool.from_function`, `BaseTool`
"""

# ruff: noqa: F403
# `PLACES` says what each module gives to programs.

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkeel import _lazy_exports
from toolkeel_compat.langchain.names import EXPORTS, REPLACEMENTS
from toolkeel_compat.missing import make_module_getattr

if TYPE_CHECKING:
    from toolkeel.errors import SchemaAnnotationError as SchemaAnnotationError
    from toolkeel_compat.langchain.agent import *
    from toolkeel_compat.langchain.command import *
    from toolkeel_compat.langchain.convert_tool import *
    from toolkeel_compat.langchain.history import *
    from toolkeel_compat.langchain.mcp_client import *
    from toolkeel_compat.langchain.messages import *
    from toolkeel_compat.langchain.middleware import *
    from toolkeel_compat.langchain.models.chat_models import *
    from toolkeel_compat.langchain.ready.context_editing import *
    from toolkeel_compat.langchain.ready.limits import *
    from toolkeel_compat.langchain.ready.pii import *
    from toolkeel_compat.langchain.ready.retries import *
    from toolkeel_compat.langchain.ready.summarization import *
    from toolkeel_compat.langchain.recursion_limit import (
        GraphRecursionError as GraphRecursionError,
    )
    from toolkeel_compat.langchain.runtime import *
    from toolkeel_compat.langchain.serialization import *
    from toolkeel_compat.langchain.store import *
    from toolkeel_compat.langchain.streaming.message_chunks import *
    from toolkeel_compat.langchain.streaming.stream_modes import GraphOutput as GraphOutput
    from toolkeel_compat.langchain.threads.checkpoints import *
    from toolkeel_compat.langchain.threads.human_review import *
    from toolkeel_compat.langchain.threads.interrupts import *
    from toolkeel_compat.langchain.threads.message_ids import uuid7 as uuid7
    from toolkeel_compat.langchain.tool_calls import ToolCall as ToolCall
    from toolkeel_compat.langchain.tool_node import *
    from toolkeel_compat.langchain.tools import *
else:
    _door = _lazy_exports.door(__name__, EXPORTS)
    _, __dir__, __all__ = _door
    __getattr__ = make_module_getattr("LangChain", REPLACEMENTS, _door)

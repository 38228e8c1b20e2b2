"""The OpenAI Agents SDK's names over this core: change the import lines, keep the tools.

context        objects passed to a running tool: `RunContextWrapper`, `ToolContext`, `Usage`
exceptions     the exceptions that end a run
guardrails     guardrails of tools and of agents
items          messages and calls of a run as items of the Responses API
tool_outputs   text, images and files that a tool returns
handoffs       `handoff`: transfer the run to another agent, with filters of its input
tools          `function_tool` and `FunctionTool`
settings       `ModelSettings` and `RunConfig`
models         models by name, custom models, steps around model requests
state          runs that wait for approval: `RunState`, interruptions
result         `RunResult`
sessions       conversation history across runs: `SQLiteSession`, without what a guardrail blocked
run_lifecycle  one run from start to result: options, error handlers
stream         `RunResultStreaming` and its events
hooks          lifecycle hooks, awaited during a run
output         output types
agent_tool     agents as tools of other agents
agent          `Agent`
tracing        traces and spans, passed to processors; nothing is exported by default
run            `Runner`
ready_tools    shells, patches, computers, hosted tools and MCP servers
names          which module exports each name, and replacements for missing names
"""

# ruff: noqa: F403
# Each module's `__all__` says what it gives to programs.

from __future__ import annotations

from typing import TYPE_CHECKING

from toolkeel import _lazy_exports
from toolkeel_compat.missing import make_module_getattr
from toolkeel_compat.openai_agents.names import NAMES, PLACES

if TYPE_CHECKING:
    from toolkeel_compat.openai_agents.agent import *
    from toolkeel_compat.openai_agents.context import *
    from toolkeel_compat.openai_agents.exceptions import *
    from toolkeel_compat.openai_agents.guardrails import *
    from toolkeel_compat.openai_agents.handoffs import *
    from toolkeel_compat.openai_agents.hooks import *
    from toolkeel_compat.openai_agents.items import *
    from toolkeel_compat.openai_agents.models.custom_models import *
    from toolkeel_compat.openai_agents.models.named import *
    from toolkeel_compat.openai_agents.models.requests import *
    from toolkeel_compat.openai_agents.models.scripted import *
    from toolkeel_compat.openai_agents.output import *
    from toolkeel_compat.openai_agents.ready_tools.hosted import *
    from toolkeel_compat.openai_agents.ready_tools.mcp_servers import *
    from toolkeel_compat.openai_agents.ready_tools.shell import *
    from toolkeel_compat.openai_agents.result import *
    from toolkeel_compat.openai_agents.run import *
    from toolkeel_compat.openai_agents.run_lifecycle import *
    from toolkeel_compat.openai_agents.sessions import *
    from toolkeel_compat.openai_agents.settings import *
    from toolkeel_compat.openai_agents.state import *
    from toolkeel_compat.openai_agents.stream import *
    from toolkeel_compat.openai_agents.tool_outputs import *
    from toolkeel_compat.openai_agents.tools import *
    from toolkeel_compat.openai_agents.tracing import *
    from toolkeel_workspace.pictures.generate import ImageGenerationTool as ImageGenerationTool
    from toolkeel_workspace.search.file_search import FileSearchTool as FileSearchTool
    from toolkeel_workspace.web.search import UserLocation as UserLocation
    from toolkeel_workspace.web.search import WebSearchTool as WebSearchTool
    from toolkeel_workspace.web.search import WebSearchToolFilters as WebSearchToolFilters
else:
    _door = _lazy_exports.door(__name__, PLACES)
    _, __dir__, __all__ = _door
    __getattr__ = make_module_getattr("the Agents SDK", NAMES, _door)

"""The OpenAI Agents SDK's names over this core: change the import lines, keep the tools.

context        what a running tool is handed: `RunContextWrapper`, `ToolContext`, `Usage`
exceptions     the exceptions that end a run
guardrails     guardrails of tools and of agents
items          what happened in a run, as items of the Responses wire
tool_outputs   texts, pictures and files that a tool returns
handoffs       `handoff`: one agent gives the run to another, and what that one sees
tools          `function_tool` and `FunctionTool`
settings       `ModelSettings` and `RunConfig`
models         whom an agent asks: bare names are OpenAI's
state          runs that wait for a person: `RunState`, interruptions
result         `RunResult`
sessions       what was said before joins the next run: `SQLiteSession`
run_lifecycle  a run from its beginning to its end: options, error handlers
stream         streamed runs: `Runner.run_streamed` gives them
hooks          methods that are awaited as a run goes
output         types of answers
agent_tool     agents as tools of others
agent          `Agent`
tracing        traces and spans, handed to processors, sent to nobody
run            `Runner`
ready_tools    shells, patches, computers, hosted tools and MCP servers
names          where the names are, and what to write instead of those that are not here
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

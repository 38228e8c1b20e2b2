"""Which tools a model is told about in a turn: all, those enabled now, or those it searched for."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Sequence
from typing import Any

from toolwright.call.search import Index
from toolwright.call.toolset import Toolset
from toolwright.context import Run, ToolContext
from toolwright.define.decorator import tool
from toolwright.define.tool import AnyTool, Tool
from toolwright.messages import ToolCall

SEARCH = "search_tools"


class Offer:
    """What one run offers of a toolset.

    Args:
        tools: All that can be called.
        run: The run; a search leaves its findings there.
        search: Offer `search_tools` and what it has found, rather than everything.
    """

    def __init__(self, tools: Toolset, run: Run[Any], search: bool) -> None:
        self._run = run
        self._dynamic = [item for item in tools if item.enabled is not True]
        self._all = tuple(tools)
        self._found: dict[str, AnyTool] = {}
        self._search: AnyTool | None = None
        self.tools = tools
        if search:
            self._search = self._searcher(tools)
            self.tools = tools.with_tools([*tools, self._search])

    async def now(self) -> Sequence[AnyTool]:
        """The tools to tell the model about. The same object, as long as they are the same."""
        offered = self._all
        if self._search is not None:
            offered = (self._search, *self._found.values())
        if not self._dynamic:
            return offered
        return tuple([item for item in offered if await self._enabled(item)])

    async def _enabled(self, item: AnyTool) -> bool:
        if not callable(item.enabled):
            return item.enabled
        answer = item.enabled(ToolContext(ToolCall("", item.name), item.name, self._run))
        return await answer if inspect.isawaitable(answer) else bool(answer)

    def _searcher(self, tools: Toolset) -> AnyTool:
        index = functools.cache(lambda: Index(tools))

        def search_tools(query: str, limit: int = 5) -> list[dict[str, str]]:
            """Find tools by what they do. The tools found can be called from then on.

            Args:
                query: What the tool should do, in a few words.
                limit: How many tools to find at most.
            """
            found = index().find(query, max(1, min(limit, 20)))
            for item in found:
                self._found[item.name] = item
            return [{"name": item.name, "description": item.description} for item in found]

        made: Tool[..., Any] = tool(SEARCH, inline=True)(search_tools)
        return made

"""The tools that a model request offers: all, the enabled ones, or those found by search."""

from __future__ import annotations

import functools
import json
import logging
import re
from collections.abc import Container, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from toolkeel.call.body.callback import run_callback
from toolkeel.call.tool_search import Index
from toolkeel.call.toolset import HIDES_OTHERS, Toolset
from toolkeel.content import Text
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.decorator import tool
from toolkeel.define.tool import AnyTool, Tool
from toolkeel.errors import ToolError
from toolkeel.messages import ToolCall, ToolMessage

SEARCH = "search_tools"

log = logging.getLogger("toolkeel")


class EnabledTools:
    """The tools of a toolset that one run offers to its model.

    Args:
        tools: All callable tools.
        run: The run; tools that its transcript says were found are offered again.
        search: True to offer `search_tools` and the tools it has found, rather than all.
        beside: Tools that are always offered, outside the set's steps and rules.
        always: Names of tools of the set that are always offered.

    Attributes:
        tools: All callable tools, the search included.
        fixed: The tools offered in every turn; None if they can change.
    """

    def __init__(
        self,
        tools: Toolset,
        run: RunContext,
        search: bool,
        beside: Sequence[AnyTool] = (),
        always: Container[str] = (),
    ) -> None:
        self._run = run
        self._beside = tuple(beside)
        self._all = (*tools, *beside)
        self._dynamic = any(item.enabled is not True for item in self._all)
        self.fixed = None if search or self._dynamic else self._all
        self._found: dict[str, AnyTool] = {}
        self._search: AnyTool | None = None
        self._last: tuple[AnyTool, ...] = ()
        self.tools = tools
        if search:
            self._search = self._searcher(tools)
            self.tools = tools.with_tools([*tools, self._search])
            self._found |= {item.name: item for item in tools if item.name in always}
            for name in _found_before(run):
                if name in tools:
                    self._found[name] = tools[name]
        for item in beside:
            self.tools = self.tools.with_extra_tool(item)

    async def current(self) -> Sequence[AnyTool]:
        """Return the tools to offer now; the same object while nothing changes.

        Side effect: the run's disabled tools are updated.
        """
        offered = self._all
        if self._search is not None:
            offered = (self._search, *self._found.values(), *self._beside)
        if self._dynamic:
            offered = tuple([item for item in offered if await self._enabled(item)])
            can = {item.name for item in offered}
            self._run.loop_state.disabled_tools = frozenset(
                item.name for item in self._all if item.enabled is not True and item.name not in can
            )
        if offered != self._last:
            self._last = offered
        return self._last

    async def _enabled(self, item: AnyTool) -> bool:
        """Return True if the tool can be called now. A predicate that raises disables the tool."""
        if not callable(item.enabled):
            return item.enabled
        try:
            context = ToolContext(ToolCall("", item.name), item.name, self._run)
            limit = self._run.scope.callback_timeout
            name = f"the predicate `enabled` of {item.name!r}"
            return bool(await run_callback(item.enabled, context, seconds=limit, name=name))
        except Exception:
            log.exception(
                "the predicate `enabled` of %s failed; the tool is not offered", item.name
            )
            return False

    def _searcher(self, tools: Toolset) -> AnyTool:
        """Make the tool `search_tools`, whose findings are offered from then on."""
        index = functools.cache(lambda: Index(tools))

        async def search_tools(query: str, limit: int = 5) -> list[dict[str, str]] | str:
            """Find tools by description. The tools found can be called from then on.

            Args:
                query: What the tool should do, in a few words.
                limit: How many tools to find at most.
            """
            if not query.strip():
                raise ToolError("The query is empty. Say in a few words what the tool should do.")
            found = index().find(query, max(1, min(limit, 20)))
            found = [item for item in found if await self._enabled(item)]
            for item in found:
                self._found[item.name] = item
            if not found:
                return f"No tool fits {query[:200]!r}. Try other words for what it should do."
            return [{"name": item.name, "description": item.description} for item in found]

        made: Tool[..., Any] = tool(SEARCH, metadata={HIDES_OTHERS: True})(search_tools)
        return made


def _found_before(run: RunContext) -> list[str]:
    """Return the names that earlier searches found, read from the transcript."""
    names = []
    for message in run.transcript:
        if isinstance(message, ToolMessage) and message.name == SEARCH and not message.failed:
            with suppress(ValueError, TypeError, KeyError):
                names += [str(item["name"]) for item in json.loads(message.text)]
    return names


def with_wire_names(result: ToolMessage, names: Mapping[str, str]) -> ToolMessage:
    """Replace tool names in a result by the names sent to the model.

    Those are the texts of failures, the notes on where the rest of a result is, and the names
    that a search for tools found. What a tool itself says stays as it is.

    Args:
        result: With the tools' own names.
        names: Name on the wire by the tool's own name, where they differ.

    >>> failed = ToolMessage("There is no tool 'x.z'. Did you mean 'x.y'?", kind="unknown_tool")
    >>> with_wire_names(replace(failed, status="error"), {"x.y": "x_y"}).content
    "There is no tool 'x.z'. Did you mean 'x_y'?"
    """
    name = f"({'|'.join(map(re.escape, sorted(names, key=len, reverse=True)))})"
    if result.failed and result.kind != "tool_error":
        place = re.compile(rf"(?<![\w.-]){name}(?!\w|[.-]\w)")
    elif result.name == SEARCH:
        place = re.compile(rf'(?<="name":"){name}(?=")')
    else:
        place = re.compile(rf'(?<![\w.-]){name}(?=\(path=")')

    def replace_names(text: str) -> str:
        return place.sub(lambda found: names[found[0]], text)

    if isinstance(result.content, str):
        return replace(result, content=replace_names(result.content))
    blocks = (
        Text(replace_names(block.text), block.extra) if isinstance(block, Text) else block
        for block in result.content
    )
    return replace(result, content=tuple(blocks))

"""The tools that a model request offers: all, the enabled ones, or those found by search."""

from __future__ import annotations

import logging
import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace

from toolkeel.call.body.callback import run_callback
from toolkeel.call.tool_search import SEARCH, make_search_tool, names_found_before
from toolkeel.call.toolset import Toolset
from toolkeel.content import Text
from toolkeel.context import RunContext, ToolContext
from toolkeel.define.tool import AnyTool
from toolkeel.messages import ToolCall, ToolMessage

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
            self._search = make_search_tool(tools, self._enabled, self._found)
            self.tools = tools.with_tools([*tools, self._search])
            self._found |= {item.name: item for item in tools if item.name in always}
            for name in names_found_before(run):
                if name in tools:
                    self._found[name] = tools[name]
        for item in beside:
            self.tools = self.tools.with_extra_tool(item)

    async def current(self) -> Sequence[AnyTool]:
        """Return the tools to offer now; the same object while nothing changes.

        Side effects: the run's disabled tools are updated, and a predicate that raises is logged.
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
        """Return True if the tool can be called now. A predicate that raises is logged, and disables it."""
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
        """Return a text with the names that `place` finds replaced."""
        return place.sub(lambda found: names[found[0]], text)

    if isinstance(result.content, str):
        return replace(result, content=replace_names(result.content))
    blocks = (
        Text(replace_names(block.text), block.extra) if isinstance(block, Text) else block
        for block in result.content
    )
    return replace(result, content=tuple(blocks))

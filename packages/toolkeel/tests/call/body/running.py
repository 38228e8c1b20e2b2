"""One call of one tool, for the tests of bodies."""

from __future__ import annotations

from typing import Any

from tests.waiting import run
from toolkeel import RunContext, ToolCall, ToolMessage, Toolset


def result_of(made: Any, arguments: Any = "", shared: RunContext[Any] | None = None) -> ToolMessage:
    """What the model is told of one call of a tool."""
    [result] = run(lambda: Toolset([made]).run([ToolCall("c1", made.name, arguments)], shared))
    return result

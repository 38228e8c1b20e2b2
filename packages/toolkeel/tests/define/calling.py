"""One call of one tool, as a model makes it."""

from __future__ import annotations

import json
from typing import Any

from toolkeel import RunContext, Tool, ToolCall, ToolMessage, Toolset, tool


def called(
    wanted: Tool[..., Any], arguments: object = None, run: RunContext[Any] | None = None
) -> Any:
    """What the body returned.

    Raises:
        AssertionError: with the text for the model, if it did not run.
    """
    result = answered(wanted, arguments, run)
    assert result.kind is None, result.text
    return result.text


def answered(
    wanted: Tool[..., Any], arguments: object = None, run: RunContext[Any] | None = None
) -> ToolMessage:
    """The result of a call whose arguments travel as JSON text."""
    text = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    [result] = Toolset([wanted]).run_sync([ToolCall("call-1", wanted.name, text)], run)
    return result


def taking(annotation: object) -> tuple[Tool[..., Any], list[Any]]:
    """A tool of one parameter ``x``, and what its body receives."""
    seen: list[Any] = []

    def take(x: Any) -> str:
        seen.append(x)
        return "taken"

    take.__annotations__["x"] = annotation
    return tool(description="Take it.")(take), seen

"""Which tools of an MCP server are taken, and which of their calls are asked about."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, cast

from toolkeel._records.record import record
from toolkeel.compat.given import value_of
from toolkeel.compat.openai_agents.context import RunContextWrapper
from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError


@record
class ToolFilterContext:
    """What a filter of tools sees.

    Args:
        run_context: The run.
        agent: Whose run it is.
        server_name: Whose tool it is.
    """

    run_context: RunContextWrapper[Any]
    agent: Any
    server_name: str


ToolFilter: TypeAlias = Mapping[str, Sequence[str]] | Callable[[ToolFilterContext, Any], Any]
"""Names under ``allowed_tool_names`` and ``blocked_tool_names``, or ``(context, tool)`` decides."""
Approvals: TypeAlias = str | bool | Mapping[str, Any] | None
_WORDS = (None, "always", "never", True, False)


def create_static_tool_filter(
    allowed_tool_names: Sequence[str] | None = None, blocked_tool_names: Sequence[str] | None = None
) -> dict[str, list[str]] | None:
    """Which of a server's tools are taken."""
    made = {}
    if allowed_tool_names is not None:
        made["allowed_tool_names"] = list(allowed_tool_names)
    if blocked_tool_names is not None:
        made["blocked_tool_names"] = list(blocked_tool_names)
    return made or None


async def taken(tool: AnyTool, wanted: ToolFilter | None, context: ToolFilterContext) -> bool:
    """Whether a filter lets a tool through."""
    name = own_name(tool)
    if callable(wanted):
        return bool(await value_of(wanted(context, tool)))
    lists = cast("Mapping[str, Sequence[str]]", wanted or {})
    allowed, blocked = lists.get("allowed_tool_names"), lists.get("blocked_tool_names") or ()
    return (allowed is None or name in allowed) and name not in blocked


def check(approvals: Approvals) -> None:
    """See that ``require_approval`` says something.

    Raises:
        SetupError: it is none of its forms.
    """
    each = approvals.items() if isinstance(approvals, Mapping) else [("", approvals)]
    if not all(_says_something(name, one) for name, one in each):
        raise SetupError(
            "require_approval is 'always', 'never', {tool: 'always'}, or "
            "{'always': {'tool_names': [...]}, 'never': ...}"
        )


def _says_something(name: str, wanted: object) -> bool:
    if name in ("always", "never"):
        return isinstance(wanted, Mapping) and {*wanted} <= {"tool_names"}
    return wanted in _WORDS


def asking(tool: AnyTool, approvals: Approvals) -> AnyTool:
    """The tool, which asks a person if ``require_approval`` names it."""
    if not isinstance(approvals, Mapping):
        return tool
    name = own_name(tool)
    always = name in (approvals.get("always") or {}).get("tool_names", ())
    return replace(tool, approval=always or approvals.get(name) in ("always", True))


def own_name(tool: AnyTool) -> str:
    """What the server calls it."""
    known = tool.metadata.get("mcp")
    return str(known.get("tool") if isinstance(known, Mapping) else tool.name)

"""Approvals of shells and patches: who decides sees the action itself, not a dict of arguments."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias, cast

from toolkeel._records.tickets import Ticket
from toolkeel.compat.foreign_options import value_of
from toolkeel.compat.openai_agents.context import Raw, RunContextWrapper
from toolkeel.compat.openai_agents.state import REJECTED, ToolApprovalItem
from toolkeel.compat.openai_agents.tools import Approval, as_approval, rejection_as_told
from toolkeel.context import ToolContext
from toolkeel.define.tool import AnyTool, Prepared, Proceed
from toolkeel.errors import Denied
from toolkeel.providers.wire.plain_json import dumps

__all__ = ["ApplyPatchOnApprovalFunctionResult", "ShellOnApprovalFunctionResult"]

Needs: TypeAlias = bool | Callable[[RunContextWrapper[Any], Any, str], bool | Awaitable[bool]]
"""Whether a person must approve: always, never, or ``(context, action, call id)`` decides."""
OnApproval: TypeAlias = Callable[[RunContextWrapper[Any], ToolApprovalItem], Any]
"""Decides at once: ``(context, item)`` gives ``{"approve": ..., "reason": ...}``; may be async."""
ShellOnApprovalFunctionResult: TypeAlias = dict[str, Any]
ApplyPatchOnApprovalFunctionResult: TypeAlias = dict[str, Any]


def approving(
    tool: AnyTool, needs: Needs, decide: OnApproval | None, key: str, action: Callable[..., Any]
) -> AnyTool:
    """The tool, of which a person approves the calls that need it.

    Args:
        tool: The tool.
        needs: Which calls do; if none, the tool asks as it did.
        decide: Answers in the person's place.
        key: Under which a call's item has its action.
        action: Makes the action of the arguments.
    """
    if needs is False:
        return tool

    def asked(context: RunContextWrapper[Any], arguments: dict[str, Any], id: str) -> Any:
        return needs if isinstance(needs, bool) else needs(context, action(**arguments), id)

    async def decided(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        assert decide is not None
        wrapper, arguments = RunContextWrapper.from_tool_context(context), dict(prepared.arguments)
        if await value_of(asked(wrapper, arguments, context.call.id)):
            about: dict[str, Any] = {"type": f"{tool.name}_call", "call_id": context.call.id}
            raw: Any = Raw(about, name=tool.name, arguments=dumps(arguments), **{key: arguments})
            item = ToolApprovalItem(context.agent, raw, cast("Ticket", None))
            answer = await value_of(decide(wrapper, item))
            if not (isinstance(answer, Mapping) and answer.get("approve") is True):
                raise Denied(REJECTED)
        return await proceed(prepared)

    if decide is not None:
        return replace(tool, approval=False, steps=(rejection_as_told, decided, *tool.steps))
    wanted: Approval = True if needs is True else asked
    approval, steps = as_approval(wanted)
    return replace(tool, approval=approval, steps=(rejection_as_told, *steps, *tool.steps))

"""Warnings about approval: of tools whose calls will wait, and of an approver that no call reaches."""

from __future__ import annotations

import logging

from toolkeel.call.steps.label_sources import labels_of
from toolkeel.call.steps.rules import is_allowed
from toolkeel.call.steps.taint import can_act
from toolkeel.call.toolset import Toolset
from toolkeel.define.tool import AnyTool
from toolkeel.effects import UNKNOWN

log = logging.getLogger("toolkeel")
_warned: set[tuple[tuple[str, ...], tuple[str, ...]]] = set()


def warn_of_waiting_tools(tools: Toolset) -> None:
    """Log a warning, once for the same tools, if results of some will require approval of others.

    Args:
        tools: The tools of an agent.
    """
    waiting = tuple(each.name for each in tools if _may_wait(each, tools))
    reading = tuple(each.name for each in tools if "stranger" in labels_of(each))
    reading = tuple(name for name in reading if name not in waiting)
    if not waiting or not reading or (waiting, reading) in _warned:
        return
    _warned.add((waiting, reading))
    log.warning(
        "after %s has read a stranger's text, calls of %s need approval, since its effects are not "
        "declared, and a run without an approver waits: declare them, as in "
        "@tool(effects=Effects(open_world=False, destructive=False)), or give @tool(approval=False), "
        "Rules(allow=[%r]) or run(approver=...); see docs/effects.md",
        " or ".join(reading[:3]),
        ", ".join(waiting[:5]),
        waiting[0],
    )


def warn_of_idle_approver(tools: Toolset) -> None:
    """Log a warning, once for the same tools, if no call of them can need approval.

    Args:
        tools: The tools of a run that has an approver.
    """
    names = tuple(each.name for each in tools)
    if (names, ()) in _warned or any(_may_ask(each, tools) for each in tools):
        return
    _warned.add((names, ()))
    log.warning(
        "approver= is never asked, except after an attachment or another's text in a message: no tool of "
        "%s needs approval, and no rule asks. Give "
        "@tool(approval=True), or rules=Rules(ask=[%r]) for those it is to be asked about",
        ", ".join(names[:5]) or "this agent",
        names[0] if names else "a_tool",
    )


def _may_ask(tool: AnyTool, tools: Toolset) -> bool:
    """Return True if a call of a tool may need approval: by itself, a step, a rule or a label."""
    if tool.approval not in (None, False) or tool.steps or tools.steps or tool.hosted is not None:
        return True
    if tools.rules is not None and any(rule.action == "ask" for rule in tools.rules):
        return True
    labeled = any(labels_of(each) for each in tools)
    return labeled and tool.approval is None and can_act(tool)


def _may_wait(tool: AnyTool, tools: Toolset) -> bool:
    """Return True if a tool declares neither effects nor approval, and no rule is about it."""
    rule = None if tools.rules is None else tools.rules.rule(tool.name, {})
    is_plain = tool.effects == UNKNOWN and tool.hosted is None and tool.approval is None
    return is_plain and rule is None and not is_allowed(tool, rule)

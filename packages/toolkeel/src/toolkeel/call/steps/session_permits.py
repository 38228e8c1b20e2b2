"""Approvals that a person extends to later calls of a session: of one tool, within one host, folder or command.

Only tools that change nothing outside can have one: those that only read, and those whose changes stay
inside and can be undone (as `taint` tells them). All others, such as payments and functions that declare no
effects, are approved call by call. A permit holds for the tool's definition as it was shown.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping

from toolkeel._records.taint_sources import SESSION, Permit
from toolkeel._records.tickets import call_digest
from toolkeel.call.arguments.canonical_arguments import ArgumentsView
from toolkeel.call.steps import taint
from toolkeel.call.steps.addresses import host_of
from toolkeel.call.steps.mentioned_targets import target_texts
from toolkeel.call.steps.resources import resource_keys
from toolkeel.context import RunContext
from toolkeel.define.options import external
from toolkeel.define.tool import AnyTool, Prepared

_FILE = "file:"


def find_scope(prepared: Prepared, labels: tuple[str, ...] = ()) -> str:
    """Return what an approval of a call may cover in its session, "" if no more than the call.

    Args:
        prepared: The call.
        labels: Taint labels that are a reason to ask: with them only a host can be approved, and nothing
            after a secret.

    Returns:
        ``host NAME``, ``folder PATH``, ``command LINE``, or ``tool``.
    """
    tool = prepared.tool
    if not _can_extend(tool) or any(label.startswith(taint.SECRET.rstrip()) for label in labels):
        return ""
    scope = _scope_of(prepared)
    return scope if not labels or scope.startswith("host ") else ""


def _can_extend(tool: AnyTool) -> bool:
    """Return True if later calls of a tool may run on the approval of an earlier one.

    An MCP server's tools may not, since the server itself says what they do; nor may tools with secret
    arguments, which no permit could show.
    """
    if tool.executor is external or "mcp" in tool.metadata or tool.arguments.mask is not None:
        return False
    return tool.effects.read_only or taint.is_local(tool)


def _scope_of(prepared: Prepared) -> str:
    """Return the scope that a call's tool and arguments have, "" if they have none."""
    tool = prepared.tool
    shell = tool.metadata.get("shell")
    if isinstance(shell, str):
        shown = dict(ArgumentsView(prepared))
        command = shown.pop(shell, "")
        is_plain = all(value is None or value is False for value in shown.values())
        return f"command {command}" if is_plain else ""  # such as one in the background
    if tool.effects.target:
        hosts = {host_of(text) for text in target_texts(prepared)}
        return f"host {host}" if len(hosts) == 1 and (host := hosts.pop()) else ""
    if not tool.effects.resources:
        return "tool"
    place = _common_place(prepared)
    if not place:
        return ""
    return f"folder {place if os.path.isdir(place) else os.path.dirname(place)}"


def _common_place(prepared: Prepared) -> str:
    """Return the file or folder of a call, "" if its tool declares other resources, or none by its arguments."""
    declared = prepared.tool.effects.resources
    if len(declared) != 1 or not (declared[0].startswith(_FILE) and "{" in declared[0]):
        return ""
    [key] = resource_keys(prepared)
    try:
        return "" if "{" in key else os.path.realpath(key.removeprefix(_FILE))
    except (OSError, ValueError):
        return ""


def is_permitted(prepared: Prepared, run: RunContext, labels: tuple[str, ...] = ()) -> bool:
    """Return True if a person permitted calls like this one for the session.

    Args:
        prepared: The call.
        run: Its run.
        labels: Taint labels that are a reason to ask: a permit counts where `find_scope` offers one.
    """
    permits = run.taint.session_permits if run.taint is not None else ()
    if not permits or not (scope := find_scope(prepared, labels)):
        return False
    if (prepared.tool.name, _value(prepared.tool, scope)) in permits:
        return True
    folder = scope.removeprefix("folder ")
    while folder not in (scope, "", os.path.dirname(folder)):  # a permit covers the folders below
        folder = os.path.dirname(folder)
        if (prepared.tool.name, _value(prepared.tool, f"folder {folder}")) in permits:
            return True
    return False


def record_session_permit(prepared: Prepared, run: RunContext, scope: str) -> None:
    """Store the approval of a call for its session, in the run's taint and journal.

    Args:
        prepared: The call.
        run: Its run.
        scope: What the person was shown: a path may lead elsewhere by now.
    """
    permit = Permit(SESSION, prepared.tool.name, _value(prepared.tool, scope))
    taint.store_permits([permit], run)


def _value(tool: AnyTool, scope: str) -> str:
    """Return a permit's value: the scope, after a digest of the tool's definition."""
    return f"{call_digest(tool.name, definition_of(tool), {})[:32]} {scope}"


def definition_of(tool: AnyTool) -> Mapping[str, object]:
    """Return the parts of a tool's definition that an approval relies on."""
    shown = {"description": tool.description, "parameters": tool.parameters}
    return {**shown, "effects": effects_of(tool)}


def effects_of(tool: AnyTool) -> dict[str, object]:
    """Return the tool's effects by name."""
    effects = tool.effects
    return {field.name: getattr(effects, field.name) for field in dataclasses.fields(effects)}

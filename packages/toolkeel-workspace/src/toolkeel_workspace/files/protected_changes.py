"""Protected files that a command made or changed: an event, and a question to the person.

A command can create a file that takes effect later: a hook, an editor's task, an agent's instructions.
It is reported as an event. The run's approver is asked whether to keep what was made; what is refused
is renamed, so that it takes no effect.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from toolkeel._records.tickets import LIFETIME, Ticket, call_digest, new_id
from toolkeel.call.steps.ask_approver import ask
from toolkeel.context import WITHIN_BODY, ToolContext
from toolkeel_workspace.sandbox.protected_files import (
    find_new_build_files,
    set_aside,
    snapshot_protected,
)

MOST_NAMES = 20
"""Files that a notice names."""
_SUFFIX = ".set-aside"


def list_names(names: Collection[str]) -> str:
    """Return names as one line, the first `MOST_NAMES` of them."""
    shown = sorted(names)
    more = f" and {len(shown) - MOST_NAMES:,} more" if len(shown) > MOST_NAMES else ""
    return ", ".join(name[:200] for name in shown[:MOST_NAMES]) + more


class ProtectedChanges:
    """What a command does to protected files below a folder. Blocks while it looks.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before = snapshot_protected(root)
        self._began = time.time()

    async def report(self, context: ToolContext) -> str:
        """Report changes as an event, ask about new files, and return a notice for the model.

        Args:
            context: The call of the command.
        """
        taint = context.run.taint
        labels = taint.sources_before(context.run.loop_state.visible_taint) if taint else {}
        made, changed = await asyncio.to_thread(self._look, "stranger" in labels)
        if not made and not changed:
            return ""
        context.emit({"protected_files": {"made": made, "changed": changed}})
        notice = ""
        if made:
            notice += f"\n\n[It made protected files, for a person to look at: {list_names(made)}]"
        if changed:
            notice += (
                f"\n\n[It changed protected files, for a person to look at: {list_names(changed)}]"
            )
        may_ask = context.run.approver is not None and not context.cancel.cancelled
        if made and may_ask and not await self._may_stay(made, context):
            moved = await asyncio.to_thread(self._rename, made)
            notice += f"\n\n[A person refused them; they are renamed: {list_names(moved)}]"
        return notice

    def _look(self, after_strangers: bool) -> tuple[list[str], list[str]]:
        """Return what was made and what was changed, relative to the root."""
        now = snapshot_protected(self._root)
        made = [path for path in now if path not in self._before]
        changed = [path for path, state in self._before.items() if now.get(path) != state]
        set_aside(made)
        if after_strangers:  # as for `write`: else making them is ordinary work
            made += find_new_build_files(self._root, self._began)
        return self._relative(made), self._relative(changed)

    def _relative(self, paths: Iterable[str]) -> list[str]:
        return sorted({os.path.relpath(path, self._root) for path in paths})

    async def _may_stay(self, made: list[str], context: ToolContext) -> bool:
        shown = {"files": made[:MOST_NAMES], "count": len(made)}
        reason = (
            f"the command made protected files, which take effect later: {list_names(made)}. Shall "
            "they stay? If not, they are renamed"
        )
        digest = call_digest(context.tool_name, {"protected_files": True}, shown)
        ticket = Ticket(
            new_id(),
            context.call.id,
            context.tool_name,
            shown,
            digest,
            time.time() + LIFETIME,
            reason,
        )
        within = WITHIN_BODY.set(True)  # the run cannot wait: the command would run again
        try:
            with context.pause_deadline():
                decision = await ask(context.run, context.call.id, ticket)
        finally:
            WITHIN_BODY.reset(within)
        return decision.verdict == "approve"

    def _rename(self, made: list[str]) -> list[str]:
        moved = []
        for name in made:
            path = self._root / name
            with suppress(OSError):
                if os.path.lexists(path):
                    os.rename(path, f"{path}{_SUFFIX}")
                    moved.append(f"{name}{_SUFFIX}")
        return moved

"""Protected files that a command made or changed: an event, and a question to the person.

A command can create a file that takes effect later: a hook, an editor's task, an agent's instructions.
It is reported as an event. The run's approver is asked whether to keep what was made; what is refused
is renamed, so that it takes no effect. So is what was made where nobody can be asked: the tool `write`
can ask then, since it has not written yet.
"""

from __future__ import annotations

import os
import time
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from toolkeel._records.taint_sources import FILES
from toolkeel._records.tickets import LIFETIME, Ticket, call_digest, new_id
from toolkeel.call.body.start_thread import run_beside
from toolkeel.call.steps.ask_approver import ask
from toolkeel.context import WITHIN_BODY, ToolContext
from toolkeel_workspace.sandbox.protected_files import (
    MAX_SCAN_SECONDS,
    redirects_git,
    set_aside,
    take_snapshot,
)
from toolkeel_workspace.shell.git_identity import is_as_git_makes

MOST_NAMES = 20
"""Files that a notice names."""


def list_names(names: Collection[str]) -> str:
    """Return names as one line, the first `MOST_NAMES` of them."""
    shown = sorted(names)
    more = f" and {len(shown) - MOST_NAMES:,} more" if len(shown) > MOST_NAMES else ""
    return ", ".join(name[:200] for name in shown[:MOST_NAMES]) + more


@dataclass(frozen=True)
class Changes:
    """Protected files, relative to the root, by what a command did to them.

    Args:
        made: It made them.
        changed: They differ from before.
        unchecked: There was no time to look for them before, so they may be old; or folders of which there
            was no time to look at all.
        asked: Those of the three to ask a person about.
    """

    made: list[str]
    changed: list[str]
    unchecked: list[str]
    asked: list[str]

    def describe(self, names: Collection[str] | None = None) -> str:
        """Return what was done to which files, as clauses whose subject is the command.

        Args:
            names: The files to describe; all if None.
        """
        words = {
            "made protected files": self.made,
            "changed protected files": self.changed,
            "may have made or changed protected files": self.unchecked,
        }
        shown = {
            verb: [path for path in paths if names is None or path in names]
            for verb, paths in words.items()
        }
        return "; ".join(f"{verb}: {list_names(paths)}" for verb, paths in shown.items() if paths)


class ProtectedChanges:
    """What a command does to protected files below a folder. Blocks while it looks.

    Args:
        root: The folder.
    """

    def __init__(self, root: Path) -> None:
        self._root = root
        self._before = take_snapshot(root)

    async def report(self, context: ToolContext) -> str:
        """Report changes as an event, ask about new files, and return a notice for the model.

        Args:
            context: The call of the command.
        """
        taint, seen = context.run.taint, context.run.loop_state.visible_taint
        strangers = taint.sources_before(seen).get("stranger", ()) if taint else ()
        # As for `write`: the folder's own files do not make its build files a question.
        after_strangers = any(source.origin != FILES for source in strangers)
        found = await run_beside(self._compare, after_strangers)
        if not (told := found.describe()):
            return ""
        lists = {"made": found.made, "changed": found.changed}
        context.emit(
            {"protected_files": lists | ({"unchecked": found.unchecked} if found.unchecked else {})}
        )
        notice = f"\n\n[For a person to look at: the command {told}]"
        if context.cancel.cancelled:  # a question would not be answered any more
            refused, who = found.made, "The run was cancelled before a person could approve"
        elif context.run.approver is None:
            refused, who = found.made, "Nobody is there to approve"
        elif found.asked and not await self._may_stay(found, context):
            refused, who = found.asked, "A person refused"
        else:
            return notice
        if refused:
            notice += await run_beside(self._set_aside, refused, who)
            if context.run.approver is None and context.run.can_wait:
                notice += "\n\n[To have a person asked, make such a file with the tool write.]"
        return notice

    def _compare(self, after_strangers: bool) -> Changes:
        before = self._before
        # What a command makes cannot hide what else it made.
        now = take_snapshot(self._root, None if before.unsearched else MAX_SCAN_SECONDS)
        added = [
            path
            for path in now.protected
            if path not in before.protected and not is_as_git_makes(Path(path))
        ]
        changed = [
            path for path, state in before.protected.items() if now.protected.get(path) != state
        ]
        set_aside(path for path in added if before.was_missing(path) and redirects_git(path))
        asked = list(added)
        if after_strangers:  # as for `write`: else changing them is ordinary work
            new = [path for path in now.builds if path not in before.builds]
            other = [
                path
                for path, state in now.builds.items()
                if before.builds.get(path, state) != state
            ]
            added, changed, asked = added + new, changed + other, asked + new + other
        made = [path for path in added if before.was_missing(path)]
        unchecked = [path for path in added if path not in set(made)]
        if not before.unsearched:
            unchecked += sorted(now.unsearched)[:MOST_NAMES]
        return Changes(*map(self._relative, (made, changed, unchecked, asked)))

    def _relative(self, paths: Iterable[str]) -> list[str]:
        return sorted({os.path.relpath(path, self._root) for path in paths})

    async def _may_stay(self, found: Changes, context: ToolContext) -> bool:
        shown = {"files": found.asked[:MOST_NAMES], "count": len(found.asked)}
        reason = (
            f"the command {found.describe(found.asked)}. They take effect later. Shall they stay? "
            "If not, they are renamed"
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

    def _set_aside(self, names: Collection[str], who: str) -> str:
        """Rename files, and return a notice: who did not approve them, and which could not be renamed."""
        paths = [path for name in names if os.path.lexists(path := os.path.join(self._root, name))]
        moved = self._relative(set_aside(paths))
        left = self._relative(path for path in paths if os.path.lexists(path))
        notice = f"\n\n[{who} them; they are renamed: {list_names(moved)}]" if moved else ""
        return f"{notice}\n\n[Cannot be renamed: {list_names(left)}]" if left else notice

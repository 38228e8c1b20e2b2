"""How long background jobs and a persistent shell last, and what an earlier run has left of them.

A run that waits for a person has ended, too: it is resumed later, perhaps in another program. What the
model was shown then is still in the transcript, so it is told what does not exist any more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Literal, TypeAlias

from toolkeel.context import RunContext
from toolkeel.messages import ToolMessage
from toolkeel.sessions.journal import SessionJournal

Lifetime: TypeAlias = Literal["run", "session"]
"""``run``: to the run's end, which is also when it waits for a person. ``session``: with the session, in
this program; without a session, to the run's end."""
SHELL = "shell"
"""Key of a result's details: True if its command ran in a persistent shell."""
_JOB_ID = re.compile(r"job-(\d+)")


def find_owner(run: RunContext, lifetime: Lifetime) -> str:
    """Return the key of what jobs and a shell belong to; empty without an agent, which ends its runs."""
    if run.agent is None:
        return ""
    journal = None if run.recorder is None else run.recorder.journal
    if lifetime == "session" and isinstance(journal, SessionJournal) and journal.session_key:
        return f"session {journal.session_key}"
    return run.id


def ends_with_run(owner: str) -> bool:
    """Return True if what has this owner ends with the run that started it."""
    return bool(owner) and not owner.startswith("session ")


def list_earlier_jobs(run: RunContext) -> dict[str, bool]:
    """Return the ids of the jobs in the transcript, and if each was running at the last look."""
    return {
        str(details["job"]): bool(details.get("running"))
        for details in _iter_details(run)
        if "job" in details
    }


def find_highest_number(ids: Mapping[str, object]) -> int:
    """Return the highest number of jobs with these ids."""
    return max((int(found[1]) for found in map(_JOB_ID.fullmatch, ids) if found), default=0)


def has_earlier_shell(run: RunContext) -> bool:
    """Return True if an earlier command in the transcript ran in a persistent shell."""
    return any(details.get(SHELL) is True for details in _iter_details(run))


def _iter_details(run: RunContext) -> Iterator[Mapping[str, object]]:
    for message in run.messages:
        if isinstance(message, ToolMessage) and isinstance(message.details, Mapping):
            yield message.details

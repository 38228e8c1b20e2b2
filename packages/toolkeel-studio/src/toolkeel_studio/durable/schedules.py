"""Schedules of durable runs, as an operator lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolkeel._records.record import record
from toolkeel_studio.durable.engine import PREFIX, TICK, RunQueue


@record
class Schedule:
    """A schedule that sends a prompt to a session at certain times.

    Args:
        name: Its name.
        queue: Name of the queue of its agent.
        cron: Its times in UTC, ``minute hour day month weekday``, with a sixth in front for seconds.
        session: Name of the session; empty if its row cannot be read.
        scope: Scope of the session.
        prompt: What is sent.
        missed: True if times without a worker are made up for.
        last: The last time that it sent, in ISO 8601; empty if it has not yet.
    """

    name: str
    queue: str
    cron: str
    session: str
    scope: str
    prompt: str
    missed: bool
    last: str


def list_schedules(queue: RunQueue) -> tuple[Schedule, ...]:
    """Return the schedules of a queue's agent, or of all agents, by name."""
    rows = queue.client.list_schedules(workflow_name=TICK)
    return tuple(sorted(map(_schedule_of, rows), key=lambda found: found.name))


def _schedule_of(row: Mapping[str, Any]) -> Schedule:
    place = {"session": "", "scope": "", "prompt": ""}
    match row["context"]:
        case {"session": str(), "scope": str(), "prompt": str()} as found:
            place = {key: found[key] for key in place}
    return Schedule(
        name=row["schedule_name"],
        queue=(row["application_name"] or "").removeprefix(PREFIX),
        cron=row["schedule"],
        missed=bool(row["automatic_backfill"]),
        last=row["last_fired_at"] or "",
        **place,
    )

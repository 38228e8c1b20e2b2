"""The rule by which a run that kills its workers is failed, and one that merely outlives them is not.

Most workers die for reasons of their own: a machine is taken away, memory is short, somebody updates.
A run that completes calls between such deaths may be recovered any number of times. A run whose worker
dies each time within a step, a request or a call, before another call is completed, is probably the
cause. So a worker that recovers a run first counts the death of the one before it::

    a call was completed since that one began   deaths = 1, early = 0
    a step began, and no call was completed     deaths = deaths + 1
    no step began                               early = early + 1

and gives up beyond `MAX_RECOVERIES` deaths, or `MAX_EARLY` early ones: a worker that dies before a step
has mostly had no time. Completed calls are counted by their keys in the journal, so a call that runs
again is no progress. Neither is an unknown outcome, which only says that a worker died.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Final, NamedTuple

from toolkeel._records.entries import (
    CallEnded,
    CallIntended,
    Entry,
    ModelAsked,
    RunBegan,
    call_key_of,
)
from toolkeel._records.record import record

MAX_RECOVERIES: Final = 5
"""How many times a run is resumed after a death within a step, with no call completed in between."""
MAX_EARLY: Final = 100
"""How many times it is resumed after a death before any step, likewise."""


class Steps(NamedTuple):
    """How many steps of a run began, and how many of its calls have a known outcome."""

    begun: int
    completed: int


@record
class Recovery:
    """The start of an attempt at a run.

    Args:
        attempt: Number of the attempt.
        begun: How many steps had begun then.
        completed: How many calls had an outcome then.
        deaths: Deaths of workers within a step since the last call was completed.
        early: Deaths of workers before any step, likewise.
    """

    attempt: int = 1
    begun: int = 0
    completed: int = 0
    deaths: int = 0
    early: int = 0

    @property
    def verdict(self) -> str:
        """Why the run shall not be resumed again; empty if it shall."""
        if self.deaths > MAX_RECOVERIES:
            return f"{self.deaths} workers have died before it completed another call"
        return f"{self.early} workers have died before it began" if self.early > MAX_EARLY else ""

    def to_json(self) -> dict[str, int]:
        """Return it as JSON; `load_recovery` reads it."""
        return asdict(self)


def load_recovery(stored: object) -> Recovery:
    """Return a stored recovery, or the first attempt if nothing is stored."""
    found = stored if isinstance(stored, Mapping) else {}
    return Recovery(**{name: int(found[name]) for name in asdict(Recovery()) if name in found})


def count_death(last: Recovery, attempt: int, steps: Steps) -> Recovery:
    """Return the start of an attempt.

    Args:
        last: The last attempt.
        attempt: Number of the attempt that starts; the same if the last one was put back in time.
        steps: The steps of the run until now.

    >>> last = Recovery(3, begun=9, completed=7, deaths=4)
    >>> [count_death(last, 4, Steps(*steps)).deaths for steps in [(9, 7), (10, 7), (10, 8)]]
    [4, 5, 1]
    """
    deaths, early = last.deaths, last.early
    if attempt > last.attempt:
        if steps.completed > last.completed:
            deaths, early = 1, 0
        elif steps.begun > last.begun:
            deaths += 1
        else:
            early += 1
    return Recovery(attempt, *steps, deaths, early)


def count_steps(entries: Iterable[Entry]) -> Steps:
    """Return the steps of a run.

    The calls of runs that the code of a call starts anew each time it runs do not count as completed.
    """
    anew, completed, begun = set[str](), set[str](), 0
    for entry in entries:
        match entry:
            case ModelAsked() | CallIntended():
                begun += 1
            case RunBegan(run=run, parent=parent, joined=joined):
                if joined or parent in anew:
                    anew.add(run)
            case CallEnded(run=run, message=message):
                if run not in anew and message.kind != "unknown_outcome":
                    completed.add(call_key_of(entry))
            case _:
                pass
    return Steps(begun, len(completed))

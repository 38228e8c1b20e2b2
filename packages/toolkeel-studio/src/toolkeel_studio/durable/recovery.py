"""The rule by which a run that kills its workers is failed, and one that merely outlives them is not.

Most workers die for reasons of their own: a machine is taken away, memory is short, somebody updates.
A run that completes calls between such deaths may be recovered any number of times. A run whose worker
dies each time before another call is completed is probably the cause. So a worker that recovers a run
first counts the death of the one before it::

    a call was completed since that one began   deaths = 1
    none was                                    deaths = deaths + 1
    it never began with the run                 not counted

and gives up beyond `MAX_RECOVERIES`. Completed calls are counted by their keys in the journal, so a call
that runs again is no progress. Neither is an unknown outcome, which only says that a worker died.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Final

from toolkeel._records.entries import CallEnded, Entry, RunBegan, call_key_of
from toolkeel._records.record import record

MAX_RECOVERIES: Final = 5
"""How many times in a row a run is resumed although it has completed no call in between."""


@record
class Recovery:
    """The start of an attempt at a run.

    Args:
        attempt: Number of the attempt.
        completed: How many calls had an outcome then.
        deaths: Deaths of workers since the last call was completed.
    """

    attempt: int = 1
    completed: int = 0
    deaths: int = 0

    @property
    def is_hopeless(self) -> bool:
        """True if the run shall not be resumed again."""
        return self.deaths > MAX_RECOVERIES

    def to_json(self) -> dict[str, int]:
        """Return it as JSON; `load_recovery` reads it."""
        return asdict(self)


def load_recovery(stored: object) -> Recovery:
    """Return a stored recovery, or the first attempt if nothing is stored."""
    if not isinstance(stored, Mapping):
        return Recovery()
    return Recovery(*(int(stored.get(name, 0)) for name in ("attempt", "completed", "deaths")))


def count_death(last: Recovery, attempt: int, completed: int) -> Recovery:
    """Return the start of an attempt.

    Args:
        last: The last attempt that began with the run.
        attempt: Number of the attempt that starts; the same if the last one was put back in time.
        completed: How many calls have an outcome now.

    >>> count_death(Recovery(3, completed=7, deaths=4), 5, 7).deaths
    5
    >>> count_death(Recovery(3, completed=7, deaths=4), 4, 8).deaths
    1
    """
    if attempt <= last.attempt:
        return Recovery(attempt, completed, last.deaths)
    return Recovery(attempt, completed, 1 if completed > last.completed else last.deaths + 1)


def count_completed(entries: Iterable[Entry]) -> int:
    """Return how many calls have a known outcome.

    Runs that the code of a call starts anew each time it runs do not count.
    """
    anew, completed = set[str](), set[str]()
    for entry in entries:
        match entry:
            case RunBegan(run=run, parent=parent, joined=joined):
                if joined or parent in anew:
                    anew.add(run)
            case CallEnded(run=run, message=message):
                if run not in anew and message.kind != "unknown_outcome":
                    completed.add(call_key_of(entry))
            case _:
                pass
    return len(completed)

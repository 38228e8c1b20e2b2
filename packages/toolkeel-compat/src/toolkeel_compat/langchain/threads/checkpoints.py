"""`InMemorySaver` and the states of its threads. A thread is a core session."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolkeel._records.entries import (
    Checkpoint,
    Entry,
    ModelAsked,
    ModelReplied,
    RunBegan,
    RunEnded,
)
from toolkeel._records.record import NOTHING, record
from toolkeel._records.tickets import Ticket
from toolkeel._records.typed_values import load_state as load_values
from toolkeel.errors import SetupError
from toolkeel.messages import unanswered
from toolkeel.sessions.journal_state import JournalState
from toolkeel.sessions.session import Session
from toolkeel.sessions.sessions import Sessions
from toolkeel_compat.langchain.threads.interrupts import HIDDEN_KEYS, Interrupt
from toolkeel_compat.langchain.threads.message_ids import read_transcript
from toolkeel_compat.langchain.threads.updates import Update, begins_run, read_update


class EmptyInputError(SetupError):
    """A run of a new thread has no input."""


@record
class Task:
    """A waiting node of a thread, with its interrupts."""

    name: str
    interrupts: tuple[Interrupt, ...]


@record
class StateSnapshot:
    """The current state of a thread.

    Args:
        values: The state, with its messages.
        next: ``tools`` if calls wait, else empty.
        config: The config with the thread's id.
        interrupts: The waiting interrupts.
        tickets: The same as core tickets.
        metadata: ``source`` and ``step``, of a snapshot of the history.
        created_at: When it was written, of a snapshot of the history.
        parent_config: The config of the snapshot before it.
    """

    values: dict[str, Any]
    next: tuple[str, ...] = ()
    config: Mapping[str, Any] = NOTHING
    interrupts: tuple[Interrupt, ...] = ()
    tickets: tuple[Ticket, ...] = ()
    metadata: Mapping[str, Any] | None = None
    created_at: str | None = None
    parent_config: Mapping[str, Any] | None = None

    @property
    def tasks(self) -> tuple[Task, ...]:
        """The waiting interrupts, as one task."""
        return tuple(Task(name, self.interrupts) for name in self.next)


class InMemorySaver:
    """Stores an agent's threads, each as a core session.

    Args:
        path: A file to store them in; by default they end with the process.
    """

    def __init__(self, path: str | Path = ":memory:") -> None:
        self.sessions = Sessions(path)

    def thread(self, config: Mapping[str, Any] | None) -> Session:
        """Return the session of a config's ``thread_id``.

        Raises:
            SetupError: The config has none.
        """
        known = (config or {}).get("configurable") or {}
        name, place = known.get("thread_id"), known.get("checkpoint_id")
        if place is not None and not self._is_end(str(name), place):
            raise SetupError(
                f"checkpoint_id={place!r}: a thread goes on from its end; to go on from here, "
                f"saver.sessions.fork({name!r}, 'another', before={place}) makes another thread, for a "
                "snapshot whose next is ('model',)"
            )
        if name is None:
            raise SetupError(
                'an agent with a checkpointer needs config={"configurable": {"thread_id": ...}}'
            )
        return self.sessions[str(name)]

    def _is_end(self, name: str, place: object) -> bool:
        """Return True if a snapshot's place is the end of its thread."""
        session = self.sessions[name]
        if not (str(place).isdecimal() and session.exists):
            return False
        return all(isinstance(one.entry, Checkpoint) for one in session.entries(int(str(place))))

    def update(self, config: Mapping[str, Any], update: Update) -> dict[str, Any]:
        """Apply an update to a thread, and return the config of its end."""
        session = self.thread(config)
        self.sessions.append(session.name, update.to_entries)
        place = {"thread_id": session.name, "checkpoint_ns": ""}
        return {"configurable": {**place, "checkpoint_id": str(session.info.head)}}

    def snapshot(self, config: Mapping[str, Any]) -> StateSnapshot:
        """Return the current state of a thread."""
        session = self.thread(config)
        if not session.exists:
            return StateSnapshot({}, config=config)
        values = {key: value for key, value in session.state.items() if key not in HIDDEN_KEYS}
        values["messages"] = read_transcript(session.messages, session.state)
        waits, fold = tuple(session.pending), session.load_state()
        goes_on = fold.has_unfinished_run or not fold.last_run.run
        runs_tools = waits or (goes_on and unanswered(fold.view.messages))
        following = ("tools",) if runs_tools else ("model",) * goes_on
        return StateSnapshot(values, following, config, tickets=waits)

    def history(self, config: Mapping[str, Any]) -> Iterator[StateSnapshot]:
        """Yield the states of a thread after each step, the latest first.

        Args:
            config: The config with its ``thread_id``.
        """
        session = self.thread(config)
        snapshots: list[StateSnapshot] = []
        fold, name = JournalState(), session.name
        for stored in session.entries() if session.exists else ():
            entry = stored.entry
            begins = isinstance(entry, RunBegan) and not entry.parent
            values = _read_values(fold) if begins else None
            if entry.kind not in ("compacted", "handed_over"):
                fold.apply(stored.seq, entry)
            step = ("input", ("__start__",)) if begins else _find_step(entry, fold)
            if step is None:
                continue
            place = {"thread_id": name, "checkpoint_ns": "", "checkpoint_id": str(stored.seq)}
            if isinstance(entry, ModelAsked) and _awaits_model(snapshots):
                snapshots[-1] = replace(snapshots[-1], config={"configurable": place})
                continue
            if begins_run(entry):
                del snapshots[-1]  # of the run that the update has begun
            snapshots.append(
                StateSnapshot(
                    _read_values(fold) if values is None else values,
                    step[1],
                    {"configurable": place},
                    metadata={
                        "source": step[0],
                        "step": _number_step(snapshots, step[0]),
                        "parents": {},
                    },
                    created_at=datetime.fromtimestamp(stored.at, UTC).isoformat(),
                    parent_config=snapshots[-1].config if snapshots else None,
                )
            )
        return reversed(snapshots)


def _number_step(snapshots: Sequence[StateSnapshot], source: str) -> int:
    """Return the number of the next step. Inputs begin at -1, as in LangGraph."""
    if not snapshots:
        return -1 if source == "input" else 0
    return int((snapshots[-1].metadata or {})["step"]) + 1


def _awaits_model(snapshots: Sequence[StateSnapshot]) -> bool:
    """Return True if the last snapshot is an update that the model answers."""
    last = snapshots[-1] if snapshots else None
    updated = last is not None and (last.metadata or {})["source"] == "update"
    return updated and last is not None and last.next == ("model",)


def _read_values(fold: JournalState) -> dict[str, Any]:
    """Return the state at a point of a thread."""
    state = load_values(fold.state)
    values = {key: value for key, value in state.items() if key not in HIDDEN_KEYS}
    return {**values, "messages": read_transcript(fold.view.messages, state)}


def _find_step(entry: Entry, fold: JournalState) -> tuple[str, tuple[str, ...]] | None:
    """Return the source of the step that an entry ends, and what follows; None if it ends none."""
    if (updated := read_update(entry)) is not None:
        return "update", (updated,) if updated else ()
    following = _find_next(entry, fold)
    return None if following is None else ("loop", following)


def _find_next(entry: Entry, fold: JournalState) -> tuple[str, ...] | None:
    """Return what follows a step of a run that an entry ends; None if it ends none."""
    if getattr(entry, "run", "") != fold.last_run.run:
        return None  # of a run within a call
    match entry:
        case ModelAsked():
            return ("model",)
        case ModelReplied(message=message):
            return ("tools",) * len(message.tool_calls)
        case RunEnded(reason="returned"):
            return ()
    return None


MemorySaver = InMemorySaver

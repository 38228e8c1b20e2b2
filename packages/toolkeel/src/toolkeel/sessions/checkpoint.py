"""A checkpoint: the fold of a session at rest as an entry, and back.

It has the state without the transcript; only the entries after it are read, and those of messages that
requests still contain.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from toolkeel._records import entries
from toolkeel._records.entries_json import dump_entry, load_entry
from toolkeel._records.record_json import (
    Json,
    Kinds,
    dump_record,
    load_record,
    read_fields,
    to_json_data,
)
from toolkeel._records.taint_sources import SESSION, Permit
from toolkeel.agent.history import Cut, HistoryView
from toolkeel.messages import Usage
from toolkeel.sessions.journal_state import MESSAGE_ENTRIES, JournalState

T = TypeVar("T")
WINDOW_KINDS = frozenset(each.kind for each in (*MESSAGE_ENTRIES, entries.RunBegan))
"""Kinds of the entries before a checkpoint that are part of its state."""


def make_checkpoint(fold: JournalState) -> entries.Checkpoint:
    """Convert a state to an entry. The state must be at rest (`is_at_rest`)."""
    kept = next((place for place, seq in enumerate(fold.entry_numbers) if seq), None)
    saved: Json = {
        "window": fold.entry_numbers[kept] if kept is not None else 0,
        "first": fold.view.positions[kept] if kept is not None else fold.view.total,
        "cuts": [dump_entry(_compacted(cut)) for cut in fold.cuts],
        "state": to_json_data(fold.state),
        "usage": dump_record(fold.usage),
        "taint": {label: list(sources) for label, sources in fold.taint.items()},
        "began": dump_entry(fold.last_run),
        "reason": fold.reason,
        "turn": fold.turn,
        "agent": fold.agent,
        "path": list(fold.path),
        "runs": fold.run_count,
        "queued": [dump_entry(each) for each in fold.queued.values()],
        "deferred": [dump_entry(each) for each in fold.deferred.values()],
        "definitions": dict(fold.definitions),
        "permits": [[p.name, p.value] for p in fold.permits if p.reach == SESSION],
    }
    return entries.Checkpoint(saved)


def restore_state(
    checkpoint: entries.Checkpoint, written: Iterable[tuple[int, entries.Entry]]
) -> JournalState:
    """Return the state that `make_checkpoint` converted to an entry.

    Args:
        checkpoint: The checkpoint.
        written: Entries from `window_start` on, up to the checkpoint.

    Raises:
        ValueError: the entry is not a checkpoint.
    """
    saved = read_fields(checkpoint.fold, {**_SAVED, **_LATER}, _SAVED)
    fold = JournalState()
    fold.view = HistoryView((), saved["first"])
    for seq, entry in written:
        if entry.kind in WINDOW_KINDS:
            fold.apply(seq, entry)
    for each in map(load_entry, saved["cuts"]):
        cut = _a(entries.Compacted, each)
        fold.cut(Cut(cut.start, cut.stop, cut.messages, cut.policy, name=cut.name))
    for of_last_run in (fold.nested_runs, fold.open_tickets):
        of_last_run.clear()
    fold.state = dict(saved["state"])
    fold.usage = load_record(saved["usage"], Usage)
    fold.taint = {label: tuple(sources) for label, sources in saved["taint"].items()}
    fold.last_run = _a(entries.RunBegan, load_entry(saved["began"]))
    fold.reason, fold.turn = saved["reason"], saved["turn"]
    fold.agent, fold.run_count = saved["agent"], saved["runs"]
    fold.path = tuple(map(str, saved.get("path", ())))
    fold.definitions = dict(saved.get("definitions", {}))
    queued = [_a(entries.Queued, load_entry(each)) for each in saved["queued"]]
    fold.queued = {each.id: each for each in queued}
    deferred = [_a(entries.Deferred, load_entry(each)) for each in saved.get("deferred", [])]
    fold.permits = dict.fromkeys(_read_permits(saved.get("permits", ())))
    fold.deferred, fold.has_begun = {each.ticket.id: each for each in deferred}, True
    return fold


def _read_permits(pairs: Iterable[tuple[object, object]]) -> list[Permit]:
    """Return the permits for the session that a checkpoint has, as names and values."""
    return [Permit(SESSION, str(name), str(value)) for name, value in pairs]


def window_start(checkpoint: entries.Checkpoint) -> int:
    """Return the number of the first entry to read besides a checkpoint, or 0 for none."""
    window = checkpoint.fold.get("window")
    return window if isinstance(window, int) else 0


def _compacted(cut: Cut) -> entries.Compacted:
    """Return a cut as the entry that a checkpoint contains."""
    return entries.Compacted("", cut.start, cut.stop, cut.messages, cut.policy, name=cut.name)


def _a(kind: type[T], entry: object) -> T:
    """Return an entry if it is of a class, else raise `ValueError`."""
    if not isinstance(entry, kind):
        raise ValueError(f"a {type(entry).__name__} where a {kind.__name__} belongs")
    return entry


_SAVED: dict[str, Kinds] = {
    **dict.fromkeys(("window", "first", "turn", "runs"), (int,)),
    **dict.fromkeys(("reason", "agent"), (str,)),
    **dict.fromkeys(("state", "usage", "taint", "began"), (Mapping,)),
    **dict.fromkeys(("cuts", "queued"), (list,)),
}
_LATER: dict[str, Kinds] = {
    **dict.fromkeys(("path", "deferred", "permits"), (list,)),
    "definitions": (Mapping,),
}
"""What checkpoints of earlier versions do not have."""

"""Entries of a journal as JSON and back, each by the annotations of its fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, get_args

from toolkeel._records import messages_json as messages_json  # which teaches what messages are
from toolkeel._records.entries import Entry, UnknownEntry
from toolkeel._records.record_json import Json, dump_record, load_record

VERSION: Final = 1


def dump_entry(entry: Entry) -> Json:
    """Return an entry as JSON-ready data, without fields that have their default.

    Raises:
        SetupError: the arguments of a call cannot be represented in JSON.

    >>> from toolkeel._records.entries import StateChanged
    >>> dump_entry(StateChanged("4f1c", "city", "北京"))
    {'v': 1, 'kind': 'state_changed', 'run': '4f1c', 'key': 'city', 'value': '北京'}
    """
    if isinstance(entry, UnknownEntry):
        return dict(entry.body)
    return {"v": VERSION, "kind": entry.kind, **dump_record(entry)}


def load_entry(data: object) -> Entry:
    """Return the entry that `dump_entry` wrote. Unknown kinds give an `UnknownEntry`.

    Raises:
        ValueError: `data` is not an entry.

    >>> load_entry({"v": 9, "kind": "dreamt", "of": "sheep"})
    UnknownEntry(body={'v': 9, 'kind': 'dreamt', 'of': 'sheep'})
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str):
        raise ValueError("an entry is an object with a kind")
    made = _ENTRIES.get(data["kind"])
    if made is None:
        return UnknownEntry(data)
    known = {name: data[name] for name in made.__match_args__ if name in data}
    entry: Entry = load_record(known, made)
    return entry


_ENTRIES: dict[str, type[Any]] = {
    kind.kind: kind for kind in get_args(Entry) if kind is not UnknownEntry
}

"""Entries of a journal as JSON and back, each by the annotations of its fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, get_args

from toolkeel._records.entries import Entry, UnknownEntry
from toolkeel._records.messages_json import (
    Json,
    changed,
    dump_message,
    load_message,
    load_usage,
    plain,
)
from toolkeel._records.record import read_fields, record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.messages import AssistantMessage, Message, ToolMessage

VERSION: Final = 1


def dump_entry(entry: Entry) -> Json:
    """An entry as JSON-ready data, without what is at its default.

    Raises:
        SetupError: if a call's arguments are no JSON.

    >>> from toolkeel._records.entries import StateChanged
    >>> dump_entry(StateChanged("4f1c", "city", "北京"))
    {'v': 1, 'kind': 'state_changed', 'run': '4f1c', 'key': 'city', 'value': '北京'}
    """
    if isinstance(entry, UnknownEntry):
        return dict(entry.body)
    data: Json = {"v": VERSION, "kind": entry.kind}
    for name, field in _FIELDS[entry.kind].items():
        value = getattr(entry, name)
        if value is not field.default and value != field.default:
            data[name] = field.dump(value)
    return data


def load_entry(data: object) -> Entry:
    """Back from `dump_entry`.

    Raises:
        ValueError: if `data` is no entry.

    >>> load_entry({"v": 9, "kind": "dreamt", "of": "sheep"})
    UnknownEntry(body={'v': 9, 'kind': 'dreamt', 'of': 'sheep'})
    """
    if not isinstance(data, Mapping) or not isinstance(data.get("kind"), str):
        raise ValueError("an entry is an object with a kind")
    made = _KINDS.get(data["kind"])
    if made is None:
        return UnknownEntry(data)
    known = _FIELDS[data["kind"]]
    fields = read_fields({name: data[name] for name in data if name in known}, made)
    entry: Entry = made(**{name: known[name].load(value) for name, value in fields.items()})
    return entry


@record
class _Field:
    """How one field goes to JSON and back."""

    dump: Callable[[Any], object]
    load: Callable[[Any], Any]
    default: object


def _same(value: Any) -> Any:
    return value


def _dump_all(messages: tuple[Message, ...]) -> list[Json]:
    return [dump_message(message) for message in messages]


def _load_all(data: list[Any]) -> tuple[Message, ...]:
    return tuple(load_message(item) for item in data)


def _load_words(data: list[Any]) -> tuple[str, ...]:
    if not all(isinstance(item, str) for item in data):
        raise ValueError("a list of texts holds something else")
    return tuple(data)


def _load_a(kind: type) -> Callable[[Any], Message]:
    def load(data: Any) -> Message:
        message = load_message(data)
        if not isinstance(message, kind):
            raise ValueError(f"a {type(message).__name__} where a {kind.__name__} belongs")
        return message

    return load


def _to_dict(item: Ticket | Decision) -> Json:
    return item.to_dict()


_Ways: TypeAlias = tuple[Callable[[Any], object], Callable[[Any], Any]]
_AS_IT_IS: _Ways = (_same, _same)
_TYPES: dict[str, _Ways] = {
    "object": (plain, _same),
    "Mapping[str, object]": (plain, _same),
    "tuple[str, ...]": (list, _load_words),
    "tuple[Message, ...]": (_dump_all, _load_all),
    "Message": (dump_message, load_message),
    "AssistantMessage": (dump_message, _load_a(AssistantMessage)),
    "ToolMessage": (dump_message, _load_a(ToolMessage)),
    "Usage": (changed, load_usage),
    "Ticket": (_to_dict, Ticket.from_dict),
    "Decision": (_to_dict, Decision.from_dict),
}
"""By a field's annotation: how it goes to JSON, and how it comes back; others go as they are."""

_KINDS: dict[str, type[Any]] = {}
_FIELDS: dict[str, dict[str, _Field]] = {}
for _entry in get_args(Entry):
    if _entry is not UnknownEntry:
        _KINDS[_entry.kind] = _entry
        _FIELDS[_entry.kind] = {
            f.name: _Field(*_TYPES.get(str(f.type), _AS_IT_IS), f.default)
            for f in dataclasses.fields(_entry)
        }

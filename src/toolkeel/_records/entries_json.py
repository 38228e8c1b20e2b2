"""Entries of a journal as JSON and back, each by the annotations of its fields."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args

from toolkeel._records.entries import Entry, UnknownEntry
from toolkeel._records.messages_json import Json, changed, dump_message, load_message, plain
from toolkeel._records.record import Kinds, read_fields, record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.messages import AssistantMessage, Message, ToolMessage, Usage

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
    values = {name: data[name] for name in data if name in known}
    required = {n: f.kinds for n, f in known.items() if f.default is dataclasses.MISSING}
    optional = {n: f.kinds for n, f in known.items() if n not in required}
    fields = read_fields(values, required, optional)
    return made(**{name: known[name].load(value) for name, value in fields.items()})


@record
class _Field:
    """How one field goes to JSON and back."""

    kinds: Kinds
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


_COUNTS: dict[str, Kinds] = {f.name: (int, float) for f in dataclasses.fields(Usage)}


def load_usage(data: object) -> Usage:
    """What was spent, back from JSON.

    Raises:
        ValueError: if `data` is something else.
    """
    return Usage(**read_fields(data, {}, _COUNTS))


def _to_dict(item: Ticket | Decision) -> Json:
    return item.to_dict()


_TYPES: dict[str, tuple[Kinds, Callable[[Any], object], Callable[[Any], Any]]] = {
    "str": ((str,), _same, _same),
    "int": ((int,), _same, _same),
    "float": ((int, float), _same, _same),
    "bool": ((bool,), _same, _same),
    "object": ((object, bool), plain, _same),
    "Mapping[str, object]": ((Mapping,), plain, _same),
    "tuple[str, ...]": ((list,), list, _load_words),
    "tuple[Message, ...]": ((list,), _dump_all, _load_all),
    "Message": ((Mapping,), dump_message, load_message),
    "AssistantMessage": ((Mapping,), dump_message, _load_a(AssistantMessage)),
    "ToolMessage": ((Mapping,), dump_message, _load_a(ToolMessage)),
    "Usage": ((Mapping,), changed, load_usage),
    "Ticket": ((Mapping,), _to_dict, Ticket.from_dict),
    "Decision": ((Mapping,), _to_dict, Decision.from_dict),
}
"""By a field's annotation: what its JSON may be, how it goes there, and how it comes back."""

_KINDS: dict[str, Callable[..., Entry]] = {}
_FIELDS: dict[str, dict[str, _Field]] = {}
for _entry in get_args(Entry):
    if _entry is not UnknownEntry:
        _KINDS[_entry.kind] = _entry
        _FIELDS[_entry.kind] = {
            f.name: _Field(*_TYPES[str(f.type)], f.default) for f in dataclasses.fields(_entry)
        }

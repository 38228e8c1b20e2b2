"""Finds the calls in a message or delta, in whichever form a server lists them.

By the specification they are a list of objects, each with a ``function`` that has ``name`` and
``arguments``. Imitators send a lone call, JSON text in place of an object, name and arguments beside
the id as other wires do, the arguments under another name, or calls among the parts of the content.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from toolkeel._records.record import NOTHING
from toolkeel.errors import ModelError
from toolkeel.providers.wire.plain_json import Json, as_dict, clean, parse_object, plain

_KNOWN_KEYS = frozenset({"index", "id", "type", "function", "custom"})
_ARGUMENT_KEYS = ("arguments", "input", "parameters", "args")
_FUNCTION_KEYS = frozenset({"name", *_ARGUMENT_KEYS})
_CALL_PARTS = ("tool_use", "tool_call", "function_call", "function")
"""Types of parts of a content that are calls."""


def list_calls(message: Json) -> list[Json]:
    """Return the calls in a message or delta, or pieces of them, in OpenAI's form."""
    entries: list[Json] = []
    if "tool_calls" in message:
        entries = _read_entries(message["tool_calls"])
    if "function_call" in message and not entries:  # else it is the same call once more
        old = as_dict(message["function_call"])
        if old.get("name") or old.get("arguments"):
            entries = [{"index": 0, "function": old}]
    if not entries and isinstance(content := message.get("content"), list):
        parts = [one for one in content if as_dict(one).get("type") in _CALL_PARTS]
        entries = _read_entries(parts)
    return entries


def _read_entries(listed: object) -> list[Json]:
    """Return calls in OpenAI's form: of a list, a lone one, an object by number, or one of these as text."""
    if isinstance(listed, str):
        with suppress(ModelError):
            listed = plain(listed)
    if isinstance(listed, dict) and all(key.isdecimal() for key in listed):
        listed = [*listed.values()]
    calls = listed if isinstance(listed, list) else [listed]
    return [entry for one in calls if (entry := _read_entry(one))]


def _read_entry(value: object) -> Json:
    """Return a call, or a piece of one, in OpenAI's form; empty if it is none."""
    entry = parse_object(value) if isinstance(value, str) else as_dict(value)
    if entry.get("type") in _CALL_PARTS:
        entry = {**entry, "type": "function"}
    function = entry.get("function")
    if isinstance(function, dict) or "custom" in entry:
        return entry
    if isinstance(function, str) and (parsed := parse_object(function)):
        return {**entry, "function": parsed}
    fields = {key: entry[key] for key in entry if key in _FUNCTION_KEYS}
    if isinstance(function, str):
        fields.setdefault("name", function)
    if not fields:
        return entry
    rest = {key: one for key, one in entry.items() if key not in _FUNCTION_KEYS}
    return {**rest, "function": fields}


def arguments_of(function: Json) -> object:
    """Return the arguments of a call's function, or a piece of them, whatever they are called."""
    named = (function[key] for key in _ARGUMENT_KEYS if key in function)
    return next((one for one in named if one is not None), None)


def is_usual(entry: Json) -> bool:
    """Return True if a call has no unusual keys."""
    return entry.keys() <= _KNOWN_KEYS


def extra_keys(entry: Json) -> Mapping[str, object]:
    """Return a call's unusual keys, which are sent back with it."""
    extra = {key: entry[key] for key in entry if key not in _KNOWN_KEYS and entry[key] is not None}
    if entry.get("type") not in (None, "", "function"):
        extra["type"] = entry["type"]
    return as_dict(clean(extra)) or NOTHING

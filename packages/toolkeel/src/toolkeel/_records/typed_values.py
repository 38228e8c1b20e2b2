"""Values of a program as JSON and back with their types: what tools write to state, and artifacts.

Plain JSON is stored as it is. Anything else is an object with the key `TAG`, which names its type: a
type of the standard library, or a dataclass, pydantic model, named tuple or enum by module and name.
Reading imports nothing. A class that the program has not imported yet gives an `UnknownValue`, which
is written again unchanged. What has no form here is refused when it is written, not replaced.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias, cast

from toolkeel._records.record import record
from toolkeel._records.record_json import DEPTH, Codec, Json, register_codecs
from toolkeel._records.stored_types import (
    AS_JSON,
    BY_TYPE,
    CLASSES,
    TYPES,
    ClassCodec,
    Unsavable,
    find_class,
    is_text,
    name_of,
)

StoredState: TypeAlias = Mapping[str, object]
"""Annotation of a field whose values are stored with their types."""
TAG: Final = "$toolkeel"
"""Key of the objects that stand for a value which is no plain JSON."""
_ESCAPED = re.compile(r"\$+toolkeel")


@record
class UnknownValue:
    """A stored value whose class is missing or has changed. It is saved again unchanged.

    Args:
        type: Module and name of the class: import the module before the run is resumed.
        data: The stored JSON.
    """

    type: str
    data: Mapping[str, object]


@record
class UnsavedValue:
    """The place of an artifact, or a part of one, that could not be saved with its message.

    Args:
        type: Module and name of its class.
    """

    type: str


def dump_value(value: object) -> Any:
    """Return a value as JSON-ready data from which `load_value` makes an equal value of the same type.

    Raises:
        TypeError: there is no such form; the message names the part and the fix.

    >>> dump_value({"days": {3, 1}})
    {'days': {'$toolkeel': 'set', 'value': [1, 3]}}
    """
    try:
        data = _dump(value, DEPTH)
        if not _is_plain(value) and _dump(load_value(data), DEPTH) != data:
            raise Unsavable(f"a {name_of(type(value))} would not come back as it is")
    except Unsavable as error:
        where = "".join(reversed(error.path)).lstrip(".")
        raise TypeError(f"{where + ': ' if where else ''}{error}; {_FIX}") from None
    return data


def load_value(data: Any) -> Any:
    """Return the value that `dump_value` stored; an `UnknownValue` for a class that is missing.

    >>> load_value({"$toolkeel": "tuple", "value": [1, 2]})
    (1, 2)
    """
    if isinstance(data, list):
        return [load_value(item) for item in data]
    if not isinstance(data, Mapping):
        return data
    if TAG not in data:
        return {_unescape(key): load_value(item) for key, item in data.items()}
    try:
        kind, stored = data[TAG], load_value(data["value"])
        if kind in CLASSES:
            return CLASSES[kind].load(find_class(data["type"], kind), stored)
        return TYPES[kind].load(stored)
    except Exception:  # of the class: it is another one now
        return UnknownValue(str(data.get("type", data[TAG])), data)


def dump_state_value(key: object, value: object) -> Any:
    """Return a value of a run's state as JSON-ready data.

    Raises:
        TypeError: the value cannot be saved, or the key is no text; the message names the key.
    """
    try:
        if not isinstance(key, str):
            raise TypeError("a key of the state is a text")
        return dump_value(value)
    except TypeError as error:
        raise TypeError(f"state[{key!r:.80}] cannot be saved with the run: {error}") from None


def load_state(stored: Mapping[str, object]) -> dict[str, object]:
    """Return the values of a run's state from their JSON."""
    return {key: load_value(value) for key, value in stored.items()}


def copy_state(state: Mapping[str, object]) -> tuple[dict[str, object], tuple[str, ...]]:
    """Return copies of the values of a run's state that can be saved, and the paths of the others.

    >>> copy_state({"seen": ("a", 1), "file": {"open": [object()]}})
    ({'seen': ('a', 1)}, ('file.open[0]',))
    """
    saved: dict[str, object] = {}
    left: list[str] = []
    for key, value in list(state.items()):
        try:
            if not isinstance(key, str):
                left.append(f"{key!r:.80}")
            else:
                saved[key] = load_value(_dump(value, DEPTH))
        except Unsavable as error:
            left.append(key + "".join(reversed(error.path)))
    return saved, tuple(left)


def fingerprint(value: object) -> bytes:
    """Return bytes that differ if a value has changed, also inside. Cheap for plain values.

    Raises:
        TypeError: the value cannot be saved.
    """
    try:
        return marshal.dumps(cast("Any", value), 0)
    except ValueError:
        return marshal.dumps(dump_value(value), 0)


class RunValues(dict[str, object]):
    """The state of a run, as a dict that raises `TypeError` for values that cannot be saved.

    >>> RunValues()["open"] = object()
    Traceback (most recent call last):
    TypeError: state['open'] cannot be saved with the run: object has no stored form; ...
    """

    def __setitem__(self, key: str, value: object) -> None:
        dump_state_value(key, value)
        super().__setitem__(key, value)

    def setdefault(self, key: str, default: object = None) -> object:
        """Return the value of a key, which gets `default` first if it is absent."""
        if key not in self:
            self[key] = default
        return self[key]

    def update(self, *more: Any, **values: object) -> None:
        """Set several values, each as ``state[key] = value`` does."""
        for key, value in dict(*more, **values).items():
            self[key] = value

    def __ior__(self, more: Any) -> RunValues:  # type: ignore[override,misc]
        self.update(more)
        return self


# — one value —

_FIX = (
    "give JSON data, values of the standard library such as datetime, Decimal and set, or "
    "dataclasses, pydantic models and enums that a module defines at its top level"
)


def _is_plain(value: object) -> bool:
    """Return True if a value consists of plain builtin types only."""
    try:
        marshal.dumps(cast("Any", value), 0)
    except ValueError:
        return False
    return True


def _dump(value: Any, depth: int) -> Any:
    """Return the stored form of a value of any supported type.

    Raises:
        Unsavable: the value has no stored form, or is nested too deeply.
    """
    kind = type(value)
    if value is None or kind is bool:
        return value
    if not depth:
        raise Unsavable(f"more than {DEPTH} levels")
    if kind is list:
        return _dump_items(value, depth)
    if kind is dict:
        return _dump_dict(value, depth)
    if kind in BY_TYPE:
        name = BY_TYPE[kind]
        if kind in AS_JSON and AS_JSON[kind](value):
            return value
        return {TAG: name, "value": _dump(TYPES[name].dump(value), depth - 1)}
    if kind is UnknownValue:
        return dict(value.data)
    for name, form in CLASSES.items():
        if form.fits(kind):
            return _dump_object(value, name, form, depth)
    raise Unsavable(f"{name_of(kind)} has no stored form")


def _dump_items(values: Iterable[Any], depth: int) -> list[Any]:
    """Return the stored forms of items. `Unsavable` gets the index of the failing one."""
    made = []
    for index, item in enumerate(values):
        try:
            made.append(_dump(item, depth - 1))
        except Unsavable as error:
            error.path.append(f"[{index}]")
            raise
    return made


def _dump_dict(value: dict[Any, Any], depth: int) -> Json:
    """Return the stored form of a dict: an object, or pairs if keys are not texts."""
    if not all(map(_is_key, value)):
        return {TAG: "dict", "value": _dump_items(map(list, value.items()), depth - 1)}
    made = {}
    for key, item in value.items():
        try:
            made[_escape(key)] = _dump(item, depth - 1)
        except Unsavable as error:
            error.path.append(f".{key}")
            raise
    return made


def _dump_object(value: Any, name: str, form: ClassCodec, depth: int) -> Json:
    """Return the stored form of an instance of a module's class.

    Raises:
        Unsavable: the class cannot be found by its module and name.
    """
    kind = type(value)
    path = f"{kind.__module__}:{kind.__qualname__}"
    try:
        known = find_class(path, name)
    except (ValueError, TypeError):
        known = None
    if known is not kind:
        raise Unsavable(f"{name_of(kind)} cannot be found by its module and name")
    return {TAG: name, "type": path, "value": _dump(form.dump(value), depth - 1)}


def _escape(key: str) -> str:
    """Return a key that cannot be taken for `TAG`."""
    return f"${key}" if _ESCAPED.fullmatch(key) else key


def _unescape(key: str) -> str:
    """Return the key that `_escape` changed."""
    return key[1:] if _ESCAPED.fullmatch(key) else key


def _dump_artifact(value: object, depth: int = DEPTH) -> Any:
    """Return an artifact as JSON-ready data, with an `UnsavedValue` for each part that has no form."""
    try:
        return dump_value(value)
    except TypeError:
        kind = type(value)
    if depth and isinstance(value, list) and kind is list:
        return [_dump_artifact(item, depth - 1) for item in value]
    if depth and isinstance(value, dict) and kind is dict and all(map(_is_key, value)):
        return {_escape(key): _dump_artifact(item, depth - 1) for key, item in value.items()}
    return dump_value(UnsavedValue(name_of(kind)))


def _is_key(key: object) -> bool:
    """Return True if a value can be a key of a JSON object."""
    return type(key) is str and is_text(key)


register_codecs(
    {
        "StoredState": Codec(
            (Mapping,),
            lambda values: {key: dump_value(value) for key, value in values.items()},
            load_state,
        ),
        "Artifact": Codec((object, bool), _dump_artifact, load_value),
    }
)

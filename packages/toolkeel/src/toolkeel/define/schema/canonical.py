"""Validated values back to JSON: what the model could have sent to mean exactly them.

What a person approves, what a rule inspects and what tells two calls apart is this form. It is
valid again: every key is the one the model is shown, and secrets are there in the clear.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

from pydantic import AliasChoices, BaseModel
from pydantic_core import from_json, to_json

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo


Encode = Callable[[str, object], object]
"""Writes a parameter's value, by the parameter's name."""
_SCALARS = frozenset((str, int, float, bool, type(None)))


def canonical_json(
    values: Mapping[str, object], keys: Mapping[str, str], encode: Encode | None = None
) -> dict[str, object]:
    """Return validated arguments as the JSON data that the model could have sent.

    Args:
        values: By parameter name.
        keys: Advertised name by parameter, where they differ.
        encode: Writes values that do not show what was sent; None if all do.

    >>> canonical_json({"at": {1, 1}, "n": None}, {"n": "N"})
    {'at': [1], 'N': None}
    """
    if encode is not None:
        values = {name: encode(name, value) for name, value in values.items()}
    plain = {keys.get(name, name): to_plain(value) for name, value in values.items()}
    return dict(from_json(to_json(plain)))


def aliases_of(infos: Mapping[str, Iterable[FieldInfo]]) -> dict[str, str]:
    """Return by name the alias of each field that has another name in JSON.

    Args:
        infos: Each field's `FieldInfo`s by its name.
    """
    found = {}
    for name, known in infos.items():
        for info in known:
            if (key := _key(info)) not in (None, name):
                found[name] = key
    return found


def _key(info: FieldInfo) -> str | None:
    """Return the name by which a field is found in JSON; None for its own name or a path."""
    alias = info.validation_alias if info.validation_alias is not None else info.alias
    if isinstance(alias, AliasChoices):
        return next((choice for choice in alias.choices if isinstance(choice, str)), None)
    return alias if isinstance(alias, str) else None


class _NamedTuple(Protocol):
    """A named tuple, as its generated method shows it."""

    def _asdict(self) -> dict[str, object]:
        """Return the fields by name."""
        ...


def _is_named_tuple(value: object) -> TypeGuard[_NamedTuple]:
    """Return True if a value is an instance of a named tuple."""
    return isinstance(value, tuple) and hasattr(value, "_asdict")


def to_plain(value: object) -> object:
    """Return `value` with models, dataclasses and named tuples as dicts, tuples and sets as lists, secrets in the clear."""
    if type(value) in _SCALARS:
        return value
    if isinstance(value, BaseModel):
        return _of_model(value)
    if hasattr(value, "__fields_set__"):
        return _of_old_model(value)
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if _is_named_tuple(value):
        return to_plain(value._asdict())
    if isinstance(value, list | tuple | set | frozenset):
        return _to_plain_list(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _of_dataclass(value)
    reveal = getattr(value, "get_secret_value", None)
    return to_plain(reveal()) if callable(reveal) else value


def _to_plain_list(values: Collection[object]) -> list[object]:
    """Return items as a list, models as dicts and secrets in the clear."""
    if _SCALARS.issuperset(map(type, values)):  # most long ones
        return list(values)
    return [to_plain(item) for item in values]


def _of_dataclass(value: Any) -> object:
    """Return the fields by name that a dataclass's constructor takes, each as `to_plain` does."""
    fields = [field.name for field in dataclasses.fields(value) if field.init]
    return {name: to_plain(getattr(value, name)) for name in fields}


def _of_old_model(model: Any) -> object:
    """Return the set fields of a model of pydantic's first version by alias, each as `to_plain` does."""
    return to_plain(model.dict(by_alias=True, exclude_unset=True))


def _of_model(model: Any) -> object:
    """Return the set fields of a model by alias, as JSON data with secrets in the clear.

    A root model gives its value.
    """
    if model.__pydantic_root_model__:
        return to_plain(model.root)
    dumped = model.model_dump(mode="json", by_alias=False, exclude_unset=True, round_trip=True)
    fields = type(model).model_fields
    keys = aliases_of({name: [info] for name, info in fields.items()})
    made = {}
    for name, shown in dumped.items():
        inner = getattr(model, name, None)
        made[keys.get(name, name)] = to_plain(inner) if _is_deep(inner) else shown
    return made


def _is_deep(value: object) -> bool:
    """Return True if a value contains a model, a named tuple or a secret."""
    if isinstance(value, dict):
        return any(map(_is_deep, value.values()))
    if _is_named_tuple(value):
        return True
    if isinstance(value, list | tuple | set | frozenset):
        return any(map(_is_deep, value))
    return isinstance(value, BaseModel) or hasattr(value, "get_secret_value")

"""Serializer of arguments by their types, where a value alone does not show what was sent.

`canonical` writes values as they are. That loses what only the type knows: the text that `Json` or base64
decoded, the alias of a field of a typed dict or a dataclass, and a field that is excluded from
serialization. Parameters with such a type are written by pydantic's serializer, rebuilt from the core
schema so that each field has its advertised name and secrets are in the clear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, TypeAlias, cast

from pydantic_core import CoreSchema, SchemaSerializer

from toolkeel.define.schema.canonical import Encode, to_plain
from toolkeel.define.schema.strict_core import HOLDERS

Core: TypeAlias = Mapping[str, Any]
"""A schema of pydantic-core, never changed."""


def argument_encoder(core: Core) -> Encode | None:
    """Return a function that writes a parameter's value as it was sent; None if no type needs it.

    Args:
        core: The core schema of all arguments.

    Returns:
        A function of a parameter's name and its value, which returns other values unchanged.
    """
    definitions = {each["ref"]: each for each in core.get("definitions", ())}
    fields = {
        name: field
        for name, field in _root_fields(core, definitions).items()
        if any(map(_hides_form, _nodes(field, definitions)))
    }

    @cache
    def serializer(name: str) -> SchemaSerializer:
        """Compile the serializer of one parameter."""
        made = _rewrite(fields[name]["schema"])
        if definitions:
            known = list(map(_rewrite, definitions.values()))
            made = {"type": "definitions", "schema": made, "definitions": known}
        return SchemaSerializer(cast("CoreSchema", made), None, _use_prebuilt=False)

    def encode(name: str, value: object) -> object:
        """Return a value as it was sent, or unchanged if it shows that itself."""
        if name not in fields:
            return value
        options: Any = {"by_alias": True, "exclude_unset": True, "round_trip": True}
        try:
            return serializer(name).to_python(value, mode="json", warnings=False, **options)
        except Exception:  # a value of another type, such as a default of None or a hook's mistake
            return value

    return encode if fields else None


def has_parsers(core: Core) -> bool:
    """Return True if code of some type changes or judges a value before pydantic does."""
    return any(each.get("type") in _PARSERS for each in _nodes(core, {}))


_PARSERS = ("function-before", "function-wrap", "function-plain")


def _root_fields(core: Core, definitions: Mapping[str, Core]) -> Mapping[str, Core]:
    """Return the fields of the object that all arguments are; none if it has none."""
    while not isinstance(core.get("fields"), dict):
        reference = core.get("schema_ref")
        inner = core.get("schema") if reference is None else definitions.get(reference)
        if not isinstance(inner, dict):
            return {}
        core = inner
    return cast("Mapping[str, Core]", core["fields"])


def _nodes(core: Core, definitions: Mapping[str, Core]) -> Iterator[Core]:
    """Yield a core schema and all schemas within it, those that it refers to once."""
    visited: set[str] = set()
    waiting: list[Any] = [core]
    while waiting:
        each = waiting.pop()
        if isinstance(each, list | tuple):
            waiting += each
        elif isinstance(each, dict):
            yield each
            holders = each.keys() & HOLDERS if isinstance(each.get("type"), str) else each.keys()
            waiting += [each[key] for key in holders]
            reference = each.get("schema_ref")
            if isinstance(reference, str) and reference not in visited:
                visited.add(reference)
                waiting.append(definitions.get(reference))


def _hides_form(core: Core) -> bool:
    """Return True if values of a core schema do not show what was sent."""
    kind = core.get("type")
    if kind in _FIELDS:
        is_renamed = kind != "model-field" and _alias(core) is not None
        return is_renamed or bool(core.get("serialization_exclude"))
    decodes = kind in _DECODERS and core.get("serialization", {}).get("type") in _ENCODERS
    return kind == "json" or decodes


_FIELDS = (
    "model-field", "typed-dict-field", "dataclass-field", "named-tuple-field",
)  # fmt: skip
_DECODERS = (*_PARSERS, "function-after")
_ENCODERS = ("function-plain", "function-wrap")


def _alias(field: Core) -> str | None:
    """Return the first name by which a field with an alias can be sent, or None without an alias."""
    alias = field.get("validation_alias")
    if isinstance(alias, str):
        return alias
    paths = alias if isinstance(alias, list) else []
    paths = [paths] if paths and not isinstance(paths[0], list) else paths
    return next((path[0] for path in paths if len(path) == 1), None)


def _rewrite(core: Any) -> Any:
    """Return a copy of a core schema whose serializer writes what was sent."""
    if isinstance(core, list | tuple):
        return type(core)(map(_rewrite, core))
    if not isinstance(core, dict):
        return core
    if not isinstance(kind := core.get("type"), str):
        return {key: _rewrite(each) for key, each in core.items()}
    made = {key: _rewrite(each) if key in HOLDERS else each for key, each in core.items()}
    if kind in _FIELDS:
        for key in ("serialization_alias", "serialization_exclude", "serialization_exclude_if"):
            made.pop(key, None)
        alias = _alias(core)
        return made if alias is None else {**made, "serialization_alias": alias}
    if (tuple_type := core.get("cls") or core.get("function")) and kind in ("call", "named-tuple"):
        made["serialization"] = _named_tuple_form(tuple_type, made)
    writes = core.get("serialization", {})
    if writes.get("type") == "function-plain" and not writes.get("is_field_serializer"):
        made["serialization"] = {**writes, "function": _reveal(writes["function"])}
    return made


def _named_tuple_form(made: Any, core: Core) -> Any:
    """Return how a named tuple is written: as the object that is advertised."""
    fields = core["fields"] if "fields" in core else core["arguments_schema"]["arguments_schema"]
    names = {
        each["name"]: {
            **{key: each[key] for key in ("schema", "serialization_alias") if key in each},
            "type": "typed-dict-field",
        }
        for each in fields
    }
    return {
        "type": "function-plain",
        "function": lambda value: value._asdict() if isinstance(value, made) else value,
        "return_schema": {"type": "typed-dict", "fields": names},
    }


def _reveal(write: Callable[..., object]) -> Callable[..., object]:
    """Return a type's own serializer, except that a secret is written in the clear."""

    def reveal(value: object, *options: Any) -> object:
        """Return the secret in a value, or what the type's serializer writes for it."""
        hidden = getattr(value, "get_secret_value", None)
        return to_plain(hidden()) if callable(hidden) else write(value, *options)

    return reveal

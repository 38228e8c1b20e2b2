"""What annotations become, asked of pydantic once and shared by all tools that use them.

Most parameters of most tools have one of a few annotations: `str`, `list[str]`, a model that ten
tools take. A fragment is what pydantic makes of one of them alone; a tool's schema and validator
are its fragments side by side. Only annotations are shared that say by themselves what pydantic
makes of them: anything else, such as a type with code of its own, is left to pydantic each time.
"""

from __future__ import annotations

import dataclasses
import enum
import types
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import typing_extensions
from pydantic import BaseModel, ConfigDict, TypeAdapter, with_config
from pydantic_core import PydanticUndefined
from typing_extensions import TypedDict

from toolkeel._records.record import NOTHING, record
from toolkeel.define.reading.parameter import is_field
from toolkeel.define.schema.closed_objects import (
    close,
    is_loose_part,
    is_open,
    is_plain,
    nests,
    objects,
)
from toolkeel.define.schema.json_schema import SchemaMaker
from toolkeel.define.schema.plain_types import written
from toolkeel.define.secret import Secret, has_secret

MOST = 1000
"""Fragments that are kept; a program that makes classes without end shall not keep them all."""


@record
class Fragment:
    """What one annotation becomes within a tool's arguments.

    Args:
        required: pydantic-core's schema of a key that must be there.
        optional: The same of a key that may be left out.
        definitions: pydantic-core's schemas that these refer to, by reference.
        before: The JSON Schema, up to where the alphabet has a description.
        after: The rest of it.
        defs: The JSON Schemas that it refers to, by name.
        rests_on: Models within, with what they were made of when they were read.
        plain: Whether the root's configuration holds for every part.
        open: Whether some object in it takes keys that it does not name.
        loose: Whether some value has no type.
        secret: Whether something in it is to be masked.
        nests: Whether it can hold more than scalars and lists of them.
    """

    required: Mapping[str, Any]
    optional: Mapping[str, Any]
    definitions: Mapping[str, Any]
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    defs: Mapping[str, Any]
    rests_on: Sequence[tuple[type[BaseModel], object, str | None]]
    plain: bool
    open: bool
    loose: bool
    secret: bool
    nests: bool


_known: dict[Hashable, Fragment | None] = {}
"""By key; None: pydantic is to be asked each time."""


def fragment_of(annotation: object, key: Hashable, closed: bool) -> Fragment | None:
    """The fragment of an annotation; None if it is not one to be shared.

    Args:
        annotation: Resolved, without a default and a description of its own.
        key: Its `key_of`.
        closed: Whether its objects shall be closed, unless they are open on purpose.
    """
    key = (key, closed)
    if key in _known and ((known := _known[key]) is None or all(map(_is_current, known.rests_on))):
        return known
    try:
        made = _make(annotation, closed)
    except Exception:  # told by whoever makes the whole schema, with the parameter's name
        return None
    if len(_known) >= MOST:
        _known.clear()
    _known[key] = made
    return made


def _is_current(known: tuple[type[BaseModel], object, str | None]) -> bool:
    """Whether a model has not been built anew since, nor described anew."""
    model, core, doc = known
    return model.__pydantic_core_schema__ is core and model.__doc__ == doc


def _make(annotation: object, closed: bool) -> Fragment | None:
    if plain := written(annotation):
        alone = {"type": "object", "properties": {"value": plain[1]}}
        return _fragment(*plain, alone, {})
    adapter: TypeAdapter[Any] = TypeAdapter(typed_dict("value", {"value": annotation}))
    schema = adapter.json_schema(schema_generator=SchemaMaker)
    core: Any = adapter.core_schema
    part = schema["properties"]["value"]
    # Of two models of one name pydantic writes both names at length.
    at_length = any("__" in name for name in schema.get("$defs", ()))
    if at_length or "description" in part or any(map(_has_code, _within(core))):
        return None
    if closed:
        close(list(objects(schema))[1:])
    inner = core.get("schema", core)["fields"]["value"]["schema"]
    return _fragment(inner, part, schema, core)


def _fragment(
    inner: Mapping[str, Any],
    part: Mapping[str, Any],
    schema: dict[str, Any],
    core: Mapping[str, Any],
) -> Fragment:
    """A fragment with what is known of it.

    Args:
        inner: Its core schema.
        part: Its JSON Schema.
        schema: That of an object that has it for its only property.
        core: The core schema of that object.
    """
    models = {each["cls"] for each in _within(core) if each.get("type") == "model"}
    defs = schema.get("$defs", {})
    return Fragment(
        {"type": "typed-dict-field", "schema": inner, "required": True},
        {"type": "typed-dict-field", "schema": inner, "required": False},
        {each["ref"]: each for each in core.get("definitions", ())},
        {key: value for key, value in part.items() if key < "description"},
        {key: value for key, value in part.items() if key > "description"},
        defs,
        tuple((model, model.__pydantic_core_schema__, model.__doc__) for model in models),
        is_plain(inner),
        any(map(is_open, list(objects(schema))[1:])),
        bool(defs) or is_loose_part(part),
        has_secret(schema),
        nests(part),
    )


def _within(core: object) -> Iterator[Mapping[str, Any]]:
    """A core schema's parts, and what else it holds."""
    if isinstance(core, dict):
        yield core
        for held in core.values():
            yield from _within(held)
    elif isinstance(core, list | tuple):
        for held in core:
            yield from _within(held)


_OWN = ("pydantic", "toolkeel")


def _has_code(part: Mapping[str, Any]) -> bool:
    """Whether a JSON Schema is made by code other than pydantic's and ours: it may differ each time."""
    config = getattr(part.get("cls"), "model_config", {})
    return callable(config.get("json_schema_extra")) or any(
        callable(each) and str(getattr(each, "__module__", "")).partition(".")[0] not in _OWN
        for key in _OF_SCHEMAS
        for each in _several(part.get(key))
    )


_OF_SCHEMAS = (
    "pydantic_js_functions", "pydantic_js_annotation_functions", "pydantic_js_extra",
)  # fmt: skip


def _several(held: object) -> Sequence[object]:
    return held if isinstance(held, list) else [held]


def typed_dict(
    title: str, fields: Mapping[str, object], rest: Mapping[str, object] = NOTHING
) -> Any:
    """The class whose values are a tool's arguments.

    Args:
        title: The tool's name.
        fields: Annotation by name.
        rest: That of ``**kwargs``, if there is one.
    """
    make: Any = TypedDict  # the functional form with fields known only now
    more = {"extra_items": next(iter(rest.values()))} if rest else {}
    config = ConfigDict(strict=True, allow_inf_nan=False)
    if not rest:
        config["extra"] = "forbid"
    return with_config(config)(make(title, dict(fields), **more))


# — which annotations are shared, and by what they are told apart —

_LIBRARIES = frozenset(["builtins", "datetime", "decimal", "pathlib", "pydantic", "uuid"])
_CONTAINERS = (list, dict, tuple, set, frozenset, Union, types.UnionType, Sequence, Mapping)
_LITERALS = (Literal, typing_extensions.Literal)
_CONSTANTS = (str, bytes, int, bool, type(None), enum.Enum)
_SCALARS = (str, int, float, bool, type(None))


def key_of(annotation: object) -> Hashable:
    """What an annotation has in common with those that become the same; None: no other does.

    Python takes `Literal["a", "b"]` and `Literal["b", "a"]` for equal, and so with unions. The
    schemas are not, so that the order counts here, and the type of each constant.
    """
    if annotation is Any or annotation is ...:
        return annotation
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is None:
        return annotation if isinstance(annotation, type) and _is_declared(annotation) else None
    if origin in _LITERALS:
        kinds = tuple(map(type, args))
        return (Literal, args, kinds) if all(issubclass(k, _CONSTANTS) for k in kinds) else None
    if origin is Annotated:
        keys = [key_of(args[0]), *map(_metadata_key, args[1:])]
    elif origin in _CONTAINERS:
        keys = list(map(key_of, args))
    else:
        return None
    return None if None in keys else (origin, *keys)


def _is_declared(kind: type) -> bool:
    """Whether a class is a library's, or says by its fields alone what it becomes."""
    return (
        kind.__module__.partition(".")[0] in _LIBRARIES
        or issubclass(kind, BaseModel | enum.Enum)
        or dataclasses.is_dataclass(kind)
        or typing_extensions.is_typeddict(kind)
    )


def _metadata_key(item: Any) -> Hashable:
    """The same of what stands in an `Annotated`: a `Field`, a bound, a text for people."""
    kind = type(item)
    if kind is str:
        return str
    if item is Secret or kind is Secret:
        return Secret
    if is_field(item):
        if kind.__module__ != "pydantic.fields" or item.alias or item.validation_alias:
            return None
        return _all_known(kind, [getattr(item, name, None) for name in kind.__slots__])
    if kind.__module__.partition(".")[0] not in ("annotated_types", "pydantic"):
        return None
    if dataclasses.is_dataclass(item):
        return _all_known(kind, [getattr(item, each.name) for each in dataclasses.fields(item)])
    return _all_known(kind, [vars(item)]) if hasattr(item, "__dict__") else None


def _all_known(kind: type, values: Iterable[object]) -> Hashable:
    keys = list(map(_value_key, values))
    return None if None in keys else (kind, *keys)


def _value_key(value: Any) -> Hashable:
    """Constants told apart by their types, too: 1, 1.0 and True are equal, their schemas are not."""
    if type(value) in _SCALARS or value is PydanticUndefined:
        return (type(value), value)
    if type(value) is dict:
        return _all_known(dict, [part for item in value.items() for part in item])
    if type(value) in (list, set):
        return _all_known(type(value), value)
    return _metadata_key(value)

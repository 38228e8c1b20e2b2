"""Defaults in a schema: what is advertised there must be something that may be sent."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pydantic_core import to_jsonable_python

from toolwright.define.subschemas import Schema, resolve
from toolwright.errors import DefinitionError

Refuses: TypeAlias = Callable[[str, object], bool]


def advertise_default(
    title: str, schema: dict[str, Any], key: str, default: object, refuses: Refuses
) -> None:
    """Add a parameter's default to its schema.

    ``n: int = None`` is how people write that a parameter may be left out: it is advertised as
    that, without a default nobody could send. Any other plain value that breaks its own annotation
    is a mistake.

    Args:
        title: The tool's name, for messages.
        schema: Of all arguments; the default is added to it.
        key: What the model calls the parameter.
        default: Its default.
        refuses: Whether the validator refuses a JSON value for a parameter, given its key.

    Raises:
        DefinitionError: it has no JSON form, or the model could not send it.
    """
    part = schema["properties"][key]
    made = default
    if default is not None and type(default) not in (str, int, bool):  # most are JSON as they are
        try:
            made = to_jsonable_python(_named(default))
        except ValueError:
            raise DefinitionError(
                f"{title}: the default of parameter {key!r} ({default!r}) has no JSON form; "
                "use None or a plain value and make the object inside the function"
            ) from None
        if not _is_finite(made):  # infinity stays the function's own: JSON has none
            return
    if not misfits(made, part, schema):
        part["default"] = made
    elif type(default) in _PLAIN and refuses(key, made):
        raise DefinitionError(
            f"{title}: the default of parameter {key!r} ({default!r:.80}) is nothing the model may "
            "send there; give a default that fits the annotation, widen the annotation, or write "
            "None for a parameter that may be left out"
        )


def _is_finite(value: object) -> bool:
    import json

    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


_PLAIN = (str, int, float, bool, list, tuple, dict, set, frozenset)
"""Values that are their own JSON; what becomes of other objects, their types decide."""


def _named(value: object) -> object:
    """Named tuples as the objects they are advertised as."""
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _named(item) for name, item in value._asdict().items()}
    return [_named(item) for item in value] if type(value) in (list, tuple) else value  # type: ignore[attr-defined]


def misfits(value: object, part: Schema, root: Schema, depth: int = 0) -> bool:
    """Whether a JSON value breaks a schema for certain: formats and patterns are not looked at.

    Args:
        value: Any JSON value.
        part: What it should fit.
        root: What references of `part` refer to.
        depth: How many references led here.

    >>> misfits("x", {"type": "integer"}, {}), misfits(3, {"type": "number"}, {})
    (True, False)
    """
    target = resolve(part["$ref"], root) if "$ref" in part and depth < 8 else None
    if isinstance(target, Mapping) and misfits(value, target, root, depth + 1):
        return True
    either = part.get("anyOf")
    if isinstance(either, list) and all(misfits(value, each, root, depth) for each in either):
        return True
    if _is_none_of(value, part) or _is_out_of_bounds(value, part):
        return True
    items = part.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        return any(misfits(item, items, root, depth) for item in value)
    return False


_TYPES: Mapping[str, type | tuple[type, ...]] = {
    "string": str, "boolean": bool, "null": type(None), "number": (int, float),
    "array": list, "object": dict,
}  # fmt: skip


def _is_none_of(value: object, part: Schema) -> bool:
    """Whether it is of another type than is asked for, or none of those listed."""
    kind = part.get("type")
    if isinstance(kind, str) and not _is(value, kind):
        return True
    listed = part.get("enum", [part["const"]] if "const" in part else None)
    return isinstance(listed, list) and not any(
        value == each and isinstance(value, bool) == isinstance(each, bool) for each in listed
    )


def _is(value: object, kind: str) -> bool:
    if kind == "integer":
        return not isinstance(value, bool) and (
            isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        )
    return isinstance(value, _TYPES.get(kind, object)) and (
        kind == "boolean" or not isinstance(value, bool)
    )


_BOUNDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, bound: value < bound,
    "exclusiveMinimum": lambda value, bound: value <= bound,
    "maximum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value >= bound,
}
_SIZES: Mapping[str, tuple[type, Callable[[int, int], bool]]] = {
    "minLength": (str, lambda size, bound: size < bound),
    "maxLength": (str, lambda size, bound: size > bound),
    "minItems": (list, lambda size, bound: size < bound),
    "maxItems": (list, lambda size, bound: size > bound),
}


def _is_out_of_bounds(value: object, part: Schema) -> bool:
    if isinstance(value, int | float) and not isinstance(value, bool):
        bounds = ((part.get(name), breaks) for name, breaks in _BOUNDS.items() if name in part)
        return any(isinstance(b, int | float) and breaks(value, b) for b, breaks in bounds)
    if isinstance(value, str | list):
        for name, (kind, breaks) in _SIZES.items():
            bound = part.get(name)
            if isinstance(value, kind) and isinstance(bound, int) and breaks(len(value), bound):
                return True
    return False

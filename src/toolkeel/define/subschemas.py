"""Where the schemas within a schema are, and whether a value is of a schema's type at all.

Only the keywords that hold schemas are followed: what stands in `enum`, `default` or
`examples` is data, whatever it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

Schema = Mapping[str, object]
Location = tuple[str | int, ...]

# Applied to the value itself.
IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})

_ONE = (
    "items", "additionalProperties", "additionalItems", "contains", "not", "if", "then", "else",
    "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema",
)  # fmt: skip
_MANY = ("allOf", "anyOf", "oneOf", "prefixItems", "items")
_NAMED = (
    "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies",
)  # fmt: skip

_PLACE = re.compile(r"[0-9]{1,9}")

DECIMAL = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
"""How a decimal number is advertised as a string, which then needs no other words."""


def properties_of(schema: Schema) -> Mapping[str, Any]:
    """The properties that a schema describes, by name."""
    found = schema.get("properties")
    return found if isinstance(found, (dict, Mapping)) else {}


def required_of(schema: Schema) -> list[Any]:
    """Names of the properties that have to be there."""
    found = schema.get("required")
    return found if isinstance(found, list) else []


def subschemas(schema: Schema) -> Iterator[tuple[Location, Schema]]:
    """The schemas one step within a schema, and where; `true` and `false` left out."""
    for keyword, held in schema.items():
        if keyword in _ONE and isinstance(held, (dict, Mapping)):
            yield (keyword,), held
        elif keyword in _NAMED and isinstance(held, (dict, Mapping)):
            for name, each in held.items():
                if isinstance(each, (dict, Mapping)):
                    yield (keyword, str(name)), each
        elif keyword in _MANY and isinstance(held, list):
            for index, each in enumerate(held):
                if isinstance(each, (dict, Mapping)):
                    yield (keyword, index), each


def all_subschemas(schema: Schema) -> Iterator[Schema]:
    """A schema and every schema within it."""
    waiting = [schema]
    while waiting:
        each = waiting.pop()
        yield each
        waiting.extend(inner for _, inner in subschemas(each))


def resolve(reference: object, root: Schema) -> object:
    """What a local reference (`#`, `#/$defs/X`) points at; True, any value, if it is not there."""
    if not isinstance(reference, str) or (reference != "#" and not reference.startswith("#/")):
        return True
    found: object = root
    for part in reference.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, (dict, Mapping)) and key in found:
            found = found[key]
        elif isinstance(found, list) and _PLACE.fullmatch(key) and int(key) < len(found):
            found = found[int(key)]
        else:
            return True
    return found


def json_type(value: object) -> str:
    """The JSON Schema type of a parsed value; "integer" only for `int`."""
    return _TYPES.get(type(value), "")


_TYPES: Mapping[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array",
    dict: "object", type(None): "null",
}  # fmt: skip


def same(one: object, other: object) -> bool:
    """Equality of JSON values: 1 and 1.0 are one number, but True is not 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


def accepts(value: object, schema: object, root: Schema) -> bool:
    """Whether a value is of the schema's type and among its `enum`, not looking inside it.

    >>> accepts(5, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, {})
    True
    >>> accepts(5.0, {"type": "integer"}, {})
    False
    """
    return _accepts(value, schema, root, ())


def _accepts(value: object, schema: object, root: Schema, within: tuple[int, ...]) -> bool:
    if not isinstance(schema, (dict, Mapping)):
        return schema is not False
    if id(schema) in within:  # a branch that leads back to its union adds nothing to it
        return False
    if not matches_type(value, schema.get("type")) or not is_option(value, schema):
        return False
    within = (*within, id(schema))
    if "$ref" in schema and not _accepts(value, resolve(schema["$ref"], root), root, within):
        return False
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if isinstance(branches, list) and not any(
            _accepts(value, branch, root, within) for branch in branches
        ):
            return False
    parts = schema.get("allOf")
    return not isinstance(parts, list) or all(_accepts(value, part, root, within) for part in parts)


def matches_type(value: object, wanted: object) -> bool:
    """Whether a value is of a `type` keyword's type, or one of its types."""
    kind = json_type(value)
    if isinstance(wanted, str):
        return kind == wanted or (kind == "integer" and wanted == "number")
    if not isinstance(wanted, (list, tuple)):
        return True
    return kind in wanted or (kind == "integer" and "number" in wanted)


def is_option(value: object, schema: Schema) -> bool:
    """Whether a value is what `const` and `enum` allow."""
    if "const" in schema and not same(value, schema["const"]):
        return False
    options = schema.get("enum")
    return not isinstance(options, list) or any(same(value, option) for option in options)


def misfits(value: object, part: Schema, root: Schema, depth: int = 0) -> bool:
    """Whether a JSON value breaks a schema for certain: formats and patterns are not looked at.

    Args:
        value: Any JSON value.
        part: What it should fit.
        root: What references of `part` refer to.
        depth: How many references led here.

    >>> misfits("x", {"type": "integer"}, {}), misfits(3, {"type": "number", "minimum": 2}, {})
    (True, False)
    """
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not accepts(value, part, root) or _is_out_of_bounds(value, part):
        return True
    target = resolve(part["$ref"], root) if "$ref" in part and depth < 8 else None
    if isinstance(target, Mapping) and misfits(value, target, root, depth + 1):
        return True
    either = part.get("anyOf")
    if isinstance(either, list) and all(misfits(value, each, root, depth) for each in either):
        return True
    items = part.get("items")
    if isinstance(value, list) and isinstance(items, Mapping):
        return any(misfits(item, items, root, depth) for item in value)
    return False


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

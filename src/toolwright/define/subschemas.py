"""Where the schemas within a schema are, and whether a value is of a schema's type at all.

Only the keywords that hold schemas are followed: what stands in `enum`, `default` or
`examples` is data, whatever it looks like.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

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
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
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

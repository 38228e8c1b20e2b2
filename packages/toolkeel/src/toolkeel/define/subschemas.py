"""Where the schemas within a schema are, and if a value is of a schema's type at all.

Only the keywords that hold schemas are followed: what is in `enum`, `default` or
`examples` is data, even if it resembles a schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Any, TypeVar

Schema = Mapping[str, object]
S = TypeVar("S", bound=Schema)
Location = tuple[str | int, ...]

# Applied to the value itself.
IN_PLACE = frozenset({"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas"})

COMPOSED = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
"""What says by other schemas what holds in place."""

ONE = frozenset([
    "items", "additionalProperties", "additionalItems", "contains", "not", "if", "then", "else",
    "propertyNames", "unevaluatedItems", "unevaluatedProperties", "contentSchema",
])  # fmt: skip
MANY = frozenset(["allOf", "anyOf", "oneOf", "prefixItems", "items"])
NAMED = frozenset([
    "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies",
])  # fmt: skip
WITH_SUBSCHEMAS = ONE | MANY | NAMED
"""Keywords that hold schemas: one, a list of them, or several by name."""

TYPES = frozenset(["object", "array", "string", "number", "integer", "boolean", "null"])
OTHER_TYPES: Mapping[str, str] = {
    "dict": "object", "map": "object", "hashmap": "object", "struct": "object", "float": "number",
    "double": "number", "decimal": "number", "int": "integer", "long": "integer", "str": "string",
    "text": "string", "char": "string", "bool": "boolean", "list": "array", "tuple": "array",
    "set": "array", "arraylist": "array", "none": "null",
}  # fmt: skip
"""Names of types that are no JSON Schema but are met in definitions (BFCL's among them)."""

_PLACE = re.compile(r"[0-9]{1,9}")


def properties_of(schema: Schema) -> Mapping[str, Any]:
    """Return the properties that a schema describes, by name."""
    found = schema.get("properties")
    return found if isinstance(found, (dict, Mapping)) else {}


def text_parameter_of(schema: Schema) -> str:
    """Return the name of the only required, or only, parameter if it is a text; else empty."""
    known, needed = properties_of(schema), required_of(schema)
    names = needed if len(needed) == 1 else list(known)
    part = known.get(names[0]) if len(names) == 1 else None
    return names[0] if isinstance(part, Mapping) and part.get("type") == "string" else ""


def required_of(schema: Schema) -> list[Any]:
    """Return the names of the properties that a schema requires."""
    return list_of(schema, "required")


def list_of(schema: Schema, keyword: str) -> list[Any]:
    """Return the list under a keyword, or an empty list if there is none."""
    found = schema.get(keyword)
    return found if isinstance(found, list) else []


def allowed_values(schema: Schema) -> list[Any]:
    """Return the values of a schema's `enum`, else its `const` in a list; [None] without either."""
    return list_of(schema, "enum") if "enum" in schema else [schema.get("const")]


def children(schema: Schema) -> Iterator[tuple[Location, Any]]:
    """Yield each value that is used as a schema one step within a schema, and its place."""
    for keyword, stored in schema.items():
        if keyword not in WITH_SUBSCHEMAS:
            continue
        if keyword in NAMED and isinstance(stored, (dict, Mapping)):
            for name, each in stored.items():
                yield (keyword, str(name)), each
        elif keyword in MANY and isinstance(stored, list):
            for index, each in enumerate(stored):
                yield (keyword, index), each
        elif keyword in ONE:
            yield (keyword,), stored


def subschemas(schema: Schema) -> Iterator[tuple[Location, Schema]]:
    """Yield the object schemas one step within a schema, and their places."""
    return ((where, each) for where, each in children(schema) if isinstance(each, (dict, Mapping)))


def all_subschemas(schema: S) -> Iterator[S]:
    """Yield a schema and every schema within it."""
    waiting: list[Any] = [schema]
    while waiting:
        yield (each := waiting.pop())
        if not WITH_SUBSCHEMAS.isdisjoint(each):  # most hold none
            waiting += [inner for _, inner in children(each) if isinstance(inner, (dict, Mapping))]


def widest_union(schema: Schema) -> int:
    """Return the number of branches of a schema's widest union; 1 if it has none."""
    unions = (
        len(list_of(each, word)) for each in all_subschemas(schema) for word in ("anyOf", "oneOf")
    )
    return max(1, *unions)


def applicable_schemas(
    schemas: Iterable[object], root: Schema, keywords: Set[str] = COMPOSED
) -> Iterator[object]:
    """Yield schemas and those that apply to the same value through references and `keywords`, each once."""
    waiting: list[Any] = list(schemas)
    visited = set[int]()
    for schema in waiting:  # which grows while it is walked
        if id(schema) in visited:
            continue
        visited.add(id(schema))
        yield schema
        for keyword in schema if isinstance(schema, (dict, Mapping)) else ():
            if keyword == "$ref":
                waiting.append(resolve(schema[keyword], root))
            elif keyword in keywords:
                stored = schema[keyword]
                waiting += stored if isinstance(stored, list) else [stored]


def schema_at(schema: Schema, key: str | int) -> Any:
    """Return the schema, maybe a boolean, for the value under a key or index; None if neither names nor covers it.

    Patterns of keys are not looked at.
    """
    if isinstance(key, str):
        known = properties_of(schema)
        return known[key] if key in known else schema.get("additionalProperties")
    first, rest = schema.get("prefixItems"), schema.get("items")
    if isinstance(rest, list):  # of an older draft
        first, rest = rest, schema.get("additionalItems")
    return first[key] if isinstance(first, list) and key < len(first) else rest


def recursive_definitions(defs: Mapping[str, object]) -> frozenset[str]:
    """Return the names of the definitions that refer to themselves, also indirectly."""
    leads = {
        name: {
            str(each["$ref"]).rpartition("/")[2] for each in all_subschemas(part) if "$ref" in each
        }
        for name, part in defs.items()
        if isinstance(part, (dict, Mapping))
    }
    found = set[str]()
    for name in leads:
        reached, waiting = set[str](), set(leads[name])
        while waiting:
            reached |= waiting
            waiting = {each for one in waiting for each in leads.get(one, ())} - reached
        if name in reached:
            found.add(name)
    return frozenset(found)


def json_pointer(where: Iterable[str | int], start: str = "#") -> str:
    """Return a location as a JSON Pointer (RFC 6901) after `start`."""
    return "/".join((start, *(str(key).replace("~", "~0").replace("/", "~1") for key in where)))


def target_of(reference: object, root: Schema) -> object:
    """Return the schema that a local reference (`#`, `#/$defs/X`) points at, or None if absent."""
    if not isinstance(reference, str) or (reference != "#" and not reference.startswith("#/")):
        return None
    found: object = root
    for part in reference.split("/")[1:]:
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, (dict, Mapping)) and key in found:
            found = found[key]
        elif isinstance(found, list) and _PLACE.fullmatch(key) and int(key) < len(found):
            found = found[int(key)]
        else:
            return None
    return found


def resolve(reference: object, root: Schema) -> object:
    """Return the target of a local reference. An absent target is True, which admits any value."""
    found = target_of(reference, root)
    return True if found is None else found


def json_type(value: object) -> str:
    """Return the JSON Schema type of a parsed value; "" for no JSON. Only an `int` is "integer"."""
    return _TYPES.get(type(value), "")


_TYPES: Mapping[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array",
    dict: "object", type(None): "null",
}  # fmt: skip


def json_equal(one: object, other: object) -> bool:
    """Compare JSON values: 1 equals 1.0, but True does not equal 1."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return one == other


def accepts(value: object, schema: object, root: Schema) -> bool:
    """Return True if a value has the schema's type and is in its `enum`, without looking inside it.

    >>> accepts(5, {"anyOf": [{"type": "integer"}, {"type": "null"}]}, {})
    True
    >>> accepts(5.0, {"type": "integer"}, {})
    False
    """
    return _accepts(value, schema, root, {})


def _accepts(value: object, schema: object, root: Schema, known: dict[int, bool]) -> bool:
    """Return what `accepts` does. Answers by schema are taken from `known`, and added to it."""
    if not isinstance(schema, (dict, Mapping)):
        return schema is not False
    if id(schema) in known:  # each is asked once: references multiply
        return known[id(schema)]
    known[id(schema)] = False  # a branch that leads back to its union adds nothing to it
    if not matches_type(value, schema.get("type")) or not is_allowed_value(value, schema):
        return False
    if "$ref" in schema and not _accepts(value, resolve(schema["$ref"], root), root, known):
        return False
    for keyword in ("anyOf", "oneOf"):
        branches = schema.get(keyword)
        if isinstance(branches, list) and not any(
            _accepts(value, branch, root, known) for branch in branches
        ):
            return False
    known[id(schema)] = all(_accepts(value, each, root, known) for each in list_of(schema, "allOf"))
    return known[id(schema)]


def matches_type(value: object, wanted: object) -> bool:
    """Return True if a value has the type, or one of the types, of a `type` keyword."""
    kind = json_type(value)
    if isinstance(wanted, str):
        return kind == wanted or (kind == "integer" and wanted == "number")
    if not isinstance(wanted, (list, tuple)):
        return True
    return kind in wanted or (kind == "integer" and "number" in wanted)


def is_allowed_value(value: object, schema: Schema) -> bool:
    """Return True if `const` and `enum` of a schema admit a value."""
    if "const" in schema and not json_equal(value, schema["const"]):
        return False
    options = schema.get("enum")
    return not isinstance(options, list) or any(json_equal(value, option) for option in options)


def violates(
    value: object, part: Any, root: Schema, known: dict[tuple[int, int], bool] | None = None
) -> bool:
    """Return True if a JSON value certainly breaks a schema.

    Checks the type, `const`, `enum`, bounds and sizes of the value, and those of the schemas behind
    `$ref`, `anyOf` and the items of a list. Does not look into the properties of an object. A float
    without a fraction counts as an integer.

    Args:
        value: Any JSON value.
        part: The schema that `value` should fit.
        root: The schema that `$ref` in `part` refers to.
        known: Answers so far, by ids of value and schema; they are reused, and new ones are added.

    >>> violates("x", {"type": "integer"}, {}), violates(3, {"type": "number", "minimum": 2}, {})
    (True, False)
    """
    known, pair = {} if known is None else known, (id(value), id(part))
    if pair in known or not isinstance(part, (dict, Mapping)):
        return known.get(pair, part is False)
    known[pair] = False  # what leads back to itself breaks nothing by that
    full = int(value) if isinstance(value, float) and value.is_integer() else value
    either, items = list_of(part, "anyOf"), part.get("items", True)
    known[pair] = (
        not accepts(full, part, root)
        or _is_out_of_bounds(full, part)
        or ("$ref" in part and violates(value, resolve(part["$ref"], root), root, known))
        or (bool(either) and all(violates(value, each, root, known) for each in either))
        or (isinstance(value, list) and any(violates(one, items, root, known) for one in value))
    )
    return known[pair]


def _is_multiple(value: float, step: float) -> bool:
    """Return True if a value is a multiple of a step, computed exactly."""
    if isinstance(value, int) and isinstance(step, int):
        return value % step == 0
    from fractions import Fraction  # late: few steps have a fraction

    return Fraction(str(value)) % Fraction(str(step)) == 0


_BOUNDS: Mapping[str, Callable[[Any, Any], bool]] = {
    "minimum": lambda value, bound: value < bound,
    "exclusiveMinimum": lambda value, bound: value <= bound,
    "maximum": lambda value, bound: value > bound,
    "exclusiveMaximum": lambda value, bound: value >= bound,
    "multipleOf": lambda value, step: step > 0 and not _is_multiple(value, step),
}
_SIZES: Mapping[str, tuple[type, Callable[[int, int], bool]]] = {
    "minLength": (str, lambda size, bound: size < bound),
    "maxLength": (str, lambda size, bound: size > bound),
    "minItems": (list, lambda size, bound: size < bound),
    "maxItems": (list, lambda size, bound: size > bound),
    "minProperties": (dict, lambda size, bound: size < bound),
    "maxProperties": (dict, lambda size, bound: size > bound),
}


def _is_out_of_bounds(value: object, part: Schema) -> bool:
    """Return True if a number is out of bounds, or a text, list or object has a wrong size."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        bounds = ((part.get(name), breaks) for name, breaks in _BOUNDS.items() if name in part)
        return any(isinstance(b, int | float) and breaks(value, b) for b, breaks in bounds)
    if isinstance(value, str | list | dict):
        for name, (kind, breaks) in _SIZES.items():
            bound = part.get(name)
            if isinstance(value, kind) and isinstance(bound, int) and breaks(len(value), bound):
                return True
    return False


_OF_ANY_TYPE = frozenset([
    "const", "allOf", "anyOf", "oneOf", "not", "if", "$ref", "$dynamicRef",
])  # fmt: skip
"""Keywords that can refuse null beside a ``type`` that admits it."""


def admit_null(schema: Schema) -> dict[str, Any]:
    """Return a schema that admits null, too, as OpenAPI's ``nullable`` means.

    A ``type`` that is one word becomes a list with ``"null"``, and an ``enum`` beside it gets None. A
    union alone gets a branch. Any other schema that can refuse null becomes a branch of ``anyOf``.

    >>> admit_null({"type": "string", "enum": ["a"]})
    {'type': ['string', 'null'], 'enum': ['a', None]}
    >>> admit_null({"const": "a", "type": "string"})
    {'anyOf': [{'const': 'a', 'type': 'string'}, {'type': 'null'}]}
    """
    kinds, union = schema.get("type"), schema.get("anyOf")
    lists_null = kinds == "null" or (isinstance(kinds, list) and "null" in kinds)
    if (isinstance(kinds, str) or lists_null) and _OF_ANY_TYPE.isdisjoint(schema):
        found = {**schema, "type": kinds if lists_null else [kinds, "null"]}
        if isinstance(options := schema.get("enum"), list) and None not in options:
            found["enum"] = [*options, None]
        return found
    if isinstance(union, list) and schema.keys() <= {"anyOf", "title", "description", "default"}:
        return {**schema, "anyOf": [*union, {"type": "null"}]}
    if kinds is None and "enum" not in schema and _OF_ANY_TYPE.isdisjoint(schema):
        return dict(schema)
    return {"anyOf": [dict(schema), {"type": "null"}]}

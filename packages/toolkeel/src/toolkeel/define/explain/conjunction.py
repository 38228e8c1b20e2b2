"""What several schemas together admit, as a few plain alternatives.

A phrase that reads one keyword and passes over its neighbors describes values that the schema refuses.
So references are followed, `allOf` is merged, and what stands beside a union is distributed into its
branches, before anything is put into words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from pydantic_core import SchemaError, SchemaValidator, core_schema

from toolkeel.define.subschemas import (
    COMPOSED,
    Schema,
    allowed_values,
    list_of,
    properties_of,
    required_of,
    resolve,
    schema_at,
    violates,
)

MAX_ALTERNATIVES = 16
"""Alternatives of one schema that are still read."""
_MAX_OPTIONS = 200  # values of an enum that are compared with what is beside them
_DEEPEST = 24

Path = tuple[str | int, ...]


def plain_alternatives(schemas: Iterable[object], root: Schema) -> list[Schema]:
    """Return plain schemas; a value that fits all of `schemas` fits one of them.

    Args:
        schemas: All of them hold for the value.
        root: The document that local references point into.

    Returns:
        Schemas without references, unions and `allOf`, at most `MAX_ALTERNATIVES`; none if no value
        fits.

    >>> plain_alternatives([{"anyOf": [{"type": "string"}, {"type": "null"}], "minLength": 2}], {})
    [{'minLength': 2, 'type': 'string'}, {'minLength': 2, 'type': 'null'}]
    """
    found = _product([_expanded(each, root, ()) for each in schemas])
    if len(found) == 1 and _NARROWING.isdisjoint(found[0]):  # most
        return found
    left = [each for one in found if (each := _without_refused_types(one)) is not None]
    return [fitting for each in left if (fitting := _drop_unfit_values(each, root)) is not None]


def _expanded(schema: object, root: Schema, within: tuple[int, ...]) -> list[Schema]:
    """Return a schema's alternatives without references, unions and ``allOf``.

    `[{}]` where they form a cycle or are nested too deeply; none for False.
    """
    if not isinstance(schema, (dict, Mapping)):
        return [] if schema is False else [{}]
    if id(schema) in within or len(within) > _DEEPEST:
        return [{}]
    is_conditional = "if" in schema and "type" not in schema
    if COMPOSED.isdisjoint(schema) and not is_conditional:
        return [schema]
    within = (*within, id(schema))
    apart = COMPOSED | _CONDITIONAL if is_conditional else COMPOSED
    own = {keyword: stored for keyword, stored in schema.items() if keyword not in apart}
    parts = [resolve(schema["$ref"], root)] if "$ref" in schema else []
    sides: list[list[Schema]] = [
        [own],
        *(_expanded(each, root, within) for each in [*parts, *list_of(schema, "allOf")]),
    ]
    unions = list(filter(None, (list_of(schema, "anyOf"), list_of(schema, "oneOf"))))
    unions += [_cases(schema)] if is_conditional else []
    sides += [[one for each in some for one in _expanded(each, root, within)] for some in unions]
    return _product(sides)


_CONDITIONAL = frozenset({"if", "then", "else"})
_OF_OBJECTS = frozenset({"properties", "required", "patternProperties"})


def _cases(schema: Schema) -> list[object]:
    """Return the two schemas of which a value that fits ``if``, ``then`` and ``else`` fits one."""
    condition = schema["if"]
    otherwise: dict[str, object] = {"not": condition}
    if isinstance(condition, (dict, Mapping)) and condition.keys() <= _OF_OBJECTS:
        otherwise["type"] = "object"  # any other value fits such a condition
    return [
        {"allOf": [condition, schema.get("then", True)]},
        {"allOf": [otherwise, schema.get("else", True)]},
    ]


def _product(sides: Sequence[list[Schema]]) -> list[Schema]:
    """Return at most `MAX_ALTERNATIVES` merges of one schema of each side, without those that no value fits."""
    if len(sides) == 1:
        return sides[0][:MAX_ALTERNATIVES]
    made: list[Schema] = [{}]
    for side in sides:
        merged = (_merge_schemas(one, other) for one in made for other in side[:MAX_ALTERNATIVES])
        made = [each for each in merged if each is not None][:MAX_ALTERNATIVES]
    return made


def _merge_schemas(one: Schema, other: Schema) -> Schema | None:
    """Return two plain schemas as one; None if by their types and bounds no value fits both.

    Of a keyword without a rule in `_MERGES`, the first schema's value counts.
    """
    if not one or not other:
        return one or other
    made: dict[str, Any] = dict(one)
    for keyword, stored in other.items():
        if keyword not in made:
            made[keyword] = stored
        elif made[keyword] != stored and keyword in _MERGES:
            made[keyword] = _MERGES[keyword](made[keyword], stored)
    if made.get("type") == []:
        return None
    if _BOUNDS.isdisjoint(made):
        return made
    contrary = {kind for kind, *pair in _PAIRS if _are_contrary(made, *pair)}
    return _without_types(made, contrary) if contrary else made


def _are_contrary(schema: Schema, low: str, high: str) -> bool:
    """Return True if the keywords `low` and `high` are bounds that no number is between.

    False if one of them is missing.
    """
    least: Any = schema.get(low)
    most: Any = schema.get(high)
    if not _are_numbers(least, most):
        return False
    return bool(least >= most if "exclusive" in low + high else least > most)


_PAIRS = (
    ("number", "minimum", "maximum"), ("number", "exclusiveMinimum", "maximum"),
    ("number", "minimum", "exclusiveMaximum"), ("number", "exclusiveMinimum", "exclusiveMaximum"),
    ("string", "minLength", "maxLength"), ("array", "minItems", "maxItems"),
    ("object", "minProperties", "maxProperties"),
)  # fmt: skip
"""Types, and the bounds that no value of the type fits if the lower is above the upper."""
_BOUNDS = frozenset(word for _, *pair in _PAIRS for word in pair)


def _types(one: Any, other: Any) -> Any:
    """Return the type, or the list of several or no types, that both sides admit; an integer is also a number."""
    first, second = ([each] if isinstance(each, str) else list(each) for each in (one, other))
    both = [
        "integer" if each == "number" and each not in second else each
        for each in first
        if each in second or (each == "number" and "integer" in second) or (each == "integer" and "number" in second)
    ]  # fmt: skip
    return both[0] if len(both) == 1 else both


def _larger(one: Any, other: Any) -> Any:
    """Return the larger of two numbers; the first value if one is not a number."""
    return max(one, other, key=float) if _are_numbers(one, other) else one


def _smaller(one: Any, other: Any) -> Any:
    """Return the smaller of two numbers; the first value if one is not a number."""
    return min(one, other, key=float) if _are_numbers(one, other) else one


def _are_numbers(*values: object) -> bool:
    """Return True if all values are numbers; a boolean is not."""
    return all(isinstance(each, int | float) and not isinstance(each, bool) for each in values)


def _both(one: Any, other: Any) -> Any:
    """Return a schema that requires both."""
    return {"allOf": [one, other]}


def _by_name(one: Any, other: Any) -> Any:
    """Return two mappings of schemas as one; a common name requires both schemas."""
    return {**one, **{k: _both(one[k], v) if k in one else v for k, v in other.items()}}


def _by_place(one: Any, other: Any) -> Any:
    """Return two lists of schemas as one; a common position requires both schemas."""
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    return [
        _both(each, shorter[at]) if at < len(shorter) else each for at, each in enumerate(longer)
    ]


_MERGES: Mapping[str, Callable[[Any, Any], Any]] = {
    "type": _types,
    "enum": lambda one, other: [each for each in one if each in other],
    "required": lambda one, other: [*one, *(each for each in other if each not in one)],
    "properties": _by_name, "prefixItems": _by_place, "items": _both,
    "additionalProperties": lambda one, other: False if False in (one, other) else _both(one, other),
    "uniqueItems": lambda one, other: bool(one or other),
} | dict.fromkeys(
    ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), _larger
) | dict.fromkeys(
    ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), _smaller
)  # fmt: skip


_NARROWING = frozenset({"enum", "const", "not"})


def _without_refused_types(schema: Schema) -> Schema | None:
    """Return the schema without the types that its `not` refuses; None if no value is left."""
    refused = schema.get("not")
    if refused is True or refused == {}:
        return None
    if not isinstance(refused, (dict, Mapping)) or refused.keys() != {"type"}:
        return schema
    return _without_types(schema, set(_listed(refused["type"])))


def _without_types(schema: Schema, kinds: set[Any]) -> Schema | None:
    """Return the schema without some types and what concerns them; None if no type is left."""
    kinds = kinds | ({"integer"} if "number" in kinds else set())
    idle = {keyword for kind in kinds for keyword in _KEYWORDS_OF.get(kind, ())}
    left = {keyword: stored for keyword, stored in schema.items() if keyword not in idle}
    if "type" not in schema:
        return {"not": {"type": sorted(kinds)}, **left}
    types = [each for each in _listed(schema["type"]) if each not in kinds]
    return {**left, "type": types[0] if len(types) == 1 else types} if types else None


def _listed(types: Any) -> list[Any]:
    """Return types as a list."""
    return list(types) if isinstance(types, list) else [types]


_KEYWORDS_OF: Mapping[object, tuple[str, ...]] = {
    "string": ("format", "minLength", "maxLength", "pattern"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
    "array": (
        "items", "prefixItems", "minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains",
    ),
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
}  # fmt: skip
"""What says nothing of values of other types."""


def _drop_unfit_values(schema: Schema, root: Schema) -> Schema | None:
    """Return the schema with only those fixed values that the rest of it admits; None if it admits none.

    A longer list than `_MAX_OPTIONS` is not checked, and the schema returned unchanged.
    """
    if schema.get("enum") == []:
        return None
    if ("enum" not in schema and "const" not in schema) or len(schema) == 1:
        return schema
    options = allowed_values(schema)
    if "enum" in schema and "const" in schema:
        options = [schema["const"]]
    if len(options) > _MAX_OPTIONS:
        return schema
    fitting = [each for each in options if not violates(each, schema, root)]
    if len(fitting) == len(options) and not ("enum" in schema and "const" in schema):
        return schema
    rest = {k: v for k, v in schema.items() if k not in ("enum", "const")}
    return {**rest, "enum": fitting} if fitting else None


def schemas_at(schemas: Iterable[object], path: Path, root: Schema) -> list[object]:
    """Return all schemas that hold for the value at a path, without ``{}`` and False; unions are not entered.

    Args:
        schemas: Schemas for the value that the path begins at.
        path: Keys and indexes.
        root: The document that local references point into.
    """
    current = list(schemas)
    for key in path:
        children: list[Any] = []
        for each in holding_schemas(current, root):
            if "patternProperties" in each:
                children += _at(each, key)
            else:
                children.append(schema_at(each, key))
        current = list(filter(None, children))
    return current


def _at(schema: Schema, key: str | int) -> list[Any]:
    """Return the schemas for the value under a key or index, those of matching patterns too."""
    patterns = schema.get("patternProperties")
    if isinstance(key, int) or not isinstance(patterns, (dict, Mapping)):
        return [schema_at(schema, key)]
    known = properties_of(schema)
    own = [known[key]] if key in known else []
    matching = [each for pattern, each in patterns.items() if _matches(pattern, key)]
    return [*own, *matching] or [schema_at(schema, key)]


def _matches(pattern: str, key: str) -> bool:
    """Return True if a pattern is found in a key, in linear time; never for one that looks around."""
    validator = _pattern_validator(pattern)
    return validator is not None and validator.isinstance_python(key)


@lru_cache(64)
def _pattern_validator(pattern: str) -> SchemaValidator | None:
    """Return a validator for a pattern; None if it is invalid or cannot be matched in linear time."""
    try:
        return SchemaValidator(core_schema.str_schema(pattern=pattern))
    except SchemaError:
        return None


def holding_schemas(schemas: Iterable[object], root: Schema) -> list[Schema]:
    """Return schemas and all that hold with them, by reference and `allOf`, each once, without booleans."""
    waiting, found = list(schemas), dict[int, Schema]()
    for schema in waiting:  # which grows while it is read
        if not isinstance(schema, (dict, Mapping)) or id(schema) in found:
            continue
        found[id(schema)] = schema
        if "$ref" in schema:
            waiting.append(resolve(schema["$ref"], root))
        if "allOf" in schema:
            waiting += list_of(schema, "allOf")
    return list(found.values())


def own_parts(schemas: Iterable[object], root: Schema) -> list[Schema]:
    """Return each schema that holds for a value without the parts it refers to, each once."""
    return [
        {keyword: stored for keyword, stored in each.items() if keyword not in ("$ref", "allOf")}
        for each in holding_schemas(schemas, root)
    ]


def is_described(value: object, alternatives: Iterable[Schema], root: Schema) -> bool:
    """Return True if a value already fits the phrase of some alternative.

    Args:
        value: What was sent.
        alternatives: As `plain_alternatives` returns them.
        root: The document that local references point into.
    """
    return any(
        not violates(value, each, root) and (not isinstance(value, dict) or _has_keys(value, each))
        for each in alternatives
    )


def _has_keys(value: Mapping[str, object], schema: Schema) -> bool:
    """Return True if an object has the keys, and their fixed values, that a phrase would list."""
    known = properties_of(schema)
    for name in required_of(schema) or list(known):
        part = known.get(name)
        if name not in value:
            return False
        if isinstance(part, (dict, Mapping)) and "const" in part and value[name] != part["const"]:
            return False
    return True

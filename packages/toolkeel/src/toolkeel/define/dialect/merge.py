"""Arithmetic on schemas: both at once, one of several, and whether two can overlap.

Every answer is exact or None: what cannot be stated exactly is the caller's to report.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any

from toolkeel.define.dialect.normal_form import ANNOTATIONS, Node, Schema, name_of
from toolkeel.define.dialect.provider_facts import word_set
from toolkeel.define.subschemas import json_type, matches_type

_KEYWORDS_OF = {
    "string": "minLength maxLength pattern contentEncoding contentMediaType",
    "number integer": "minimum maximum exclusiveMinimum exclusiveMaximum multipleOf",
    "array": "items prefixItems minItems maxItems uniqueItems contains minContains maxContains"
    " unevaluatedItems",
    "object": "properties required additionalProperties patternProperties propertyNames"
    " minProperties maxProperties dependentRequired dependentSchemas unevaluatedProperties",
}
KEYWORD_TYPES = {
    word: word_set(types) for types, keywords in _KEYWORDS_OF.items() for word in word_set(keywords)
}
"""The types a keyword says anything about; those missing here concern every type."""

# keywords whose meaning depends on one another: one side must have them all
_GROUPS = (
    frozenset({"if", "then", "else"}),
    frozenset({"contains", "minContains", "maxContains"}),
    frozenset({"items", "prefixItems"}),
)


def types_of(node: Node) -> frozenset[str] | None:
    """Return the types that `node` itself admits, or None if it names none.

    >>> sorted(types_of({"enum": ["a", None]}))
    ['null', 'string']
    """
    if "const" in node:
        return frozenset({json_type(node["const"])})
    if "enum" in node:
        return frozenset(json_type(value) for value in node["enum"])
    kind = node.get("type")
    if isinstance(kind, str):
        return frozenset({kind})
    return frozenset(kind) if isinstance(kind, list) else None


def is_of(value: object, kind: str) -> bool:
    """Return True if a JSON value has a type: 1 is a number too, and 1.0 an integer."""
    full = isinstance(value, float) and value.is_integer()
    return matches_type(0 if full else value, kind)


def constrains(node: Mapping[str, Any]) -> bool:
    """Return True if `node` has any keyword besides annotations and ``$defs``."""
    return any(key not in ANNOTATIONS and key != "$defs" for key in node)


def json_equal(a: object, b: object) -> bool:
    """Compare JSON values: ``true`` does not equal 1."""
    return bool(hashable_json(a) == hashable_json(b))


def hashable_json(value: object) -> Any:
    """Return a hashable key of a JSON value, equal exactly where the values are."""
    if isinstance(value, dict):
        return ("object", frozenset((key, hashable_json(item)) for key, item in value.items()))
    if isinstance(value, list):
        return ("array", tuple(hashable_json(item) for item in value))
    return (isinstance(value, bool), value)


def conjoin(a: Schema, b: Schema) -> Schema | None:
    """Return one schema for "valid under both", or None if no single schema says that.

    Descriptions and examples are joined; title and default are `a`'s.

    >>> conjoin({"type": "integer", "minimum": 1}, {"minimum": 3, "description": "n"})
    {'type': 'integer', 'minimum': 3, 'description': 'n'}
    """
    if isinstance(a, bool):
        return b if a else False
    if isinstance(b, bool):
        return a if b else False
    if _tangled(a, b):
        return None
    result = dict(a)
    for key, value in b.items():
        if key not in result:
            result[key] = value
        elif not json_equal(result[key], value):
            combine = _COMBINE.get(key)
            merged = combine(result[key], value) if combine else None
            if merged is None:
                return None
            result[key] = merged
    return result


def _tangled(a: Node, b: Node) -> bool:
    """Return True if keywords of both schemas would change each other's meaning side by side."""
    for group in _GROUPS:
        mine, theirs = group & a.keys(), group & b.keys()
        if not mine or not theirs or mine == theirs == {"items"}:
            continue
        if mine != theirs or not all(json_equal(a[key], b[key]) for key in mine):
            return True
    return _catches(a, b) or _catches(b, a)


def _catches(a: Node, b: Node) -> bool:
    """Return True if `a` constrains additional properties that `b` names."""
    if a.get("additionalProperties", True) is True and "unevaluatedProperties" not in a:
        return False
    named = {*b.get("properties", ()), *b.get("patternProperties", ())}
    return bool(named - {*a.get("properties", ()), *a.get("patternProperties", ())})


def _join_text(a: str, b: str) -> str:
    """Return both texts on separate lines, or the longer if it contains the other."""
    return a if b in a else b if a in b else f"{a}\n{b}"


def _join_types(a: Any, b: Any) -> Any:
    """Return the types that both schemas admit, or None; an integer is also a number."""
    mine = [a] if isinstance(a, str) else a
    theirs = [b] if isinstance(b, str) else b
    both = [kind for kind in mine if kind in theirs]
    both += ["integer" for x, y in ((mine, theirs), (theirs, mine)) if _narrows(x, y, both)]
    return None if not both else both[0] if len(both) == 1 else both


def _narrows(mine: Sequence[str], theirs: Sequence[str], both: Sequence[str]) -> bool:
    """Return True if one side's integer narrows the other side's number."""
    return "integer" in mine and "number" in theirs and not {"integer", "number"} & {*both}


def _join_properties(a: Node, b: Node) -> Node | None:
    """Return the properties of both sides, common ones conjoined; None if that is impossible."""
    result = dict(a)
    for name, schema in b.items():
        merged = conjoin(result[name], schema) if name in result else schema
        if merged is None:
            return None
        result[name] = merged
    return result


def _join_lists(a: list[Any], b: list[Any]) -> list[Any]:
    """Return the items of both lists without repeats."""
    return [*a, *(item for item in b if not any(json_equal(item, other) for other in a))]


def _meet_lists(a: list[Any], b: list[Any]) -> list[Any] | None:
    """Return the items in both lists, or None if there are none."""
    return [item for item in a if any(json_equal(item, other) for other in b)] or None


def _multiple(a: Any, b: Any) -> Any:
    """Return the least common multiple of two integers, or None for other numbers."""
    return math.lcm(a, b) if isinstance(a, int) and isinstance(b, int) else None


def _first(a: Any, _: Any) -> Any:
    """Return the first of two values."""
    return a


_COMBINE: dict[str, Callable[[Any, Any], Any]] = {
    "description": _join_text,
    "title": _first,
    "default": _first,
    "deprecated": lambda a, b: a or b,
    "examples": _join_lists,
    "type": _join_types,
    "properties": _join_properties,
    "required": _join_lists,
    "enum": _meet_lists,
    "additionalProperties": conjoin,
    "items": conjoin,
    **dict.fromkeys(word_set("minimum exclusiveMinimum minLength minItems minProperties"), max),
    **dict.fromkeys(word_set("maximum exclusiveMaximum maxLength maxItems maxProperties"), min),
    "multipleOf": _multiple,
    "uniqueItems": lambda a, b: a or b,
}


def disjoint(branches: Iterable[Schema], defs: Mapping[str, Schema]) -> bool:
    """Return True if no value is valid under two branches, so that "one of" means "any of".

    Decided by types, by constants, or by a required property that is a different constant in
    each, as in a discriminated union.
    """
    found = [_follow(branch, defs) for branch in branches]
    return all(
        isinstance(a, dict) and isinstance(b, dict) and _apart(a, b, defs)
        for a, b in combinations(found, 2)
    )


def _follow(node: Schema, defs: Mapping[str, Schema]) -> Schema:
    """Return the schema that a chain of references ends at; True if it leads nowhere."""
    visited: set[str] = set()
    while isinstance(node, dict) and "$ref" in node and node["$ref"] not in visited:
        visited.add(node["$ref"])
        node = defs.get(name_of(node["$ref"]), True)
    return node


def _apart(a: Node, b: Node, defs: Mapping[str, Schema]) -> bool:
    """Return True if no value can fit both schemas, by type, constants or a tag."""
    mine, theirs = types_of(a), types_of(b)
    if mine is None or theirs is None:
        return False
    shared = _with_numbers(mine) & _with_numbers(theirs)
    if not shared:
        return True
    if _constants_apart(a, b):
        return True
    return shared == {"object"} and any(
        _tags_apart(a, b, name, defs)
        for name in {*a.get("required", ())} & {*b.get("required", ())}
    )


def _with_numbers(types: frozenset[str]) -> frozenset[str]:
    """Return the types, with both integer and number if either is there: 1.0 is an integer too."""
    return types | {"integer", "number"} if types & {"integer", "number"} else types


def _tags_apart(a: Node, b: Node, name: str, defs: Mapping[str, Schema]) -> bool:
    """Return True if a property is a different constant in each schema."""
    mine = _follow(a.get("properties", {}).get(name, True), defs)
    theirs = _follow(b.get("properties", {}).get(name, True), defs)
    return isinstance(mine, dict) and isinstance(theirs, dict) and _constants_apart(mine, theirs)


def _constants_apart(a: Node, b: Node) -> bool:
    """Return True if both schemas list their values and share none."""
    mine, theirs = constant_values(a), constant_values(b)
    return mine is not None and theirs is not None and _meet_lists(mine, theirs) is None


def constant_values(node: Node) -> list[Any] | None:
    """Return the only values that `node` admits, if it lists them."""
    if "const" in node:
        return [node["const"]]
    enum = node.get("enum")
    return enum if isinstance(enum, list) else None


def merge_objects(branches: Sequence[Node]) -> Node | None:
    """Return an object schema that admits what any branch admits, or None if a branch is no object.

    Properties of the same name become a union; required is what all of them require.

    >>> merge_objects([{"properties": {"a": {}}, "required": ["a"]}, {"properties": {"b": {}}}])
    {'type': 'object', 'properties': {'a': {}, 'b': {}}}
    """
    if any(types_of(branch) not in (None, frozenset({"object"})) for branch in branches):
        return None
    result: Node = {"type": "object", "properties": _collect_properties(branches)}
    first, *others = branches
    needed = [
        name
        for name in first.get("required", ())
        if all(name in other.get("required", ()) for other in others)
    ]
    if needed:
        result["required"] = needed
    if all(branch.get("additionalProperties") is False for branch in branches):
        result["additionalProperties"] = False
    return result


def _collect_properties(branches: Sequence[Node]) -> Node:
    """Collect the properties of all branches. Properties of one name become a union."""
    kinds: dict[str, list[Schema]] = {}
    for branch in branches:
        for name, schema in branch.get("properties", {}).items():
            kinds[name] = _join_lists(kinds.get(name, []), [schema])
    return {name: each[0] if len(each) == 1 else {"anyOf": each} for name, each in kinds.items()}


def admits_null(
    schema: Schema, defs: Mapping[str, Schema], seen: frozenset[str] = frozenset()
) -> bool:
    """Return True if null is valid, as far as types, constants, unions and references show."""
    if isinstance(schema, bool):
        return schema
    ref = schema.get("$ref")
    if ref in seen:
        return False
    if ref and not admits_null(defs.get(name_of(ref), True), defs, seen | {ref}):
        return False
    kinds = types_of(schema)
    if kinds is not None and "null" not in kinds:
        return False
    unions = [schema[word] for word in ("anyOf", "oneOf") if word in schema]
    return all(any(admits_null(one, defs, seen) for one in union) for union in unions) and all(
        admits_null(one, defs, seen) for one in schema.get("allOf", ())
    )


_SIMPLE = ("string", "integer", "number", "boolean")


def nullable(schema: Node) -> Node:
    """Return a schema that admits what `schema` does, and null, in a short spelling.

    `schema` must not admit null yet: that is not checked, and null would be listed twice.

    >>> nullable({"type": "string", "enum": ["a"]})
    {'type': ['string', 'null'], 'enum': ['a', None]}
    """
    simple = schema.get("type") in _SIMPLE and not {"anyOf", "oneOf", "allOf", "not"} & {*schema}
    if simple and "const" not in schema:
        result = {**schema, "type": [schema["type"], "null"]}
        if "enum" in schema:
            result["enum"] = [*schema["enum"], None]
        return result
    if schema.keys() <= {"anyOf", "description", "title", "default"} and "anyOf" in schema:
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    labels = ("title", "description", "default")
    outside: Node = {key: schema[key] for key in labels if key in schema}
    inside = {key: value for key, value in schema.items() if key not in outside}
    return {"anyOf": [inside, {"type": "null"}], **outside}

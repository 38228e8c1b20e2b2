"""Any JSON Schema → one plain spelling of it: 2020-12, JSON values only, references by name.

Every older spelling is removed afterwards (``definitions``, tuple-valued ``items``,
``dependencies``, boolean ``exclusiveMinimum``), each ``$ref`` is ``#/$defs/<name>``, and
``$defs`` holds just what the schema reaches. Nothing of this changes what is valid.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias
from urllib.parse import quote, unquote

from toolkeel.define.dialect.provider_facts import MAX_DEPTH, Loss, word_set
from toolkeel.define.subschemas import (
    MANY,
    NAMED,
    ONE,
    TYPES,
    WITH_SUBSCHEMAS,
    Location,
    children,
    json_pointer,
    target_of,
)
from toolkeel.errors import DefinitionError

Node: TypeAlias = dict[str, Any]
"""A schema as an object; any keyword may hold any JSON value."""

Schema: TypeAlias = Node | bool

_LEADING = WITH_SUBSCHEMAS | {"$ref"}
"""Keywords that lead to other schemas; most nodes have none."""
ANNOTATIONS = word_set(
    "title description default examples deprecated readOnly writeOnly discriminator"
)
_IDENTIFIERS = word_set("$schema $id id $anchor $comment $vocabulary $defs definitions")
_OLD_DRAFTS = ("draft-03", "draft-04", "draft-06", "draft-07")
_OLD_KEYWORDS = frozenset({"additionalItems", "dependencies"})
_RESPELLED = _OLD_KEYWORDS | word_set("items enum exclusiveMinimum exclusiveMaximum")
"""Keywords whose values are looked at, since older drafts intended other things by them."""


def escape_references(node: Node) -> Node:
    """Return a copy of `node` with each ``$ref`` at every level percent-encoded as a URI reference."""
    result = map_objects(node, escape_references)
    if isinstance(result.get("$ref"), str):
        result["$ref"] = quote(result["$ref"], safe="#/$%:?&=+,;@!*'()~.-_")
    return result


Where: TypeAlias = "tuple[Where, str | int] | str"
"""A place in a schema: the place around it and the key within that; a text is a place by itself."""

ROOT = "#"


def extend_place(where: Where, keys: Location) -> Where:
    """Return the place at `keys` below another."""
    for key in keys:
        where = (where, key)
    return where


def place_pointer(where: Where) -> str:
    """Convert a place to a JSON Pointer. Called only for a loss or an error.

    >>> place_pointer((("#", "properties"), "a/b"))
    '#/properties/a~1b'
    """
    keys: list[str | int] = []
    while not isinstance(where, str):
        where, key = where
        keys.append(key)
    return json_pointer(reversed(keys), where)


def json_copy(value: object) -> Any:
    """Return a deep copy of `value` in plain dicts and lists.

    Raises:
        DefinitionError: for anything that is not JSON, and for a value inside itself.
    """
    return _copy(value, ROOT, 0)


def _copy(value: object, where: Where, depth: int) -> Any:
    """Return a deep copy of a JSON value, with dicts for all mappings and lists for tuples.

    Raises:
        DefinitionError: naming the place of anything else: a key that is no text, NaN, too deep nesting.
    """
    if depth > 4 * MAX_DEPTH:
        place = place_pointer(where)[:80]
        raise DefinitionError(f"schema at {place}: nested too deeply, or inside itself")
    if isinstance(value, (dict, Mapping)):
        copy = {}
        for key, item in value.items():
            if not isinstance(key, str):
                raise DefinitionError(
                    f"schema at {place_pointer(where)}: the key {key!r} must be text"
                )
            copy[key] = item if type(item) is str else _copy(item, (where, key), depth + 1)
        return copy
    if isinstance(value, (list, tuple)):
        return [_copy(item, (where, i), depth + 1) for i, item in enumerate(value)]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise DefinitionError(
        f"schema at {place_pointer(where)}: {value!r:.60} is not a JSON value; write it as text, number, "
        "list, object, true, false or null"
    )


_SHAPES: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(
        NAMED | word_set("definitions dependencies dependentRequired"), ((dict,), "an object")
    ),
    **dict.fromkeys(word_set("anyOf oneOf allOf enum prefixItems required"), ((list,), "a list")),
    **dict.fromkeys(word_set("$ref title description format pattern"), ((str,), "text")),
    **dict.fromkeys(word_set("minimum maximum multipleOf"), ((int, float), "a number")),
    **dict.fromkeys(
        word_set("exclusiveMinimum exclusiveMaximum"), ((int, float, bool), "a number")
    ),
    **dict.fromkeys(
        word_set("minLength maxLength minItems maxItems minProperties maxProperties"),
        ((int, float), "a number"),
    ),
    "items": ((dict, bool, list), "a schema"),
    "type": ((str, list), "text or list"),
}
"""What a keyword's value must be, for those that the rules look into."""


def check_shape(schema: Any, where: Where = ROOT, types: frozenset[str] | None = TYPES) -> None:
    """Raise unless `schema` has the shape of a JSON Schema at every level.

    Args:
        schema: A JSON value.
        where: Where it is, for the report.
        types: The values ``type`` may have; None: any text.

    Raises:
        DefinitionError: naming the place, the keyword and what belongs there.
    """
    if isinstance(schema, bool):
        return
    if not isinstance(schema, dict):
        raise DefinitionError(
            f"schema at {place_pointer(where)}: it must be an object or a boolean"
        )
    for keyword, value in schema.items():
        if keyword in _SHAPES:
            _check_keyword(keyword, value, where, types)
    if _LEADING.isdisjoint(schema):
        return
    for keys, child in children(schema):
        if keys[0] != "dependencies" or not isinstance(child, list):
            check_shape(child, extend_place(where, keys), types)


def _check_keyword(keyword: str, value: Any, where: Where, types: frozenset[str] | None) -> None:
    """Raise `DefinitionError` if a keyword has a value of a wrong kind, or ``type`` one not in `types`; None: any text."""
    kinds, called = _SHAPES[keyword]
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        raise DefinitionError(
            f"schema at {place_pointer(where)}: {keyword} must be {called}, not {value!r:.40}"
        )
    if keyword in ("anyOf", "oneOf", "allOf", "type") and not value:
        raise DefinitionError(
            f"schema at {place_pointer(where)}: {keyword} is empty, so nothing is valid"
        )
    if keyword in ("type", "required"):
        _check_words(keyword, value, where, types)


def _check_words(keyword: str, value: Any, where: Where, types: frozenset[str] | None) -> None:
    """Raise `DefinitionError` for anything but texts in ``required`` or ``type``, or a type not in `types`; None: any."""
    for word in [value] if isinstance(value, str) else value:
        if not isinstance(word, str):
            raise DefinitionError(
                f"schema at {place_pointer(where)}: {keyword} lists {word!r:.40}, which is no text"
            )
        if keyword == "type" and types is not None and word not in types:
            raise DefinitionError(
                f"schema at {place_pointer(where)}: no type {word!r}; there are "
                f"{', '.join(sorted(types))}"
            )


def map_children(node: Node, change: Callable[[Any, Location], Any]) -> Node:
    """Return a copy of `node` with `change(child, keys)` in place of each schema directly inside it."""
    result = dict(node)
    for key, value in node.items():
        if key in NAMED and isinstance(value, dict):
            result[key] = {name: change(child, (key, name)) for name, child in value.items()}
        elif key in MANY and isinstance(value, list):
            result[key] = [change(child, (key, i)) for i, child in enumerate(value)]
        elif key in ONE and isinstance(value, (dict, bool)):
            result[key] = change(value, (key,))
    return result


def map_objects(node: Node, change: Callable[[Node], Node]) -> Node:
    """Return a copy of `node` with `change(child)` in place of each schema directly inside it but booleans."""
    return map_children(node, lambda child, _: change(child) if isinstance(child, dict) else child)


def normalize(schema: Mapping[str, object]) -> tuple[Node, tuple[Loss, ...]]:
    """Return `schema` in the normal form, and the references that lead nowhere.

    Raises:
        DefinitionError: the schema is malformed, or nested too deeply.

    >>> normalize({"definitions": {"A": {"type": "string"}}, "$ref": "#/definitions/A"})[0]
    {'$ref': '#/$defs/A', '$defs': {'A': {'type': 'string'}}}
    """
    root: Node = json_copy(schema)
    check_shape(root)
    old = any(draft in str(root.get("$schema", "")) for draft in _OLD_DRAFTS)
    names, losses = _name_references(root)
    result = _upgrade(root, names, old, 0)
    assert isinstance(result, dict)
    order = [*root.get("$defs", ()), *root.get("definitions", ())]
    refs = {name: ref for ref, name in names.items() if name}
    if refs:
        result["$defs"] = {
            name: _upgrade(_resolve(root, refs[name]), names, old, 0)
            for name in sorted(refs, key=lambda name: order.index(name) if name in order else -1)
        }
    return result, losses


def _name_references(root: Node) -> tuple[dict[str, str], tuple[Loss, ...]]:
    """Return a name for each ``$ref`` that `root` reaches ("" without a target), and losses for these."""
    names: dict[str, str] = {}
    losses = []
    todo: list[tuple[Where, Any]] = [(ROOT, root)]
    while todo:
        where, node = todo.pop()
        if not isinstance(node, dict):
            continue
        ref = node.get("$ref")
        if isinstance(ref, str) and ref not in names:
            target = _resolve(root, ref)
            names[ref] = _free(ref, set(names.values())) if target is not None else ""
            todo.append((ref, target))
        if isinstance(ref, str) and not names[ref]:
            why = f"{ref!r} is not in this schema; any value fits"
            losses.append(Loss(place_pointer(where), "$ref", why))
        for keys, child in children(node):
            leads = isinstance(child, dict) and not _LEADING.isdisjoint(child)
            if leads and keys[0] not in ("$defs", "definitions"):
                todo.append((extend_place(where, keys), child))
    return names, tuple(losses)


def _free(ref: str, taken: set[str]) -> str:
    """Return an unused name for a reference's target that needs no escaping (RFC 3986)."""
    base = re.sub(r"[^A-Za-z0-9_.-]+", "_", unquote(ref.rsplit("/", 1)[-1])).strip("_") or "Def"
    name, n = base, 1
    while name in taken:
        n += 1
        name = f"{base}{n}"
    return name


def _resolve(root: Node, ref: str) -> Any:
    """Return the schema that the URI `ref` points to inside `root`, or None."""
    at = target_of(unquote(ref), root)
    return at if isinstance(at, (dict, bool)) else None


def _upgrade(node: Any, names: Mapping[str, str], old: bool, depth: int) -> Schema:
    """Return a schema in the newest spelling, with references by name, at every level.

    Raises `DefinitionError` for a part that is not a schema, or nested too deeply.

    Args:
        node: The schema.
        names: Names of definitions by their references.
        old: True for draft-07 and before, where only annotations count beside ``$ref``.
        depth: Number of schemas around it.
    """
    if isinstance(node, bool):
        return node
    if not isinstance(node, dict):
        raise DefinitionError(f"a schema must be an object or a boolean, not {node!r:.60}")
    if depth > MAX_DEPTH:
        raise DefinitionError("the schema is nested too deeply")
    if not _RESPELLED.isdisjoint(node):
        node = _modern_keywords(node)
    if "$ref" in node:
        node = _modern_reference(node, names, old)
    if not _IDENTIFIERS.isdisjoint(node):
        node = {key: value for key, value in node.items() if key not in _IDENTIFIERS}
    return map_children(node, lambda child, _: _upgrade(child, names, old, depth + 1))


def _modern_reference(node: Node, names: Mapping[str, str], old: bool) -> Node:
    """Return the node with its reference by the new name; without any for an unknown one.

    If `old` is True (up to draft-07), only annotations remain beside it.
    """
    name = names.get(node["$ref"], "")
    rest = {key: value for key, value in node.items() if key != "$ref"}
    if old:
        rest = {key: value for key, value in rest.items() if key in ANNOTATIONS}
    return {"$ref": ref_to(name), **rest} if name else rest


def _modern_keywords(node: Node) -> Node:
    """Return one node, not those inside it, with older keywords replaced by those of 2020-12.

    Replaces a list in ``items``, ``additionalItems``, ``dependencies`` and boolean
    ``exclusiveMinimum`` and ``exclusiveMaximum``. An empty ``enum`` becomes ``"not": {}``. Identifiers
    and ``definitions`` stay.
    """
    result = {key: value for key, value in node.items() if key not in _OLD_KEYWORDS}
    if isinstance(node.get("items"), list):
        result["prefixItems"] = result.pop("items")
        if "additionalItems" in node:
            result["items"] = node["additionalItems"]
    if node.get("enum") == []:
        result = {**{key: result[key] for key in result if key != "enum"}, "not": {}}
    for name, dependency in (node.get("dependencies") or {}).items():
        word = "dependentRequired" if isinstance(dependency, list) else "dependentSchemas"
        result[word] = {**result.get(word, {}), name: dependency}
    for exclusive, inclusive in _BOUNDS.items():
        switch = result.pop(exclusive) if isinstance(result.get(exclusive), bool) else False
        if switch and inclusive in result:
            result[exclusive] = result.pop(inclusive)
    return result


_BOUNDS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}


def ref_to(name: str) -> str:
    """Return the reference to definition `name`."""
    return f"#/$defs/{name}"


def name_of(ref: str) -> str:
    """Return the name of the definition that a normalized reference points to."""
    return ref.removeprefix("#/$defs/")

"""The rules that turn a normalised schema into one a provider takes.

`rewrite` goes down the schema once. At each node it first settles the structure (references,
intersections, unions: `unions`), then applies `RULES` in order; each rule searches up one
fact of the dialect and does nothing if the provider takes the node as it is. What cannot be
cannot be expressed moves into the description, where the model still reads it, and into the report.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from toolkeel.define.dialect.conversion import Conversion, SchemaPlace, add_note
from toolkeel.define.dialect.merge import (
    admits_null,
    conjoin,
    is_of,
    json_equal,
    nullable,
    types_of,
)
from toolkeel.define.dialect.normal_form import Node, Schema, map_children
from toolkeel.define.dialect.unions import rewrite_structure
from toolkeel.define.subschemas import Location

Rewrite = Callable[[Node, SchemaPlace, Conversion], Node]


def rewrite_constants(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a schema with a ``const`` that the dialect refuses as ``enum``, and an ``enum`` only of accepted values."""
    if "const" in node and not run.dialect.takes("const"):
        rest = {key: value for key, value in node.items() if key not in ("const", "enum")}
        node = {**rest, "enum": [node["const"]]}
    if not run.dialect.string_enums or "enum" not in node:
        return node
    fitting = [one for one in node["enum"] if any(is_of(one, kind) for kind in _declared(node))]
    node = {**node, "enum": fitting} if fitting else node
    kinds = types_of(node)
    if kinds == frozenset({"string"}) and _declared(node) in ([], ["string"]):
        return node
    typed = {**node, "type": next(iter(kinds))} if kinds and len(kinds) == 1 else node
    return _other_enum(typed, place, run)


def _other_enum(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a schema with its enum, which lists no texts, as bounds if those say the same, else as a note.

    Both are reported as a loss, except for all booleans and for null.
    """
    values = node["enum"]
    rest = {key: value for key, value in node.items() if key != "enum"}
    if rest.get("type") == "boolean" and {*values} == {True, False}:
        return rest
    if rest.get("type") == "integer" and _in_a_row(values):
        bounded = conjoin(rest, {"minimum": min(values), "maximum": max(values)})
        run.report_loss(place, "enum", "said as minimum and maximum, which admit the same integers")
        return bounded if isinstance(bounded, dict) else rest
    if rest.get("type") == "null":
        return rest
    run.report_loss(place, "enum", f"{run.dialect.provider} takes enums of strings only")
    return add_note(rest, "enum", values)


def _in_a_row(values: list[Any]) -> bool:
    """Return True if the values are consecutive integers, in any order."""
    full = all(isinstance(value, int) for value in values)
    return full and max(values) - min(values) == len({*values}) - 1


def add_type(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a schema with the ``type`` that it implies, if it states none; report a guess as a loss.

    A schema for any value stays as it is, and cannot be strict.
    """
    if not run.dialect.typed or {"type", "anyOf", "$ref"} & node.keys():
        return node
    kinds = types_of(node)
    if kinds:
        spelled = sorted(kinds - {"integer"} if "number" in kinds else kinds)
        if len(spelled) > 1 and not run.dialect.type_lists:
            return node
        return {**node, "type": spelled[0] if len(spelled) == 1 else spelled}
    for kind, signs in (("object", ("properties",)), ("array", ("items", "prefixItems"))):
        if any(sign in node for sign in signs):
            run.report_loss(place, "type", f"{run.dialect.provider} wants a type; taken for {kind}")
            return {**node, "type": kind}
    run.refuse_strict(
        place, "any value", f"{run.dialect.provider} wants a type, and every one fits here"
    )
    return node


_INCLUSIVE = {"exclusiveMinimum": ("minimum", 1), "exclusiveMaximum": ("maximum", -1)}


def rewrite_bounds(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a schema with exclusive bounds of integers as inclusive ones, if the dialect has only these."""
    for exclusive, (inclusive, step) in _INCLUSIVE.items():
        limit = node.get(exclusive)
        if run.dialect.takes(exclusive) or not run.dialect.takes(inclusive):
            continue
        if isinstance(limit, int) and node.get("type") == "integer":
            rest = {key: value for key, value in node.items() if key != exclusive}
            moved = conjoin(rest, {inclusive: limit + step})
            node = moved if isinstance(moved, dict) else node
    return node


def rewrite_arrays(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return an array's schema as the dialect takes it: without ``prefixItems``, or with ``items`` always.

    A dialect that takes both as they are gets it unchanged.
    """
    if run.dialect.keywords is None and not run.dialect.explicit:
        return node
    if node.get("items") is False:
        prefix = node.get("prefixItems", [])
        rest = {key: value for key, value in node.items() if key != "items"}
        node = {**rest, "maxItems": min(len(prefix), node.get("maxItems", len(prefix)))}
    if "prefixItems" in node:
        node = _tuple(node, place, run)
    if run.dialect.explicit and "array" in _declared(node) and node.get("items", True) is True:
        node = {**node, "items": {}}
    return node


def _tuple(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a tuple's schema with ``items`` for all positions, ``prefixItems`` only if accepted; report losses."""
    prefix = node["prefixItems"]
    closed = node.get("maxItems", len(prefix) + 1) <= len(prefix)
    retained = run.dialect.takes("prefixItems")
    if retained and not (closed and run.dialect.explicit):
        return node
    rest = [] if closed else [node.get("items", True)]
    kinds: list[Any] = []
    for kind in (*prefix, *rest):
        if not any(json_equal(kind, other) for other in kinds):
            kinds.append(kind)
    node = {**node, "items": _any_item(kinds)}
    if retained:
        return node
    if len(kinds) > 1:
        return run.drop_keyword(node, "prefixItems", place)
    return {key: value for key, value in node.items() if key != "prefixItems"}


def _any_item(kinds: list[Any]) -> Any:
    """Return a schema that admits an item of any of these kinds."""
    if any(kind is True or kind == {} for kind in kinds):
        return {}
    return kinds[0] if len(kinds) == 1 else {"anyOf": kinds}


_AROUND = re.compile(r"\(\?(?:[=!]|<[=!])|\\[1-9]|\\[kbB]|\(\?P=")


def rewrite_strings(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a schema with formats, patterns and ``minItems`` that the provider refuses in its description."""
    formats = run.dialect.formats
    if formats is not None and "format" in node and node["format"] not in formats:
        node = run.drop_keyword(node, "format", place)
    if not run.dialect.lookaround and _AROUND.search(str(node.get("pattern", ""))):
        node = run.drop_keyword(node, "pattern", place)
    allowed = run.dialect.min_items
    if allowed is not None and node.get("minItems", 0) not in allowed:
        node = run.drop_keyword(node, "minItems", place)
    return node


def rewrite_objects(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return an object's schema with ``properties``, closed, and requiring only listed names, as the provider needs.

    A schema of another type is returned unchanged.
    """
    if "object" not in _declared(node):
        return node
    if run.dialect.closed:
        node = _close(node, place, run)
    if (run.dialect.explicit or place.root) and "properties" not in node:
        node = {**node, "properties": {}}
    if run.dialect.keywords is not None:
        node = _known_required(node, place, run)
    return node


def _declared(node: Node) -> list[str]:
    """Return the types that a node names, as a list."""
    kinds = node.get("type", [])
    return [kinds] if isinstance(kinds, str) else kinds


def _close(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return an object schema that refuses other keys; report a loss, or refuse strict mode."""
    rest = node.get("additionalProperties")
    if rest is False:
        return node
    closed = {**node, "additionalProperties": False}
    if rest is None and node.get("unevaluatedProperties") is False:
        return {key: value for key, value in closed.items() if key != "unevaluatedProperties"}
    if rest is None and (node.get("properties") or place.root):
        run.report_loss(
            place,
            "additionalProperties",
            f"{run.dialect.provider} closes every object; properties not listed cannot be sent",
        )
        return closed
    run.refuse_strict(
        place,
        "additionalProperties",
        f"{run.dialect.provider} takes no open objects; closing this one would change the tool",
    )
    return closed


def _known_required(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a schema whose ``required`` names listed properties only.

    If others were dropped, refuse strict mode and add a note of all names to the description.
    """
    unknown = [name for name in node.get("required", ()) if name not in node.get("properties", ())]
    if not unknown:
        return node
    run.refuse_strict(place, "required", f"{unknown[0]!r} is required but not listed as a property")
    retained = [name for name in node["required"] if name not in unknown]
    return add_note({**node, "required": retained}, "required", node["required"])


def drop_unknown_keywords(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a schema without the keywords that the provider does not accept, by `Conversion.drop_keyword`."""
    if run.dialect.keywords is None:
        return node
    for keyword in [key for key in node if key not in run.dialect.keywords]:
        # null is how strict mode leaves a property unset
        if run.dialect.all_required and keyword == "default" and node[keyword] is None:
            node = {key: value for key, value in node.items() if key != keyword}
        else:
            node = run.drop_keyword(node, keyword, place)
    return node


RULES: tuple[Rewrite, ...] = (
    rewrite_constants,
    add_type,
    rewrite_bounds,
    rewrite_arrays,
    rewrite_strings,
    rewrite_objects,
    drop_unknown_keywords,
)
"""In this order: values before types, types before what depends on them, the rest last."""


def rewrite(node: Schema, place: SchemaPlace, run: Conversion) -> Schema:
    """Return `node`, and everything in it, as `run.dialect` accepts it; losses are reported in `run`.

    Raises `DefinitionError` if references and unions refer to each other without end.
    """
    if isinstance(node, bool):
        return _boolean(node, place, run)
    run.nodes += 1
    node, place = rewrite_structure(node, place, run)
    for rule in RULES:
        node = rule(node, place, run)
    result = map_children(node, lambda child, keys: _inner(child, keys, place, run))
    return _require_all(node, result, place, run) if run.dialect.all_required else result


def _require_all(before: Node, after: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a schema with every property required; those that were optional admit null."""
    if "properties" not in after:
        return after
    optional = after["properties"].keys() - {*before.get("required", ())}
    properties = {
        name: _optional(before["properties"][name], schema, place.child("properties", name), run)
        if name in optional
        else schema
        for name, schema in after["properties"].items()
    }
    return {**after, "properties": properties, "required": list(properties)}


def _optional(before: Schema, after: Schema, place: SchemaPlace, run: Conversion) -> Schema:
    """Return the schema of an optional property so that it admits null; a boolean unchanged.

    Reports a loss if null was a value already and is not the default.
    """
    if isinstance(before, bool) or isinstance(after, bool):
        return after
    if not admits_null(before, run.defs):
        return nullable(after)
    if before.get("default", 0) is not None:
        why = f"{run.dialect.provider} cannot leave this unset: null is sent, and means null"
        run.report_loss(place, "default", why)
    return after


def _inner(child: Schema, keys: Location, place: SchemaPlace, run: Conversion) -> Schema:
    """Rewrite a schema inside a node and everything in it.

    A boolean that is a switch, as of ``additionalProperties``, is returned unchanged; other booleans
    are rewritten as schemas. A scalar to which no rule applies is copied.
    """
    if isinstance(child, bool):
        return child if keys[0] in _SWITCHES else rewrite(child, place.child(*keys), run)
    known = run.dialect.keywords
    if _is_leaf(child) and (known is None or known.issuperset(child)):
        run.nodes += 1
        return dict(child)
    return rewrite(child, place.child(*keys), run)


def _is_leaf(node: Node) -> bool:
    """Return True if no rule applies to a node: a scalar with keywords of `_LEAF` alone, as most nodes are."""
    kind = node.get("type")
    return isinstance(kind, str) and kind in _SCALARS and _LEAF.issuperset(node)


_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})
_LEAF = frozenset({"type", "title", "description", "default"})

_SWITCHES = frozenset({"additionalProperties", "unevaluatedProperties", "unevaluatedItems"})
"""Where a boolean is a switch and not a schema."""


def _boolean(node: bool, place: SchemaPlace, run: Conversion) -> Schema:
    """Return a boolean schema unchanged if the dialect takes all keywords, else a schema of any value.

    Refuse strict mode for False.
    """
    if run.dialect.keywords is None:
        return node
    if not node:
        run.refuse_strict(place, "false", f"{run.dialect.provider} cannot forbid a value")
    return rewrite({}, place, run)

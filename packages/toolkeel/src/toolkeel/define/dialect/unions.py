"""The structure of one node: references, intersections, unions and null.

`rewrite_structure` applies `STEPS` until none has anything left to do. A step answers None where the
dialect takes the node as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from toolkeel.define.dialect.conversion import Conversion, SchemaPlace, add_note
from toolkeel.define.dialect.merge import (
    KEYWORD_TYPES,
    conjoin,
    constant_values,
    constrains,
    disjoint,
    is_of,
    merge_objects,
    types_of,
)
from toolkeel.define.dialect.normal_form import ANNOTATIONS, Node, Schema, name_of
from toolkeel.define.dialect.provider_facts import MAX_EXPANSIONS, MAX_NODES
from toolkeel.errors import DefinitionError

_MAX_STEPS = 200

Step = Callable[[Node, SchemaPlace, Conversion], tuple[Node, SchemaPlace] | None]


def rewrite_structure(node: Node, place: SchemaPlace, run: Conversion) -> tuple[Node, SchemaPlace]:
    """Rewrite the structure of `node` for the dialect. Return it with its new place.

    Raises:
        DefinitionError: references and unions refer to each other without end.
    """
    for _ in range(_MAX_STEPS):
        for step in STEPS:
            changed = step(node, place, run)
            if changed is not None:
                node, place = changed
                break
        else:
            return node, place
    raise DefinitionError(f"schema at {place.path}: its references and unions never end")


def without_keywords(node: Node, *keys: str) -> Node:
    """Return `node` without some keywords."""
    return {key: value for key, value in node.items() if key not in keys}


def _as_node(schema: Schema, place: SchemaPlace, run: Conversion) -> Node:
    """Return a schema as a dict; report a loss for False, which no provider expresses."""
    if isinstance(schema, dict):
        return schema
    if not schema:
        run.report_loss(place, "false", "no value fits here, which the provider cannot be told")
    return {}


# — references —


def rewrite_references(
    node: Node, place: SchemaPlace, run: Conversion
) -> tuple[Node, SchemaPlace] | None:
    """Return a definition in place of a reference that the dialect does not accept, and its place; else None.

    A recursive one that only has neighbors too many becomes the one branch of an ``anyOf``.
    """
    if "$ref" not in node or run.dialect.refs == "keep":
        return None
    name, rest = name_of(node["$ref"]), without_keywords(node, "$ref")
    if run.dialect.refs == "inline":
        return expand_definition(rest, name, place, run)
    if name in run.recursive and not run.dialect.recursion:
        run.refuse_strict(place, "$ref", f"{run.dialect.provider} takes no recursive definitions")
    if not rest.keys() - {"$defs"}:
        return None
    if name in run.recursive or run.nodes > MAX_NODES:
        rest = _constraints_in_description(rest, place, run)
        return {"anyOf": [{"$ref": node["$ref"]}], **rest}, place
    return expand_definition(rest, name, place, run)


def expand_definition(
    rest: Node, name: str, place: SchemaPlace, run: Conversion
) -> tuple[Node, SchemaPlace]:
    """Return definition `name` merged with its neighbors `rest`, and its place.

    Neighbors that cannot be merged go to the description. An unknown name admits any value.

    A definition inside itself is put in place `MAX_EXPANSIONS` times, then only its type, which is
    reported as a loss; so is the rest of a schema of more than `MAX_NODES`.
    """
    target = run.defs.get(name, True)
    if place.inside.count(name) >= MAX_EXPANSIONS or run.nodes > MAX_NODES:
        run.report_loss(
            place, "$ref", f"{run.dialect.provider} takes no $ref; {name} inside itself ends here"
        )
        kinds = types_of(target) if isinstance(target, dict) else None
        known = {"type": next(iter(kinds))} if kinds and len(kinds) == 1 else {}
        return add_note(
            {**_constraints_in_description(rest, place, run), **known}, "like", name
        ), place
    merged = conjoin(rest, target)
    if merged is None:
        merged = conjoin(_constraints_in_description(rest, place, run), target)
    return _as_node(merged if merged is not None else target, place, run), place.in_definition(name)


def _constraints_in_description(rest: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return `rest` with its constraints moved to the description."""
    for keyword in [key for key in rest if key not in ANNOTATIONS and key != "$defs"]:
        rest = run.drop_keyword(rest, keyword, place)
    return rest


def follow_reference(
    schema: Schema, place: SchemaPlace, run: Conversion
) -> tuple[Schema, SchemaPlace] | None:
    """Return `schema` with its own references followed, and its place.

    None if that would not end, or if what stands beside a reference cannot be merged with it.
    """
    while isinstance(schema, dict) and "$ref" in schema:
        name = name_of(schema["$ref"])
        if place.inside.count(name) >= MAX_EXPANSIONS:
            return None
        merged = conjoin(without_keywords(schema, "$ref"), run.defs.get(name, True))
        if merged is None:
            return None
        schema, place = merged, place.in_definition(name)
    return schema, place


# — intersections —


def rewrite_all_of(
    node: Node, place: SchemaPlace, run: Conversion
) -> tuple[Node, SchemaPlace] | None:
    """Return a schema with ``allOf`` merged into it, and its place; None without ``allOf``, or if that is accepted."""
    if "allOf" not in node or run.dialect.takes("allOf"):
        return None
    return merge_all_of(node, place, run)


def merge_all_of(node: Node, place: SchemaPlace, run: Conversion) -> tuple[Node, SchemaPlace]:
    """Return `node` merged with the branches of its ``allOf``, or with them in words, and its place."""
    merged: Schema = without_keywords(node, "allOf")
    inside = place
    for branch in node["allOf"]:
        both = conjoin(merged, branch)
        if both is None:
            mine, theirs = (
                follow_reference(merged, inside, run),
                follow_reference(branch, inside, run),
            )
            both = conjoin(mine[0], theirs[0]) if mine and theirs else None
            if mine and theirs and both is not None:
                inside = SchemaPlace(place.where, (*mine[1].inside, *theirs[1].inside), place.root)
        if both is None:
            return run.drop_keyword(node, "allOf", place), place
        merged = both
    return _as_node(merged, place, run), inside


# — unions —


def rewrite_one_of(
    node: Node, place: SchemaPlace, run: Conversion
) -> tuple[Node, SchemaPlace] | None:
    """Return ``oneOf`` as ``anyOf``, and the place; None without ``oneOf``, or if that is accepted.

    Both are equal if no value fits two branches; else the difference is reported as a loss. Beside
    ``anyOf``, ``oneOf`` is dropped, which is a loss, too.
    """
    if "oneOf" not in node or run.dialect.takes("oneOf"):
        return None
    if "anyOf" in node:
        return run.drop_keyword(node, "oneOf", place), place
    if not disjoint(node["oneOf"], run.defs):
        run.report_loss(
            place, "oneOf", f"{run.dialect.provider} takes anyOf only: more than one may fit"
        )
    return {**without_keywords(node, "oneOf", "discriminator"), "anyOf": node["oneOf"]}, place


def rewrite_null(
    node: Node, place: SchemaPlace, run: Conversion
) -> tuple[Node, SchemaPlace] | None:
    """Return a schema with "or null" as the provider spells it, and its place; None if nothing changes.

    Reports a loss if the provider cannot be told of null.
    """
    if run.dialect.null == "type":
        return None
    if "anyOf" in node:
        others = [branch for branch in node["anyOf"] if not _is_null(branch)]
        if others and len(others) < len(node["anyOf"]):
            return _mark_null({**node, "anyOf": others}, place, run), place
    kinds = node.get("type")
    if isinstance(kinds, list) and "null" in kinds and len(kinds) > 1:
        others = [kind for kind in kinds if kind != "null"]
        return _mark_null({**node, "type": others}, place, run), place
    enum = node.get("enum")
    if isinstance(enum, list) and None in enum and len(enum) > 1:
        values = [value for value in enum if value is not None]
        node = {**node, "enum": values}
        allowed = "null" in (kinds or ("null",))
        return (_mark_null(node, place, run) if allowed else node), place
    return None


def _is_null(branch: Schema) -> bool:
    """Return True if a branch admits only null."""
    return isinstance(branch, dict) and types_of(branch) == frozenset({"null"})


def _mark_null(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a node marked as nullable; report a loss if the dialect cannot say so."""
    if run.dialect.null == "flag":
        return {**node, "nullable": True}
    run.report_loss(place, "null", f"{run.dialect.provider} takes no null")
    return node


def unwrap_single_branch(
    node: Node, place: SchemaPlace, run: Conversion
) -> tuple[Node, SchemaPlace] | None:
    """Return a union of one branch merged with it, and the place; None for others, or if that fails."""
    if run.dialect.any_of == "keep" or len(node.get("anyOf", ())) != 1:
        return None
    branch, rest = node["anyOf"][0], without_keywords(node, "anyOf")
    if run.dialect.refs == "alone" and rest and isinstance(branch, dict) and "$ref" in branch:
        return None
    merged = conjoin(rest, branch)
    return None if merged is None else (_as_node(merged, place, run), place)


def move_into_branches(
    node: Node, place: SchemaPlace, run: Conversion
) -> tuple[Node, SchemaPlace] | None:
    """Return ``anyOf`` with the keywords that must not stay beside it in its branches, and the place.

    None if there are none.
    """
    if "anyOf" not in node or run.dialect.any_of not in ("annotations", "alone"):
        return None
    rest = without_keywords(node, "anyOf", "$defs")
    if run.dialect.any_of == "annotations":
        moved = {key: value for key, value in rest.items() if key not in ANNOTATIONS}
    else:
        for keyword in [key for key in rest if key in ANNOTATIONS and key != "description"]:
            node = run.drop_keyword(node, keyword, place)
        moved = without_keywords(node, "anyOf", "$defs")
    if not moved:
        return (node, place) if len(node) <= len(rest) else None
    branches = [conjoin(moved, branch) for branch in node["anyOf"]]
    if None in branches:
        return _unmovable(node, moved, place, run), place
    return {**without_keywords(node, *moved), "anyOf": branches}, place


def _unmovable(node: Node, moved: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return a union whose constraints fit no branch, with them in words; refuse strict mode."""
    run.refuse_strict(place, "anyOf", f"{run.dialect.provider} takes no constraints beside anyOf")
    for keyword in [key for key in moved if key not in ("description", "nullable")]:
        node = run.drop_keyword(node, keyword, place)
    return node


def split_types(node: Node, place: SchemaPlace, run: Conversion) -> tuple[Node, SchemaPlace] | None:
    """Return a list of types as a union of one type each, and the place; None without a list, or if it is accepted.

    So is an ``enum`` of several types, where the dialect takes only texts in one.
    """
    kinds = node.get("type")
    if isinstance(kinds, str) or run.dialect.type_lists or "anyOf" in node:
        return None
    if kinds is None:
        kinds = sorted(types_of(node) or ()) if run.dialect.string_enums else []
        if len(kinds) < 2 or "enum" not in node:
            return None
    if len(kinds) == 1:
        return {**node, "type": kinds[0]}, place
    branches = [branch for kind in kinds if (branch := _of_type(node, kind)) is not None]
    if not branches:  # no value fits, and a union of nothing is no schema
        return {**node, "type": kinds[0]}, place
    outside = {key: node[key] for key in node if key in _OUTSIDE and key != "type"}
    return {**outside, "anyOf": branches}, place


_OUTSIDE = ANNOTATIONS | {"$defs", "nullable", "type"}
"""Keywords that stay beside the union, or are what makes it."""


def _of_type(node: Node, kind: str) -> Node | None:
    """Return the part of `node` that describes one type, or None if it admits none of that type."""
    branch: Node = {"type": kind}
    for key, value in node.items():
        if key == "enum":
            fitting = [item for item in value if is_of(item, kind)]
            if not fitting:
                return None
            branch[key] = fitting
        elif key == "format":
            if kind == "string" or value in _NUMBER_FORMATS:
                branch[key] = value
        elif key not in _OUTSIDE and kind in KEYWORD_TYPES.get(key, (kind,)):
            branch[key] = value
    return branch


_NUMBER_FORMATS = frozenset({"float", "double", "int32", "int64"})


def widen_union(node: Node, place: SchemaPlace, run: Conversion) -> tuple[Node, SchemaPlace] | None:
    """Return one wider schema for a union, where no union is accepted, and its place; None elsewhere."""
    if "anyOf" not in node or run.dialect.any_of != "none":
        return None
    rest = without_keywords(node, "anyOf")
    found = [follow_reference(branch, place, run) for branch in node["anyOf"]]
    branches = [one[0] for one in found if one and isinstance(one[0], dict)]
    inside = place
    if len(branches) == len(found):
        values = [
            constant_values(one)
            for one in branches
            if not constrains(without_keywords(one, *_LISTS))
        ]
        if len(values) == len(found) and all(value is not None for value in values):
            merged = conjoin(rest, _merge_enums(values))
            if isinstance(merged, dict):
                return merged, place
        inside = SchemaPlace(
            place.where, sum((one[1].inside for one in found if one), ()), place.root
        )
    return _widest(node, branches if len(branches) == len(found) else [], run, inside), inside


_LISTS = ("const", "enum", "type")


def _merge_enums(lists: list[list[Any] | None]) -> Node:
    """Return one enum with the values of all lists in order, and their type if they share one."""
    enum: Node = {"enum": [item for values in lists for item in values or ()]}
    kinds = types_of(enum)
    return {"type": next(iter(kinds)), **enum} if kinds and len(kinds) == 1 else enum


def _widest(node: Node, branches: list[Node], run: Conversion, place: SchemaPlace) -> Node:
    """Return a node with the union in its description instead, and with the branches' type if they have the same."""
    message = run.drop_keyword({**node, "anyOf": branches or node["anyOf"]}, "anyOf", place)
    kinds = {types_of(branch) for branch in branches}
    if len(kinds) != 1 or None in kinds:
        return message
    (shared,) = kinds
    is_object = shared == frozenset({"object"})
    wide = merge_objects(branches) if is_object else {"type": sorted(shared or ())}
    merged = conjoin(message, wide) if wide is not None else None
    return merged if isinstance(merged, dict) else message


STEPS: tuple[Step, ...] = (
    rewrite_references, rewrite_all_of, rewrite_one_of, rewrite_null, unwrap_single_branch, move_into_branches, split_types, widen_union,
)  # fmt: skip
"""In this order: what hides structure first, then unions, then what is left of types."""

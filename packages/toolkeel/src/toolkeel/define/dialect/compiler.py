"""JSON Schema → what a provider accepts, with a report of what was lost.

One pure function: `compile_schema`. It spells the schema one way (`normal_form`), makes its
root an object, and goes down it with the rules (`rewrite_rules`) that look up the provider's
facts (`provider_facts`). A schema that strict mode cannot say is compiled for the provider's
ordinary mode instead, and the report says why.

>>> compiled = compile_schema(
...     {"type": "object", "properties": {"n": {"type": "integer"}}, "additionalProperties": False},
...     "openai-strict",
... )
>>> compiled.schema["properties"], compiled.schema["required"], compiled.strict
({'n': {'type': ['integer', 'null']}}, ['n'], True)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolkeel._records.record import record
from toolkeel.define.dialect.conversion import Conversion, SchemaPlace, add_note
from toolkeel.define.dialect.merge import conjoin, constant_values, merge_objects, types_of
from toolkeel.define.dialect.normal_form import (
    ROOT,
    Node,
    Schema,
    check_shape,
    escape_references,
    json_copy,
    map_objects,
    name_of,
    normalize,
)
from toolkeel.define.dialect.provider_facts import DIALECTS, LIMITS, Dialect, Loss, Sizes, Target
from toolkeel.define.dialect.rewrite_rules import rewrite
from toolkeel.define.dialect.unions import (
    expand_definition,
    follow_reference,
    merge_all_of,
    without_keywords,
)
from toolkeel.define.names import hashed_name
from toolkeel.define.subschemas import all_subschemas, children
from toolkeel.errors import DefinitionError

_VERBATIM: frozenset[Target] = frozenset({"mcp", "plain"})


@record
class Compiled:
    """A schema in the form that one provider accepts.

    Args:
        schema: What to send.
        strict: True if it is fit for the provider's strict mode.
        losses: Constraints that it no longer expresses.
        keys: Wire name by own name, of the properties whose own names the provider does not
            accept; `restore_keys` renames them back in arguments.
    """

    schema: dict[str, Any]
    strict: bool
    losses: tuple[Loss, ...]
    keys: Mapping[str, str]


def compile_schema(schema: Mapping[str, object], target: Target) -> Compiled:
    """Compile a tool's parameters for one target.

    A schema that does not fit a strict target is compiled for the target's `fallback`; `strict` is
    then False, and `losses` say why.

    Args:
        schema: A JSON Schema (any draft from 4 on) of an object. Never changed.
        target: A row of `toolkeel.define.dialect.provider_facts.DIALECTS`.

    Raises:
        DefinitionError: if `schema` is not JSON, not a schema, or admits no object, or there is no
            such target.
    """
    if target not in DIALECTS:
        raise DefinitionError(f"no target {target!r}; there are {', '.join(DIALECTS)}")
    if target in _VERBATIM:
        return _verbatim(schema)
    dialect = DIALECTS[target]
    normal, astray = normalize(schema)
    run = Conversion(dialect, normal.get("$defs", {}))
    for loss in astray:
        run.losses[loss] = None
    place = SchemaPlace(ROOT, root=True)
    root = _flatten_root(normal, place, run)
    if dialect.refs == "inline":
        root = without_keywords(root, "$defs")
    result = rewrite(root, place, run)
    assert isinstance(result, dict)
    result = _prune(result)
    if target in LIMITS:
        _check_limits(result, LIMITS[target], place, run)
    if run.refusals and dialect.fallback:
        plain = compile_schema(schema, dialect.fallback)
        return Compiled(plain.schema, False, (*run.refusals, *plain.losses), plain.keys)
    keys = _wire_keys(result, dialect)
    if keys:
        result = _rename(result, keys, dialect)
    return Compiled(result, dialect.fallback is not None, tuple(run.losses), keys)


def _verbatim(schema: Mapping[str, object]) -> Compiled:
    """Return a copy of a schema with root type object and percent-encoded references, for targets without limits.

    Raises `DefinitionError` if it is not JSON, not a schema, or admits no object.
    """
    result = json_copy(schema)
    check_shape(result)
    return Compiled(_object_type(escape_references(result)), False, (), {})


def _object_type(node: Node) -> Node:
    """Return `node` with the one type object, or raise `DefinitionError` if it excludes objects."""
    kinds = types_of(node) or {"object"}
    if "object" not in kinds:
        raise DefinitionError(
            f"a tool's parameters must be an object, not {' or '.join(sorted(kinds))}; wrap it: "
            "{'type': 'object', 'properties': {'value': ...}, 'required': ['value']}"
        )
    return {**node, "type": "object"} if "type" in node else {"type": "object", **node}


def _flatten_root(node: Node, place: SchemaPlace, run: Conversion) -> Node:
    """Return the parameters as one plain object schema, or raise DefinitionError if they are no object.

    Most providers require that.
    """
    while "$ref" in node:
        node, place = expand_definition(
            without_keywords(node, "$ref"), name_of(node["$ref"]), place, run
        )
    refused = run.dialect.root_refused
    if "allOf" in node and "allOf" in refused:
        node, place = merge_all_of(node, place, run)
        if "$ref" in node:
            return _flatten_root(node, place, run)
    for union in ("anyOf", "oneOf"):
        if union in node and union in refused:
            node = _merge_root(node, union, place, run)
    for keyword in sorted(refused & node.keys()):
        node = run.drop_keyword(node, keyword, place)
    return _object_type(node)


def _merge_root(node: Node, union: str, place: SchemaPlace, run: Conversion) -> Node:
    """Return one object instead of a union of parameters; the description shows the union as JSON.

    If a branch is no object, no branch's properties are taken. Report the loss, and refuse strict
    mode where the dialect has a fallback.
    """
    why = f"{run.dialect.provider} takes no union as a tool's parameters"
    run.report_loss(
        place, union, f"{why}; it is merged into one object and told in the description"
    )
    if run.dialect.fallback:
        run.refuse_strict(place, union, why)
    branches = [_resolve_branch(branch, place, run) for branch in node[union]]
    known = [branch for branch in branches if branch is not None]
    rest = add_note(without_keywords(node, union, "discriminator"), union, known or node[union])
    wide = merge_objects(known) if len(known) == len(branches) else None
    if wide is None:
        return rest
    merged = conjoin(rest, wide)
    if isinstance(merged, dict):
        return merged
    properties = {**wide["properties"], **rest.get("properties", {})}
    required = [*rest.get("required", ()), *wide.get("required", ())]
    return {**rest, "properties": properties, "required": list(dict.fromkeys(required))}


def _resolve_branch(branch: Schema, place: SchemaPlace, run: Conversion) -> Node | None:
    """Return a union's branch with references followed and intersections merged; None for a boolean or a failure."""
    found = follow_reference(branch, place, run)
    if found is None or isinstance(found[0], bool):
        return None
    node, inside = found[0], found[1]
    return merge_all_of(node, inside, run)[0] if "allOf" in node else node


def _prune(root: Node) -> Node:
    """Return `root` with only those definitions that it refers to."""
    defs = root.get("$defs", {})
    used: set[str] = set()
    todo: list[Node] = [without_keywords(root, "$defs")]
    while todo:
        for node in all_subschemas(todo.pop()):
            name = name_of(node.get("$ref", ""))
            if name in defs and name not in used:
                used.add(name)
                if isinstance(defs[name], dict):
                    todo.append(defs[name])
    retained = {name: schema for name, schema in defs.items() if name in used}
    rest = without_keywords(root, "$defs")
    return {**rest, "$defs": retained} if retained else rest


# — size —


def _check_limits(root: Node, limits: Sizes, place: SchemaPlace, run: Conversion) -> None:
    """Refuse strict mode for a schema that exceeds the provider's size limits."""
    nodes = list(all_subschemas(root))
    names = [name for node in nodes for name in node.get("properties", ())]
    values = [value for node in nodes for value in constant_values(node) or ()]
    words = [*names, *root.get("$defs", ()), *(v for v in values if isinstance(v, str))]
    for what, found, most in (
        ("properties", len(names), limits.properties),
        ("depth", _depth(root), limits.depth),
        ("enum", len(values), limits.enum_values),
        ("size", sum(map(len, words)), limits.characters),
    ):
        if found > most:
            why = f"{run.dialect.provider} takes at most {most}, and here are {found}"
            run.refuse_strict(place, what, why)


def _depth(schema: Schema) -> int:
    """Return the number of levels of nested objects and arrays, plus one for the values inside; 0 for a boolean."""
    if isinstance(schema, bool):
        return 0
    nested = {"properties", "items", "prefixItems"}
    return max(
        (_depth(child) + (1 if keys[0] in nested else 0) for keys, child in children(schema)),
        default=1,
    )


# — property names —


def _wire_keys(root: Node, dialect: Dialect) -> dict[str, str]:
    """Return wire names of the properties whose own names the provider does not accept.

    Each contains a hash, so that it equals no key of the caller's own.
    """
    if dialect.keys is None:
        return {}
    own = {
        name: None
        for node in all_subschemas(root)
        for name in (*node.get("properties", ()), *node.get("required", ()))
    }
    policy = dialect.keys
    return {name: hashed_name(name, policy) for name in own if not policy.accepts(name)}


def _rename(node: Node, keys: Mapping[str, str], dialect: Dialect) -> Node:
    """Return a schema with its properties under their wire names, in ``required``, defaults and enums too.

    The title or description of each states the original name.
    """
    result = map_objects(node, lambda child: _rename(child, keys, dialect))
    if "properties" in result:
        result["properties"] = {
            keys.get(name, name): _named(child, name, dialect) if name in keys else child
            for name, child in result["properties"].items()
        }
    if "required" in result:
        result["required"] = [keys.get(name, name) for name in result["required"]]
    for word in _WITH_NAMES & result.keys():
        result[word] = _swap(result[word], keys, deep=word != "dependentSchemas")
    return result


_WITH_NAMES = {
    "dependentRequired", "dependentSchemas", "default", "const", "enum", "examples"
}  # fmt: skip
"""Keywords that hold names of properties, beside those that describe them."""


def _named(schema: Schema, name: str, dialect: Dialect) -> Schema:
    """Return a property's schema with its original name as title, or in its description; a reference stays as it is."""
    if isinstance(schema, bool) or ("title" in schema and schema["title"] == name):
        return schema
    if dialect.any_of == "alone" and "anyOf" in schema:
        return {**schema, "anyOf": [_named(branch, name, dialect) for branch in schema["anyOf"]]}
    if dialect.takes("title") and "title" not in schema and "$ref" not in schema:
        return {"title": name, **schema}
    return add_note(schema, "name", name) if "$ref" not in schema else schema


def _swap(value: Any, keys: Mapping[str, str], *, deep: bool) -> Any:
    """Return a value with its keys renamed, at every level if `deep`."""
    if isinstance(value, dict):
        return {
            keys.get(key, key): _swap(item, keys, deep=deep) if deep else item
            for key, item in value.items()
        }
    if isinstance(value, list) and deep:
        return [_swap(item, keys, deep=True) for item in value]
    return value


def restore_keys(arguments: Any, keys: Mapping[str, str]) -> Any:
    """Return arguments with the tool's own property names, at every level.

    Args:
        arguments: A parsed JSON value, as a model sent it.
        keys: `Compiled.keys`.

    >>> restore_keys({"p_22cf3c76": "北京"}, {"城市": "p_22cf3c76"})
    {'城市': '北京'}
    """
    if not keys:
        return arguments
    return _swap(arguments, {wire: own for own, wire in keys.items()}, deep=True)

"""The alternatives of a JSON Schema, what it refers to, and its sibling keywords."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
TOGETHER = 50
"""Maximum number of ``allOf`` members that are merged; validation checks the others."""


def split_alternatives(schema: Any, root: Schema) -> tuple[Schema, list[Schema], bool]:
    """Split a schema into itself, its alternatives without null, and True if null is one.

    Args:
        schema: The schema of a value. A single alternative is merged into the schema. Alternatives of an
            object also get its own properties; those that only list required fields are dropped, and
            validation checks them.
        root: The document that ``$ref`` points into.
    """
    own = _resolve(schema, root)
    each_of = [_resolve(each, root) for each in own.get("anyOf") or own.get("oneOf") or ()]
    some = [each for each in each_of if each.get("type") != "null"]
    nullable = len(some) < len(each_of)
    beside = {key: value for key, value in own.items() if key not in ("anyOf", "oneOf")}
    if len(some) == 1:
        return _merge_schemas(some[0], beside), [], nullable
    if own.get("type") == "object":
        some = [_merge_schemas(beside, each) for each in some if "properties" in each]
    return own, some, nullable


def _resolve(schema: Any, root: Schema) -> Schema:
    """Merge a schema with what it refers to, and with its ``allOf``."""
    own = _dereference(schema, root)
    for each in islice(own.get("allOf") or (), TOGETHER):
        own = _merge_schemas(_dereference(each, root), own)
    return own


def _merge_schemas(one: Schema, other: Schema) -> Schema:
    """Merge two schemas of one value; keywords of the second win."""
    made = {**one, **other}
    if "properties" in one and "properties" in other:
        made["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        made["required"] = [*one["required"], *other["required"]]
    return made


def _dereference(schema: Any, root: Schema) -> Schema:
    """Merge a schema with what it refers to. Its own keywords win."""
    for _ in range(8):
        ref = schema.get("$ref") if isinstance(schema, Mapping) else None
        if not isinstance(ref, str):
            break
        node: Any = root
        for step in ref.removeprefix("#").split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            node = node.get(step) if isinstance(node, Mapping) else None
        rest = {key: value for key, value in schema.items() if key != "$ref"}
        schema = {**node, **rest} if isinstance(node, Mapping) else rest
    return schema if isinstance(schema, Mapping) else {}

"""The alternatives of a JSON Schema, what it refers to, and its sibling keywords."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, TypeAlias

Schema: TypeAlias = Mapping[str, Any]
TOGETHER = 50
"""How many schemas a value's may be made of (``allOf``); others are left to who checks."""


def parted(schema: Any, root: Schema) -> tuple[Schema, list[Schema], bool]:
    """Split a schema into itself, its alternatives without null, and True if null is one.

    Args:
        schema: Of a value. One alternative is no choice; of those beside fields of an object each
            has these, too, and those that only say which of them are required are left to who checks.
        root: The whole, to which it may refer.
    """
    own = _resolved(schema, root)
    each_of = [_resolved(each, root) for each in own.get("anyOf") or own.get("oneOf") or ()]
    some = [each for each in each_of if each.get("type") != "null"]
    nullable = len(some) < len(each_of)
    beside = {key: value for key, value in own.items() if key not in ("anyOf", "oneOf")}
    if len(some) == 1:
        return _joined(some[0], beside), [], nullable
    if own.get("type") == "object":
        some = [_joined(beside, each) for each in some if "properties" in each]
    return own, some, nullable


def _resolved(schema: Any, root: Schema) -> Schema:
    """Merge a schema with what it refers to, and with its ``allOf``."""
    own = _referred(schema, root)
    for each in islice(own.get("allOf") or (), TOGETHER):
        own = _joined(_referred(each, root), own)
    return own


def _joined(one: Schema, other: Schema) -> Schema:
    """Two schemas of one value, as one. The other's words count."""
    made = {**one, **other}
    if "properties" in one and "properties" in other:
        made["properties"] = {**one["properties"], **other["properties"]}
    if "required" in one and "required" in other:
        made["required"] = [*one["required"], *other["required"]]
    return made


def _referred(schema: Any, root: Schema) -> Schema:
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

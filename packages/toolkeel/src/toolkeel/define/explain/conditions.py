"""Schemas that hold for a value because of what was sent beside it: conditions and unions around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from toolkeel.define.explain.conjunction import holding_schemas, schemas_at
from toolkeel.define.explain.validation_errors import value_at
from toolkeel.define.subschemas import (
    Schema,
    all_subschemas,
    is_allowed_value,
    list_of,
    properties_of,
    required_of,
    resolve,
)

Path = tuple[str | int, ...]
_KEYWORDS = frozenset({"dependentSchemas", "if", "anyOf", "oneOf"})


class Conditions:
    """Finder of the schemas of one document that hold under a condition.

    Args:
        root: The document that local references point into.
    """

    __slots__ = ("_exists", "_root", "_unions")

    def __init__(self, root: Schema) -> None:
        self._root = root
        self._exists = any(not _KEYWORDS.isdisjoint(each) for each in all_subschemas(root))
        self._unions: dict[tuple[int, ...], tuple[Schema, object]] = {}

    def at(self, schemas: Sequence[object], value: object, path: Path) -> list[object]:
        """Return the schemas that hold at a path because of other values sent beside it.

        These are of conditions (``if``, ``dependentSchemas``) and of the union branches those values fit.

        Args:
            schemas: Schemas for the value that the path begins at.
            value: That value.
            path: Keys and indexes to a value, which may be missing.
        """
        found: list[object] = []
        current: list[object] = list(schemas) if self._exists else []
        for depth, key in enumerate(path):
            if not current or not isinstance(value, (dict, list)):
                break
            inner = path[depth:]
            for each in holding_schemas(current, self._root):
                found += schemas_at(self._required_by(each, value), inner, self._root)
                found += self._of_unions(each, value, inner)
            current = schemas_at(current, (key,), self._root)
            value = value_at(value, (key,))
        return found

    def _required_by(self, schema: Schema, value: object) -> Iterator[object]:
        """Yield the schemas that a schema's conditions make hold for a value."""
        dependent = schema.get("dependentSchemas")
        for name, each in dependent.items() if isinstance(dependent, Mapping) else ():
            if isinstance(value, dict) and name in value:
                yield each
        if "if" in schema:
            yield schema.get("then" if self._is_valid(schema["if"], value) else "else")

    def _is_valid(self, condition: object, value: object) -> bool:
        """Return True if a value satisfies the schema of a condition; False if that does not compile."""
        import jsonschema_rs  # long imported, by whoever compiled the schema

        if not isinstance(condition, Mapping):
            return condition is not False
        known = {key: self._root[key] for key in ("$defs", "definitions") if key in self._root}
        try:
            return jsonschema_rs.is_valid({**known, **condition}, value, validate_formats=False)
        except (ValueError, jsonschema_rs.ReferencingError):
            return False

    def _of_unions(self, schema: Schema, value: object, path: Path) -> Iterator[Schema]:
        """Yield what the branches of a schema's unions that may be meant expect at a path."""
        for keyword in ("anyOf", "oneOf"):
            branches = list_of(schema, keyword)
            meant = [each for each in branches if self._may_be_meant(each, value)] or branches
            parts = [schemas_at([each], path, self._root) for each in meant]
            if not parts or not all(parts):
                continue  # one of them expects nothing there
            key = tuple(id(each) for part in parts for each in (*part, None))
            if key not in self._unions:
                self._unions[key] = ({"anyOf": [{"allOf": part} for part in parts]}, parts)
            yield self._unions[key][0]

    def _may_be_meant(self, branch: object, value: object) -> bool:
        """Return True if an object has a branch's required keys and fixed values; always for other values."""
        target: Any = branch
        if isinstance(branch, Mapping) and "$ref" in branch:
            target = resolve(branch["$ref"], self._root)
        if not isinstance(target, Mapping) or not isinstance(value, dict):
            return True
        known: Mapping[str, Any] = properties_of(target)
        return all(name in value for name in required_of(target)) and all(
            is_allowed_value(value[name], each)
            for name, each in known.items()
            if name in value and isinstance(each, Mapping) and ("const" in each or "enum" in each)
        )

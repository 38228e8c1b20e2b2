"""Arguments no one but the body shall see: where they are, and how the rest searches without them.

A schema says which they are, by ``"writeOnly": true`` or ``"format": "password"``. So the marker
`Secret`, pydantic's `SecretStr`, and the schemas of tools from elsewhere all mean the same.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pydantic_core import to_json

from toolkeel._common.redact_secrets import MASK
from toolkeel.define.subschemas import (
    COMPOSED,
    IN_PLACE,
    all_subschemas,
    applicable_schemas,
    resolve,
    schema_at,
)

Path = tuple[str | int, ...]
Hide = Callable[[object, object], object]
_IN_PLACE = IN_PLACE - {"dependentSchemas"}


class Secret:
    """Marker of a parameter whose values are masked: ``Annotated[str, Secret()]``.

    The body gets the real value. Events, approvals, error texts and logs show ``***``. The class
    or an instance will do; pydantic's `SecretStr` is masked without it.
    """

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core_schema), "writeOnly": True}


def mask_of(schema: Mapping[str, object]) -> Mask | None:
    """Return the mask for the secrets in a tool's arguments, or None if it has none."""
    return Mask(schema) if has_secret(schema) else None


def has_secret(schema: Mapping[str, object]) -> bool:
    """Return True if a schema, or one within it, marks a value as secret."""
    return any(map(_is_secret, all_subschemas(schema)))


def _is_secret(schema: object) -> bool:
    """Return True if a schema itself marks its value as secret."""
    if not isinstance(schema, Mapping):
        return False
    return schema.get("writeOnly") is True or schema.get("format") == "password"


class Mask:
    """Mask for the secrets of one schema.

    Keys that the schema does not know are hidden as well: they may be misspelt.

    Args:
        schema: JSON Schema of the arguments.
    """

    __slots__ = ("_root",)

    def __init__(self, schema: Mapping[str, object]) -> None:
        self._root = schema

    def apply(self, arguments: object) -> Any:
        """Return a copy of the JSON data with ``***`` in place of each secret."""
        return self._walk(arguments, arguments, [self._root], lambda value, _: MASK)

    def restore(self, masked: object, original: object) -> Any:
        """Return a copy of masked, perhaps edited, data with each ``***`` replaced by its original secret.

        Args:
            masked: Result of `apply`, perhaps edited.
            original: Argument of `apply`.
        """

        def shown(value: object, was: object) -> object:
            """Return the original of a masked value, or an edited value unchanged."""
            return was if value == MASK else value

        return self._walk(masked, original, [self._root], shown)

    def secret_texts(self, arguments: object) -> list[str]:
        """Return all secrets in JSON data as texts, numbers too."""
        found: list[str] = []
        self._walk(
            arguments, arguments, [self._root], lambda value, _: found.extend(collect_texts(value))
        )
        return found

    def is_secret(self, path: Path) -> bool:
        """Return True if the value at a path is a secret or may contain one, or the schema does not know the path."""
        schemas: list[object] = [self._root]
        for part in path:
            schemas = self._child_schemas(schemas, part)
            if self._hidden(schemas):
                return True
        return self._may_be_secret(schemas)

    # — walking data and schemas side by side —

    def _walk(self, value: object, other: object, schemas: list[object], hide: Hide) -> Any:
        """Return `value` with `hide(secret, its counterpart in other)` in place of each secret."""
        if self._hidden(schemas):
            return hide(value, other)
        if isinstance(value, Mapping):
            known = other if isinstance(other, Mapping) else {}
            return {
                k: self._walk(v, known.get(k, v), self._child_schemas(schemas, k), hide)
                for k, v in value.items()
            }
        if isinstance(value, list | tuple):
            items = other if isinstance(other, list | tuple) else ()
            return [
                self._walk(
                    v, items[i] if i < len(items) else v, self._child_schemas(schemas, i), hide
                )
                for i, v in enumerate(value)
            ]
        return value

    def _hidden(self, schemas: list[object]) -> bool:
        """Return True if no schema is known for a place, or one marks it as secret.

        A text that encodes a secret is one, too.
        """
        return not schemas or any(
            _is_secret(each)
            or ("contentSchema" in each and self._may_be_secret([each["contentSchema"]]))
            for each in self._applicable(schemas)
            if isinstance(each, Mapping)
        )

    def _applicable(self, schemas: list[object]) -> Iterator[object]:
        """Yield the schemas that apply at the same place: references and branches, too."""
        return applicable_schemas(schemas, self._root, _IN_PLACE)

    def _child_schemas(self, schemas: list[object], part: str | int) -> list[object]:
        """Return the schemas of the value under a key or index, or an empty list if unknown."""
        found: list[object] = []
        for schema in self._applicable(schemas):
            if not isinstance(schema, Mapping):
                found.append(True)
            elif isinstance(part, int):
                stated = schema_at(schema, part)
                found += (
                    [stated] if stated is not None else [True] * _is_unconstrained(schema, "array")
                )
            else:
                found += _schemas_of_key(schema, part)
        return found

    def _may_be_secret(self, schemas: list[object]) -> bool:
        """Return True if these schemas allow a secret at their place or below."""
        waiting, visited = list(schemas), set()
        while waiting:
            for schema in self._applicable([waiting.pop()]):
                if not isinstance(schema, Mapping) or id(schema) in visited:
                    continue
                visited.add(id(schema))
                inner = list(all_subschemas(schema))
                if any(map(_is_secret, inner)):
                    return True
                references = [each["$ref"] for each in inner if "$ref" in each]
                waiting += [resolve(reference, self._root) for reference in references]
        return False


def _schemas_of_key(schema: Mapping[str, object], key: str) -> list[object]:
    """Return the schemas for a key's value.

    All patterns count, so that nothing is shown by mistake.
    """
    properties = schema.get("properties")
    if isinstance(properties, Mapping) and key in properties:
        return [properties[key]]
    found: list[object] = []
    patterns = schema.get("patternProperties")
    if isinstance(patterns, Mapping):  # whichever matches: rather hidden than shown
        found += patterns.values()
    more = schema.get("additionalProperties")
    if isinstance(more, Mapping) or more is True:
        found.append(more)
    elif more is None and not (properties or patterns) and _is_unconstrained(schema, "object"):
        found.append(True)
    return found


def _is_unconstrained(schema: Mapping[str, object], kind: str) -> bool:
    """Return True if a schema itself admits any value of a type, whatever its branches say."""
    wanted = schema.get("type")
    if wanted is None:
        return not (COMPOSED & schema.keys())
    return wanted == kind or (isinstance(wanted, list) and kind in wanted)


def collect_texts(value: object) -> Iterator[str]:
    """Yield every text in a value but "", and every number as JSON writes it; no keys."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from collect_texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from collect_texts(item)
    elif not (value is None or isinstance(value, bool)):
        yield to_json(value, fallback=str).decode()


def secret_texts(value: object, depth: int = 4) -> Iterator[str]:
    """Yield the texts in a value that a program injects, `depth` levels into containers, dataclasses and models.

    >>> sorted(secret_texts({"token": "abc", "raw": b"xyz", "retries": 3}))
    ['abc', 'xyz']
    """
    if isinstance(value, str):
        yield value
    elif isinstance(value, bytes | bytearray):
        yield value.decode("utf-8", "replace")
    elif (reveal := getattr(value, "get_secret_value", None)) is not None and depth:
        yield from secret_texts(reveal(), depth - 1)
    elif depth:
        for part in _parts(value):
            yield from secret_texts(part, depth - 1)


def declared_texts(value: object, depth: int = 4) -> Iterator[str]:
    """Yield the texts in a value that its types declare to be secrets, such as pydantic's `SecretStr`."""
    if (reveal := getattr(value, "get_secret_value", None)) is not None and depth:
        yield from secret_texts(reveal(), depth - 1)
    elif depth and not isinstance(value, str | bytes | bytearray):
        for part in _parts(value):
            yield from declared_texts(part, depth - 1)


def _parts(value: object) -> Iterable[object]:
    """Return the values inside a container, dataclass or model; none for anything else."""
    if isinstance(value, Mapping):
        return list(value.values())
    if isinstance(value, list | tuple | set | frozenset):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    if hasattr(type(value), "model_fields"):
        return list(vars(value).values())
    return ()

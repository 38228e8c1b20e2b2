"""Marks of the keywords that pydantic enforces, from which those that an author added can be told.

The author of a type can advertise more than pydantic checks, by ``json_schema_extra``, `WithJsonSchema` or
code of their own. So the generator marks what it wrote itself for a type of pydantic-core; a keyword that
is not marked was added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from toolkeel.define.subschemas import COMPOSED, WITH_SUBSCHEMAS, Schema

MARK = "x-enforced"
"""Lists, while a schema is made, the keywords that pydantic enforces as they are advertised."""

ENFORCED_TYPES = frozenset([
    "bool", "int", "float", "fraction", "decimal", "str", "bytes", "date", "time", "datetime",
    "timedelta", "literal", "enum", "list", "deque", "tuple", "set", "frozenset", "generator", "dict",
    "frozendict", "ordered-dict", "counter", "typed-dict", "model-fields", "dataclass-args",
    "arguments", "named-tuple", "json", "url", "multi-host-url", "uuid", "complex",
])  # fmt: skip
"""Types of pydantic-core whose JSON Schema contains nothing that an author added."""

_TEXTS = frozenset([
    "path", "file-path", "directory-path", "regex", "ipv4", "ipv6", "ipv4network", "ipv6network",
    "ipv4interface", "ipv6interface",
])  # fmt: skip
"""Formats whose types take nothing but text; `IPvAnyAddress` is made of an integer, too."""

_RESTRICTING = WITH_SUBSCHEMAS - {"contentSchema", "$defs", "definitions"} | frozenset([
    "$ref", "type", "enum", "const", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum",
    "exclusiveMaximum", "minLength", "maxLength", "pattern", "minItems", "maxItems", "uniqueItems",
    "minContains", "maxContains", "minProperties", "maxProperties", "required", "dependentRequired",
])  # fmt: skip


def enforced(method: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """Return a generator's method that marks what it returns as enforced."""

    def marked(schema: Any) -> dict[str, Any]:
        """Return the marked JSON Schema of a core schema."""
        made = method(schema)
        extra = _class_extra(schema)
        if callable(extra):  # which keywords it changed is unknown
            return made
        return mark_enforced(made, frozenset(extra or ()))

    return marked


def mark_enforced(made: dict[str, Any], added: frozenset[str] = frozenset()) -> dict[str, Any]:
    """Return a JSON Schema with a mark of its keywords; one that says nothing has none.

    Args:
        made: The schema.
        added: Keywords that are not marked.
    """
    if "anyOf" in made:
        return {**made, "anyOf": [mark_enforced(branch, added) for branch in made["anyOf"]]}
    if not made or "$ref" in made:
        return made
    return {**made, MARK: sorted(text for key, text in _statements(made) if key not in added)}


def added_keywords(part: dict[str, Any]) -> set[str]:
    """Remove the mark of a schema, in place, and return the keywords that pydantic does not enforce."""
    mark = part.pop(MARK, None)
    added = {key for key, text in _statements(part) if text not in (mark or ())}
    if mark is None:  # a union, a reference, or a type such as `Path`, which names its format
        added -= COMPOSED if "type" not in part else set()
        added -= {"type"} if part.get("format") in _TEXTS or part.get("type") == "null" else set()
    if isinstance(part.get("additionalProperties"), bool):  # by a model's configuration
        added.discard("additionalProperties")
    return added


def _class_extra(schema: Any) -> Any:
    """Return the ``json_schema_extra`` of a typed dict, which its method has already added."""
    config: Any = getattr(schema.get("cls"), "__pydantic_config__", None)
    if schema["type"] != "typed-dict" or not isinstance(config, dict):
        return None
    return config.get("json_schema_extra")


def _statements(part: Schema) -> Iterator[tuple[str, str]]:
    """Yield each restricting keyword and a text for it: ``key=value``, or the key alone if it has subschemas."""
    for key in part.keys() & _RESTRICTING:
        yield key, key if key in WITH_SUBSCHEMAS else f"{key}={part[key]!r}"

"""Which pattern a text must have to become a value of pydantic's: advertised, and enforced before it is read.

Each of these types is read from more texts than its schema says, or from fewer: base64 without what is not
of its alphabet, a fraction with underscores, any unit of bytes, a URL of one scheme alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from pydantic_core import PydanticCustomError

from toolkeel.define.schema.enforced_keywords import mark_enforced
from toolkeel.define.text_patterns import (
    BASE64,
    BASE64URL,
    BYTE_SIZE,
    COMPLEX,
    FRACTION,
    url_pattern,
    uuid_pattern,
)

TEXT_TYPES = frozenset([
    "url", "multi-host-url", "uuid", "fraction", "complex", "function-after",
])  # fmt: skip
"""Types of pydantic-core whose texts may have such a pattern."""


def text_pattern(core: Mapping[str, Any]) -> str | None:
    """Return the pattern of the texts for a core schema; None if its own keywords say all."""
    if core["type"] in ("url", "multi-host-url"):
        schemes = core.get("allowed_schemes")
        return url_pattern(schemes) if schemes else None
    if core["type"] == "uuid":
        return uuid_pattern(core["version"]) if core.get("version") else None
    if core["type"] == "function-after":
        return _pattern_of_reader(getattr(core["function"]["function"], "__self__", None))
    return {"fraction": FRACTION, "complex": COMPLEX}.get(core["type"])


def _pattern_of_reader(reader: object) -> str | None:
    """Return the pattern of the texts that a type of pydantic's decodes; None for any other."""
    if getattr(reader, "__module__", "") != "pydantic.types":  # which is loaded by its users alone
        return None
    from pydantic import types

    if reader is types.ByteSize:
        return BYTE_SIZE
    if isinstance(reader, types.EncodedBytes | types.EncodedStr):
        return {types.Base64Encoder: BASE64, types.Base64UrlEncoder: BASE64URL}.get(reader.encoder)
    return None


def pattern_check(pattern: str, refused: tuple[type, ...]) -> Callable[[Any], Any]:
    """Return a check that refuses texts without the pattern and values of the refused types; all others pass."""
    matches = re.compile(pattern.removesuffix("$"), re.A)
    match = matches.fullmatch if pattern.endswith("$") else matches.match

    def check(value: Any) -> Any:
        """Return the value unchanged, or raise pydantic's error for one without the form."""
        if isinstance(value, refused) or (isinstance(value, str) and match(value) is None):
            raise PydanticCustomError(
                "string_pattern_mismatch", "Input should match {pattern}", {"pattern": pattern}
            )
        return value

    return check


def with_text_pattern(method: Callable[[Any], dict[str, Any]]) -> Callable[[Any], dict[str, Any]]:
    """Return a generator's method that adds the pattern of a type's texts, marked as enforced."""

    def patterned(core: Any) -> dict[str, Any]:
        """Return the JSON Schema of a core schema, with the pattern of its texts."""
        made, pattern = method(core), text_pattern(core)
        return made if pattern is None else mark_enforced(_with_pattern(made, pattern))

    return patterned


def _with_pattern(made: dict[str, Any], pattern: str) -> dict[str, Any]:
    """Return a schema whose texts have a pattern, which replaces another one."""
    if "anyOf" in made:
        return {**made, "anyOf": [_with_pattern(branch, pattern) for branch in made["anyOf"]]}
    return {**made, "pattern": pattern} if made.get("type") == "string" else made

"""What a JSON Schema from elsewhere may cost, judged before it is compiled.

Size and depth of the text, and how many alternatives one value can be tried against once
references are followed: there small schemas hide endless work.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NoReturn

from pydantic_core import to_json

from toolkeel.define.explain.phrases import short
from toolkeel.define.subschemas import (
    IN_PLACE,
    Schema,
    all_subschemas,
    list_of,
    resolve,
    subschemas,
)
from toolkeel.errors import DefinitionError

MAX_DEPTH = 64  # objects and arrays within each other in the schema's text
MAX_SIZE = 1_000_000  # bytes of the schema's text
MAX_ALTERNATIVES = 1000  # branches of all unions
MAX_WORK = 100_000  # schemas one value can meet, references followed


def plain_schema(schema: object) -> dict[str, object] | bool:
    """The schema as JSON data that nobody else holds."""
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping):
        raise DefinitionError(f"A JSON Schema is an object, true or false, not {short(schema)}.")
    if is_too_deep(schema):
        raise DefinitionError(f"The JSON Schema is nested more than {MAX_DEPTH} levels deep.")
    try:
        text = to_json(schema, fallback=_as_dict)
    except ValueError as error:
        reason = str(error).split("\n", 1)[0][:200]
        raise DefinitionError(f"The JSON Schema is not JSON data: {reason}") from error
    if len(text) > MAX_SIZE:
        raise DefinitionError(
            f"The JSON Schema is too large: {len(text):,} bytes, at most {MAX_SIZE:,}."
        )
    plain: dict[str, object] = json.loads(text, parse_constant=_not_a_number)
    return plain


def _as_dict(value: object) -> dict[object, object]:
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError(f"{type(value).__name__} is no JSON")


def _not_a_number(text: str) -> NoReturn:
    raise DefinitionError(f"The JSON Schema holds {text}, which JSON does not have.")


def is_too_deep(schema: Mapping[str, object]) -> bool:
    """Whether more objects and arrays lie within each other than are read."""
    level: list[object] = [schema]
    for _ in range(MAX_DEPTH):
        level = [
            item
            for each in level
            for item in (each.values() if isinstance(each, Mapping) else each)  # type: ignore[attr-defined]
            if isinstance(item, (Mapping, list, tuple))
        ]
        if not level or len(level) > MAX_SIZE:
            break
    return bool(level)


def check_work(schema: Schema | bool) -> None:
    """Count the branches, and the schemas that one value can meet when references are followed."""
    if isinstance(schema, bool):
        return
    parts = all_subschemas(schema)
    branches = sum(
        len(list_of(each, word)) for each in parts for word in ("anyOf", "oneOf", "allOf")
    )
    if branches > MAX_ALTERNATIVES:
        raise DefinitionError(
            f"The JSON Schema has {branches:,} alternatives, at most {MAX_ALTERNATIVES:,}."
        )
    try:
        work = _work(schema, schema, {})
    except RecursionError:
        raise DefinitionError("The JSON Schema's references form too long a chain.") from None
    if work > MAX_WORK:
        raise DefinitionError(
            "The JSON Schema's references multiply: one value would have to be tried against "
            f"more than {MAX_WORK:,} schemas."
        )


def _work(schema: Schema, root: Schema, known: dict[int, int]) -> int:
    """How many schemas a value, or one value within it, meets at most."""
    if id(schema) in known:
        return known[id(schema)]
    known[id(schema)] = 1  # what a reference back to here counts: each is tried once a value
    here, below = 1, 0
    target = resolve(schema.get("$ref"), root)
    if isinstance(target, Mapping):
        here += _work(target, root, known)
    for where, each in subschemas(schema):
        work = _work(each, root, known)
        if where[0] in IN_PLACE:
            here += work
        elif where[0] not in ("$defs", "definitions"):
            below = max(below, work)
    known[id(schema)] = here + below
    return here + below

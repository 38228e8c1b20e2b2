"""What a JSON Schema from elsewhere may cost, judged before it is compiled.

Size and depth of the text, and how many schemas one value can be tried against once references are
followed, whichever way they are written: there small schemas hide endless work.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from typing import NoReturn
from urllib.parse import unquote

from pydantic_core import to_json

from toolkeel.define.explain.value_phrases import short_json
from toolkeel.define.subschemas import (
    IN_PLACE,
    Schema,
    all_subschemas,
    list_of,
    subschemas,
    target_of,
)
from toolkeel.errors import DefinitionError

MAX_DEPTH = 64  # objects and arrays within each other in the schema's text
MAX_SIZE = 1_000_000  # bytes of the schema's text
MAX_ALTERNATIVES = 1000  # branches of all unions
MAX_WORK = 100_000  # schemas one value can meet, references followed
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_HERE = IN_PLACE | {"dependencies"}
_ONE_OF = frozenset(
    ("properties", "additionalProperties", "prefixItems", "items", "additionalItems")
)
"""Keywords of which a value within another meets one."""
_AGAIN = frozenset(("unevaluatedProperties", "unevaluatedItems"))
"""Keywords for which all is tried again that a value meets."""
_KNOWN = ("http://json-schema.org/", "https://json-schema.org/")


def to_plain_schema(schema: object) -> dict[str, object] | bool:
    """Return a copy of a schema as plain JSON data.

    Raises:
        DefinitionError: if it is not JSON, or too large or too deep.
    """
    if isinstance(schema, bool):
        return schema
    if not isinstance(schema, Mapping):
        raise DefinitionError(
            f"A JSON Schema is an object, true or false, not {short_json(schema)}."
        )
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
    """Return any mapping as a dict.

    Raises:
        ValueError: if it is no mapping.
    """
    if isinstance(value, Mapping):
        return dict(value)
    raise ValueError(f"{type(value).__name__} is no JSON")


def _not_a_number(text: str) -> NoReturn:
    """Raise `DefinitionError` for NaN or infinity."""
    raise DefinitionError(f"The JSON Schema holds {text}, which JSON does not have.")


def is_too_deep(schema: Mapping[str, object]) -> bool:
    """Return True if objects and arrays are nested deeper than `MAX_DEPTH`, or over `MAX_SIZE` on a level."""
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


def check_work(schema: Schema | bool) -> str:
    """Raise if a schema has more than `MAX_ALTERNATIVES` branches, or checks one value against more than `MAX_WORK` schemas.

    Returns:
        A reference whose target is unknown; empty if there is none.

    Raises:
        DefinitionError: the schema would cost too much, or its references form too long a chain.
    """
    if isinstance(schema, bool):
        return ""
    parts = all_subschemas(schema)
    branches = sum(len(list_of(one, word)) for one in parts for word in ("anyOf", "oneOf", "allOf"))
    if branches > MAX_ALTERNATIVES:
        raise DefinitionError(
            f"The JSON Schema has {branches:,} alternatives, at most {MAX_ALTERNATIVES:,}."
        )
    met = _WorkEstimate(schema)
    try:
        work = met.work(schema, schema, ())
    except RecursionError:
        raise DefinitionError("The JSON Schema's references form too long a chain.") from None
    if work > MAX_WORK:
        raise DefinitionError(
            "The JSON Schema's references multiply: one value would have to be tried against "
            f"more than {MAX_WORK:,} schemas."
        )
    return met.unknown


class _WorkEstimate:
    """Estimate of how many schemas a value, and each value inside it, is checked against.

    Args:
        root: The entire schema.

    Attributes:
        unknown: A reference whose target was not found.
    """

    def __init__(self, root: Schema) -> None:
        self.unknown = ""
        self._root = root
        self._named: dict[str, list[Schema]] = {}
        for part in all_subschemas(root):
            for word in ("$id", "id", "$anchor", "$dynamicAnchor"):
                if isinstance(name := part.get(word), str):
                    self._named.setdefault(_tail(name), []).append(part)
        self._known: dict[int, int] = {}
        self._rings: dict[int, int] = {}

    def work(self, part: Schema, home: Schema, path: tuple[int, ...]) -> int:
        """Return the most schemas that a value is checked against, plus those of one value inside it; store the sum.

        Args:
            part: The first of these schemas.
            home: The schema that its references are relative to.
            path: Ids of the schemas that referred here, for the same value.

        Raises:
            DefinitionError: its references form more than one simple cycle.
        """
        one = id(part)
        ring = path[path.index(one) :] if one in path else ()
        if self._rings.get(one) in path or not self._rings.keys().isdisjoint(ring):
            raise DefinitionError(
                "The JSON Schema's references lead back to where they stand in more than one way."
            )
        self._rings.update(dict.fromkeys(ring, one))
        if one in self._known:
            return self._known[one]
        self._known[one] = 1  # what a reference back to here counts: each is tried once a value
        here, within = 1, Counter[str]()
        home, path = part if _has_id(part) else home, (*path, one)
        for word in _REFERENCES:
            here += sum(self.work(to, home, path) for to in self._targets(part.get(word), home))
        for where, each in subschemas(part):
            word = str(where[0])
            if word in _HERE:
                here += self.work(each, home, path)
            elif word in _ONE_OF:
                within[""] = max(within[""], self.work(each, home, ()))
            elif word not in ("$defs", "definitions"):
                within[word] += self.work(each, home, ())
        here *= 1 if _AGAIN.isdisjoint(part) else 3
        self._known[one] = here + within.total()
        return self._known[one]

    def _targets(self, reference: object, home: Schema) -> list[Schema]:
        """Return all schemas a reference may lead to, rather too many; record an unknown target.

        An unknown target is recorded in `unknown`; what is no reference gives none.
        """
        if not isinstance(reference, str) or reference.startswith(_KNOWN):
            return []
        place, _, fragment = reference.partition("#")
        named = fragment if fragment[:1] != "/" else ""
        homes = self._named.get(_tail(named or place), []) if named or place else [home, self._root]
        found = [target_of(f"#{unquote(fragment)}", each) for each in homes] if not named else homes
        self.unknown = self.unknown if any(each is not None for each in found) else reference
        return list({id(each): each for each in found if isinstance(each, Mapping)}.values())


def _has_id(schema: Schema) -> bool:
    """Return True if a schema has an id of its own, which changes how references resolve."""
    return any(
        isinstance(name := schema.get(word), str) and name[:1] != "#" for word in ("$id", "id")
    )


def _tail(name: str) -> str:
    """Return the last part of an id, anchor or reference, unquoted and in lower case."""
    return unquote(
        name.rstrip("#").rpartition("/")[2].rpartition(":")[2].rpartition("#")[2]
    ).lower()

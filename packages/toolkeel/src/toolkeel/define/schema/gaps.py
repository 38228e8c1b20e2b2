"""Where pydantic takes more than the JSON Schema that is advertised, and `strict_core` cannot close it.

That is what is left: keywords that an author wrote beside a type (`json_schema_extra`), keys that become
one (``1.0`` and ``1``), and digits that a decimal loses on its way through a JSON number. Which of a
tool's parameters have such a place is known when the tool is defined; other calls are not looked at.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime, time
from decimal import Decimal
from itertools import islice
from pathlib import PurePath
from uuid import UUID

from toolkeel.define.explain.error_budget import MAX_ERRORS
from toolkeel.define.explain.phrases import describe_type
from toolkeel.define.explain.validation_errors import describe_expected
from toolkeel.define.explain.value_phrases import cut, describe_value, quoted
from toolkeel.define.schema.json_schema import FORMATS, KEYS, has_loose_keyword
from toolkeel.define.subschemas import (
    Schema,
    accepts,
    all_subschemas,
    allowed_values,
    is_allowed_value,
    list_of,
    properties_of,
    required_of,
    resolve,
    schema_at,
)
from toolkeel.define.text_patterns import DECIMALS
from toolkeel.errors import DefinitionError, FieldError

Path = tuple[str | int, ...]

_SECONDS = re.compile(r"\s*[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?\s*", re.A)
"""What pydantic takes for seconds since 1970, or of a duration."""

_KEY_VALUES: Mapping[str, Callable[[str], object]] = {
    "number": float, "decimal": Decimal, "uuid": UUID, "path": PurePath,
    "date-time": datetime.fromisoformat, "time": time.fromisoformat,
}  # fmt: skip
_DECIMALS = {pattern: re.compile(pattern, re.A) for pattern in DECIMALS}
_LONG = re.compile(r"\d[\d.]{15}")


class Gaps:
    """Checker for the places of one schema where pydantic accepts more than is advertised.

    Args:
        schema: Schema of all arguments.
        has_loose_keywords: True if every call must be checked.

    Attributes:
        has_decimals: True if some number's digits must all be preserved.
    """

    __slots__ = ("_root", "has_decimals", "has_loose_keywords")

    def __init__(self, schema: Schema, has_loose_keywords: bool = True) -> None:
        self._root = schema
        self.has_loose_keywords = has_loose_keywords
        self.has_decimals = any(map(_is_decimal, all_subschemas(schema)))

    def errors(self, value: object, limit: int = MAX_ERRORS) -> list[FieldError]:
        """Return the advertised schema's errors in JSON data that pydantic has accepted, at most `limit`."""
        return list(islice(self._at(value, self._root, ()), limit))

    def find_lost_digits(self, text: str) -> list[FieldError]:
        """Return errors for decimals with more digits than a JSON number holds here."""
        if not self.has_decimals or _LONG.search(text) is None:
            return []
        value = json.loads(text, parse_float=_read_number)
        found = self._at(value, self._root, ())
        return list(islice((error for error in found if _TOO_LONG in error.expected), MAX_ERRORS))

    def _at(self, value: object, schema: object, path: Path) -> Iterator[FieldError]:
        """Yield an error for each place, the value or inside it, that breaks the advertised schema."""
        if not isinstance(schema, Mapping):
            return
        if "$ref" in schema:
            yield from self._at(value, resolve(schema["$ref"], self._root), path)
        if type(value) is _Digits:
            if _is_decimal(schema):
                yield FieldError(path, _TOO_LONG, cut(value, 40))
            value = float(value)
        if branches := list_of(schema, "anyOf") or list_of(schema, "oneOf"):
            yield from self._in_union(value, branches, path)
        if _violates(value, schema):
            yield FieldError(
                path, describe_expected([schema], self._root, value), describe_value(value)
            )
        elif isinstance(value, dict | list):
            keys = schema.get("propertyNames")
            if isinstance(keys, Mapping) and isinstance(value, dict):
                yield from self._keys(value, keys, path)
            for key, item in value.items() if isinstance(value, dict) else enumerate(value):
                yield from self._at(item, schema_at(schema, key), (*path, key))

    def _in_union(self, value: object, branches: list[object], path: Path) -> Iterator[FieldError]:
        """Yield the faults of the first branch of the value's type, unless a branch fits."""
        first: list[FieldError] = []
        for branch in branches:
            if accepts(value, branch, self._root) or _is_exact_option(value, branch, self._root):
                found = list(self._at(value, branch, path))
                if not found:
                    return
                first = first or found
        if not first and type(value) in (bool, int, float):
            first = [
                FieldError(
                    path, describe_expected(branches, self._root, value), describe_value(value)
                )
            ]
        yield from first

    def _keys(self, value: Iterable[str], keys: Schema, path: Path) -> Iterator[FieldError]:
        """Yield errors for keys of a wrong form, and for keys that become equal."""
        target = resolve(keys["$ref"], self._root) if "$ref" in keys else keys
        made: dict[object, str] = {}
        read = _KEY_VALUES.get(str(keys.get("format")), str)
        for key in value:
            try:
                wrong = _is_invalid_key(key, target)
                other = key if wrong else made.setdefault(read(key), key)
            except ValueError:
                wrong, other = True, key
            if wrong:
                yield FieldError((*path, key), f"a key that is {_key_phrase(target, self._root)}")
            elif other is not key:
                yield FieldError(
                    (*path, key), f"another key than {quoted(other)}, which is the same"
                )


class _Digits(str):
    """Text of a number with more digits than a float has."""

    __slots__ = ()


def _read_number(text: str) -> float | _Digits:
    """Return a number with a fraction, as it was written if a float is another number."""
    number = float(text)
    return number if math.isinf(number) or Decimal(repr(number)) == Decimal(text) else _Digits(text)


_TOO_LONG = "a decimal number as a string, since a number of so many digits would lose some"


def find_gaps(schema: Schema, has_loose_keywords: bool = True) -> Gaps | None:
    """Return the gaps of an advertised schema; None if there are none, as in most.

    Args:
        schema: Schema of all arguments.
        has_loose_keywords: False if the validator takes exactly what keywords of its types say.
    """
    parts = list(all_subschemas(schema))
    loose = has_loose_keywords and any(map(has_loose_keyword, parts))
    if loose or any("propertyNames" in part or _is_decimal(part) for part in parts):
        return Gaps(schema, loose)
    return None


def _is_decimal(part: Schema) -> bool:
    """Return True if a schema is how pydantic advertises `Decimal`."""
    branches = list_of(part, "anyOf")[1:2] if "anyOf" in part else ()
    return bool(branches) and any(
        isinstance(b, Mapping) and b.get("pattern") in DECIMALS for b in branches
    )


def _is_exact_option(value: object, branch: object, root: Schema) -> bool:
    """Return True if a branch lists the value in its ``enum``."""
    if isinstance(branch, Mapping) and "$ref" in branch:
        branch = resolve(branch["$ref"], root)
    return isinstance(branch, Mapping) and "enum" in branch and is_allowed_value(value, branch)


def _violates(value: object, schema: Schema) -> bool:
    """Return True if a value that pydantic may accept breaks the schema's own keywords."""
    kind = type(value)
    if kind is str:
        text = str(value)
        if schema.get("pattern") in _DECIMALS:  # pydantic takes "1_000" and " 1 "
            return _DECIMALS[str(schema["pattern"])].fullmatch(text) is None
        return schema.get("format") in FORMATS and _SECONDS.fullmatch(text) is not None
    if kind is list:
        return bool(schema.get("uniqueItems")) and not _all_differ(value)  # type: ignore[arg-type]
    return kind in (bool, int, float) and not is_allowed_value(value, schema)


_KEY_PATTERNS = {
    str(each["pattern"]): (re.compile(str(each["pattern"]), re.A), f"{article} {kind}")
    for (kind, each), article in zip(KEYS.items(), ("an", "a", "", "a"), strict=True)
    if "pattern" in each
}


def _is_invalid_key(key: str, keys: object) -> bool:
    """Return True if a key does not have the advertised form."""
    if not isinstance(keys, Mapping):
        return False
    known = _KEY_PATTERNS.get(str(keys.get("pattern")))
    if known is not None and known[0].fullmatch(key) is None:
        return True
    return _violates(key, keys) or not is_allowed_value(key, keys)


def _key_phrase(keys: object, root: Schema) -> str:
    """Describe the keys that a schema of keys admits."""
    keys = keys if isinstance(keys, Mapping) else {}
    known = _KEY_PATTERNS.get(str(keys.get("pattern")))
    return known[1] if known else describe_type({"type": "string", **keys}, root)


def _all_differ(items: list[object]) -> bool:
    """Return True if no two items are equal in JSON."""
    visited = set(map(_comparable, items))
    return len(visited) == len(items)


def _comparable(value: object) -> object:
    """Return a hashable form that is equal exactly for values that are equal in JSON.

    True is no 1, where 1.0 is one.
    """
    if isinstance(value, list):
        return (list, *map(_comparable, value))
    if isinstance(value, dict):
        return (dict, frozenset((key, _comparable(item)) for key, item in value.items()))
    return (bool, value) if isinstance(value, bool) else value


# — parameters that no arguments can fill —


def check_fillable(title: str, schema: Schema) -> None:
    """Raise unless every parameter has a value that fits it.

    Raises:
        DefinitionError: naming the one that has none, and the fix.
    """
    if "$defs" not in schema and not any(map(_no_options, all_subschemas(schema))):
        return
    empty = _unfillable(schema)
    for name, part in properties_of(schema).items():
        if _cannot_be(part, empty):
            raise DefinitionError(
                f"{title}: parameter {name!r} has no value that a model could send: its type needs "
                "itself without an end (Self), or is an Enum that is empty or whose values are "
                "tuples or other objects; let the inner value be left out, give the members plain "
                "values, or take another type"
            )


def _no_options(part: Schema) -> bool:
    """Return True if a schema has an ``enum`` that is empty or lists only objects and arrays."""
    return "enum" in part and all(isinstance(each, list | dict) for each in allowed_values(part))


def _unfillable(schema: Schema) -> frozenset[str]:
    """Return the references to definitions that no finite value fits."""
    defs = schema.get("$defs")
    known = dict(defs) if isinstance(defs, Mapping) else {}
    empty = frozenset(f"#/$defs/{name}" for name in known)
    while True:
        still = frozenset(ref for ref in empty if _cannot_be(known[ref[8:]], empty))
        if still == empty:
            return empty
        empty = still


def _cannot_be(part: object, empty: frozenset[str]) -> bool:
    """Return True if no value fits a schema, given the references that admit none."""
    if not isinstance(part, Mapping):
        return part is False
    if part.get("$ref") in empty or _no_options(part):
        return True
    for keyword in ("anyOf", "oneOf"):
        branches = list_of(part, keyword)
        if branches and all(_cannot_be(each, empty) for each in branches):
            return True
    if any(_cannot_be(properties_of(part).get(name), empty) for name in required_of(part)):
        return True
    least, first = part.get("minItems"), list_of(part, "prefixItems")
    places = range(min(least, len(first) + 1)) if isinstance(least, int) else ()
    return any(_cannot_be(schema_at(part, place), empty) for place in places)

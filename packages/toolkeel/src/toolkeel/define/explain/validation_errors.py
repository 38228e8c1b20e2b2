"""What is wrong with arguments, in words a model can act on.

Both validators speak through here, pydantic and JSON Schema, so that a model reads the same
sentence whichever kind of tool it called: one `FieldError` for each field that failed, with
what was expected, what was received, and the nearest name or option where there is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolkeel._common.nearest_names import nearest_names
from toolkeel.define.explain.conjunction import plain_alternatives
from toolkeel.define.explain.phrases import (
    alternatives,
    describe_type,
    join_alternatives,
    join_phrases,
)
from toolkeel.define.explain.value_phrases import MAX_KEYS, cut, describe_value, quote_names, quoted
from toolkeel.define.subschemas import Schema, allowed_values, properties_of, schema_at
from toolkeel.errors import FieldError, InvalidArguments

Path = tuple[str | int, ...]


UNKNOWN_KEY = "an unknown key"
"""Stands for the value of a key that should not be there."""
UNSENT: Any = object()
"""Stands for a value that was not sent."""
_LISTED = 20
_LINE, _LONG = 400, 100


def invalid_arguments(
    tool_name: str, errors: Sequence[FieldError], coerced: Sequence[str] = ()
) -> InvalidArguments:
    """Build the error for the model: at most 20 fields, and the request to correct them.

    Args:
        tool_name: Name under which the model knows it.
        errors: Every field that failed.
        coerced: Values that were read as another type before, each as a phrase.

    >>> error = FieldError(("n",), "an integer", '"x" (a string)')
    >>> print(invalid_arguments("count", [error]).text)
    The arguments of count are invalid, and it did not run:
    - n: expected an integer, got "x" (a string)
    Correct this and call count again.
    """
    name = cut(tool_name, 100)
    what = "this" if len(errors) == 1 else "these"
    read = f"Before that, these were read as follows:\n{_lines(coerced)}\n" if coerced else ""
    text = (
        f"The arguments of {name} are invalid, and it did not run:\n{list_errors(errors)}\n"
        f"{read}Correct {what} and call {name} again."
    )
    if not coerced:
        return InvalidArguments(text, errors)
    return InvalidArguments(text, errors, {"coerced": tuple(coerced)})


def list_errors(errors: Sequence[FieldError]) -> str:
    """List the fields that failed, one per line, at most 20, then the number of the others.

    Of large arguments, not all errors were collected. A long phrase is written once.
    """
    first: dict[str, FieldError] = {}
    shown = []
    for error in errors[:_LISTED]:
        known = first.setdefault(error.expected, error)
        is_long = known is not error and len(error.expected) > _LONG
        shown.append(replace(error, expected=f"the same as {known.where}") if is_long else error)
    return _lines([*shown, *errors[_LISTED:]], "at least ")


def _lines(items: Sequence[object], bound: str = "") -> str:
    """Return items as lines, at most 20, then the number of the others."""
    lines = [f"- {cut(item.__str__(), _LINE)}" for item in items[:_LISTED]]
    more = len(items) - len(lines)
    return "\n".join([*lines, f"- and {bound}{more} more"] if more else lines)


# — one field —


def has_key(data: object, part: str | int) -> bool:
    """Return True if parsed JSON has a value under a key or an index."""
    if isinstance(data, (dict, Mapping)):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and 0 <= part < len(data)


def value_at(data: Any, path: Iterable[str | int]) -> Any:
    """Return the value at a path of parsed JSON; `UNSENT` if there is none."""
    for part in path:
        if type(data) is str or (type(part) is int and type(data) is dict):
            return UNSENT
        try:
            data = data[part]
        except (LookupError, TypeError):
            return UNSENT
    return data


def describe_expected(schemas: Sequence[object], root: Schema, value: object = None) -> str:
    """Describe the value expected at a place ("any value" without schemas); name the option nearest to a sent text.

    Args:
        schemas: Schemas for the value; several if it is in different branches of a union.
        root: The document that local references point into.
        value: The value that was sent.
    """
    schemas = join_constants(schemas)
    if len(schemas) == 1:
        text = describe_type(schemas[0], root)
    else:
        text = (
            join_alternatives(describe_type(schema, root) for schema in schemas)
            if schemas
            else "any value"
        )
    return suggest_option(text, alternatives(schemas, root), value)


def join_constants(schemas: Sequence[object]) -> Sequence[object]:
    """Return one schema of all fixed values if each of more than `MAX_KEYS` schemas has one; else the schemas."""
    fixed = [each["const"] for each in schemas if isinstance(each, Mapping) and "const" in each]
    return [{"enum": fixed}] if len(fixed) == len(schemas) > MAX_KEYS else schemas


def suggest_option(phrase: str, schemas: Iterable[Schema], value: object) -> str:
    """Return a phrase with the option that a sent text most resembles added, if there is one."""
    if not isinstance(value, str) or '"' not in phrase:
        return phrase
    options = (each for schema in schemas for each in allowed_values(schema))
    near = nearest_name(value, (each for each in options if isinstance(each, str)))
    return phrase if near is None else f"{phrase} (did you mean {quoted(near)}?)"


def missing_field(
    path: Path, schemas: Sequence[object], root: Schema, because: str = ""
) -> FieldError:
    """Build the error for a required field.

    Args:
        path: Where it should be.
        schemas: All of them hold for its value.
        root: The document that local references point into.
        because: The condition that requires it.
    """
    phrase = join_phrases(plain_alternatives(schemas, root), root)
    return FieldError(path, f"{phrase} (required{because})")


def unknown_key(path: Path, known: Collection[str], patterns: Collection[str] = ()) -> FieldError:
    """Build the error for a key that is not among the `known` ones or their `patterns`."""
    matching = join_alternatives(f"a key matching {cut(pattern, 60)}" for pattern in patterns)
    if not known:
        return FieldError(path, matching or "no keys at all", UNKNOWN_KEY)
    near = nearest_name(str(path[-1]), known)
    hint = f" (did you mean {quoted(near)}?)" if near is not None and len(known) > 1 else ""
    one = "the key" if len(known) == 1 else "one of the keys"
    other = f", or {matching}" if matching else ""
    return FieldError(path, f"{one} {quote_names(known)}{hint}{other}", UNKNOWN_KEY)


def wrong_tag(
    path: Path, key: str, branches: Iterable[object], root: Schema, value: object
) -> FieldError:
    """Build the error for a key whose value selects no branch of a union."""
    children = child_schemas(list(branches), key, root)
    return FieldError((*path, key), describe_expected(children, root, value), describe_value(value))


def known_keys(schemas: Sequence[object], root: Schema) -> list[str]:
    """Return the names of the properties that objects of these schemas may have."""
    names: dict[str, None] = {}
    for schema in alternatives(schemas, root):
        names.update(dict.fromkeys(properties_of(schema)))
    return list(names)


def child_schemas(schemas: Sequence[object], part: str | int, root: Schema) -> tuple[object, ...]:
    """Return the schemas of the value under a key or an index."""
    parts = (schema_at(schema, part) for schema in alternatives(schemas, root))
    return tuple(each for each in parts if isinstance(each, (dict, Mapping)))


def nearest_name(name: str, candidates: Iterable[str]) -> str | None:
    """Return the candidate that `name` most resembles, or None.

    >>> nearest_name("departureDate", ["city", "departure_date"])
    'departure_date'
    """
    near = nearest_names(name, candidates, 1) if name else []
    return near[0] if near else None

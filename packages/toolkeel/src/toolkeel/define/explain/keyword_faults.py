"""One fault of the JSON Schema validator, in words: what a keyword other than the value's own wants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Any

from toolkeel._records.record import record
from toolkeel.define.explain.conditions import Conditions
from toolkeel.define.explain.conjunction import schemas_at
from toolkeel.define.explain.phrases import describe_type
from toolkeel.define.explain.validation_errors import (
    child_schemas,
    describe_expected,
    known_keys,
    missing_field,
    unknown_key,
    value_at,
)
from toolkeel.define.explain.value_phrases import count_noun, describe_value, quoted, short_json
from toolkeel.define.subschemas import Location, Schema, properties_of, required_of
from toolkeel.errors import FieldError

if TYPE_CHECKING:
    import jsonschema_rs

Path = tuple[str | int, ...]
_LONG_PATH = 200
_MOST_PATHS = 50
"""Places tried for one fault."""
_MOST_KEYS = 8  # keys of a condition that a clause lists


@record
class Place:
    """Place that the paths of faults are relative to.

    Args:
        path: From the arguments' root.
        schemas: Schemas that hold there.
        value: The value there.
        level: Unions on the way.
    """

    path: Path
    schemas: tuple[object, ...]
    value: object
    level: int


def sent_path(value: object, fault: jsonschema_rs.ValidationError) -> Path:
    """Return a fault's path with the keys that were sent, as far as they can be told.

    The validator takes digits for an index, and leaves out empty keys. Of several paths that this leaves, it is the
    first at which the fault's value is; the validator's own if there is none, or it has more than 200 parts.
    """
    path: tuple[str | int, ...] = tuple(fault.instance_path)
    if len(path) > _LONG_PATH or _is_exact(value, path):  # the search calls itself for each part
        return path
    possible = list(islice(_possible_paths(value, path), _MOST_PATHS))
    if len(possible) < 2 or _is_of_first_value(fault):
        return possible[0] if possible else path
    return next((each for each in possible if value_at(value, each) == fault.instance), path)


def _is_exact(value: Any, path: Path) -> bool:
    """Return True if a path leads to a place of a value, and can mean no other.

    A number for an object's key, or an empty key in an object on the way or at the end, makes it ambiguous.
    """
    for part in path:
        if isinstance(value, dict):
            if isinstance(part, int) or "" in value or part not in value:
                return False
            value = value[part]
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            return False
    return not isinstance(value, dict) or "" not in value


def _is_of_first_value(fault: jsonschema_rs.ValidationError) -> bool:
    """Return True if a fault's instance is the first key's value: the object's schema allows no keys."""
    return fault.kind.name == "falseSchema" and fault.schema_path[-1:] == ["additionalProperties"]


def _possible_paths(value: object, path: Path) -> Iterator[Path]:
    """Yield the full paths that a path without empty keys may mean, those with fewest empty keys first."""
    if not path:
        yield ()
    elif isinstance(value, dict):
        key = _key_of(value, path[0]) if isinstance(path[0], int) else path[0]
        if key in value:
            yield from ((key, *rest) for rest in _possible_paths(value[key], path[1:]))
    elif isinstance(value, list) and isinstance(path[0], int) and path[0] < len(value):
        yield from ((path[0], *rest) for rest in _possible_paths(value[path[0]], path[1:]))
    if isinstance(value, dict) and "" in value:
        yield from (("", *rest) for rest in _possible_paths(value[""], path))


def _key_of(value: dict[str, object], number: int) -> str:
    """Return the key that a validator reported as a number; the number as text if no key is that."""
    plain = str(number)
    if plain in value:
        return plain
    return next((key for key in value if key.isdecimal() and int(key) == number), plain)


def schema_place(fault: jsonschema_rs.ValidationError) -> Location:
    """Return the place of the schema that a fault is about."""
    where = fault.schema_path
    if fault.kind.name == "propertyNames":  # it ends at the rule that the name breaks
        return tuple(where[: len(where) - where[::-1].index("propertyNames")])
    return tuple(where[:-1])


def fault_errors(
    fault: jsonschema_rs.ValidationError,
    start: Place,
    schema: Schema,
    root: Schema,
    because: str,
    conditions: Conditions,
) -> Iterator[FieldError]:
    """Yield the errors of a fault that is not a union's, for the model.

    Args:
        fault: The fault.
        start: Where the fault's own path begins.
        schema: The schema that the fault is of.
        root: The document that local references point into.
        because: The condition under which it is one.
        conditions: Finder of what else holds for a missing key.
    """
    kind = fault.kind
    inside = sent_path(start.value, fault)
    path = (*start.path, *inside)
    match kind.name:
        case "required" | "dependentRequired":
            name: str = kind.property  # type: ignore[attr-defined]
            here = schemas_at(start.schemas, inside, root)
            wanted = _wanted(name, here, schema, root)
            wanted += conditions.at(start.schemas, start.value, (*inside, name))
            yield missing_field((*path, name), wanted, root, because)
        case "additionalProperties" | "unevaluatedProperties":
            known = known_keys([schema], root)
            patterns: Any = schema.get("patternProperties", ())
            # Of a known key whose value is wrong the validator says that it was not evaluated.
            for name in (each for each in kind.unexpected if each not in known):  # type: ignore[attr-defined]
                yield unknown_key((*path, name), known, patterns)
        case "falseSchema" if _is_of_first_value(fault):
            for name in value_at(start.value, inside):
                yield unknown_key((*path, name), ())
        case "propertyNames":
            name = str(kind.error.instance)  # type: ignore[attr-defined]
            phrase = describe_type(schema, root)
            yield FieldError((*path, name), f"a key that is {phrase}")
        case other:
            yield FieldError(
                path,
                _phrase(other, schema, root, fault) + because,
                describe_value(value_at(start.value, inside)),
            )


def _wanted(name: str, here: list[object], schema: Schema, root: Schema) -> list[object]:
    """Return the schemas for a missing key: all that hold, else those of the branches that know it."""
    wanted = schemas_at([*here, schema], (name,), root)
    if wanted:
        return wanted
    possible = child_schemas(here, name, root)
    return [{"anyOf": list(possible)}] if possible else []


def _phrase(
    keyword: str, schema: Schema, root: Schema, fault: jsonschema_rs.ValidationError
) -> str:
    """Describe what a failed keyword expects."""
    match keyword:
        case "falseSchema":
            return "nothing here"
        case "not":
            refused = describe_type(schema.get("not"), root)
            return "nothing here" if refused == "any value" else f"anything but {refused}"
        case "minProperties":
            return f"an object with at least {count_noun(schema.get('minProperties'), 'key')}"
        case "maxProperties":
            return f"an object with at most {count_noun(schema.get('maxProperties'), 'key')}"
        case "additionalItems" if isinstance(schema.get("items"), list):
            return f"a list of at most {count_noun(len(schema['items']), 'item')}"  # type: ignore[arg-type]
        case "additionalItems" | "unevaluatedItems":
            return "a list without the last items"
    phrase = describe_expected([schema], root, fault.instance)
    return phrase if phrase != "any value" else f"a value that passes {short_json(keyword)}"


def describe_condition(schema: object, root: Schema) -> str:
    """Describe objects that fit a schema, as a clause; empty if no plain words exist.

    >>> describe_condition({"properties": {"kind": {"const": "card"}}, "required": ["pin"]}, {})
    '"kind" is "card" and "pin" is given'
    """
    if not isinstance(schema, (dict, Mapping)):
        return ""
    known = properties_of(schema)
    message = [
        f"{quoted(str(name))} is {describe_type(each, root)}" for name, each in known.items()
    ]
    message += [
        f"{quoted(str(name))} is given" for name in required_of(schema) if name not in known
    ]
    return " and ".join(message[:_MOST_KEYS])


def schema_of_kind(kind: jsonschema_rs.ValidationErrorKind) -> Schema:
    """Return as much of the schema as the fault itself contains; {} if that is nothing."""
    for attribute, keyword in _KEYWORDS.items():
        if hasattr(kind, attribute):
            return {keyword or kind.name: getattr(kind, attribute)}
    return {}


_KEYWORDS = {
    "types": "type", "options": "enum", "expected_value": "const", "limit": "",
    "multiple_of": "multipleOf", "pattern": "pattern",
}  # fmt: skip

"""Schemas that no value satisfies: keywords that contradict each other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Real

from toolkeel.errors import DefinitionError

_PAIRS = (
    ("minLength", "maxLength"),
    ("minItems", "maxItems"),
    ("minProperties", "maxProperties"),
)
_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int, float),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list, tuple),
    "object": (Mapping,),
}


def require_possible(name: str, schema: Mapping[str, object]) -> None:
    """Raise if arguments can never satisfy a schema, or one of its properties can never be given.

    An optional property whose listed values are of another type is left as it is: many published
    schemas have one, and calls without it are right.

    Args:
        name: The tool's name.
        schema: Of the arguments.

    Raises:
        DefinitionError: naming the parameter, the contradiction and the fix.
    """
    for path, why in _find_contradictions(schema, ""):
        where = f"parameter {path!r}" if path else "the schema of the arguments"
        raise DefinitionError(f"{name}: {where} can have no value: {why}")


def _find_contradictions(
    schema: Mapping[str, object], path: str, is_required: bool = True
) -> Iterator[tuple[str, str]]:
    """Yield paths of properties and what contradicts itself there, with the fix; at any depth.

    Args:
        schema: The schema.
        path: Path of the property that it describes.
        is_required: False if the property may be absent, so that it may admit no value.
    """
    for why in _explain_ranges(schema), _explain_values(schema) if is_required else "":
        if why:
            yield path, why
    properties = schema.get("properties")
    properties = properties if isinstance(properties, Mapping) else {}
    listed = schema.get("required")
    required = listed if isinstance(listed, list | tuple) else ()
    for key in required:
        if properties.get(key) is False:
            yield _join(path, key), "it is required, and its schema is false; remove one of the two"
    for key, each in properties.items():
        if isinstance(each, Mapping):
            yield from _find_contradictions(each, _join(path, str(key)), key in required)
    definitions = schema.get("$defs")
    for key, each in definitions.items() if isinstance(definitions, Mapping) else ():
        if isinstance(each, Mapping):
            yield from _find_contradictions(each, str(key))
    items = schema.get("items")
    if isinstance(items, Mapping):
        yield from _find_contradictions(items, f"{path}[]")


def _join(path: str, key: str) -> str:
    """Return a property's path below another."""
    return f"{path}.{key}" if path else key


def _explain_ranges(schema: Mapping[str, object]) -> str:
    """Return why the limits of a schema admit nothing, or an empty string."""
    for low, high in _PAIRS:
        least, most = schema.get(low), schema.get(high)
        if _is_number(least) and _is_number(most) and least > most:  # type: ignore[operator]
            return f"{low} {least} is above {high} {most}; swap them"
    lows = [(schema[key], key) for key in ("minimum", "exclusiveMinimum") if _has(schema, key)]
    highs = [(schema[key], key) for key in ("maximum", "exclusiveMaximum") if _has(schema, key)]
    for least, low in lows:
        for most, high in highs:
            is_open = "exclusive" in f"{low}{high}"
            if least > most or (is_open and least == most):  # type: ignore[operator]
                return f"nothing is between {low} {least} and {high} {most}; swap or widen them"
    return ""


def _explain_values(schema: Mapping[str, object]) -> str:
    """Return why the listed values of a schema admit nothing, or an empty string."""
    listed = schema.get("enum")
    if isinstance(listed, list | tuple) and not listed:
        return "its enum is empty; list the values, or remove it"
    if "const" in schema:
        if isinstance(listed, list | tuple) and schema["const"] not in listed:
            return f"its const {schema['const']!r} is not in its enum; write one of the two"
        if not _is_of_type(schema["const"], schema):
            return f"its const {schema['const']!r} is not of type {schema['type']!r}; change one of the two"
    if isinstance(listed, list | tuple) and not any(_is_of_type(each, schema) for each in listed):
        return f"no value of its enum is of type {schema['type']!r}; change one of the two"
    return ""


def _has(schema: Mapping[str, object], key: str) -> bool:
    """Return True if a keyword has a number."""
    return _is_number(schema.get(key))


def _is_number(value: object) -> bool:
    """Return True if a value is a number and no boolean."""
    return isinstance(value, Real) and not isinstance(value, bool)


def _is_of_type(value: object, schema: Mapping[str, object]) -> bool:
    """Return True if a value may be of a schema's type, as far as that is known."""
    kinds = schema.get("type")
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if not isinstance(kinds, list | tuple) or not all(kind in _TYPES for kind in kinds):
        return True
    return any(
        isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
        for kind in kinds
    )

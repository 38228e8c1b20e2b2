"""What is wrong with arguments, in words a model can act on.

Both validators speak through here, pydantic and JSON Schema, so that a model reads the same
sentence whichever kind of tool it called: one `FieldError` for each field that failed, with
what was expected, what was received, and the nearest name or option where there is one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from toolwright.define.phrase import (
    PLAIN,
    alternatives,
    cut,
    describe_type,
    describe_value,
    either,
    listed,
    nearest,
    plain_type,
    quoted,
)
from toolwright.define.subschemas import Schema, resolve
from toolwright.errors import FieldError, InvalidArguments
from toolwright.record import record

__all__ = [
    "describe_type",
    "describe_value",
    "expected",
    "invalid_arguments",
    "known_keys",
    "missing_field",
    "nearest",
    "pydantic_errors",
    "unknown_key",
    "wrong_tag",
]

Path = tuple[str | int, ...]


# — the whole —

_LISTED = 20
_LINE = 400


def invalid_arguments(tool_name: str, errors: Sequence[FieldError]) -> InvalidArguments:
    """The failure the model is told: every field, at most 20 of them, and what to do next.

    >>> error = FieldError(("n",), "an integer", '"x" (a string)')
    >>> print(invalid_arguments("count", [error]).text)
    The arguments of count are invalid, and it did not run:
    - n: expected an integer, got "x" (a string)
    Correct this and call count again.
    """
    name = cut(tool_name, 100)
    lines = [f"- {cut(error.__str__(), _LINE)}" for error in errors[:_LISTED]]
    if len(errors) > _LISTED:
        lines.append(f"- and {len(errors) - _LISTED} more")
    listing = "\n".join(lines)
    what = "this" if len(errors) == 1 else "these"
    return InvalidArguments(
        f"The arguments of {name} are invalid, and it did not run:\n{listing}\n"
        f"Correct {what} and call {name} again.",
        errors,
    )


# — one field —


def expected(schemas: Sequence[object], root: Schema, value: object = None) -> str:
    """The phrase for a place in the arguments, with the nearest option if text was sent.

    Args:
        schemas: What may stand there; several if it lies within different branches of a union.
        root: The document that local references point into.
        value: What does stand there.
    """
    if len(schemas) == 1:
        text = describe_type(schemas[0], root)
    else:
        text = either(describe_type(schema, root) for schema in schemas) if schemas else "any value"
    if isinstance(value, str) and '"' in text:
        near = nearest(value, _string_options(schemas, root))
        if near is not None:
            text += f" (did you mean {quoted(near)}?)"
    return text


def _string_options(schemas: Sequence[object], root: Schema) -> Iterator[str]:
    for schema in alternatives(schemas, root):
        options = schema.get("enum", [schema.get("const")])
        for option in options if isinstance(options, list) else ():
            if isinstance(option, str):
                yield option


def missing_field(path: Path, schemas: Sequence[object], root: Schema) -> FieldError:
    """A required field that was not sent."""
    return FieldError(path, f"{expected(schemas, root)} (required)")


def unknown_key(path: Path, known: Collection[str]) -> FieldError:
    """A key that the schema does not have; `known` are those it has."""
    if not known:
        return FieldError(path, "no keys at all", "an unknown key")
    near = nearest(str(path[-1]), known)
    hint = f" (did you mean {quoted(near)}?)" if near is not None and len(known) > 1 else ""
    one = "the key" if len(known) == 1 else "one of the keys"
    return FieldError(path, f"{one} {listed(known)}{hint}", "an unknown key")


def wrong_tag(
    path: Path, key: str, branches: Iterable[object], root: Schema, value: object
) -> FieldError:
    """A key whose value tells a union's branches apart, with a value that none of them has."""
    children = _children(list(branches), key, root)
    return FieldError((*path, key), expected(children, root, value), describe_value(value))


def known_keys(schemas: Iterable[object], root: Schema) -> list[str]:
    """Names of the properties that an object of these schemas may have."""
    names: dict[str, None] = {}
    for schema in alternatives(schemas, root):
        properties = schema.get("properties")
        if isinstance(properties, (dict, Mapping)):
            names.update(dict.fromkeys(properties))
    return list(names)


# — pydantic —


@record
class _Found:
    """One of pydantic's errors, its path cleaned.

    Args:
        error: As pydantic has it.
        path: Keys and indexes that exist in the data, or would.
        schemas: What may stand there.
        parents: What may stand one level up.
        branches: Unions on the way: the length of the path there, and the tag of the branch.
    """

    error: Mapping[str, Any]
    path: Path
    schemas: tuple[object, ...]
    parents: tuple[object, ...]
    branches: tuple[tuple[int, str], ...]


_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument", "missing_positional_only_argument"})  # fmt: skip
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument", "unexpected_positional_argument"})  # fmt: skip
_UNSENT: Any = object()


def pydantic_errors(
    error: ValidationError, schema: Schema, data: object = _UNSENT
) -> list[FieldError]:
    """One `FieldError` for each field that pydantic refused.

    Args:
        error: What validation raised.
        schema: The advertised JSON Schema of what was validated.
        data: What was validated, as parsed JSON. Without it, a union's tags in pydantic's
            paths are told from keys by the schema alone, which an open object cannot.
    """
    return refused_fields(error.errors(include_url=False), schema, data)


def refused_fields(
    errors: Sequence[Mapping[str, Any]], schema: Schema, data: object = _UNSENT
) -> list[FieldError]:
    """The same, of errors in pydantic's own form."""
    if (plain := _plain_fields(errors, schema)) is not None:
        return plain
    found = [_locate(each, schema, data) for each in errors]
    if len(found) > 1:
        found = _settle(found, 0, schema, data)
    fields: dict[Path, FieldError] = {}
    for each in found:
        if each.path not in fields:
            fields[each.path] = _field(each, schema)
    return list(fields.values())


def _plain_fields(errors: Sequence[Mapping[str, Any]], root: Schema) -> list[FieldError] | None:
    """The fields, if all are values of another type at properties of a plain root, as most are."""
    properties = root.get("properties")
    if not isinstance(properties, dict) or not _COMPOSED.isdisjoint(root):
        return None
    fields: list[FieldError] = []
    for error in errors:
        location = error["loc"]
        phrase = PLAIN.get(plain_type(properties.get(location[0]))) if len(location) == 1 else None
        if phrase is None or not error["type"].endswith(("_type", "_parsing")):
            return None
        fields.append(FieldError(location, phrase, describe_value(error["input"])))
    return fields


def _locate(error: Mapping[str, Any], root: Schema, data: object) -> _Found:
    """Walk the path through schema and data; what exists in neither is a name of a branch."""
    location = error["loc"]
    absent = error["type"] in _MISSING
    schemas: tuple[object, ...] = (root,)
    parents: tuple[object, ...] = ()
    path: list[str | int] = []
    branches: list[tuple[int, str]] = []
    for number, part in enumerate(location):
        last = number == len(location) - 1
        children = _children(schemas, part, root)
        if data is _UNSENT:
            there = bool(children) or (last and error["type"] in _UNKNOWN)
        else:
            there = (absent and last) or _has(data, part)
        if there:
            path.append(part)
            parents, schemas = schemas, children
            data = data if data is _UNSENT or (absent and last) else data[part]  # type: ignore[index]
        elif part != "[key]":
            branches.append((len(path), str(part)))
            schemas = _branch(schemas, str(part), root)
    return _Found(error, tuple(path), schemas, parents, tuple(branches))


def _has(data: object, part: str | int) -> bool:
    if isinstance(data, (dict, Mapping)):
        return part in data
    return isinstance(data, list) and isinstance(part, int) and 0 <= part < len(data)


def _value_at(data: object, path: Path) -> object:
    for part in path:
        if not _has(data, part):
            return _UNSENT
        data = data[part]  # type: ignore[index]
    return data


def _branch(schemas: tuple[object, ...], tag: str, root: Schema) -> tuple[object, ...]:
    """The branch of a union that pydantic calls `tag`; all of them if none is called so."""
    for schema in alternatives(schemas, root):
        discriminator = schema.get("discriminator")
        mapping = (
            discriminator.get("mapping") if isinstance(discriminator, (dict, Mapping)) else None
        )
        if isinstance(mapping, (dict, Mapping)) and tag in mapping:
            return (resolve(mapping[tag], root),)
        if schema.get("title") == tag or str(schema.get("$ref", "")).endswith(f"/{tag}"):
            return (schema,)
    return schemas


_COMPOSED = frozenset({"$ref", "allOf", "anyOf", "oneOf"})


def _children(schemas: Sequence[object], part: str | int, root: Schema) -> tuple[object, ...]:
    """The schemas one step down."""
    only = schemas[0] if len(schemas) == 1 else None
    if isinstance(only, (dict, Mapping)) and _COMPOSED.isdisjoint(only):
        properties = only.get("properties")
        if isinstance(properties, (dict, Mapping)) and part in properties:
            return (properties[part],)
    children: list[object] = []
    for schema in alternatives(schemas, root):
        if isinstance(part, int):
            first = schema.get("prefixItems")
            if isinstance(first, list) and part < len(first):
                children.append(first[part])
            elif "items" in schema:
                children.append(schema["items"])
            continue
        properties = schema.get("properties")
        if isinstance(properties, (dict, Mapping)) and part in properties:
            children.append(properties[part])
        elif isinstance(schema.get("additionalProperties"), (dict, Mapping)):
            children.append(schema["additionalProperties"])
    return tuple(children)


def _settle(found: list[_Found], level: int, root: Schema, data: object) -> list[_Found]:
    """Of a union's branches, keep the errors of the one that was meant, or one for them all."""
    kept: list[_Found] = []
    unions: dict[Path, dict[str, list[_Found]]] = {}
    for each in found:
        if len(each.branches) <= level:
            kept.append(each)
        else:
            length, tag = each.branches[level]
            unions.setdefault(each.path[:length], {}).setdefault(tag, []).append(each)
    for path, branches in unions.items():
        tried = [
            errors
            for errors in branches.values()
            if not any(len(e.path) == len(path) and _is_of_another_kind(e) for e in errors)
        ]
        meant = _closest(tried, path)
        kept += _settle(meant, level + 1, root, data) or [
            _whole_union(branches.values(), tried, path, root, data)
        ]
    return kept


def _is_of_another_kind(found: _Found) -> bool:
    kind = found.error["type"]
    return kind in ("literal_error", "enum") or kind.endswith(("_type", "_parsing"))


def _tags(errors: list[_Found], path: Path) -> set[str | int]:
    """Keys right below the union of which the branch wants another value."""
    return {
        e.path[-1]
        for e in errors
        if e.error["type"] == "literal_error" and len(e.path) == len(path) + 1
    }


def _closest(tried: list[list[_Found]], path: Path) -> list[_Found]:
    """The errors of the branch that was evidently meant; none if that is not evident."""
    right = [errors for errors in tried if not _tags(errors, path)]
    candidates = right if right or len(tried) > 1 else tried
    fewest = min(map(len, candidates), default=0)
    closest = [errors for errors in candidates if len(errors) == fewest]
    return closest[0] if len(closest) == 1 else []


def _whole_union(
    branches: Iterable[list[_Found]],
    tried: list[list[_Found]],
    path: Path,
    root: Schema,
    data: object,
) -> _Found:
    """One error for all branches: at the key they are told apart by, or at the union."""
    tags = set.intersection(*(_tags(errors, path) for errors in tried)) if tried else set()
    if len(tags) == 1:
        path = (*path, tags.pop())
    value = _value_at(data, path)
    if value is _UNSENT:
        at_path = (e.error["input"] for errors in branches for e in errors if e.path == path)
        value = next(at_path, _UNSENT)
    return _locate({"type": "union", "loc": path, "input": value}, root, data)


def _field(found: _Found, root: Schema) -> FieldError:
    kind = found.error["type"]
    if kind in _MISSING:
        return missing_field(found.path, found.schemas, root)
    if kind in _UNKNOWN:
        return unknown_key(found.path, known_keys(found.parents, root))
    if kind.startswith("union_tag_") and (tag := _tag_error(found, root)) is not None:
        return tag
    if found.error["loc"][-1:] == ("[key]",):
        wanted = _message(found.error).removeprefix("Input should be ").partition(",")[0]
        return FieldError(found.path, f"a key that is {wanted}")
    value = found.error["input"]
    phrase = expected(found.schemas, root, value)
    if kind not in _TOLD_BY_SCHEMA and not kind.endswith(("_type", "_parsing")):
        phrase = f"{phrase}: {_message(found.error)}"
    elif phrase == "any value":
        phrase = _message(found.error).removeprefix("Input should be ")
    return FieldError(found.path, phrase, "" if value is _UNSENT else describe_value(value))


# Errors of which the schema's phrase says all there is to say.
_TOLD_BY_SCHEMA = frozenset(
    {
        "union", "literal_error", "enum", "int_from_float", "finite_number", "none_required",
        "greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of",
        "too_short", "too_long", "string_too_short", "string_too_long",
        "string_pattern_mismatch", "union_tag_invalid", "union_tag_not_found",
    }
)  # fmt: skip


def _message(error: Mapping[str, Any]) -> str:
    text: str = error["msg"]
    return cut(text.removeprefix("Value error, ").removeprefix("Assertion failed, "), 200)


def _tag_error(found: _Found, root: Schema) -> FieldError | None:
    """A discriminator that is missing or names no branch: the fault is in that one key."""
    key = str(found.error["ctx"]["discriminator"]).strip("'")
    schemas = _children(found.schemas, key, root)
    if not schemas:
        return None
    if found.error["type"] == "union_tag_not_found":
        return missing_field((*found.path, key), schemas, root)
    return wrong_tag(found.path, key, found.schemas, root, found.error["ctx"]["tag"])

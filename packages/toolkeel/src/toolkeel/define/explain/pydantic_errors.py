"""Pydantic's validation errors, in words a model can act on.

Paths lead to what was sent: names that pydantic puts between for branches of unions are taken out,
and of those branches the one that was evidently intended is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from toolkeel._records.record import record
from toolkeel.define.explain.closest_branch import closest_branch, common_tag, fewest_faults
from toolkeel.define.explain.conjunction import is_described, plain_alternatives
from toolkeel.define.explain.phrases import FORMATS, PLAIN, alternatives, describe_type, plain_type
from toolkeel.define.explain.validation_errors import (
    UNSENT,
    Path,
    child_schemas,
    describe_expected,
    has_key,
    join_constants,
    missing_field,
    unknown_key,
    value_at,
    wrong_tag,
)
from toolkeel.define.explain.value_phrases import cut, describe_value
from toolkeel.define.subschemas import COMPOSED, Schema, matches_type, properties_of, resolve
from toolkeel.errors import FieldError


@record
class _Found:
    """One of pydantic's errors, its path cleaned.

    Args:
        error: pydantic's own error.
        path: Keys and indexes that exist in the data, or would.
        schemas: Schemas for the value there.
        parents: Schemas for the value one level up.
        branches: Unions on the way: the length of the path there, and the tag of the branch.
    """

    error: Mapping[str, Any]
    path: Path
    schemas: tuple[object, ...]
    parents: tuple[object, ...]
    branches: tuple[tuple[int, str], ...]


_JSON = (str, int, float, list, dict, type(None))
_MISSING = frozenset({"missing", "missing_argument", "missing_keyword_only_argument", "missing_positional_only_argument"})  # fmt: skip
_UNKNOWN = frozenset({"extra_forbidden", "unexpected_keyword_argument", "unexpected_positional_argument"})  # fmt: skip


def pydantic_errors(error: ValidationError, schema: Schema, data: object) -> list[FieldError]:
    """Return one `FieldError` for each field that pydantic refused.

    Args:
        error: The exception that validation raised.
        schema: The advertised JSON Schema of what was validated.
        data: The validated value, as parsed JSON. Parts of pydantic's paths that it does not
            have are names of a union's branches.
    """
    return refused_fields(error.errors(include_url=False), schema, data)


def refused_fields(
    errors: Sequence[Mapping[str, Any]], schema: Schema, data: object
) -> list[FieldError]:
    """Return one `FieldError` for each field in errors of pydantic's own form; its first error counts."""
    if (plain := _find_root_type_errors(errors, schema)) is not None:
        return plain
    errors = [each for each in errors if each["type"] != "default_factory_not_called"]
    errors = [each for each in errors if not _is_whole_float(each)] or errors
    found = [_locate(each, schema, data) for each in errors]
    if len(found) > 1:
        found = _branches_meant(found, 0, schema, data)
    fields: dict[Path, FieldError] = {}
    for each in found:
        known = fields.get(each.path)
        if known is None:
            fields[each.path] = _field(each, schema)
        elif each.error["type"] == _CONTENT and len(known.expected) < 300:
            both = f"{known.expected}; {_message(each.error)}"
            fields[each.path] = FieldError(each.path, both, known.got)
    return list(fields.values())


def _is_whole_float(error: Mapping[str, Any]) -> bool:
    """Return True if pydantic refuses 1.0 as an integer, which it is to JSON Schema."""
    sent = error["input"]
    is_integer = isinstance(sent, float) and sent.is_integer()
    return is_integer and error["type"] in ("int_type", "int_from_float")


def _find_root_type_errors(
    errors: Sequence[Mapping[str, Any]], root: Schema
) -> list[FieldError] | None:
    """Return the fields if all errors are wrong types at a plain root, as most are; else None."""
    properties = root.get("properties")
    if not isinstance(properties, dict) or not COMPOSED.isdisjoint(root):
        return None
    fields: list[FieldError] = []
    for error in errors:
        location = error["loc"]
        phrase = PLAIN.get(plain_type(properties.get(location[0]))) if len(location) == 1 else None
        if phrase is None or not error["type"].endswith(("_type", "_parsing")):
            return None
        if matches_type(error["input"], properties[location[0]]["type"]):  # of the text's form
            return None
        fields.append(FieldError(location, phrase, describe_value(error["input"])))
    return fields


def _locate(error: Mapping[str, Any], root: Schema, data: object) -> _Found:
    """Return an error with its path in the data, and the schemas there. Parts not in the data name a branch."""
    location = error["loc"]
    absent = error["type"] in _MISSING
    schemas: tuple[object, ...] = (root,)
    parents: tuple[object, ...] = ()
    path: list[str | int] = []
    branches: list[tuple[int, str]] = []
    for number, part in enumerate(location):
        if type(data) is str and _is_encoded(schemas, root):
            error = _in_text(error, location[number:], data)
            break
        last = number == len(location) - 1
        children = child_schemas(schemas, part, root)
        if (absent and last) or has_key(data, part):
            path.append(part)
            parents, schemas = schemas, children
            data = UNSENT if absent and last else data[part]  # type: ignore[index]
        elif part != "[key]":
            branches.append((len(path), str(part)))
            schemas = _branch(schemas, str(part), root)
    else:
        if type(data) is str and error["input"] != data and _is_encoded(schemas, root):
            error = _in_text(error, (), data)
    if not isinstance(error["input"], _JSON) and data is not UNSENT:  # a validator made it of that
        error = {**error, "input": data}
    return _Found(error, tuple(path), schemas, parents, tuple(branches))


def _is_encoded(schemas: Sequence[object], root: Schema) -> bool:
    """Return True if one of the schemas is of text that encodes a value (``contentSchema``)."""
    return any("contentSchema" in each for each in alternatives(schemas, root))


def _in_text(error: Mapping[str, Any], path: Path, sent: str) -> Mapping[str, Any]:
    """Return the error of a value within JSON text as one of the text that was sent."""
    where = f", {FieldError(path, '').where}" if path else ""
    message = f"in it{where}: {_message(error)}"
    return {**error, "type": _CONTENT, "msg": message, "input": sent}


_CONTENT = "json_content"
"""Type of an error within JSON text; not one of pydantic's."""


def _branch(schemas: tuple[object, ...], tag: str, root: Schema) -> tuple[object, ...]:
    """Return the branch of a union that pydantic calls `tag`, or all if none is called so."""
    for schema in alternatives(schemas, root):
        discriminator = schema.get("discriminator")
        mapping = (
            discriminator.get("mapping") if isinstance(discriminator, (dict, Mapping)) else None
        )
        if isinstance(mapping, (dict, Mapping)) and tag in mapping:
            target = mapping[tag]  # a union of its own where branches have further tags
            return (target if isinstance(target, (dict, Mapping)) else resolve(target, root),)
        if schema.get("title") == tag or str(schema.get("$ref", "")).endswith(f"/{tag}"):
            return (schema,)
    return schemas


def _branches_meant(found: list[_Found], level: int, root: Schema, data: object) -> list[_Found]:
    """Reduce the errors of a union's branches to the intended one, or to one for the union."""
    retained: list[_Found] = []
    unions: dict[Path, dict[str, list[_Found]]] = {}
    for each in found:
        if len(each.branches) <= level:
            retained.append(each)
        else:
            length, tag = each.branches[level]
            unions.setdefault(each.path[:length], {}).setdefault(tag, []).append(each)
    for path, branches in unions.items():
        tried = [
            errors
            for errors in branches.values()
            if not any(len(e.path) == len(path) and _is_of_another_kind(e) for e in errors)
        ]
        wrong = [
            [(e.path[len(path) :], e.error["type"] == "literal_error") for e in errors]
            for errors in tried
        ]
        common = common_tag(wrong)
        whole = _whole_union(branches.values(), common, path, root, data)
        intended = closest_branch(wrong)
        if intended is None and common is None and _is_described(whole, root):
            intended = fewest_faults(wrong)
        retained += _branches_meant(
            [] if intended is None else tried[intended], level + 1, root, data
        ) or [whole]
    return retained


def _is_described(found: _Found, root: Schema) -> bool:
    """Return True if a value already fits the phrase for its schemas."""
    value = found.error["input"]
    if value is UNSENT or not found.schemas:
        return False
    return is_described(value, plain_alternatives(_either(found.schemas), root), root)


def _is_of_another_kind(found: _Found) -> bool:
    """Return True if an error is a wrong type or constant, not a wrong size or content."""
    kind = found.error["type"]
    return kind in ("literal_error", "enum") or kind.endswith(("_type", "_parsing"))


def _whole_union(
    branches: Iterable[list[_Found]], tag: str | int | None, path: Path, root: Schema, data: object
) -> _Found:
    """Return one error for all branches: at `tag`, the key that tells them apart, or without one at the union."""
    path = path if tag is None else (*path, tag)
    value = value_at(data, path)
    if value is UNSENT:
        at_path = (e.error["input"] for errors in branches for e in errors if e.path == path)
        value = next(at_path, UNSENT)
    return _locate({"type": "union", "loc": path, "input": value}, root, data)


def _field(found: _Found, root: Schema) -> FieldError:
    """Return one of pydantic's errors in the schema's words, with pydantic's message where these say too little."""
    kind = found.error["type"]
    if kind in _MISSING:
        return missing_field(found.path, _either(found.schemas), root)
    if kind in _UNKNOWN:
        branches = [properties_of(each) for each in alternatives(found.parents, root)]
        names = (name for each in branches if found.path[-1] not in each for name in each)
        return unknown_key(found.path, list(dict.fromkeys(names)))
    if kind.startswith("union_tag_") and (tag := _tag_error(found, root)) is not None:
        return tag
    if found.error["loc"][-1:] == ("[key]",):
        return FieldError(found.path, f"a key that is {_key_wanted(found, root)}")
    value = found.error["input"]
    phrase = describe_expected(_refusing(found.schemas, root, value), root, value)
    by_schema = kind in _TOLD_BY_SCHEMA or kind.endswith(("_type", "_parsing"))
    if not by_schema or (kind not in _OF_THE_FORM and _is_described(found, root)):
        phrase = f"{phrase}: {_message(found.error)}"
    elif phrase == "any value":
        phrase = _message(found.error).removeprefix("Input should be ")
    return FieldError(found.path, phrase, "" if value is UNSENT else describe_value(value))


def _refusing(schemas: Sequence[object], root: Schema, value: object) -> Sequence[object]:
    """Return the schemas of several branches without those that the value already satisfies; all if none remain."""
    if len(schemas) == 1 or value is UNSENT:
        return schemas
    refusing = [
        each for each in schemas if not is_described(value, plain_alternatives([each], root), root)
    ]
    return refusing or schemas


def _either(schemas: Sequence[object]) -> Sequence[object]:
    """Return several branches' schemas as a list of one that admits what any does; a single one unchanged."""
    schemas = join_constants(schemas)
    return [{"anyOf": list(schemas)}] if len(schemas) > 1 else schemas


def _key_wanted(found: _Found, root: Schema) -> str:
    """Describe the keys that a dict admits."""
    error = found.error
    for parent in alternatives(found.parents, root):
        stored: Any = parent.get("propertyNames")
        for names in alternatives([stored], root):
            if "enum" in names or "const" in names or str(names.get("format")) in FORMATS:
                return describe_expected([{"type": "string", **names}], root, found.path[-1])
    message = {
        _BOUNDS[name]: bound for name, bound in error.get("ctx", {}).items() if name in _BOUNDS
    }
    if message:
        return describe_type({"type": "string", **message})
    return _message(error).removeprefix("Input should be ").partition(",")[0]


_BOUNDS = {"pattern": "pattern", "min_length": "minLength", "max_length": "maxLength"}

_OF_THE_FORM = frozenset([
    "union", "string_pattern_mismatch", "uuid_version", "url_scheme", "byte_size", "date_type",
    "datetime_type", "time_type", "time_delta_type", "timezone_aware", "timezone_naive",
    "decimal_type", "decimal_parsing", "pattern_regex",
])  # fmt: skip
"""Errors of which the schema's phrase says all, though a text can seem to fit it."""
# Errors of which the schema's phrase says all there is to say.
_TOLD_BY_SCHEMA = _OF_THE_FORM | frozenset(
    {
        "literal_error", "enum", "int_from_float", "finite_number", "none_required",
        "greater_than", "greater_than_equal", "less_than", "less_than_equal", "multiple_of",
        "too_short", "too_long", "string_too_short", "string_too_long",
        "union_tag_not_found",
    }
)  # fmt: skip


# What pydantic says to programmers, stated to those who write JSON.
_IN_JSON: Mapping[str, str] = {
    "set_item_not_hashable": "no objects or lists within it",
    "recursion_loop": "not nested so deeply",
    "recursion_depth_exceeded": "not nested so deeply",
    "get_attribute_error": "a value that can be read",
    "iteration_error": "a list that can be read",
    "uuid_type": "hexadecimal digits in groups of 8-4-4-4-12",
} | dict.fromkeys(
    ("needs_python_object", "is_instance_of", "is_subclass_of", "ellipsis_error", "missing_sentinel_error"),
    "nothing that JSON can say: leave it out",
)  # fmt: skip


_OF_A_TEXT = frozenset([
    "url_parsing", "url_syntax_violation", "date_parsing", "date_from_datetime_parsing",
    "datetime_parsing", "datetime_from_date_parsing", "time_parsing", "time_delta_parsing",
])  # fmt: skip
"""Errors of texts of the advertised form, whose context says what is wrong with them."""


def _message(error: Mapping[str, Any]) -> str:
    """Return pydantic's message, at most 200 characters, in JSON's words."""
    text: str = _IN_JSON.get(error["type"], error["msg"])
    if error["type"] == "union_tag_invalid":
        return cut("{tag!r} is none of {expected_tags}".format_map(error["ctx"]), 200)
    if error["type"] in _OF_A_TEXT:
        text = str(error.get("ctx", {}).get("error", text))
        # Of a date and time pydantic says what is wrong with its text as a date.
        text = "no valid time after the date" if text.startswith("unexpected extra") else text
    return cut(text.removeprefix("Value error, ").removeprefix("Assertion failed, "), 200)


def _tag_error(found: _Found, root: Schema) -> FieldError | None:
    """Return the error of a discriminator that is missing or names no branch; else None."""
    key = str(found.error["ctx"]["discriminator"]).strip("'")
    schemas = child_schemas(found.schemas, key, root)
    if not schemas:
        return None
    if found.error["type"] == "union_tag_not_found":
        return missing_field((*found.path, key), _either(schemas), root)
    sent = value_at(found.error["input"], (key,))
    return wrong_tag(found.path, key, found.schemas, root, sent)

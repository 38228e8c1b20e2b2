"""JSON Schemas of other people's tools: what no validator can run costs that one keyword.

A server's definition was never compiled by anybody before it reached us: other clients send
arguments unchecked. So a pattern of another dialect, a misspelt type or a reference to nowhere must
not take its tool away. Such a keyword is taken out of what is checked and advertised, and named.
What only searches wrong because it is written in an older dialect is read in that dialect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from toolkeel.define.explain.schema_limits import MAX_DEPTH, is_too_deep
from toolkeel.define.explain.value_phrases import short_json
from toolkeel.define.schema.json_schema_validator import (
    JsonSchemaValidator,
    LazyValidator,
    compile_json_schema,
)
from toolkeel.define.schema.plain import is_plain
from toolkeel.define.subschemas import (
    Location,
    Schema,
    admit_null,
    all_subschemas,
    properties_of,
    required_of,
    subschemas,
)
from toolkeel.errors import DefinitionError

MOST = 50
"""Keywords taken out of one schema, beyond which it is none."""

_DRAFT_7 = "http://json-schema.org/draft-07/schema#"
_DRAFT_4 = "http://json-schema.org/draft-04/schema#"
_OF_SCHEMAS = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_NAMED_BY = ("$id", "id", "$schema")
_KINDS = ("object", "array", "string", "number", "integer", "boolean", "null")
_OF_OBJECTS = frozenset(("properties", "required", "anyOf", "oneOf", "allOf", "$ref"))


def make_compilable(schema: Schema, *, root: str = "") -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return a schema that compiles, as close to another's as possible.

    See `compile_foreign`.

    Raises:
        DefinitionError: too many keywords are wrong, or the root is.

    >>> make_compilable({"type": "object", "properties": {"x": {"type": "strng", "maxLength": 9}}})
    ({'type': 'object', 'properties': {'x': {'maxLength': 9}}}, ('#/properties/x/type "strng" is not checked: "strng" is not a JSON Schema type; leave it out to take any value',))
    """
    compiled, problems = compile_foreign(schema, root=root)
    return cast("dict[str, Any]", compiled.schema), problems


def compile_foreign(
    schema: Schema, *, root: str = ""
) -> tuple[JsonSchemaValidator | LazyValidator, tuple[str, ...]]:
    """Compile a schema of another program, as close to it as possible.

    Args:
        schema: Another program's schema; it is not changed.
        root: ``"object"`` where a value of another kind can never come, as with arguments.

    Returns:
        The validator of a copy, and a sentence for each keyword that was taken out.

    Raises:
        DefinitionError: nothing in it compiles; never with a `root`.
    """
    if (not root or schema.get("type") == root) and is_plain(schema):  # nothing of it can fail
        return LazyValidator(schema), ()
    retained = dict(schema)
    problems: list[str] = []
    if is_too_deep(retained):
        retained, _ = _limit_depth(retained, MAX_DEPTH - 1)
        problems.append(f"what is nested more than {MAX_DEPTH} levels deep is not checked")
    retained = deepcopy(retained)
    problems += _translate_openapi(retained)
    retained = _with_dialect(_with_root_type(retained, root))
    try:
        compiled, faults = _compile_without_faults(retained)
    except DefinitionError as error:
        if not root:
            raise
        problems.append(f"only names and kinds are checked: {error}")
        return compile_json_schema(_minimal_schema(retained)), tuple(problems)
    return compiled, (*problems, *faults)


def _compile_without_faults(schema: dict[str, Any]) -> tuple[JsonSchemaValidator, list[str]]:
    """Remove the keywords that cannot be compiled from a schema, in place, and compile it.

    Returns:
        The validator, and a sentence for each keyword.

    Raises:
        DefinitionError: too many keywords are wrong, or the root is.
    """
    problems: list[str] = []
    for _ in range(MOST):
        try:
            return compile_json_schema(schema), problems
        except DefinitionError as error:
            problems.append(_remove_fault(schema, error))
    raise DefinitionError(f"The JSON Schema has more than {MOST} keywords that cannot be run.")


def _minimal_schema(schema: Schema) -> dict[str, Any]:
    """Return the arguments by name, type and description only, which always compiles."""
    parts = {
        name: {
            "type": part.get("type") if part.get("type") in _KINDS else list(_KINDS),
            "description": str(part.get("description", ""))[:1000],
        }
        for name, part in properties_of(schema).items()
        if isinstance(part, Mapping)
    }
    needed = [name for name in required_of(schema) if name in parts]
    return {"type": "object", "properties": parts, "required": needed}


def _translate_openapi(schema: dict[str, Any]) -> list[str]:
    """Replace OpenAPI's and generators' keywords by JSON Schema's, in place.

    List what was removed.
    """
    problems = []
    for place, part in list(_places(schema, ())):
        if part.pop("nullable", None) is True and (place or "type" in part):
            with_null = admit_null(part)
            part.clear()
            part.update(with_null)
        if part.get("enum") == []:  # filled from a list that was empty
            del part["enum"]
            problems.append(f"#/{'/'.join(map(str, place))}/enum is empty, and is not checked")
    return problems


def _places(schema: Schema, place: Location) -> Iterator[tuple[Location, dict[str, Any]]]:
    """Yield every schema within a schema, the innermost first, and its place."""
    for step, inner in subschemas(schema):
        yield from _places(inner, (*place, *step))
    yield place, cast("dict[str, Any]", schema)


def _limit_depth(value: object, levels: int) -> tuple[Any, bool]:
    """Return a value cut at a depth of objects and arrays, and True if anything was cut.

    ``{}`` replaces what is cut, since it admits everything. Under ``not`` or a count that would
    refuse valid values, so there the keyword is removed.
    """
    if not isinstance(value, Mapping | list):
        return value, False
    if levels == 0:
        return {}, True
    pairs = list(value.items()) if isinstance(value, Mapping) else list(enumerate(value))
    parts = {key: _limit_depth(item, levels - 1) for key, item in pairs}
    less = any(cut for _, cut in parts.values())
    if isinstance(value, list):
        return [part for part, _ in parts.values()], less
    return {key: part for key, (part, cut) in parts.items() if not (cut and key in _TURNED)}, less


_TURNED = frozenset([
    "not", "if", "oneOf", "contains", "unevaluatedProperties", "unevaluatedItems", "enum", "const",
])  # fmt: skip


def _with_root_type(schema: Schema, root: str) -> dict[str, Any]:
    """Return a copy with `root` as its only type, if it lists that, or names none and can be an object.

    With an empty `root`, nothing is changed.
    """
    retained = dict(schema)
    kind = retained.get("type")
    among = isinstance(kind, list) and root in kind
    unsaid = kind is None and (not retained or bool(_OF_OBJECTS & retained.keys()))
    if root and (among or unsaid):
        retained = {
            "type": root,
            **{key: value for key, value in retained.items() if key != "type"},
        }
    return retained


def _with_dialect(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema with its dialect named, where its keywords show an older one."""
    if "$schema" in schema:
        return schema
    parts = list(all_subschemas(schema))
    if any(isinstance(part.get(f"exclusive{end}"), bool) for part in parts for end in _ENDS):
        return {"$schema": _DRAFT_4, **schema}
    if any(isinstance(part.get("items"), list) for part in parts):
        return {"$schema": _DRAFT_7, **schema}
    return schema


_ENDS = ("Minimum", "Maximum")


def _remove_fault(schema: dict[str, Any], error: DefinitionError) -> str:
    """Remove the keyword that an error names from the schema.

    Returns:
        What was taken out, and why.

    Raises:
        DefinitionError: the same, if it names no place.
    """
    cause: Any = error.__cause__  # of jsonschema-rs, if it comes from there
    path: list[str | int] = list(getattr(cause, "instance_path", ()))
    if getattr(getattr(cause, "kind", None), "name", "") == "propertyNames":
        path.append(str(getattr(getattr(cause, "kind", None), "error", cause).instance))
    path = path or (["$schema"] if cause is None else _find_unresolved(schema, str(cause)))
    if not path or (path == ["$schema"] and "$schema" not in schema):
        raise error
    reason = str(error).partition(": ")[2].rstrip(".") or str(error)
    where, value = _remove_keyword(schema, path)
    return f"#/{'/'.join(map(str, where))} {short_json(value)} is not checked: {reason}"


def _find_unresolved(schema: dict[str, Any], message: str) -> list[str | int]:
    """Return the place of a reference without a target, found by the error's text; empty without references."""
    found: list[tuple[int, list[str | int]]] = []

    def look(value: object, path: list[str | int]) -> None:
        """Collect the places of references and names that the error's text mentions."""
        if isinstance(value, Mapping):
            for key, item in value.items():
                if key in _REFERENCES and isinstance(item, str):
                    found.append((len(item) * (item.lstrip("#") in message), [*path, key]))
                elif key in _NAMED_BY and f"'{item}'" in message:
                    found.append((len(item), [*path, key]))
                look(item, [*path, key])
        elif isinstance(value, list):
            for index, item in enumerate(value):
                look(item, [*path, index])

    look(schema, [])
    return max(found, key=lambda each: each[0])[1] if found else []


def _remove_keyword(
    schema: dict[str, Any], path: Sequence[str | int]
) -> tuple[list[str | int], object]:
    """Remove the keyword at a path, in place; a wrong schema is replaced by one that admits all values.

    Returns:
        The path of what was removed, which may be shorter, and its value.
    """
    holder: Any = schema
    place: list[str | int] = []
    last: tuple[Any, str | int, list[str | int], bool] | None = None
    is_schema = True  # if `holder` is a schema, whose keys are keywords
    for key in path:
        if not isinstance(holder, dict | list):
            break
        place.append(key)
        if isinstance(holder, dict) and is_schema:
            last = holder, key, list(place), False
            is_schema = key not in _OF_SCHEMAS
        elif isinstance(holder, dict):
            last = holder, key, list(place), True
            is_schema = True
        inside: Any = holder
        holder = inside[key] if not isinstance(holder, dict) or key in holder else None
    assert last is not None  # the path is not empty
    owner, key, where, full = last
    value = owner.get(key)
    if full and where[-2] != "patternProperties":
        owner[key] = {}
    else:
        owner.pop(key, None)
    return where, value

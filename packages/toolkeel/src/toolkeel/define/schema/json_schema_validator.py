"""A JSON Schema, compiled once: validates values, explains errors, fills in defaults.

The validator is jsonschema-rs, without network access. Its patterns run in linear time; those that
look around or refer back run in another engine, which counts their steps. Schemas come from other
people's servers: `schema_limits` bounds their cost.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from toolkeel.define.explain.mismatch import Mismatches
from toolkeel.define.explain.schema_limits import check_work, to_plain_schema
from toolkeel.define.explain.value_phrases import short_json
from toolkeel.define.schema.plain import is_plain
from toolkeel.define.subschemas import (
    OTHER_TYPES,
    Schema,
    accepts,
    all_subschemas,
    list_of,
    properties_of,
    resolve,
)
from toolkeel.errors import DefinitionError, FieldError

if TYPE_CHECKING:
    import jsonschema_rs

    Engine: TypeAlias = jsonschema_rs.RegexOptions | jsonschema_rs.FancyRegexOptions

BACKTRACKS = 100_000
"""Steps back within one match of a pattern that cannot run in linear time: some milliseconds."""


class JsonSchemaValidator:
    """A compiled JSON Schema.

    Args:
        schema: The schema as plain data of its own.
        mismatches: Holds the compiled validator, and explains errors.

    Attributes:
        schema: The schema as plain data of its own; later changes to the original do nothing.
        has_defaults: True if `with_defaults` ever adds anything.
    """

    __slots__ = ("_flat_defaults", "_validator", "has_defaults", "mismatches", "schema")

    def __init__(self, schema: Schema | bool, mismatches: Mismatches) -> None:
        self.schema = schema
        self._validator = mismatches.validator
        self.mismatches = mismatches
        self.has_defaults = isinstance(schema, Mapping) and any(
            "default" in each for each in all_subschemas(schema)
        )
        self._flat_defaults = _flat_defaults(schema) if self.has_defaults else None

    def is_valid(self, value: object) -> bool:
        """Return True if the schema admits a value of JSON data; False for anything that is none."""
        try:
            return self._validator.is_valid(value)
        except ValueError:  # not JSON, half a surrogate pair, nested beyond reason
            return False

    def errors(self, value: object) -> list[FieldError]:
        """Return an error for each field that failed, of the first hundred faults.

        Fields within a union are reported for the branch that was evidently intended, or else
        the union as one.
        """
        return self.mismatches.errors(value)

    def with_defaults(self, value: dict[str, object]) -> dict[str, object]:
        """Return the value with `default` filled in for absent properties, except inside unions.

        A default that is not of its own schema's type is left out: a server would refuse it.
        The value passed is not changed.
        """
        if not self.has_defaults or not isinstance(self.schema, Mapping):
            return value
        if self._flat_defaults is not None:
            absent = {k: v for k, v in self._flat_defaults.items() if k not in value}
            return {**value, **absent} if absent else value
        filled = _with_defaults(value, self.schema, self.schema, ())
        return filled if isinstance(filled, dict) else value


class LazyValidator:
    """A JSON Schema that is compiled at its first use. See `JsonSchemaValidator`."""

    def __init__(self, schema: Schema) -> None:
        self.schema = to_plain_schema(schema)
        self.has_defaults = any("default" in each for each in all_subschemas(schema))

    @functools.cached_property
    def _compiled(self) -> JsonSchemaValidator:
        """The compiled validator, made at first use. Raises `DefinitionError` if the schema is wrong."""
        return compile_json_schema(self.schema)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._compiled, name)  # all that needs the compiled schema


def compile_when_used(schema: Schema) -> JsonSchemaValidator | LazyValidator:
    """Return a schema's validator; a schema that surely compiles is compiled at its first use.

    Raises:
        DefinitionError: as `compile_json_schema`.
    """
    return LazyValidator(schema) if is_plain(schema) else compile_json_schema(schema)


def compile_json_schema(
    schema: Mapping[str, object] | bool, *, documents: Mapping[str, Schema | bool] | None = None
) -> JsonSchemaValidator:
    """Compile a JSON Schema of any kind.

    `$schema` chooses the dialect, 2020-12 if it is absent. Formats are not asserted, as the
    specification has it. Nothing is ever fetched.

    Args:
        schema: 2020-12, 2019-09, draft-07, -06 or -04; True takes anything, False nothing.
        documents: Other schemas that it may refer to, or name as its `$schema`, by URI; by default
            none.

    Raises:
        DefinitionError: naming what does not compile, reaches outside, or is too large.

    >>> compile_json_schema({"type": "integer"}).is_valid(5)
    True
    """
    # Imported here: it costs 12 ms, and programs of typed functions alone never need it.
    import jsonschema_rs

    plain = to_plain_schema(schema)
    others = {uri: to_plain_schema(each) for uri, each in (documents or {}).items()}
    unknown = check_work(plain)
    registry = jsonschema_rs.Registry(list(others.items())) if others else None
    dialect = _dialect(plain, others)
    compiler = (
        getattr(jsonschema_rs, f"{dialect}Validator") if dialect else jsonschema_rs.validator_for
    )
    compiled = partial(compiler, plain, offline=True, validate_formats=False, registry=registry)
    validator, engine = _with_regex_engine(compiled)
    if unknown and not others:
        raise DefinitionError(f"Where {short_json(unknown)} leads cannot be followed.")
    return JsonSchemaValidator(plain, Mismatches(plain, validator, others, engine))


def _with_regex_engine(
    compiled: Callable[..., jsonschema_rs.Validator],
) -> tuple[jsonschema_rs.Validator, Engine]:
    """Return the compiled validator and its regex engine, or raise `DefinitionError`."""
    import jsonschema_rs

    linear = jsonschema_rs.RegexOptions()
    fancy = jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS)
    for engine in (linear, fancy):
        try:
            return compiled(pattern_options=engine), engine
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            if engine is fancy or not _is_of_a_pattern(error):
                _does_not_compile(error)
    raise AssertionError("the last engine returns or raises")


def _is_of_a_pattern(error: Exception) -> bool:
    """Return True if a compile error is about a pattern."""
    path = list(getattr(error, "instance_path", ()))
    return "pattern" in path[-1:] or "patternProperties" in path[-2:]


_DRAFTS = (
    ("2020-12", "Draft202012"), ("2019-09", "Draft201909"), ("draft-07", "Draft7"),
    ("draft-06", "Draft6"), ("draft-04", "Draft4"),
)  # fmt: skip
_OFFICIAL = re.compile(r"https?://json-schema\.org/(?P<name>.*)")


def _dialect(schema: Schema | bool, documents: Mapping[str, object]) -> str:
    """Return how the dialect's validator is called, "" for one among `documents`, or raise `DefinitionError`."""
    written = schema.get("$schema", "") if isinstance(schema, Mapping) else ""
    uri = str(written)
    if not uri:
        return "Draft202012"
    if uri.rstrip("#") in documents:
        return ""
    official = _OFFICIAL.fullmatch(uri)
    if official is None:
        raise DefinitionError(
            f"The JSON Schema is written in the dialect {uri[:200]!r}, which is not supported: "
            "use 2020-12 or draft-07."
        )
    for name, draft in _DRAFTS:
        if name in official["name"]:
            return draft
    return "Draft202012"


def _does_not_compile(error: Exception) -> NoReturn:
    """Raise `DefinitionError` with the fault's place in the schema, and the fix if known."""
    reason = str(getattr(error, "message", error)).split("\n", 1)[0][:300]
    path = list(getattr(error, "instance_path", ()))
    value = getattr(error, "instance", None)
    where = f"#/{'/'.join(str(part) for part in path)}" if path else "the JSON Schema"
    if "retrieving it failed" in reason:
        reason = reason.split(" is not present", 1)[0]
        reason += " lies outside the schema, and nothing is fetched. Put it under $defs"
    elif path[-1:] == ["type"]:
        right = OTHER_TYPES.get(str(value).lower())
        hint = f'write "{right}"' if right else "leave it out to take any value"
        reason = f"{short_json(value)} is not a JSON Schema type; {hint}"
    elif path[-1:] == ["pattern"] and isinstance(value, str):
        reason = (
            f"the pattern {short_json(value)} is no regular expression of ECMA-262 that can be run"
        )
    raise DefinitionError(f"The JSON Schema does not compile, at {where}: {reason}.") from error


def _flat_defaults(schema: Schema | bool) -> dict[str, object] | None:
    """Return the defaults if all are plain values of root properties, the usual case; else None."""
    if not isinstance(schema, Mapping) or "$ref" in schema or "allOf" in schema:
        return None
    own = properties_of(schema).values()
    holders = [each for each in all_subschemas(schema) if "default" in each]
    if any(not any(each is one for one in own) for each in holders):
        return None
    if any(isinstance(each["default"], (dict, list)) for each in holders):
        return None
    filled = _with_defaults({}, schema, schema, ())
    return filled if isinstance(filled, dict) else None


def _with_defaults(value: object, schema: object, root: Schema, within: tuple[int, ...]) -> object:
    """Return the value with defaults filled in. Without any, return the same object."""
    if not isinstance(schema, Mapping) or id(schema) in within:
        return value
    within = (*within, id(schema))
    if "$ref" in schema:
        value = _with_defaults(value, resolve(schema["$ref"], root), root, within)
    for part in list_of(schema, "allOf"):
        value = _with_defaults(value, part, root, within)
    if isinstance(value, dict):
        return _object_with_defaults(value, schema, root)
    if isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        items = [_with_defaults(item, schema["items"], root, ()) for item in value]
        return items if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def _object_with_defaults(
    value: dict[str, object], schema: Schema, root: Schema
) -> dict[str, object]:
    """Return an object with defaults at every level; the same object if nothing is added."""
    properties = properties_of(schema)
    others = schema.get("additionalProperties")
    changed = {
        name: after
        for name, item in value.items()
        if (after := _with_defaults(item, properties.get(name, others), root, ())) is not item
    }
    for name, each in properties.items():
        if name in value or not isinstance(each, Mapping) or "default" not in each:
            continue
        if accepts(each["default"], each, root):
            changed[name] = deepcopy(each["default"])
    return {**value, **changed} if changed else value

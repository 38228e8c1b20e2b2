"""The JSON Schema generator: pydantic's, adapted for defaults, named tuples, keys, decimals and enums."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import to_jsonable_python

from toolkeel._records.record import record
from toolkeel.define.schema.enforced_keywords import (
    ENFORCED_TYPES,
    MARK,
    added_keywords,
    enforced,
    mark_enforced,
)
from toolkeel.define.schema.text_forms import TEXT_TYPES, with_text_pattern
from toolkeel.define.subschemas import (
    Schema,
    all_subschemas,
    allowed_values,
    is_allowed_value,
    matches_type,
    violates,
)
from toolkeel.define.text_patterns import DECIMAL, DECIMALS, decimal_pattern, zone_pattern
from toolkeel.errors import DefinitionError

Refuses: TypeAlias = Callable[[str, object], bool]


KEYS: Mapping[str, Mapping[str, object]] = {
    "integer": {"pattern": "^(0|-?[1-9][0-9]*)$"},
    "number": {"pattern": r"^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$", "format": "number"},
    "boolean": {"enum": ["true", "false"]},
    "decimal number": {"pattern": DECIMAL, "format": "decimal"},
}
"""Schemas of the property names for a dict whose keys are not text, by the keys' type.

An integer has only one form.
"""
MAX_FLAGS = 256  # sums of flags that are spelt out


class UnadvertisedType(PydanticUserError):
    """Raised for a type that takes some JSON and has no schema, also as a branch of a union.

    pydantic leaves a branch out of the schema for its own `PydanticInvalidForJsonSchema`.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, code=None)


class PathOnlyAlias(UnadvertisedType):
    """Raised for a field that is found by a path alone, since no name can be advertised."""

    def __init__(self, path: list[str | int]) -> None:
        super().__init__(
            f"is read from the path {'.'.join(map(str, path))!r}, which is no name that a model "
            'could use; give it one too, AliasChoices("name", AliasPath(...)), or drop the alias'
        )


@record
class GeneratedSchema:
    """JSON Schema of a core schema, and what pydantic does not enforce of it.

    Args:
        schema: The JSON Schema.
        has_loose_keywords: True if its author added a keyword that pydantic checks less strictly
            than it is advertised.
        has_added_keywords: True if its author added a keyword that pydantic does not check at all,
            as with ``json_schema_extra``.
    """

    schema: dict[str, Any]
    has_loose_keywords: bool
    has_added_keywords: bool


def generate_schema(core: Any) -> GeneratedSchema:
    """Generate the JSON Schema of a core schema, with what pydantic does not enforce of it.

    Raises `PydanticUserError` for a type without a JSON form.
    """
    made = ToolSchemaGenerator().generate(core, mode="validation")
    is_loose = is_added = False
    for part in all_subschemas(made):
        added = added_keywords(part)
        is_loose = is_loose or (bool(added) and has_loose_keyword(part))
        is_added = is_added or bool(added - {"format"})
    return GeneratedSchema(made, is_loose, is_added)


def has_loose_keyword(part: Schema) -> bool:
    """Return True if a schema has a keyword that pydantic checks less strictly than advertised."""
    if part.get("format") in FORMATS or part.get("uniqueItems") or "propertyNames" in part:
        return True
    if "enum" in part or "const" in part:
        return any(isinstance(each, int | float) for each in allowed_values(part))
    return False


FORMATS = ("date", "date-time", "time", "duration")


class ToolSchemaGenerator(GenerateJsonSchema):
    """pydantic's generator for tools: marks secrets, and omits titles made from names and defaults that do not fit.

    Raises:
        PathOnlyAlias: a field is found by an `AliasPath` and by no name.
    """

    def build_schema_type_to_method(self) -> Any:
        """Return the method of each type; `ENFORCED_TYPES` mark what they return, `TEXT_TYPES` add a pattern."""
        methods: dict[Any, Any] = dict(super().build_schema_type_to_method())
        if self.mode == "validation":
            for kind in TEXT_TYPES & methods.keys():
                methods[kind] = with_text_pattern(methods[kind])
        return {
            kind: enforced(method) if kind in ENFORCED_TYPES else method
            for kind, method in methods.items()
        }

    def datetime_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a datetime, with a pattern if it needs or refuses a time zone."""
        made, zone = super().datetime_schema(schema), zone_pattern(schema.get("tz_constraint"))
        return made if zone is None else {**made, "pattern": zone}

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Return False: titles made from names are not wanted."""
        return False

    def json_or_python_schema(self, schema: Any) -> dict[str, Any]:
        """Return pydantic's schema; that of a `Secret` with ``writeOnly``."""
        made = super().json_or_python_schema(schema)
        writes = schema.get("serialization", {}).get("function")
        if getattr(writes, "__name__", "") == "_serialize_secret":
            return {**made, "writeOnly": True}
        return made

    def default_schema(self, schema: Any) -> dict[str, Any]:
        """Return pydantic's schema, without a default that does not fit it."""
        made = super().default_schema(schema)
        if "default" in made and violates(made["default"], made, {}):
            del made["default"]  # pydantic does not validate it, and a model could not send it
        return made

    def named_tuple_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of an object with the fields' names; of a result, pydantic's own."""
        made: dict[str, Any] = super().named_tuple_schema(schema)  # pyright: ignore[reportAttributeAccessIssue]
        if self.mode != "validation":
            return made
        names = [field.get("validation_alias", field["name"]) for field in schema["fields"]]
        properties = dict(zip(names, made.get("prefixItems", ()), strict=True))
        required = names[: made.get("minItems", 0)]
        return {"type": "object", "properties": properties, "required": required}

    def union_schema(self, schema: Any) -> dict[str, Any]:
        """Return a union's schema without branches that have no JSON form.

        Raises:
            PydanticInvalidForJsonSchema: no branch has a JSON form.
        """
        made = super().union_schema(schema)
        if made.get("anyOf") == []:  # pydantic passes over branches without a form
            raise PydanticInvalidForJsonSchema("no branch of a union has a form in JSON")
        return made

    def is_subclass_schema(self, schema: Any) -> dict[str, Any]:
        """Raise: a class has no JSON form."""
        return self.handle_invalid_for_json_schema(schema, "a class")

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a dict with the form of its keys, or raise `UnadvertisedType`."""
        return self._with_keys(super().dict_schema(schema), schema)

    def ordered_dict_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of an OrderedDict with the form of its keys, or raise `UnadvertisedType`."""
        return self._with_keys(super().ordered_dict_schema(schema), schema)

    def frozendict_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a frozendict with the form of its keys, or raise `UnadvertisedType`."""
        return self._with_keys(super().frozendict_schema(schema), schema)

    def counter_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a Counter with the form of its keys, or raise `UnadvertisedType`."""
        return self._with_keys(super().counter_schema(schema), schema)

    def _with_keys(self, made: dict[str, Any], schema: Any) -> dict[str, Any]:
        """Return a dict's schema, changed in place, with the form of its keys.

        Raises:
            UnadvertisedType: no JSON text can become a key of this type.
        """
        keys = self.generate_inner(schema["keys_schema"]) if "keys_schema" in schema else {}
        keys = self.resolve_ref_schema(keys)
        options = keys.get("enum", [keys["const"]] if "const" in keys else ["text"])
        if keys.get("type") in ("array", "object", "null") or not any(
            isinstance(each, str) for each in options
        ):
            raise UnadvertisedType(
                "the keys of a JSON object are texts, and none becomes one of these; take str or int "
                "as keys, or a list of pairs"
            )
        if (kind := _kind_of_keys(keys)) in KEYS:
            made["propertyNames"] = mark_enforced(dict(KEYS[kind]))
        for pattern, values in made.pop("patternProperties", {}).items():
            made["propertyNames"] = mark_enforced({"pattern": pattern})
            made["additionalProperties"] = values
        if made.get("propertyNames", {}).keys() == {MARK}:  # any text
            del made["propertyNames"]
        return made

    def decimal_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of decimals: numbers, or texts of the pattern that the type's bounds leave."""
        made = super().decimal_schema(schema)
        for branch in made.get("anyOf", ()):
            if branch.get("type") == "string":
                branch["pattern"] = decimal_pattern(schema)
            whole = {
                k: int(v) for k, v in branch.items() if isinstance(v, float) and v.is_integer()
            }
            branch.update(whole)  # 0.0, as pydantic writes a bound, reads badly in a message
        return made

    def enum_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of an enum with each value once; of a `Flag`, with every sum of its members.

        Raises `UnadvertisedType` if a `Flag` has too many sums to list.
        """
        different: Any = {**schema, "members": list(dict.fromkeys(schema["members"]))}
        made = super().enum_schema(different)  # without aliases, which are there twice
        if issubclass(schema["cls"], enum.Flag):
            made["enum"], message = flag_sums(schema["cls"]), _list_flags(schema["cls"])
            made["description"] = f"{made.get('description', '')} The sum of: {message}.".strip()
        return made

    def dataclass_args_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a dataclass without fields that the constructor does not accept.

        Raises:
            UnadvertisedType: the class retains not all that it is made of.
        """
        for field in schema["fields"]:
            if field.get("init_only"):
                raise UnadvertisedType(
                    f"{schema['dataclass_name']}.{field['name']} is an InitVar, which no person could "
                    "see or approve, since an object does not retain it; make it a field"
                )
        taken = [field for field in schema["fields"] if field.get("init", True)]
        less: Any = {**schema, "fields": taken}
        return super().dataclass_args_schema(less)

    def model_field_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a model's field, or raise `PathOnlyAlias`."""
        self._check_name(schema)
        return super().model_field_schema(schema)

    def typed_dict_field_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a TypedDict's field, or raise `PathOnlyAlias`."""
        self._check_name(schema)
        return super().typed_dict_field_schema(schema)

    def dataclass_field_schema(self, schema: Any) -> dict[str, Any]:
        """Return the schema of a dataclass's field, or raise `PathOnlyAlias`."""
        self._check_name(schema)
        return super().dataclass_field_schema(schema)

    def _check_name(self, field: Any) -> None:
        """Raise `PathOnlyAlias` if a field can be sent by no name."""
        alias = field.get("validation_alias")
        if not isinstance(alias, list) or self._config.populate_by_name:
            return
        if self._config.validate_by_name or any(_is_name(path) for path in alias):
            return
        raise PathOnlyAlias(alias[0] if alias and isinstance(alias[0], list) else alias)


def _kind_of_keys(keys: Mapping[str, Any]) -> str:
    """Return the name of the row of `KEYS` for a schema of keys, or a text that names no row.

    A union of integers and floats is ``number``, one with a decimal's pattern is ``decimal number``, any other "".
    """
    kinds = [each.get("type") for each in keys.get("anyOf", (keys,))]
    if not DECIMALS.isdisjoint(each.get("pattern") for each in keys.get("anyOf", ())):
        return "decimal number"
    return "number" if {*kinds} == {"integer", "number"} else str(kinds[0]) * (len(kinds) == 1)


def flag_sums(kind: type[enum.Flag]) -> list[int]:
    """Return every sum of a Flag's members, 0 included, in ascending order.

    Raises:
        UnadvertisedType: there are too many to be listed.
    """
    members = list(kind)
    if 2 ** len(members) > MAX_FLAGS:
        raise UnadvertisedType(
            f"{kind.__name__} has {len(members)} flags, whose sums cannot all be told; take a list "
            "of a plain Enum"
        )
    sums = {0}
    for member in members:
        sums |= {each | member.value for each in sums}
    return sorted(sums)


def _list_flags(kind: type[enum.Flag]) -> str:
    """Describe a Flag's members as "1 (READ), 2 (WRITE)"."""
    return ", ".join(f"{each.value} ({each.name})" for each in kind)


def _is_name(path: object) -> bool:
    """Return True if an alias path is one name."""
    return isinstance(path, list) and len(path) == 1 and isinstance(path[0], str)


def advertise_default(
    title: str, schema: dict[str, Any], key: str, default: object, refuses: Refuses
) -> None:
    """Add a parameter's default to its schema, in place.

    ``n: int = None`` is how people write that a parameter may be left out: it is advertised as
    that, without a default no one could send. NaN and infinity are not advertised either. Any other
    plain value that breaks its own annotation is a mistake.

    Args:
        title: The tool's name, for messages.
        schema: Schema of all arguments, which is changed.
        key: The parameter's advertised name.
        default: Its default.
        refuses: True if the validator refuses a JSON value for a parameter, by its key.

    Raises:
        DefinitionError: the default has no JSON form, or the model could not send it.
    """
    part = schema["properties"][key]
    made = default
    if default is not None and type(default) not in (str, int, bool):  # most are JSON as they are
        try:
            made = to_jsonable_python(_named_tuples_as_objects(default))
        except ValueError:
            raise DefinitionError(
                f"{title}: the default of parameter {key!r} ({default!r}) has no JSON form; "
                "use None or a plain value and make the object inside the function"
            ) from None
        if not _is_finite(made):  # infinity stays the function's own: JSON has none
            return
    if _plainly_fits(made, part) or not violates(made, part, schema):
        part["default"] = made
    elif type(default) in _PLAIN and refuses(key, made):
        raise DefinitionError(
            f"{title}: the default of parameter {key!r} ({default!r:.80}) is nothing the model may "
            "send there; give a default that fits the annotation, widen the annotation, or write "
            "None for a parameter that may be left out"
        )


def _plainly_fits(value: object, part: Mapping[str, Any]) -> bool:
    """Return True if a default surely fits by type and listed values; False if other keywords matter."""
    if value is None and "anyOf" in part:
        return {"type": "null"} in part["anyOf"]
    known = part.keys() <= _PLAIN_KEYS
    return known and matches_type(value, part.get("type")) and is_allowed_value(value, part)


_PLAIN_KEYS = frozenset({"type", "enum", "const", "description", "title", "format"})


def _is_finite(value: object) -> bool:
    """Return True if a JSON value has no NaN or infinity in it, and does not contain itself."""
    import json

    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


_PLAIN = (str, int, float, bool, list, tuple, dict, set, frozenset)
"""Values that are their own JSON; what becomes of other objects, their types decide."""


def _named_tuples_as_objects(value: object) -> object:
    """Return a value with named tuples as dicts, as they are advertised, and tuples as lists."""
    fields = getattr(value, "_asdict", None)
    if isinstance(value, tuple) and fields is not None:
        return {name: _named_tuples_as_objects(item) for name, item in fields().items()}
    if isinstance(value, list | tuple) and type(value) in (list, tuple):
        return [_named_tuples_as_objects(item) for item in value]
    return value

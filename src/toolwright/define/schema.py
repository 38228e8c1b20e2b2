"""Parameters become a JSON Schema and a validator: with `fields`, the files that know pydantic.

A function's parameters become a `TypedDict`, which takes every legal parameter name and leaves
absent what the model left out, so that the function's own defaults apply. pydantic-core then
turns the arguments' text into keyword arguments in one call.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    TypeAdapter,
    ValidationError,
    field_validator,
    with_config,
)
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, to_json, to_jsonable_python
from typing_extensions import TypedDict

from toolwright.define.explain import invalid_arguments, pydantic_errors
from toolwright.define.fields import Factory, Values, alias_of, field_of, takes_path
from toolwright.define.signature import (
    MISSING,
    UNSAID,
    VAR_KEYWORD,
    Signature,
)
from toolwright.define.subschemas import accepts
from toolwright.errors import DefinitionError, FieldError
from toolwright.record import record

Extra = Literal["forbid", "ignore", "allow"]
Validate = Callable[[str | bytes], Values]


@record
class Arguments:
    """Everything about a tool's arguments that is known when it is defined.

    Args:
        schema: JSON Schema the model is shown; an object.
        validate: Arguments' text to the arguments it gives, strictly; `ValueError` if not valid.
        check: The same for a mended value; raises `InvalidArguments` with every failing field.
        loose: Whether some value has no type, so that an overflowing number could slip through.
        fill: Adds what the text left out and the function does not default itself.
        aliases: Key in the text by parameter name, where the two differ.
    """

    schema: Mapping[str, object]
    validate: Validate
    check: Callable[[Values], Values]
    loose: bool
    fill: Callable[[Values], None] | None = None
    aliases: Mapping[str, str] = dataclasses.field(default_factory=dict)


class _Schema(GenerateJsonSchema):
    """pydantic's schemas without the titles it makes up from names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def from_parameters(
    title: str, signature: Signature, docs: Mapping[str, str], extra: Extra
) -> Arguments:
    """Arguments of a function.

    Args:
        title: The tool's name, for messages.
        signature: Its parameters are what the model fills.
        docs: Descriptions by parameter name, from the docstring.
        extra: What happens to unknown keys.

    Raises:
        DefinitionError: naming the parameter that has no JSON form, and the fix.
    """
    fields: dict[str, object] = {}
    defaults: dict[str, object] = {}
    factories: dict[str, Factory] = {}
    aliases: dict[str, str] = {}
    rest: object = MISSING
    for parameter in signature.parameters:
        if parameter.kind is VAR_KEYWORD:
            rest = parameter.annotation
            continue
        annotation, default, factory = field_of(parameter, docs)
        if takes_path(get_args(annotation)):
            raise DefinitionError(
                f"{title}: parameter {parameter.name!r} has an alias path, which no schema can "
                "say; give it a plain alias"
            )
        alias = alias_of(get_args(annotation))
        if alias is not None:
            aliases[parameter.name] = alias
        _check_key(title, parameter.name, aliases, fields)
        fields[parameter.name] = annotation if default is MISSING else NotRequired[annotation]
        if factory is not None:
            factories[parameter.name] = factory
        if default is not MISSING and default is not UNSAID:
            defaults[parameter.name] = default
    try:
        arguments = _typed_dict(title, fields, rest, extra)
    except TypeError as error:  # such as `Final[int]`, which is no type of a value
        raise _no_json_form(title, fields, error) from error
    adapter = _adapter(title, arguments, fields)
    schema = _json_schema(title, adapter, fields)
    _advertise_defaults(title, schema, defaults, aliases)
    schema.pop("title", None)
    fill = _filler(factories, defaults) if factories else None
    validate = adapter.validator.validate_json
    made = _arguments(title, schema, validate, fill, extra, aliases)
    reserved = signature.reserved | set(aliases)
    return made if rest is MISSING or not reserved else _reserving(title, made, reserved)


def _check_key(
    title: str, name: str, aliases: Mapping[str, str], fields: Mapping[str, object]
) -> None:
    """Refuse a parameter whose key another one has."""
    key = aliases.get(name, name)
    other = next((each for each in fields if aliases.get(each, each) == key), None)
    if other is not None:
        raise DefinitionError(
            f"{title}: {other!r} and {name!r} are both advertised as {key!r}; change an alias"
        )


def _reserving(title: str, made: Arguments, reserved: frozenset[str]) -> Arguments:
    """Refuse the keys that ``**kwargs`` would take though their parameters are filled already."""
    names = reserved - set(made.aliases.values())

    def refuse(values: Values) -> Values:
        taken = [FieldError((name,), "no such key") for name in sorted(names & set(values))]
        if taken:
            raise invalid_arguments(title, taken)
        return values

    def validate(text: str | bytes) -> Values:
        values = made.validate(text)
        if not names.isdisjoint(values):
            raise ValueError("a key that is filled already")
        return values

    return dataclasses.replace(
        made, validate=validate, check=lambda value: made.check(refuse(value))
    )


def _filler(
    factories: Mapping[str, Factory], defaults: Mapping[str, object]
) -> Callable[[Values], None]:
    def fill(values: Values) -> None:
        for name, factory in factories.items():
            if name not in values:
                values[name] = factory({**defaults, **values})

    return fill


def from_model(
    title: str, model: type[BaseModel], hidden: Sequence[str], extra: Extra
) -> Arguments:
    """Arguments described by a pydantic model.

    Args:
        title: The tool's name.
        model: Its fields are the parameters.
        hidden: Fields the program fills.
        extra: What happens to unknown keys, unless the model's own config says.
    """
    if hidden:
        model = _without(model, hidden)
    adapter = TypeAdapter(model)
    schema = _json_schema(title, adapter, {})
    schema.pop("title", None)
    schema.pop("description", None)
    own = model.model_config.get("extra")
    if own != "allow":
        schema["additionalProperties"] = False
    validate = adapter.validator.validate_json

    def given(text: str | bytes, **options: Any) -> Values:
        instance = validate(text, **options)
        values = {name: getattr(instance, name) for name in instance.model_fields_set}
        return {**values, **(instance.__pydantic_extra__ or {})}

    def fill(values: Values) -> None:
        for name, info in model.model_fields.items():
            if name not in values:
                values[name] = info.get_default(call_default_factory=True, validated_data=values)

    aliases = {
        name: alias for name, info in model.model_fields.items() if (alias := alias_of([info]))
    }
    return _arguments(title, schema, given, fill, "allow" if own == "allow" else extra, aliases)


def _arguments(
    title: str,
    schema: dict[str, Any],
    validate_json: Callable[..., Values],
    fill: Callable[[Values], None] | None,
    extra: Extra,
    aliases: Mapping[str, str],
) -> Arguments:
    """Close nested objects if nothing in them is open, and compile both ways to validate."""
    options: dict[str, Any] = {"strict": True}
    if extra == "forbid" and not any(_open(part) for part in _objects(schema)):
        # pydantic's nested models ignore unknown keys by default; a tool never does.
        options["extra"] = "forbid"
        for part in _objects(schema):
            part.setdefault("additionalProperties", False)

    def validate(text: str | bytes) -> Values:
        return validate_json(text, **options)

    def check(value: Values) -> Values:
        try:
            return validate(to_json(without_nulls(value, schema)))
        except ValidationError as error:
            raise invalid_arguments(title, pydantic_errors(error, schema)) from None

    return Arguments(schema, validate, check, _is_loose(schema), fill, aliases)


def _typed_dict(title: str, fields: dict[str, object], rest: object, extra: Extra) -> Any:
    make: Any = TypedDict  # the functional form with fields known only now
    if rest is not MISSING:
        return with_config(ConfigDict(allow_inf_nan=False))(make(title, fields, extra_items=rest))
    if extra == "allow":
        raise DefinitionError(
            f"{title}: extra='allow' needs a **kwargs parameter to receive unknown keys"
        )
    return with_config(ConfigDict(extra="forbid", allow_inf_nan=False))(make(title, fields))


def _adapter(title: str, arguments: Any, fields: Mapping[str, object]) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(arguments)
    except PydanticUserError as error:
        raise _no_json_form(title, fields, error) from error
    except Exception as error:
        raise DefinitionError(f"{title}: its parameters have no schema ({error})") from error


def _json_schema(
    title: str, adapter: TypeAdapter[Any], fields: Mapping[str, object]
) -> dict[str, Any]:
    try:
        return adapter.json_schema(schema_generator=_Schema)
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        raise _no_json_form(title, fields, error) from error


def _no_json_form(title: str, fields: Mapping[str, object], error: Exception) -> DefinitionError:
    """Find the parameter that is to blame by trying each alone."""
    culprit, text = "a parameter", str(error).splitlines()[0]
    for name, annotation in fields.items():
        try:
            if get_origin(annotation) is NotRequired:
                annotation = get_args(annotation)[0]
            alone: Any = annotation
            TypeAdapter(alone).json_schema()
        except Exception as reason:
            culprit, text = f"parameter {name!r}", str(reason).splitlines()[0]
            break
    return DefinitionError(
        f"{title}: {culprit} has no JSON form ({text}); use a type JSON can carry, or mark it "
        "Annotated[..., InjectedToolArg] if the program fills it"
    )


def _advertise_defaults(
    title: str,
    schema: dict[str, Any],
    defaults: Mapping[str, object],
    aliases: Mapping[str, str],
) -> None:
    properties = schema.get("properties", {})
    for name, default in defaults.items():
        shown = properties.get(aliases.get(name, name))
        if shown is None:  # taken out of a nested object by an alias path
            continue
        try:
            shown["default"] = to_jsonable_python(default)
        except (PydanticSerializationError, ValueError):
            raise DefinitionError(
                f"{title}: the default of parameter {name!r} ({default!r}) has no JSON form; "
                "use None or a plain value and make the object inside the function"
            ) from None


def _objects(schema: object) -> Iterator[dict[str, Any]]:
    """Every object schema with named properties, however deep."""
    if isinstance(schema, dict):
        if isinstance(schema.get("properties"), dict) and schema.get("type") == "object":
            yield schema
        for key, value in schema.items():
            if key not in ("default", "const", "enum", "examples"):
                yield from _objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from _objects(value)


def without_nulls(value: Values, schema: Mapping[str, Any]) -> Values:
    """The value less the nulls that stand for "not given": a default of None filled in before.

    >>> without_nulls({"n": None}, {"properties": {"n": {"type": "integer"}}})
    {}
    """
    properties, required = schema.get("properties", {}), schema.get("required", ())
    return {
        name: item
        for name, item in value.items()
        if item is not None
        or name in required
        or name not in properties
        or accepts(None, properties[name], schema)
    }


def _open(schema: Mapping[str, Any]) -> bool:
    return schema.get("additionalProperties", False) is not False


def _is_loose(schema: Mapping[str, Any]) -> bool:
    """Whether a value without a type, or a number of a nested model, can occur."""
    if "$defs" in schema or _open(schema):
        return True
    return any(
        not isinstance(part, dict)
        or not ({"type", "anyOf", "enum", "const"} & set(part))
        or part.get("type") in ("object", "array")
        for part in schema.get("properties", {}).values()
    )


def _without(model: type[BaseModel], hidden: Sequence[str]) -> type[BaseModel]:
    """The model less the fields the program fills."""
    from pydantic import create_model

    fields: dict[str, Any] = {
        name: (info.annotation, info)
        for name, info in model.model_fields.items()
        if name not in hidden
    }
    checks: dict[str, Any] = {}
    for name, check in model.__pydantic_decorators__.field_validators.items():
        kept = [field for field in check.info.fields if field in fields or field == "*"]
        if kept:
            again: Any = field_validator  # its overloads split the modes
            checks[name] = again(*kept, mode=check.info.mode)(_unbound(check.func))
    config = model.model_config
    return create_model(model.__name__, __config__=config, __validators__=checks, **fields)


def _unbound(check: Any) -> Any:
    """A validator as it stood in its class, to stand in another."""
    return classmethod(check.__func__) if hasattr(check, "__func__") else check


def input_model_fields(model: type[BaseModel]) -> dict[str, tuple[object, bool]]:
    """Each field's annotation with its metadata, and whether it has a default."""
    fields = {}
    for name, info in model.model_fields.items():
        annotation: Any = info.annotation
        for item in info.metadata:
            annotation = Annotated[annotation, item]
        fields[name] = (annotation, not info.is_required())
    return fields

"""Parameters become a JSON Schema and a validator: the one file that knows pydantic.

A function's parameters become a `TypedDict`, which takes every legal parameter name and leaves
absent what the model left out, so that the function's own defaults apply. pydantic-core then
turns the arguments' text into keyword arguments in one call.
"""

from __future__ import annotations

import copy
import dataclasses
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, get_args, get_origin

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError, with_config
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic.fields import FieldInfo
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError, PydanticUndefined, to_json, to_jsonable_python
from typing_extensions import TypedDict

from toolwright.define.canonical import renamed
from toolwright.define.explain import invalid_arguments, pydantic_errors
from toolwright.define.modern import modern
from toolwright.define.signature import MISSING, VAR_KEYWORD, VAR_POSITIONAL, Parameter
from toolwright.errors import DefinitionError
from toolwright.record import record

Extra = Literal["forbid", "ignore", "allow"]
Values = dict[str, object]
MADE = object()
"""Stands for a default that a factory makes anew each time."""
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
        keys: What the model calls those parameters that it knows under another name.
    """

    schema: Mapping[str, object]
    validate: Validate
    check: Callable[[Values], Values]
    loose: bool
    fill: Callable[[Values], None] | None = None
    keys: Mapping[str, str] = dataclasses.field(default_factory=dict)


class _Schema(GenerateJsonSchema):
    """pydantic's schemas without the titles it makes up from names."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def from_parameters(
    title: str, parameters: Sequence[Parameter], docs: Mapping[str, str], extra: Extra
) -> Arguments:
    """Arguments of a function.

    Args:
        title: The tool's name, for messages.
        parameters: What the model fills.
        docs: Descriptions by parameter name, from the docstring.
        extra: What happens to unknown keys.

    Raises:
        DefinitionError: naming the parameter that has no JSON form, and the fix.
    """
    fields: dict[str, Any] = {}
    defaults: dict[str, object] = {}
    factories: dict[str, Callable[[], object]] = {}
    rest: object = MISSING
    for parameter in parameters:
        if parameter.kind is VAR_KEYWORD:
            rest = parameter.annotation
            continue
        annotation, default, factory = _field(parameter, docs)
        fields[parameter.name] = annotation if default is MISSING else NotRequired[annotation]
        if factory is not None:
            factories[parameter.name] = factory
        if default is not MISSING and default is not MADE:
            defaults[parameter.name] = default
    arguments = _typed_dict(title, fields, rest, extra)
    adapter = _adapter(title, arguments, fields)
    schema = _json_schema(title, adapter, fields)
    _advertise_defaults(title, schema, defaults)
    schema.pop("title", None)
    fill = _filler(factories) if factories else None
    made = _arguments(title, schema, adapter.validator.validate_json, fill, extra)
    infos = {name: _infos(annotation) for name, annotation in fields.items()}
    return dataclasses.replace(made, keys=renamed(infos))


def _filler(factories: Mapping[str, Callable[[], object]]) -> Callable[[Values], None]:
    def fill(values: Values) -> None:
        for name, factory in factories.items():
            if name not in values:
                values[name] = factory()

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

    made = _arguments(title, schema, given, fill, "allow" if own == "allow" else extra)
    infos = {name: [info] for name, info in model.model_fields.items()}
    return dataclasses.replace(made, keys=renamed(infos))


def _infos(annotation: Any) -> list[FieldInfo]:
    if get_origin(annotation) is NotRequired:
        annotation = get_args(annotation)[0]
    return [item for item in get_args(annotation)[1:] if isinstance(item, FieldInfo)]


def _arguments(
    title: str,
    schema: dict[str, Any],
    validate_json: Callable[..., Values],
    fill: Callable[[Values], None] | None,
    extra: Extra,
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
            return validate(to_json(value))
        except ValidationError as error:
            raise invalid_arguments(title, pydantic_errors(error, schema)) from None

    return Arguments(schema, validate, check, _is_loose(schema), fill)


def _field(
    parameter: Parameter, docs: Mapping[str, str]
) -> tuple[Any, object, Callable[[], object] | None]:
    """One parameter's annotation with its description, its default, and what makes the default."""
    annotation, metadata = _split(parameter.annotation)
    default, factory = parameter.default, None
    if isinstance(default, FieldInfo):
        metadata.append(default)
        default = MISSING
    infos = [item for item in metadata if isinstance(item, FieldInfo)]
    for info in infos:
        if info.default not in (PydanticUndefined, ...):
            default, factory = info.default, _constant(info.default)
        elif info.default_factory is not None:
            default, factory = MADE, typing.cast("Callable[[], object]", info.default_factory)
    if parameter.kind is VAR_POSITIONAL:
        made: Any = annotation
        annotation, default = list[made], []
    for item in metadata:
        plain = _without_default(item) if isinstance(item, FieldInfo) else item
        annotation = Annotated[annotation, plain]
    text = _described(metadata, infos, docs.get(parameter.name))
    if text:
        annotation = Annotated[annotation, FieldInfo(description=text)]
    return annotation, default, factory


def _described(
    metadata: Sequence[object], infos: Sequence[FieldInfo], documented: str | None
) -> str | None:
    """The description to add: a text in the annotation, else the docstring's, if there is none."""
    if any(info.description for info in infos):
        return None
    return next((item for item in metadata if isinstance(item, str)), None) or documented


def _split(annotation: object) -> tuple[Any, list[Any]]:
    annotation = modern(annotation)
    if get_origin(annotation) is Annotated:
        base, *metadata = get_args(annotation)
        return base, metadata
    return annotation, []


def _constant(value: object) -> Callable[[], object]:
    return lambda: copy.copy(value)


def _without_default(info: FieldInfo) -> FieldInfo:
    plain = copy.copy(info)
    plain.default, plain.default_factory = PydanticUndefined, None
    plain._attributes_set = {
        key: value
        for key, value in info._attributes_set.items()
        if key not in ("default", "default_factory")
    }
    return plain


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


def _advertise_defaults(title: str, schema: dict[str, Any], defaults: Mapping[str, object]) -> None:
    properties = schema.get("properties", {})
    for name, default in defaults.items():
        shown = properties.get(name)
        if shown is None:  # advertised under an alias
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
    return create_model(model.__name__, __config__=model.model_config, **fields)


def input_model_fields(model: type[BaseModel]) -> dict[str, tuple[object, bool]]:
    """Each field's annotation with its metadata, and whether it has a default."""
    fields = {}
    for name, info in model.model_fields.items():
        annotation: Any = info.annotation
        for item in info.metadata:
            annotation = Annotated[annotation, item]
        fields[name] = (annotation, not info.is_required())
    return fields

"""Parameters become a JSON Schema and a validator: the one file that knows pydantic.

A function's parameters become a `TypedDict`, which takes every legal parameter name and leaves
absent what the model left out, so that the function's own defaults apply. pydantic-core then
turns the arguments' text into keyword arguments in one call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal, NotRequired

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUserError
from pydantic_core import from_json, to_json

from toolwright.define.canonical import renamed
from toolwright.define.closed import Facts, closing_facts, is_plain, unknown_keys
from toolwright.define.defaults import advertise_default
from toolwright.define.explain import (
    invalid_arguments,
    pydantic_errors,
    refused_fields,
    unknown_key,
)
from toolwright.define.fields import without
from toolwright.define.fragments import typed_dict
from toolwright.define.joined import join
from toolwright.define.maker import OnlyAPath, SchemaMaker
from toolwright.define.parameter_field import MADE, ParameterField, Values, parameter_field
from toolwright.define.secret import Mask
from toolwright.define.signature import ABSENT, MISSING, VAR_KEYWORD, Parameter
from toolwright.errors import DefinitionError, InvalidArguments
from toolwright.record import NOTHING, record

Extra = Literal["forbid", "ignore", "allow"]
Validate = Callable[[str | bytes], Values]
When = Callable[[Sequence[Mapping[str, Any]]], bool]


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
        mask: Hides the secrets among them, if there are any.
        nested: Properties that can hold more than scalars and lists of them; None if unknown.
        explain: What `check` would say of a text that `validate` refused, when what it is given as
            a condition holds of pydantic's errors; None if it cannot tell.
        whole: Shows them and what was injected to a model's validators; gives them back.
    """

    schema: Mapping[str, object]
    validate: Validate
    check: Callable[[Values], Values]
    loose: bool
    fill: Callable[[Values], None] | None = None
    keys: Mapping[str, Any] = NOTHING
    mask: Mask | None = None
    nested: tuple[str, ...] | None = None
    explain: Callable[..., InvalidArguments | None] | None = None
    whole: Callable[[Values, Values], Values] | None = None


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
    given = {p.name: parameter_field(p, docs) for p in parameters if p.kind is not VAR_KEYWORD}
    rest = {p.name: p.annotation for p in parameters if p.kind is VAR_KEYWORD}
    if extra == "allow" and not rest:
        raise DefinitionError(
            f"{title}: extra='allow' needs a **kwargs parameter to receive unknown keys"
        )
    keys = renamed({name: field.infos for name, field in given.items() if field.infos})
    closing = extra == "forbid"
    known = None if rest or keys else join(title, given, closing)
    schema, validate, facts = known or whole(title, given, rest, closing)
    defaults = {keys.get(name, name): field.default for name, field in given.items()}
    _advertise(title, schema, defaults, validate)
    factories = {name: field.factory for name, field in given.items() if field.factory}
    fill = _filler(factories, {n: f.default for n, f in given.items()}) if factories else None
    made = compile_arguments(title, schema, validate, fill, facts)
    return _renaming(title, made, keys, bool(rest)) if keys else made


def whole(
    title: str, given: Mapping[str, ParameterField], rest: Mapping[str, object], closing: bool
) -> tuple[dict[str, Any], Callable[..., Values], Facts]:
    """Schema, validator and facts of parameters, all of them made by pydantic at once.

    Args:
        title: The tool's name.
        given: The parameters by name.
        rest: The annotation of ``**kwargs``, if there is one.
        closing: Whether unknown keys are refused.

    Raises:
        DefinitionError: naming the parameter that has no JSON form, and the fix.
    """
    fields = {
        name: field.told() if field.default is MISSING else NotRequired[field.told()]
        for name, field in given.items()
    }
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(typed_dict(title, fields, rest))
        schema = adapter.json_schema(schema_generator=SchemaMaker)
    except Exception as error:
        raise _no_json_form(title, {**fields, **rest}, error) from error
    schema.pop("title", None)
    facts = closing_facts(schema, closing, is_plain(adapter.core_schema))
    return schema, adapter.validator.validate_json, facts


def _advertise(
    title: str,
    schema: dict[str, Any],
    defaults: Mapping[str, object],
    validate: Callable[..., object],
) -> None:
    refuses = functools.partial(_refuses, validate)
    for key, default in defaults.items():
        if default is not MISSING and default is not MADE and default is not ABSENT:
            advertise_default(title, schema, key, default, refuses)


def _refuses(validate: Callable[..., object], key: str, value: object) -> bool:
    """Whether a value is refused for a parameter by its type, whatever the others may be."""
    try:
        validate(to_json({key: value}))
    except ValidationError as error:
        return any(
            found["loc"][:1] == (key,) and found["type"] not in ("value_error", "assertion_error")
            for found in error.errors(include_url=False)
        )
    except Exception:  # a validator of the user's own, which expects better than a default
        return False
    return False


def _renaming(title: str, made: Arguments, keys: Mapping[str, str], open: bool) -> Arguments:
    """Say which parameters go by another name; no two may go by one.

    Args:
        title: The tool's name.
        made: What is known without that.
        keys: What the model calls a parameter, where that differs.
        open: Whether there is a ``**kwargs``.
    """
    for name, key in keys.items():
        if same := [other for other in keys if other != name and keys[other] == key]:
            raise DefinitionError(
                f"{title}: parameters {name!r} and {same[0]!r} are both called {key!r}; "
                "give each an alias of its own"
            )
    return replace(_reserved(title, made, keys) if open else made, keys=keys, nested=None)


def _reserved(title: str, made: Arguments, keys: Mapping[str, str]) -> Arguments:
    """Keep ``**kwargs`` from taking an unchecked value for a parameter that goes by another name."""
    names = set(keys) - set(keys.values())

    def validate(text: str | bytes) -> Values:
        # By now a renamed parameter stands under its own name, whether it came so or not.
        if not isinstance(sent := from_json(text), dict) or not names.isdisjoint(sent):
            raise ValueError("a name that is not advertised")
        return made.validate(text)

    def check(value: Values) -> Values:
        known = list(made.schema.get("properties", {}))  # type: ignore[call-overload]
        if wrong := [unknown_key((name,), known) for name in value if name in names]:
            raise invalid_arguments(title, wrong)
        return made.check(value)

    return replace(made, validate=validate, check=check)


def _filler(
    factories: Mapping[str, Callable[[Values], object]], defaults: Mapping[str, object]
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
        model = without(model, hidden)
    adapter = TypeAdapter(model)
    try:
        schema = adapter.json_schema(schema_generator=SchemaMaker)
    except (PydanticInvalidForJsonSchema, PydanticUserError) as error:
        fields = {name: Annotated[i.annotation, i] for name, i in model.model_fields.items()}
        raise _no_json_form(title, fields, error) from error
    schema.pop("title", None)
    schema.pop("description", None)
    own = model.model_config.get("extra")
    if own != "allow":
        schema["additionalProperties"] = False
    validate = adapter.validator.validate_json

    def given(text: str | bytes, **options: Any) -> Values:
        instance = validate(text, **options)
        named = instance.model_fields_set  # a set: the model's own order is the better one
        values = {name: getattr(instance, name) for name in model.model_fields if name in named}
        return {**values, **(instance.__pydantic_extra__ or {})}

    def fill(values: Values) -> None:
        for name, info in model.model_fields.items():
            if name not in values:
                values[name] = info.get_default(call_default_factory=True, validated_data=values)

    extra = "allow" if own == "allow" else extra
    made = closed_arguments(title, schema, given, fill, extra)
    keys = renamed({name: [info] for name, info in model.model_fields.items()})
    # A model has a configuration of its own, by which its numbers need not be finite.
    return replace(made, keys=keys or made.keys, nested=None, loose=True)


def closed_arguments(
    title: str,
    schema: dict[str, Any],
    validate: Callable[..., Values],
    fill: Callable[[Values], None] | None,
    extra: Extra,
    plain: bool = False,
) -> Arguments:
    """Close every object that is not open on purpose, and compile both ways to validate.

    Args:
        title: The tool's name.
        schema: What is advertised; the closed objects are marked in it.
        validate: pydantic's own.
        fill: See `Arguments`.
        extra: What happens to unknown keys.
        plain: Whether `validate` is strict and closed by itself.
    """
    return compile_arguments(
        title, schema, validate, fill, closing_facts(schema, extra == "forbid", plain)
    )


def compile_arguments(
    title: str,
    schema: Mapping[str, object],
    validate: Callable[..., Values],
    fill: Callable[[Values], None] | None,
    facts: Facts,
) -> Arguments:
    """Both ways to validate, from all that is known of a schema.

    Args:
        title: The tool's name.
        schema: What is advertised, closed.
        validate: pydantic's own.
        fill: See `Arguments`.
        facts: About the schema.
    """
    # A frame of Python, and options to read, cost as much as validating a small object.
    if facts.options is not None:
        validate = functools.partial(validate, **facts.options)
    checks = _Checks(title, schema, validate, facts.mixed)
    mask = Mask(schema) if facts.secret else None
    return Arguments(
        schema,
        validate,
        checks.check,
        facts.loose,
        fill,
        NOTHING,
        mask,
        facts.nested,
        checks.explain,
    )


class _Checks:
    """What is wrong with arguments, told to the model; smaller than closures that do the same."""

    __slots__ = ("_mixed", "_schema", "_title", "_validate")

    def __init__(
        self,
        title: str,
        schema: Mapping[str, object],
        validate: Callable[..., Values],
        mixed: bool,
    ) -> None:
        self._title = title
        self._schema = schema
        self._validate = validate
        self._mixed = mixed

    def explain(self, error: ValueError, when: When | None = None) -> InvalidArguments | None:
        found = error.errors(include_url=False) if isinstance(error, ValidationError) else []
        if not found or found[0]["type"] == "json_invalid" or (when and not when(found)):
            return None
        return invalid_arguments(self._title, refused_fields(found, self._schema))

    def check(self, value: Values) -> Values:
        schema = self._schema
        try:
            values = self._validate(to_json(value))
        except ValidationError as error:
            raise invalid_arguments(self._title, pydantic_errors(error, schema)) from None
        # pydantic closes all objects or none; what it drops, the count of keys in the text shows.
        if self._mixed and (unknown := list(unknown_keys(value, schema, schema, ()))):
            raise invalid_arguments(self._title, unknown)
        return values


def _no_json_form(title: str, fields: Mapping[str, object], error: Exception) -> DefinitionError:
    """Find the parameter that is to blame by trying each alone."""
    culprit, text = "a parameter", str(error).splitlines()[0]
    for name, annotation in fields.items():
        try:
            one = TypeAdapter(typed_dict(title, {name: annotation}))
            one.json_schema(schema_generator=SchemaMaker)
        except Exception as reason:
            culprit, text = f"parameter {name!r}", str(reason).splitlines()[0]
            break
    if isinstance(error, OnlyAPath):
        return DefinitionError(f"{title}: {culprit} {text}")
    return DefinitionError(
        f"{title}: {culprit} has no JSON form ({text}); use a type JSON can carry, or mark it "
        "Annotated[..., InjectedToolArg] if the program fills it"
    )

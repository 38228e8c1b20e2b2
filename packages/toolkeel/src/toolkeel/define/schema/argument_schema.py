"""Parameters become a JSON Schema and a validator (the argument schema).

A function's parameters become a `TypedDict`, which takes every legal parameter name and leaves
absent what the model left out, so that the function's own defaults apply. pydantic-core then
turns the arguments' text into keyword arguments in one call.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from typing import Any, Literal

from pydantic import ValidationError
from pydantic_core import from_json, to_json

from toolkeel._records.record import NOTHING, record
from toolkeel.define.explain.error_budget import BoundedValidator
from toolkeel.define.explain.validation_errors import invalid_arguments, unknown_key
from toolkeel.define.mutable_defaults import FactoryDefault
from toolkeel.define.reading.parameter import (
    MADE,
    ParameterField,
    Values,
    is_field,
    parameter_field,
)
from toolkeel.define.reading.signature import (
    ABSENT,
    MISSING,
    VAR_KEYWORD,
    VAR_POSITIONAL,
    Parameter,
)
from toolkeel.define.schema.annotation_schema import from_annotations, no_json_form_error
from toolkeel.define.schema.budget_validator import BudgetValidator
from toolkeel.define.schema.canonical import Encode, aliases_of
from toolkeel.define.schema.closed_objects import SchemaFacts
from toolkeel.define.schema.gaps import check_fillable, find_gaps
from toolkeel.define.schema.json_schema import advertise_default
from toolkeel.define.schema.known_types import from_known_types
from toolkeel.define.secret import Mask
from toolkeel.define.subschemas import widest_union
from toolkeel.errors import DefinitionError, InvalidArguments

UnknownKeys = Literal["forbid", "ignore", "allow"]
Validate = Callable[[str | bytes], Values]
When = Callable[[Sequence[Mapping[str, Any]]], bool]


@record
class ArgumentSchema:
    """Schema, validators and defaults of a tool's arguments.

    Args:
        schema: JSON Schema that the model is shown; an object.
        validate: Returns the values of arguments given as JSON text; raises `ValueError` if invalid.
        validate_value: Returns those of a parsed value; raises `InvalidArguments` with all failing
            fields.
        has_untyped_values: True if some value has no type, so that an overflowing number could pass.
        fill_defaults: Adds absent values that are made anew for each call.
        aliases: The advertised names of parameters that have another name in the function.
        mask: Masks secret values; None if there are none.
        nested_properties: Properties that can contain more than scalars and lists of them; None if
            unknown.
        explain: Returns the error of `validate_value` for a text that `validate` refused, from its
            error and the parsed text; None if it cannot.
        model_validators: Runs a model's validators on the arguments and the injected values, and
            returns the arguments.
        defaults: Defaults of the function, by parameter, for whatever inspects a call; the body
            fills in its own.
        validate_long: `validate` for long texts; None if it is the same.
        check_digits: Raises `InvalidArguments` if decimals in a text have more digits than are kept.
        wrong_places: Returns the places of a parsed value that break the schema; None if unknown.
        encode: Writes a parameter's value as it was sent; None if all values show that themselves.
        widest_union: Returns the number of branches of the schema's widest union.
    """

    schema: Mapping[str, object]
    validate: Validate
    validate_value: Callable[[Values], Values]
    has_untyped_values: bool
    fill_defaults: Callable[[Values], None] | None = None
    aliases: Mapping[str, Any] = NOTHING
    mask: Mask | None = None
    nested_properties: tuple[str, ...] | None = None
    explain: Callable[..., InvalidArguments | None] | None = None
    model_validators: Callable[[Values, Values], Values] | None = None
    defaults: Mapping[str, object] = NOTHING
    check_digits: Callable[[str], None] | None = None
    validate_long: Validate | None = None
    encode: Encode | None = None
    wrong_places: Callable[[Values], Set[tuple[str | int, ...]] | None] | None = None
    widest_union: Callable[[], int] = lambda: 1


def from_parameters(
    title: str, parameters: Sequence[Parameter], docs: Mapping[str, str], unknown_keys: UnknownKeys
) -> ArgumentSchema:
    """Compile the arguments of a function.

    Args:
        title: The tool's name, for messages.
        parameters: Parameters that the model fills.
        docs: Descriptions by parameter name, from the docstring.
        unknown_keys: What happens to unknown keys.

    Raises:
        DefinitionError: naming the parameter that has no JSON form, and the fix.
    """
    try:
        passed = {p.name: parameter_field(p, docs) for p in parameters if p.kind is not VAR_KEYWORD}
    except NameError as error:  # in a typed dict's field
        raise no_json_form_error(
            title, {p.name: p.annotation for p in parameters}, error
        ) from error
    rest = {p.name: p.annotation for p in parameters if p.kind is VAR_KEYWORD}
    if unknown_keys == "allow" and not rest:
        raise DefinitionError(
            f"{title}: unknown_keys='allow' needs a **kwargs parameter to receive unknown keys"
        )
    keys = aliases_of({name: field.field_infos for name, field in passed.items()})
    closing = unknown_keys == "forbid"
    known = None if rest or keys else from_known_types(title, passed, closing)
    schema, validate, facts = known or from_annotations(title, passed, rest, closing)
    _advertise(title, schema, _own_defaults(passed, keys, facts.encode), validate)
    made = compile_arguments(title, schema, validate, _default_filler(passed), facts)
    if own := function_defaults(p for p in parameters if p.name in passed):
        made = replace(made, defaults=own)
    return _with_aliases(title, made, keys, bool(rest)) if keys else made


def function_defaults(parameters: Iterable[Parameter]) -> dict[str, object]:
    """Return the defaults that the function fills in itself, by parameter: none of a `Field`, a factory or ``*args``."""
    return {
        parameter.name: parameter.default
        for parameter in parameters
        if not (
            parameter.default is MISSING
            or parameter.default is ABSENT
            or parameter.kind is VAR_POSITIONAL
            or isinstance(parameter.default, FactoryDefault)
            or is_field(parameter.default)
        )
    }


def _own_defaults(
    fields: Mapping[str, ParameterField], keys: Mapping[str, str], encode: Encode | None
) -> dict[str, object]:
    """Return the parameters' defaults by advertised name, as the model would send them; unchanged without `encode`."""
    return {
        keys.get(name, name): encode(name, field.default) if encode else field.default
        for name, field in fields.items()
        if field.default is not MISSING
        and field.default is not MADE
        and field.default is not ABSENT
    }


def _advertise(
    title: str,
    schema: dict[str, Any],
    defaults: Mapping[str, object],
    validate: Callable[..., object],
) -> None:
    """Add the parameters' defaults to the schema that the model is shown; raise as `advertise_default`."""
    refuses = functools.partial(_refuses, validate)
    for key, default in defaults.items():
        advertise_default(title, schema, key, default, refuses)


def _refuses(validate: Callable[..., object], key: str, value: object) -> bool:
    """Return True if a parameter's type refuses a value; what an author's own validator says does not count."""
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


def _with_aliases(
    title: str, made: ArgumentSchema, keys: Mapping[str, str], open: bool
) -> ArgumentSchema:
    """Return the arguments with aliases; raise `DefinitionError` for one used twice.

    Args:
        title: The tool's name.
        made: The arguments without aliases.
        keys: Advertised name by parameter, where they differ.
        open: True if there is a ``**kwargs``.
    """
    for name, key in keys.items():
        if same := [other for other in keys if other != name and keys[other] == key]:
            raise DefinitionError(
                f"{title}: parameters {name!r} and {same[0]!r} are both called {key!r}; "
                "give each an alias of its own"
            )
    return replace(
        _with_reserved_names(title, made, keys) if open else made,
        aliases=keys,
        nested_properties=None,
    )


def _with_reserved_names(
    title: str, made: ArgumentSchema, keys: Mapping[str, str]
) -> ArgumentSchema:
    """Return arguments that refuse keys of ``**kwargs`` equal to the own name of a parameter with an alias."""
    names = set(keys) - set(keys.values())

    def validate(text: str | bytes) -> Values:
        """Return the values of JSON text; raise `ValueError` for a name that is not advertised."""
        # By now a renamed parameter is under its own name, if it came so or not.
        if not isinstance(
            sent := from_json(text, cache_strings="none"), dict
        ) or not names.isdisjoint(sent):
            raise ValueError("a name that is not advertised")
        return made.validate(text)

    def check(value: Values) -> Values:
        """Return the values of a parsed object.

        Raises:
            InvalidArguments: naming each invalid field.
        """
        known = list(made.schema.get("properties", {}))  # type: ignore[call-overload]
        wrong = [unknown_key((name,), known) for name in value if name in names]
        if not wrong:
            return made.validate_value(value)
        try:
            made.validate_value({name: each for name, each in value.items() if name not in names})
        except InvalidArguments as error:
            wrong += error.errors
        raise invalid_arguments(title, wrong)

    return replace(made, validate=validate, validate_value=check, validate_long=None)


def _default_filler(given: Mapping[str, ParameterField]) -> Callable[[Values], None] | None:
    """Return a function that adds fresh defaults to a call's values, or None if none are needed."""
    factories = {name: field.factory for name, field in given.items() if field.factory}
    if not factories:
        return None
    defaults = {name: field.default for name, field in given.items()}

    def fill(values: Values) -> None:
        """Add defaults for absent values, in place; each factory gets the values so far."""
        for name, factory in factories.items():
            if name not in values:
                values[name] = factory({**defaults, **values})

    return fill


def compile_arguments(
    title: str,
    schema: Mapping[str, object],
    validate: Callable[..., Values],
    fill: Callable[[Values], None] | None,
    facts: SchemaFacts,
) -> ArgumentSchema:
    """Build an `ArgumentSchema` from a schema, its validator and its facts.

    Args:
        title: The tool's name.
        schema: The advertised schema, closed.
        validate: pydantic's validator.
        fill: See `ArgumentSchema`.
        facts: About the schema.

    Raises:
        DefinitionError: no value fits a parameter, or a keyword that was added is no valid JSON Schema.
    """
    # A frame of Python, and options to read, cost as much as validating a small object.
    if facts.validator_options is not None:
        validate = functools.partial(validate, **facts.validator_options)
    check_fillable(title, schema)
    gaps = find_gaps(schema, facts.has_loose_keywords)
    bounded = BoundedValidator(schema, facts.has_added_keywords, title)
    checks = BudgetValidator(title, schema, validate, facts, gaps, bounded)
    looked_at = gaps is not None and (gaps.has_loose_keywords or gaps.has_decimals)
    if looked_at or bounded.judges_all or bounded.is_recursive or bounded.is_wide:
        validate = checks.validate
    mask = Mask(schema) if facts.has_secrets else None
    return ArgumentSchema(
        schema,
        validate,
        checks.check,
        facts.has_untyped_values,
        fill,
        NOTHING,
        mask,
        facts.nested_properties,
        checks.explain,
        validate_long=checks.validate,
        check_digits=checks.exact if gaps is not None and gaps.has_decimals else None,
        encode=facts.encode,
        wrong_places=bounded.wrong_places,
        widest_union=functools.cache(functools.partial(widest_union, schema)),
    )

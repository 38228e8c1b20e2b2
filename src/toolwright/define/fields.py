"""A pydantic model's fields as parameters, less those the program fills."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ValidationError, create_model, field_validator

from toolwright.define.explain import invalid_arguments
from toolwright.errors import FieldError, InjectionError

Values: TypeAlias = dict[str, Any]


def without(model: type[BaseModel], hidden: Sequence[str]) -> type[BaseModel]:
    """The model less the fields the program fills."""
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
            checks[name] = again(*kept, mode=check.info.mode)(_own(check.func))
    config = model.model_config
    return create_model(model.__name__, __config__=config, __validators__=checks, **fields)


def whole_check(
    title: str, model: type[BaseModel], hidden: Sequence[str]
) -> Callable[[Values, Values], Values] | None:
    """What shows all fields to the validators of the whole model; None if it has none.

    They may look at what the program fills, so they cannot run before it is there.

    Args:
        title: The tool's name.
        model: As its author wrote it.
        hidden: Fields the program fills.
    """
    decorators = model.__pydantic_decorators__
    own_end = model.model_post_init is not BaseModel.model_post_init
    if not (decorators.model_validators or decorators.root_validators or own_end):
        return None

    def check(arguments: Values, injected: Values) -> Values:
        given = {name: value for name, value in injected.items() if name in hidden}
        try:
            made = model.__pydantic_validator__.validate_python(
                {**arguments, **given}, by_alias=False, by_name=True
            )
        except ValidationError as error:
            raise _told(title, error, hidden) from None
        return {name: getattr(made, name) for name in arguments}

    return check


def _told(title: str, error: ValidationError, hidden: Sequence[str]) -> Exception:
    """What is wrong, without a word of what was injected."""
    found = []
    for each in error.errors(include_url=False, include_input=False, include_context=False):
        place, text = each["loc"], each["msg"].removeprefix("Value error, ")
        if place and place[0] in hidden:
            return InjectionError(
                f"{title}: what is injected for {place[0]!r} does not fit: {text}"
            )
        found.append(FieldError(place, f"valid values: {text.removeprefix('Assertion failed, ')}"))
    return invalid_arguments(title, found)


def _own(check: Any) -> Any:
    """A validator to stand in another class; a class method still sees its own."""
    return staticmethod(check) if hasattr(check, "__func__") else check


def input_model_fields(model: type[BaseModel]) -> dict[str, tuple[object, bool]]:
    """Each field's annotation with its metadata, and whether it has a default."""
    fields = {}
    for name, info in model.model_fields.items():
        annotation: Any = info.annotation
        for item in info.metadata:
            annotation = Annotated[annotation, item]
        fields[name] = (annotation, not info.is_required())
    return fields

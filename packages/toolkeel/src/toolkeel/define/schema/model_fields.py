"""A pydantic model's fields as parameters, less those the program fills."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from pydantic import AfterValidator, BaseModel, ValidationError, create_model, field_validator

from toolkeel.define.explain.validation_errors import invalid_arguments
from toolkeel.errors import FieldError, InjectionError

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Values: TypeAlias = dict[str, Any]


def without_fields(model: type[BaseModel], hidden: Sequence[str]) -> type[BaseModel]:
    """Return the model without the fields the program fills and their validators.

    Every validator may change its value, so that those which look at an entire model, with what
    is injected, are left out here: none runs twice.
    """
    late = has_cross_field_validators(model)
    fields: dict[str, Any] = {
        name: (info.annotation, _without_after_validators(info) if late else info)
        for name, info in model.model_fields.items()
        if name not in hidden
    }
    checks: dict[str, Any] = {}
    for name, check in model.__pydantic_decorators__.field_validators.items():
        retained = [field for field in check.info.fields if field in fields or field == "*"]
        if retained and not (late and check.info.mode == "after"):
            again: Any = field_validator  # its overloads split the modes
            checks[name] = again(*retained, mode=check.info.mode)(_borrowed(check.func))
    config = model.model_config
    return create_model(model.__name__, __config__=config, __validators__=checks, **fields)


def has_cross_field_validators(model: type[BaseModel]) -> bool:
    """Return True if a model has a `model_post_init`, validators of all of it, or of a field that look at others."""
    decorators = model.__pydantic_decorators__
    own_end = model.model_post_init is not BaseModel.model_post_init
    if decorators.model_validators or decorators.root_validators or own_end:
        return True
    return any(
        check.info.mode == "after" and _takes_info(check.func)
        for check in decorators.field_validators.values()
    )


def _takes_info(check: Any) -> bool:
    """Return True if a field's validator requests the fields before it."""
    return len(inspect.signature(check).parameters) > 1


def _without_after_validators(info: FieldInfo) -> FieldInfo:
    """Copy a field without the validators that run after its type's."""
    made = copy.copy(info)
    made.metadata = [item for item in info.metadata if not isinstance(item, AfterValidator)]
    return made


def model_validators(
    title: str, model: type[BaseModel], hidden: Sequence[str]
) -> Callable[[Values, Values], Values] | None:
    """Return a function that runs the postponed validators over all fields, or None.

    They may look at what the program fills, so they cannot run before it is there.

    Args:
        title: The tool's name.
        model: The author's model.
        hidden: Fields the program fills.
    """
    if not has_cross_field_validators(model):
        return None

    def check(arguments: Values, injected: Values) -> Values:
        """Return the arguments as the model's validators leave them.

        Raises:
            InvalidArguments: a validator refuses them; without injected values in it.
            InjectionError: an injected value does not fit its field.
        """
        passed = {name: value for name, value in injected.items() if name in hidden}
        try:
            made = model.__pydantic_validator__.validate_python(
                {**arguments, **passed}, by_alias=False, by_name=True
            )
        except ValidationError as error:
            raise _redacted_error(title, error, hidden) from None
        return {name: getattr(made, name) for name in arguments}

    return check


def _redacted_error(title: str, error: ValidationError, hidden: Sequence[str]) -> Exception:
    """Build the error without injected values: `InjectionError` for one of those, else `InvalidArguments`."""
    found = []
    for each in error.errors(include_url=False, include_input=False, include_context=False):
        place, text = each["loc"], each["msg"].removeprefix("Value error, ")
        if place and place[0] in hidden:
            return InjectionError(
                f"{title}: what is injected for {place[0]!r} does not fit: {text}"
            )
        found.append(FieldError(place, f"valid values: {text.removeprefix('Assertion failed, ')}"))
    return invalid_arguments(title, found)


def _borrowed(check: Any) -> Any:
    """Return a validator for use in another class: unchanged, but a class method still gets its own class."""
    return staticmethod(check) if hasattr(check, "__func__") else check


def input_model_fields(model: type[BaseModel]) -> dict[str, tuple[object, bool]]:
    """Return each field's annotation with metadata, and if it has a default."""
    fields = {}
    for name, info in model.model_fields.items():
        annotation: Any = info.annotation
        for item in info.metadata:
            annotation = Annotated[annotation, item]
        fields[name] = (annotation, not info.is_required())
    return fields

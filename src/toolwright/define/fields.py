"""A pydantic model's fields as parameters, less those the program fills."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import BaseModel, create_model, field_validator


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

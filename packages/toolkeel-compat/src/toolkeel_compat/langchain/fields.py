"""Pydantic fields, validators and private attributes in a tool's class.

A tool is not a pydantic model here. Its pydantic declarations are copied to a separate model, which
validates the constructor's arguments.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import Any, ClassVar, get_origin, get_type_hints

from pydantic import BaseModel

HANDLED_NAMES = frozenset({"model_post_init", "model_config"})


@functools.cache
def build_model(cls: Any, base: Any) -> type[BaseModel] | None:
    """Build a model from the declarations of a class and its bases, or None.

    Args:
        cls: A tool's class.
        base: The first base class that is not the author's; its declarations are left out.
    """
    body: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    written = [one for one in reversed(cls.__mro__) if issubclass(one, base) and one is not base]
    for one in written:
        hints |= _read_annotations(one)
        body |= {
            name: value
            for name, value in vars(one).items()
            if _is_model_attribute(name, value, hints)
        }
    if not hints and not body:
        return None
    config = {**getattr(cls, "model_config", {}), "arbitrary_types_allowed": True}
    body |= {"__annotations__": hints, "model_config": config, "__module__": cls.__module__}
    made: type[BaseModel] = type(cls.__name__, (BaseModel,), body)
    return made


def _read_annotations(cls: type) -> dict[str, Any]:
    """Return the types of a class's fields; a class with an unresolvable type has none checked."""
    try:
        resolved = get_type_hints(cls, include_extras=True)
    except NameError:  # a type of a function's own: its fields are not checked
        return {}
    made: dict[str, Any] = {}
    for name in inspect.get_annotations(cls):
        hint = resolved[name]
        value = vars(cls).get(name)
        private = name.startswith("_") and type(value).__name__ != "ModelPrivateAttr"
        if private or get_origin(hint) is ClassVar or name in ("args_schema", "callbacks"):
            continue
        made[name] = hint
    return made


def _is_model_attribute(name: str, value: object, hints: Mapping[str, Any]) -> bool:
    """Return True for a field's default, a validator, or a function a validator may call."""
    if name in hints:
        return True
    if name in HANDLED_NAMES or name.startswith("__"):
        return False
    kinds = ("PydanticDescriptorProxy", "ModelPrivateAttr")
    return isinstance(value, FunctionType) or type(value).__name__ in kinds

"""Tools as classes that use pydantic's words: their fields, validators and private attributes.

A tool is no pydantic model here. What its author wrote in pydantic's words is put into a model
beside it, which checks what the constructor is given.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Mapping
from types import FunctionType
from typing import Any, ClassVar, get_origin, get_type_hints

from pydantic import BaseModel

OWN = frozenset({"model_post_init", "model_config"})


@functools.cache
def model_of(cls: Any, base: Any) -> type[BaseModel] | None:
    """The model of what a class and those above it, up to a base, have written; None if nothing.

    Args:
        cls: A tool's class.
        base: The first that is not its author's.
    """
    body: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    written = [one for one in reversed(cls.__mro__) if issubclass(one, base) and one is not base]
    for one in written:
        hints |= _annotations(one)
        body |= {name: value for name, value in vars(one).items() if _belongs(name, value, hints)}
    if not hints and not body:
        return None
    config = {**getattr(cls, "model_config", {}), "arbitrary_types_allowed": True}
    body |= {"__annotations__": hints, "model_config": config, "__module__": cls.__module__}
    made: type[BaseModel] = type(cls.__name__, (BaseModel,), body)
    return made


def _annotations(cls: type) -> dict[str, Any]:
    """Its fields' types; one that cannot be resolved here is not checked."""
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


def _belongs(name: str, value: object, hints: Mapping[str, Any]) -> bool:
    """Whether a class's attribute is a default, a validator, or what a validator may call."""
    if name in hints:
        return True
    if name in OWN or name.startswith("__"):
        return False
    kinds = ("PydanticDescriptorProxy", "ModelPrivateAttr")
    return isinstance(value, FunctionType) or type(value).__name__ in kinds

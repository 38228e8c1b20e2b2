"""Annotations as pydantic takes them on every Python version."""

from __future__ import annotations

import types
import typing
from typing import Annotated, Any, Literal, get_args, get_origin

from typing_extensions import TypedDict, TypeIs

Made = dict[type[Any], Any]


def modern(annotation: object, made: Made | None = None) -> Any:
    """Replace `typing.TypedDict`, which pydantic cannot read before Python 3.12.

    Args:
        annotation: Any annotation, resolved.
        made: What typed dicts have been replaced by already; they may hold themselves.
    """
    made = {} if made is None else made
    if _is_old(annotation):
        return made[annotation] if annotation in made else _replaced(annotation, made)
    origin, args = get_origin(annotation), get_args(annotation)
    if not args or origin is Literal or not any(_has_old(arg) for arg in args):
        return annotation
    if origin is types.UnionType:
        return typing.Union[tuple(modern(arg, made) for arg in args)]  # noqa: UP007
    if origin is Annotated:
        return Annotated[(modern(args[0], made), *args[1:])]
    return origin[tuple(modern(arg, made) for arg in args)] if origin else annotation


def _replaced(old: type[Any], made: Made) -> Any:
    make: Any = TypedDict
    new = made[old] = make(old.__name__, {})
    hints = typing.get_type_hints(old, include_extras=True)
    new.__annotations__ = {name: modern(hint, made) for name, hint in hints.items()}
    for name in ("__doc__", "__module__", "__qualname__", "__total__"):
        setattr(new, name, getattr(old, name))
    new.__required_keys__ = getattr(old, "__required_keys__", frozenset())
    new.__optional_keys__ = getattr(old, "__optional_keys__", frozenset())
    return new


def _is_old(annotation: object) -> TypeIs[type[Any]]:
    """Whether it is a typed dict of `typing`'s; `Any` and protocols have classes from there, too."""
    return typing.is_typeddict(annotation) and type(annotation).__module__ == "typing"


def _has_old(annotation: object) -> bool:
    if _is_old(annotation):
        return True
    return any(_has_old(arg) for arg in get_args(annotation))

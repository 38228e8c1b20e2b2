"""Annotations as pydantic takes them on every Python version, and checks them whole."""

from __future__ import annotations

import types
import typing
from collections.abc import Iterable
from typing import Annotated, Any, Literal, get_args, get_origin

from typing_extensions import TypedDict, TypeIs


def modern(annotation: object) -> Any:
    """Replace `typing.TypedDict`, which pydantic cannot read before Python 3.12, and `Iterable`,
    whose items pydantic would check only while the body reads them.

    >>> from collections.abc import Iterable
    >>> modern(Iterable[int])
    list[int]
    """
    if _is_old(annotation):
        hints = typing.get_type_hints(annotation, include_extras=True)
        total = getattr(annotation, "__total__", True)
        fields = {name: modern(hint) for name, hint in hints.items()}
        make: Any = TypedDict
        made = make(annotation.__name__, fields, total=total)
        made.__doc__ = annotation.__doc__
        return made
    origin: Any = get_origin(annotation) or annotation
    args = get_args(annotation)
    if origin is Iterable:
        item: Any = modern(args[0]) if args else Any
        return list[item]
    if not args or origin is Literal or not any(_has_old(arg) for arg in args):
        return annotation
    if origin is types.UnionType:
        return typing.Union[tuple(modern(arg) for arg in args)]  # noqa: UP007
    if origin is Annotated:
        return Annotated[(modern(args[0]), *args[1:])]
    return origin[tuple(modern(arg) for arg in args)]


def _is_old(annotation: object) -> TypeIs[type[Any]]:
    """Whether it is a typed dict of `typing`'s; `Any` and protocols have classes from there, too."""
    return typing.is_typeddict(annotation) and type(annotation).__module__ == "typing"


def _has_old(annotation: object) -> bool:
    if _is_old(annotation) or (get_origin(annotation) or annotation) is Iterable:
        return True
    return any(_has_old(arg) for arg in get_args(annotation))

"""Annotations as pydantic takes them on every Python version, and checks them entire."""

from __future__ import annotations

import threading
import types
import typing
from collections.abc import Iterable
from typing import Annotated, Any, Literal, NotRequired, Required, get_args, get_origin
from weakref import WeakKeyDictionary

from typing_extensions import ReadOnly, TypedDict, TypeIs

from toolkeel.errors import DefinitionError

_new: WeakKeyDictionary[type[Any], Any] = WeakKeyDictionary()
_making = threading.RLock()


def modernize(annotation: object) -> Any:
    """Replace annotations that pydantic reads too late or not at all.

    `typing.TypedDict` it cannot read before Python 3.12, and items of an `Iterable` it would check only
    while the body reads them.

    >>> from collections.abc import Iterable
    >>> modernize(Iterable[int])
    list[int]
    """
    if _is_typing_typed_dict(annotation):
        with _making:
            return _new.get(annotation) or _modern_typed_dict(annotation)
    origin: Any = get_origin(annotation) or annotation
    args = get_args(annotation)
    if origin is Iterable:
        item: Any = modernize(args[0]) if args else Any
        return list[item]
    if not args or origin is Literal or not any(_has_typing_typed_dict(arg) for arg in args):
        return annotation
    if origin is types.UnionType:
        return typing.Union[tuple(modernize(arg) for arg in args)]  # noqa: UP007
    if origin is Annotated:
        return Annotated[(modernize(args[0]), *args[1:])]
    if len(args) == 1:  # `NotRequired` takes no tuple
        return origin[modernize(args[0])]
    return origin[tuple(modernize(arg) for arg in args)]


def _modern_typed_dict(old: type[Any]) -> Any:
    """Rebuild a `typing` typed dict with `typing_extensions`, and store it. It may contain itself."""
    hints = typing.get_type_hints(old, include_extras=True)
    make: Any = TypedDict
    made = make(
        old.__name__,
        {
            name: Any if is_required(old, name, hint) else NotRequired[Any]
            for name, hint in hints.items()
        },
    )
    made.__doc__, made.__module__, made.__qualname__ = old.__doc__, old.__module__, old.__qualname__
    _new[old] = made  # first of all: its fields may ask for it
    try:
        made.__annotations__.update({name: modernize(hint) for name, hint in hints.items()})
    except Exception:
        del _new[old]
        raise
    return made


def is_required(owner: Any, name: str, hint: object) -> bool:
    """Return True if a key of a typed dict is required. Postponed qualifiers are evaluated."""
    while get_origin(hint) is ReadOnly:
        [hint] = get_args(hint)
    if get_origin(hint) in (Required, NotRequired):
        return get_origin(hint) is Required
    return name in owner.__required_keys__


def _is_typing_typed_dict(annotation: object) -> TypeIs[type[Any]]:
    """Return True if a class is a typed dict made by `typing`."""
    return typing.is_typeddict(annotation) and type(annotation).__module__ == "typing"


def _has_typing_typed_dict(annotation: object) -> bool:
    """Return True if an annotation contains what `modernize` must replace."""
    if _is_typing_typed_dict(annotation) or (get_origin(annotation) or annotation) is Iterable:
        return True
    return any(_has_typing_typed_dict(arg) for arg in get_args(annotation))


def unpacked_item(title: str, name: str, inner: Any) -> object:
    """Return the type of each value of ``*args`` that an unpacked tuple describes.

    Raises:
        DefinitionError: the tuple has several types, by position.
    """
    items = get_args(inner)
    if get_origin(inner) is tuple and len(items) == 2 and items[1] is ...:
        return items[0]
    shown = str(inner).replace("typing.", "")
    raise DefinitionError(
        f"{title}: parameter '*{name}' is annotated with Unpack of {shown}; write it as one "
        f"parameter, {name}: {shown}"
    )

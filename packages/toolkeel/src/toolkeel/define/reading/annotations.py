"""Annotations as pydantic takes them on every Python version, and checks them entire."""

from __future__ import annotations

import re
import threading
import types
import typing
from collections.abc import Iterable, Mapping
from typing import (
    Annotated,
    Any,
    Literal,
    Never,
    NotRequired,
    Required,
    TypeVar,
    Unpack,
    get_args,
    get_origin,
)
from weakref import WeakKeyDictionary, WeakSet

from typing_extensions import NoExtraItems, ReadOnly, TypedDict, is_typeddict

from toolkeel.errors import DefinitionError

_new: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_made: WeakSet[Any] = WeakSet()
_making = threading.RLock()
_MODULES = re.compile(r"(?:[\w<>]+\.)+| at 0x[0-9a-fA-F]+")


def modernize(annotation: object) -> Any:
    """Replace annotations that pydantic reads too late or not at all.

    `typing.TypedDict` it cannot read before Python 3.12, and items of an `Iterable` it would check only
    while the body reads them. Of `ReadOnly` it warns; arguments are made for one call. A tuple within a
    tuple (``*tuple[int, ...]``) it does not know.

    >>> from collections.abc import Iterable
    >>> modernize(Iterable[int])
    list[int]
    """
    if _is_old_typed_dict(annotation):
        with _making:
            return _new.get(annotation) or _modern_typed_dict(annotation)
    origin: Any = get_origin(annotation) or annotation
    args = get_args(annotation)
    if origin is Iterable:
        item: Any = modernize(args[0]) if args else Any
        return list[item]
    if origin is ReadOnly:
        return modernize(args[0])
    if _is_unpacked(annotation):
        return Unpack[origin[args]]
    if not args or origin is Literal or not any(_has_old_parts(arg) for arg in args):
        return annotation
    return _subscribe(origin, args)


def _subscribe(origin: Any, args: tuple[Any, ...]) -> Any:
    """Return an annotation of an origin and its modernized arguments."""
    if origin is types.UnionType:
        return typing.Union[tuple(modernize(arg) for arg in args)]  # noqa: UP007
    if origin is Annotated:
        return Annotated[(modernize(args[0]), *args[1:])]
    if len(args) == 1:  # `NotRequired` takes no tuple
        return origin[modernize(args[0])]
    return origin[tuple(modernize(arg) for arg in args)]


def _modern_typed_dict(old: Any) -> Any:
    """Rebuild a typed dict with `typing_extensions`, and store it. It may contain itself."""
    owner: Any = get_origin(old) or old
    hints = typing.get_type_hints(owner, include_extras=True)
    make: Any = TypedDict
    made = make(
        owner.__name__ if old is owner else _MODULES.sub("", repr(old)),
        {
            name: Any if is_required(owner, name, hint) else NotRequired[Any]
            for name, hint in hints.items()
        },
    )
    for name in ("__doc__", "__module__", "__qualname__"):
        if name in vars(owner):
            setattr(made, name, vars(owner)[name])
    if (config := _config_of(owner)) is not None:
        made.__pydantic_config__ = config
    _made.add(made)
    _new[old] = made  # first of all: its fields may ask for it
    filled = type_arguments(old)
    try:
        made.__annotations__.update(
            {name: modernize(fill_in(hint, filled)) for name, hint in hints.items()}
        )
        made.__extra_items__ = modernize(fill_in(extra_items(old), filled))
    except Exception:
        del _new[old]
        raise
    return made


def _config_of(owner: Any) -> Any:
    """Return pydantic's configuration of a typed dict, its own or that of a base; None without one."""
    found = getattr(owner, "__dict__", {}).get("__pydantic_config__")
    for base in getattr(owner, "__orig_bases__", ()):
        found = _config_of(get_origin(base) or base) if found is None else found
    return found


def extra_items(annotation: object) -> Any:
    """Return the type of the values whose keys a typed dict does not name.

    It is `Never` if there may be none, and `NoExtraItems` if neither the class nor a base says.
    """
    owner = get_origin(annotation) or annotation
    if getattr(owner, "__closed__", None):
        return Never
    said = getattr(owner, "__extra_items__", NoExtraItems)
    for base in getattr(owner, "__orig_bases__", ()):
        if said is not NoExtraItems:
            break
        said = extra_items(base)
    return said


def type_arguments(annotation: object) -> dict[Any, Any]:
    """Return what the type variables of a class stand for where it or a base is subscribed.

    >>> type_arguments(list[int])
    {}
    """
    origin: Any = get_origin(annotation) or annotation
    filled = dict(zip(getattr(origin, "__parameters__", ()), get_args(annotation), strict=False))
    for base in getattr(origin, "__orig_bases__", ()):
        filled = {
            key: fill_in(type_, filled) for key, type_ in type_arguments(base).items()
        } | filled
    return filled


def fill_in(hint: Any, filled: Mapping[Any, Any]) -> Any:
    """Replace type variables of an annotation by types; those without one remain.

    >>> T = typing.TypeVar("T")
    >>> fill_in(dict[str, T], {T: int})
    dict[str, int]
    """
    if isinstance(hint, TypeVar):
        return filled.get(hint, hint)
    variables = getattr(hint, "__parameters__", ()) if get_args(hint) else ()
    if filled.keys().isdisjoint(variables):
        return hint
    return hint[tuple(filled.get(each, each) for each in variables)]


def is_required(owner: Any, name: str, hint: object) -> bool:
    """Return True if a key of a typed dict is required. Postponed qualifiers are evaluated."""
    while get_origin(hint) is ReadOnly:
        [hint] = get_args(hint)
    if get_origin(hint) in (Required, NotRequired):
        return get_origin(hint) is Required
    return name in owner.__required_keys__


def _is_old_typed_dict(annotation: object) -> bool:
    """Return True if a typed dict, or an alias of a generic one, was not rebuilt here."""
    owner: Any = get_origin(annotation) or annotation
    if not is_typeddict(owner) or owner in _made:
        return False
    try:
        hash(annotation)
    except TypeError:  # of metadata such as a dict: pydantic reads it as it is
        return False
    return True


def _is_unpacked(annotation: object) -> bool:
    """Return True for ``*tuple[int, ...]``, which pydantic takes for a tuple on Python 3.15."""
    return getattr(annotation, "__unpacked__", False) is True


def _has_old_parts(annotation: object) -> bool:
    """Return True if an annotation contains what `modernize` must replace."""
    origin = get_origin(annotation) or annotation
    if origin is Iterable or origin is ReadOnly or _is_unpacked(annotation):
        return True
    return _is_old_typed_dict(annotation) or any(
        _has_old_parts(arg) for arg in get_args(annotation)
    )


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

"""Constructors that check the kinds of their arguments: a mistake is told where it is written."""

from __future__ import annotations

import collections.abc
import re
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import is_dataclass
from functools import wraps
from inspect import getattr_static
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from types import NoneType, SimpleNamespace, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from toolkeel._common.other_libraries_words import (
    check_argument_names,
    explain_foreign,
    takes_self,
)
from toolkeel.errors import SetupError

F = TypeVar("F", bound=Callable[..., Any])


class ArgumentKind(NamedTuple):
    """The kind of values that an argument admits.

    Args:
        accepts: Returns True for an admitted value.
        expected: What to pass, in words.
        is_quotable: True if the error may quote a wrong text. False for other libraries' objects, such
            as a client or a login, in place of which people pass a secret.
        accepts_item: Checks one item of a list; None for other kinds.
    """

    accepts: Callable[[Any], bool]
    expected: str
    is_quotable: bool = True
    accepts_item: Callable[[Any], bool] | None = None


def checked(made: F) -> F:
    """Decorate a class or function to check each call's argument names, count and values.

    Values are checked by annotation: flags, numbers, texts, paths, functions, choices, classes,
    protocols, lists and dicts of these, and an `ArgumentKind` in an `Annotated`. Other annotations are
    not checked.

    Raises:
        SetupError: (when called) a value is of the wrong kind.
        DefinitionError: (when called) a name is unknown, or there are too many arguments.

    >>> @checked
    ... class Oven:
    ...     def __init__(self, degrees: int = 180, *, fan: bool = False) -> None: ...
    >>> Oven(fan="no")
    Traceback (most recent call last):
    toolkeel.errors.SetupError: Oven(fan=...): expected True or False, got 'no'
    """
    cls: Any = made
    if not isinstance(made, type):
        owner = cls.__qualname__.removesuffix(".__init__").removesuffix(".__new__")
        cls = _checking(cls, owner, cls.__annotations__)
    elif cls.__init__ is object.__init__:  # a record
        cls.__new__ = _checking(cls.__new__, cls.__name__, cls.__annotations__)
    else:
        cls.__init__ = _checking(cls.__init__, cls.__name__, cls.__init__.__annotations__)
    return cast(F, cls)


def _checking(make: Any, owner: str, told: Mapping[str, object]) -> Any:
    """Return a function that checks arguments by annotations and then calls `make`."""
    code, first = make.__code__, takes_self(make)
    own = code.co_varnames[first : code.co_argcount]
    kinds: dict[str, ArgumentKind | None] = {}

    @wraps(make)
    def checking(*args: Any, **options: Any) -> Any:
        """Call `make`; raise SetupError for arguments too many, unknown or of a wrong kind. Missing ones are left to it."""
        if not kinds:  # when it is first called: all names are there then
            kinds.update(kinds_of(told, make.__module__))
        check_argument_names(owner, make, len(args) - first, options)
        check_values(owner, {**dict(zip(own, args[first:], strict=False)), **options}, kinds)
        return make(*args, **options)

    return checking


def kinds_of(annotations: Mapping[str, object], module: str) -> dict[str, ArgumentKind | None]:
    """Return the kind that each annotation of a module admits, or None if unchecked."""
    names = vars(sys.modules[module])
    return {name: kind_of(annotation, names) for name, annotation in annotations.items()}


def check_values(
    owner: str,
    given: Mapping[str, Any],
    kinds: Mapping[str, ArgumentKind | None],
    error: type[SetupError] = SetupError,
) -> None:
    """Raise unless each value is of the kind of its option. Options without a kind are not checked.

    Raises:
        SetupError: or the class passed as `error`, naming the option and what was expected.
    """
    for option, value in given.items():
        kind = kinds.get(option)
        if kind is not None and not kind.accepts(value):
            got = _describe_value(value, kind.is_quotable)
            fix = (
                f"; write {option}=[...]"
                if kind.accepts_item is not None and kind.accepts_item(value)
                else ""
            )
            items = value if isinstance(value, list | tuple) else [value]
            if foreign := next(filter(None, map(explain_foreign, items)), ""):
                fix = f"; {foreign}"
            raise error(f"{owner}({option}=...): expected {kind.expected}, got {got:.60}{fix}")


def above(least: float, wanted: str) -> ArgumentKind:
    """Return the kind of numbers above `least`, for an `Annotated`."""
    return ArgumentKind(lambda value: value > least, wanted)


def at_least(least: float, wanted: str) -> ArgumentKind:
    """Return the kind of numbers from `least`, for an `Annotated`."""
    return ArgumentKind(lambda value: value >= least, wanted)


def _describe_value(value: object, quoted: bool) -> str:
    """Describe a wrong value: numbers, and texts if `quoted`, by content; others by their types."""
    if isinstance(value, int | float | NoneType) or (quoted and isinstance(value, str)):
        return repr(value)
    if isinstance(value, type):
        return f"the class {_name(value)} itself"
    inside: object = value.values() if isinstance(value, Mapping) else value
    kinds: list[str] = []
    if isinstance(inside, Collection) and not isinstance(inside, str | bytes | bytearray):
        kinds = sorted({_name(type(each)) for each in inside})
    return f"{_name(type(value))}{' of ' * bool(kinds)}{' and '.join(kinds)}"


def any_list(wanted: str, or_function: bool = False) -> ArgumentKind:
    """Return the kind of any iterable except text, bytes and mappings, optionally also of functions."""

    def fits(value: Any) -> bool:
        """Return True for an iterable that is no text, bytes or mapping, and if `or_function` for a callable."""
        is_list = isinstance(value, Iterable) and not isinstance(value, str | bytes | Mapping)
        return is_list or (or_function and callable(value))

    return ArgumentKind(fits, wanted)


def kind_of(text: Any, names: dict[str, Any]) -> ArgumentKind | None:
    """Return the kind that an annotation admits, or None if only type checkers can check it.

    Args:
        text: The annotation, or its source text.
        names: Names that the text may use: those of its module.
    """
    try:
        message = get_type_hints(SimpleNamespace(__annotations__={"it": text}), names, None, True)
    except (NameError, TypeError):  # known to type checkers alone
        return None
    return _kind(message["it"])


def _kind(annotation: Any, listed: bool = False) -> ArgumentKind | None:
    """Return the kind that an evaluated annotation admits, or None if unchecked.

    With `listed`, it is the annotation of the items of a list.
    """
    if annotation in _SIMPLE:
        return _SIMPLE[annotation]
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _narrowed(
            _kind(args[0], listed), [each for each in args if isinstance(each, ArgumentKind)]
        )
    if origin is Literal:
        return ArgumentKind(lambda value: value in args, " or ".join(map(repr, args)))
    if origin in (Union, UnionType):
        return _either([_kind(each, listed) for each in args])
    if origin is collections.abc.Callable:
        return ArgumentKind(callable, "a function")
    if origin in (dict, Mapping, MutableMapping):
        return _mapping_kind(_kind(args[1]))
    if origin in (list, tuple, Sequence, Iterable):
        return _list_kind(origin, args)
    return _object(origin or annotation, listed)


def _list_kind(origin: object, args: tuple[Any, ...]) -> ArgumentKind | None:
    """Return the kind of a list annotation, or None for fixed tuples and unchecked items."""
    if origin is tuple and args[1:] != (...,):
        return None
    item = _kind(args[0], True)
    return None if item is None else _items_kind(item, origin is Iterable)


def _narrowed(kind: ArgumentKind | None, narrower: list[ArgumentKind]) -> ArgumentKind | None:
    """Return a type's kind, narrowed by an `ArgumentKind` in its `Annotated`; None without either."""
    if not narrower or kind is None:
        return kind or next(iter(narrower), None)
    fits, more = kind.accepts, narrower[-1].accepts
    is_quotable = kind.is_quotable and narrower[-1].is_quotable
    return ArgumentKind(
        lambda value: fits(value) and more(value), narrower[-1].expected, is_quotable
    )


def _object(cls: Any, listed: bool) -> ArgumentKind | None:
    """Return the kind of instances of a class, or of objects with any member of a protocol.

    None means unchecked: typed dicts, and protocols in lists.
    """
    if not isinstance(cls, type) or is_typeddict(cls):
        return None
    named = vars(cls)
    if not named.get("_is_protocol") or named.get("_is_runtime_protocol"):
        return ArgumentKind(_is(cls), _article(cls), cls.__module__.startswith("toolkeel"))
    members = [name for name in {*dir(cls), *named.get("__annotations__", ())} if name[0] != "_"]
    if not members:  # of __call__ alone
        return ArgumentKind(callable, "a function")
    if listed:  # who takes lists of them tells more
        return None
    return ArgumentKind(lambda value: _has_any(value, members), _article(cls))


def _has_any(value: object, members: Iterable[str]) -> bool:
    """Return True if an object has one of the members, or ``__getattr__``, without evaluating properties."""
    by_itself = hasattr(type(value), "__getattr__")  # it may have any member
    return by_itself or any(
        getattr_static(value, name, _has_any) is not _has_any for name in members
    )


def _article(cls: type) -> str:
    """Return a class's name with "a" or "an", or as a call for the library's own records."""
    name = _name(cls)
    if cls.__module__.startswith("toolkeel") and is_dataclass(cls):
        return f"{name}(...)"
    return name if "." in name else f"{'an' if name[0] in 'AEIO' else 'a'} {name}"


def _name(cls: type) -> str:
    """Return a class's name, with its module if it is another library's."""
    here = cls.__module__.startswith("toolkeel") or cls.__module__ == "builtins"
    return cls.__qualname__ if here else f"{cls.__module__.split('._')[0]}.{cls.__qualname__}"


def _either(kinds: list[ArgumentKind | None]) -> ArgumentKind | None:
    """Return the kind of a union, or None if a part of it is unchecked."""
    known = [kind for kind in kinds if kind is not None]
    if len(known) < len(kinds):
        return None
    wanted = " or ".join(dict.fromkeys(kind.expected for kind in known))
    fits = [kind.accepts for kind in known]
    item = next((kind.accepts_item for kind in known if kind.accepts_item is not None), None)
    quoted = all(kind.is_quotable for kind in known)
    return ArgumentKind(lambda value: any(fit(value) for fit in fits), wanted, quoted, item)


def _mapping_kind(each: ArgumentKind | None) -> ArgumentKind:
    """Return the kind of dicts with values of a kind; None: of any values."""

    def fits(value: Any) -> bool:
        """Return True for a mapping whose values all satisfy `each`, if there is an `each`."""
        return isinstance(value, Mapping) and (
            each is None or all(map(each.accepts, value.values()))
        )

    return ArgumentKind(fits, f"a dict of {_plural(each)}" if each else "a dict")


def _items_kind(each: ArgumentKind, once: bool) -> ArgumentKind:
    """Return the kind of a collection of items. Iterators are admitted only if `once` is set."""

    def fits(value: Any) -> bool:
        """Return True for a collection whose items satisfy `each`; if `once`, also for any one-pass iterable."""
        if isinstance(value, Collection):
            text = isinstance(value, str | bytes | bytearray | Mapping)
            return not text and all(map(each.accepts, value))
        return once and isinstance(value, Iterable)

    return ArgumentKind(fits, f"a list of {_plural(each)}", accepts_item=each.accepts)


def _plural(kind: ArgumentKind) -> str:
    """Return what a kind expects in the plural: "numbers" for "a number"."""
    return re.sub(r"\ban? ([\w ]+?)(?= or |$)", r"\1s", kind.expected)


def _is(*kinds: type) -> Callable[[Any], bool]:
    """Return a function that checks for instances of classes, bools excepted."""
    return lambda value: isinstance(value, kinds) and not isinstance(value, bool)


_SIMPLE: dict[object, ArgumentKind | None] = {
    bool: ArgumentKind(lambda value: isinstance(value, bool), "True or False"),
    int: ArgumentKind(_is(Integral), "a whole number"),
    float: ArgumentKind(_is(Real), "a number"),
    str: ArgumentKind(_is(str), "a text"),
    bytes: ArgumentKind(_is(bytes, bytearray, memoryview), "bytes"),
    NoneType: ArgumentKind(lambda value: value is None, "None"),
    PathLike: ArgumentKind(_is(PathLike), "a path"),
    PathLike[str]: ArgumentKind(_is(PathLike), "a path"),
    Path: ArgumentKind(_is(Path), "a Path"),
    Any: None,
    object: None,
}

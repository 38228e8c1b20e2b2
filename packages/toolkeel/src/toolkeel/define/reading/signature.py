"""Reading a callable: its name, its parameters, how its body runs."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator, Mapping
from types import FrameType
from typing import Any, Final, Literal, get_args, get_origin

import typing_extensions

from toolkeel._records.record import record
from toolkeel.define.inject import FixedByPartial, InjectedParameter, marker_of, with_field_default
from toolkeel.define.mutable_defaults import dataclass_field_factory
from toolkeel.define.reading.annotations import (
    extra_items,
    fill_in,
    type_arguments,
    unpacked_item,
)
from toolkeel.define.reading.hints import (
    Function,
    called_function,
    function_hints,
    plain_function,
    resolve_hints,
    unresolved_signature,
    unwrap_partials,
)
from toolkeel.errors import DefinitionError

BodyKind = Literal["async", "sync", "async_generator", "generator"]

POSITIONAL_ONLY = inspect.Parameter.POSITIONAL_ONLY
VAR_POSITIONAL = inspect.Parameter.VAR_POSITIONAL
VAR_KEYWORD = inspect.Parameter.VAR_KEYWORD
MISSING = inspect.Parameter.empty
ABSENT: Final = object()
"""The default of a key that may be left out, and then is not there."""
SELF: Final[tuple[object, ...]] = (typing.Self, typing_extensions.Self)
UNPACK = (typing.Unpack, typing_extensions.Unpack)


QUALIFIERS: Final[Mapping[Any, Callable[[bool], bool]]] = {
    typing.Required: lambda _: True,
    typing_extensions.Required: lambda _: True,
    typing.NotRequired: lambda _: False,
    typing_extensions.NotRequired: lambda _: False,
    typing_extensions.ReadOnly: bool,
}
"""What the qualifiers of a `TypedDict`'s key make of if it is required."""


@record
class Parameter:
    """A parameter that the model fills.

    Args:
        name: As in the function.
        annotation: Resolved, with its `Annotated` metadata; `Any` if there was none.
        default: The function's default, `MISSING`, or `ABSENT`.
        kind: Of `inspect.Parameter`.
    """

    name: str
    annotation: object
    default: object
    kind: inspect._ParameterKind


@record
class Signature:
    """Facts about a callable, before a schema is made.

    Args:
        name: Name of the function.
        parameters: Parameters that the model fills, in order.
        injected: Parameters that the program fills.
        positional: Parameters to pass by position, among them injected ones; the others go by keyword.
        body: How the body runs.
        returns: The return annotation; `MISSING` if there is none.
        unbound: True if it is a function of a class body, waiting for its instance.
    """

    name: str
    parameters: tuple[Parameter, ...]
    injected: tuple[InjectedParameter, ...]
    positional: tuple[Parameter, ...]
    body: BodyKind
    returns: object
    unbound: bool


def read_signature(function: Function, name: str | None, caller: FrameType | None) -> Signature:
    """Read a callable's parameters (filled, injected, by position), its body's kind and result.

    Args:
        function: The callable.
        name: The tool's name, if it was passed.
        caller: Where the tool is defined: names of postponed annotations are looked up there too.

    Raises:
        DefinitionError: if it has no name, no readable signature, or an annotation that cannot be
            resolved.
    """
    title = function_name(function) if name is None else name
    try:
        raw = unresolved_signature(function)
    except (ValueError, TypeError) as error:
        raise DefinitionError(
            f"{title}: its signature cannot be read ({error}); wrap it in a function of your own"
        ) from None
    hints = resolve_hints(function, title, caller)
    bound = _bound_by_partial(function)
    parameters, injected, positional = [], [], []
    kinds = {p.kind for p in raw.parameters.values()}
    if VAR_KEYWORD in kinds:
        taken = [*bound, *_receiver(function)]
        injected += [InjectedParameter(name, FixedByPartial(), optional=True) for name in taken]
    by_place = VAR_POSITIONAL in kinds or hasattr(function, "dispatch")  # functools.singledispatch
    for item in _parameters(function, title, raw, hints, caller):
        if item.name in bound:
            continue
        if item.kind is POSITIONAL_ONLY or (by_place and item.kind <= VAR_POSITIONAL):
            positional.append(item)
        marker = marker_of(item.annotation)
        if marker is None:
            parameters.append(item)
        else:
            injected.append(
                InjectedParameter(
                    item.name, *with_field_default(marker, item.annotation, item.default)
                )
            )
    return Signature(
        title,
        tuple(parameters),
        tuple(injected),
        tuple(positional),
        _body_kind(function),
        hints.get("return", MISSING),
        _is_method(function, raw),
    )


def _parameters(
    function: Function,
    title: str,
    raw: inspect.Signature,
    hints: Mapping[str, Any],
    caller: FrameType | None,
) -> Iterator[Parameter]:
    """Yield the parameters with their types, without ``self``, or raise `DefinitionError`.

    An unpacked TypedDict gives a parameter for each of its keys.
    """
    for index, parameter in enumerate(raw.parameters.values()):
        if index == 0 and _is_unbound_self(function, parameter):
            continue
        annotation = hints.get(parameter.name, _own_annotation(parameter))
        if _names_self(annotation):
            raise DefinitionError(
                f"{title}: parameter {parameter.name!r} is annotated with Self, which stands for a "
                "class only within that class; write the class by its name"
            )
        if get_origin(annotation) not in UNPACK:
            default: object = parameter.default
            if type(default).__name__ == "_HAS_DEFAULT_FACTORY_CLASS":  # dataclasses
                default = (
                    dataclass_field_factory(plain_function(function), parameter.name) or ABSENT
                )
            yield Parameter(parameter.name, annotation, default, parameter.kind)
            continue
        [inner] = get_args(annotation)
        if parameter.kind is VAR_POSITIONAL:
            yield Parameter(
                parameter.name, unpacked_item(title, parameter.name, inner), MISSING, parameter.kind
            )
            continue
        owner = get_origin(inner) or inner
        if parameter.kind is not VAR_KEYWORD or not typing_extensions.is_typeddict(owner):
            raise DefinitionError(
                f"{title}: parameter {parameter.name!r} is annotated with Unpack of what is no "
                "TypedDict, which cannot be told to a model; write its keys as keyword-only "
                "parameters"
            )
        for item in _keys(inner, parameter.name, title, caller):
            if item.name in raw.parameters and item.kind is not VAR_KEYWORD:
                raise DefinitionError(
                    f"{title}: {owner.__name__} has a key {item.name!r}, and so is a parameter "
                    "called; rename one of them"
                )
            yield item


def _keys(inner: Any, rest: str, title: str, caller: FrameType | None) -> Iterator[Parameter]:
    """Yield the keys of a `TypedDict` as keyword-only parameters, and one for those it does not name.

    Raises:
        DefinitionError: a key's annotation cannot be resolved.
    """
    owner, filled = get_origin(inner) or inner, type_arguments(inner)
    for name, hint in function_hints(owner, title, caller).items():
        required, annotation = name in owner.__required_keys__, hint
        while (origin := get_origin(annotation)) in QUALIFIERS:
            # what a postponed annotation says is not among the class's own required keys
            required = QUALIFIERS[origin](required)
            [annotation] = get_args(annotation)
        default = MISSING if required else ABSENT
        yield Parameter(name, fill_in(annotation, filled), default, inspect.Parameter.KEYWORD_ONLY)
    if (others := extra_items(inner)) not in (typing.Never, typing_extensions.NoExtraItems):
        yield Parameter(rest, fill_in(others, filled), MISSING, VAR_KEYWORD)


def _names_self(annotation: object) -> bool:
    """Return True if an annotation mentions ``Self``."""
    return annotation in SELF or any(map(_names_self, get_args(annotation)))


def _receiver(function: Function) -> list[str]:
    """Return the names that an instance may fill in a method: one, ``self`` and ``cls`` if unbound, or none."""
    inner: Any = unwrap_partials(function)
    if inspect.ismethod(inner):
        plain: Any = inner.__func__
    elif isinstance(inner, type):
        plain = inspect.getattr_static(inner, "__init__")
    elif inspect.isroutine(inner):
        return ["self", "cls"] if _is_method(inner, inspect.signature(inner)) else []
    else:
        plain = inspect.getattr_static(type(inner), "__call__")
    if not inspect.isfunction(plain):  # a static method, or one that is not written in Python
        return []
    first = next(iter(inspect.signature(plain).parameters.values()), None)
    passed = first is not None and first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    return [first.name] if first is not None and passed else []


def function_name(function: Function) -> str:
    """Return a callable's name. For an object, it is the class name in snake case.

    Raises:
        DefinitionError: for a lambda, which has none.
    """
    inner = unwrap_partials(function)
    name = getattr(inner, "__name__", None)
    if name is None:
        return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(inner).__name__).lower()
    if name == "<lambda>":
        raise DefinitionError("a lambda has no name: give it one, tool('name')(lambda ...)")
    return str(name)


def _is_method(function: Function, raw: inspect.Signature) -> bool:
    """Return True if a function in a class body still needs its instance."""
    first = next(iter(raw.parameters.values()), None)
    return first is not None and _is_unbound_self(function, first)


def _is_unbound_self(function: Function, first: inspect.Parameter) -> bool:
    """Return True if a parameter is an unannotated ``self`` or ``cls`` of a function in a class."""
    return (
        inspect.isfunction(function)
        and first.name in ("self", "cls")
        and first.annotation is MISSING
        and "." in function.__qualname__.rpartition("<locals>.")[2]
    )


def _own_annotation(parameter: inspect.Parameter) -> object:
    """Return the annotation of a handwritten ``__signature__``; `Any` if missing or a text."""
    known = parameter.annotation
    return Any if known is MISSING or isinstance(known, str) else known


def _bound_by_partial(function: Function) -> list[str]:
    """Return the names of parameters that a partial has fixed; none without a partial."""
    inner, fixed = function, set[str]()
    while isinstance(inner, functools.partial):
        fixed.update(inner.keywords)
        inner = inner.func
    if inner is function:
        return []
    left = inspect.signature(function).parameters
    return [one for one in inspect.signature(inner).parameters if one in fixed or one not in left]


def _body_kind(function: Function) -> BodyKind:
    """Return how the body runs: async, sync, or a generator of either kind."""
    inner = called_function(function)
    if inspect.isasyncgenfunction(inner):
        return "async_generator"
    if inspect.iscoroutinefunction(inner):
        return "async"
    return "generator" if inspect.isgeneratorfunction(inner) else "sync"


def calling_frame() -> FrameType | None:
    """Return the frame that calls the caller of this function; None if the interpreter gives no frames."""
    return sys._getframe(2) if hasattr(sys, "_getframe") else None

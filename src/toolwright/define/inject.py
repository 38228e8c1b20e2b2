"""Parameters the model never sees: filled at run time, by marker or by type.

Values travel on a channel of their own. They are put beside the model's arguments after those
were validated, so no argument of the model can take their place.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from functools import partial
from inspect import Parameter
from typing import (
    Annotated,
    Any,
    Protocol,
    Union,
    cast,
    get_args,
    get_origin,
    runtime_checkable,
)

from toolwright.context import CancelToken, Run, ToolContext
from toolwright.errors import InjectionError
from toolwright.record import record


class InjectedToolArg:
    """Marks a parameter as filled by the program: ``Annotated[User, InjectedToolArg]``.

    The class or an instance will do. Its value is the run's `inject[name]`; a subclass may
    override `resolve` to take it from elsewhere.
    """

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        """Give the value.

        Args:
            context: The running call.
            name: The parameter's name.

        Raises:
            KeyError: if there is none; the parameter's default then stands, if it has one.
        """
        return context.run.inject[name]


class InjectedToolCallId(InjectedToolArg):
    """Marks a parameter that receives the id of the call."""

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.call.id


class InjectedState(InjectedToolArg):
    """Marks a parameter that receives the run's state, or one field of it.

    Args:
        field: Key of the state; None for all of it.
    """

    def __init__(self, field: str | None = None) -> None:
        self.field = field

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.state if self.field is None else context.state[self.field]


class InjectedStore(InjectedToolArg):
    """Marks a parameter that receives the run's store."""

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        if context.store is None:
            raise KeyError(name)
        return context.store


@runtime_checkable
class Injectable(Protocol):
    """A class whose instances are made from the running call wherever a parameter has its type."""

    @classmethod
    def from_tool_context(cls, context: ToolContext[Any]) -> object: ...


class _ByType(InjectedToolArg):
    def __init__(self, wanted: type) -> None:
        self._is_context = issubclass(wanted, ToolContext)
        self._is_token = issubclass(wanted, CancelToken)

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        if self._is_context:
            return context
        return context.cancel if self._is_token else context.run


class _FromContext(InjectedToolArg):
    def __init__(self, wanted: Injectable) -> None:
        self.wanted = wanted

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return self.wanted.from_tool_context(context)


class Bound(InjectedToolArg):
    """Marks a parameter that a partial has fixed: nothing is injected, and nothing is taken."""

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        raise KeyError(name)


class OrDefault(InjectedToolArg):
    """Gives the default of a model's field where its marker has nothing to give."""

    def __init__(self, marker: InjectedToolArg, default: Callable[[], object]) -> None:
        self.marker = marker
        self.default = default

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        try:
            return self.marker.resolve(context, name)
        except KeyError:
            return self.default()


def or_default(
    marker: InjectedToolArg, annotation: object, default: object
) -> tuple[InjectedToolArg, bool]:
    """The marker with the default that a `Field` says; and whether the function has one itself.

    Args:
        marker: Of the parameter.
        annotation: Of the parameter; a `Field` may stand in it.
        default: The function's; or a `Field`, which is none: the function would get just that.
    """
    from pydantic.fields import FieldInfo  # late: it takes half as long as all of this package

    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    own = default is not Parameter.empty and not isinstance(default, FieldInfo)
    for info in (default, *reversed(metadata)):
        if not own and isinstance(info, FieldInfo) and not info.is_required():
            return OrDefault(marker, partial(info.get_default, call_default_factory=True)), False
    return marker, own


@record
class Injected:
    """One parameter to inject.

    Args:
        name: Of the parameter.
        marker: Gives the value.
        optional: Whether the function has a default for it.
    """

    name: str
    marker: InjectedToolArg
    optional: bool = False


def marker_of(annotation: object) -> InjectedToolArg | None:
    """The marker that says how a parameter is injected; None if the model fills it.

    >>> marker_of(int) is None
    True
    >>> type(marker_of(Annotated[str, InjectedToolCallId])).__name__
    'InjectedToolCallId'
    """
    if type(annotation) is type and annotation.__module__ == "builtins":  # the most of them
        return None
    if type(annotation).__name__ == "TypeAliasType":  # Python's and typing_extensions' differ
        return marker_of(getattr(annotation, "__value__", None))
    if get_origin(annotation) is Annotated:
        base, *metadata = get_args(annotation)
        for item in metadata:
            if isinstance(item, InjectedToolArg):
                return item
            if isinstance(item, type) and issubclass(item, InjectedToolArg):
                return item()
        return marker_of(base)
    if get_origin(annotation) in (Union, types.UnionType):
        kept = [part for part in get_args(annotation) if part is not type(None)]
        return marker_of(kept[0]) if len(kept) == 1 else None
    return _marker_of_class(get_origin(annotation) or annotation)


def _marker_of_class(wanted: object) -> InjectedToolArg | None:
    if not isinstance(wanted, type):
        return None
    if issubclass(wanted, _BY_TYPE):
        return _ByType(wanted)
    # What isinstance(wanted, Injectable) asks, in a tenth of the time.
    makes = getattr(wanted, "from_tool_context", None) is not None
    return _FromContext(cast("Injectable", wanted)) if makes else None


_BY_TYPE = (ToolContext, Run, CancelToken)


def inject(
    parameters: tuple[Injected, ...], values: Mapping[str, object], context: ToolContext[Any]
) -> dict[str, object]:
    """The injected values beside the validated ones.

    What the model sent under the name of an injected parameter, as it can where ``**kwargs`` takes
    any key, is dropped.

    Raises:
        InjectionError: if a value is missing and the function has no default for it.
    """
    filled = {**values}
    for parameter in parameters:
        try:
            filled[parameter.name] = parameter.marker.resolve(context, parameter.name)
        except KeyError:
            if not parameter.optional:
                raise InjectionError(missing(context.tool_name, parameter.name)) from None
            filled.pop(parameter.name, None)
    return filled


def missing(tool: str, name: str) -> str:
    """What the developer is told about a value nobody gave."""
    return (
        f"tool {tool!r}: nothing to inject for parameter {name!r}; "
        f"give the run inject={{{name!r}: ...}} (or state=, store=, context=), "
        "or give the parameter a default"
    )

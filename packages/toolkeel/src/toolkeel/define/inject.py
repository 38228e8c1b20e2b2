"""Parameters the model never sees: filled at run time, by marker or by type.

Values travel on a channel of their own. They are put beside the model's arguments after those
were validated, so no argument of the model can take their place.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from inspect import Parameter
from itertools import islice
from typing import Annotated, Protocol, Union, cast, get_args, get_origin, runtime_checkable

from toolkeel._common.checked_arguments import checked
from toolkeel._common.redact_secrets import redact_in_logs
from toolkeel._records.record import record
from toolkeel.context import CancelToken, RunContext, ToolContext
from toolkeel.define.mutable_defaults import copy_factory
from toolkeel.define.secret import declared_texts, secret_texts
from toolkeel.errors import InjectionError

MAX_TEXTS = 200
"""Most texts of one injected value that are masked."""


@checked
class Injected:
    """Marker of a parameter that the program fills: ``Annotated[User, Injected]``.

    The class or an instance will do. Its value is the run's `inject[name]`; a subclass may
    override `resolve` to take it from elsewhere.

    Args:
        secret: The texts in the value are masked in events, errors and journals of the run. Logs, which
            belong to the process, mask those of eight characters or more with a digit or a sign, and
            each `SecretStr` of four characters or more.

    Attributes:
        crosses_processes: True if another process can be passed it: it follows from the call alone.
        is_secret: See `secret`.
    """

    crosses_processes = False
    is_secret = True

    def __init__(self, *, secret: bool = True) -> None:
        self.is_secret = secret

    def resolve(self, context: ToolContext, name: str) -> object:
        """Return the value to inject into a parameter.

        Args:
            context: The running call.
            name: The parameter's name.

        Raises:
            KeyError: if there is none; the parameter's default then applies, if it has one.
        """
        return context.run.inject[name]


@runtime_checkable
class Injectable(Protocol):
    """Protocol of classes that are injected: made from the running call, by a parameter's type."""

    @classmethod
    def from_tool_context(cls, context: ToolContext) -> object:
        """Return the value to inject into a call."""
        ...


class _InjectContext(Injected):
    """Marker that fills a parameter with the call's context, run or cancel token, by its type."""

    is_secret = False

    def __init__(self, wanted: type) -> None:
        self.crosses_processes = issubclass(wanted, ToolContext)
        self._is_token = issubclass(wanted, CancelToken)

    def resolve(self, context: ToolContext, name: str) -> object:
        """Return the context, its run or its cancel token."""
        if self.crosses_processes:
            return context
        return context.cancel if self._is_token else context.run


class _InjectFromContext(Injected):
    """Marker that fills a parameter by its class's ``from_tool_context``."""

    is_secret = False

    def __init__(self, wanted: Injectable) -> None:
        self.wanted = wanted

    def resolve(self, context: ToolContext, name: str) -> object:
        """Return a new instance made from the context."""
        return self.wanted.from_tool_context(context)


class FixedByPartial(Injected):
    """Marker of a parameter that a partial has fixed; neither model nor program fills it."""

    is_secret = False

    def resolve(self, context: ToolContext, name: str) -> object:
        """Raise `KeyError`, so that the partial's value applies.

        Raises:
            KeyError: always.
        """
        raise KeyError(name)


class InjectedOrDefault(Injected):
    """Marker that uses a field's default where another marker has no value.

    Args:
        marker: The other marker, which is asked first.
        default: Makes the default, for each call.
    """

    def __init__(self, marker: Injected, default: Callable[[], object]) -> None:
        self.marker = marker
        self.default = default
        self.is_secret = marker.is_secret

    def resolve(self, context: ToolContext, name: str) -> object:
        """Return the marker's value, or else the field's default."""
        try:
            return self.marker.resolve(context, name)
        except KeyError:
            return self.default()


def with_field_default(
    marker: Injected, annotation: object, default: object
) -> tuple[Injected, bool]:
    """Return a marker that falls back on a `Field`'s default, or a copy of the function's if that is mutable.

    Also return True if neither holds and the function has a default, which then applies by itself.

    Args:
        marker: The parameter's marker.
        annotation: The parameter's annotation, which may contain a `Field`.
        default: The function's default; a `Field` in its place is no default of the function.
    """
    from pydantic.fields import FieldInfo  # late: it takes half as long as all of this package

    metadata = get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()
    own = default is not Parameter.empty and not isinstance(default, FieldInfo)
    for info in (default, *reversed(metadata)):
        if not own and isinstance(info, FieldInfo) and not info.is_required():
            return InjectedOrDefault(
                marker, partial(info.get_default, call_default_factory=True)
            ), False
    if own and (make := copy_factory(default)) is not None:
        return InjectedOrDefault(marker, make), False
    return marker, own


@record
class InjectedParameter:
    """One parameter to inject.

    Args:
        name: Name of the parameter.
        marker: Marker that provides the value.
        optional: True if the function has a default for it.
    """

    name: str
    marker: Injected
    optional: bool = False


def marker_of(annotation: object) -> Injected | None:
    """Return the marker that says how a parameter is injected, or None if the model fills it.

    >>> marker_of(int) is None
    True
    >>> type(marker_of(Annotated[str, Injected])).__name__
    'Injected'
    """
    if type(annotation) is type and annotation.__module__ == "builtins":  # the most of them
        return None
    if type(annotation).__name__ == "TypeAliasType":  # Python's and typing_extensions' differ
        return marker_of(getattr(annotation, "__value__", None))
    if get_origin(annotation) is Annotated:
        base, *metadata = get_args(annotation)
        for item in metadata:
            if isinstance(item, Injected):
                return item
            if isinstance(item, type) and issubclass(item, Injected):
                return item()
        return marker_of(base)
    if get_origin(annotation) in (Union, types.UnionType):
        retained = [part for part in get_args(annotation) if part is not type(None)]
        return marker_of(retained[0]) if len(retained) == 1 else None
    return _marker_of_class(get_origin(annotation) or annotation)


def _marker_of_class(wanted: object) -> Injected | None:
    """Return the marker that a parameter's class implies, or None."""
    if not isinstance(wanted, type):
        return None
    if issubclass(wanted, _BY_TYPE):
        return _InjectContext(wanted)
    # What isinstance(wanted, Injectable) checks, in a tenth of the time.
    makes = getattr(wanted, "from_tool_context", None) is not None
    return _InjectFromContext(cast("Injectable", wanted)) if makes else None


_BY_TYPE = (ToolContext, RunContext, CancelToken)


def injected_values(
    parameters: tuple[InjectedParameter, ...], values: Mapping[str, object], context: ToolContext
) -> dict[str, object]:
    """Return the validated values together with the injected ones; secrets among these are masked from now on.

    What the model sent under the name of an injected parameter, as it can where ``**kwargs`` takes
    any key, is dropped.

    Raises:
        InjectionError: if a value is missing and the function has no default for it.
    """
    filled = {**values}
    for parameter in parameters:
        try:
            value = parameter.marker.resolve(context, parameter.name)
            filled[parameter.name] = value
            if parameter.marker.is_secret and value is not None:
                _mask(value, context)
        except KeyError:
            if not parameter.optional:
                raise InjectionError(
                    missing_value_error(context.tool_name, parameter.name)
                ) from None
            filled.pop(parameter.name, None)
    return filled


def _mask(value: object, context: ToolContext) -> None:
    """Mask the texts in a value from now on: all in its run, credentials in logs as well.

    Logs belong to the process, where a value such as "Paris" would hide that word for everybody, unless
    it is declared a secret, as by pydantic's `SecretStr`.
    """
    secrets = list(islice(secret_texts(value), MAX_TEXTS))
    declared = set(islice(declared_texts(value), MAX_TEXTS))
    redact_in_logs(text for text in secrets if text in declared or _may_be_credential(text))
    if context.run.mask is not None:
        context.run.mask.add_secrets(secrets)


def _may_be_credential(text: str) -> bool:
    """Return True if a text has eight characters or more, with a digit or a sign among them."""
    return len(text) >= 8 and not all(sign.isalpha() or sign.isspace() for sign in text)


def has_secret_injected(parameters: Iterable[InjectedParameter]) -> bool:
    """Return True if the value of some parameter is masked."""
    return any(parameter.marker.is_secret for parameter in parameters)


def missing_value_error(tool: str, name: str) -> str:
    """Return the message for the developer about a value that nothing provides."""
    return (
        f"tool {tool!r}: nothing to inject for parameter {name!r}; "
        f"give the run inject={{{name!r}: ...}} (or state=, store=, deps=), "
        "or give the parameter a default"
    )

"""One parameter as pydantic sees it, and what stays from pydantic: its default, its description."""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_args, get_origin

from pydantic_core import PydanticUndefined
from typing_extensions import TypeIs

from toolkeel._records.record import record
from toolkeel.define.mutable_defaults import FactoryDefault, copy_factory
from toolkeel.define.reading.annotations import modernize
from toolkeel.define.reading.signature import MISSING, VAR_POSITIONAL, Parameter

if TYPE_CHECKING:
    from pydantic.fields import FieldInfo

Values: TypeAlias = dict[str, object]
Factory: TypeAlias = Callable[[Values], object]
MADE = object()
"""Stands for a default that a factory makes anew each time."""


@record
class ParameterField:
    """A parameter as pydantic reads it, with pydantic's metadata.

    Args:
        annotation: Without a default, and without the description.
        default: The function's, or that of a `Field`; `MISSING`, `ABSENT` or `MADE`.
        factory: What makes the default for each call, if something must.
        description: Description for the model.
        field_infos: Every `Field` that describes it.
    """

    annotation: Any
    default: object
    factory: Factory | None = None
    description: str | None = None
    field_infos: tuple[FieldInfo, ...] = ()

    def with_description(self) -> Any:
        """Return the annotation with the description."""
        from pydantic.fields import FieldInfo

        if not self.description:
            return self.annotation
        return Annotated[self.annotation, FieldInfo(description=self.description)]


def is_field(item: object) -> TypeIs[FieldInfo]:
    """Return True if an object was made by pydantic's `Field`.

    Pydantic is not imported for that.

    If its module is not imported, there can be none; importing it takes as long as this package.
    """
    kind: Any = getattr(sys.modules.get("pydantic.fields"), "FieldInfo", None)
    return kind is not None and isinstance(item, kind)


def parameter_field(parameter: Parameter, docs: Mapping[str, str]) -> ParameterField:
    """Return a parameter with its description, default and default factory; ``*args`` as a list, empty by default.

    Args:
        parameter: A function's parameter.
        docs: Descriptions by parameter name, from the docstring.
    """
    annotation, metadata = _split(parameter.annotation)
    if is_field(parameter.default):
        metadata = [*metadata, parameter.default]
    infos = [item for item in metadata if is_field(item)]
    default, factory = _default(parameter.default, infos)
    several = parameter.kind is VAR_POSITIONAL  # what is described is each value, not their list
    text = _description(metadata, [] if several else infos, docs.get(parameter.name))
    if several and any(info.description for info in infos):
        text = None
    for item in metadata:
        plain = _without_default(item, several) if is_field(item) else item
        if not (isinstance(plain, str) or (is_field(plain) and _is_empty(plain))):
            annotation = Annotated[annotation, plain]
    if several:  # each value must fit, not the list of them
        annotation, default = list[annotation], []  # type: ignore[valid-type]
    return ParameterField(annotation, default, factory, text, tuple(infos))


def _default(own: object, infos: Sequence[FieldInfo]) -> tuple[object, Factory | None]:
    """Return the default and its factory, or None without a factory.

    An assigned default wins, then the last `Field` with one.
    """
    if isinstance(own, FactoryDefault):
        return MADE, _dataless_factory(own.make)
    if own is not MISSING and own is not ... and not is_field(own):
        make = copy_factory(own)
        return own, None if make is None else _dataless_factory(make)
    for info in reversed(infos):
        if info.default is not PydanticUndefined and info.default is not ...:
            return info.default, _copying_factory(info.default)
        if info.default_factory is not None:
            return MADE, _factory(info)
    return (own if own is ... else MISSING), None


def _description(
    metadata: Sequence[object], infos: Sequence[FieldInfo], documented: str | None
) -> str | None:
    """Return the description of a `Field`, of the annotation, or of the docstring, or None."""
    message = [info.description for info in infos if info.description]
    if message:
        return message[-1]
    return next((item for item in metadata if isinstance(item, str)), None) or documented


def _split(annotation: object) -> tuple[Any, Sequence[Any]]:
    """Return an annotation's type, as by `modernize`, and its `Annotated` metadata."""
    if type(annotation) is type:  # the most of them
        return annotation, ()
    annotation = modernize(annotation)
    if get_origin(annotation) is Annotated:
        base, *metadata = get_args(annotation)
        return base, metadata
    return annotation, ()


def _copying_factory(value: object) -> Factory:
    """Return a factory that deep-copies a value for each call."""
    return lambda _: copy.deepcopy(value)


def _dataless_factory(make: Callable[[], object]) -> Factory:
    """Return a factory that calls `make` and ignores the validated data."""
    return lambda _: make()


def _factory(info: FieldInfo) -> Factory:
    """Return a field's default factory as a function of the validated data."""
    make: Any = info.default_factory
    return make if info.default_factory_takes_validated_data else lambda _: make()


def _is_empty(info: FieldInfo) -> bool:
    """Return True if a `Field` says nothing."""
    return not info.metadata and not info._attributes_set


def _without_default(info: FieldInfo, described: bool) -> FieldInfo:
    """Return a `Field` without its default, and without description unless `described`."""
    dropped = ["default", "default_factory"]
    plain = copy.copy(info)
    plain.default, plain.default_factory = PydanticUndefined, None
    if info.description and not described:
        plain.description = None
        dropped.append("description")
    plain._attributes_set = {
        key: value for key, value in info._attributes_set.items() if key not in dropped
    }
    return plain

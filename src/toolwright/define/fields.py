"""What a parameter's annotation, its default and its ``Field(...)`` say together."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_args, get_origin

from pydantic import AliasChoices, AliasPath
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from toolwright.define.modern import modern
from toolwright.define.signature import MISSING, UNSAID, VAR_POSITIONAL, Parameter

Values = dict[str, object]
Factory = Callable[[Values], object]
"""Makes a default, from the values before it if it wants to see them."""


def field_of(parameter: Parameter, docs: Mapping[str, str]) -> tuple[Any, object, Factory | None]:
    """One parameter's annotation with its description, its default, and what makes the default.

    Args:
        parameter: As the function has it; its default may be a ``Field(...)``.
        docs: Descriptions by parameter name, from the docstring.

    Returns:
        The annotation pydantic shall read; the default, `MISSING` or `UNSAID`; and what fills it in,
        where the function's own default would not.
    """
    annotation, metadata = _split(parameter.annotation)
    default, factory = parameter.default, None
    if isinstance(default, FieldInfo):
        metadata.append(default)
        default = MISSING
    infos = [item for item in metadata if isinstance(item, FieldInfo)]
    for info in infos:
        if info.default not in (PydanticUndefined, ...):
            default, factory = info.default, _constant(info.default)
        elif info.default_factory is not None:
            default, factory = UNSAID, _factory(info)
    for item in metadata:
        plain = _without_default(item) if isinstance(item, FieldInfo) else item
        annotation = Annotated[annotation, plain]
    if parameter.kind is VAR_POSITIONAL:
        annotation, default = _list_of(annotation), []  # each value must fit, not the list of them
    text = _described(metadata, infos, docs.get(parameter.name))
    if text:
        annotation = Annotated[annotation, FieldInfo(description=text)]
    return annotation, default, factory


def _list_of(item: Any) -> Any:
    return list[item]


def _described(
    metadata: Sequence[object], infos: Sequence[FieldInfo], documented: str | None
) -> str | None:
    """The description to add: a text in the annotation, else the docstring's, if there is none."""
    if any(info.description for info in infos):
        return None
    return next((item for item in metadata if isinstance(item, str)), None) or documented


def _split(annotation: object) -> tuple[Any, list[Any]]:
    annotation = modern(annotation)
    if get_origin(annotation) is Annotated:
        base, *metadata = get_args(annotation)
        return base, metadata
    return annotation, []


def _constant(value: object) -> Factory:
    return lambda _: copy.copy(value)


def _factory(info: FieldInfo) -> Factory:
    make: Any = info.default_factory
    return make if info.default_factory_takes_validated_data else lambda _: make()


def alias_of(metadata: Sequence[object]) -> str | None:
    """The key a parameter is advertised under, if that is not its name."""
    for item in reversed(metadata):
        found = item.validation_alias if isinstance(item, FieldInfo) else None
        if isinstance(found, AliasChoices):
            found = found.choices[0]  # the one pydantic advertises
        if isinstance(found, str):
            return found
    return None


def takes_path(metadata: Sequence[object]) -> bool:
    """Whether the value is to be taken from inside another one (`AliasPath`)."""
    found = [item.validation_alias for item in metadata if isinstance(item, FieldInfo)]
    choices = [each.choices if isinstance(each, AliasChoices) else [each] for each in found]
    return any(isinstance(each, AliasPath) for some in choices for each in some)


def _without_default(info: FieldInfo) -> FieldInfo:
    plain = copy.copy(info)
    plain.default, plain.default_factory = PydanticUndefined, None
    plain._attributes_set = {
        key: value
        for key, value in info._attributes_set.items()
        if key not in ("default", "default_factory")
    }
    return plain

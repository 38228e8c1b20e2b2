"""One parameter, as pydantic shall see it and as it shall not."""

from __future__ import annotations

from inspect import Parameter as Kind
from typing import Annotated, Any, get_args

import pytest
from pydantic import Field
from pydantic.fields import FieldInfo

from toolkeel.define.reading.parameter import MADE, ParameterField, parameter_field
from toolkeel.define.reading.signature import MISSING, Parameter


def read(annotation: Any, default: Any = MISSING, docs: str = "", **kind: Any) -> ParameterField:
    given = Parameter("x", annotation, default, kind.get("kind", Kind.KEYWORD_ONLY))
    return parameter_field(given, {"x": docs} if docs else {})


@pytest.mark.parametrize(
    ("annotation", "docs", "told"),
    [
        (int, "", None),
        (int, "of the docstring", "of the docstring"),
        (Annotated[int, "of the annotation"], "of the docstring", "of the annotation"),
        (Annotated[int, "text", Field(description="of the field")], "docs", "of the field"),
        (Annotated[int, Field(description="1"), Field(description="2")], "docs", "2"),
        (Annotated[int, Field(ge=1)], "docs", "docs"),
    ],
)
def test_a_field_describes_before_a_text_and_a_text_before_the_docstring(
    annotation: Any, docs: str, told: str | None
) -> None:
    assert read(annotation, docs=docs).description == told


def test_neither_default_nor_description_stays_in_the_annotation() -> None:
    field = read(Annotated[int, Field(default=3, description="d", ge=1)])
    [_, info] = get_args(field.annotation)
    assert isinstance(info, FieldInfo)
    assert (info.is_required(), info.description, len(info.metadata)) == (True, None, 1)
    assert field.default == 3


@pytest.mark.parametrize(
    ("annotation", "given", "default"),
    [
        (int, Field(ge=1), MISSING),
        (int, Field(default=...), MISSING),
        (Annotated[int, Field(default=2), Field(default=...)], MISSING, 2),
        (int, ..., ...),
    ],
)
def test_an_ellipsis_in_a_field_is_no_default(annotation: Any, given: Any, default: Any) -> None:
    field = read(annotation, given)
    assert (field.default, field.factory is None) == (default, default != 2)


def test_a_field_in_the_place_of_a_default_tells_the_default() -> None:
    field = read(list[int], Field(default_factory=list))
    assert field.default is MADE
    assert field.factory is not None
    assert field.factory({}) == []


def test_a_description_of_several_values_stays_with_each_of_them() -> None:
    field = read(Annotated[int, Field(description="each")], docs="all", kind=Kind.VAR_POSITIONAL)
    assert field.description is None
    [item] = get_args(field.annotation)
    assert get_args(item)[1].description == "each"


def test_told_is_the_annotation_with_its_description() -> None:
    field = read(int, docs="a number")
    assert get_args(field.with_description())[1].description == "a number"
    assert read(int).with_description() is int


@pytest.mark.parametrize("default", [5, None, [7]])
def test_what_is_assigned_is_the_default_whatever_a_field_says(default: Any) -> None:
    """As in Python, and as in a model of pydantic's."""
    field = read(Annotated[Any, Field(default=2)], default)
    assert field.default == default
    assert read(Annotated[Any, Field(default_factory=list)], default).default == default
    assert read(Annotated[Any, Field(default=2)]).default == 2

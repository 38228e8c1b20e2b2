"""Parameters described by a model of pydantic's first version."""

from __future__ import annotations

import warnings
from enum import Enum
from typing import Any, Optional

import pydantic.v1 as old
import pytest

from tests.define.calling import answered, called
from toolkeel import Prepared, ToolCall, Toolset, tool
from toolkeel.define.schema.pydantic_v1 import is_v1_model
from toolkeel.errors import DefinitionError


class Unit(Enum):
    CELSIUS = "C"


class Place(old.BaseModel):
    name: str


class Weather(old.BaseModel):
    """Weather of a place."""

    place: Place
    day: int = old.Field(..., alias="the day", ge=1)
    unit: Unit = Unit.CELSIUS
    tags: list[str] = old.Field(default_factory=list)
    note: Optional[str] = None  # noqa: UP045

    @old.validator("day")
    def not_thirteen(cls, value: int) -> int:  # noqa: N805
        if value == 13:
            raise ValueError("no thirteenth")
        return value


SEEN: list[Any] = []


@tool(parameters=Weather)
def weather(place: Place, day: int, unit: Unit, tags: list[str], note: str | None) -> str:
    """Tell the weather."""
    SEEN.append((place, day, unit, tags, note))
    return "sunny"


def test_it_is_told_from_other_classes() -> None:
    import pydantic

    assert is_v1_model(Weather)
    assert not any(
        map(
            is_v1_model,
            [pydantic.BaseModel, int, Weather(place={"name": "x"}, **{"the day": 1}), {}],
        )
    )


def test_its_values_arrive_made_with_aliases_resolved_and_defaults_filled() -> None:
    SEEN.clear()
    called(weather, {"place": {"name": "北京"}, "the day": 3})
    assert [(Place(name="北京"), 3, Unit.CELSIUS, [], None)] == SEEN


def test_its_schema_is_advertised_without_its_title() -> None:
    assert list(weather.parameters["properties"]) == ["place", "the day", "unit", "tags", "note"]  # type: ignore[call-overload]
    assert weather.parameters["required"] == ["place", "the day"]
    assert "title" not in weather.parameters


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"place": {"name": "x"}, "day": 3}, "the day"),
        ({"place": {"name": "x"}, "the day": "soon"}, "the day"),
        ({"place": {"name": "x"}, "the day": 0}, "the day"),
        ({"place": {}, "the day": 1}, "place.name"),
        ({"place": {"name": "x"}, "the day": 1, "unit": "K"}, "unit"),
        ({"place": {"name": "x"}, "the day": 1, "wind": 1}, "wind"),
        ({"place": {"name": "x"}, "the day": 13}, "day"),
    ],
)
def test_what_it_does_not_take_is_refused_and_the_field_named(sent: object, field: str) -> None:
    SEEN.clear()
    result = answered(weather, sent)
    assert result.kind == "invalid_arguments" and field in result.text
    assert SEEN == []


def test_a_step_may_change_an_aliased_value() -> None:
    async def tomorrow(prepared: Prepared, context: Any, proceed: Any) -> object:
        return await proceed(prepared.change(day=4))

    SEEN.clear()
    call = ToolCall("1", "weather", {"place": {"name": "x"}, "the day": 3})
    Toolset([weather]).with_steps(tomorrow).run_sync([call])
    assert [seen[1] for seen in SEEN] == [4]


def test_a_function_that_does_not_take_its_fields_is_refused() -> None:
    with pytest.raises(DefinitionError, match=r"other: parameters Weather has .*'unit'"):

        @tool(parameters=Weather)
        def other(place: Place, day: int) -> None:
            """Take too little."""


def test_beside_type_hints_it_has_no_place_and_says_so() -> None:
    def wrong(place: Place) -> None:
        """Take an old model."""

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(DefinitionError, match=r"wrong: parameter 'place' has no JSON form"):
            tool(wrong)

"""A structured return annotation is a promise; anything looser is none."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from toolkeel import ToolMessage, ToolOutput
from toolkeel.define.returns import output_schema_of


class Weather(BaseModel):
    city: str
    degrees: float


class Typed(TypedDict):
    city: str


@dataclasses.dataclass
class Plain:
    city: str


@pytest.mark.parametrize("annotation", [Weather, Typed, Plain])
def test_models_dataclasses_and_typed_dicts_are_promises(annotation: Any) -> None:
    output = output_schema_of(annotation)
    assert output is not None
    assert output.schema["type"] == "object"
    assert "city" in output.schema["properties"]  # type: ignore[operator]


@pytest.mark.parametrize(
    "annotation",
    [str, int, dict, dict[str, int], list[Weather], Any, None, ToolMessage, ToolOutput],
)
def test_anything_looser_is_no_promise(annotation: Any) -> None:
    assert output_schema_of(annotation) is None


def test_a_value_that_breaks_the_promise_is_refused() -> None:
    output = output_schema_of(Weather)
    assert output is not None
    assert output.check(Weather(city="北京", degrees=1.5))
    with pytest.raises(ValueError, match="degrees"):
        output.check({"city": "北京"})


def test_a_class_of_which_no_schema_can_be_made_promises_nothing() -> None:
    class Custom:
        pass

    @dataclasses.dataclass
    class Odd:
        thing: Custom

    assert output_schema_of(Odd) is None


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_promised_number_that_json_does_not_have_breaks_the_promise(number: float) -> None:
    output = output_schema_of(Weather)
    assert output is not None
    with pytest.raises(ValueError, match="is not a number that JSON has"):
        output.check(Weather(city="NaN", degrees=number))
    assert output.check(Weather(city="NaN Infinity", degrees=1.0))

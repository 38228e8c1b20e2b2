"""What a return annotation promises, and that results are held to it."""

from __future__ import annotations

import dataclasses
import json
import typing
from typing import Any

import pytest
import typing_extensions
from pydantic import BaseModel, Field

from tests.define.calling import answered
from toolwright import Text, ToolMessage, tool
from toolwright.define.output import output_of


class Report(BaseModel):
    title: str
    pages: int = Field(ge=1)


@dataclasses.dataclass
class Sheet:
    title: str
    pages: int


class OldRow(typing.TypedDict):
    title: str
    pages: int


class NewRow(typing_extensions.TypedDict):
    title: str
    pages: int


PROMISES: list[Any] = [Report, Sheet, OldRow, NewRow]


@pytest.mark.parametrize("promise", PROMISES)
def test_a_structure_is_a_promise_with_a_schema(promise: Any) -> None:
    made = output_of(promise)
    assert made is not None
    assert made.schema["type"] == "object"
    assert list(typing.cast("dict[str, Any]", made.schema["properties"])) == ["title", "pages"]


@pytest.mark.parametrize(
    "annotation",
    [int, str, None, Any, dict, list[Report], Report | None, Text, ToolMessage, "Report"],
    ids=str,
)
def test_anything_else_is_no_promise(annotation: Any) -> None:
    assert output_of(annotation) is None


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("style", ["sync", "async"])
def test_a_kept_promise_is_the_result_and_a_broken_one_is_told(promise: Any, style: str) -> None:
    def plain(good: bool) -> Any:
        """Report."""
        value = {"title": "猫", "pages": 2 if good else "many"}
        return promise(**value) if good and promise is not Report else value

    async def waiting(good: bool) -> Any:
        """Report."""
        return plain(good)

    function = waiting if style == "async" else plain
    function.__annotations__["return"] = promise
    report = tool("report")(function)
    assert report.output_schema is not None
    good = answered(report, {"good": True})
    assert good.kind is None and json.loads(good.text) == {"title": "猫", "pages": 2}
    bad = answered(report, {"good": False})
    assert bad.kind == "invalid_output" and "report" in bad.text


def test_a_tool_without_a_promise_has_no_output_schema() -> None:
    @tool
    def free() -> dict[str, int]:
        """Return anything."""
        return {}

    assert free.output_schema is None and free.output is None

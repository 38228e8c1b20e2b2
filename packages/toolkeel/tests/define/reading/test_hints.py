"""Type hints are resolved as the author of a function sees them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from pydantic import BaseModel
from typing_extensions import TypedDict

from toolkeel import Tool, ToolCall, Toolset, tool
from toolkeel.errors import DefinitionError

if TYPE_CHECKING:
    from decimal import Decimal

    class Keys(TypedDict):
        """Only there for type checkers."""


class Person(BaseModel):
    """Made by pydantic."""

    name: str
    age: int = 0


def test_annotations_written_late_see_names_around_the_definition() -> None:
    class Local(BaseModel):
        n: int

    def inside() -> Tool[..., Any]:
        class Deeper(BaseModel):
            m: int

        @tool
        def late(a: Local, b: list[Deeper], c: Deeper | None = None) -> int:
            """Take local classes."""
            return a.n + sum(each.m for each in b)

        return late

    assert inside().invoke({"a": {"n": 1}, "b": [{"m": 2}]}) == 3


def test_a_toolset_reads_plain_functions_with_local_annotations() -> None:
    class Local(BaseModel):
        n: int

    def late(a: Local) -> int:
        """Take a local class."""
        return a.n

    [result] = Toolset([late]).run_sync([ToolCall("1", "late", {"a": {"n": 5}})])
    assert result.content == "5"


def test_a_local_class_hides_a_global_one_of_its_name() -> None:
    class Person(BaseModel):
        height: int

    @tool
    def measure(person: Person) -> int:
        """Measure."""
        return person.height

    assert measure.invoke({"person": {"height": 180}}) == 180


def test_an_annotation_only_type_checkers_see_is_refused_with_the_fix() -> None:
    with pytest.raises(
        DefinitionError,
        match=r"price: the annotation of parameter 'amount' cannot be resolved.*'Decimal'.*"
        "TYPE_CHECKING",
    ):

        @tool
        def price(currency: str, amount: Decimal) -> str:
            """Price something."""
            return currency


def test_a_method_of_the_class_it_takes_is_refused_with_what_works() -> None:
    with pytest.raises(DefinitionError, match=r"tool\(object.method\)"):

        class Place:
            @tool
            def near(self, other: Place) -> str:
                """Compare."""
                return "near"


def test_an_annotation_that_is_no_expression_is_to_be_written_as_a_type() -> None:
    def show(value: int) -> str:
        """Show."""
        return str(value)

    show.__annotations__["value"] = "list["
    with pytest.raises(DefinitionError, match=r"write it as a type$"):
        tool(show)

"""Annotations that pydantic is asked about: each tool's schema is its own and is up to date."""

from __future__ import annotations

import json
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, create_model

from toolkeel import tool
from toolkeel.errors import DefinitionError


class Address(BaseModel):
    """Where somebody lives."""

    zip: str


class Person(BaseModel):
    """Somebody."""

    name: str
    home: Address | None = None


OTHER_ADDRESS = create_model("Address", __module__="elsewhere", zip=(int, ...))


def test_two_models_of_one_name_are_told_apart_by_their_modules() -> None:
    def move(here: Address, there: Any) -> None: ...

    move.__annotations__ = {"here": Address, "there": OTHER_ADDRESS}
    assert len(tool(move).parameters["$defs"]) == 2  # type: ignore[arg-type]


def test_a_change_of_one_tools_schema_does_not_reach_another() -> None:
    def one(person: Person, tags: list[str]) -> None: ...
    def two(person: Person, tags: list[str]) -> None: ...

    first, second = tool(one), tool(two)
    before = json.dumps(second.parameters)
    shown: Any = first.parameters
    shown["$defs"]["Person"]["properties"].clear()
    shown["properties"]["tags"]["items"]["type"] = "integer"
    assert json.dumps(second.parameters) == before
    assert json.dumps(tool(two).parameters) == before


def test_a_model_that_was_built_anew_is_read_anew() -> None:
    class Late(BaseModel):
        """First."""

        x: int

    def use(late: Late) -> None: ...

    use.__annotations__["late"] = Late
    before: Any = tool(use).parameters
    assert before["$defs"]["Late"]["properties"] == {"x": {"type": "integer"}}
    Late.model_fields["x"].annotation = str
    Late.model_rebuild(force=True)
    Late.__doc__ = "Second."
    after: Any = tool(use).parameters
    assert after["$defs"]["Late"]["properties"] == {"x": {"type": "string"}}
    assert after["$defs"]["Late"]["description"] == "Second."
    assert before["$defs"]["Late"]["description"] == "First."


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("^(?!a)b", "look-around, including look-ahead and look-behind, is not supported"),
        (r"(a)\1", "backreferences are not supported"),
        ("[", "unclosed character class"),
    ],
)
def test_a_pattern_that_does_not_run_is_refused_with_the_reason(pattern: str, reason: str) -> None:
    def take(n: int, x: str) -> None: ...

    take.__annotations__ = {"n": int, "x": Annotated[str, Field(pattern=pattern)]}
    with pytest.raises(
        DefinitionError, match="parameter 'x' has a pattern that does not"
    ) as caught:
        tool(take)
    assert f"({reason})" in str(caught.value)
    assert "JSON form" not in str(caught.value)

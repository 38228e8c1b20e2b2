"""What pydantic's schemas say of a tool's fields: names that can be called, and no made-up titles."""

from __future__ import annotations

import collections
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import AliasChoices, AliasPath, BaseModel, ConfigDict, Field, SecretStr

from tests.define.calling import answered, called
from toolkeel import tool
from toolkeel.errors import DefinitionError


class ByPath(BaseModel):
    """Its field is found by a path alone."""

    first: int = Field(validation_alias=AliasPath("all", 0))


class ByPathToo(BaseModel):
    first: int = Field(validation_alias=AliasChoices(AliasPath("all", 0), "one"))


class ByItsName(ByPath):
    model_config = ConfigDict(populate_by_name=True)


@pytest.mark.parametrize("where", ["parameter", "model", "nested", "union"])
def test_a_field_that_only_a_path_leads_to_is_refused_with_the_fix(where: str) -> None:
    def one(x: Annotated[int, Field(validation_alias=AliasPath("all", 0))]) -> str:
        """Take it."""
        return str(x)

    def nested(x: list[ByPath]) -> str:
        """Take it."""
        return str(x)

    def union(x: dict[str, ByPath | None]) -> str:
        """Take it."""
        return str(x)

    def first(first: int) -> str:
        """Take it."""
        return str(first)

    functions = {"parameter": one, "nested": nested, "union": union, "model": first}
    name = "first" if where == "model" else "x"
    schema = ByPath if where == "model" else None
    with pytest.raises(DefinitionError, match=rf"take: parameter '{name}'.*'all\.0'.*AliasChoices"):
        tool("take", parameters=schema)(functions[where])


@pytest.mark.parametrize(
    ("model", "key"), [(ByPathToo, "one"), (ByItsName, "first")], ids=["a name too", "its own name"]
)
def test_a_field_that_a_name_leads_to_as_well_is_called_by_that(model: Any, key: str) -> None:
    @tool("take", parameters=model)
    def take(first: int) -> str:
        """Take it."""
        return str(first)

    assert list(take.parameters["properties"]) == [key]  # type: ignore[call-overload]
    assert called(take, {key: 3}) == "3"


def test_fields_have_no_titles_but_their_own_and_secrets_are_marked() -> None:
    @tool
    def log_in(user: str, word: SecretStr, seat: Annotated[int, Field(title="Seat")] = 1) -> str:
        """Log in."""
        return user

    properties: Any = log_in.parameters["properties"]
    assert properties["user"] == {"type": "string"}
    assert properties["word"]["writeOnly"] is True
    assert properties["seat"]["title"] == "Seat"


def test_keys_that_must_be_numbers_are_told_and_called_so() -> None:
    @tool
    def seats(taken: dict[int, str]) -> str:
        """Seat people."""
        return repr(taken)

    properties: Any = seats.parameters["properties"]
    assert properties["taken"]["propertyNames"] == {"pattern": "^(0|-?[1-9][0-9]*)$"}
    assert called(seats, {"taken": {"7": "Ada"}}) == "{7: 'Ada'}"
    refused = answered(seats, {"taken": {"window": "Ada"}})
    assert "- taken.window: expected a key that is an integer" in refused.text


def test_a_class_is_nothing_a_model_can_send() -> None:
    with pytest.raises(DefinitionError, match="take: parameter 'kind' has no JSON form"):

        @tool
        def take(kind: type[int]) -> str:
            """Take a class."""
            return kind.__name__


class Spot(NamedTuple):
    x: int
    y: Annotated[str, Field(description="How far up.")] = "top"


Bare = collections.namedtuple("Bare", "a b")


def test_a_named_tuple_is_shown_as_an_object_with_its_names() -> None:
    @tool
    def mark(spot: Spot, more: list[Spot] = [Spot(1)], bare: Bare = Bare(1, 2)) -> str:  # noqa: B006, B008
        """Mark."""
        return repr((spot, more, bare))

    properties: Any = mark.parameters["properties"]
    assert mark.parameters["$defs"]["Spot"] == {  # type: ignore[index]
        "type": "object",
        "properties": {
            "x": {"type": "integer"},
            "y": {"type": "string", "description": "How far up.", "default": "top"},
        },
        "required": ["x"],
        "additionalProperties": False,
    }
    assert properties["more"]["default"] == [{"x": 1, "y": "top"}]
    assert properties["bare"]["default"] == {"a": 1, "b": 2}
    assert called(mark, {"spot": {"x": 1}}) == repr((Spot(1), [Spot(1)], Bare(1, 2)))
    assert called(mark, {"spot": {"x": 1, "y": "z"}, "more": []}) == repr(
        (Spot(1, "z"), [], Bare(1, 2))
    )
    refused = answered(mark, {"spot": {"x": 1, "z": 2}}).text
    assert 'spot.z: expected one of the keys "x", "y"' in refused

"""Annotations that pydantic is asked about: each tool's schema is its own and is up to date."""

from __future__ import annotations

import json
import typing
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import pytest
from pydantic import BaseModel, Field, create_model

from toolkeel import tool
from toolkeel.define.schema.from_model import from_model
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


class UnfinishedModel(BaseModel):
    other: Later  # type: ignore[name-defined]  # noqa: F821


@dataclass
class UnfinishedDataclass:
    other: list[Later]  # type: ignore[name-defined]  # noqa: F821


class UnfinishedDict(typing.TypedDict):
    other: Later  # type: ignore[name-defined]  # noqa: F821


class UnfinishedTuple(NamedTuple):
    other: Later  # type: ignore[name-defined]  # noqa: F821


class Around(BaseModel):
    inner: list[UnfinishedModel]


UNFINISHED = [
    UnfinishedModel, UnfinishedDataclass, UnfinishedDict, UnfinishedTuple, Around,
    list[UnfinishedDict], UnfinishedModel | None, dict[str, UnfinishedDataclass],
]  # fmt: skip


@pytest.mark.parametrize("kind", UNFINISHED, ids=str)
def test_a_type_whose_field_needs_a_class_that_is_not_defined_yet_names_that_class(
    kind: object,
) -> None:
    def take(number: int, x: Any) -> None: ...

    take.__annotations__["x"] = kind
    with pytest.raises(
        DefinitionError,
        match=r"^take: the type of parameter 'x' uses 'Later', which is not defined yet; import or "
        "define it before the tool, outside 'if TYPE_CHECKING'$",
    ):
        tool(take)


@pytest.mark.parametrize("kind", [UnfinishedModel, Around], ids=str)
def test_so_does_a_model_whose_fields_are_the_parameters(kind: type[BaseModel]) -> None:
    with pytest.raises(DefinitionError, match="uses 'Later', which is not defined yet"):
        from_model("take", kind, (), "forbid")


@pytest.mark.parametrize("kind", UNFINISHED, ids=str)
def test_a_result_of_a_type_that_is_not_defined_yet_has_no_advertised_structure(
    kind: object,
) -> None:
    def take(number: int) -> Any: ...

    take.__annotations__["return"] = kind
    assert tool(take).output_schema is None

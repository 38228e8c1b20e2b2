"""Keywords that an author adds to a type's JSON Schema are enforced as they are advertised."""

from __future__ import annotations

import enum
from collections import Counter, OrderedDict
from dataclasses import dataclass as plain_dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from ipaddress import IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple
from uuid import UUID

import jsonschema_rs
import pytest
from pydantic import (
    AnyUrl,
    Base64Str,
    BaseModel,
    ConfigDict,
    Field,
    Json,
    RootModel,
    SecretStr,
    TypeAdapter,
    WithJsonSchema,
    create_model,
    with_config,
)
from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict

from tests.define.calling import answered, called, taking
from toolkeel import tool
from toolkeel.define.schema.json_schema import generate_schema
from toolkeel.errors import DefinitionError

ONE_OF_TWO = {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}


class Choice(BaseModel):
    model_config = ConfigDict(json_schema_extra=ONE_OF_TWO)  # type: ignore[typeddict-item]

    a: int = 0
    b: int = 0


def bound(schema: dict[str, Any]) -> None:
    schema["maxProperties"] = 1


@with_config(ConfigDict(json_schema_extra=bound))
class Typed(TypedDict, total=False):
    a: int
    b: int


@dataclass(config=ConfigDict(json_schema_extra={"minProperties": 1}))
class Data:
    a: int = 0


class Custom(str):
    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        return {**handler(core), "maxLength": 2}

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        return handler(str)


def extra(type_: Any, added: Any) -> Any:
    return Annotated[type_, Field(json_schema_extra=added)]


CASES: list[tuple[Any, object, object]] = [
    (extra(int, {"multipleOf": 2}), 4, 3),
    (extra(int | None, {"maximum": 3}), None, 4),
    (extra(str, {"enum": ["a", "b"]}), "b", "c"),
    (extra(Literal["a", "b"], {"enum": ["a"]}), "a", "b"),
    (extra(str, {"pattern": "^a"}), "ab", "b"),
    (extra(list[int], {"contains": {"const": 1}}), [1], [2]),
    (extra(list[int], {"items": {"maximum": 1}}), [1], [2]),
    (extra(dict[str, int], {"minProperties": 1}), {"a": 1}, {}),
    (extra(dict[str, int], {"propertyNames": {"maxLength": 1}}), {"a": 1}, {"ab": 1}),
    (extra(Any, {"type": "string"}), "a", 1),
    (extra(Any, {"anyOf": [{"type": "string"}, {"type": "integer"}]}), 1, []),
    (extra(Choice, {"maxProperties": 1}), {"a": 1}, {"a": 1, "b": 1}),
    (extra(Path, {"maxLength": 3}), "/a", "/abc"),
    (extra(Annotated[int, Field(le=5)], {"maximum": 3}), 3, 4),
    (extra(int, lambda schema: schema.update(maximum=3)), 3, 4),
    (list[extra(int, {"maximum": 3})], [3], [4]),  # type: ignore[misc]
    (Annotated[int, WithJsonSchema({"type": "integer", "minimum": 3})], 3, 2),
    (Custom, "ab", "abc"),
    (Choice, {"b": 1}, {}),
    (Typed, {"b": 1}, {"a": 1, "b": 1}),
    (Data, {"a": 1}, {}),
]


@pytest.mark.parametrize(("type_", "right", "wrong"), CASES)
@pytest.mark.parametrize("is_nested", [False, True])
def test_a_keyword_that_an_author_adds_is_enforced_as_it_is_advertised(
    type_: Any, right: object, wrong: object, is_nested: bool
) -> None:
    if is_nested:
        type_ = create_model("Inner", n=(type_, ...))
        right, wrong = {"n": right}, {"n": wrong}
    take, received = taking(type_)
    assert jsonschema_rs.is_valid(dict(take.parameters), {"x": right})
    assert not jsonschema_rs.is_valid(dict(take.parameters), {"x": wrong})
    called(take, {"x": right})
    refused = answered(take, {"x": wrong})
    assert refused.kind == "invalid_arguments" and len(received) == 1
    assert f"- x{'.n' if is_nested else ''}" in refused.text


def test_a_keyword_of_a_model_that_describes_all_arguments_is_enforced() -> None:
    choose = tool(name="choose", description="Choose.", parameters=Choice)(lambda **given: "done")
    assert called(choose, {"a": 1}) == "done"
    assert answered(choose, {}).kind == "invalid_arguments"


def test_a_keyword_that_is_no_json_schema_is_refused_when_the_tool_is_defined() -> None:
    with pytest.raises(DefinitionError, match="take: a keyword that json_schema_extra"):
        taking(extra(int, {"multipleOf": "two"}))


class Color(enum.Enum):
    RED, ONE = "red", 1


class Pair(NamedTuple):
    left: int
    right: str = ""


@plain_dataclass
class Point:
    x: Annotated[int, Field(ge=0, examples=[1])]
    tags: list[str] | None = None


class Tree(BaseModel):
    """A tree.

    It is recursive.
    """

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{}], "x-unit": "m"})

    name: Annotated[str, Field(pattern="^a", max_length=3)] = ""
    parts: list[Tree] = []
    other: dict[str, Tree] = {}


class Names(RootModel[list[Tree]]):
    pass


OWN: list[Any] = [
    Annotated[
        int, Field(ge=1, le=9, multiple_of=2, json_schema_extra={"examples": [2], "x-unit": "m"})
    ],
    Annotated[str, Field(min_length=1, description="Text")] | None,
    Annotated[list[int], Field(min_length=1, max_length=3)]
    | tuple[int, str]
    | set[int]
    | frozenset[str],
    dict[int, float] | dict[str, bool] | dict[Color, int],
    Decimal | Annotated[Decimal, Field(gt=1, max_digits=3)],
    date | timedelta | UUID | Path | IPv4Address | AnyUrl | SecretStr | bytes | Fraction,
    Literal["a", 1, None, True] | Color,
    Pair | Point | Tree | Names | None,
    Json[Tree] | Base64Str | Any,
    Counter[int] | OrderedDict[str, int] | dict[Annotated[str, Field(max_length=3)], int],
]


@pytest.mark.parametrize("type_", [*OWN, *(create_model("In", a=(each, ...)) for each in OWN)])
def test_what_pydantic_writes_itself_is_never_taken_for_an_authors_keyword(type_: Any) -> None:
    made = generate_schema(TypeAdapter(type_).core_schema)
    assert not made.has_added_keywords and "x-enforced" not in str(made.schema)


def test_notes_that_an_author_adds_cost_no_second_validation() -> None:
    with_notes, _ = taking(extra(int, {"examples": [1], "x-unit": "m"}))
    assert with_notes.arguments.validate is not with_notes.arguments.validate_long

"""Annotations of every kind, and parameters that have them."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter as Kind
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union, get_origin

from annotated_types import Ge, Len, MultipleOf
from hypothesis import strategies as st
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SecretStr,
    StringConstraints,
    create_model,
)
from typing_extensions import TypedDict

from toolkeel import Secret
from toolkeel.define.reading.parameter import ParameterField, parameter_field
from toolkeel.define.reading.signature import ABSENT, MISSING, Parameter


class Colour(enum.Enum):
    """A colour."""

    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Address(BaseModel):
    """Where somebody lives."""

    zip: str
    city: str = Field("", description="Of the town")


class Person(BaseModel):
    """Somebody."""

    name: str
    home: Address | None = None
    work: Address | None = None


class Tree(BaseModel):
    """A tree."""

    name: str
    inside: list[Tree] = []


class Open(BaseModel):
    model_config = ConfigDict(extra="allow")
    x: int


class Numbers(RootModel[list[int]]):
    pass


class Withheld(BaseModel):
    key: SecretStr
    extra: dict[str, Any] = {}


def dynamic(schema: dict[str, Any]) -> None:
    schema["examples"] = [{}]


class Dynamic(BaseModel):
    model_config = ConfigDict(json_schema_extra=dynamic)
    x: int = 0


class Own:
    @classmethod
    def __get_pydantic_core_schema__(cls, source: object, handler: Any) -> Any:
        return handler(str)


class Odd(int):
    """A number of a kind that nobody knows."""


@dataclass
class Point:
    """Where."""

    x: int
    y: float = 0.0


class Loose(TypedDict, total=False):
    name: str
    point: Point


OTHER_ADDRESS = create_model("Address", __module__="elsewhere", zip=(int, ...))
SAME_ADDRESS = create_model(
    "Address",
    __doc__=Address.__doc__,
    __module__="elsewhere",
    zip=(str, ...),
    city=(str, Field("", description="Of the town")),
)

LEAVES = [
    str, int, float, bool, bytes, Any, None, object, list, dict, tuple, set,
    dt.datetime, dt.date, dt.timedelta, decimal.Decimal, uuid.UUID, Path,
    Colour, Level, Literal["a", "b"], Literal["b", "a"], Literal[1], Literal[True], Literal[Colour.RED],
    Point, Loose, Sequence[int], Mapping[str, Point], re.Pattern, Own,
    Annotated[str, Field(pattern="a")], Annotated[str, StringConstraints(max_length=3)],
    Annotated[str, AfterValidator(str.lower)], Annotated[int, Field(gt=1.0)],
    Address, Person, Tree, Open, Numbers, Withheld, Dynamic, OTHER_ADDRESS, SAME_ADDRESS,
    SecretStr, Annotated[str, Secret()], Annotated[int, Ge(1)], Annotated[int, Ge(1.0)],
    Annotated[str, Len(1, 3)], Annotated[int, MultipleOf(2)],
]  # fmt: skip
METADATA: list[Any] = [
    Field(description="Somebody."),
    Field(description="Said here."),
    Field(description=""),
    Field(title="Titled"),
    Field(examples=["a"]),
    Field(json_schema_extra={"format": "odd"}),
    Field(deprecated=True),
    Field(default=3),
    "a text",
    Secret,
]


def _is_clean(pair: tuple[Any, Any]) -> bool:
    """pydantic writes what a `Field` says of a recursive model within a type into the model itself."""
    return get_origin(pair[0]) is not Annotated and pair[0] is not Tree


anything = st.recursive(
    st.sampled_from(LEAVES),
    lambda inner: st.one_of(
        inner.map(lambda each: list[each]),
        inner.map(lambda each: dict[str, each]),
        inner.map(lambda each: tuple[each, ...]),
        inner.map(lambda each: Optional[each]),  # noqa: UP045
        st.tuples(inner, inner).map(lambda pair: Union[pair]),  # noqa: UP007
        st.tuples(inner, inner).map(lambda pair: tuple[pair]),
        st.tuples(inner, st.sampled_from(METADATA)).filter(_is_clean).map(lambda p: Annotated[p]),
    ),
    max_leaves=4,
)
texts = st.sampled_from([None, "Somebody.", "Where somebody lives.", "A tree.", "第一个参数"])
parameters = st.lists(st.tuples(anything, st.booleans(), texts), min_size=1, max_size=4)
VALUES = [
    '{"x": 1, "y": 1}', '{"name": "n", "point": {"x": 1, "z": 1}}',
    "1", "1.5", "null", "true", '"a"', '"red"', "[]", "{}", "[1]", '["a"]', '{"zip": "1"}', '{"zip": 1}',
    '{"x": 1, "y": 2}', '{"x": 1}', '{"name": "n", "inside": [{"name": "m", "other": 1}]}',
    '{"name": "n", "home": {"zip": "1", "other": 1}}', '{"key": "k"}', '"2026-11-22"', "1e999",
]  # fmt: skip


def fields_of(given: list[tuple[Any, bool, str | None]]) -> dict[str, ParameterField]:
    docs = {f"p{n}": text for n, (_, _, text) in enumerate(given) if text}
    listed = [
        Parameter(f"p{n}", annotation, MISSING if needed else ABSENT, Kind.KEYWORD_ONLY)
        for n, (annotation, needed, _) in enumerate(given)
    ]
    return {each.name: parameter_field(each, docs) for each in listed}

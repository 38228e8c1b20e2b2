"""What is joined of fragments is what pydantic makes of the whole."""

from __future__ import annotations

import datetime as dt
import decimal
import enum
import json
import uuid
from collections.abc import Callable, Mapping
from inspect import Parameter as Kind
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any, Literal, Optional, Union, get_origin

import pytest
from annotated_types import Ge, Len, MultipleOf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SecretStr,
    ValidationError,
    create_model,
)

from toolwright import Secret, tool
from toolwright.define.fragments import fragment_of, key_of
from toolwright.define.joined import join
from toolwright.define.parameter_field import ParameterField, parameter_field
from toolwright.define.schema import whole
from toolwright.define.signature import ABSENT, MISSING, Parameter


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


def _dynamic(schema: dict[str, Any]) -> None:
    schema["examples"] = [{}]


class Dynamic(BaseModel):
    model_config = ConfigDict(json_schema_extra=_dynamic)
    x: int = 0


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


def outcome(validate: Callable[..., Any], text: str, options: Mapping[str, Any] | None) -> object:
    try:
        return repr(validate(text, **(options or {})))
    except ValidationError as error:
        return [(each["loc"], each["type"], each["msg"]) for each in error.errors()]


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(parameters, st.booleans(), st.lists(st.sampled_from(VALUES), min_size=4, max_size=4))
def test_joined_fragments_are_what_pydantic_makes_of_the_whole(
    given: list[tuple[Any, bool, str | None]], closing: bool, values: list[str]
) -> None:
    fields = fields_of(given)
    made = join("t", fields, closing)

    if made is None:
        return
    schema, validate, facts = made
    schema_whole, validate_whole, facts_whole = whole("t", fields, {}, closing)
    assert json.dumps(schema) == json.dumps(schema_whole)
    assert facts == facts_whole
    several = ", ".join(f'"p{n}": {v}' for n, v in enumerate(values[: len(given)]))
    for text in ("{}", '{"other": 1}', f"{{{several}}}", *(f'{{"p0": {v}}}' for v in VALUES)):
        assert outcome(validate, text, facts.options) == outcome(
            validate_whole, text, facts.options
        )


SHARED = [
    str, int, float, bool, Any, list[str], dict[str, int], list, Optional[int], int | str,  # noqa: UP045
    Literal["a"], Colour, Address, list[Person], Tree, dt.date, Annotated[int, Field(ge=1, le=3)],
    Annotated[str, Field(description="x")], Annotated[str, "x"], Annotated[int, Ge(1)],
]  # fmt: skip


@pytest.mark.parametrize("annotation", SHARED)
def test_ordinary_annotations_are_shared(annotation: Any) -> None:
    known: Any = fields_of([(annotation, True, "text")])["p0"].annotation
    key = key_of(known)
    assert key is not None
    assert fragment_of(known, key, True) is fragment_of(known, key, True) is not None


ALONE = [
    SecretStr, Dynamic, list[Dynamic], Annotated[str, Secret()], Annotated[int, SimpleNamespace()],
    Annotated[str, Field(json_schema_extra=_dynamic)], Annotated[str, Field(alias="x")],
]  # fmt: skip


@pytest.mark.parametrize("annotation", ALONE)
def test_what_has_code_or_names_of_its_own_is_left_to_pydantic(annotation: Any) -> None:
    assert join("t", fields_of([(annotation, True, None)]), True) is None


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

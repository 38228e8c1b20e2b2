"""What is written down of known types is what pydantic makes of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from inspect import Parameter as Kind
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, Union

import pytest
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
    model_validator,
)

from tests.gates.fresh import fresh
from toolkeel import tool
from toolkeel.define.reading.parameter import ParameterField, parameter_field
from toolkeel.define.reading.signature import ABSENT, MISSING, Parameter
from toolkeel.define.schema.annotation_schema import from_annotations
from toolkeel.define.schema.known_types import core_schema, from_known_types


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


class Checked(BaseModel):
    x: int

    @model_validator(mode="after")
    def check(self) -> Checked:
        if self.x > 1:
            raise ValueError("too large")
        return self


def extend(schema: dict[str, Any]) -> None:
    schema["examples"] = [{}]


class Extended(BaseModel):
    model_config = ConfigDict(json_schema_extra=extend)
    x: int = 0


OTHER_ADDRESS = create_model("Address", __module__="elsewhere", zip=(int, ...))
MODELS = [
    Address, Person, Tree, Open, Numbers, Withheld, Checked, Extended, OTHER_ADDRESS,
]  # fmt: skip
known = st.recursive(
    st.sampled_from([str, int, float, bool, Any, Literal["a"], Literal["b", "a"], *MODELS]),
    lambda inner: st.one_of(
        inner.map(lambda each: list[each]),
        inner.map(lambda each: dict[str, each]),
        inner.map(lambda each: Optional[each]),  # noqa: UP045
        inner.map(lambda each: Union[None, each]),  # noqa: UP007
        st.tuples(inner, inner).map(lambda pair: Union[pair]),  # noqa: UP007
    ),
    max_leaves=4,
)
annotations = st.one_of(
    known,
    known.map(lambda each: Annotated[each, "a text"]),
    known.map(lambda each: Annotated[each, Field(description="Somebody.")]),
)
descriptions = st.sampled_from([None, "Somebody.", "Where somebody lives.", "第一个参数"])
VALUES = [
    "1", "1.5", "null", "true", '"a"', '"b"', "[]", "{}", "[1]", '["a"]', "[null]", '{"x": 1}',
    '{"x": "y"}', '{"x": [1]}', "1e999", "NaN", '"1"', "[[]]", '{"zip": "1"}', '{"zip": 1}',
    '{"x": 1, "y": 2}', '{"x": 2}', '{"name": "n", "inside": [{"name": "m", "other": 1}]}',
    '{"name": "n", "home": {"zip": "1", "other": 1}}', '{"key": "k"}',
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


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(
    st.lists(st.tuples(annotations, st.booleans(), descriptions), min_size=1, max_size=4),
    st.booleans(),
    st.lists(st.sampled_from(VALUES), min_size=4, max_size=4),
)
def test_schema_validator_and_facts_of_a_tool_are_what_pydantic_makes_of_the_whole(
    given: list[tuple[Any, bool, str | None]], closing: bool, values: list[str]
) -> None:
    fields = fields_of(given)
    made = from_known_types("t", fields, closing)
    if made is None:
        return
    schema, validate, facts = made
    schema_whole, validate_whole, facts_whole = from_annotations("t", fields, {}, closing)
    assert json.dumps(schema) == json.dumps(schema_whole)
    assert facts == facts_whole
    several = ", ".join(f'"p{n}": {v}' for n, v in enumerate(values[: len(given)]))
    for text in ("{}", '{"other": 1}', f"{{{several}}}", *(f'{{"p0": {v}}}' for v in VALUES)):
        assert outcome(validate, text, facts.validator_options) == outcome(
            validate_whole, text, facts.validator_options
        )


@pytest.mark.parametrize(
    "annotation", [str, list[dict[str, float]], bool | None, Literal["a"], Tree, list[Person]]
)
def test_most_parameters_need_nothing_else(annotation: Any) -> None:
    assert core_schema(annotation, {}) is not None


@pytest.mark.parametrize(
    "annotation", [Annotated[int, "How many"], Annotated[int, Field(description="How many")]]
)
def test_a_described_parameter_is_as_plain_as_its_type(annotation: Any) -> None:
    assert from_known_types("t", fields_of([(annotation, True, None)]), True) is not None


@pytest.mark.parametrize(
    "annotation",
    [bytes, list, dict[int, str], int | str, Literal[1], Annotated[int, Field(ge=1)], None],
)
def test_any_other_type_is_left_to_pydantic(annotation: Any) -> None:
    assert core_schema(annotation, {}) is None


def test_a_change_of_one_tools_schema_does_not_reach_another() -> None:
    def find(text: str, tags: list[str], note: str | None = None) -> None: ...

    before = json.dumps(tool(find).parameters)
    shown: Any = tool(find).parameters
    shown["properties"]["text"].clear()
    shown["properties"]["tags"]["items"].clear()
    shown["properties"]["note"]["anyOf"][0].clear()
    assert json.dumps(tool(find).parameters) == before


def test_the_first_tool_of_plain_types_loads_no_more_of_pydantic(tmp_path: Path) -> None:
    code = (
        "import json, sys\nfrom toolkeel import tool\n"
        "def find(text: str, most: int = 3, tags: list[str] | None = None) -> str:\n"
        '    """Find.\n\n    Args:\n        text: What.\n    """\n'
        "tool(find)\nprint(json.dumps(sorted(sys.modules)))"
    )
    assert not {"pydantic.fields", "pydantic.types", "importlib.metadata"} & set(
        fresh(code, tmp_path)
    )

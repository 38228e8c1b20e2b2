"""The canonical form of a call is what the model could have sent to mean exactly this call."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import json
import pathlib
import uuid
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AliasChoices,
    AliasPath,
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    SecretStr,
    computed_field,
    field_serializer,
    field_validator,
)
from pydantic.alias_generators import to_camel
from typing_extensions import TypedDict

from toolkeel import ToolCall, tool
from toolkeel.call.arguments.canonical_arguments import as_json, fill_defaults, revalidate
from toolkeel.call.arguments.validate import prepare
from toolkeel.define.schema.canonical import aliases_of, canonical_json
from toolkeel.define.tool import AnyTool
from toolkeel.errors import DefinitionError


class Color(enum.Enum):
    RED = "red"
    ONE = 1


class Camel(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel)

    first_name: str
    born_on: datetime.date | None = None


class Apart(BaseModel):
    read: int = Field(
        validation_alias=AliasChoices(AliasPath("x", 0), "r", "R"), serialization_alias="w"
    )


class Names(RootModel[list[Camel]]):
    pass


class German(BaseModel):
    day: datetime.date

    @field_serializer("day")
    def write(self, day: datetime.date) -> str:
        return day.strftime("%d.%m.%Y")

    @field_validator("day", mode="before")
    @classmethod
    def read(cls, text: Any) -> Any:
        return datetime.datetime.strptime(text, "%d.%m.%Y").date()


class Login(BaseModel):
    user: str
    password: SecretStr


class Typed(TypedDict):
    login: Login


@dataclasses.dataclass
class Point:
    x: int
    tags: list[Camel] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Made:
    a: int
    b: int = dataclasses.field(default=5, init=False)


class Computed(BaseModel):
    a: int

    @computed_field
    def b(self) -> int:
        return self.a


class Pair(NamedTuple):
    left: int
    right: str


CASES: list[tuple[Any, Any]] = [
    (int, 5),
    (float, 0.1),
    (str, "北京"),
    (bool, True),
    (Color, 1),
    (Literal["a", "b"], "a"),
    (datetime.datetime, "2026-11-22T10:00:00+08:00"),
    (datetime.timedelta, "PT1M"),
    (decimal.Decimal, "1.10"),
    (uuid.UUID, "12345678-1234-5678-1234-567812345678"),
    (pathlib.Path, "/tmp/甲"),
    (set[int], [1, 2]),
    (tuple[int, str], [1, "a"]),
    (Pair, {"left": 1, "right": "a"}),
    (bytes, "text"),
    (SecretStr, "hunter2"),
    (Camel, {"firstName": "Ada", "bornOn": "1815-12-10"}),
    (list[Camel], [{"firstName": "Ada"}]),
    (dict[str, Camel], {"a": {"firstName": "Ada"}}),
    (Apart, {"r": 1}),
    (Names, [{"firstName": "Ada"}]),
    (German, {"day": "10.12.1815"}),
    (Login, {"user": "ada", "password": "hunter2"}),
    (Typed, {"login": {"user": "ada", "password": "hunter2"}}),
    (Point, {"x": 1, "tags": [{"firstName": "Ada"}]}),
    (Made, {"a": 1}),
    (Computed, {"a": 1}),
    (list[Computed], [{"a": 1}]),
    (Camel | None, None),
    (Any, {"any": ["thing"]}),
]


def taking(annotation: Any) -> AnyTool:
    def take(value: Any) -> None:
        """Take something."""

    take.__annotations__["value"] = annotation
    return tool(take)


@pytest.mark.parametrize(("annotation", "sent"), CASES, ids=[str(c[0])[:40] for c in CASES])
def test_the_canonical_form_is_what_was_sent_and_validates_to_the_same_values(
    annotation: Any, sent: Any
) -> None:
    made = taking(annotation)
    prepared = prepare(ToolCall("1", made.name, {"value": sent}), made)
    assert as_json(prepared) == {"value": sent}
    again = revalidate(prepared)
    assert again.arguments == prepared.arguments
    assert as_json(again) == as_json(prepared)


def test_parameters_and_model_fields_keep_the_names_the_model_knows() -> None:
    @tool
    def go(city: Annotated[str, Field(alias="cityName")], count: int = 1) -> None:
        """Go."""

    @tool(parameters=Camel)
    def born(first_name: str, born_on: Any = None) -> None:
        """Be born."""

    first, second = {"cityName": "北京"}, {"firstName": "Ada", "bornOn": None}
    for made, sent, whole in ((go, first, {**first, "count": 1}), (born, second, second)):
        prepared = prepare(ToolCall("1", made.name, sent), made)
        assert as_json(prepared) == whole
        assert revalidate(prepared).arguments == fill_defaults(prepared).arguments
    assert dict(go.arguments.aliases) == {"city": "cityName"}
    assert dict(born.arguments.aliases) == {"first_name": "firstName", "born_on": "bornOn"}


def test_only_fields_with_another_name_count_as_renamed() -> None:
    assert aliases_of({"a": [Field()], "b": [Field(alias="b")], "c": [Field(alias="C")]}) == {
        "c": "C"
    }  # type: ignore[list-item]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1), JSON, max_size=4))
def test_json_values_are_their_own_canonical_form_made_anew(values: dict[str, Any]) -> None:
    made = canonical_json(values, {})
    assert json.dumps(made) == json.dumps(values)
    assert all(made[k] is not v for k, v in values.items() if isinstance(v, list | dict))


def test_what_the_model_left_out_has_the_functions_default_in_the_effective_form() -> None:
    @tool
    def remove(path: str, recursive: bool = True, color: Color = Color.RED) -> None:
        """Remove."""

    prepared = prepare(ToolCall("1", "remove", {"path": "a"}), remove)
    assert as_json(prepared) == {"path": "a", "recursive": True, "color": "red"}
    assert dict(fill_defaults(prepared).arguments) == {
        "path": "a",
        "recursive": True,
        "color": Color.RED,
    }


def test_a_class_that_does_not_retain_what_it_is_made_of_is_no_parameter() -> None:
    @dataclasses.dataclass
    class Lossy:
        a: int
        seed: dataclasses.InitVar[int] = 3

    with pytest.raises(DefinitionError, match=r"Lossy\.seed is an InitVar.* make it a field"):
        taking(Lossy)

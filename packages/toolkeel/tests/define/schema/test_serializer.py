"""Arguments as JSON by their types, where a value alone does not show what was sent."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass as plain_dataclass
from typing import Annotated, Any, Generic, Literal, NamedTuple, TypeVar

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import (
    AliasChoices,
    AliasPath,
    Base64Bytes,
    Base64Str,
    Base64UrlBytes,
    BaseModel,
    BeforeValidator,
    Field,
    Json,
    PlainSerializer,
    RootModel,
    Secret,
    SecretStr,
    computed_field,
)
from pydantic.dataclasses import dataclass
from typing_extensions import TypedDict

from tests.define.calling import taking
from toolkeel import ToolCall, tool
from toolkeel.call.arguments.canonical_arguments import (
    ArgumentsView,
    as_json,
    fill_defaults,
    masked_json,
    revalidate,
)
from toolkeel.call.arguments.validate import prepare
from toolkeel.define.tool import AnyTool

T = TypeVar("T")


class Login(BaseModel):
    user: str = Field(alias="userName")
    password: SecretStr
    next: Login | None = None


class Packed(BaseModel):
    numbers: Json[list[int]] = []
    login: Json[Login] = None  # type: ignore[assignment]
    raw: Base64Bytes = b""
    note: str = Field(default="", exclude=True)

    @computed_field
    def size(self) -> int:
        return len(self.raw)


class Typed(TypedDict, total=False):
    first: Annotated[int, Field(alias="First")]
    inner: Packed


@dataclass
class Data:
    count: int = Field(validation_alias=AliasChoices(AliasPath("x", 0), "Count", "c"))
    typed: Typed = Field(default_factory=lambda: Typed())


@plain_dataclass
class Plain:
    data: Data
    secret: SecretStr


class Pair(NamedTuple):
    left: Annotated[int, Field(alias="Left")]
    right: Json[int]


class Holder(BaseModel, Generic[T]):
    value: T


class Cat(BaseModel):
    kind: Literal["cat"]
    raw: Base64Str


class Dog(BaseModel):
    kind: Literal["dog"]
    typed: Typed


class Root(RootModel[list[Json[int]]]):
    pass


Hex = Annotated[int, BeforeValidator(lambda text: int(text, 16)), PlainSerializer(hex)]
LOGIN = {"userName": "ada", "password": "hunter2", "next": {"userName": "b", "password": "xyzzy"}}
LOGIN_TEXT = json.dumps(LOGIN, separators=(",", ":"))
PACKED = {"numbers": "[3]", "login": LOGIN_TEXT, "raw": "/+8=", "note": "n"}

CASES: list[tuple[Any, Any]] = [
    (Json[list[int]], "[1,2]"),
    (Json[Any] | None, '{"a":null}'),
    (Json[int] | None, None),
    (list[Json[Any]], ['"x"', "null"]),
    (dict[str, Json[int]], {"a": "1"}),
    (Base64Bytes, "/+8="),
    (Base64UrlBytes | None, "_-8="),
    (Base64Str, "aGk="),
    (Annotated[str, Field(json_schema_extra={"format": "base64"})], "aGk="),
    (Hex, "0xff"),
    (Json[Login], LOGIN_TEXT),
    (Json[Secret[Login]], LOGIN_TEXT),
    (list[Packed], [PACKED]),
    (Typed, {"First": 1, "inner": PACKED}),
    (Typed, {}),
    (Data, {"Count": 1, "typed": {"First": 2}}),
    (Plain, {"data": {"Count": 1, "typed": {}}, "secret": "s"}),
    (Pair, {"Left": 1, "right": "2"}),
    (dict[str, Pair], {"a": {"Left": 1, "right": "2"}}),
    (Holder[Typed], {"value": {"First": 1}}),
    (Annotated[Cat | Dog, Field(discriminator="kind")], {"kind": "cat", "raw": "aGk="}),
    (Cat | Dog | None, {"kind": "dog", "typed": {"First": 3}}),
    (Root, ["1", "2"]),
]


def prepared_of(made: AnyTool, sent: Mapping[str, object]) -> Any:
    return prepare(ToolCall("c", made.name, json.dumps(sent)), made)


@pytest.mark.parametrize(("type_", "sent"), CASES, ids=[str(each[0])[:40] for each in CASES])
@pytest.mark.parametrize("is_nested", [False, True])
def test_arguments_are_shown_as_they_were_sent_and_are_valid_again(
    type_: Any, sent: object, is_nested: bool
) -> None:
    made, _ = taking(Holder[type_] if is_nested else type_)
    arguments = {"x": {"value": sent} if is_nested else sent}
    prepared = prepared_of(made, arguments)
    assert as_json(prepared) == dict(ArgumentsView(prepared)) == arguments
    again = revalidate(prepared)
    assert again.arguments == prepared.arguments
    assert as_json(again) == arguments


class Parameters(BaseModel):
    numbers: Json[list[int]] = Field(alias="Numbers")
    raw: Base64Bytes
    deeper: Parameters | None = None


def test_arguments_of_a_model_are_shown_as_they_were_sent() -> None:
    made = tool(name="unpack", description="Unpack.", parameters=Parameters)(lambda **all: "")
    sent = {"Numbers": "[1]", "raw": "/+8=", "deeper": {"Numbers": "[]", "raw": ""}}
    prepared = prepared_of(made, sent)
    assert as_json(prepared) == sent
    assert revalidate(prepared).arguments == prepared.arguments


def test_defaults_of_decoded_parameters_are_valid_again() -> None:
    def unpack(
        raw: Base64Bytes = None,  # type: ignore[assignment]
        number: Annotated[Json[int], Field(alias="n")] = 1,  # type: ignore[assignment]
    ) -> None:
        """Unpack."""

    prepared = prepared_of(tool(unpack), {})
    assert as_json(prepared) == {"raw": None, "n": "1"}
    assert revalidate(prepared).arguments == fill_defaults(prepared).arguments


@pytest.mark.parametrize(
    ("type_", "sent"),
    [
        (Json[Login], LOGIN_TEXT),
        (list[Json[Login]], [LOGIN_TEXT]),
        (Json[Json[Login]], json.dumps(LOGIN_TEXT)),
        (Packed, PACKED),
    ],
)
def test_a_text_that_encodes_a_secret_is_masked(type_: Any, sent: object) -> None:
    made, _ = taking(type_)
    prepared = prepared_of(made, {"x": sent})
    assert as_json(prepared) == {"x": sent}
    assert "hunter2" not in (shown := str(masked_json(prepared))) and "***" in shown


@tool
def decode_any(value: Json[Any], raw: Base64Bytes) -> None:
    """Decode."""


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    ),
    st.binary(max_size=20),
)
def test_any_decoded_value_is_encoded_as_text_that_decodes_to_it(value: Any, raw: bytes) -> None:
    sent = {"value": json.dumps(value), "raw": base64.b64encode(raw).decode()}
    prepared = prepared_of(decode_any, sent)
    assert json.loads(str(as_json(prepared)["value"])) == value
    assert revalidate(prepared).arguments == prepared.arguments == {"value": value, "raw": raw}

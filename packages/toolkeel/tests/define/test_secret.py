"""Where the secrets of a schema are, whatever form the schema has."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretBytes, SecretStr
from pydantic import Secret as PydanticSecret
from typing_extensions import TypedDict

from toolkeel import Secret, Tool, tool
from toolkeel._common.redact_secrets import MASK
from toolkeel.define.secret import Mask, declared_texts, mask_of, secret_texts
from toolkeel.define.tool import AnyTool


class Login(BaseModel):
    user: str
    password: SecretStr
    more: dict[str, int] = {}


class Tree(BaseModel):
    value: Annotated[str, Secret()] = ""
    name: str = ""
    children: list[Tree] = []


class Typed(TypedDict):
    token: Annotated[str, Secret]
    name: str


@dataclasses.dataclass
class Record:
    token: SecretStr
    name: str


def mask_for(annotation: Any) -> Mask | None:
    def take(value: Any, other: str = "") -> None:
        """Take."""

    take.__annotations__["value"] = annotation
    made: AnyTool = tool(take)
    return made.arguments.mask


@pytest.mark.parametrize(
    ("annotation", "sent", "shown"),
    [
        (Annotated[str, Secret()], "s", MASK),
        (Annotated[str, Secret], "s", MASK),
        (Annotated[str, Field(min_length=1), Secret(), "described"], "s", MASK),
        (Annotated[str | None, Secret()], None, MASK),
        (Annotated[str, Secret()] | None, "s", MASK),
        (Annotated[int, Secret()], 1234, MASK),
        (Annotated[list[str], Secret()], ["s"], MASK),
        (Annotated[Login, Secret()], {"user": "u"}, MASK),
        (list[Annotated[str, Secret()]], ["s", "t"], [MASK, MASK]),
        (dict[str, Annotated[str, Secret()]], {"a": "s"}, {"a": MASK}),
        (tuple[str, Annotated[str, Secret()]], ["a", "s"], ["a", MASK]),
        (SecretStr, "s", MASK),
        (SecretBytes, "s", MASK),
        (PydanticSecret[int], 1234, MASK),
        (list[PydanticSecret[str]], ["s"], [MASK]),
        (
            Login,
            {"user": "u", "password": "s", "more": {"x": 1}},
            {"user": "u", "password": MASK, "more": {"x": 1}},
        ),
        (Login | None, {"user": "u", "password": "s"}, {"user": "u", "password": MASK}),
        (Login | str, "text", "text"),
        (list[Login], [{"user": "u", "password": "s"}], [{"user": "u", "password": MASK}]),
        (
            dict[str, Login],
            {"a": {"user": "u", "password": "s"}},
            {"a": {"user": "u", "password": MASK}},
        ),
        (Typed, {"token": "s", "name": "n"}, {"token": MASK, "name": "n"}),
        (Record, {"token": "s", "name": "n"}, {"token": MASK, "name": "n"}),
        (
            Tree,
            {"value": "s", "name": "n", "children": [{"value": "t", "name": "m", "children": []}]},
            {
                "value": MASK,
                "name": "n",
                "children": [{"value": MASK, "name": "m", "children": []}],
            },
        ),
        (Annotated[str, Field(json_schema_extra={"format": "password"})], "s", MASK),
        (Annotated[str, Field(json_schema_extra={"writeOnly": True})], "s", MASK),
    ],
)
def test_secrets_are_masked_where_they_are_and_nothing_else(
    annotation: Any, sent: object, shown: object
) -> None:
    mask = mask_for(annotation)
    assert mask is not None
    assert mask.apply({"value": sent, "other": "o"}) == {"value": shown, "other": "o"}
    assert mask.restore({"value": shown, "other": "o"}, {"value": sent, "other": "o"}) == {
        "value": sent,
        "other": "o",
    }


@pytest.mark.parametrize(
    "annotation", [str, Any, list[dict[str, Any]], Annotated[str, "writeOnly"]]
)
def test_a_schema_without_secrets_has_no_mask(annotation: Any) -> None:
    assert mask_for(annotation) is None


def test_a_parameter_that_is_called_like_the_keyword_is_no_secret() -> None:
    schema = {
        "type": "object",
        "properties": {"writeOnly": {"type": "boolean"}, "format": {"enum": ["password"]}},
        "default": {"writeOnly": True},
    }
    assert mask_of(schema) is None


def test_schemas_from_elsewhere_say_it_by_the_same_words() -> None:
    schema = {
        "type": "object",
        "properties": {
            "login": {"$ref": "#/$defs/login"},
            "key": {"type": "string", "format": "password"},
            "free": {},
            "any": {"type": "object"},
            "either": {"oneOf": [{"$ref": "#/$defs/login"}, {"type": "string"}]},
        },
        "$defs": {
            "login": {
                "type": "object",
                "properties": {"user": {}, "password": {"writeOnly": True}},
                "patternProperties": {"^x-": {"format": "password"}},
            }
        },
    }
    made = Tool.from_schema("t", "", schema, lambda context, arguments: "")
    mask = made.arguments.mask
    assert mask is not None
    login = {"user": "u", "password": "s", "x-key": "s", "unknown": "s"}
    hidden = {"user": "u", "password": MASK, "x-key": MASK, "unknown": MASK}
    free = {"a": [{"b": 1}]}
    sent = {"login": login, "key": "s", "free": free, "any": free, "either": login, "unknwn": "s"}
    assert mask.apply(sent) == {
        "login": hidden,
        "key": MASK,
        "free": free,
        "any": free,
        "either": hidden,
        "unknwn": MASK,
    }


def test_keys_the_schema_does_not_know_are_masked_since_they_may_be_misspelt() -> None:
    mask = mask_for(SecretStr)
    assert mask is not None
    assert mask.apply({"vlaue": "s", "other": "o"}) == {"vlaue": MASK, "other": "o"}
    assert mask.secret_texts({"vlaue": {"a": ["s", 5, True, None]}, "value": "t"}) == [
        "s",
        "5",
        "t",
    ]


@pytest.mark.parametrize(
    ("path", "hidden"),
    [
        ((), True),
        (("value",), True),
        (("value", "user"), False),
        (("value", "password"), True),
        (("value", "password", 0), True),
        (("value", "more", "x"), False),
        (("other",), False),
        (("othr",), True),
    ],
)
def test_a_place_is_hidden_if_a_secret_is_there_or_may_be_below(
    path: tuple[str | int, ...], hidden: bool
) -> None:
    mask = mask_for(Login)
    assert mask is not None
    assert mask.is_secret(path) is hidden


def test_what_was_edited_beside_a_mask_stays_edited_and_a_new_secret_is_taken() -> None:
    mask = mask_for(Login)
    assert mask is not None
    original = {"value": {"user": "ada", "password": "hunter2"}, "other": "o"}
    shown = mask.apply(original)
    shown["value"]["user"] = "eve"
    assert mask.restore(shown, original)["value"] == {"user": "eve", "password": "hunter2"}
    shown["value"]["password"] = "new one"
    assert mask.restore(shown, original)["value"] == {"user": "eve", "password": "new one"}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["value", "other", "password", "user", "children", "x"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=10,
)


@given(
    st.dictionaries(st.sampled_from(["value", "other", "x"]), JSON),
    st.sampled_from([Login, Tree, list[Login]]),
)
def test_any_data_can_be_masked_and_made_whole_again(data: dict[str, Any], annotation: Any) -> None:
    mask = mask_for(annotation)
    assert mask is not None
    masked = mask.apply(data)
    assert mask.restore(masked, data) == data
    assert mask.apply(masked) == masked
    assert all(value == MASK for value in mask.secret_texts(masked))


@pytest.mark.parametrize(
    ("value", "texts", "declared"),
    [
        ("a", ["a"], []), (b"a", ["a"], []), (3, [], []), (None, [], []), (Login, [], []),
        (["a", {"k": "b"}, ("c",)], ["a", "b", "c"], []),
        (Login(user="u", password=SecretStr("p")), ["p", "u"], ["p"]),
        (Record(SecretStr("t"), "n"), ["n", "t"], ["t"]),
        ({"a": [SecretBytes(b"x"), "y"]}, ["x", "y"], ["x"]),
        ([[[["a"]]]], ["a"], []), ([[[[["a"]]]]], [], []),
        ([[[[SecretStr("a")]]]], [], []), ([[[SecretStr("a")]]], ["a"], ["a"]),
    ],
)  # fmt: skip
def test_the_texts_of_a_value_are_found_four_levels_deep(
    value: object, texts: list[str], declared: list[str]
) -> None:
    assert sorted(secret_texts(value)) == texts
    assert sorted(declared_texts(value)) == declared


@pytest.mark.parametrize(
    ("schema", "hidden"),
    [
        ({"type": "object"}, False), ({"type": ["object", "null"]}, False), ({}, False), (True, False),
        ({"type": "string"}, True), ({"type": ["string", "null"]}, True),
        ({"anyOf": [{"type": "string"}]}, True), ({"properties": {"a": {}}}, True),
        ({"properties": {"k": {}}}, False), ({"additionalProperties": {"type": "string"}}, False),
        ({"patternProperties": {"a": {}}}, False),
    ],
)  # fmt: skip
def test_what_no_schema_knows_is_hidden_beside_a_secret(schema: object, hidden: bool) -> None:
    token = {"type": "string", "writeOnly": True, "format": "password"}
    assert Mask({"properties": {"token": token, "x": schema}}).is_secret(("x", "k")) is hidden


def test_a_schema_that_leads_back_to_itself_is_searched_once_for_secrets() -> None:
    node: dict[str, Any] = {
        "properties": {"next": {"$ref": "#/$defs/N"}, "name": {"type": "string"}}
    }
    token = {"type": "string", "writeOnly": True, "format": "password"}
    mask = Mask({"properties": {"token": token, "x": {"$ref": "#/$defs/N"}}, "$defs": {"N": node}})
    assert mask.apply({"token": "t", "x": {"next": {"name": "n"}}}) == {
        "token": MASK,
        "x": {"next": {"name": "n"}},
    }

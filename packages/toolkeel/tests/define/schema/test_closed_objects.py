"""Which objects of a schema are closed, what is strict throughout, what can hide in a value."""

from __future__ import annotations

import dataclasses
import json
from typing import Annotated, Any, Literal, NamedTuple

import pytest
from pydantic import BaseModel, Field, TypeAdapter, WithJsonSchema
from typing_extensions import TypedDict

from toolkeel import Toolset, tool
from toolkeel.call.arguments.strict_reparse import needs_strict_check
from toolkeel.call.arguments.validate import prepare
from toolkeel.define.schema.closed_objects import (
    has_untyped_values,
    is_nested,
    is_open,
    is_strict_throughout,
    object_schemas,
)
from toolkeel.errors import InvalidArguments
from toolkeel.messages import ToolCall


class Model(BaseModel):
    a: int = 0


@dataclasses.dataclass
class Record:
    a: int = 0


class Pair(NamedTuple):
    a: int
    b: int


def core(annotation: Any) -> Any:
    make: Any = TypedDict
    return TypeAdapter(make("T", {"x": annotation}, closed=True)).core_schema


class Open(TypedDict):
    a: int


@pytest.mark.parametrize(
    "annotation",
    [int, str | None, list[float], dict[str, int], Literal["a", "b"], Any, list[list[bool] | str]],
)
def test_scalars_and_collections_of_them_are_plain(annotation: Any) -> None:
    assert is_strict_throughout(core(annotation))


@pytest.mark.parametrize(
    "annotation",
    [
        Model,
        list[Model],
        Model | None,
        Record,
        Pair,
        Open,
        Annotated[int, Field(strict=False)],
        list[Annotated[int, Field(strict=False)]],
        Annotated[Model, WithJsonSchema({"type": "string"})],
    ],
)
def test_what_has_settings_of_its_own_is_not_plain(annotation: Any) -> None:
    assert not is_strict_throughout(core(annotation))


@pytest.mark.parametrize("annotation", [int, float, bool, list[int], dict[str, int], int | None])
@pytest.mark.parametrize("text", ['{"x": "1"}', '{"x": ["1"]}', '{"x": {"k": "1"}}'])
def test_a_plain_tool_is_as_strict_as_any_other(annotation: Any, text: str) -> None:
    """Its validator takes no options, since its own configuration is strict."""

    def body(x: annotation) -> str:
        return repr(x)

    with pytest.raises(ValueError, match="Input should be"):
        tool(body).arguments.validate(text)


def test_a_field_that_is_lax_of_its_own_stays_strict_for_models() -> None:
    @tool
    def body(x: Annotated[int, Field(strict=False)]) -> str:
        """Take a number."""
        return repr(x)

    with pytest.raises(ValueError, match="Input should be"):
        body.arguments.validate('{"x": "1"}')


@pytest.mark.parametrize(
    ("schema", "nested"),
    [
        ({"type": "string"}, False),
        ({"type": "array", "items": {"type": "integer"}}, False),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, False),
        ({"type": "object"}, True),
        ({"type": "array", "items": {"$ref": "#/$defs/A"}}, True),
        ({"type": "array"}, True),
        ({"type": "array", "prefixItems": [{"type": "object"}]}, True),
        ({"anyOf": [{"type": "string"}, {"$ref": "#"}]}, True),
        ({}, True),
    ],
)
def test_what_can_hold_objects_is_known(schema: dict[str, Any], nested: bool) -> None:
    assert is_nested(schema) is nested


@pytest.mark.parametrize(
    "text",
    [
        '{"model": {"a": 1, "a": 2}, "n": 1}',
        '{"model": {"a": 1}, "n": 1, "n": 2}',
        '{"models": [{"a": 1}, {"a": 1, "a": 2}], "n": 1}',
    ],
)
def test_a_repeated_key_is_seen_wherever_it_stands(text: str) -> None:
    @tool
    def body(n: int, model: Model | None = None, models: list[Model] | None = None) -> str:
        """Take models."""
        return ""

    arguments = body.arguments
    assert arguments.nested_properties == ("model", "models")
    assert needs_strict_check(text, arguments.validate(text), None, arguments.nested_properties)


@pytest.mark.parametrize("text", ['{"a": "x"}', '{"a": 1, "b": 2}', "{}", '{"a": {"b": 1}}'])
def test_the_first_refusal_says_what_a_second_would(text: str) -> None:
    @tool
    def body(a: int) -> str:
        """Take a number."""
        return ""

    arguments = body.arguments
    assert arguments.explain is not None
    with pytest.raises(ValueError) as first:
        arguments.validate(text)
    with pytest.raises(InvalidArguments) as second:
        prepare(ToolCall("1", "body", text), body)
    told = arguments.explain(first.value, json.loads(text))
    assert told is not None and told.text == second.value.text


def test_text_that_is_no_json_is_not_explained_by_fields() -> None:
    @tool
    def body(a: int) -> str:
        """Take a number."""
        return ""

    with pytest.raises(ValueError) as error:
        body.arguments.validate('{"a": ')
    assert body.arguments.explain is not None
    assert body.arguments.explain(error.value, None) is None


def test_open_and_closed_objects_are_told_apart() -> None:
    inner = {"type": "object", "properties": {"b": {}}, "additionalProperties": True}
    schema = {"type": "object", "properties": {"a": inner}, "additionalProperties": False}
    assert [is_open(part) for part in object_schemas(schema)] == [False, True]
    assert has_untyped_values(schema) and not has_untyped_values(
        {"properties": {"a": {"type": "string"}}}
    )


@pytest.mark.parametrize(
    "kind", [dict[str, Any], list[Any], dict[str, Any] | None, str | list[Any]]
)
def test_a_number_that_overflows_reaches_no_value_without_a_type(kind: Any) -> None:
    def body(x: Any) -> str:
        """Take values."""
        return repr(x)

    body.__annotations__["x"] = kind
    for sent in ('{"x": {"k": 1e999}}', '{"x": [1e999]}'):
        [message] = Toolset([tool(body)]).run_sync([ToolCall("1", "body", sent)])
        assert message.failed

"""Tools whose parameters are JSON Schema validate, fill in and explain arguments."""

from __future__ import annotations

from typing import Any

import pytest

from tests.define.schema.test_json_schema_validator import TOOL
from toolkeel import Tool, ToolCall, Toolset
from toolkeel.define.schema.from_json_schema import (
    arguments_from_schema,
    check_tool_schema,
    close_root,
)
from toolkeel.errors import DefinitionError, InvalidArguments

# — the specification's own tests —


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"properties": {"a": {}}},
        {"type": ["object", "null"]},
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
        {"anyOf": [{"type": "object"}, {"properties": {}}]},
        {"type": "object", "properties": {"a": {}}, "required": ["a"]},
    ],
)
def test_a_schema_of_objects_can_be_a_tools(schema: dict[str, Any]) -> None:
    check_tool_schema(schema)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ({"type": "string"}, 'must describe an object, because arguments are always one; its "type" is "string"'),
        ({"type": "array", "items": {}}, "must describe an object"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"type": "integer"}}}, "must describe an object"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "must describe an object"),
        (True, "not true"),
        ("object", 'not "object"'),
        ({"type": "object", "properties": ["a"]}, '"properties" must be an object'),
    ],
)  # fmt: skip
def test_any_other_schema_is_refused_naming_the_tool(schema: object, says: str) -> None:
    with pytest.raises(DefinitionError, match="Tool 'weather': the parameter schema") as caught:
        check_tool_schema(schema, "weather")
    assert says in str(caught.value)


def test_a_root_is_closed_unless_it_says_something_about_other_keys() -> None:
    assert close_root({"properties": {"a": {}}})["additionalProperties"] is False
    for said in (
        {"properties": {}, "additionalProperties": True},
        {"properties": {}, "patternProperties": {}},
        {"properties": {}, "allOf": [{"properties": {"b": {}}}]},
        {"properties": {"a": {}}, "required": ["b"]},
        {"type": "object"},
    ):
        assert close_root(said) == said


def test_arguments_of_a_schema_are_validated_filled_and_explained() -> None:
    arguments = arguments_from_schema("weather", TOOL, "forbid")
    assert arguments.schema["additionalProperties"] is False
    values = arguments.validate('{"city": "Paris"}')
    assert arguments.fill_defaults is not None
    arguments.fill_defaults(values)
    assert values == {"city": "Paris", "unit": "celsius", "days": []}
    for text in ("[]", "{}", '{"city": "x", "a": 1}', '{"city": NaN}', "{", '{"city": "\ud83d"}'):
        with pytest.raises(ValueError):
            arguments.validate(text)
    with pytest.raises(InvalidArguments) as caught:
        arguments.validate_value({"cty": "Paris"})
    assert {error.path for error in caught.value.errors} == {("city",), ("cty",)}
    assert 'did you mean "city"?' in caught.value.text
    assert arguments.validate_value({"city": "Paris"}) == {"city": "Paris"}


def test_arguments_of_an_open_schema_take_other_keys_only_if_the_tool_says_so() -> None:
    assert arguments_from_schema("t", TOOL, "allow").validate('{"city": "x", "a": 1}')["a"] == 1
    with pytest.raises(DefinitionError, match="Tool 'weather': The JSON Schema does not compile"):
        arguments_from_schema("weather", {"properties": {"a": {"type": "float"}}}, "forbid")


def test_a_number_beyond_a_float_is_refused_where_a_value_has_no_type() -> None:
    made = Tool.from_schema(
        "take", "Take it.", {"properties": {"x": {}}}, lambda _run, _sent: "taken"
    )
    [message] = Toolset([made]).run_sync([ToolCall("1", "take", '{"x": 1e999}')])
    assert message.failed

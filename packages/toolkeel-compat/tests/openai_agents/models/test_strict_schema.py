"""Strict schemas of tools, beside the original's where it is installed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.shared import peer
from toolkeel_compat.openai_agents import FunctionTool, function_tool
from toolkeel_compat.openai_agents.models.strict_schema import to_strict_schema

DEFS = {"Box": {"type": "object", "properties": {"w": {"type": "integer", "default": None}}}}
parts: Any = st.recursive(
    st.sampled_from(
        [
            {"type": "integer"},
            {"type": "string", "default": None},
            {"$ref": "#/$defs/Box"},
            {"$ref": "#/$defs/Box", "description": "A box."},
            {"allOf": [{"$ref": "#/$defs/Box"}], "description": "A box."},
            {"type": "object", "properties": {}},
        ]
    ),
    lambda inner: st.one_of(
        st.builds(lambda one: {"type": "array", "items": one}, inner),
        st.builds(lambda one, two: {"anyOf": [one, two]}, inner, inner),
        st.builds(lambda one, two: {"oneOf": [one, two]}, inner, inner),
        st.builds(lambda one: {"type": "object", "properties": {"a": one}, "required": []}, inner),
    ),
    max_leaves=4,
)
schemas: Any = st.dictionaries(st.sampled_from("ab"), parts).map(
    lambda made: {"type": "object", "properties": made, "$defs": DEFS}
)


@given(schemas)
def test_the_strict_form_is_its_own_strict_form_and_leaves_the_schema(schema: Any) -> None:
    before = copy.deepcopy(schema)
    made = to_strict_schema(schema)
    assert schema == before
    assert to_strict_schema(made) == made


@pytest.mark.slow
@given(schemas)
def test_the_strict_form_is_that_of_the_original(schema: Any) -> None:
    convert = peer("agents.strict_schema").ensure_strict_json_schema
    assert to_strict_schema(schema) == convert(copy.deepcopy(schema))


def test_a_strict_tool_shows_the_strict_form_and_a_loose_one_its_own() -> None:
    def look(city: str, days: int = 1) -> str:
        """Look."""
        return city * days

    strict, loose = function_tool(look), function_tool(look, strict_mode=False)
    assert strict.params_json_schema["required"] == ["city", "days"]
    assert loose.params_json_schema["required"] == ["city"]
    assert strict.tool.invoke({"city": "Oslo"}) == "Oslo"


def test_calls_of_a_strict_tool_with_a_schema_may_leave_out_what_its_author_lets_out() -> None:
    async def run(context: Any, arguments: str) -> str:
        return arguments

    schema = {"type": "object", "properties": {"a": {"type": "integer", "default": 1}}}
    made = FunctionTool("look", "Look.", schema, run)
    assert made.params_json_schema == {
        **schema, "required": ["a"], "additionalProperties": False,
    }  # fmt: skip
    assert "required" not in made.tool.parameters


def test_true_and_false_are_schemas_and_stay() -> None:
    parts = {"a": True, "b": {"anyOf": [False, {"type": "null"}]}, "c": {"allOf": [True]}}
    assert to_strict_schema({"type": "object", "properties": parts})["properties"] == parts

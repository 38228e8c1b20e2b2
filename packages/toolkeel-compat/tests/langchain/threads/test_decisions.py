"""Decisions of a person as types."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from toolkeel import Tool
from toolkeel_compat.langchain.threads.decisions import list_allowed, make_decision_type


@pytest.mark.parametrize(
    "allowed", [["approve"], ["edit"], ["reject", "respond"], ["edit", "approve"]]
)
def test_the_schema_of_a_type_says_which_decisions_it_allows(allowed: list[str]) -> None:
    schema = TypeAdapter(make_decision_type(allowed, None)).json_schema()
    assert sorted(list_allowed(schema)) == sorted(allowed)


def test_an_edit_of_a_tool_without_a_function_needs_its_arguments_alone() -> None:
    schema: Any = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["a"]}
    tool = Tool.from_schema("t", "", schema, lambda context, arguments: None)
    form = TypeAdapter(make_decision_type(["edit"], tool))
    form.validate_python({"type": "edit", "edited_action": {"name": "t", "args": {"a": 1}}})
    with pytest.raises(ValidationError, match=r"args\.a"):
        form.validate_python({"type": "edit", "edited_action": {"name": "t", "args": {"b": 1}}})

"""What a JSON Schema from elsewhere may cost."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from toolkeel.define.explain.schema_limits import (
    MAX_ALTERNATIVES,
    MAX_DEPTH,
    check_work,
    plain_schema,
)
from toolkeel.errors import DefinitionError


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"items": schema}
    return schema


def test_the_deepest_schema_allowed_is_taken_and_one_level_more_is_not() -> None:
    assert plain_schema(_nested(MAX_DEPTH)) == _nested(MAX_DEPTH)
    with pytest.raises(DefinitionError, match="more than 64 levels"):
        plain_schema(_nested(MAX_DEPTH + 1))


def test_a_schema_that_holds_itself_is_too_deep() -> None:
    schema: dict[str, Any] = {}
    schema["items"] = schema
    with pytest.raises(DefinitionError, match="more than 64 levels"):
        plain_schema(schema)


def test_as_many_branches_as_allowed_are_taken_and_one_more_is_not() -> None:
    check_work({"oneOf": [{}] * MAX_ALTERNATIVES})
    with pytest.raises(DefinitionError, match="1,001 alternatives"):
        check_work({"anyOf": [{}], "properties": {"a": {"oneOf": [{}] * MAX_ALTERNATIVES}}})


def test_many_properties_that_share_a_definition_cost_little() -> None:
    shared = {"anyOf": [{"type": "string"}, {"type": "null"}]}
    many = {f"p{i}": {"$ref": "#/$defs/x"} for i in range(5000)}
    check_work({"properties": many, "$defs": {"x": shared}})


def test_a_recursive_union_costs_no_more_than_one_round() -> None:
    branch = {"properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}}}
    check_work({"anyOf": [branch] * 100})


def test_alternatives_multiply_through_the_properties_they_share() -> None:
    defs: dict[str, Any] = {"a0": {}}
    for level in range(1, 20):
        branch = {"properties": {"x": {"$ref": f"#/$defs/a{level - 1}"}}}
        defs[f"a{level}"] = {"anyOf": [branch, branch]}
    with pytest.raises(DefinitionError, match="multiply"):
        check_work({"$defs": defs, "$ref": "#/$defs/a19"})


def test_mappings_and_tuples_become_plain_data_of_their_own() -> None:
    inner = MappingProxyType({"enum": ("a", "b")})
    assert plain_schema(MappingProxyType({"items": inner})) == {"items": {"enum": ["a", "b"]}}
    assert plain_schema(True) is True

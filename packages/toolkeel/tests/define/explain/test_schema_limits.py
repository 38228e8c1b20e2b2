"""What a JSON Schema from elsewhere may cost."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import pytest

from toolkeel.define.explain.schema_limits import (
    MAX_ALTERNATIVES,
    MAX_DEPTH,
    check_work,
    to_plain_schema,
)
from toolkeel.define.schema.json_schema_validator import compile_json_schema
from toolkeel.errors import DefinitionError


def _nested(levels: int) -> dict[str, Any]:
    schema: dict[str, Any] = {}
    for _ in range(levels - 1):
        schema = {"items": schema}
    return schema


def test_the_deepest_schema_allowed_is_taken_and_one_level_more_is_not() -> None:
    assert to_plain_schema(_nested(MAX_DEPTH)) == _nested(MAX_DEPTH)
    with pytest.raises(DefinitionError, match="more than 64 levels"):
        to_plain_schema(_nested(MAX_DEPTH + 1))


def test_a_schema_that_holds_itself_is_too_deep() -> None:
    schema: dict[str, Any] = {}
    schema["items"] = schema
    with pytest.raises(DefinitionError, match="more than 64 levels"):
        to_plain_schema(schema)


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


def _told(n: int, way: str) -> dict[str, Any]:
    """A reference to the n-th definition, and how that is named."""
    return {
        "escaped": {"$ref": f"#/%24defs/a{n}"},
        "anchor": {"$ref": f"#a{n}"},
        "id": {"$ref": f"https://example.org/a{n}"},
        "relative id": {"$ref": f"a{n}"},
        "dynamic": {"$dynamicRef": f"#a{n}"},
    }.get(way, {"$ref": f"#/$defs/a{n}"})


def _twice(to: Any) -> dict[str, Any]:
    return {"allOf": [to, {**to}]}


def _unnamed(n: int) -> dict[str, Any]:
    return {}


_NAMED: Mapping[str, Callable[[int], dict[str, Any]]] = {
    "anchor": lambda n: {"$anchor": f"a{n}"},
    "id": lambda n: {"$id": f"https://example.org/a{n}"},
    "relative id": lambda n: {"$id": f"a{n}"},
    "dynamic": lambda n: {"$dynamicAnchor": f"a{n}"},
}
_MEETING: Mapping[str, Callable[[Any], dict[str, Any]]] = {
    "dependencies": lambda to: {"dependencies": {"a": to, "b": to}},
    "patterns": lambda to: {"patternProperties": {"a": to, "b": to}},
    "contains": lambda to: {"items": to, "contains": to},
    "unevaluated": lambda to: {"allOf": [to], "unevaluatedProperties": False},
}


@pytest.mark.parametrize("way", ["escaped", *_NAMED, *_MEETING])
def test_a_schema_multiplies_however_its_references_are_written_and_used(way: str) -> None:
    """Each kept the validator at work for hours, from forty definitions on."""
    meeting, named = _MEETING.get(way, _twice), _NAMED.get(way, _unnamed)
    levels = {f"a{n}": {**named(n), **meeting(_told(n + 1, way))} for n in range(40)}
    schema = {"$defs": {**levels, "a40": named(40)}, "properties": {"x": _told(0, way)}}
    with pytest.raises(DefinitionError, match="multiply"):
        compile_json_schema(schema)


@pytest.mark.parametrize("word", ["allOf", "oneOf", "anyOf"])
def test_definitions_that_all_lead_to_each_other_are_refused_and_one_ring_is_not(word: str) -> None:
    """Five of them (``allOf``) kept the validator at work without end, whatever the value was."""
    to = [{"$ref": f"#/$defs/a{n}"} for n in range(5)]
    ring = {f"a{n}": {word: [to[(n + 1) % 5], {"type": "string"}]} for n in range(5)}
    assert compile_json_schema({"$defs": ring, **to[0]}).schema
    with pytest.raises(DefinitionError, match="more than one way"):
        compile_json_schema({"$defs": {f"a{n}": {word: to} for n in range(5)}, **to[0]})


def test_a_reference_that_only_the_validator_can_follow_is_refused() -> None:
    known = {"$ref": "https://json-schema.org/draft/2020-12/schema"}
    assert not compile_json_schema({"properties": {"x": known}}).is_valid({"x": {"type": 5}})
    inner = {"$id": "https://example.org/a/b", "$ref": "../c/.."}
    schema = {"$id": "https://example.org/", "$defs": {"b": inner}}
    with pytest.raises(DefinitionError, match="cannot be followed"):
        compile_json_schema({**schema, "properties": {"x": {"$ref": "#/$defs/b"}}})


def test_mappings_and_tuples_become_plain_data_of_their_own() -> None:
    inner = MappingProxyType({"enum": ("a", "b")})
    assert to_plain_schema(MappingProxyType({"items": inner})) == {"items": {"enum": ["a", "b"]}}
    assert to_plain_schema(True) is True


@pytest.mark.parametrize("schema", [1, None, "object", [{}]])
def test_a_schema_is_an_object_or_a_boolean(schema: object) -> None:
    with pytest.raises(DefinitionError, match="is an object, true or false, not"):
        to_plain_schema(schema)
    assert to_plain_schema(True) is True and to_plain_schema({"a": (1,)}) == {"a": [1]}

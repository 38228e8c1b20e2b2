"""Definitions of other people: what cannot be run costs one keyword."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.define.schema.foreign import MOST, make_compilable
from toolkeel.define.schema.json_schema_validator import compile_json_schema
from toolkeel.errors import DefinitionError

STRING = {"type": "string"}


def properties(**each: Any) -> dict[str, Any]:
    return {"type": "object", "properties": each}


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (properties(x={"type": "strng", "maxLength": 9}), properties(x={"maxLength": 9})),
        (properties(x={**STRING, "pattern": "("}), properties(x=STRING)),
        (properties(x={**STRING, "required": True}), properties(x=STRING)),
        (properties(x="text", y=STRING), properties(x={}, y=STRING)),
        (properties(x={"anyOf": [5]}), properties(x={})),
        (properties(x={"$ref": "http://127.0.0.1:9/a"}), properties(x={})),
        (properties(x={"$ref": "#/$defs/none"}, y=STRING), properties(x={}, y=STRING)),
        ({"type": "object", "patternProperties": {"(": {}}}, {"type": "object", "patternProperties": {}}),
        ({"type": "object", "$schema": "http://example.com/mine"}, {"type": "object"}),
        ({"type": "object", "$id": "no uri"}, {"type": "object"}),
        (properties(x={**STRING, "$id": "no uri"}), properties(x=STRING)),
        (properties(x={**STRING, "enum": []}), properties(x=STRING)),
        (properties(x={"$ref": "#"}, y={"$ref": "#/$defs/none"}), properties(x={"$ref": "#"}, y={})),
        (properties(x={"items": [STRING], "type": 5}),
         {"$schema": "http://json-schema.org/draft-07/schema#", **properties(x={"items": [STRING]})}),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_taken_out_and_named(given: Any, kept: Any) -> None:
    before = repr(given)
    found, problems = make_compilable(given, root="object")
    assert found == kept and len(problems) == 1 and "is not checked" in problems[0]
    assert repr(given) == before


@pytest.mark.parametrize(
    "given",
    [
        {"type": ["object", "null"]},
        {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]},
        {},
        {"properties": {"a": {}}},
    ],
)
def test_arguments_are_objects_whatever_the_root_says_of_its_type(given: dict[str, Any]) -> None:
    found, problems = make_compilable(given, root="object")
    assert found["type"] == "object" and problems == ()
    assert make_compilable(given)[0] == given


@pytest.mark.parametrize(
    ("given", "value", "fits"),
    [
        ({"items": [{"type": "integer"}]}, ["x"], False),
        ({"minimum": 3, "exclusiveMinimum": True}, 3, False),
        ({"minimum": 3, "exclusiveMinimum": True}, 4, True),
    ],
)
def test_an_older_dialect_is_told_by_its_words(given: Any, value: object, fits: bool) -> None:
    found, problems = make_compilable(given)
    assert problems == () and compile_json_schema(found).is_valid(value) is fits


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"type": "integer"}, {"type": ["integer", "null"]}),
        ({"type": ["integer", "null"]}, {"type": ["integer", "null"]}),
        ({"enum": ["a"], **STRING}, {"enum": ["a", None], "type": ["string", "null"]}),
        ({"const": "a", **STRING}, {"anyOf": [{"const": "a", **STRING}, {"type": "null"}]}),
        (
            {"allOf": [STRING], **STRING},
            {"anyOf": [{"allOf": [STRING], **STRING}, {"type": "null"}]},
        ),
        (
            {"not": {"type": "null"}, "type": ["string", "null"]},
            {"anyOf": [{"not": {"type": "null"}, "type": ["string", "null"]}, {"type": "null"}]},
        ),
        ({"$ref": "#/$defs/a"}, {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "null"}]}),
    ],
)
def test_nullable_takes_null_as_those_mean_it_who_write_it(given: Any, kept: Any) -> None:
    shared = {"$defs": {"a": STRING}}
    found, problems = make_compilable({**properties(x={**given, "nullable": True}), **shared})
    assert (found, problems) == ({**properties(x=kept), **shared}, ())
    assert compile_json_schema(found).is_valid({"x": None})
    assert (
        make_compilable({**properties(x=given), "nullable": True}, root="object")[0]["type"]
        == "object"
    )


MANY = {f"p{i}": {"type": "no", "description": "d"} for i in range(MOST + 1)}


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (properties(**MANY), "more than 50 keywords"),
        (
            properties(**{k: {"anyOf": [STRING] * 20, "description": "d"} for k in MANY}),
            "1,020 alt",
        ),
        (properties(p1={"description": "d" * 1_000_001}), "too large"),
        (
            {**properties(**{k: {"items": v, **v} for k, v in MANY.items()}), "required": ["p1"]},
            "50",
        ),
    ],
)
def test_arguments_that_cannot_be_checked_keep_their_names(given: Any, why: str) -> None:
    found, problems = make_compilable(given, root="object")
    assert why in problems[-1] and "only names and kinds" in problems[-1]
    assert found["required"] == given.get("required", [])
    assert compile_json_schema(found).is_valid({"p1": 5})
    assert found["properties"]["p1"]["description"][:9] in ("d", "d" * 9)
    with pytest.raises(DefinitionError):
        make_compilable(given)


@pytest.mark.parametrize("keyword", ["not", "if", "oneOf", "items", "allOf"])
def test_a_schema_without_end_takes_what_lies_too_deep_for_it(keyword: str) -> None:
    deep: dict[str, Any] = {"const": "x"}
    for level in range(101):
        inner = deep if keyword != "oneOf" else [deep, {"type": "null"}]
        deep = {keyword: [deep] if keyword == "allOf" else inner, "title": str(level)}
    found, problems = make_compilable(deep)
    assert "64 levels deep" in problems[0] and found["title"] == "100"
    assert compile_json_schema(found).is_valid("anything")


KEYWORDS = st.sampled_from(
    ["type", "properties", "items", "anyOf", "enum", "required", "pattern", "minLength", "$ref",
     "$schema", "$defs", "patternProperties", "additionalProperties", "exclusiveMinimum", "const",
     "format", "not", "if", "dependentRequired", "$id", "$anchor", "propertyNames"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["string", "(", "#/x", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYWORDS, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(KEYWORDS, VALUES, max_size=5))
def test_whatever_is_written_there_is_a_schema_that_compiles_or_a_named_fault(
    schema: dict[str, Any],
) -> None:
    try:
        found, _ = make_compilable(schema, root="object")
    except DefinitionError:
        return
    compile_json_schema(found)

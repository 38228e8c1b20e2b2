"""Plain schemas, which surely compile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.define.schema.json_schema_validator import compile_json_schema, compile_when_used
from toolkeel.define.schema.plain import MAX_LEVELS, is_plain

ODD = st.none() | st.booleans() | st.integers(-2, 3) | st.floats() | st.sampled_from(
    ["string", "strng", "(", "#/nowhere"]
)  # fmt: skip
VALUES = st.recursive(ODD, lambda inner: st.lists(inner, max_size=2), max_leaves=3)
KEYS = st.sampled_from([
    "type", "required", "enum", "const", "default", "minimum", "maximum", "minLength", "maxItems",
    "format", "title", "pattern", "$ref", "items", "properties", "anyOf", "additionalProperties",
])  # fmt: skip
SCHEMAS: st.SearchStrategy[Any] = st.recursive(
    st.dictionaries(KEYS, VALUES, max_size=3)
    | st.fixed_dictionaries({"type": st.sampled_from(["string", "object", ["integer", "null"]])}),
    lambda inner: st.fixed_dictionaries(
        {}, optional={
            "items": inner | st.booleans(),
            "anyOf": st.lists(inner, max_size=2),
            "properties": st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
            "additionalProperties": inner | st.booleans(),
        },
    ),
    max_leaves=5,
)  # fmt: skip


DIALECTS = st.none() | st.sampled_from([
    "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft/2020-12/schema",
    "http://json-schema.org/draft-04/schema#", "http://json-schema.org/draft-06/schema",
    "https://json-schema.org/draft/2019-09/schema", "urn:none",
])  # fmt: skip


@given(SCHEMAS, DIALECTS, VALUES)
def test_a_plain_schema_compiles_and_judges_as_when_compiled_at_once(
    schema: Any, dialect: str | None, value: Any
) -> None:
    schema = schema if dialect is None else {"$schema": dialect, **schema}
    if is_plain(schema):
        assert compile_when_used(schema).is_valid(value) == compile_json_schema(schema).is_valid(
            value
        )


@pytest.mark.parametrize("schema", [
    {"pattern": "("}, {"$ref": "#/a"}, {"type": "strng"}, {"enum": []}, {"required": ["a", "a"]},
    {"minLength": -1}, {"minimum": True}, {"nullable": True}, True, None, {"items": [{}]},
    {"default": float("nan")}, {"maximum": float("inf")}, {"$schema": "urn:none"}, {"$schema": 5},
    {"items": {"$schema": "http://json-schema.org/draft-07/schema#"}},
])  # fmt: skip
def test_what_could_fail_is_not_plain(schema: Any) -> None:
    assert not is_plain(schema)


def test_a_schema_of_the_usual_dialects_is_plain() -> None:
    zod = {"$schema": "http://json-schema.org/draft-07/schema#", "additionalProperties": False}
    assert is_plain({"type": "object", "properties": {"a": {"type": "string"}}, **zod})


def test_what_is_nested_deeply_is_not_plain() -> None:
    schema: dict[str, Any] = {}
    for _ in range(MAX_LEVELS):
        schema = {"items": schema}
    assert not is_plain(schema) and is_plain(schema["items"])

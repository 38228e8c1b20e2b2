"""The form of a schema in which unions report themselves without their branches."""

from __future__ import annotations

from typing import Any

from hypothesis import given, reject

from tests.call.arguments.test_parse import JSON
from tests.define.schema.test_json_schema_validator import SCHEMAS
from toolkeel.define.explain.flat_unions import UnionFreeSchema
from toolkeel.define.schema.json_schema_validator import compile_json_schema
from toolkeel.errors import DefinitionError


def test_each_union_stands_behind_a_double_negation() -> None:
    branches: list[Any] = [{"type": "string"}, {"type": "null"}]
    form = UnionFreeSchema({"properties": {"a": {"anyOf": branches, "title": "A"}}}, False)
    hidden = {"allOf": [{"not": {"not": {"anyOf": branches}}}], "title": "A"}
    assert form.schema == {"properties": {"a": hidden}}
    assert form.unions == {("properties", "a", "allOf", 0): ("anyOf", branches)}


def test_the_schema_given_is_not_changed_and_its_parts_are_known_by_their_new_places() -> None:
    schema: dict[str, Any] = {
        "allOf": [{"minLength": 1}],
        "oneOf": [{"anyOf": [{"type": "string"}]}, True],
        "anyOf": [{"$ref": "#/oneOf/0/anyOf/0"}],
    }
    before = repr(schema)
    form = UnionFreeSchema(schema, False)
    assert repr(schema) == before
    for place, original in form.origin.items():
        at: Any = form.schema
        for part in place:
            at = at[part]
        assert set(at) - {"allOf"} <= set(original) | {"not"}
    moved = "#/allOf/2/not/not/oneOf/0/allOf/0/not/not/anyOf/0"
    assert form.schema is not None
    assert form.schema["allOf"][1]["not"]["not"]["anyOf"] == [{"$ref": moved}]  # type: ignore[index]


def test_data_that_looks_like_a_union_is_left_alone() -> None:
    schema = {"enum": [{"anyOf": [1]}], "properties": {"anyOf": {"type": "string"}}}
    form = UnionFreeSchema(schema, False)
    assert (form.schema, form.unions) == (schema, {})


def test_there_is_no_such_form_where_places_cannot_be_told() -> None:
    schema: dict[str, Any] = {
        "anyOf": [{"$ref": "item"}],
        "$defs": {"i": {"$id": "item", "type": "string"}},
    }
    assert UnionFreeSchema(schema, False).schema is None
    assert UnionFreeSchema({"anyOf": [{"$ref": "http://other"}]}, True).schema is None


@given(SCHEMAS, SCHEMAS, JSON)
def test_the_form_takes_the_very_values_that_the_schema_takes(
    schema: object, shared: object, value: object
) -> None:
    root: Any = {"$defs": {"x": shared}, "allOf": [schema]}
    try:
        compiled = compile_json_schema(root)
    except DefinitionError:  # its references form more than one ring
        reject()
    form = UnionFreeSchema(root, False).schema
    assert form is not None
    assert compile_json_schema(form).is_valid(value) == compiled.is_valid(value)

"""What is expected of a value because of what was sent beside it is in the first message."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel.define.explain.conditions import Conditions
from toolkeel.define.schema.json_schema_validator import compile_json_schema

TEXT: dict[str, Any] = {"type": "string"}
INTEGER: dict[str, Any] = {"type": "integer"}
N = {"properties": {"a": INTEGER, "n": INTEGER}}
AT_LEAST: dict[str, Any] = {"properties": {"n": {"minimum": 5}}}
AT_MOST: dict[str, Any] = {"properties": {"n": {"maximum": -5}}}
U = {"properties": {"kind": {"const": "u"}}, "required": ["kind"]}
FIVE = "an integer of at least 5"
EITHER = f"{FIVE}, or an integer of at most -5"


@pytest.mark.parametrize("sent", ["x", True, None])
@pytest.mark.parametrize(
    ("schema", "beside", "expected"),
    [
        ({**N, "dependentSchemas": {"a": AT_LEAST}}, {"a": 1}, FIVE),
        ({**N, "dependentSchemas": {"a": AT_LEAST}}, {}, "an integer"),
        ({**N, "dependentSchemas": {"a": {"$ref": "#/$defs/five"}}, "$defs": {"five": AT_LEAST}}, {"a": 1}, FIVE),
        ({**N, "if": U, "then": AT_LEAST, "else": AT_MOST}, {"kind": "u"}, FIVE),
        ({**N, "if": U, "then": AT_LEAST, "else": AT_MOST}, {}, "an integer of at most -5"),
        ({**N, "if": {"$ref": "#/$defs/u"}, "then": AT_LEAST, "$defs": {"u": U}}, {"kind": "u"}, FIVE),
        ({**N, "if": True, "then": AT_LEAST}, {}, FIVE),
        ({**N, "anyOf": [AT_LEAST, AT_MOST]}, {}, EITHER),
        ({**N, "oneOf": [{"$ref": "#/$defs/five"}, AT_MOST], "$defs": {"five": AT_LEAST}}, {}, EITHER),
        ({**N, "anyOf": [AT_LEAST, {"required": ["m"]}]}, {}, FIVE),
        ({**N, "anyOf": [AT_LEAST, {"required": ["a"]}]}, {"a": 1}, "an integer"),
        ({**N, "anyOf": [{**U, "properties": {**U["properties"], **AT_LEAST["properties"]}}, AT_MOST]}, {"kind": "v"}, "an integer of at most -5"),  # type: ignore[dict-item]
        ({**N, "anyOf": [True, {"properties": {"n": {"minimum": 5}}, "required": ["a"]}]}, {}, "an integer"),
        ({**N, "allOf": [{"dependentSchemas": {"a": AT_LEAST}}]}, {"a": 1}, FIVE),
    ],
)  # fmt: skip
def test_a_value_of_a_wrong_type_is_told_all_that_is_expected_of_it(
    schema: Any, beside: dict[str, Any], expected: str, sent: object
) -> None:
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    for root, value in (
        ({"type": "object", **schema}, {**beside, "n": sent}),
        (
            {"type": "object", "properties": {"x": {"type": "object", **schema}}, **definitions},
            {"x": {**beside, "n": sent}},
        ),
    ):
        errors = compile_json_schema(root).errors(value)
        assert [each.expected for each in errors if each.path[-1:] == ("n",)] == [expected]


def test_a_missing_value_is_told_what_the_conditions_expect_of_it() -> None:
    schema = {**N, "required": ["n"], "dependentSchemas": {"a": AT_LEAST}}
    [error] = compile_json_schema(schema).errors({"a": 1})
    assert error.expected == f"{FIVE} (required)"
    [error] = compile_json_schema({**N, "required": ["n"], "anyOf": [AT_LEAST, AT_MOST]}).errors({})
    assert error.expected == f"{EITHER} (required)"


def test_what_no_plain_validator_can_judge_holds_not() -> None:
    loops = {"if": {"$ref": "https://example.org/other"}, "then": AT_LEAST}
    assert Conditions(loops).at([loops], {"n": "x"}, ("n",)) == []


def test_unions_are_made_once() -> None:
    root = {**N, "anyOf": [AT_LEAST, AT_MOST]}
    conditions = Conditions(root)
    [first] = conditions.at([root], {"n": "x"}, ("n",))
    [second] = conditions.at([root], {"n": "y"}, ("n",))
    assert first is second

"""Published tool sets with their right calls, and calls derived from them that are wrong."""

from __future__ import annotations

import json
from typing import Any

from tests.shared import shared_file
from toolkeel.call.arguments.coerce import coerce
from toolkeel.call.arguments.parse import object_to_text, parse_arguments
from toolkeel.define.explain.validation_errors import invalid_arguments
from toolkeel.define.schema.from_json_schema import check_tool_schema, close_root
from toolkeel.define.schema.json_schema_validator import JsonSchemaValidator, compile_json_schema

# Published as right, but they name a variable of some program where their own schema wants a
# list: no reading of the text makes it one.
NAMES_FOR_LISTS = {"parallel_multiple_21", "simple_javascript_37", "simple_javascript_39"}


def _rows(name: str) -> list[dict[str, Any]]:
    lines = shared_file(f"data/{name}").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def _validators() -> dict[tuple[str, str], JsonSchemaValidator]:
    found = {}
    for row in _rows("bfcl-sample.jsonl"):
        for tool in row["tools"]:
            check_tool_schema(tool["parameters"], tool["name"])
            found[row["id"], tool["name"]] = compile_json_schema(close_root(tool["parameters"]))
    return found


def _coerced(arguments: object, validator: JsonSchemaValidator) -> dict[str, object]:
    assert isinstance(validator.schema, dict)
    return coerce(parse_arguments(object_to_text(arguments)).value, validator.schema).value


def _holds(filled: object, value: object) -> bool:
    """Whether all of `value` is still there, as it was."""
    if isinstance(value, dict):
        return isinstance(filled, dict) and all(_holds(filled[k], v) for k, v in value.items())
    if isinstance(value, list):
        return isinstance(filled, list) and all(map(_holds, filled, value))
    return filled == value


def test_every_right_call_is_taken_and_keeps_being_right_with_its_defaults() -> None:
    validators = _validators()
    calls, refused = 0, set()
    for row in _rows("bfcl-sample.jsonl"):
        for call in row["calls"]:
            calls += 1
            validator = validators[row["id"], call["name"]]
            value = _coerced(call["arguments"], validator)
            errors = validator.errors(value)
            if row["id"] in NAMES_FOR_LISTS and errors:
                assert all(e.expected.startswith("a list of ") for e in errors)
                refused.add(row["id"])
                continue
            assert errors == [], (row["id"], call)
            assert validator.is_valid(value)
            filled = validator.with_defaults(value)
            assert _holds(filled, value)
    assert calls == 165
    assert refused == NAMES_FOR_LISTS


def test_every_wrong_call_is_refused_with_a_text_that_names_the_field() -> None:
    validators = _validators()
    wrong = _rows("bfcl-sample-bad.jsonl")
    assert len(wrong) == 909
    for row in wrong:
        call, why = row["call"], row["why"]
        validator = validators[row["id"], call["name"]]
        value = _coerced(call["arguments"], validator)
        field = why.removeprefix("missing required ").split(" ")[0]
        errors = validator.errors(value)
        assert any(error.path[:1] == (field,) for error in errors), (row, errors)
        text = invalid_arguments(call["name"], errors).text
        assert f"- {field}" in text
        assert ("(required)" in text) == why.startswith("missing required")

"""Schemas that no value satisfies are refused where they are written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import jsonschema_rs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from toolkeel import tool
from toolkeel.define.schema.impossible import require_possible
from toolkeel.errors import DefinitionError


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"type": "integer", "minimum": 5, "maximum": 3}, "minimum 5 and maximum 3"),
        ({"exclusiveMinimum": 5, "maximum": 5}, "exclusiveMinimum 5 and maximum 5"),
        ({"type": "string", "minLength": 5, "maxLength": 3}, "minLength 5 is above maxLength 3"),
        ({"type": "array", "minItems": 2, "maxItems": 1}, "minItems 2 is above maxItems 1"),
        ({"minProperties": 2, "maxProperties": 1}, "minProperties 2 is above"),
        ({"enum": []}, "enum is empty"),
        ({"enum": ["a"], "const": "b"}, "const 'b' is not in its enum"),
        ({"type": "string", "const": 3}, "const 3 is not of type 'string'"),
        ({"type": "integer", "enum": ["a", True]}, "no value of its enum is of type 'integer'"),
        (False, "it is required, and its schema is false"),
    ],
)
def test_a_parameter_that_can_have_no_value_is_refused_with_the_fix(schema: Any, why: str) -> None:
    nested = {"type": "object", "properties": {"y": schema}, "required": ["y"]}
    for path, each in (("x", schema), ("x.y", nested)):
        parameters = {"type": "object", "properties": {"x": each}, "required": ["x"]}

        def search(x: Any) -> str:
            """Search."""
            return ""

        with pytest.raises(DefinitionError) as raised:
            tool(parameters=parameters)(search)
        assert f"search: parameter '{path}' can have no value" in str(raised.value)
        assert why in str(raised.value)


def test_an_optional_parameter_whose_values_are_of_another_type_is_left_as_it_is() -> None:
    parameters = {"type": "object", "properties": {"x": {"type": "integer", "enum": ["1", "2"]}}}

    def search(**arguments: Any) -> str:
        """Search."""
        return "found"

    assert tool(parameters=parameters)(search).parameters["properties"] == parameters["properties"]


class Range(BaseModel):
    low: Annotated[int, Field(ge=5, le=3)]


def test_the_limits_of_annotations_and_models_are_checked_too() -> None:
    def by_annotation(n: Annotated[int, Field(gt=3, lt=3)]) -> str:
        """Search."""
        return ""

    def by_model(span: Range) -> str:
        """Search."""
        return ""

    for function in (by_annotation, by_model):
        with pytest.raises(DefinitionError, match="can have no value: nothing is between"):
            tool(function)


def _limits(low: str, high: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional={low: st.integers(0, 3), high: st.integers(0, 3)})


_VALUES = st.sampled_from([1, 2, "a", None, True, [1]])
_SCHEMAS = st.builds(
    lambda *parts: {key: value for part in parts for key, value in part.items()},
    _limits("minimum", "maximum"),
    _limits("minLength", "maxLength"),
    st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["string", "integer", ["null", "array"]]),
            "enum": st.lists(_VALUES, max_size=2),
            "const": _VALUES,
        },
    ),
)


@given(_SCHEMAS, st.one_of(st.integers(0, 3), st.text("ab", max_size=3), _VALUES))
def test_no_schema_is_refused_that_a_value_satisfies(schema: dict[str, Any], value: Any) -> None:
    """Limits of another type say nothing of a value, so schemas with a type alone are compared."""
    kind = schema.get("type")
    if kind == "string":
        schema = {key: each for key, each in schema.items() if not key.endswith("imum")}
    elif kind == "integer":
        schema = {key: each for key, each in schema.items() if not key.endswith("Length")}
    else:
        schema = {key: each for key, each in schema.items() if not key.startswith(("min", "max"))}
    if jsonschema_rs.Draft202012Validator(schema).is_valid(value):
        require_possible("search", {"type": "object", "properties": {"x": schema}})


@pytest.mark.parametrize(
    "schema",
    [
        {"minimum": 3, "maximum": 3},
        {"type": "number", "const": 3},
        {"enum": [None], "type": ["null"]},
    ],
)
def test_a_schema_of_one_value_is_possible(schema: dict[str, object]) -> None:
    require_possible("search", {"type": "object", "properties": {"x": schema}})
    require_possible("search", {"type": "object", "properties": {"x": False}})


def _accepts_nothing() -> bool:
    return True


@pytest.mark.parametrize(
    ("option", "function", "write"),
    [
        ("enabled", _accepts_nothing, "def enabled(context)"),
        ("enabled", lambda a, b: True, "def enabled(context)"),
        ("approval", _accepts_nothing, "def approval(arguments), or"),
        ("approval", lambda a, b, c: True, "def approval(arguments), or"),
        ("on_error", lambda: "x", "def on_error(error)"),
        ("on_crash", lambda call, error: "x", "def on_crash(error)"),
        ("on_invalid", _accepts_nothing, "def on_invalid(error)"),
    ],
)
def test_a_function_with_other_parameters_than_it_is_called_with_is_refused(
    option: str, function: Callable[..., Any], write: str
) -> None:
    def search(x: int) -> str:
        """Search."""
        return ""

    options: dict[str, Any] = {option: function}
    with pytest.raises(DefinitionError) as raised:
        tool(**options)(search)
    assert f"search: {option} takes (" in str(raised.value) and write in str(raised.value)

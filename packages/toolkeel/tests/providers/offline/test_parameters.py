"""Schemas as parameters."""

from __future__ import annotations

import pytest

from tests.providers import toolkit as kit
from tests.providers.toolkit import definition
from toolkeel.providers.offline.parameters import MOST, ArgumentChecker, parameters_of, resolve


@pytest.mark.parametrize(
    ("name", "schema", "role"),
    [
        ("city", {"type": "string"}, "place"),
        ("filePath", {"type": "string"}, "path"),
        ("homepage_url", {"type": "string"}, "url"),
        ("contact", {"type": "string", "format": "email"}, "email"),
        ("when", {"type": "string", "format": "date"}, "date"),
        ("symbol", {"type": "string"}, "symbol"),
        ("query", {"type": "string"}, "text"),
        ("q", {"type": "string", "description": "The file to open."}, "text"),
        ("x", {"type": "string", "description": "The file to open."}, "path"),
        ("城市", {"type": "string"}, "place"),
        ("mystery", {"type": "string"}, ""),
    ],
)
def test_the_role_comes_from_format_name_or_description(
    name: str, schema: object, role: str
) -> None:
    [parameter] = parameters_of(definition("t", "", **{name: schema}))
    assert parameter.role == role


def test_required_parameters_come_before_optional_ones() -> None:
    tool = definition("t", "", _a={"type": "string"}, b={"type": "string"})
    assert [(parameter.name, parameter.required) for parameter in parameters_of(tool)] == [
        ("b", True),
        ("a", False),
    ]


def test_references_unions_with_null_and_enums_are_resolved() -> None:
    root = {"$defs": {"Colour": {"enum": ["red", "blue"]}}}
    schema = {"anyOf": [{"$ref": "#/$defs/Colour"}, {"type": "null"}], "default": None}
    assert resolve(schema, root) == {"enum": ["red", "blue"], "default": None}


def test_a_reference_in_a_circle_ends() -> None:
    assert resolve({"$ref": "#/$defs/a"}, {"$defs": {"a": {"$ref": "#/$defs/a"}}}) == {}


@pytest.mark.parametrize(
    "schema", [{}, {"properties": 3}, {"properties": {"a": True}}, {"type": 7}]
)
def test_odd_schemas_have_parameters_without_demands(schema: dict[str, object]) -> None:
    tool = kit.Definition("t", "", schema)
    assert all(not parameter.required for parameter in parameters_of(tool))


def test_the_checker_knows_the_schemas_limits_and_references() -> None:
    inner = {"type": "object", "properties": {"n": {"$ref": "#/$defs/Small"}}, "required": ["n"]}
    schema = {**inner, "$defs": {"Small": {"type": "integer", "maximum": 9}}}
    checker = ArgumentChecker(schema)
    [parameter] = parameters_of(kit.Definition("t", "", schema))
    assert checker.accepts({"n": 9}) and not checker.accepts({"n": 10})
    assert checker.fits(parameter.schema, 9) and not checker.fits(parameter.schema, 10)


def test_a_schema_that_does_not_compile_refuses_nothing() -> None:
    checker = ArgumentChecker({"type": "no such type"})
    assert checker.accepts({"anything": 1})


def test_of_many_optional_parameters_a_bounded_number_is_considered() -> None:
    many = {f"_p{n}": {"$ref": "#"} for n in range(1000)}
    tool = definition("t", "", needed={"type": "string"}, **many)
    assert [one.name for one in parameters_of(tool)][:2] == ["needed", "p0"]
    assert len(parameters_of(tool)) <= MOST + 1

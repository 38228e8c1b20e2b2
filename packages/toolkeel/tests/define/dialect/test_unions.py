from __future__ import annotations

from typing import Any

import pytest

from tests.define.schema_cases import MODEL_SCHEMAS, parameters, report, sent
from toolkeel.define.dialect import compile_schema
from toolkeel.define.dialect.provider_facts import DIALECTS, Target
from toolkeel.define.subschemas import all_subschemas

Json = Any


def test_a_described_reference_is_put_in_place_unless_it_is_recursive() -> None:
    compiled = compile_schema(MODEL_SCHEMAS["Ticket"], "openai-strict")
    address = compiled.schema["properties"]["address"]
    assert compiled.strict
    assert address["description"] == "Where."
    assert address["anyOf"][0] == {"$ref": "#/$defs/Address"}

    plain = parameters(it={"$ref": "#/$defs/N", "description": "d"}) | {
        "required": ["it"],
        "$defs": {"N": {"type": "number", "description": "A number."}},
    }
    assert compile_schema(plain, "openai-strict").schema["properties"]["it"] == {
        "description": "d\nA number.",
        "type": "number",
    }

    node = parameters(next={"$ref": "#/$defs/Node", "description": "d"}) | {"required": ["next"]}
    loop = {**node, "$defs": {"Node": node}}
    assert compile_schema(loop, "openai-strict").schema["properties"]["next"] == {
        "anyOf": [{"$ref": "#/$defs/Node"}],
        "description": "d",
    }


def test_a_discriminated_union_loses_nothing_in_strict_mode() -> None:
    compiled = compile_schema(MODEL_SCHEMAS["Ticket"], "openai-strict")
    pet = compiled.schema["properties"]["pet"]
    assert pet["anyOf"] == [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]
    assert "oneOf" not in {loss.what for loss in compiled.losses}
    cat = compiled.schema["$defs"]["Cat"]["properties"]["kind"]
    assert cat == {"const": "cat", "title": "Kind", "type": "string"}


def test_a_one_of_whose_branches_overlap_is_reported() -> None:
    either = {"oneOf": [{"type": "integer"}, {"type": "number"}]}
    assert ("#/properties/it", "oneOf") in report(parameters(it=either), "openai-strict")
    apart = {"oneOf": [{"type": "integer"}, {"type": "string"}]}
    assert report(parameters(it=apart), "openai-strict") == []


def test_a_type_that_no_listed_value_has_makes_no_branch() -> None:
    schema = {"type": ["string", "integer"], "enum": ["a", "b"]}
    assert sent(schema, "anthropic-strict") == {"type": "string", "enum": ["a", "b"]}


def test_null_is_a_flag_for_geminis_openapi_form() -> None:
    optional = {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "default": None,
        "description": "d",
    }
    assert sent(optional, "gemini-legacy") == {
        "type": "string",
        "nullable": True,
        "default": None,
        "description": "d",
    }
    assert sent({"enum": ["a", None]}, "gemini-legacy") == {
        "enum": ["a"],
        "nullable": True,
        "type": "string",
    }


def test_a_union_stands_alone_for_geminis_openapi_form() -> None:
    union = {
        "anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}],
        "description": "d",
    }
    assert sent(union, "gemini-legacy") == {
        "anyOf": [
            {"description": "d", "nullable": True, "type": "string"},
            {"description": "d", "nullable": True, "type": "integer"},
        ]
    }


def test_the_compatible_form_keeps_the_widest_type_and_tells_the_rest() -> None:
    literals = {"anyOf": [{"const": "a"}, {"enum": ["b", "c"], "type": "string"}, {"type": "null"}]}
    assert sent(literals, "compatible") == {"type": "string", "enum": ["a", "b", "c"]}
    sizes = {"anyOf": [{"type": "string", "minLength": 9}, {"type": "string", "maxLength": 1}]}
    assert sent(sizes, "compatible")["type"] == "string"
    assert '"minLength": 9' in sent(sizes, "compatible")["description"]
    mixed = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
    assert "type" not in sent(mixed, "compatible")


def test_an_exploding_schema_is_cut_and_reported() -> None:
    defs = {
        f"D{i}": {
            "type": "object",
            "properties": {n: {"$ref": f"#/$defs/D{i + 1}"} for n in "abcd"},
        }
        for i in range(12)
    }
    schema = parameters(it={"$ref": "#/$defs/D0"}) | {"$defs": {**defs, "D12": {"type": "string"}}}
    compiled = compile_schema(schema, "gemini-legacy")
    assert len(str(compiled.schema)) < 2_000_000
    assert "$ref" in {loss.what for loss in compiled.losses}


def test_what_no_value_fits_stays_a_schema_that_no_value_fits() -> None:
    nothing = {"type": ["string", "null"], "enum": [True, False]}
    schema = {"type": "object", "properties": {"b": nothing}, "required": ["b"]}
    compiled = compile_schema(schema, "anthropic-strict").schema["properties"]["b"]
    assert compiled["type"] in ("string", "null") and compiled["enum"] == [True, False]


def test_listed_values_of_several_types_are_a_union_where_a_list_has_texts_alone() -> None:
    assert sent({"enum": ["a", 1, None]}, "gemini-legacy") == {
        "anyOf": [
            {"type": "integer", "nullable": True, "minimum": 1, "maximum": 1},
            {"type": "string", "nullable": True, "enum": ["a"]},
        ]
    }


@pytest.mark.parametrize("target", [name for name, each in DIALECTS.items() if not each.type_lists])
@pytest.mark.parametrize(
    "kinds",
    [
        ["string"], ["null"], ["string", "integer"], ["string", "null"], ["integer", "null"],
        ["string", "integer", "null"], ["array", "object"], ["boolean", "number", "null"],
    ],
    ids=lambda kinds: "-".join(kinds),
)  # fmt: skip
def test_no_list_of_types_is_sent_where_none_is_taken_and_each_type_stays_possible(
    target: Target, kinds: list[str]
) -> None:
    made = compile_schema(parameters(it={"type": kinds}), target)
    dialect = DIALECTS[target]
    if dialect.fallback and not made.strict:
        return  # the ordinary form takes lists
    parts = list(all_subschemas(made.schema))
    assert not [part for part in parts if isinstance(part.get("type"), list)]
    named = {part.get("type") for part in parts if part is not made.schema}
    named |= {"null" for part in parts if part.get("nullable")}
    lost = bool({"type", "anyOf"} & {loss.what for loss in made.losses})
    wanted = set(kinds) - ({"null"} if dialect.null == "none" and len(kinds) > 1 else set())
    assert wanted <= named or lost


@pytest.mark.parametrize("target", ["gemini-legacy", "compatible"])
@pytest.mark.parametrize("beside", [{}, {"description": "d"}])
def test_a_reference_to_what_no_value_fits_is_reported(
    target: Target, beside: dict[str, str]
) -> None:
    schema = parameters(it={"$ref": "#/$defs/N", **beside}) | {"$defs": {"N": False}}
    assert ("#/properties/it", "false") in report(schema, target)


def test_a_constraint_that_fits_no_branch_is_told_and_none_becomes_a_branch() -> None:
    union = {"anyOf": [{"type": "string", "pattern": "^a"}, {"type": "integer"}], "pattern": "b$"}
    made = sent(union, "gemini-legacy")
    told = {"description": '(pattern: "b$")'}
    assert made == {
        "anyOf": [{**told, "type": "string", "pattern": "^a"}, {**told, "type": "integer"}]
    }
    assert ("#/properties/it", "pattern") in report(parameters(it=union), "gemini-legacy")


def test_a_definition_inside_itself_ends_with_its_type() -> None:
    """Where there are no references."""
    for kinds, end in (("object", {"type": "object"}), (["object", "array"], {})):
        node = {"type": kinds, "properties": {"next": {"$ref": "#/$defs/Node"}}}
        schema = parameters(it={"$ref": "#/$defs/Node"}) | {"$defs": {"Node": node}}
        made = compile_schema(schema, "gemini-legacy")
        [last] = [
            each for each in all_subschemas(made.schema) if "like" in each.get("description", "")
        ]
        assert last.get("type") == end.get("type")
        assert "$ref" in {loss.what for loss in made.losses}


@pytest.mark.parametrize("branch", [True, False])
def test_a_branch_that_is_no_object_widens_the_union_to_anything(branch: bool) -> None:
    union = {"anyOf": [{"type": "string"}, branch]}
    assert list(sent(union, "compatible")) == ["description"]


@pytest.mark.parametrize(
    ("schema", "plain", "flagged"),
    [
        ({"enum": ["a", "b", None]}, {"enum": ["a", "b"]}, {"nullable": True, "type": "string"}),
        ({"type": ["string", "null"], "enum": ["a", None]}, {"type": "string", "enum": ["a"]}, {"nullable": True}),
        ({"type": "string", "enum": ["a", None]}, {"type": "string", "enum": ["a"]}, {}),
    ],
)  # fmt: skip
def test_null_among_listed_values_is_a_flag_or_a_loss_where_it_was_possible(
    schema: Json, plain: Json, flagged: Json
) -> None:
    assert sent(schema, "gemini-legacy") == plain | flagged
    assert sent(schema, "compatible") == plain
    assert (("#/properties/it", "null") in report(parameters(it=schema), "compatible")) is bool(
        flagged
    )


def test_a_reference_to_what_every_value_fits_is_no_loss() -> None:
    schema = parameters(it={"$ref": "#/$defs/N", "description": "d"}) | {"$defs": {"N": True}}
    assert compile_schema(schema, "compatible").schema["properties"] == {"it": {"description": "d"}}
    assert report(schema, "compatible") == [("#", "additionalProperties")]

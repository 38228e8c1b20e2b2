"""Operations are read from OpenAPI documents, their schemas as plain JSON Schema."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.petshop import DOCUMENT
from toolkeel import SetupError
from toolkeel.define.tool import Tool
from toolkeel_compat.openapi.document import Parameter, read_operations, read_server_url

FOUND = {operation.name: operation for operation in read_operations(DOCUMENT)}


def test_every_operation_is_found_with_its_name_and_text() -> None:
    assert list(FOUND) == [
        "listPets",
        "addPet",
        "get_pets_id",
        "dropPet",
        "sendForm",
        "upload",
        "note",
    ]
    listed = FOUND["listPets"]
    assert (listed.method, listed.path, listed.tags) == ("GET", "/pets", ("read",))
    assert listed.description == "List pets.\n\nThe newest first."


def test_the_operations_own_parameters_win_over_those_of_the_path() -> None:
    properties = FOUND["listPets"].schema["properties"]
    assert list(properties) == ["X-Trace", "limit", "tag", "near", "api_key", "session"]
    assert properties["limit"] == {
        "type": "integer",
        "maximum": 100,
        "default": 10,
        "description": "How many.",
    }
    assert FOUND["addPet"].schema["properties"]["limit"] == {"type": "string"}
    assert FOUND["listPets"].schema["required"] == ["api_key"]


def test_equal_names_in_two_places_are_told_apart() -> None:
    found = FOUND["get_pets_id"]
    assert [p.argument for p in found.parameters] == ["id", "id_query"]
    assert found.parameters[1] == Parameter("id_query", "id", "query", "form", True)
    assert found.schema["required"] == ["id"]


def test_references_become_definitions_the_tool_carries_along() -> None:
    schema = FOUND["addPet"].schema
    assert schema["properties"]["body"] == {"$ref": "#/$defs/Pet"}
    assert sorted(schema["$defs"]) == ["Pet", "Tags"]
    assert schema["$defs"]["Pet"]["properties"]["parent"] == {"$ref": "#/$defs/Pet"}
    assert "$defs" not in FOUND["dropPet"].schema


def test_what_a_client_may_not_send_is_left_out() -> None:
    pet = FOUND["addPet"].schema["$defs"]["Pet"]
    assert list(pet["properties"]) == ["name", "tags", "parent"]
    assert pet["required"] == ["name"]


def test_the_body_that_is_easiest_to_write_is_taken() -> None:
    assert (FOUND["addPet"].body, FOUND["addPet"].media_type) == ("body", "application/json")
    assert FOUND["note"].media_type == "text/markdown"
    assert FOUND["note"].schema["properties"]["body"] == {"type": "string"}
    assert FOUND["listPets"].body == ""


def test_every_schema_is_one_that_a_tool_takes() -> None:
    for operation in FOUND.values():
        made = Tool.from_schema(operation.name, "", operation.schema, lambda context, given: given)
        assert made.parameters["properties"] == operation.schema["properties"]


def document(**paths: Any) -> dict[str, Any]:
    return {"openapi": "3.0.3", "paths": paths}


def query(schema: Any, **more: Any) -> Any:
    """The schema of one query parameter after reading."""
    parameter = {"name": "q", "in": "query", "schema": schema, **more}
    found = document(x={"get": {"parameters": [parameter]}})
    [operation] = read_operations(found)
    return operation.schema["properties"]["q"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        (
            {"type": "string", "enum": ["a"], "nullable": True},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        (
            {"allOf": [{"type": "string"}], "nullable": True},
            {"anyOf": [{"allOf": [{"type": "string"}]}, {"type": "null"}]},
        ),
        (
            {"type": "number", "minimum": 1, "exclusiveMinimum": True},
            {"type": "number", "exclusiveMinimum": 1},
        ),
        (
            {"type": "number", "maximum": 1, "exclusiveMaximum": False},
            {"type": "number", "maximum": 1},
        ),
        (
            {"type": "array", "items": {"type": "string", "nullable": True}, "example": ["x"]},
            {"type": "array", "items": {"type": ["string", "null"]}},
        ),
    ],
)
def test_spellings_of_the_old_version_become_json_schema(old: Any, new: Any) -> None:
    assert query(old) == new


def test_a_property_that_is_called_like_a_keyword_stays() -> None:
    schema = {"type": "object", "properties": {"example": {"type": "string"}, "xml": {}}}
    assert query(schema) == schema


def test_a_parameter_written_as_json_has_that_schema() -> None:
    parameter = {
        "name": "q",
        "in": "query",
        "content": {"application/json": {"schema": {"type": "object"}}},
    }
    [found] = read_operations(document(x={"get": {"parameters": [parameter]}}))
    assert found.schema["properties"]["q"] == {"type": "object"}


def test_the_first_server_is_where_it_is_with_its_variables_filled() -> None:
    assert read_server_url(DOCUMENT) == "http://127.0.0.1:1/v1"
    assert read_server_url({}) == read_server_url({"servers": [{"url": "/v1"}]}) == ""


@pytest.mark.parametrize("version", [{}, {"swagger": "2.0"}, {"openapi": "2.9"}])
def test_another_kind_of_document_is_refused(version: Any) -> None:
    with pytest.raises(SetupError, match="OpenAPI 3 document is needed"):
        read_operations({**version, "paths": {}})


@pytest.mark.parametrize(
    ("target", "told"),
    [
        ("other.json#/x", "outside itself"),
        ("#/components/parameters/Missing", "has no '#/components/parameters/Missing'"),
        ("#/components/parameters/Loop", "in a circle"),
    ],
)
def test_a_reference_that_leads_nowhere_is_told(target: str, told: str) -> None:
    broken = copy.deepcopy(DOCUMENT)
    broken["components"]["parameters"]["Loop"] = {"$ref": "#/components/parameters/Loop"}
    broken["paths"]["/pets"]["parameters"][0] = {"$ref": target}
    with pytest.raises(SetupError, match=told):
        read_operations(broken)


def test_schemas_that_multiply_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkeel_compat.openapi.document.MAX_SCHEMAS", 1000)
    many = copy.deepcopy(DOCUMENT)
    for n in range(60):  # what refers twice to what refers twice to ...
        below = {"$ref": f"#/doubled/a{n + 1}"}
        many.setdefault("doubled", {})[f"a{n}"] = {"properties": {"x": below, "y": below}}
    many["doubled"]["a60"] = {"type": "string"}
    many["paths"]["/pets"]["parameters"][0] = {
        "name": "x",
        "in": "query",
        "schema": {"$ref": "#/doubled/a0"},
    }
    with pytest.raises(SetupError, match="more than 1,000 parts"):
        read_operations(many)


@pytest.mark.parametrize("where", ["Header", "formData", "body", ""])
def test_a_parameter_that_is_nowhere_is_refused_and_no_cookie(where: str) -> None:
    odd = copy.deepcopy(DOCUMENT)
    parameter = {"name": "Host", "in": where, "style": "simple", "schema": {"type": "string"}}
    odd["paths"]["/pets"]["parameters"][0] = parameter
    with pytest.raises(SetupError, match="a parameter is in"):
        read_operations(odd)


@pytest.mark.parametrize(
    "name",
    [
        "Host",
        "HOST ",
        "cookie",
        "X-Forwarded-Host",
        "Content-Length",
        "X_Forwarded_For",
        "content_length",
        "X-Forwarded-Prefix",
        "Proxy-Foo",
        "Sec-Fetch-Site",
        "CF-Connecting-IP",
        "X-HTTP-Method-Override",
        "X-Client-IP",
        "X-Original-URL",
    ],
)
def test_a_header_that_says_whom_a_request_is_for_is_no_argument(name: str) -> None:
    document = copy.deepcopy(DOCUMENT)
    parameter = {"in": "header", "name": name, "schema": {"type": "string"}}
    document["paths"]["/pets"]["get"].setdefault("parameters", []).append(parameter)
    [listed] = [each for each in read_operations(document) if each.name == "listPets"]
    assert name not in listed.schema["properties"]
    assert all(each.name != name for each in listed.parameters)


@pytest.mark.parametrize("path", ["@evil.example/x", ".evil.example/x", ":1@evil.example/", "\\x"])
def test_a_path_without_its_stroke_leads_to_no_other_server(path: str) -> None:
    [found] = read_operations({"openapi": "3.1.0", "paths": {path: {"get": {}}}})
    assert found.path == f"/{path}"


@pytest.mark.parametrize(
    "broken",
    [
        {"/x": None},
        {"/x": {"get": {"parameters": [{"in": "query"}]}}},
        {"/x": {"get": {"parameters": [{"name": "a", "in": "nowhere"}]}}},
        {
            "/x": {
                "get": {"requestBody": {"content": {"application/json": {"schema": {"$ref": 5}}}}}
            }
        },
    ],
)
def test_a_document_that_is_none_is_told_as_that(broken: Any) -> None:
    with pytest.raises(SetupError, match="cannot be read"):
        read_operations({"openapi": "3.1.0", "paths": broken})


def test_a_property_of_which_nothing_is_said_is_kept() -> None:
    schema = {"type": "object", "properties": {"any": True}}
    parameters = [{"name": "a", "in": "query", "schema": schema}]
    [found] = read_operations(
        {"openapi": "3.1.0", "paths": {"/x": {"get": {"parameters": parameters}}}}
    )
    assert found.schema["properties"]["a"]["properties"] == {"any": True}

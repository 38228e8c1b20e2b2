"""Arguments that a pydantic model describes."""

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field, RootModel

from toolkeel import tool
from toolkeel.define.schema.argument_schema import compile_arguments
from toolkeel.define.schema.closed_objects import close_objects
from toolkeel.define.schema.from_model import from_model
from toolkeel.errors import DefinitionError


class Query(BaseModel):
    """A query."""

    text: str
    limit: int = Field(10, alias="max")
    tags: list[str] = []


def test_a_models_schema_is_closed_and_has_no_words_about_the_class() -> None:
    schema = from_model("search", Query, (), "forbid").schema
    assert schema["additionalProperties"] is False
    assert not {"title", "description"} & set(schema)


def test_fields_that_were_left_out_are_filled_with_values_of_their_own() -> None:
    made = from_model("search", Query, (), "forbid")
    values = made.validate('{"text": "a"}')
    assert values == {"text": "a"}
    assert made.fill_defaults is not None
    made.fill_defaults(values)
    assert values == {"text": "a", "limit": 10, "tags": []}
    assert values["tags"] is not Query.model_fields["tags"].default
    assert made.aliases == {"limit": "max"}


def test_a_hidden_field_is_neither_advertised_nor_filled() -> None:
    made = from_model("search", Query, ["tags"], "forbid")
    properties = made.schema["properties"]
    assert isinstance(properties, dict) and list(properties) == ["text", "max"]


def test_objects_of_a_given_schema_are_closed_where_they_are_not_open() -> None:
    inner = {"type": "object", "properties": {"a": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"x": inner}}
    made = compile_arguments("x", schema, lambda text, **_: {}, None, close_objects(schema, True))
    assert inner["additionalProperties"] is False
    assert made.schema is schema


class Tree(BaseModel):
    name: str
    kids: "list[Tree]" = []


def test_the_root_of_a_recursive_model_accepts_its_own_keys_for_any_validator() -> None:
    @tool(parameters=Tree)
    def plant(name: str, kids: list[Tree]) -> str:
        """Plant a tree."""
        return f"{name} {len(kids)}"

    assert "$ref" not in plant.parameters and plant.parameters["type"] == "object"
    validator = jsonschema_rs.validator_for(plant.parameters)
    value = {"name": "a", "kids": [{"name": "b", "kids": []}]}
    assert validator.is_valid(value) and plant.invoke(value) == "a 1"
    assert not validator.is_valid({**value, "more": 1})
    assert not validator.is_valid({"name": "a", "kids": [{"name": "b", "more": 1}]})


def test_a_model_of_a_list_is_refused_since_arguments_are_an_object() -> None:
    def plant(root: list[int]) -> None:
        """Plant trees."""

    with pytest.raises(DefinitionError, match=r"plant: parameters is .*a JSON array.*give a model"):
        tool(parameters=RootModel[list[int]])(plant)

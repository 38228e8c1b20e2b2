"""pydantic's JSON Schemas, as a tool shows them."""

from __future__ import annotations

from typing import Any

from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic.json_schema import GenerateJsonSchema

from toolwright.define.defaults import misfits


class OnlyAPath(PydanticInvalidForJsonSchema):
    """A field that is found by a path alone: its schema would advertise a name nothing reads."""

    def __init__(self, path: list[str | int]) -> None:
        super().__init__(
            f"is read from the path {'.'.join(map(str, path))!r}, which is no name that a model "
            'could use; give it one too, AliasChoices("name", AliasPath(...)), or drop the alias'
        )


class SchemaMaker(GenerateJsonSchema):
    """pydantic's schemas, with a word for its `Secret`, and without titles made up from names.

    Raises:
        OnlyAPath: a field goes by an `AliasPath` and by no name.
    """

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def json_or_python_schema(self, schema: Any) -> dict[str, Any]:
        made = super().json_or_python_schema(schema)
        writes = schema.get("serialization", {}).get("function")
        if getattr(writes, "__name__", "") == "_serialize_secret":
            return {**made, "writeOnly": True}
        return made

    def default_schema(self, schema: Any) -> dict[str, Any]:
        made = super().default_schema(schema)
        if "default" in made and misfits(made["default"], made, {}):
            del made["default"]  # pydantic does not validate it, and a model could not send it
        return made

    def named_tuple_schema(self, schema: Any) -> dict[str, Any]:
        """An object, which pydantic takes as well as a list: only that tells the fields' names."""
        made = super().named_tuple_schema(schema)
        if self.mode != "validation":
            return made
        names = [field.get("validation_alias", field["name"]) for field in schema["fields"]]
        properties = dict(zip(names, made.get("prefixItems", ()), strict=True))
        required = names[: made.get("minItems", 0)]
        return {"type": "object", "properties": properties, "required": required}

    def is_subclass_schema(self, schema: Any) -> dict[str, Any]:
        return self.handle_invalid_for_json_schema(schema, "a class")

    def dict_schema(self, schema: Any) -> dict[str, Any]:
        made = super().dict_schema(schema)
        keys = self.generate_inner(schema["keys_schema"]) if "keys_schema" in schema else {}
        if keys.get("type") == "integer":
            made["propertyNames"] = {"pattern": "^-?[0-9]+$"}
        return made

    def model_field_schema(self, schema: Any) -> dict[str, Any]:
        self._check_name(schema)
        return super().model_field_schema(schema)

    def typed_dict_field_schema(self, schema: Any) -> dict[str, Any]:
        self._check_name(schema)
        return super().typed_dict_field_schema(schema)

    def dataclass_field_schema(self, schema: Any) -> dict[str, Any]:
        self._check_name(schema)
        return super().dataclass_field_schema(schema)

    def _check_name(self, field: Any) -> None:
        alias = field.get("validation_alias")
        if not isinstance(alias, list) or self._config.populate_by_name:
            return
        if self._config.validate_by_name or any(_is_name(path) for path in alias):
            return
        raise OnlyAPath(alias[0] if alias and isinstance(alias[0], list) else alias)


def _is_name(path: object) -> bool:
    return isinstance(path, list) and len(path) == 1 and isinstance(path[0], str)

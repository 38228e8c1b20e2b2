"""``convert_to_openai_tool`` and its kin: one tool, in whatever form, as a provider wants it."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

from toolwright.define.base import as_tool
from toolwright.define.definition import Form, definition
from toolwright.define.importing import parse_definition
from toolwright.define.schema import from_model


class Schema(dict[str, Any]):
    """A JSON Schema with the methods of the model that LangChain makes of a signature.

    >>> Schema({"type": "object"}).model_json_schema()
    {'type': 'object'}
    """

    def model_json_schema(self) -> dict[str, Any]:
        """The schema itself."""
        return dict(self)

    schema = model_json_schema


def convert_tool(tool: object, form: Form, *, strict: bool | None = None) -> dict[str, Any]:
    """A tool as a provider wants it.

    Args:
        tool: A tool of any kind, a function, a pydantic model whose fields are the parameters, or a
            definition in any provider's form.
        form: Whose form.
        strict: Whether the provider shall hold arguments to the schema.

    Raises:
        DefinitionError: if it is none of these, or its name is not one the provider takes.

    >>> convert_tool({"title": "now", "type": "object", "properties": {}}, "anthropic")
    {'name': 'now', 'input_schema': {'type': 'object', 'properties': {}}}
    """
    if isinstance(tool, Mapping):
        found = parse_definition(tool)
        strict = found.strict if strict is None else strict
        parts = (found.name, found.description, found.schema)
    elif isinstance(tool, type) and issubclass(tool, BaseModel):
        schema = from_model(tool.__name__, tool, (), "forbid").schema
        parts = (tool.__name__, inspect.cleandoc(tool.__doc__ or ""), dict(schema))
    else:
        made = as_tool(tool)
        parts = (made.name, made.description, dict(made.parameters))
    return definition(*parts, form, strict=strict).body


def convert_to_openai_tool(tool: object, *, strict: bool | None = None) -> dict[str, Any]:
    """A tool for OpenAI's Chat Completions; see `convert_tool`."""
    return convert_tool(tool, "openai-chat", strict=strict)


def convert_to_openai_function(tool: object, *, strict: bool | None = None) -> dict[str, Any]:
    """What stands under ``function`` in OpenAI's form; see `convert_tool`."""
    function: dict[str, Any] = convert_to_openai_tool(tool, strict=strict)["function"]
    return function


def convert_to_anthropic_tool(tool: object) -> dict[str, Any]:
    """A tool for Anthropic's Messages; see `convert_tool`."""
    return convert_tool(tool, "anthropic")

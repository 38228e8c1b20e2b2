"""Structured results (``structuredContent``) and their output schema.

Models, dataclasses and TypedDicts have an output schema. Other annotations that are more than text
(``list[City]``, ``City | None``, ``dict[str, int]``, ``int``) have one as well. Clients of revisions up
to 2025-11-25 accept only objects, and reject the complete listing otherwise; so other values are
wrapped into an object, ``{"result": ...}``, as the official server does.
"""

from __future__ import annotations

import typing
from collections.abc import Mapping
from types import NoneType
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import from_json, to_jsonable_python

from toolkeel._records.record import record
from toolkeel.content import Audio, Data, File, Image, Text
from toolkeel.define.schema.foreign import make_compilable
from toolkeel.define.schema.json_schema_validator import JsonSchemaValidator, compile_json_schema
from toolkeel.define.tool import AnyTool
from toolkeel.errors import DefinitionError
from toolkeel.mcp.content import ABSENT
from toolkeel.messages import ToolMessage, ToolOutput

_PLAIN: tuple[object, ...] = (str, bytes, object, Any, None, NoneType)
_CONTENT = (Text, Image, Audio, File, Data, ToolMessage, ToolOutput)


@record
class StructuredOutput:
    """The structured output of a tool.

    Args:
        schema: The output schema that clients receive, of an object.
        is_wrapped: True if the value is wrapped under ``result``.
        validator: Validates structured results.
    """

    schema: Mapping[str, object]
    is_wrapped: bool
    validator: JsonSchemaValidator

    def extract(self, message: ToolMessage) -> object:
        """Return the first candidate that fits the schema, wrapped if needed.

        `ABSENT` if none fits.

        The candidates are the JSON of the content, the artifact, and the text itself.
        """
        for value in _candidates(message):
            wrapped = {"result": value} if self.is_wrapped else value
            if self.validator.is_valid(wrapped):
                return wrapped
        return ABSENT


def infer_structured_output(tool: AnyTool) -> StructuredOutput | None:
    """Return a tool's structured output, or None if it returns only text or blocks, or its schema does not compile."""
    schema = tool.output_schema or _annotation_schema(tool)
    if schema is None:
        return None
    try:
        schema, _ = make_compilable(_resolve_root(schema))
    except DefinitionError:
        return None
    wraps = schema.get("type") != "object"
    if wraps:
        schema = wrap_schema(schema)
    return StructuredOutput(schema, wraps, compile_json_schema(schema))


def _resolve_root(schema: Mapping[str, object]) -> Mapping[str, object]:
    """Return what a root ``$ref`` refers to, which pydantic writes for recursive types; else the schema."""
    definitions = schema.get("$defs")
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    target = definitions.get(name) if isinstance(definitions, Mapping) else None
    return {**target, "$defs": definitions} if isinstance(target, Mapping) else schema


def _annotation_schema(tool: AnyTool) -> Mapping[str, object] | None:
    """Return the schema of a return annotation; None if it is text, content, a generator's, or has no schema."""
    if "generator" in tool.body or tool.returns != "content":
        return None
    try:
        hints: Any = typing.get_type_hints(tool.function, include_extras=True)
        annotation = hints.get("return")
        if annotation in _PLAIN or _has_content(annotation):
            return None
        return TypeAdapter(annotation).json_schema(mode="serialization")
    except Exception:  # it cannot be stated as a schema: then it is no promise
        return None


def _has_content(annotation: object) -> bool:
    """Return True if a part of an annotation is content for a model, or text that is not data."""
    parts = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping):  # whose values are data
        parts = tuple(part for part in parts if part not in (Any, object))
    is_plain = annotation in _PLAIN and annotation not in (None, NoneType, str)
    is_content = isinstance(annotation, type) and issubclass(annotation, _CONTENT)
    is_open = not parts and (origin or annotation) in (list, tuple)  # whose items may be content
    return is_open or is_plain or is_content or any(map(_has_content, parts))


def wrap_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """Wrap a schema into that of an object with ``result``; definitions stay at the root."""
    shared = {key: schema[key] for key in ("$schema", "$defs", "definitions") if key in schema}
    value = {key: each for key, each in schema.items() if key not in shared}
    return {"type": "object", "properties": {"result": value}, "required": ["result"], **shared}


def _candidates(message: ToolMessage) -> typing.Iterator[object]:
    """Yield values that may be the structured content: JSON of the text, artifact, text."""
    content = message.content
    if isinstance(content, str) or len(content) == 1:
        try:
            yield from_json(message.text)
        except ValueError:
            if not message.text:
                yield None
    if message.artifact is not None:
        try:
            yield to_jsonable_python(message.artifact, inf_nan_mode="strings")
        except ValueError:
            return
    if isinstance(content, str):
        yield content

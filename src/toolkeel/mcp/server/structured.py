"""Structured results (``structuredContent``): what a tool promises to a client, and keeps.

Models, dataclasses and TypedDicts promise themselves. Other annotations that are more than text
(``list[City]``, ``City | None``, ``dict[str, int]``, ``int``) promise a JSON value as well. Clients
of the revisions up to 2025-11-25 take objects alone and lose the whole listing over anything else;
so what is no object is wrapped into one, ``{"result": ...}``, as the official server does.
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
from toolkeel.define.schema.foreign import runnable
from toolkeel.define.schema.from_json_schema import JsonSchemaValidator, compile_json_schema
from toolkeel.define.tool import AnyTool
from toolkeel.errors import DefinitionError
from toolkeel.mcp.content import ABSENT
from toolkeel.messages import ToolMessage, ToolOutput

_PLAIN: tuple[object, ...] = (str, bytes, object, Any, None, NoneType)
_CONTENT = (Text, Image, Audio, File, Data, ToolMessage, ToolOutput)


@record
class StructuredOutput:
    """What the results of a tool hold as data.

    Args:
        schema: As clients are told: of an object.
        wraps: Whether the value stands under ``result`` in that object.
        validator: Judges what is sent.
    """

    schema: Mapping[str, object]
    is_wrapped: bool
    validator: JsonSchemaValidator

    def extract(self, message: ToolMessage) -> object:
        """The structure of a result, as it is sent; `ABSENT` if nothing in it fits.

        It is the JSON that the content holds, or the artifact, or the text itself.
        """
        for value in _candidates(message):
            said = {"result": value} if self.is_wrapped else value
            if self.validator.is_valid(said):
                return said
        return ABSENT


def infer_structured_output(tool: AnyTool) -> StructuredOutput | None:
    """What a tool promises; None if its results are text or blocks alone."""
    schema = tool.output_schema or _annotation_schema(tool)
    if schema is None:
        return None
    try:
        schema, _ = runnable(_resolve_root(schema))
    except DefinitionError:
        return None
    wraps = schema.get("type") != "object"
    if wraps:
        schema = wrap_schema(schema)
    return StructuredOutput(schema, wraps, compile_json_schema(schema))


def _resolve_root(schema: Mapping[str, object]) -> Mapping[str, object]:
    """The schema that a root is a reference to, as pydantic writes what holds itself."""
    definitions = schema.get("$defs")
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    meant = definitions.get(name) if isinstance(definitions, Mapping) else None
    return {**meant, "$defs": definitions} if isinstance(meant, Mapping) else schema


def _annotation_schema(tool: AnyTool) -> Mapping[str, object] | None:
    """The schema of a return annotation that is more than text."""
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
    """Whether a part of it is content for a model, or text that is no data."""
    parts = typing.get_args(annotation)
    origin = typing.get_origin(annotation)
    if isinstance(origin, type) and issubclass(origin, Mapping):  # whose values are data
        parts = tuple(part for part in parts if part not in (Any, object))
    is_plain = annotation in _PLAIN and annotation not in (None, NoneType, str)
    is_content = isinstance(annotation, type) and issubclass(annotation, _CONTENT)
    return is_plain or is_content or any(map(_has_content, parts))


def wrap_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """The schema of an object that holds the value; what it refers to stays at the root."""
    shared = {key: schema[key] for key in ("$schema", "$defs", "definitions") if key in schema}
    value = {key: each for key, each in schema.items() if key not in shared}
    return {"type": "object", "properties": {"result": value}, "required": ["result"], **shared}


def _candidates(message: ToolMessage) -> typing.Iterator[object]:
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

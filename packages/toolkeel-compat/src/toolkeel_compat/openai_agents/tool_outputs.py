"""Text, images and files that a tool returns, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from toolkeel.content import File, Image, Text
from toolkeel_compat.content_blocks import to_block

__all__ = [
    "ToolOutputFileContent", "ToolOutputFileContentDict", "ToolOutputImage", "ToolOutputImageDict",
    "ToolOutputText", "ToolOutputTextDict",
]  # fmt: skip

Detail: TypeAlias = Literal["low", "high", "auto"]
_CLOSED = ConfigDict(extra="forbid")


class ToolOutputText(BaseModel):
    """Text."""

    model_config = _CLOSED
    type: Literal["text"] = "text"
    text: str


class ToolOutputImage(BaseModel):
    """An image by URL or data URL; files stored at the provider are refused."""

    model_config = _CLOSED
    type: Literal["image"] = "image"
    image_url: str
    detail: Detail | None = None


class ToolOutputFileContent(BaseModel):
    """A file by URL or base64 data; files stored at the provider are refused."""

    model_config = _CLOSED
    type: Literal["file"] = "file"
    file_data: str | None = None
    file_url: str | None = None
    filename: str | None = None


ToolOutputTextDict: TypeAlias = dict[str, Any]
ToolOutputImageDict: TypeAlias = dict[str, Any]
ToolOutputFileContentDict: TypeAlias = dict[str, Any]
Part: TypeAlias = ToolOutputText | ToolOutputImage | ToolOutputFileContent
_reader: TypeAdapter[Part] = TypeAdapter(Part)


def read_parts(value: object) -> tuple[Text | Image | File, ...] | None:
    """Convert a tool's return value to content parts; None if it is anything else.

    >>> read_parts({"type": "text", "text": "hi"})
    (Text(text='hi', extra={}),)
    >>> read_parts({"type": "row", "text": "hi"}), read_parts([])
    (None, None)
    """
    values = value if isinstance(value, list) else [value]
    parts = [_read_part(one) for one in values]
    found = tuple(part for part in parts if part is not None)
    return found if found and len(found) == len(parts) else None


def _read_part(value: object) -> Text | Image | File | None:
    if isinstance(value, Text | Image | File):
        return value
    if isinstance(value, Mapping) and value.get("type") in ("text", "image", "file"):
        try:
            value = _reader.validate_python(value)
        except ValidationError:
            return None
    block = to_block(value) if isinstance(value, Part) else None
    return block if isinstance(block, Text | Image | File) else None

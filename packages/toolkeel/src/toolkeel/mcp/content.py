"""Conversion between our records and those of `mcp_types`, for both sides.

Nothing of a peer's block is lost: what our records have no field for stands in a block's `extra`
under the protocol's own names (``annotations``, ``_meta``, ``uri``, ``resource_link``), and comes
out again when the block is sent on. What it says of a whole result stands in the message's details,
as ``_meta``.
"""

from __future__ import annotations

import base64
import binascii
import dataclasses
import functools
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import mcp_types as types
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import to_json

from toolkeel._records.messages_json import inline, is_text_type
from toolkeel._records.record import NOTHING
from toolkeel.content import Audio, Block, Content, Data, File, Image, Text
from toolkeel.define.dialect.definition import definition
from toolkeel.define.returns import OutputSchema
from toolkeel.define.schema.json_schema_validator import (
    JsonSchemaValidator,
    LazyValidator,
    compile_when_used,
)
from toolkeel.define.tool import AnyTool, ToolOptions
from toolkeel.effects import UNKNOWN, Effects
from toolkeel.errors import InvalidOutput
from toolkeel.messages import ToolMessage

ABSENT: Any = object()
"""Stands for no value where None is one."""

FOR_USER = "for_user"
"""Where a message's details keep the blocks that are for the person alone, as the protocol has
them."""
STRUCTURE = "toolkeel/structuredContent"
"""Where a result's ``_meta`` keeps structure that the revision has no place for."""

_BLOCK: TypeAdapter[types.ContentBlock] = TypeAdapter(types.ContentBlock)
_EXTRAS = ("title", "icons", "annotations", "_meta")
"""What a definition may hold besides what our tools have fields for."""


# — results —


def to_result(message: ToolMessage, structured: object = ABSENT) -> types.CallToolResult:
    """Convert a message to a call result for the peer.

    Args:
        message: The result.
        structured: The same as a JSON value, if the tool promises one.
    """
    meta = message.details.get("_meta")
    fields: dict[str, Any] = {} if structured is ABSENT else {"structured_content": structured}
    if isinstance(meta, Mapping):
        fields["_meta"] = dict(meta)
    blocks = [*to_blocks(message.content), *_for_user(message.details.get(FOR_USER))]
    return types.CallToolResult(content=blocks, is_error=message.failed, **fields)


def from_result(result: types.CallToolResult) -> ToolMessage:
    """Convert a peer's result to a message: content, or else structured content, which is the artifact.

    A result with ``isError`` is a failed message of the kind ``tool_error``. A body may return
    the message as it is. A block whose bytes are none says so in its place.
    """
    content = from_blocks(result.content)
    has_structure = "structured_content" in result.model_fields_set
    meta: dict[str, Any] = dict(result.meta or {})
    structure = result.structured_content
    if STRUCTURE in meta:
        has_structure, structure = True, meta.pop(STRUCTURE)
    if has_structure and not content:
        content = (Data(structure, _text(structure)),)
    return ToolMessage(
        content,
        status="error" if result.is_error else "success",
        kind="tool_error" if result.is_error else None,
        artifact=structure,
        details={"_meta": meta} if meta else NOTHING,
    )


def _for_user(blocks: object) -> list[types.ContentBlock]:
    """Return the blocks a server addressed to the person, unchanged."""
    return [_BLOCK.validate_python(block) for block in blocks] if isinstance(blocks, tuple) else []


def _text(value: object) -> str:
    """Return a value as JSON text."""
    return to_json(value, inf_nan_mode="strings").decode()


# — content —


def to_blocks(content: Content) -> list[types.ContentBlock]:
    """Convert content to blocks for the peer. An empty text is no block.

    >>> to_blocks("北京")[0].text
    '北京'
    """
    if isinstance(content, str):
        return [types.TextContent(text=content)] if content else []
    return [to_block(block) for block in content]


def from_blocks(blocks: list[types.ContentBlock]) -> Content:
    """Convert a peer's blocks to content: one plain text to a string, no block to "".

    A block that is not what it says it is becomes a text that says so.
    """
    found = tuple(map(_from_block, blocks))
    match found:
        case ():
            return ""
        case (Text(text, extra),) if not extra:
            return text
        case _:
            return found


def _from_block(block: types.ContentBlock) -> Block:
    """Convert a block; a text about the problem if its bytes are broken."""
    try:
        return from_block(block)
    except InvalidOutput as error:
        return Text(f"[{error.text}]")


def to_block(block: Block) -> types.ContentBlock:
    """Convert one block for the peer.

    Pictures, sounds and files go as bytes; what has only an address goes as a link to a resource.
    """
    match block:
        case Text(text, extra) | Data(text=text, extra=extra):
            link = _link_from_text(text, extra)
            return link or types.TextContent(text=text, **_split_extra(extra))
        case Image() | File() if block.url:
            return _url_to_link(block)
        case Image(data, media_type) | Audio(data, media_type):
            kind = types.ImageContent if isinstance(block, Image) else types.AudioContent
            return kind(
                data=_encode_base64(data), mime_type=media_type, **_split_extra(block.extra)
            )
        case _:
            return types.EmbeddedResource(resource=_contents(block), **_split_extra(block.extra))


def from_block(block: types.ContentBlock) -> Block:
    """Convert one block of a peer.

    A link to a resource becomes a text that names it: only its server can read it, so no provider
    shall try to fetch it.

    Raises:
        InvalidOutput: if its bytes are not Base64.
    """
    extra = _extra(block)
    match block:
        case types.TextContent():
            return Text(block.text, extra)
        case types.ImageContent():
            return Image(_decode_base64(block.data, "an image"), block.mime_type, "", extra)
        case types.AudioContent():
            return Audio(_decode_base64(block.data, "a sound"), block.mime_type, extra)
        case types.ResourceLink():
            return Text(link_text(block), {"resource_link": _dump(block)})
        case types.EmbeddedResource():
            return file_from_contents(block.resource, extra)


def link_text(link: types.ResourceLink) -> str:
    """Return the text that names a linked resource for a model.

    >>> link_text(types.ResourceLink(name="log", uri="app://log", mime_type="text/plain"))
    '[resource log: app://log, text/plain]'
    """
    about = [text for text in (link.mime_type, link.description) if text]
    return f"[resource {link.title or link.name}: {', '.join([link.uri, *about])}]"


def file_from_contents(
    contents: types.TextResourceContents | types.BlobResourceContents,
    extra: Mapping[str, object] = NOTHING,
) -> File:
    """Convert a resource's contents to a file, with its URI in `extra`.

    Raises:
        InvalidOutput: if its bytes are not Base64.
    """
    sides: dict[str, object] = {**extra, "uri": contents.uri}
    if contents.meta:
        sides["resource_meta"] = contents.meta
    name = unquote(urlsplit(contents.uri).path.rstrip("/").rpartition("/")[2]) or contents.uri
    if isinstance(contents, types.TextResourceContents):
        return File(contents.text.encode(), name, contents.mime_type or "text/plain", "", sides)
    media_type = contents.mime_type or "application/octet-stream"
    return File(_decode_base64(contents.blob, "a resource"), name, media_type, "", sides)


def _contents(file: File) -> types.TextResourceContents | types.BlobResourceContents:
    """Convert a file to resource contents: text if its media type is one and it is UTF-8, else bytes."""
    uri = file.extra.get("uri")
    fields: dict[str, Any] = {
        "uri": uri if isinstance(uri, str) else f"file:///{quote(file.name)}",
        "mime_type": file.media_type,
    }
    if isinstance(meta := file.extra.get("resource_meta"), Mapping):
        fields["_meta"] = dict(meta)
    if is_text_type(file.media_type):
        try:
            return types.TextResourceContents(text=file.data.decode(), **fields)
        except UnicodeDecodeError:
            pass  # it is not UTF-8: then its bytes are all that is sure
    return types.BlobResourceContents(blob=_encode_base64(file.data), **fields)


def _url_to_link(block: Image | File) -> types.ContentBlock:
    """Convert a block without bytes: decode a ``data:`` URL, link anything else."""
    here = inline(block)
    if here is not block:
        return to_block(here)
    name = block.name if isinstance(block, File) else "image"
    link = {"name": name, "uri": block.url, "mimeType": block.media_type, **block.extra}
    return types.ResourceLink.model_validate(link)


def _link_from_text(text: str, extra: Mapping[str, object]) -> types.ResourceLink | None:
    """Return the link that a text stands for; None if it is no link or was changed."""
    if not extra or (fields := extra.get("resource_link")) is None:
        return None
    try:
        link = types.ResourceLink.model_validate(fields)
    except ValidationError:
        return None
    return link if link_text(link) == text else None


def _split_extra(extra: Mapping[str, object]) -> dict[str, Any]:
    """Return the fields that every block of the protocol has."""
    return {key: extra[key] for key in ("annotations", "_meta") if key in extra} if extra else {}


def _extra(block: types.ContentBlock) -> Mapping[str, object]:
    """Return a block's annotations and ``_meta``, for our block's `extra`."""
    sides = {"annotations": block.annotations and _dump(block.annotations), "_meta": block.meta}
    return {key: value for key, value in sides.items() if value} or NOTHING


def _dump(model: BaseModel) -> dict[str, object]:
    """Return a model as JSON data with the protocol's names."""
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


_AROUND = re.compile(r"\Adata:[^,]{0,200},|\s+")
_FOR_URLS = str.maketrans("-_", "+/")


def _encode_base64(data: bytes) -> str:
    """Return bytes as base64 text."""
    return base64.b64encode(data).decode()


def _decode_base64(text: str, what: str) -> bytes:
    """Decode Base64, also URL-safe, unpadded, in lines or within a ``data:`` URL, or raise InvalidOutput."""
    plain = _AROUND.sub("", text).rstrip("=").translate(_FOR_URLS)
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except (ValueError, binascii.Error) as error:
        raise InvalidOutput(
            f"The server sent {what} whose bytes are not Base64. This is a fault of the server, "
            "not of the call."
        ) from error


# — definitions —


def to_definition(
    tool: AnyTool, name: str, output: Mapping[str, object] | None = None
) -> types.Tool:
    """Return the definition of a tool for the peer.

    Args:
        tool: The tool.
        name: Its name on the wire.
        output: JSON Schema of its structured results; by default none is declared.

    Raises:
        DefinitionError: its provider options are not JSON, or `name` is not legal.
        ValidationError: its provider options, such as ``icons``, are not as MCP defines them.
    """
    extras = {key: value for key, value in tool.provider_options.items() if key in _EXTRAS}
    annotations = {**to_annotations(tool.effects), **_mapping(extras.get("annotations"))}
    extras["annotations"] = annotations
    if output is not None:
        extras["outputSchema"] = output
    body = definition(name, tool.description, tool.parameters, "mcp", provider_options=extras).body
    return types.Tool.model_validate(body)


def from_definition(definition: Mapping[str, Any]) -> ToolOptions:
    """Return the tool options that a peer's definition sets.

    The schema is kept as it is (``unknown_keys="allow"``). Annotations become `Effects` unchecked; the
    caller decides if they are trusted.

    Args:
        definition: The tool as ``tools/list`` has it.
    """
    extras = {key: value for key, value in definition.items() if key in _EXTRAS}
    effects = from_annotations(definition.get("annotations"))
    return {"effects": effects, "provider_options": extras, "unknown_keys": "allow"}


def output_from_schema(schema: Mapping[str, object]) -> OutputSchema:
    """Return the output schema of a peer's tool, with a check by it.

    Args:
        schema: Schema of the result; one that compiles.
    """
    return output_from_validator(compile_when_used(schema))


def output_from_validator(compiled: JsonSchemaValidator | LazyValidator) -> OutputSchema:
    """Return the output schema of a peer's tool whose schema is compiled already."""

    def check(value: object) -> object:
        """Return the value unchanged.

        Raises:
            ValueError: the value does not fit the schema.
        """
        if not compiled.is_valid(value):
            raise ValueError("; ".join(map(str, compiled.errors(value)[:5])))
        return value

    return OutputSchema(compiled.schema if isinstance(compiled.schema, Mapping) else {}, check)


def to_annotations(effects: Effects) -> dict[str, object]:
    """Return our hints by the protocol's names. All four, so that clients need not guess.

    >>> to_annotations(Effects(read_only=True, open_world=False))
    {'readOnlyHint': True, 'destructiveHint': False, 'idempotentHint': True, 'openWorldHint': False}
    """
    return {
        "readOnlyHint": effects.read_only,
        "destructiveHint": effects.destructive and effects.writes,
        "idempotentHint": effects.repeatable,
        "openWorldHint": effects.open_world,
    }


def from_annotations(annotations: Mapping[str, Any] | None) -> Effects:
    """Return the effects of a peer's hints, with the protocol's defaults for missing ones; results count as a stranger's.

    >>> from_annotations({"readOnlyHint": True}).read_only
    True
    """
    return _from_hints(*((annotations or {}).get(hint) for hint in _HINTS))


@functools.cache
def _from_hints(*hints: bool | None) -> Effects:
    """Return the effects of the hints that are not None, with results that count as a stranger's."""
    known: dict[str, Any] = {
        name: hint for name, hint in zip(_HINTS.values(), hints, strict=True) if hint is not None
    }
    return dataclasses.replace(UNKNOWN, stranger=True, **known)  # whoever wrote what it tells


_HINTS = {
    "readOnlyHint": "read_only",
    "destructiveHint": "destructive",
    "idempotentHint": "idempotent",
    "openWorldHint": "open_world",
}


def _mapping(value: object) -> Mapping[str, object]:
    """Return a mapping, or an empty one for anything else."""
    return value if isinstance(value, Mapping) else NOTHING

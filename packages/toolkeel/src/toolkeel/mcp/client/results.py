"""Results of servers as the model may see them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from toolkeel.content import Content, Text
from toolkeel.define.returns import OutputSchema
from toolkeel.mcp.content import FOR_USER, to_block
from toolkeel.mcp.transforms import TransformedTool
from toolkeel.messages import ToolMessage


def translate_error(message: ToolMessage, tool: TransformedTool) -> ToolMessage:
    """Return a server's error with a sentence on arguments that it names and that have other names here.

    Any other message is returned unchanged.
    """
    note = tool.translation(message.text) if message.failed else ""
    if not note:
        return message
    blocks = (Text(message.content),) if isinstance(message.content, str) else message.content
    return dataclasses.replace(message, content=(*blocks, Text(note)))


def check_result(message: ToolMessage, output: OutputSchema | None, server: str) -> ToolMessage:
    """Return a result as the model may see it, the person's blocks in its details; failed if it misfits `output`, if any."""
    content, apart = split_audience(message.content)
    details = {**message.details, FOR_USER: apart} if apart else message.details
    checked = dataclasses.replace(message, content=content, details=details)
    if output is None or message.failed:
        return checked
    try:
        output.check(message.artifact)
    except ValueError as error:
        blocks = (Text(content),) if isinstance(content, str) else content
        return dataclasses.replace(
            checked,
            content=(Text(_UNFIT.format(server)), *blocks),
            status="error",
            kind="invalid_output",
            details={**details, "error": str(error), "artifact": message.artifact},
        )
    return checked


_UNFIT = (
    "The server {} returned a result that does not fit what its tool promises. This is a fault of "
    "the server, not of the call, which has run. The result:"
)


def split_audience(content: Content) -> tuple[Content, tuple[dict[str, Any], ...]]:
    """Split a result into the content for the model and the blocks for the person.

    If all is for the person, the model's content says so.
    """
    if isinstance(content, str):
        return content, ()
    for_assistant = tuple(block for block in content if _is_for_model(block.extra))
    apart = tuple(
        to_block(block).model_dump(mode="json", by_alias=True, exclude_none=True)
        for block in content
        if not _is_for_model(block.extra)
    )
    if apart and not for_assistant:
        return "(the result is for the person, not for you)", apart
    return for_assistant, apart


def _is_for_model(extra: Mapping[str, object]) -> bool:
    """Return True unless a block is addressed to the person only."""
    annotations = extra.get("annotations")
    audience = annotations.get("audience") if isinstance(annotations, Mapping) else None
    return not audience or (isinstance(audience, list) and "assistant" in audience)

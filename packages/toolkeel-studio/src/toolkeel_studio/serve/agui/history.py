"""A session as the messages of an AG-UI client: what it has after it read all events."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ag_ui.core import types as ui

from toolkeel.content import Audio, Content, Data, File, Image, Text
from toolkeel.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from toolkeel_studio.serve.call_arguments import call_arguments
from toolkeel_studio.serve.contents import address_of, base64_of, media_of, plain_text
from toolkeel_studio.serve.snapshot import Snapshot, SnapshotMessage


def messages_of(snapshot: Snapshot) -> list[Any]:
    """Return the messages of people, agents and tools; no instructions."""
    made: list[Any] = []
    files: list[Any] = []
    for each in (*snapshot.messages, *snapshot.unread):
        if not isinstance(
            each.message, ToolMessage
        ):  # clients put results right behind their reply
            made += files
            files = [*_files(each)]
        made += _message(each)
    return [*made, *files]


def _files(each: SnapshotMessage) -> Iterator[Any]:
    if isinstance(each.message, AssistantMessage) and (files := files_of(each.message.content)):
        id = f"{each.id}-files"
        yield ui.ActivityMessage(id=id, activity_type="files", content=files)


def _message(each: SnapshotMessage) -> Iterator[Any]:
    match each.message:
        case UserMessage(content=content, origin="person"):
            yield ui.UserMessage(id=each.id, content=parts_of(content))
        case AssistantMessage() as reply:
            if thought := "".join(block.text for block in reply.reasoning):
                yield ui.ReasoningMessage(id=f"{each.id}-reasoning", content=thought)
            calls = [_call(call) for call in reply.tool_calls]
            text = plain_text(reply.content) or (None if calls else "")
            yield ui.AssistantMessage(id=each.id, content=text, tool_calls=calls or None)
        case ToolMessage(tool_call_id=call_id, content=content):
            id = result_id(each.id, call_id)
            yield ui.ToolMessage(id=id, content=parts_of(content), tool_call_id=call_id)
        case _:
            pass


def _call(call: ToolCall) -> ui.ToolCall:
    function = ui.FunctionCall(name=call.name, arguments=call_arguments(call))
    return ui.ToolCall(id=call.id, function=function)


def result_id(message_id: str, call_id: str) -> str:
    """Return the id of the message with the result of a call."""
    return f"{message_id}-{call_id}"


def files_of(content: Content) -> dict[str, Any]:
    """Return the pictures, sound and files of a reply, for which its message has no place; empty for none."""
    media = media_of(content)
    files = [{"mimeType": each.media_type, "url": address_of(each)} for each in media]
    return {"files": files} if files else {}


def parts_of(content: Content) -> Any:
    """Return content as text, or as parts if it has pictures, sound or files."""
    if isinstance(content, str) or not media_of(content):
        return plain_text(content)
    return [_part(block) for block in content]


def _part(block: Text | Image | Audio | File | Data) -> Any:
    if isinstance(block, Text | Data):
        return ui.TextPart(text=block.text)
    source: Any = ui.DataSource(value=base64_of(block), mime_type=block.media_type)
    if not isinstance(block, Audio) and not block.data:
        source = ui.UrlSource(value=block.url, mime_type=block.media_type)
    made = {Image: ui.ImagePart, Audio: ui.AudioPart, File: ui.DocumentPart}
    return made[type(block)](source=source)

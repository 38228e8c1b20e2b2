"""Messages in the JSON form of OpenTelemetry's GenAI conventions, and whether spans show content."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Literal

from toolkeel.content import Audio, Content, Data, File, Image, Text
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage
from toolkeel.observe import attribute_names

Json = dict[str, Any]
SWITCH = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"


def message_json(message: Message) -> str:
    """Format one message as JSON text: role and parts.

    >>> from toolkeel import UserMessage
    >>> message_json(UserMessage("你好"))
    '{"role": "user", "parts": [{"type": "text", "content": "你好"}]}'
    """
    match message:
        case AssistantMessage():
            made: Json = {"role": "assistant", "parts": _reply_parts(message)}
            made["finish_reason"] = message.finish_reason
        case ToolMessage():
            part = {"type": "tool_call_response", "id": message.tool_call_id}
            made = {"role": "tool", "parts": [{**part, "response": message.text}]}
        case SystemMessage():
            made = {"role": "system", "parts": _parts(message.content)}
        case _:
            made = {"role": "user", "parts": _parts(message.content)}
    return json.dumps(made, ensure_ascii=False)


def messages_json(texts: Sequence[str]) -> str:
    """Join messages, each formatted by `message_json`, to one JSON list."""
    return f"[{', '.join(texts)}]"


def request_attributes(messages: Sequence[Message], most: int) -> dict[str, str | int]:
    """Return a request's messages and instructions as attributes, and the number of omitted messages.

    Args:
        messages: What is sent.
        most: Maximum characters of the messages; the oldest ones beyond it are left out.
    """
    system = list(takewhile(lambda message: isinstance(message, SystemMessage), messages))
    parts = [part for message in system for part in _parts(message.content)]
    said = messages[len(system) :]
    kept: list[str] = []
    for message in reversed(said):
        text = message_json(message)
        most -= len(text) + 2
        if most < 0:
            break
        kept.insert(0, text)
    made: dict[str, str | int] = {attribute_names.INPUT: messages_json(kept)}
    if parts:
        made[attribute_names.INSTRUCTIONS] = json.dumps(parts, ensure_ascii=False)
    if left_out := len(said) - len(kept):
        made[attribute_names.LEFT_OUT] = left_out
    return made


def arguments_json(call: ToolCall) -> str:
    """Return a call's arguments as text: as the model wrote them, or an object as JSON."""
    if isinstance(call.arguments, Mapping):
        return json.dumps(dict(call.arguments), ensure_ascii=False, default=str)
    return str(call.arguments)


def _reply_parts(message: AssistantMessage) -> list[Json]:
    """Return a reply's reasoning, content and calls as parts."""
    thoughts = [{"type": "reasoning", "content": r.text} for r in message.reasoning if r.text]
    calls = [
        {"type": "tool_call", "id": c.id, "name": c.name, "arguments": arguments_json(c)}
        for c in message.tool_calls
    ]
    return [*thoughts, *_parts(message.content), *calls]


def _parts(content: Content) -> list[Json]:
    """Return content as parts; none for empty text."""
    if isinstance(content, str):
        return [{"type": "text", "content": content}] if content else []
    return [_part(block) for block in content]


def _part(block: Text | Image | Audio | File | Data) -> Json:
    """Return a block as a part: its text, the URI of media that has one, or the type and size of its bytes."""
    if isinstance(block, Text | Data):
        return {"type": "text", "content": block.text}
    what = type(block).__name__.lower()
    kind = {"mime_type": block.media_type, "modality": "document" if what == "file" else what}
    url = getattr(block, "url", "")
    if url and not url.startswith("data:"):
        return {"type": "uri", **kind, "uri": url}
    return {"type": "blob", **kind, "size": len(block.data)}


def is_content_requested() -> bool:
    """Return True if the environment asks for content on spans, or raise SetupError for an unknown value."""
    said: Literal["no_content", "span_only"] | str = os.environ.get(SWITCH, "no_content").lower()
    if said not in ("no_content", "span_only"):
        raise SetupError(f"{SWITCH} is no_content or span_only here, not {said!r:.40}")
    return said == "span_only"

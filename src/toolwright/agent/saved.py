"""A run as JSON, to go on in another process.

Plain data with a version number: nothing in it is ever imported, called or evaluated.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from toolwright.approval import Ticket
from toolwright.content import Audio, Block, Content, Data, File, Image, Text
from toolwright.errors import SetupError
from toolwright.messages import (
    AssistantMessage,
    Message,
    Reasoning,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolwright.record import record

VERSION = 1
Json = dict[str, Any]


@record
class RunState:
    """Where a run stands: all that is needed to go on.

    Args:
        messages: The transcript.
        pending: What waits for a person.
    """

    messages: tuple[Message, ...]
    pending: tuple[Ticket, ...] = ()

    def to_json(self) -> str:
        """As text. Artifacts that JSON cannot hold stay behind."""
        state = {
            "version": VERSION,
            "messages": [dump_message(message) for message in self.messages],
            "pending": [ticket.to_dict() for ticket in self.pending],
        }
        return json.dumps(state, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> RunState:
        """Back from `to_json`.

        Raises:
            SetupError: if the text is not a saved run of a version this library reads.
        """
        try:
            data = json.loads(text)
            if data["version"] != VERSION:
                raise SetupError(f"a saved run of version {data['version']!r} cannot be read here")
            return cls(
                tuple(load_message(message) for message in data["messages"]),
                tuple(Ticket.from_dict(ticket) for ticket in data["pending"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise SetupError(f"this is not a saved run: {type(error).__name__}: {error}") from None


def dump_message(message: Message) -> Json:
    """One message as JSON-ready data, without what is at its default."""
    match message:
        case SystemMessage(content):
            return {"role": "system", "content": _dump_content(content)}
        case UserMessage(content):
            return {"role": "user", "content": _dump_content(content)}
        case AssistantMessage():
            return _dump_reply(message)
        case _:
            return _dump_result(message)


def _dump_reply(message: AssistantMessage) -> Json:
    calls = [
        _without_defaults(
            {
                "id": call.id,
                "name": call.name,
                "arguments": _plain(call.arguments),
                "complete": None if call.complete else False,
                "extra": _plain(dict(call.extra)),
            }
        )
        for call in message.tool_calls
    ]
    return _without_defaults(
        {
            "role": "assistant",
            "content": _dump_content(message.content),
            "tool_calls": calls,
            "finish_reason": message.finish_reason,
            "usage": _fields(message.usage),
            "reasoning": [_fields(item) for item in message.reasoning],
            "model": message.model,
            "extra": _plain(dict(message.extra)),
        }
    )


def _dump_result(message: ToolMessage) -> Json:
    return _without_defaults(
        {
            "role": "tool",
            "content": _dump_content(message.content),
            "tool_call_id": message.tool_call_id,
            "name": message.name,
            "status": message.status,
            "kind": message.kind,
            "artifact": _plain(message.artifact),
            "details": _plain(dict(message.details)),
            "duration": message.duration,
        }
    )


def load_message(data: Mapping[str, Any]) -> Message:
    """Back from `dump_message`.

    Raises:
        ValueError, KeyError, TypeError: if `data` is no message.
    """
    content = _load_content(data.get("content", ""))
    match data["role"]:
        case "system":
            return SystemMessage(content)
        case "user":
            return UserMessage(content)
        case "assistant":
            return _load_reply(data, content)
        case "tool":
            keys = ("tool_call_id", "name", "status", "kind", "artifact", "details", "duration")
            return ToolMessage(content, **{key: data[key] for key in keys if key in data})
    raise ValueError(f"there is no role {data['role']!r}")


def _load_reply(data: Mapping[str, Any], content: Content) -> AssistantMessage:
    return AssistantMessage(
        content,
        tuple(ToolCall(**call) for call in data.get("tool_calls", ())),
        data["finish_reason"],
        Usage(**data.get("usage", {})),
        tuple(Reasoning(**item) for item in data.get("reasoning", ())),
        data.get("model", ""),
        data.get("extra", {}),
    )


def _dump_content(content: Content) -> object:
    return content if isinstance(content, str) else [_dump_block(block) for block in content]


def _dump_block(block: Block) -> Json:
    fields = _fields(block)
    if "data" in fields:
        fields["data"] = base64.b64encode(fields["data"]).decode()
    if isinstance(block, Data):
        fields["value"] = _plain(block.value)
    return {"type": type(block).__name__.lower(), **fields}


def _load_content(content: object) -> Content:
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        raise TypeError("content is neither text nor a list")
    return tuple(_load_block(block) for block in content)


_BLOCKS: dict[str, Callable[..., Block]] = {
    "text": Text,
    "image": Image,
    "audio": Audio,
    "file": File,
    "data": Data,
}
assert len(_BLOCKS) == len(get_args(Block))


def _load_block(data: Mapping[str, Any]) -> Block:
    fields = {key: value for key, value in data.items() if key != "type"}
    if "data" in fields:
        fields["data"] = base64.b64decode(fields["data"], validate=True)
    return _BLOCKS[data["type"]](**fields)


def _fields(item: Any) -> Json:
    return {name: getattr(item, name) for name in item.__slots__}


def _without_defaults(data: Json) -> Json:
    return {key: value for key, value in data.items() if value not in (None, [], {})}


def _plain(value: object) -> Any:
    """`value` as JSON holds it; what it cannot hold is left behind, never guessed."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return None

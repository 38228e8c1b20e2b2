"""A run as JSON, to go on in another process.

Plain data with a version number: nothing in it is ever imported, called or evaluated, and each
field is checked when it is read. It holds the transcript, and the transcript holds the calls that
will run; so whoever can write a saved run decides what runs. Where that may be somebody else, give
both directions a key.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, get_args

from toolwright.approval import Decision, Ticket
from toolwright.call.parse import normalise
from toolwright.content import Audio, Block, Content, Data, File, Image, Text
from toolwright.errors import CallError, Kind, SetupError
from toolwright.messages import (
    AssistantMessage,
    FinishReason,
    Message,
    Reasoning,
    Status,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolwright.record import NOTHING, Kinds, read_fields, record

VERSION = 1
DEPTH = 100
"""Levels of lists and objects that are saved of a value; what lies deeper stays behind."""
Json = dict[str, Any]


@record
class InnerRun:
    """A run that is a call of another, and waits with it.

    Args:
        state: Where it stands.
        decision: By which its call was let through, if somebody had to: it is not asked again.
    """

    state: RunState
    decision: Decision | None = None


@record
class RunState:
    """Where a run stands: all that is needed to go on.

    Args:
        messages: The transcript.
        pending: What waits for a person, also in the inner runs.
        inner: Runs of agents that were called as tools, by the id of their call.
    """

    messages: tuple[Message, ...]
    pending: tuple[Ticket, ...] = ()
    inner: Mapping[str, InnerRun] = NOTHING  # type: ignore[assignment]

    def to_json(self, key: bytes = b"") -> str:
        """As text. Artifacts that JSON cannot hold stay behind.

        Args:
            key: Signs the text (HMAC-SHA256), so that `from_json` refuses what others have changed.

        Raises:
            SetupError: if a call's arguments are no JSON.
        """
        state: Json = {"version": VERSION, **_dump_state(self)}
        if key:
            state["signature"] = _signature(state, key)
        return _text(state)

    @classmethod
    def from_json(cls, text: str, key: bytes = b"") -> RunState:
        """Back from `to_json`.

        That an agent may be called as a tool is asked again, though it was decided before, unless
        a key proves that it was.

        Args:
            text: What `to_json` gave.
            key: The key it was signed with, if it was.

        Raises:
            SetupError: if the text is not a saved run of a version this library reads, or its
                signature is not by this key.
        """
        try:
            data = json.loads(text, parse_constant=_no_number)
            if not isinstance(data, dict):
                raise ValueError("no object")
            if data.get("version") != VERSION:
                version = data.get("version")
                raise SetupError(f"a saved run of version {version!r:.40} cannot be read here")
            signature = data.pop("signature", "")
            if key and not hmac.compare_digest(_signature(data, key), str(signature)):
                raise SetupError("this saved run is not signed with this key, or was changed")
            del data["version"]
            return _load_state(data, signed=bool(key))
        except (ValueError, RecursionError) as error:
            raise SetupError(f"this is not a saved run: {error}"[:300]) from None


def _text(data: Json) -> str:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can carry
        return json.dumps(data, allow_nan=False)
    return text


def _signature(state: Json, key: bytes) -> str:
    text = json.dumps(state, sort_keys=True, separators=(",", ":"))
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def _no_number(text: str) -> object:
    raise ValueError(f"{text} is no number")


# — out —


def _dump_state(state: RunState) -> Json:
    fields: Json = {
        "messages": [dump_message(message) for message in state.messages],
        "pending": [ticket.to_dict() for ticket in state.pending],
    }
    if state.inner:
        fields["inner"] = {id: _dump_inner(inner) for id, inner in state.inner.items()}
    return fields


def _dump_inner(inner: InnerRun) -> Json:
    fields: Json = {"state": _dump_state(inner.state)}
    if inner.decision is not None:
        fields["decision"] = inner.decision.to_dict()
    return fields


def dump_message(message: Message) -> Json:
    """One message as JSON-ready data, without what is at its default.

    Raises:
        SetupError: if a call's arguments are no JSON.
    """
    match message:
        case SystemMessage(content):
            return {"role": "system", "content": _dump_content(content)}
        case UserMessage(content):
            return {"role": "user", "content": _dump_content(content)}
        case AssistantMessage():
            return {"role": "assistant", **_dump_reply(message)}
        case _:
            return {"role": "tool", **_dump_result(message)}


def _dump_reply(message: AssistantMessage) -> Json:
    fields = {
        "content": _dump_content(message.content),
        "tool_calls": [_dump_call(call) for call in message.tool_calls],
        "usage": _changed(message.usage),
        "reasoning": [_changed(item) for item in message.reasoning],
        "model": message.model,
        "extra": _plain(message.extra),
    }
    given = {name: value for name, value in fields.items() if value}
    return {**given, "finish_reason": message.finish_reason}


def _dump_call(call: ToolCall) -> Json:
    fields: Json = {**_changed(call), "id": call.id, "name": call.name}
    if not isinstance(call.arguments, str):
        try:
            text = _arguments(call)
            fields["arguments"] = json.loads(text, parse_constant=_no_number)
        except (CallError, ValueError, TypeError) as error:
            raise SetupError(f"the call {call.id!r} of {call.name!r}: {error}") from None
    if call.extra:
        fields["extra"] = _plain(call.extra)
    return fields


def _arguments(call: ToolCall) -> str:
    try:
        return normalise(call.arguments)
    except CallError:
        if not isinstance(call.arguments, Mapping):
            raise
        # Half a surrogate pair, which only an escape can carry: the call failed, the run goes on.
        return json.dumps(dict(call.arguments), allow_nan=False)


def _dump_result(message: ToolMessage) -> Json:
    fields = {**_changed(message), "content": _dump_content(message.content)}
    if message.details:
        fields["details"] = _plain(message.details)
    fields["artifact"] = _plain(message.artifact)
    if fields["artifact"] is None:
        del fields["artifact"]
    return fields


def _changed(item: Any) -> Json:
    """A record's fields that are not at their default."""
    values = {f.name: (getattr(item, f.name), f.default) for f in dataclasses.fields(item)}
    return {name: value for name, (value, default) in values.items() if not _same(value, default)}


def _same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and bool(value == default))


def _dump_content(content: Content) -> object:
    return content if isinstance(content, str) else [_dump_block(block) for block in content]


def _dump_block(block: Block) -> Json:
    fields = {f.name: getattr(block, f.name) for f in dataclasses.fields(block)}
    if "data" in fields:
        fields["data"] = base64.b64encode(fields["data"]).decode()
    if isinstance(block, Data):
        fields["value"] = _plain(block.value)
    del fields["extra"]
    if block.extra:
        fields["extra"] = _plain(block.extra)
    return {"type": type(block).__name__.lower(), **fields}


def _plain(value: object, depth: int = DEPTH) -> Any:
    """`value` as JSON holds it; what it cannot hold is left behind, never guessed."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if not depth or not isinstance(value, Mapping | list | tuple):
        return None
    if isinstance(value, Mapping):
        return {str(key): _plain(item, depth - 1) for key, item in value.items()}
    return [_plain(item, depth - 1) for item in value]


# — in —

_TEXT: Kinds = (str,)
_OBJECT: Kinds = (dict,)
_LIST: Kinds = (list,)
_CONTENT: Kinds = (str, list)
_ANY: Kinds = (object, bool)
_STATE = {"messages": _LIST, "pending": _LIST}
_STATE_MORE = {"inner": _OBJECT}
_CALL = {"id": _TEXT, "name": _TEXT}
_CALL_MORE = {"arguments": (str, dict), "complete": (bool,), "extra": _OBJECT}
_REPLY_MORE: dict[str, Kinds] = {
    "content": _CONTENT,
    "tool_calls": _LIST,
    "usage": _OBJECT,
    "reasoning": _LIST,
    "model": _TEXT,
    "extra": _OBJECT,
}
_RESULT_MORE: dict[str, Kinds] = {
    "tool_call_id": _TEXT,
    "name": _TEXT,
    "status": _TEXT,
    "kind": _TEXT,
    "artifact": _ANY,
    "details": _OBJECT,
    "duration": (int, float),
}
_USAGE = {f.name: (int,) for f in dataclasses.fields(Usage)}
_REASONING = {f.name: _TEXT for f in dataclasses.fields(Reasoning)}


def _load_state(data: object, *, signed: bool) -> RunState:
    fields = read_fields(data, _STATE, _STATE_MORE)
    return RunState(
        tuple(load_message(message) for message in fields["messages"]),
        tuple(Ticket.from_dict(ticket) for ticket in fields["pending"]),
        {id: _load_inner(inner, signed) for id, inner in fields.get("inner", NOTHING).items()},
    )


def _load_inner(data: object, signed: bool) -> InnerRun:
    fields = read_fields(data, {"state": _OBJECT}, {"decision": _OBJECT})
    decision = Decision.from_dict(fields["decision"]) if "decision" in fields else None
    # Who can write a saved run could else write that a person has let something through.
    return InnerRun(_load_state(fields["state"], signed=signed), decision if signed else None)


def load_message(data: object) -> Message:
    """Back from `dump_message`.

    Raises:
        ValueError: if `data` is no message.
    """
    if not isinstance(data, Mapping):
        raise ValueError("a message is an object")
    fields = {key: value for key, value in data.items() if key != "role"}
    match data.get("role"):
        case "system":
            return SystemMessage(_load_content(read_fields(fields, _SAID, {})["content"]))
        case "user":
            return UserMessage(_load_content(read_fields(fields, _SAID, {})["content"]))
        case "assistant":
            return _load_reply(fields)
        case "tool":
            return _load_result(fields)
    raise ValueError(f"there is no role {data.get('role')!r:.40}")


_SAID = {"content": _CONTENT}


def _load_reply(data: Json) -> AssistantMessage:
    fields = read_fields(data, {"finish_reason": _TEXT}, _REPLY_MORE)
    _check_word(fields, "finish_reason", get_args(FinishReason))
    if "content" in fields:
        fields["content"] = _load_content(fields["content"])
    for name, kinds, make in (
        ("tool_calls", (_CALL, _CALL_MORE), ToolCall),
        ("reasoning", ({}, _REASONING), Reasoning),
    ):
        fields[name] = tuple(make(**read_fields(item, *kinds)) for item in fields.get(name, ()))
    fields["usage"] = Usage(**read_fields(fields.get("usage", {}), {}, _USAGE))
    return AssistantMessage(**fields)


def _load_result(data: Json) -> ToolMessage:
    fields = read_fields(data, _SAID, _RESULT_MORE)
    _check_word(fields, "status", get_args(Status))
    _check_word(fields, "kind", get_args(Kind))
    fields["content"] = _load_content(fields["content"])
    return ToolMessage(**fields)


def _check_word(fields: Json, name: str, words: Sequence[str]) -> None:
    if name in fields and fields[name] not in words:
        raise ValueError(f"{name} cannot be {fields[name]!r:.40}")


def _load_content(content: object) -> Content:
    if isinstance(content, str):
        return content
    assert isinstance(content, list)
    return tuple(_load_block(block) for block in content)


_BLOCKS: dict[str, tuple[Callable[..., Block], dict[str, Kinds]]] = {
    "text": (Text, {"text": _TEXT}),
    "image": (Image, {"data": _TEXT, "media_type": _TEXT, "url": _TEXT}),
    "audio": (Audio, {"data": _TEXT, "media_type": _TEXT}),
    "file": (File, {"data": _TEXT, "name": _TEXT, "media_type": _TEXT, "url": _TEXT}),
    "data": (Data, {"value": _ANY, "text": _TEXT}),
}
_BLOCK_MORE = {"extra": _OBJECT}
assert len(_BLOCKS) == len(get_args(Block))


def _load_block(data: object) -> Block:
    if not isinstance(data, Mapping) or str(data.get("type")) not in _BLOCKS:
        raise ValueError("a block of content of no known type")
    make, kinds = _BLOCKS[str(data["type"])]
    fields = read_fields({key: data[key] for key in data if key != "type"}, kinds, _BLOCK_MORE)
    if "data" in fields:
        fields["data"] = base64.b64decode(fields["data"], validate=True)
    return make(**fields)

"""Messages as LangChain's JSON and back: `dumpd`, `dumps`, `load`, `loads`, `messages_to_dict`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from toolkeel._records.messages_json import dump_message, load_message
from toolkeel.errors import SetupError
from toolkeel.messages import Message
from toolkeel_compat.content_blocks import to_langchain_content
from toolkeel_compat.langchain.messages import (
    AIMessage,
    HumanMessage,
    MessageMixin,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from toolkeel_compat.langchain.streaming.message_chunks import AIMessageChunk
from toolkeel_compat.langchain.tool_calls import to_tool_call

_CLASSES: Mapping[str, type[Any]] = {
    kind.__name__: kind
    for kind in (AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage)
}
_BY_TYPE: Mapping[str, type[Any]] = {kind.type: kind for kind in _CLASSES.values()}
_PLACE = ["langchain", "schema", "messages"]
_OWN = "toolkeel"
"""Key of a message's ``additional_kwargs`` for the complete message."""
_EMPTY = ("additional_kwargs", "response_metadata", "invalid_tool_calls")
"""Fields of stored messages that messages here do not have, and that say nothing when empty."""


def dumpd(obj: Any) -> Any:
    """Return messages as JSON-ready data, also those in lists and dicts.

    Raises:
        SetupError: A value is neither a message nor JSON data.

    >>> dumpd(HumanMessage("hi"))["kwargs"]
    {'content': 'hi', 'type': 'human'}
    """
    match obj:
        case MessageMixin():
            name, kwargs = type(obj).__name__, _read_fields(obj)
            kwargs = {key: value for key, value in kwargs.items() if value is not None}
            return {"lc": 1, "type": "constructor", "id": [*_PLACE, name], "kwargs": kwargs}
        case None | bool() | int() | float() | str():
            return obj
        case Mapping():
            made = {str(key): dumpd(value) for key, value in obj.items()}
            return {"__lc_escaped__": made} if "lc" in made or "__lc_escaped__" in made else made
        case list() | tuple():
            return [dumpd(one) for one in obj]
    raise SetupError(
        f"dumpd({type(obj).__name__}): messages and JSON data are stored; a session stores the rest"
    )


def dumps(obj: Any, *, pretty: bool = False, **kwargs: Any) -> str:
    """Return `dumpd` as JSON text.

    Args:
        obj: See `dumpd`.
        pretty: Indent the text.
        kwargs: Passed to `json.dumps`.
    """
    options = {"indent": 2, **kwargs} if pretty else kwargs
    return json.dumps(dumpd(obj), **options)


def load(obj: Any, **options: Any) -> Any:
    """Return what `dumpd` wrote. Only messages are created.

    Args:
        obj: The data.
        options: ``allowed_objects``, which is ignored: no other class is ever created.

    Raises:
        SetupError: An object is not a message, or has a field that messages here do not have.
        TypeError: Another option is passed.
    """
    if strange := sorted(options.keys() - {"allowed_objects"}):
        raise TypeError(f"load() has no option {', '.join(strange)}: only messages are created")
    match obj:
        case {"lc": 1, "type": "constructor", "id": [*_, str(name)], "kwargs": kwargs} if (
            name in _CLASSES
        ):
            return _make_message(_CLASSES[name], load(kwargs))
        case {"lc": _, "type": str(), "id": place}:
            raise SetupError(f"load(): {place} is no message; only messages are created")
        case {"__lc_escaped__": inner}:
            return {key: load(value) for key, value in inner.items()}
        case Mapping():
            return {key: load(value) for key, value in obj.items()}
        case list():
            return [load(one) for one in obj]
    return obj


def loads(text: str, **options: Any) -> Any:
    """Return what `dumps` wrote. See `load`."""
    return load(json.loads(text), **options)


def message_to_dict(message: Any) -> dict[str, Any]:
    """Return a message as a dict of its ``type`` and ``data``."""
    empty: dict[str, Any] = {"additional_kwargs": {}, "response_metadata": {}}
    return {"type": message.type, "data": empty | _read_fields(message)}


def messages_to_dict(messages: Sequence[Any]) -> list[dict[str, Any]]:
    """Return messages as dicts of their ``type`` and ``data``."""
    return [message_to_dict(one) for one in messages]


def messages_from_dict(messages: Iterable[Mapping[str, Any]]) -> list[Message]:
    """Return the messages that `messages_to_dict` wrote.

    Raises:
        SetupError: A type is unknown, or a message has a field that messages here do not have.
    """
    made = []
    for one in messages:
        if one["type"] not in _BY_TYPE:
            raise SetupError(f"messages_from_dict(): there is no message of type {one['type']!r}")
        made.append(_make_message(_BY_TYPE[one["type"]], one["data"]))
    return made


def _read_fields(message: Any) -> dict[str, Any]:
    """Return a message's fields in LangChain's form, and what that form has no place for beside it."""
    [message] = convert_to_messages([message])
    content = to_langchain_content(message.core_content)
    fields: dict[str, Any] = {"content": content, "type": message.type}
    fields |= {"name": message.name or None, "id": message.id}
    if isinstance(message, AIMessage):
        calls = map(to_tool_call, message.tool_calls)
        fields["tool_calls"] = [
            {"name": one.name, "args": one.args, "id": one.id, "type": "tool_call"} for one in calls
        ]
        fields["invalid_tool_calls"] = []
        fields["usage_metadata"] = message.usage_metadata
    if isinstance(message, ToolMessage):
        fields |= {"tool_call_id": message.tool_call_id, "status": message.status}
        fields["artifact"] = message.artifact if _is_json(message.artifact) else None
    if _make_message(type(message), fields) != message:
        fields["additional_kwargs"] = {_OWN: dump_message(message)}
    return fields


def _is_json(value: object) -> bool:
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


def _make_message(kind: type[Any], fields: Mapping[str, Any]) -> Any:
    """Create a message of stored fields; empty ones that messages here do not have are left out."""
    if (own := (fields.get("additional_kwargs") or {}).get(_OWN)) is not None:
        message = convert_to_messages([load_message(own)])[0]
        values = {name: getattr(message, name) for name in kind.__match_args__}
        return kind(**values) if kind is AIMessageChunk else message
    known = {key: value for key, value in fields.items() if not (key in _EMPTY and not value)}
    known.pop("type", None)
    if known.get("name", 0) is None:
        del known["name"]
    try:
        return kind(**known)
    except TypeError as error:
        raise SetupError(f"{kind.__name__}: {error}") from None

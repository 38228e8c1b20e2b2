"""Reads stored conversations of the Responses wire as messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolkeel.content import Block, Content, File, Image, Text
from toolkeel.messages import AssistantMessage, Message, SystemMessage, UserMessage
from toolkeel.providers.openai_responses.native_calls import NATIVE_CALLS
from toolkeel.providers.openai_responses.profile import CALLS, WIRE
from toolkeel.providers.openai_responses.stream import StreamDecoder
from toolkeel.providers.wire.media import content_of, data_block, inline, unknown_block
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text
from toolkeel.providers.wire.stored_conversations import StoredCalls, body_of, from_wire, texts_of
from toolkeel.providers.wire.tools import Tools, WireTools, wire_tools

_ANSWERS = frozenset(
    {
        "function_call_output",
        "custom_tool_call_output",
        *(native.answer for native in NATIVE_CALLS.values()),
    }
)


def decode_messages(body: object, *, tools: Tools = (), model: str = "") -> list[Message]:
    """A stored conversation of this wire as messages, to go on with over any.

    Args:
        body: A request's body, or its ``input`` alone, with an SDK's objects in it or without; or
            their JSON text.
        tools: The tools as they were sent; then calls carry their own names again, and calls of
            the server's own tools are calls of those that stand for them.
        model: Which model answered, if the body does not say it: encrypted reasoning goes back to
            that one alone. Unknown, it goes back to any model on this wire.

    Raises:
        ModelError: if it is no conversation, or one of another wire.

    >>> [message] = decode_messages([{"role": "user", "content": "几点?"}])
    >>> message
    UserMessage(content='几点?')
    """
    request = body_of(body, "input", WIRE)
    named = model or as_text(request.get("model"))
    messages: list[Message] = [SystemMessage(one) for one in texts_of(request.get("instructions"))]
    made, calls = wire_tools(tools, WIRE), StoredCalls()
    for items in _turns(map(as_dict, as_list(request["input"])), made):
        first = items[0]
        role, kind = first.get("role"), as_text(first.get("type"))
        if kind in _ANSWERS:
            id = as_text(first.get("call_id")) or as_text(first.get("approval_request_id"))
            messages.append(calls.answer(_output(first), id))
        elif role in ("system", "developer"):
            messages.append(SystemMessage("\n".join(texts_of(first.get("content")))))
        elif role == "user":
            messages.append(UserMessage(_content(first.get("content"))))
        else:
            reply = _reply(items, made, named)
            calls.add(reply)
            messages.append(reply)
    return messages


def _reply(items: list[Json], tools: WireTools, model: str) -> AssistantMessage:
    output = [_item(item) for item in items]
    answer = {"object": "response", "status": "completed", "output": output}
    return from_wire(StreamDecoder.decode(answer, tools=tools), WIRE, model)


def _turns(items: Iterable[Json], tools: WireTools) -> Iterator[list[Json]]:
    """The items of one reply together, all others alone."""
    reply: list[Json] = []
    called: set[object] = set()
    for item in items:
        kind = as_text(item.get("type"))
        if kind in CALLS or (kind in NATIVE_CALLS and tools.native(NATIVE_CALLS[kind].tools)):
            called |= {item.get("call_id"), item.get("id")} - {None}
        answered = item.get("call_id") or item.get("approval_request_id")
        alone = answered in called if kind in _ANSWERS else _is_said(item)
        if not alone:
            reply.append(item)
            continue
        if reply:
            yield reply
            reply = []
        yield [item]
    if reply:
        yield reply


def _is_said(item: Json) -> bool:
    return item.get("role") in ("user", "system", "developer") and (
        item.get("type") in (None, "message")
    )


def _item(item: Json) -> Json:
    """An output item; a plain message of the model's as one."""
    content = item.get("content")
    if item.get("role") != "assistant":
        return item
    if isinstance(content, str):
        content = [{"type": "output_text", "text": content, "annotations": []}]
    return {**item, "type": "message", "content": content}


def _output(item: Json) -> Content:
    output = item.get("output")
    match item.get("type"):
        case "computer_call_output":
            return (inline(Image(url=as_text(as_dict(output).get("image_url")))),)
        case "shell_call_output":
            return (data_block(output),)
        case "mcp_approval_response":
            told = {key: item[key] for key in ("approve", "reason") if key in item}
            return (data_block(told),)
    return _content(output)


def _content(content: object) -> Content:
    return content if isinstance(content, str) else content_of(map(_part, as_list(content)))


def _part(value: object) -> Block:
    part = as_dict(value)
    match part.get("type"):
        case "input_text" | "output_text" | "text":
            return Text(as_text(part.get("text")))
        case "input_image" if part.get("image_url"):
            return inline(Image(url=as_text(part["image_url"])))
        case "input_file" if part.get("file_data") or part.get("file_url"):
            url = as_text(part.get("file_data")) or as_text(part.get("file_url"))
            return inline(File(url=url, name=as_text(part.get("filename")) or "file"))
    return unknown_block(WIRE, part)

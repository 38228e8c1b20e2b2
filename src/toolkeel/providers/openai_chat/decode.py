"""Reads stored conversations of Chat Completions as messages."""

from __future__ import annotations

from toolkeel.content import Audio, Block, Content, File, Image, Text
from toolkeel.messages import Message, SystemMessage, UserMessage
from toolkeel.providers.openai_chat.stream import StreamDecoder
from toolkeel.providers.wire.media import content_of, inline, unknown_block
from toolkeel.providers.wire.plain_json import as_dict, as_list, as_text, decoded_base64
from toolkeel.providers.wire.stored_conversations import StoredCalls, body_of, from_wire, texts_of
from toolkeel.providers.wire.tools import Tools

WIRE = "openai-chat"


def decode_messages(body: object, *, tools: Tools = (), model: str = "") -> list[Message]:
    """A stored conversation of this wire as messages, to go on with over any.

    Args:
        body: A request's body, or its ``messages`` alone, with an SDK's objects in it or without;
            or their JSON text.
        tools: The tools as they were sent; then calls carry their own names again.
        model: Which model answered, if the body does not say it: its reasoning goes back to that
            one alone. Unknown, it goes back to any model on this wire.

    Raises:
        ModelError: if it is no conversation, or one of another wire.

    >>> [message] = decode_messages([{"role": "user", "content": "几点?"}])
    >>> message
    UserMessage(content='几点?')
    """
    request = body_of(body, "messages", WIRE)
    named = model or as_text(request.get("model"))
    messages: list[Message] = []
    calls = StoredCalls()
    for wire in map(as_dict, as_list(request["messages"])):
        content = wire.get("content")
        match wire.get("role"):
            case "assistant":
                choice = {"message": wire, "finish_reason": "stop"}
                reply = from_wire(StreamDecoder.decode(choice, tools=tools), WIRE, named)
                calls.add(reply, [as_text(as_dict(one).get("id")) for one in _calls(wire)])
                messages.append(reply)
            case "system" | "developer":
                messages.append(SystemMessage("\n".join(texts_of(content))))
            case "tool" | "function":
                id, name = as_text(wire.get("tool_call_id")), as_text(wire.get("name"))
                messages.append(calls.answer(_content(content), id, name="" if id else name))
            case _:
                messages.append(UserMessage(_content(content)))
    return messages


def _calls(wire: object) -> list[object]:
    return as_list(as_dict(wire).get("tool_calls"))


def _content(content: object) -> Content:
    return content if isinstance(content, str) else content_of(map(_part, as_list(content)))


def _part(value: object) -> Block:
    part = as_dict(value)
    match part.get("type"):
        case "text":
            return Text(as_text(part.get("text")))
        case "image_url":
            image = part.get("image_url")
            url = image if isinstance(image, str) else as_text(as_dict(image).get("url"))
            return inline(Image(url=url))
        case "input_audio":
            sound = as_dict(part.get("input_audio"))
            form = "mpeg" if sound.get("format") == "mp3" else as_text(sound.get("format")) or "wav"
            return Audio(decoded_base64(as_text(sound.get("data"))), f"audio/{form}")
        case "file" if as_dict(part.get("file")).get("file_data"):
            file = as_dict(part["file"])
            name = as_text(file.get("filename")) or "file"
            return inline(File(url=as_text(file.get("file_data")), name=name))
    return unknown_block(WIRE, part)

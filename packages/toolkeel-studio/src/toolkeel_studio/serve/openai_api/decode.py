"""Requests of OpenAI clients, as what they ask for; all other history in them is ignored."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from toolkeel._records.record import record
from toolkeel.content import Block, Content, Text
from toolkeel_studio.serve.client_tools import ClientTool
from toolkeel_studio.serve.contents import check_parts, decode_data_url, join_blocks
from toolkeel_studio.serve.decisions import Choice, collect_choices
from toolkeel_studio.serve.errors import ChannelError
from toolkeel_studio.serve.requests import ClientRequest


@record
class ResponseRequest:
    """The contents of a ``POST`` to the responses.

    Args:
        asked: The message, decisions, results and tools.
        previous: Id of the response before; empty for none.
        conversation: Name of a session that the client chose; empty for none.
        is_stream: Send events.
        is_background: Answer at once.
    """

    asked: ClientRequest
    previous: str
    conversation: str
    is_stream: bool
    is_background: bool


@record
class ChatRequest:
    """The contents of a ``POST`` to the chat completions.

    Args:
        asked: The last message of the person, or the results at the end of the request, and tools.
        history: The texts before it as the client has them, with their roles: only people's and agents'.
        task: What a chat's own program asks for, such as a title; empty for none.
        is_stream: Send chunks.
        has_usage: Send the usage in a last chunk.
    """

    asked: ClientRequest
    history: tuple[tuple[str, str], ...]
    task: str
    is_stream: bool
    has_usage: bool


def decode_response_request(body: Mapping[str, Any]) -> ResponseRequest:
    """Decode the body of a ``POST`` to the responses.

    Raises:
        ChannelError: it is no such request.
    """
    sent = body.get("input")
    items = [{"role": "user", "content": sent}] if isinstance(sent, str) else _dicts(sent)
    if not items:
        raise ChannelError("send input: a text, or a list of items")
    conversation = body.get("conversation")
    if isinstance(conversation, dict):
        conversation = conversation.get("id")
    answers: list[tuple[str, Choice]] = []
    results: dict[str, Any] = {}
    prompts: list[Any] = []
    for item in items:
        if item.get("type") == "mcp_approval_response":
            answers.append((_text(item, "approval_request_id"), _answer(item)))
        elif item.get("type") == "function_call_output":
            results[_text(item, "call_id")] = _output(item.get("output"))
        elif item.get("type", "message") == "message":
            prompts = [*prompts, item] if item.get("role") == "user" else []
    content = _join([decode_content(item.get("content")) for item in prompts])
    if not (content or answers or results):
        raise ChannelError(
            "send input that ends with a message of the user, or with answers to calls"
        )
    return ResponseRequest(
        ClientRequest(content, "", collect_choices(answers), results, _tools(body.get("tools"))),
        _text(body, "previous_response_id"),
        conversation if isinstance(conversation, str) else "",
        body.get("stream") is True,
        body.get("background") is True,
    )


def decode_chat_request(body: Mapping[str, Any]) -> ChatRequest:
    """Decode the body of a ``POST`` to the chat completions.

    Raises:
        ChannelError: it is no such request.
    """
    messages = _dicts(body.get("messages"))
    results: dict[str, str] = {}
    while messages and messages[-1].get("role") == "tool":
        last = messages.pop()
        results[_text(last, "tool_call_id")] = _output(last.get("content"))
    message = messages[-1] if messages and not results else {}
    if not results and message.get("role") != "user":
        raise ChannelError("send messages that end with one of the user, or with results of calls")
    before = [m for m in messages[:-1] if m.get("role") in ("user", "assistant")]
    metadata, options = body.get("metadata"), body.get("stream_options")
    content = decode_content(message.get("content")) if message else ""
    return ChatRequest(
        ClientRequest(content, results=results, tools=_tools(body.get("tools"))),
        tuple((m["role"], text) for m in before if (text := _output(m.get("content")))),
        _text(metadata, "task") if isinstance(metadata, dict) else "",
        body.get("stream") is True,
        isinstance(options, dict) and options.get("include_usage") is True,
    )


def decode_content(content: object) -> Content:
    """Return the content of a message: its texts, and its pictures and files as ``data:`` URLs.

    Raises:
        ChannelError: a file is somewhere else, or there are too many parts.
    """
    if isinstance(content, str):
        return content
    parts = _dicts(content)
    if not parts:
        raise ChannelError("the content of a message is a text, or a list of parts")
    check_parts(parts)
    return join_blocks([_block(part) for part in parts])


def _block(part: Mapping[str, Any]) -> Block:
    kind = part.get("type")
    if kind in ("text", "input_text", "output_text"):
        return Text(_text(part, "text"))
    if kind in ("image_url", "input_image"):
        url = part.get("image_url")
        return decode_data_url(url.get("url") if isinstance(url, dict) else url)
    if kind in ("file", "input_file"):
        inner = part.get("file")
        file = inner if isinstance(inner, dict) else part
        return decode_data_url(file.get("file_data"), _text(file, "filename"))
    raise ChannelError(f"a message cannot have a part of type {str(kind)[:40]!r}")


def _join(contents: Sequence[Content]) -> Content:
    if all(isinstance(each, str) for each in contents):
        return "\n\n".join(each for each in contents if isinstance(each, str))
    return tuple(
        block for each in contents for block in ((Text(each),) if isinstance(each, str) else each)
    )


def _answer(item: Mapping[str, Any]) -> Choice:
    """Return a decision: only the JSON value ``true`` approves."""
    return (
        Choice("approve") if item.get("approve") is True else Choice("deny", _text(item, "reason"))
    )


def _tools(value: object) -> tuple[ClientTool, ...] | None:
    if value is None:
        return None
    made = []
    for tool in _dicts(value):
        if tool.get("type") != "function":
            raise ChannelError("a client can bring tools of type function alone")
        inner = tool.get("function")
        function = inner if isinstance(inner, dict) else tool
        parameters = function.get("parameters") or {}
        if not isinstance(parameters, dict):
            raise ChannelError("the parameters of a tool are a JSON Schema of an object")
        about = _text(function, "name"), _text(function, "description")
        made.append(ClientTool(*about, parameters))
    return tuple(made)


def _output(value: object) -> str:
    """Return a result or an earlier message as text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, dict) for part in value):
        return "\n".join(_text(part, "text") for part in value)
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _text(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name)
    return value if isinstance(value, str) else ""


def _dicts(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []

"""Requests of AG-UI clients, as what they ask for; all other history in them is ignored."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from ag_ui.core import types as ui
from pydantic import ValidationError

from toolkeel._records.record import record
from toolkeel.content import Audio, Block, Content, File, Image, Text
from toolkeel_studio.serve.client_tools import ClientTool
from toolkeel_studio.serve.decisions import Choice
from toolkeel_studio.serve.errors import ChannelError

MAX_PARTS: Final = 64
"""Parts of one message of a person."""


@record
class AguiRequest:
    """What a request asks for.

    Args:
        thread_id: The session's name.
        run_id: The client's id of the run that it starts.
        is_current: The client declares version 1.0 or a later one.
        message_id: Id of the new message of the person; empty for none.
        content: The new message.
        answers: By approval id: what the client decides.
        results: By call id: the results of calls that the client ran. Those of other calls are ignored.
        tools: The tools that the client has; None if it names none.
        is_empty: There are no messages: the client wants those of the session.
    """

    thread_id: str
    run_id: str
    is_current: bool
    message_id: str
    content: Content
    answers: Mapping[str, Choice]
    results: Mapping[str, str]
    tools: tuple[ClientTool, ...] | None
    is_empty: bool


def decode_request(body: Mapping[str, Any]) -> AguiRequest:
    """Return what the body of a ``POST`` asks for.

    Raises:
        ChannelError: it is no ``RunAgentInput``.
    """
    try:
        sent = ui.RunAgentInput.model_validate(body)
    except ValidationError as error:
        place = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
        raise ChannelError(f"the body is no RunAgentInput: {place[:100]}") from None
    last = sent.messages[-1] if sent.messages else None
    said = last if isinstance(last, ui.UserMessage) else None
    tools = None if sent.tools is None else tuple(map(_tool, sent.tools))
    return AguiRequest(
        sent.thread_id,
        sent.run_id,
        (sent.protocol_version or "0").partition(".")[0] not in ("", "0"),
        "" if said is None else said.id,
        "" if said is None else decode_content(said.content),
        {each.interrupt_id: decode_answer(each) for each in sent.resume or ()},
        dict(_results(sent.messages)),
        tools,
        not sent.messages,
    )


def decode_answer(entry: ui.ResumeEntry) -> Choice:
    """Return a decision: only the JSON value ``true`` approves, and everything else denies.

    Of a server's question, ``resolved`` fills its form in with the payload; see `for_form`.
    """
    payload = entry.payload if isinstance(entry.payload, dict) else {}
    reason = payload.get("reason")
    edited = payload.get("editedArgs")
    if entry.status == "cancelled":
        return Choice("cancel", reason if isinstance(reason, str) else "")
    if payload.get("approved") is not True:
        return Choice("deny", reason if isinstance(reason, str) else "", value=entry.payload)
    if "editedArgs" not in payload or edited is None:
        return Choice("approve", value=entry.payload)
    if not isinstance(edited, dict):
        raise ChannelError("editedArgs is an object with all arguments of the call")
    return Choice("edit", arguments=edited, value=entry.payload)


def for_call(choice: Choice) -> Choice:
    """Return a decision on a call: to abandon it denies it."""
    if choice.verdict == "cancel":
        return Choice("deny", choice.reason)
    return Choice(choice.verdict, choice.reason, choice.arguments)


def for_form(choice: Choice) -> Choice:
    """Return the answer to a server's question: the payload is what its form is filled in with."""
    if choice.verdict == "cancel":
        return choice
    fields = choice.value if isinstance(choice.value, dict) else None
    return Choice("deny") if fields is None else Choice("edit", arguments=fields)


def _results(messages: Iterable[Any]) -> Iterable[tuple[str, str]]:
    for message in messages:
        if isinstance(message, ui.ToolMessage):
            text = message.content if isinstance(message.content, str) else _text(message.content)
            yield message.tool_call_id, f"Error: {message.error}" if message.error else text


def _text(parts: Sequence[Any]) -> str:
    return "\n".join(part.text for part in parts if isinstance(part, ui.TextPart))


def _tool(tool: ui.Tool) -> ClientTool:
    if not (tool.parameters is None or isinstance(tool.parameters, dict)):
        raise ChannelError(f"the parameters of {tool.name!r:.80} are no JSON Schema of an object")
    return ClientTool(tool.name, tool.description, tool.parameters or {})


def decode_content(content: str | Sequence[Any]) -> Content:
    """Return the content of a message of a person: its texts, and its files as data.

    Raises:
        ChannelError: a file is somewhere else, or there are too many parts.
    """
    if isinstance(content, str):
        return content
    if len(content) > MAX_PARTS:
        raise ChannelError(f"a message has at most {MAX_PARTS} parts")
    blocks = [_block(part) for part in content]
    if all(isinstance(block, Text) for block in blocks):
        return "\n".join(block.text for block in blocks if isinstance(block, Text))
    return tuple(blocks)


def _block(part: Any) -> Block:
    if isinstance(part, ui.TextPart):
        return Text(part.text)
    if not isinstance(part.source, ui.DataSource):
        raise ChannelError("send files as data; this server fetches nothing for a client")
    kind = part.source.mime_type
    try:
        data = base64.b64decode(part.source.value, validate=True)
    except binascii.Error:
        raise ChannelError("a file is no base64") from None
    if isinstance(part, ui.ImagePart):
        return Image(data, kind)
    return Audio(data, kind) if isinstance(part, ui.AudioPart) else File(data, "file", kind)

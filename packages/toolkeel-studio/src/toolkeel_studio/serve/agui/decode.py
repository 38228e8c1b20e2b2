"""Requests of AG-UI clients, as what they ask for; all other history in them is ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ag_ui.core import types as ui
from pydantic import ValidationError

from toolkeel._records.record import record
from toolkeel._records.tickets import Ticket
from toolkeel.content import Block, Content, Text
from toolkeel_studio.serve.client_tools import ClientTool
from toolkeel_studio.serve.contents import check_parts, decode_media, join_blocks
from toolkeel_studio.serve.decisions import Choice, Verdict, collect_choices
from toolkeel_studio.serve.errors import ChannelError
from toolkeel_studio.serve.requests import ClientRequest


@record
class AguiRequest:
    """The contents of a request.

    Args:
        thread_id: The session's name.
        run_id: The client's id of the run that it starts.
        is_current: The client declares version 1.0 or a later one.
        asked: The message, decisions, results and tools.
    """

    thread_id: str
    run_id: str
    is_current: bool
    asked: ClientRequest


def decode_request(body: Mapping[str, Any]) -> AguiRequest:
    """Decode the body of a ``POST``.

    Raises:
        ChannelError: it is no ``RunAgentInput``.
    """
    try:
        sent = ui.RunAgentInput.model_validate(body)
    except ValidationError as error:
        place = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
        raise ChannelError(f"the body is no RunAgentInput: {place[:100]}") from None
    last = sent.messages[-1] if sent.messages else None
    user_message = last if isinstance(last, ui.UserMessage) else None
    asked = ClientRequest(
        "" if user_message is None else decode_content(user_message.content),
        "" if user_message is None else user_message.id,
        collect_choices((each.interrupt_id, decode_answer(each)) for each in sent.resume or ()),
        dict(_results(sent.messages)),
        None if sent.tools is None else tuple(map(_tool, sent.tools)),
    )
    version = (sent.protocol_version or "0").partition(".")[0]
    return AguiRequest(sent.thread_id, sent.run_id, version not in ("", "0"), asked)


def decode_answer(entry: ui.ResumeEntry) -> Choice:
    """Return a decision: only the JSON value ``true`` approves, and everything else denies.

    Of a server's question, ``resolved`` fills its form in with the payload; see `fit_answer`.
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


def fit_answer(choice: Choice, ticket: Ticket | None) -> Choice:
    """Decode a decision; for a form, its payload is the answers.

    To abandon a call denies it.
    """
    if ticket is None or not ticket.form:
        verdict: Verdict = "deny" if choice.verdict == "cancel" else choice.verdict
        return Choice(verdict, choice.reason, choice.arguments)
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
    check_parts(content)
    return join_blocks([_block(part) for part in content])


def _block(part: Any) -> Block:
    if isinstance(part, ui.TextPart):
        return Text(part.text)
    if not isinstance(part.source, ui.DataSource):
        raise ChannelError("send files as data; this server fetches nothing for a client")
    return decode_media(part.source.value, part.source.mime_type)

"""Requests of ``useChat``, as what they ask for; all other history in them is ignored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from toolkeel._records.record import NOTHING, record
from toolkeel._records.record_json import describe_value, to_json_data
from toolkeel.content import Block, Content, Text
from toolkeel_studio.serve.contents import check_parts, decode_data_url, join_blocks
from toolkeel_studio.serve.decisions import Choice, collect_choices
from toolkeel_studio.serve.errors import ChannelError, InvalidDecision
from toolkeel_studio.serve.requests import NO_ANSWERS, ClientRequest
from toolkeel_studio.serve.snapshot import Snapshot
from toolkeel_studio.serve.vercel.encode import call_input


@record
class VercelRequest:
    """The contents of a request.

    Args:
        chat: Id of the chat: the session's name.
        asked: The message, or the decisions in the message of the agent that is answered; and results.
        earlier: Decisions in other messages of the agent, which count only while their calls wait.
        inputs: By approval id: the arguments on which the page decides.
        replaces: The message that is to be answered or written again; None for none, empty for the last.
    """

    chat: str
    asked: ClientRequest = ClientRequest()
    earlier: Mapping[str, Choice] = NO_ANSWERS
    inputs: Mapping[str, object] = NOTHING
    replaces: str | None = None


def decode_request(body: Mapping[str, Any]) -> VercelRequest:
    """Decode the body of a ``POST``.

    Raises:
        ChannelError: it is no request of ``useChat``.
    """
    chat, messages, trigger = body.get("id"), body.get("messages"), body.get("trigger")
    if not isinstance(chat, str) or not isinstance(messages, list):
        raise ChannelError("send id and messages, as useChat does")
    valid = [each for each in messages if isinstance(each, dict)]
    last = valid[-1] if valid else {}
    replaces = body.get("messageId")
    if trigger == "regenerate-message":
        return VercelRequest(chat, replaces=replaces if isinstance(replaces, str) else "")
    agents = [each for each in valid if each.get("role") == "assistant"]
    named = [each for each in agents if replaces and each.get("id") == replaces]
    answered = (named or agents or [{}])[-1]
    if named or last.get("role") != "user":
        return _decode_answers(chat, agents, answered, _decisions(_parts(answered)))
    id = last.get("id")
    if not isinstance(id, str) or not id:
        raise ChannelError("the last message has no id")
    sent = _decode_answers(chat, agents, answered, {})
    content = decode_content(_list(last.get("parts")))
    is_edit = replaces == id and trigger == "submit-message"
    asked = replace(sent.asked, content=content, message_id=id)
    return replace(sent, asked=asked, replaces=id if is_edit else None)


def _decode_answers(
    chat: str,
    agents: Sequence[Mapping[str, Any]],
    answered: Mapping[str, Any],
    own: Mapping[str, Choice],
) -> VercelRequest:
    """Return what a page decides, and the results of its own tools.

    Args:
        chat: The session's name.
        agents: The messages of the agent.
        answered: The one that the request is about.
        own: The decisions in it; none if the request is about a new message.
    """
    parts = [part for each in agents for part in _parts(each)]
    earlier = {id: choice for id, choice in _decisions(parts).items() if id not in own}
    inputs = {_approval(part)[0]: part["input"] for part in _decided(parts) if "input" in part}
    results = dict(_results(_parts(answered)))
    return VercelRequest(chat, ClientRequest(answers=own, results=results), earlier, inputs)


def _parts(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [part for part in _list(message.get("parts")) if isinstance(part, dict)]


def _decisions(parts: Sequence[Mapping[str, Any]]) -> dict[str, Choice]:
    """Return the decisions that a page has made, by approval id."""
    return collect_choices(map(_approval, _decided(parts)))


def _decided(parts: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [part for part in parts if part.get("state") == "approval-responded"]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _approval(part: Mapping[str, Any]) -> tuple[str, Choice]:
    """Return a decision and its approval id: only the JSON value ``true`` approves."""
    approval = part.get("approval")
    sent = approval if isinstance(approval, dict) else {}
    id, reason = sent.get("id"), sent.get("reason")
    denied = Choice("deny", reason if isinstance(reason, str) else "")
    is_approved = sent.get("approved") is True
    return id if isinstance(id, str) else "", Choice("approve") if is_approved else denied


def _results(parts: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, object]]:
    for part in parts:
        id = part.get("toolCallId")
        if not isinstance(id, str):
            continue
        if part.get("state") == "output-available" and part.get("preliminary") is not True:
            yield id, part.get("output")
        elif part.get("state") == "output-error":
            yield id, f"Error: {part.get('errorText')}"


def decode_content(parts: Sequence[object]) -> Content:
    """Return the content of a message of a person: its texts, and its files as ``data:`` URLs.

    Raises:
        ChannelError: there is none, a file is somewhere else, or there are too many parts.
    """
    check_parts(parts)
    blocks: list[Block] = []
    for part in parts:
        if not isinstance(part, dict):
            continue
        text, name = part.get("text"), part.get("filename")
        if part.get("type") == "text" and isinstance(text, str):
            blocks.append(Text(text))
        elif part.get("type") == "file":
            blocks.append(decode_data_url(part.get("url"), name if isinstance(name, str) else ""))
    if not (content := join_blocks(blocks)):
        raise ChannelError("the message is empty")
    return content


def check_inputs(sent: VercelRequest, now: Snapshot) -> None:
    """Raise unless all decisions are on calls as they were shown.

    Raises:
        InvalidDecision: the page decides on other arguments.
    """
    made = (call for m in now.messages for call in getattr(m.message, "tool_calls", ()))
    shown = {call.id: call_input(call) for call in made} if sent.inputs else {}
    for waits in now.pending:
        known = shown.get(waits.call_id), to_json_data(waits.ticket.arguments, other=describe_value)
        if sent.inputs.get(waits.approval_id, known[0]) not in known:
            raise InvalidDecision("the decision is on other arguments than those that wait")

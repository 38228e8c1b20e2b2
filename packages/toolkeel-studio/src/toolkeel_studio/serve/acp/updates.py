"""Items of a channel as session updates of ACP."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any, Final, Literal

from acp import helpers
from acp.schema import (
    AllowedOutcome,
    PermissionOption,
    RequestPermissionResponse,
    ToolCallProgress,
    ToolCallUpdate,
)

from toolkeel import events
from toolkeel._records import entries
from toolkeel._records.record_json import describe_value, to_json_data
from toolkeel._records.tickets import Ticket
from toolkeel.content import Audio, Content, Image
from toolkeel.messages import AssistantMessage, Message, ToolMessage, UserMessage
from toolkeel.model_interface import ReasoningDelta, TextDelta
from toolkeel_studio.serve.call_arguments import call_arguments
from toolkeel_studio.serve.items import Item
from toolkeel_studio.serve.vercel.encode import plain_text

MAX_TEXT: Final = 50_000
"""Characters of a result that an editor is sent."""
CUT: Final = "\n[... {count} more characters]"
ALLOW, REJECT = "allow.", "reject."


class UpdateEncoder:
    """The updates of a session, from items in their order.

    Args:
        with_prompts: Send messages of people, too, as a client needs that loads a session.
    """

    def __init__(self, *, with_prompts: bool = False) -> None:
        self._with_prompts = with_prompts
        self._sent = {"text": 0, "thought": 0}

    def encode(self, item: Item) -> Iterator[Any]:
        """Yield the updates of the next item."""
        if item.within:
            return
        match item.body:
            case entries.ModelAsked():
                self._sent = {"text": 0, "thought": 0}
            case entries.PersonSaid(message=message) | entries.Steered(message=message):
                if self._with_prompts and _is_of_person(message):
                    yield helpers.update_user_message_text(plain_text(message.content))
            case events.Streamed(delta=TextDelta(text=text)) if text:
                yield self._say(text)
            case events.Streamed(delta=ReasoningDelta(text=text)) if text:
                yield self._think(text)
            case entries.ModelReplied(message=message):
                yield from self._reply(message)
            case events.Progress(message=text) if text:
                content = [helpers.tool_content(helpers.text_block(text))]
                yield helpers.update_tool_call(item.call_id, status="in_progress", content=content)
            case entries.CallEnded(message=message):
                yield result_update(item.call_id, message)
            case _:
                pass

    def _say(self, text: str) -> Any:
        self._sent["text"] += len(text)
        return helpers.update_agent_message_text(text)

    def _think(self, text: str) -> Any:
        self._sent["thought"] += len(text)
        return helpers.update_agent_thought_text(text)

    def _reply(self, message: AssistantMessage) -> Iterator[Any]:
        """Yield what of a complete reply has not been sent in pieces."""
        thought = "".join(each.text for each in message.reasoning)
        if rest := thought[self._sent["thought"] :]:
            yield self._think(rest)
        if rest := plain_text(message.content)[self._sent["text"] :]:
            yield self._say(rest)
        for call in message.tool_calls:
            shown = _load(call_arguments(call))
            yield helpers.start_tool_call(
                call.id, call.name, kind="other", status="pending", raw_input=shown
            )


def result_update(call_id: str, message: ToolMessage) -> ToolCallProgress:
    """Return the end of a call: its text and pictures as the model got them, cut to a limit."""
    text = plain_text(message.content)
    if len(text) > MAX_TEXT:
        text = text[:MAX_TEXT] + CUT.format(count=len(text) - MAX_TEXT)
    blocks = [helpers.tool_content(helpers.text_block(text)), *_media(message.content)]
    status: Literal["failed", "completed"] = "failed" if message.failed else "completed"
    return helpers.update_tool_call(call_id, status=status, content=blocks)


def permission_options(approval_id: str) -> list[PermissionOption]:
    """Return what a person can answer; the ids have the approval id in them."""
    return [
        PermissionOption(option_id=ALLOW + approval_id, name="Allow", kind="allow_once"),
        PermissionOption(option_id=REJECT + approval_id, name="Reject", kind="reject_once"),
    ]


def permission_call(ticket: Ticket, call_id: str) -> ToolCallUpdate:
    """Return the call that a permission is asked for, with its arguments as they would run."""
    arguments = to_json_data(ticket.arguments, other=describe_value)
    title = f"{ticket.tool}: {ticket.reason}" if ticket.reason else ticket.tool
    return ToolCallUpdate(tool_call_id=call_id, title=title, status="pending", raw_input=arguments)


def is_allowed(answer: RequestPermissionResponse, approval_id: str) -> bool:
    """Return True if a person has allowed exactly what was asked."""
    outcome = answer.outcome
    return isinstance(outcome, AllowedOutcome) and outcome.option_id == ALLOW + approval_id


def _is_of_person(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.origin == "person"


def _media(content: Content) -> Iterator[Any]:
    for block in content if not isinstance(content, str) else ():
        if isinstance(block, Image | Audio) and block.data:
            data = base64.b64encode(block.data).decode("ascii")
            make = helpers.image_block if isinstance(block, Image) else helpers.audio_block
            yield helpers.tool_content(make(data, block.media_type))


def _load(arguments: str) -> Any:
    try:
        return json.loads(arguments or "{}")
    except ValueError:
        return arguments

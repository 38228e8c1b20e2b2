"""Requests that continue a response stored at the server.

With ``previous_response_id`` the server puts the stored conversation before the request's input. So
messages up to that response are not sent again, and results may answer calls that only the server has.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.openai_responses.profile import WIRE
from toolkeel.providers.wire.plain_json import as_dict

PREVIOUS: Final = "previous_response_id"
AT_SERVER: Final = "at_server"
"""Key in a reply's options: the server has the reply, so only the results of its calls are sent."""


def messages_to_send(request: ModelRequest) -> Sequence[Message]:
    """Return the messages of a request that the server does not have.

    With ``previous_response_id`` these are the messages after the reply of that id, behind the reply itself marked
    as stored; without such a reply all, behind a stand-in for one whose calls the first results answer.

    Raises:
        SetupError: if the request names a ``conversation`` and has replies, which the server would
            store there once more.
    """
    options, messages = request.settings.extra_body, request.messages
    if options.get("conversation") and any(isinstance(one, AssistantMessage) for one in messages):
        raise SetupError(
            "Settings(extra_body={'conversation': ...}) does not work with a transcript: the server would "
            "store what it has once more. Leave it out, or set 'previous_response_id'"
        )
    previous = options.get(PREVIOUS)
    if not previous:
        return messages
    for index in reversed(range(len(messages))):
        message = messages[index]
        if isinstance(message, AssistantMessage) and _response_id(message) == previous:
            return [_mark_at_server(message), *messages[index + 1 :]]
    calls = tuple(ToolCall(one.tool_call_id, one.name, {}) for one in _first_results(messages))
    return [_mark_at_server(AssistantMessage(tool_calls=calls)), *messages] if calls else messages


def _response_id(message: AssistantMessage) -> object:
    """Return the id of the response that a message came from, or None."""
    return as_dict(message.provider_options.get(WIRE)).get("id")


def _mark_at_server(message: AssistantMessage) -> AssistantMessage:
    """Return a message marked as stored at the server, so that it is not encoded."""
    return replace(message, provider_options={**message.provider_options, WIRE: {AT_SERVER: True}})


def _first_results(messages: Sequence[Message]) -> list[ToolMessage]:
    """Return the results before the first reply: the server has their calls."""
    first = next(
        (index for index, one in enumerate(messages) if isinstance(one, AssistantMessage)),
        len(messages),
    )
    return [one for one in messages[:first] if isinstance(one, ToolMessage)]

"""Replies that are no answers: empty ones, those that broke off, those without a call that was forced."""

from __future__ import annotations

import dataclasses

from toolkeel.agent.reply_assembly import reported_end
from toolkeel.agent.transcript import has_called_since_person
from toolkeel.context import RunContext
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.model_interface import ModelRequest

MAX_EMPTY = 3
"""Requests of a turn whose replies may be empty; the run then fails, and can be resumed."""
EMPTY = "the reply was empty"
_EMPTY_NOTE = "Your last reply was empty. Reply again, with text or a call of a tool."
_GOOD_ENDS = ("stop", "tool_calls")
"""Finish reasons of replies that end well."""


def is_empty(reply: AssistantMessage) -> bool:
    """Return True if a reply ended well and has neither content nor calls."""
    return not (reply.content or reply.tool_calls) and reply.finish_reason in _GOOD_ENDS


def after_empty_reply(request: ModelRequest) -> ModelRequest:
    """Return the request that says that the reply to `request` was empty; the transcript stays as it is."""
    note = UserMessage(_EMPTY_NOTE, "correction")
    return dataclasses.replace(request, messages=[*request.messages, note])


def lacks_call(reply: AssistantMessage, run: RunContext) -> bool:
    """Return True if a reply without calls must be corrected, in a run that forces a call.

    That is so once: for the first reply since the person's message, if it ended well.
    """
    before = run.transcript[-2] if len(run.transcript) > 1 else None
    is_again = isinstance(before, UserMessage) and before.origin == "correction"
    is_again = is_again or has_called_since_person(run.transcript)
    return not is_again and reply.finish_reason in _GOOD_ENDS


def raise_if_nothing_arrived(reply: AssistantMessage) -> None:
    """Raise the error of a reply that broke off, unless it has content and no error.

    Raises:
        ModelError: with the provider's words, the text and the usage.
    """
    if reply.finish_reason == "error" or not reply.content:
        said = "; ".join(filter(None, (reported_end(reply), reply.text))) or "nothing arrived"
        error = ModelError(f"the model's reply broke off: {said}")
        error.text, error.usage = reply.text, reply.usage
        raise error

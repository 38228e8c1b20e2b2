"""Read a transcript: the last prompt, the calls made for it, and their results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolkeel._records.record import record
from toolkeel.content import content_text
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.providers.wire.plain_json import parse_object


@record
class FinishedCall:
    """A call of this turn with its result.

    Args:
        name: Name of the tool.
        arguments: Arguments of the call; empty if they are no object.
        text: Text of the result.
        failed: True if the result is an error.
    """

    name: str
    arguments: dict[str, object]
    text: str
    failed: bool


@record
class Turn:
    """The last user message and the calls since.

    Args:
        prompt: The last user message.
        finished: Calls made since, each with its result.
        question: The user message before it, if no call was made for it.
        call_count: Number of calls in the transcript; new ids continue from there.
    """

    prompt: str
    finished: tuple[FinishedCall, ...]
    question: str
    call_count: int


def read_turn(messages: Sequence[Message]) -> Turn:
    """Return the last turn of a transcript."""
    last = max((i for i, m in enumerate(messages) if isinstance(m, UserMessage)), default=-1)
    opening = messages[last] if last >= 0 else UserMessage("")
    earlier, since = messages[: max(last, 0)], messages[last + 1 :]
    return Turn(
        prompt=content_text(opening.content).strip(),
        finished=tuple(_finish_call(call, result) for call, result in _pair_calls(since) if result),
        question=_find_question(earlier),
        call_count=sum(len(m.tool_calls) for m in messages if isinstance(m, AssistantMessage)),
    )


def _find_question(messages: Sequence[Message]) -> str:
    """Return the user message before the prompt if no result came since, else an empty string."""
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            return ""
        if isinstance(message, UserMessage):
            return content_text(message.content).strip()
    return ""


def _pair_calls(messages: Sequence[Message]) -> list[tuple[ToolCall, ToolMessage | None]]:
    """Pair each call with its result, or None without one; equal ids pair by position."""
    results = [message for message in messages if isinstance(message, ToolMessage)]
    found: list[tuple[ToolCall, ToolMessage | None]] = []
    for message in messages:
        for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
            result = next((r for r in results if r.tool_call_id == call.id), None)
            if result is not None:
                results.remove(result)
            found.append((call, result))
    return found


def _finish_call(call: ToolCall, result: ToolMessage) -> FinishedCall:
    """Return a call with the text of its result."""
    return FinishedCall(call.name, arguments_of(call), result.text, result.failed)


def arguments_of(call: ToolCall) -> dict[str, object]:
    """Return a call's arguments, or an empty dict if they are not an object."""
    if isinstance(call.arguments, Mapping):
        return dict(call.arguments)
    return parse_object(call.arguments)


def is_same(name: str, arguments: Mapping[str, object], call: FinishedCall) -> bool:
    """Return True if a call has this tool and these arguments."""
    return call.name == name and call.arguments == dict(arguments)

"""Read a transcript: what was asked, what was called for it, and what came back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolkeel._records.record import record
from toolkeel.content import text_of
from toolkeel.messages import AssistantMessage, Message, ToolCall, ToolMessage, UserMessage
from toolkeel.providers.wire.plain_json import parsed_input


@record
class Done:
    """A call of this turn with its result.

    Args:
        name: The tool called.
        arguments: What it was called with.
        text: The result's text.
        failed: Whether the result says so.
    """

    name: str
    arguments: dict[str, object]
    text: str
    failed: bool


@record
class Turn:
    """What the transcript says since the last user message, and what was asked before.

    Args:
        prompt: The last user message.
        done: Calls made since, each with its result.
        asked: Earlier user messages, newest first, as far as no tool was called in between.
        last_tool: Name of the tool called last before this turn.
        calls: How many calls the whole transcript has: new ids count on from there.
    """

    prompt: str
    done: tuple[Done, ...]
    asked: tuple[str, ...]
    last_tool: str
    calls: int


def read_turn(messages: Sequence[Message]) -> Turn:
    """The present turn of a transcript."""
    last = max((i for i, m in enumerate(messages) if isinstance(m, UserMessage)), default=-1)
    opening = messages[last] if last >= 0 else UserMessage("")
    earlier, since = messages[: max(last, 0)], messages[last + 1 :]
    before = [call for call, _ in _calls(earlier)]
    return Turn(
        prompt=text_of(opening.content).strip(),
        done=tuple(_done(call, result) for call, result in _calls(since) if result is not None),
        asked=_asked(earlier),
        last_tool=before[-1].name if before else "",
        calls=sum(len(m.tool_calls) for m in messages if isinstance(m, AssistantMessage)),
    )


def _asked(messages: Sequence[Message]) -> tuple[str, ...]:
    found: list[str] = []
    for message in reversed(messages):
        if isinstance(message, ToolMessage) or len(found) == 3:
            break
        if isinstance(message, UserMessage):
            found.append(text_of(message.content).strip())
    return tuple(found)


def _calls(messages: Sequence[Message]) -> list[tuple[ToolCall, ToolMessage | None]]:
    """Calls in order with their results, matched by id, equal ids by position."""
    results = [message for message in messages if isinstance(message, ToolMessage)]
    found: list[tuple[ToolCall, ToolMessage | None]] = []
    for message in messages:
        for call in message.tool_calls if isinstance(message, AssistantMessage) else ():
            result = next((r for r in results if r.tool_call_id == call.id), None)
            if result is not None:
                results.remove(result)
            found.append((call, result))
    return found


def _done(call: ToolCall, result: ToolMessage) -> Done:
    return Done(call.name, arguments_of(call), result.text, result.failed)


def arguments_of(call: ToolCall) -> dict[str, object]:
    """A call's arguments as an object; empty if they are none."""
    if isinstance(call.arguments, Mapping):
        return dict(call.arguments)
    return parsed_input(call.arguments)


def same(name: str, arguments: Mapping[str, object], done: Done) -> bool:
    """Whether a call is the one that was made."""
    return done.name == name and done.arguments == dict(arguments)

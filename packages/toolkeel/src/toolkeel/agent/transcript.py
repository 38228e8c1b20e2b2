"""Transcripts in the form that every provider accepts.

Providers agree on this: each call is answered exactly once, directly after the message that made it,
before any other message (provider quirks Q1 to Q5).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)


def repair(messages: Iterable[Message]) -> list[Message]:
    """Return a transcript in which every call has its one result, in call order.

    Results move to their calls; results without a call and second results are dropped; an unanswered
    call gets a result that says so, except where only results follow its reply: there it may still run.
    A result belongs to the call of its turn with its id, else to the first earlier call with that id
    that has no result; one without an id belongs to the first of its turn that has none, and gets its id.
    Replies without text, calls and `provider_options` are dropped, with their reasoning.

    >>> call = ToolCall("1", "add")
    >>> fixed = repair([AssistantMessage(tool_calls=(call,)), AssistantMessage("done")])
    >>> fixed[1].kind
    'skipped'
    """
    given = list(messages)
    results_by_place = _results_by_place(given)
    last = max((i for i, m in enumerate(given) if not isinstance(m, ToolMessage)), default=-1)
    repaired: list[Message] = []
    for index, message in enumerate(given):
        if isinstance(message, ToolMessage):
            continue
        if not isinstance(message, AssistantMessage):
            repaired.append(message)
            continue
        if not (message.tool_calls or message.content or message.provider_options):
            continue
        repaired.append(message)
        for number, call in enumerate(message.tool_calls):
            found = results_by_place.get((index, number))
            if found is not None:
                repaired.append(found)
            elif index != last:
                repaired.append(make_missing_result(call))
    return repaired


def _results_by_place(messages: list[Message]) -> dict[tuple[int, int], ToolMessage]:
    """Return each call's result, also a misplaced one, with the call's id, by the positions of reply and call."""
    results_by_place: dict[tuple[int, int], ToolMessage] = {}
    waiting: dict[tuple[int, int], ToolCall] = {}
    orphans: dict[tuple[int, int], ToolCall] = {}
    strays: list[tuple[int, ToolMessage]] = []
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            place = _find_call(waiting, message.tool_call_id)
            if place is None:
                strays.append((index, message))
            else:
                id = waiting.pop(place).id
                same = message.tool_call_id == id
                results_by_place[place] = message if same else replace(message, tool_call_id=id)
        elif not isinstance(message, SystemMessage):
            orphans |= waiting
            calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
            waiting = {(index, number): call for number, call in enumerate(calls)}
    for at, stray in strays:
        for place, call in orphans.items():
            if call.id == stray.tool_call_id and place[0] < at:
                results_by_place[place] = stray
                del orphans[place]
                break
    return results_by_place


def _find_call(waiting: dict[tuple[int, int], ToolCall], id: str) -> tuple[int, int] | None:
    """Find the call that a result answers, or None. A result without an id answers the first."""
    same = (place for place, call in waiting.items() if call.id == id)
    return next(same, None if id else next(iter(waiting), None))


def order_last_results(messages: list[Message]) -> None:
    """Reorder and repair the last turn's results, in place, as `repair` does."""
    start = len(messages) - 1
    while start > 0 and isinstance(messages[start], ToolMessage):
        start -= 1
    messages[start:] = repair(messages[start:])


def has_called_since_person(messages: Sequence[Message], handoffs: Collection[str] = ()) -> bool:
    """Return True if the active agent made a call since the last message of the person.

    Args:
        messages: A transcript.
        handoffs: Names of tools that hand over to the active agent: earlier calls are those of another
            agent.
    """
    for message in reversed(messages):
        if isinstance(message, UserMessage) and message.origin == "person":
            return False
        if isinstance(message, AssistantMessage) and message.tool_calls:
            return not any(call.name in handoffs for call in message.tool_calls)
    return False


def make_missing_result(call: ToolCall) -> ToolMessage:
    """Build the failed result of a call without one: it is unknown if the call ran."""
    text = (
        f"The call of {call.name!r} has no result: the conversation went on without it. Whether it "
        "ran is not known."
    )
    return ToolMessage(text, call.id, call.name, "error", "skipped")


def make_placeholder(call: ToolCall) -> ToolMessage:
    """Build the failed result of a call that still waits for a person while the conversation continues."""
    text = (
        f"The call of {call.name!r} waits for a person, and the conversation continues meanwhile. "
        "It has no result yet: do not make it again, and do not say that it was done. When the "
        "person has decided, the call is repeated below with its result."
    )
    return ToolMessage(text, call.id, call.name, "error", "skipped")


def turns_before_repeat(
    messages: Sequence[Message],
) -> Iterator[tuple[tuple[ToolCall, ...], list[ToolMessage]]]:
    """Yield the earlier turns whose calls the last turn repeats, latest first.

    A repeated call has a placeholder as its result there; see `make_placeholder`.
    """
    turns = [place for place, each in enumerate(messages) if isinstance(each, AssistantMessage)]
    repeated = {call.id: make_placeholder(call).text for call in last_turn(messages)[0]}
    for start, end in zip(turns[-2::-1], turns[:0:-1], strict=True):
        calls, results = last_turn(messages[start:end])
        if repeated.keys().isdisjoint(call.id for call in calls):
            continue
        if not any(repeated.get(each.tool_call_id) == each.text for each in results):
            return
        yield calls, results


def last_turn(messages: Sequence[Message]) -> tuple[tuple[ToolCall, ...], list[ToolMessage]]:
    """Return the calls of the last reply, and the results after it, in order."""
    results: list[ToolMessage] = []
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return message.tool_calls, results[::-1]
        if isinstance(message, ToolMessage):
            results.append(message)
    return (), []

"""Keeping a transcript in the form every provider accepts.

Providers agree on little but this: each call is answered exactly once, right after the message that
made it, before anything else is said (provider quirks Q1 to Q5).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence

from toolwright.messages import AssistantMessage, Message, ToolCall, ToolMessage


def repair(messages: Iterable[Message]) -> list[Message]:
    """A transcript in which every call has its one result, in call order.

    Results move to their calls; results without a call and second results are dropped; a call
    nobody answered gets a result that says so, except at the very end, where it may still run.
    Ids may come again in later replies; a result belongs to the latest call of its id before it.
    A reply that said and called nothing is dropped.

    >>> call = ToolCall("1", "add")
    >>> fixed = repair([AssistantMessage(tool_calls=(call,)), AssistantMessage("done")])
    >>> fixed[1].kind
    'skipped'
    """
    given = list(messages)
    results: dict[str, deque[tuple[int, ToolMessage]]] = {}
    for index, message in enumerate(given):
        if isinstance(message, ToolMessage):
            results.setdefault(message.tool_call_id, deque()).append((index, message))
    end = max((i for i, m in enumerate(given) if not isinstance(m, ToolMessage)), default=-1)
    until = _next_use(given)
    repaired: list[Message] = []
    for index, message in enumerate(given):
        if isinstance(message, ToolMessage):
            continue
        if not isinstance(message, AssistantMessage):
            repaired.append(message)
            continue
        if not message.tool_calls and not message.content:
            continue
        repaired.append(message)
        for call in message.tool_calls:
            last = until.get((index, call.id), len(given))
            found = _take(results.get(call.id), index, last)
            if found is not None:
                repaired.append(found)
            elif index != end:
                repaired.append(_unanswered(call))
    return repaired


def order_results(messages: list[Message]) -> None:
    """Put the results at the transcript's end into call order: those of a resumed turn came late."""
    tail = 0
    while tail < len(messages) and isinstance(messages[-1 - tail], ToolMessage):
        tail += 1
    reply = messages[-1 - tail] if tail < len(messages) else None
    if tail and isinstance(reply, AssistantMessage):
        places = {call.id: place for place, call in reversed(list(enumerate(reply.tool_calls)))}
        results = [m for m in messages[-tail:] if isinstance(m, ToolMessage)]
        results.sort(key=lambda result: places.get(result.tool_call_id, len(places)))
        messages[-tail:] = results


def _next_use(given: Sequence[Message]) -> dict[tuple[int, str], int]:
    """Where the id of a call comes again in a later reply: results after that are not its own."""
    until: dict[tuple[int, str], int] = {}
    seen: dict[str, int] = {}
    for index in range(len(given) - 1, -1, -1):
        message = given[index]
        if isinstance(message, AssistantMessage):
            ids = {call.id for call in message.tool_calls}
            until |= {(index, id): seen[id] for id in ids if id in seen}
            seen |= dict.fromkeys(ids, index)
    return until


def _take(
    results: deque[tuple[int, ToolMessage]] | None, after: int, before: int
) -> ToolMessage | None:
    """The first result between two places that no call has taken yet."""
    while results and results[0][0] < before:
        index, message = results.popleft()
        if index > after:
            return message
    return None


def _unanswered(call: ToolCall) -> ToolMessage:
    text = f"The call of {call.name!r} has no result: the conversation went on without it."
    return ToolMessage(text, call.id, call.name, "error", "skipped")

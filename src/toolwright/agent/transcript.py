"""Keeping a transcript in the form every provider accepts.

Providers agree on little but this: each call is answered exactly once, right after the message that
made it, before anything else is said (provider quirks Q1 to Q5).
"""

from __future__ import annotations

from collections.abc import Iterable

from toolwright.messages import AssistantMessage, Message, ToolCall, ToolMessage


def repair(messages: Iterable[Message]) -> list[Message]:
    """A transcript in which every call has its one result, in call order.

    Results move to their calls; results without a call and second results are dropped; a call
    nobody answered gets a result that says so, except at the very end, where it may still run.
    A reply that broke off is dropped with what belongs to it unless it holds text.

    >>> call = ToolCall("1", "add")
    >>> fixed = repair([AssistantMessage(tool_calls=(call,)), AssistantMessage("done")])
    >>> fixed[1].kind
    'skipped'
    """
    given = list(messages)
    results = [m for m in given if isinstance(m, ToolMessage)]
    last = max((i for i, m in enumerate(given) if not isinstance(m, ToolMessage)), default=-1)
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
            found = _take(results, call)
            if found is not None:
                repaired.append(found)
            elif index != last:
                repaired.append(_unanswered(call))
    return repaired


def order_results(messages: list[Message]) -> None:
    """Put the results at the transcript's end into call order: those of a resumed turn came late."""
    tail = 0
    while tail < len(messages) and isinstance(messages[-1 - tail], ToolMessage):
        tail += 1
    reply = messages[-1 - tail] if tail < len(messages) else None
    if tail and isinstance(reply, AssistantMessage):
        results = [m for m in messages[-tail:] if isinstance(m, ToolMessage)]
        ordered = [found for call in reply.tool_calls if (found := _take(results, call))]
        messages[-tail:] = [*ordered, *results]


def _take(results: list[ToolMessage], call: ToolCall) -> ToolMessage | None:
    """The first result with the call's id, taken off the list."""
    for index, result in enumerate(results):
        if result.tool_call_id == call.id:
            return results.pop(index)
    return None


def _unanswered(call: ToolCall) -> ToolMessage:
    text = f"The call of {call.name!r} has no result: the conversation went on without it."
    return ToolMessage(text, call.id, call.name, "error", "skipped")

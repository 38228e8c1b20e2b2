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
    end = max((i for i, m in enumerate(given) if not isinstance(m, ToolMessage)), default=-1)
    answers = _Answers(given)
    repaired: list[Message] = []
    for index, message in enumerate(given):
        if isinstance(message, ToolMessage):
            continue
        calls = message.tool_calls if isinstance(message, AssistantMessage) else ()
        if not calls and isinstance(message, AssistantMessage) and not message.content:
            continue
        repaired.append(message)
        for call in calls:
            found = answers.take(call.id, index)
            if found is not None:
                repaired.append(found)
            elif index != end:
                repaired.append(_unanswered(call))
    return repaired


class _Answers:
    """The results of a transcript, each taken once, by the call it answers."""

    def __init__(self, given: Sequence[Message]) -> None:
        self._by_id: dict[str, deque[tuple[int, ToolMessage]]] = {}
        self._next: dict[tuple[str, int], int] = {}  # where an id comes again in a later reply
        seen: dict[str, int] = {}
        for index in range(len(given) - 1, -1, -1):
            message = given[index]
            if isinstance(message, ToolMessage):
                results = self._by_id.setdefault(message.tool_call_id, deque())
                results.appendleft((index, message))
            elif isinstance(message, AssistantMessage):
                ids = {call.id for call in message.tool_calls}
                self._next |= {(id, index): seen[id] for id in ids & seen.keys()}
                seen |= dict.fromkeys(ids, index)

    def take(self, id: str, reply: int) -> ToolMessage | None:
        """The first result that came after a reply and before its id came again."""
        results = self._by_id.get(id)
        until = self._next.get((id, reply))
        while results and (until is None or results[0][0] < until):
            index, message = results.popleft()
            if index > reply:
                return message
        return None


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


def _unanswered(call: ToolCall) -> ToolMessage:
    text = f"The call of {call.name!r} has no result: the conversation went on without it."
    return ToolMessage(text, call.id, call.name, "error", "skipped")

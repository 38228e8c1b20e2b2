"""What holds after any call, any turn and any run, as checks that tests share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from toolkeel.events import Event, Progress, RunFinished, RunStarted, ToolFinished, ToolStarted
from toolkeel.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)


def check_results(calls: Sequence[ToolCall], results: Sequence[ToolMessage]) -> None:
    """Invariant 1: n calls in, n results out, in order, with the same ids; each well-formed."""
    assert [result.tool_call_id for result in results] == [call.id for call in calls]
    for result in results:
        check_result(result)


def check_result(result: ToolMessage) -> None:
    """Status and kind agree, and the text can be sent."""
    assert (result.status == "error") == (result.kind is not None) == result.failed
    assert result.duration >= 0
    result.text.encode()
    if result.failed:
        assert result.text.strip(), "the model must be told what went wrong"
        assert "Traceback" not in result.text
        # A tool's own errors may be as long as its results.
        assert len(result.text) < (51_000 if result.kind in ("tool_error", "cancelled") else 11_000)


def check_events(events: Sequence[Event], calls: Sequence[ToolCall]) -> None:
    """Invariant 7: one start and one end for each call, nothing after the end, no gap in `seq`.

    Args:
        events: All of one run, in the order in which a listener heard them.
        calls: All that were made in it.
    """
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len({event.run_id for event in events}) <= 1
    assert [event.at for event in events] == sorted(event.at for event in events)
    started = Counter(id(e.call) for e in events if isinstance(e, ToolStarted))
    assert started == Counter(id(call) for call in calls)
    ids = Counter(call.id for call in calls)
    ended = Counter(e.call_id for e in events if isinstance(e, ToolFinished))
    assert ended == ids
    _check_spans(events, ids)


def _check_spans(events: Sequence[Event], ids: Counter[str]) -> None:
    """Every event of a call lies between its start and its end; equal ids are counted together."""
    open_calls: Counter[str] = Counter()
    for event in events:
        call_id = getattr(event, "call_id", None)
        if call_id is None:
            continue
        if isinstance(event, ToolStarted):
            open_calls[call_id] += 1
        assert open_calls[call_id] > 0, f"{event} comes outside of its call"
        if isinstance(event, ToolFinished):
            open_calls[call_id] -= 1
    assert not +open_calls


def check_run(events: Sequence[Event]) -> None:
    """A run has one beginning and one end, and its stream ends there."""
    assert isinstance(events[0], RunStarted)
    assert isinstance(events[-1], RunFinished)
    assert sum(isinstance(event, RunStarted | RunFinished) for event in events) == 2


def check_transcript(messages: Sequence[Message], open_end: bool = False) -> None:
    """Invariant 10: every provider accepts it.

    Each call is answered exactly once, right after the reply that made it, in call order, before
    anything else is said; no result is without its call; system messages stand first.

    Args:
        messages: The transcript.
        open_end: Whether calls of the last reply may still wait.
    """
    index = 0
    seen_other = False
    while index < len(messages):
        message = messages[index]
        index += 1
        if isinstance(message, SystemMessage):
            assert not seen_other, "a system message in mid-conversation"
            continue
        seen_other = True
        assert isinstance(message, UserMessage | AssistantMessage), "a result without its call"
        if isinstance(message, AssistantMessage):
            index = _check_turn(messages, index, message, open_end)


def _check_turn(
    messages: Sequence[Message], index: int, reply: AssistantMessage, open_end: bool
) -> int:
    assert reply.content or reply.tool_calls, "an empty reply"
    ids = [call.id for call in reply.tool_calls]
    assert len(set(ids)) == len(ids), "two calls of one id"
    assert all(ids), "a call without an id"
    for call in reply.tool_calls:
        if index == len(messages) and open_end:
            return index
        assert index < len(messages), f"{call} has no result"
        result = messages[index]
        assert isinstance(result, ToolMessage) and result.tool_call_id == call.id
        check_result(result)
        index += 1
    return index


def progress_of(events: Sequence[Event], call_id: str) -> list[str]:
    """Messages of a call's progress, as they came."""
    return [e.message for e in events if isinstance(e, Progress) and e.call_id == call_id]

"""What arrives can be watched, and waits for whoever is slow: bounded, and nothing of it is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import run, until
from toolkeel import Agent, ToolContext, tool
from toolkeel.agent import arriving
from toolkeel.agent.arriving import PIECE, PartialCalls, UnreadEvents
from toolkeel.events import Emitted, Event, Progress, Streamed, TurnStarted
from toolkeel.model import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolkeel.testing.scripted import Scripted

FIRST = [
    TextDelta("Let me "),
    TextDelta("write that."),
    CallDelta(0, "c1", "write"),
    CallDelta(0, arguments='{"path": "a.txt", "te'),
    CallDelta(1, "c2", "write", '{"path": "b.t'),
    CallDelta(0, arguments='xt": "你'),
    CallDelta(1, arguments='xt", "text": "x"}'),
    CallDelta(0, arguments='好"}'),
    Finish("tool_calls"),
]
SECOND = [CallDelta(0, "c3", "write", '{"path": "c.txt", "text": "y"}'), Finish("tool_calls")]


@tool
async def write(path: str, text: str, context: ToolContext[Any]) -> str:
    """Write a file."""
    context.progress(f"writing {path}", 1, 2)
    return "written"


def watch() -> tuple[list[Any], list[str]]:
    """What was seen of calls after each event, and the kinds of pieces in the order they came."""

    async def main() -> tuple[list[Any], list[str]]:
        calls, seen, order = PartialCalls(), [], []
        agent = Agent(Scripted([FIRST, SECOND, "Done."]), [write])
        async with agent.stream("go") as stream:
            async for event in stream:
                grown = calls.see(event)
                if grown is not None:
                    shown = {str(k): v for k, v in grown.arguments.value().items()}
                    seen.append((grown.id, grown.name, shown, grown.arguments.complete))
                if isinstance(event, Streamed):
                    order.append(type(event.delta).__name__)
                if isinstance(event, Progress | TurnStarted):
                    order.append(type(event).__name__)
        assert [(c.index, c.id) for c in calls] == []
        return seen, order

    return run(main)


def test_each_piece_shows_what_its_call_has_become() -> None:
    seen, _ = watch()
    assert seen == [
        ("c1", "write", {}, False),
        ("c1", "write", {"path": "a.txt"}, False),
        ("c2", "write", {"path": "b.t"}, False),
        ("c1", "write", {"path": "a.txt", "text": "你"}, False),
        ("c2", "write", {"path": "b.txt", "text": "x"}, True),
        ("c1", "write", {"path": "a.txt", "text": "你好"}, True),
        ("c3", "write", {"path": "c.txt", "text": "y"}, True),
    ]


def test_text_arguments_and_progress_come_in_one_stream_in_order() -> None:
    _, order = watch()
    turn, second = order[: order.index("Progress")], order[order.index("Progress") :]
    assert turn[0] == "TurnStarted"
    assert turn[1:3] == ["TextDelta", "TextDelta"]
    assert turn.count("CallDelta") == 6
    assert second[:2] == ["Progress", "Progress"]
    assert second.count("CallDelta") == 1


def test_a_new_turn_begins_with_no_calls() -> None:
    calls = PartialCalls()
    calls.see(Streamed(1, 0.0, "r", CallDelta(2, "c", "f", "{")))
    calls.see(Streamed(2, 0.0, "r", CallDelta(0, "a", "f")))
    assert [c.index for c in calls] == [0, 2]
    assert calls.see(Streamed(3, 0.0, "r", TextDelta("x"))) is None
    calls.see(TurnStarted(4, 0.0, "r", 2))
    assert list(calls) == []


PIECES: st.SearchStrategy[Delta] = st.one_of(
    st.text("ab天", max_size=3).map(TextDelta),
    st.builds(ReasoningDelta, st.text("ab", max_size=3), st.sampled_from(["", "", "signed"])),
    st.builds(
        CallDelta,
        st.integers(0, 1),
        st.sampled_from(["", "", "id"]),
        arguments=st.text("1", max_size=2),
    ),
    st.just(Finish("stop")),
)


def told(deltas: list[Delta]) -> dict[object, str]:
    """What a reader knows at the end."""
    known: dict[object, str] = {}
    for one in deltas:
        match one:
            case TextDelta():
                known["text"] = known.get("text", "") + one.text
            case ReasoningDelta():
                known["thought"] = known.get("thought", "") + one.text + one.signature
            case CallDelta():
                known[one.index] = known.get(one.index, "") + one.id + one.arguments
    return known


def read(events: UnreadEvents) -> list[Event]:
    found = []
    while (event := events.get()) is not None:
        found.append(event)
    return found


@given(st.integers(1, 4), st.lists(PIECES, max_size=30))
def test_whatever_waits_a_reader_is_told_all_of_a_reply(most: int, deltas: list[Delta]) -> None:
    events = UnreadEvents(most)
    for number, delta in enumerate(deltas):
        events.put(Streamed(number, 0.0, "r", delta))
    left = read(events)
    assert told([event.delta for event in left if isinstance(event, Streamed)]) == told(deltas)
    assert [event.seq for event in left] == sorted(event.seq for event in left)


def test_a_reply_that_nobody_reads_takes_its_own_length() -> None:
    events = UnreadEvents(10)
    for number in range(100_000):
        events.put(Streamed(number, 0.0, "r", TextDelta("four")))
    left = read(events)
    assert len(left) <= 10 + 400_000 // PIECE + 1
    assert events.dropped == 0


def test_progress_is_left_out_and_counted_and_what_is_emitted_is_kept() -> None:
    events = UnreadEvents(2)
    for number in range(50):
        events.put(Progress(number, 0.0, "r", "c", "half"))
        events.put(Emitted(number, 0.0, "r", "c", number))
    left = read(events)
    assert [event.value for event in left if isinstance(event, Emitted)] == list(range(50))
    assert events.dropped == 49


def test_a_stream_that_is_read_late_says_all_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arriving.UnreadEvents.__init__, "__defaults__", (3,))
    answer = "天气很好。" * 500

    async def main() -> tuple[str, int]:
        pieces = [*map(TextDelta, answer), Finish("stop")]
        reading = Agent(Scripted([pieces])).stream("hi")
        reading.listen()
        reading.begin()
        await until(lambda: reading.reason is not None)
        waiting = len(reading._events._events) if reading._events is not None else 0
        return "".join([piece async for piece in reading.text()]), waiting

    said, waiting = asyncio.run(main())
    assert said == answer and waiting < 20

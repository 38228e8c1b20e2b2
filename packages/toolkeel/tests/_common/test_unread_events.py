"""What waits for whoever reads slowly: bounded, and nothing that was said is lost."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import until
from toolkeel import Agent
from toolkeel._common.unread_events import PIECE, UnreadEvents
from toolkeel.events import Emitted, Event, Nested, Progress, Replied, Streamed
from toolkeel.messages import AssistantMessage
from toolkeel.model_interface import CallDelta, Delta, Finish, ReasoningDelta, TextDelta
from toolkeel.testing.scripted import Scripted

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


def _said(events: list[Event]) -> str:
    deltas = (event.delta for event in events if isinstance(event, Streamed))
    return "".join(delta.text for delta in deltas if isinstance(delta, TextDelta))


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


def test_replies_of_inner_agents_at_once_take_their_own_length_each_in_its_order() -> None:
    events = UnreadEvents(10)
    for number in range(30_000):
        call = ("a", "b", "c")[number % 3]
        inner: Event = Streamed(number, 0.0, call, TextDelta(f"{number},"))
        if call == "c":  # two deep
            inner = Nested(number, 0.0, "mid", "deep", "deep", inner)
        events.put(Nested(number, 0.0, "r", call, "clerk", inner))
        if number == 15_000:
            done = Replied(number, 0.0, "b", AssistantMessage("half"))
            events.put(Nested(number, 0.0, "r", "b", "clerk", done))
        events.put(Nested(number, 0.0, "r", "a", "clerk", Progress(number, 0.0, "a", "x", "half")))
    left = read(events)
    assert len(left) <= 10 + 180_000 // PIECE + 6
    assert events.dropped >= 29_990
    for call in "abc":
        own = [each.event for each in left if isinstance(each, Nested) and each.call_id == call]
        flat = [each.event if isinstance(each, Nested) else each for each in own]
        assert _said(flat) == "".join(f"{n}," for n in range("abc".index(call), 30_000, 3))
        if call == "b":
            ended = next(index for index, each in enumerate(flat) if isinstance(each, Replied))
            assert _said(flat[:ended]).endswith(",14998,")


def test_progress_is_left_out_and_counted_and_what_is_emitted_is_kept() -> None:
    events = UnreadEvents(2)
    for number in range(50):
        events.put(Progress(number, 0.0, "r", "c", "half"))
        events.put(Emitted(number, 0.0, "r", "c", number))
    left = read(events)
    assert [event.value for event in left if isinstance(event, Emitted)] == list(range(50))
    assert events.dropped == 49


def test_a_stream_that_is_read_late_says_all_of_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UnreadEvents.__init__, "__defaults__", (3,))
    answer = "天气很好。" * 500

    async def main() -> tuple[str, int]:
        pieces = [*map(TextDelta, answer), Finish("stop")]
        reading = Agent(Scripted([pieces])).stream("hi")
        reading.buffer_events()
        reading.start()
        await until(lambda: reading.reason is not None)
        waiting = len(reading._events._events) if reading._events is not None else 0
        return "".join([piece async for piece in reading.stream_text()]), waiting

    said, waiting = asyncio.run(main())
    assert said == answer and waiting < 20

"""What arrives can be watched while it does."""

from __future__ import annotations

from typing import Any

from tests.waiting import run
from toolkeel import Agent, ToolContext, tool
from toolkeel.agent.streamed_calls import PartialCalls
from toolkeel.events import Progress, Streamed, TurnStarted
from toolkeel.model_interface import CallDelta, Finish, TextDelta
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
                grown = calls.take_event(event)
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
    calls.take_event(Streamed(1, 0.0, "r", CallDelta(2, "c", "f", "{")))
    calls.take_event(Streamed(2, 0.0, "r", CallDelta(0, "a", "f")))
    assert [c.index for c in calls] == [0, 2]
    assert calls.take_event(Streamed(3, 0.0, "r", TextDelta("x"))) is None
    calls.take_event(TurnStarted(4, 0.0, "r", 2))
    assert list(calls) == []

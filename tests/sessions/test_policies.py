"""What the model is still shown: never a call without its result, cut seldom and then a lot."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.test_history import talk
from tests.sessions.talking import say
from toolkeel import Agent, AssistantMessage, SetupError, ToolMessage, UserMessage
from toolkeel.agent.history import HistoryPolicy, View
from toolkeel.errors import ModelError
from toolkeel.messages import Message, Usage
from toolkeel.model import ModelRequest
from toolkeel.sessions import KeepTokens, KeepTurns, Sessions, Summarise
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.policies import estimated_tokens
from toolkeel.testing.scripted import Scripted


def applied(policy: HistoryPolicy, messages: Sequence[Message]) -> View:
    view = View(messages)
    for cut in asyncio.run(policy.cuts(view)):
        view.cut(cut)
    return view


TURNS = st.lists(st.integers(0, 3), max_size=8)


@given(TURNS, st.integers(1, 4), st.integers(0, 4))
def test_the_last_turns_are_kept_whole(turns: list[int], keep: int, slack: int) -> None:
    messages = talk(turns)
    view = applied(KeepTurns(keep, keep + slack), messages)
    left = len(turns) if len(turns) <= keep + slack else keep
    assert view.messages == talk(turns)[len(messages) - len(view.messages) :]
    assert sum(isinstance(message, UserMessage) for message in view.messages) == left


@given(TURNS, st.integers(1, 60), st.integers(1, 60))
def test_a_budget_is_kept_and_no_call_is_parted_from_its_result(
    turns: list[int], high: int, low: int
) -> None:
    messages = talk(turns)
    policy = KeepTokens(max(high, low), low, len)
    view = applied(policy, messages)
    if len(messages) <= policy.high:
        assert view.messages == messages
    elif view.messages:
        last = len(talk(turns[-1:]))
        assert len(view.messages) <= max(policy.low, last)
        assert isinstance(view.messages[0], UserMessage)
    calls = [c.id for m in view.messages if isinstance(m, AssistantMessage) for c in m.tool_calls]
    results = [m.tool_call_id for m in view.messages if isinstance(m, ToolMessage)]
    assert len(calls) == len(results)


def test_between_the_marks_not_a_byte_of_the_beginning_changes(tmp_path: Path) -> None:
    """A cache of the prefix holds from one cut to the next."""

    class Seen(Scripted):
        sent: list[list[Message]] = []

        def stream(self, request: ModelRequest) -> Any:
            self.sent.append(list(request.messages))
            return super().stream(request)

    sessions = Sessions(tmp_path / "a.db", history=KeepTurns(3, 6))
    for n in range(20):
        Agent(Seen([f"a{n}"])).run_sync(f"q{n}", session=sessions["ada"])
    cuts = [b for a, b in zip(Seen.sent, Seen.sent[1:], strict=False) if b[: len(a)] != a]
    assert 4 <= len(cuts) <= 5
    assert max(map(len, Seen.sent)) <= 2 * 7
    assert len(sessions["ada"].messages) == 40
    assert sessions["ada"].messages[0].text == "q0"
    sessions.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda: KeepTurns(0),
        lambda: KeepTurns(5, 2),
        lambda: KeepTokens(10, 20),
        lambda: KeepTokens(0),
    ],
)
def test_marks_that_make_no_sense_are_refused(make: Any) -> None:
    with pytest.raises(SetupError):
        make()


def test_chinese_is_not_counted_as_a_quarter_of_a_token() -> None:
    assert estimated_tokens([UserMessage("北京" * 100)]) >= 200
    assert estimated_tokens([UserMessage("word " * 100)]) < 150


@pytest.fixture
def sessions(tmp_path: Path) -> Iterator[Sessions]:
    made = Sessions(tmp_path / "talk.db")
    for n in range(6):
        say(made["ada"], f"question {n} " * 20, f"answer {n} " * 20)
    yield made
    made.close()


def compact(sessions: Sessions, policy: HistoryPolicy) -> bool:
    return asyncio.run(sessions["ada"].compact(policy))


def test_a_summary_stands_for_what_it_was_made_of_and_all_is_kept(sessions: Sessions) -> None:
    reply = AssistantMessage("They counted.", usage=Usage(1, 50, 5))
    assert compact(sessions, Summarise(Scripted([reply]), 400, 200))
    view = sessions["ada"].fold().view
    assert view.messages[0].text.endswith("They counted.")
    assert len(view.messages) < 12
    assert len(sessions["ada"].messages) == 12
    assert sessions["ada"].usage == Usage(1, 50, 5)
    say(sessions["ada"], "more " * 200, "yes " * 200)
    again = Scripted(["They counted on."])
    assert compact(sessions, Summarise(again, 400, 200))
    assert "They counted." in again.requests[0].messages[1].text
    assert sum("Summary" in m.text for m in sessions["ada"].fold().view.messages) == 1


class Broken(Scripted):
    async def stream(self, request: ModelRequest) -> Any:
        raise ModelError("overloaded")
        yield


@pytest.mark.parametrize(
    "model",
    [
        Broken([]),
        Scripted([""]),
        Scripted(["x" * 100_000]),
        Scripted([AssistantMessage("I cannot", finish_reason="refusal")]),
        Scripted([AssistantMessage("half", finish_reason="length")]),
    ],
)
def test_a_summary_that_is_none_leaves_the_history_as_it_is(
    sessions: Sessions, model: Scripted
) -> None:
    before = sessions["ada"].fold().view.messages
    assert not compact(sessions, Summarise(model, 400, 200))
    assert sessions["ada"].fold().view.messages == before


def test_nobody_compacts_a_session_that_waits_or_is_not_there(sessions: Sessions) -> None:
    with pytest.raises(SessionError, match="no session"):
        asyncio.run(sessions["nobody"].compact(KeepTurns(1)))
    assert compact(sessions, KeepTurns(2))
    assert not compact(sessions, KeepTurns(2))

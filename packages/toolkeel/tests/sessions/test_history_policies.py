"""What the model is still shown: never a call without its result, cut seldom and then a lot."""

from __future__ import annotations

import asyncio
import math
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.test_history import talk
from tests.agent.valid import problems
from tests.sessions.talking import say
from toolkeel import Agent, AssistantMessage, SetupError, ToolMessage, UserMessage, tool
from toolkeel.agent.handoff import Handoff, remove_tool_calls
from toolkeel.agent.history import HistoryPolicy, HistoryView, ShortenedTranscript, TranscriptWindow
from toolkeel.context import RunContext
from toolkeel.errors import ModelError
from toolkeel.messages import Message, SystemMessage, ToolCall, Usage
from toolkeel.model_interface import ModelRequest
from toolkeel.sessions import KeepTokens, KeepTurns, Sessions, Summarize
from toolkeel.sessions.errors import SessionError
from toolkeel.sessions.history_policies import estimated_tokens
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call


def applied(policy: HistoryPolicy, messages: Sequence[Message]) -> HistoryView:
    view = HistoryView(messages)
    for cut in asyncio.run(policy.cuts(view)):
        view.apply_cut(cut)
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
    assert compact(sessions, Summarize(Scripted([reply]), 400, 200))
    view = sessions["ada"].load_state().view
    assert view.messages[0].text.endswith("They counted.")
    assert len(view.messages) < 12
    assert len(sessions["ada"].messages) == 12
    assert sessions["ada"].usage == Usage(7, 50, 5)
    say(sessions["ada"], "more " * 200, "yes " * 200)
    again = Scripted(["They counted on."])
    assert compact(sessions, Summarize(again, 400, 200))
    assert "They counted." in again.requests[0].messages[1].text
    assert sum("Summary" in m.text for m in sessions["ada"].load_state().view.messages) == 1


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
    before = sessions["ada"].load_state().view.messages
    assert not compact(sessions, Summarize(model, 400, 200))
    assert sessions["ada"].load_state().view.messages == before


def test_nobody_compacts_a_session_that_waits_or_is_not_there(sessions: Sessions) -> None:
    with pytest.raises(SessionError, match="no session"):
        asyncio.run(sessions["nobody"].compact(KeepTurns(1)))
    assert compact(sessions, KeepTurns(2))
    assert not compact(sessions, KeepTurns(2))


# — within a run —

HIGH, LOW = 20_000, 10_000
SIZES = st.sampled_from([10, 800, 4_000, 8_000])
ROUNDS = st.lists(
    st.tuples(st.lists(SIZES, min_size=1, max_size=3), st.sampled_from(["", "", "", "hurry"])),
    min_size=1,
    max_size=60,
)


class Request:
    """What a model would be sent, by a run that goes on."""

    def __init__(self, policy: HistoryPolicy, before: list[Message], asked: str) -> None:
        self.run: RunContext[None] = RunContext()
        self.run.loop_state.transcript = [SystemMessage("told"), *before, UserMessage(asked)]
        self.run.loop_state.instruction_count = 1
        self.shown, self.policy, self.asked = TranscriptWindow(), policy, len(before)

    def send(self) -> list[Message]:
        view = self.shown.view(self.run)
        view.reader_tool, view.prompt_position = "read_result", self.asked
        asyncio.run(self.shown.shorten(self.policy, self.run, view))
        return list(self.shown.messages(self.run))


def step(turn: int, sizes: Sequence[int]) -> list[Message]:
    """A reply and its results."""
    calls = tuple(ToolCall(f"{turn}-{n}", "f") for n in range(len(sizes)))
    results = [ToolMessage("x" * size, c.id) for c, size in zip(calls, sizes, strict=True)]
    return [AssistantMessage("", calls), *results]


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 3), max_size=4), ROUNDS, st.booleans())
def test_any_run_stays_within_its_budget_and_its_beginning_changes_seldom(
    before: list[int], rounds: list[tuple[list[int], str]], resumed: bool
) -> None:
    request = Request(KeepTokens(HIGH, LOW), talk(before), "the task")
    changes, sent, latest = 0, request.send(), list[Message]()
    for turn, (sizes, steer) in enumerate(rounds):
        latest = step(turn, sizes)
        request.run.loop_state.transcript += latest
        if steer:
            request.run.transcript.append(UserMessage(f"{steer} {turn}"))
        if resumed and turn % 7 == 6:  # saved, and gone on from
            request.shown = TranscriptWindow(request.shown.cuts)
        last, sent = sent, request.send()
        changes += sent[: len(last)] != last
        assert problems(sent) == []
        assert estimated_tokens(sent) <= HIGH + estimated_tokens(sent[:1])
        texts = [message.text for message in sent]
        assert texts[0] == "told" and "the task" in texts
        assert all(message in sent for message in latest)  # what is new is whole
        said = [text for text in texts if text.startswith("hurry")]
        assert said == [f"{s} {n}" for n, (_, s) in enumerate(rounds[: turn + 1]) if s]
    total = estimated_tokens(request.run.transcript)
    assert changes <= math.ceil(total / (HIGH - LOW))
    # All that is not shown can be read.
    whole = ShortenedTranscript(lambda: request.shown.cuts, lambda: request.run.messages)
    for message in sent:
        for name in re.findall(r'read_result\(path="(.+?)"\)', message.text):
            assert whole.find(name)


def test_results_are_shortened_before_a_turn_is_left_out() -> None:
    messages = [*talk([0, 0]), *step(0, [8000] * 3), *step(1, [8000] * 3)]
    request = Request(KeepTokens(9_000, 8_000), messages, "go on")
    sent = request.send()
    assert [m.text for m in sent if isinstance(m, UserMessage)] == ["q0", "q1", "go on"]
    shown = [len(m.text) for m in sent if isinstance(m, ToolMessage)]
    assert max(shown[:3]) < 600 and shown[3:] == [8000] * 3


def test_the_last_turn_stays_whole_as_long_as_it_fits_with_its_results_shortened() -> None:
    request = Request(KeepTokens(9_000, 8_000), talk([2, 2]), "go on")
    for turn in range(6):
        request.run.loop_state.transcript += step(turn, [4000, 4000])
    sent = request.send()
    calls = [c.id for m in sent if isinstance(m, AssistantMessage) for c in m.tool_calls]
    assert calls[-12:] == [f"{turn}-{n}" for turn in range(6) for n in range(2)]
    assert "q0" in [m.text for m in sent]


def test_a_run_of_a_model_without_tools_gets_neither_notes_nor_a_tool() -> None:
    """Many small models take none."""
    model = Scripted(["x" * 4000, "y"])
    agent = Agent(model, history=KeepTokens(900, 800))
    first = agent.run_sync("a")
    agent.run_sync([*first.messages, UserMessage("b")])
    assert [m.text for m in model.requests[1].messages] == ["b"] and not model.requests[1].tools


@tool(max_output=None)
def dump(n: int) -> str:
    """Give 4,800 lines."""
    return "\n".join(str(n * line % 997) for line in range(1, 4801))


def test_a_summary_of_a_run_that_goes_on_is_counted_in_what_it_spends() -> None:
    calls = [call("dump", {"n": n}) for n in range(40)]
    writer = Scripted(
        [AssistantMessage(f"Numbers, {n}.", usage=Usage(1, 10, 5)) for n in range(20)]
    )
    model, policy = Scripted([*calls, "done"]), Summarize(writer, 25_000, 12_000)
    result = Agent(model, [dump], history=policy, max_turns=50).run_sync("go")
    assert result.output == "done"
    asked = len(writer.requests)
    every = asked + len(model.requests)
    assert asked > 1 and result.usage == Usage(every, 10 * asked, 5 * asked)
    spent = result.run.context.scope.spending
    assert spent is not None and spent.requests == every
    assert max(estimated_tokens(r.messages) for r in writer.requests) < 25_500
    [summary] = [m.text for m in model.requests[-1].messages if "Numbers" in m.text]
    assert summary.startswith("Summary") and "read_result(path=" in summary
    writer = Scripted([AssistantMessage("Numbers.", usage=Usage(1, 400, 5)) for _ in range(20)])
    policy = Summarize(writer, 25_000, 12_000)
    bounded = Agent(Scripted(calls), [dump], history=policy, limits=RunLimits(tokens=1000))
    ended = bounded.run_sync("go")
    assert ended.reason == "limit" and "tokens" in ended.limit


def test_where_a_summary_fails_the_run_stays_within_its_budget() -> None:
    calls = [call("dump", {"n": n}) for n in range(40)]
    model, policy = Scripted([*calls, "done"]), Summarize(Broken([]), 25_000, 12_000)
    Agent(model, [dump], history=policy, max_turns=50).run_sync("go")
    assert max(estimated_tokens(r.messages) for r in model.requests) < 25_000


def test_the_policy_of_a_session_holds_within_its_runs_and_the_agents_own_comes_first(
    tmp_path: Path,
) -> None:
    calls = [call("dump", {"n": n}) for n in range(10)]
    with_own, without = Scripted([*calls, "done"]), Scripted([*calls, "done"])
    sessions = Sessions(tmp_path / "a.db", history=KeepTokens(40_000, 20_000))
    own = KeepTokens(25_000, 12_000)
    Agent(with_own, [dump], history=own).run_sync("go", session=sessions["ada"])
    Agent(without, [dump]).run_sync("go", session=sessions["bob"])
    most = [max(estimated_tokens(r.messages) for r in m.requests) for m in (with_own, without)]
    assert 20_000 < most[0] < 25_000 < most[1] < 40_000
    assert len(sessions["ada"].messages) == len(sessions["bob"].messages) == 22
    assert max(len(m.text) for m in sessions["ada"].messages) > 15_000  # the journal stays whole
    sessions.close()


# — a run that is shortened —

LONG_RUN = """
import os, signal, sys
from toolkeel import Agent, tool
from toolkeel.sessions import KeepTokens, Sessions
from toolkeel.testing.scripted import Scripted, call

@tool(max_output=None)
def dump(n: int) -> str:
    "Give 4,800 lines."
    return "\\n".join(str(n * line % 997) for line in range(1, 4801))

class Model(Scripted):
    async def stream(self, request):
        self.done = done = getattr(self, "done", -1) + 1
        if done == 20:
            print("\\n".join(m.text for m in request.messages), flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        self._lines = iter([call("dump", {"n": done}, id=f"n{done}")])
        async for delta in super().stream(request):
            yield delta

session = Sessions(sys.argv[1])["ada"]
Agent(Model([]), [dump], history=KeepTokens(28_000, 18_000)).run_sync("go", session=session)
"""


def test_a_shortened_run_that_was_killed_goes_on_with_the_same_references(tmp_path: Path) -> None:
    file = str(tmp_path / "talk.db")
    words = [sys.executable, "-c", LONG_RUN, file]
    killed = subprocess.run(words, capture_output=True, text=True, timeout=100)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    names = re.findall(r'read_result\(path="(output:\w+)"\)', killed.stdout)
    assert len(names) > 10

    reading = [call("read_result", {"path": name, "offset": 4711, "limit": 1}) for name in names]
    model = Scripted([reading, "done", "and on"])
    sessions = Sessions(file)
    agent = Agent(model, [dump], history=KeepTokens(28_000, 18_000))
    result = agent.run_sync(None, session=sessions["ada"])
    assert "\n".join(m.text for m in model.requests[0].messages) + "\n" == killed.stdout
    read = [m.text.split("\n")[0] for m in result.messages[-1 - len(names) : -1]]
    assert read == [str(n * 4711 % 997) for n in range(len(names))]

    # The next run, of another agent in another process, has them from a checkpoint.
    sessions.close()
    sessions = Sessions(file)
    model = Scripted([reading[:1], "done"])
    agent = Agent(model, [dump])
    result = agent.run_sync("And?", session=sessions["ada"])
    assert result.messages[-2].text.startswith("0\n")
    assert len(sessions["ada"].messages) == 2 + 40 + 1 + len(names) + 4
    fork = sessions.fork("ada", "bob")
    model = Scripted([reading[1:2], "done"])
    result = Agent(model, [dump]).run_sync("And?", session=fork)
    assert result.messages[-2].text.startswith(f"{4711 % 997}\n")
    sessions.close()


def test_a_session_knows_what_the_model_was_shown_over_many_runs_and_a_handoff(
    tmp_path: Path,
) -> None:
    desk = Agent(Scripted([]), [dump], name="desk", history=KeepTokens(25_000, 12_000))
    for n in range(6):
        calls = [call("dump", {"n": 10 * n + k}) for k in range(5)]
        away = [call("transfer_to_desk")] if n in (1, 4) else []
        model = Scripted([*calls, *away, *calls, "done"])
        handoff = Handoff(desk, input_filter=remove_tool_calls, sticky=False)
        history = KeepTokens(30_000, 15_000)
        agent = Agent(Scripted([]), [dump], handoffs=[handoff], history=history)
        sessions = Sessions(tmp_path / "talk.db")
        with agent.override(model=model), desk.override(model=model):
            agent.run_sync(f"q{n}", session=sessions["ada"])
        sent = [m for m in model.requests[-1].messages if not isinstance(m, SystemMessage)]
        texts = [m.text for m in sent] + ["done"]
        assert [m.text for m in sessions["ada"].load_state().view.messages] == texts
        sessions.close()
        sessions = Sessions(tmp_path / "talk.db")
        fold = sessions["ada"].load_state()
        assert [m.text for m in fold.view.messages] == texts
        whole = ShortenedTranscript(
            lambda fold=fold: fold.cuts, lambda s=sessions: s["ada"].messages
        )  # type: ignore[misc]
        assert all(whole.find(cut.name) for cut in fold.cuts if cut.name)
        sessions.close()


def test_what_the_run_was_asked_stays_though_people_have_said_more_meanwhile() -> None:
    @tool
    def wait() -> str:
        """Let somebody say something."""
        run.say("hurry")
        return "waited"

    model = Scripted([call("wait"), call("wait"), "done"])
    before = [UserMessage("old"), AssistantMessage("x"), UserMessage("task")]
    run = Agent(model, [wait], history=KeepTurns(1, 1)).start(before)
    asyncio.run(run.run())
    for request in model.requests:
        assert [m.text for m in request.messages if m.text in ("old", "task")] == ["task"]


def test_no_cut_of_a_policy_lies_within_another() -> None:
    view = HistoryView([UserMessage("task"), *(m for n in range(90) for m in step(n, [4000]))])
    view.reader_tool, view.prompt_position = "read_result", 0
    cuts = asyncio.run(KeepTokens(HIGH, LOW).cuts(view))
    places = [place for cut in cuts for place in range(cut.start, cut.stop)]
    assert len(cuts) > 5 and len(places) == len(set(places))


@pytest.mark.parametrize("marks", [(5, 2), (50, 20), (200, 20)])
def test_a_prompt_that_is_longer_than_the_budget_is_sent_as_it_is(marks: tuple[int, int]) -> None:
    @tool
    def add(a: int) -> str:
        """Add."""
        return "x" * 400

    session = Sessions(":memory:")["ada"]
    script = [line for n in range(4) for line in ([call("add", {"a": n})], "done " * 80)]
    agent = Agent(Scripted(script), [add], history=KeepTokens(*marks))
    for _ in range(4):
        assert agent.run_sync("question " * 30, session=session).reason == "answered"

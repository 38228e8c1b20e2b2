"""A run as a handle: what it has at any time, and that every end keeps it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.valid import problems
from tests.waiting import run as run_async
from tests.waiting import until
from toolkeel import (
    Agent,
    AssistantMessage,
    CancelToken,
    Effects,
    ModelError,
    RunState,
    Settings,
    SetupError,
    ToolContext,
    ToolMessage,
    tool,
)
from toolkeel.agent.run import Run
from toolkeel.errors import OutputError
from toolkeel.events import Event, RunFinished
from toolkeel.messages import ToolCall, Usage
from toolkeel.model_interface import Delta, ModelRequest, TextDelta
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call


@tool(inline=True)  # in the order of the calls: threads keep none
def note(text: str, context: ToolContext[Any]) -> str:
    """Note a text."""
    return str(context.update("notes", lambda notes: [*notes, text], []))


def saved(run: Run[Any]) -> RunState:
    """Through JSON, as another process would have it."""
    return RunState.from_json(run.state.to_json())


def test_a_handle_has_everything_before_during_and_after_the_run() -> None:
    seen: list[int] = []

    @tool
    def look(context: ToolContext[Any]) -> str:
        """Look."""
        seen.append(len(run.messages))
        return "seen"

    run: Run[str]

    async def main() -> None:
        nonlocal run
        run = Agent(Scripted([call("look"), "done"]), [look]).start("go")
        assert [m.text for m in run.messages] == ["go"] and run.reason is None
        assert saved(run).messages == tuple(run.messages)
        result = await run
        assert (await run) is result is run.result
        assert result.run is run and result.state.messages == tuple(result.messages)

    asyncio.run(main())
    assert seen == [2] and run.reason == "answered"


RUNS: list[Run[Any]] = []


class Stuck:
    """A model that never answers."""

    name = "stuck"

    async def stream(self, request: object) -> Any:
        await asyncio.sleep(60)
        yield AssistantMessage("never")


def fails(error: BaseException) -> Callable[[], Any]:
    return lambda: Agent(Scripted([call("note", {"text": "a"}), error]), [note]).run("go")


async def _cancelled_outside() -> None:
    agent = Agent(Scripted([call("note", {"text": "a"}), "x"]), [note])
    with agent.override(model=After([call("note", {"text": "a"})], Stuck())):
        task = asyncio.ensure_future(agent.run("go"))
        await until(lambda: bool(AFTER) and AFTER[-1].asked == 2)
        task.cancel()
        await task


class After(Scripted):
    """A script, and then another model."""

    def __init__(self, lines: list[Any], then: Any) -> None:
        super().__init__(lines)
        self.omitted_values, self.then, self.asked = len(lines), then, 0
        AFTER.append(self)

    async def stream(self, request: Any) -> Any:
        self.asked += 1
        source = super() if self.asked <= self.omitted_values else self.then
        async for delta in source.stream(request):
            yield delta


AFTER: list[After] = []

ENDS: dict[str, tuple[Callable[[], Any], type[BaseException]]] = {
    "the model fails": (fails(ModelError("down")), ModelError),
    "a mistake of the program": (fails(SetupError("wrong")), SetupError),
    "Ctrl-C": (fails(KeyboardInterrupt()), KeyboardInterrupt),
    "the program ends": (fails(SystemExit(3)), SystemExit),
    "a cancellation from outside": (_cancelled_outside, asyncio.CancelledError),
}


@pytest.mark.parametrize("end", ENDS)
def test_what_is_raised_carries_a_run_that_can_be_saved_and_gone_on_from(end: str) -> None:
    begin, kind = ENDS[end]

    async def main() -> Run[Any]:
        try:
            await begin()
        except kind as error:
            return error.run  # type: ignore[attr-defined,no-any-return]
        raise AssertionError("nothing was raised")

    loop = asyncio.new_event_loop()
    try:
        run = loop.run_until_complete(main())
    finally:
        loop.close()
    assert run.reason in ("failed", "cancelled")
    state = saved(run)
    assert state.values == {"notes": ["a"]} and problems(state.messages) == []
    model = Scripted([call("note", {"text": "b"}), "done"])
    result = Agent(model, [note]).run_sync(state)
    assert result.output == "done" and result.state.values == {"notes": ["a", "b"]}
    assert len(model.requests[0].messages) == 3  # nothing is run again, nothing is lost


@pytest.mark.parametrize("limit", ["refused", "wrong"])
def test_an_output_error_carries_the_run_as_well(limit: str) -> None:
    reply = AssistantMessage("No.", finish_reason="refusal") if limit == "refused" else "not five"
    agent = Agent(Scripted([reply]), output_type=int, output_retries=0)
    with pytest.raises(OutputError) as raised:
        agent.run_sync("go")
    assert raised.value.run.state.messages[-1].text in ("No.", "not five")  # type: ignore[attr-defined]


@given(
    st.lists(st.lists(st.sampled_from("abc"), min_size=1, max_size=3), max_size=5),
    st.sets(st.integers(0, 5)),
)
@settings(max_examples=40)
def test_going_on_sends_the_requests_that_would_have_been_sent_without_the_stop(
    turns: list[list[str]], failing: set[int]
) -> None:
    """The model fails before some of its replies; each time another process goes on."""
    lines: list[Any] = [
        [call("note", {"text": text}, f"{n}.{m}") for m, text in enumerate(turn)]
        for n, turn in enumerate(turns)
    ]
    lines.append("done")
    told = iter(range(100))

    def agent(model: Scripted) -> Agent:
        return Agent(model, [note], instructions=lambda run: f"Number {next(told)}.")

    whole = Scripted(lines)
    expected = agent(whole).run_sync("go")
    sent: list[Any] = []
    prompt: Any = "go"
    at = 0
    told = iter(range(100))
    while True:
        rest: list[Any] = lines[at:]
        stops = sorted(n for n in failing if at <= n < len(lines))
        if stops:
            rest = [*lines[at : stops[0]], ModelError("down")]
            failing = failing - {stops[0]}
            at = stops[0]
        model = Scripted(rest)
        try:
            result = agent(model).run_sync(prompt)
        except ModelError as error:
            sent += model.requests[:-1]
            prompt = saved(error.run)
        else:
            sent += model.requests
            break
    assert [_outline(r.messages) for r in sent] == [_outline(r.messages) for r in whole.requests]
    assert _outline(result.messages) == _outline(expected.messages)
    assert result.state.values == expected.state.values


def _outline(messages: Any) -> list[Any]:
    """All but how long it took."""
    return [(type(m), m.content, getattr(m, "tool_calls", ())) for m in messages]


def test_a_run_saved_while_a_call_runs_says_that_its_outcome_is_not_known() -> None:
    """One that may be repeated runs again instead."""
    states: list[RunState] = []
    ran: list[str] = []

    @tool
    def pay(context: ToolContext[Any]) -> str:
        """Pay."""
        ran.append("pay")
        states.append(saved(RUNS[-1]))
        return "paid"

    @tool(effects=Effects(read_only=True))
    def look(context: ToolContext[Any]) -> str:
        """Look."""
        ran.append("look")
        states.append(saved(RUNS[-1]))
        return "seen"

    for calls in ([call("pay")], [call("look")], [call("pay"), call("look")]):
        states.clear()
        ran.clear()

        async def main(calls: list[Any] = calls) -> None:
            run = Agent(Scripted([calls, "done"]), [pay, look]).start("go")
            RUNS.append(run)
            await run

        asyncio.run(main())
        model = Scripted(["done"])
        Agent(model, [pay, look]).run_sync(states[0])
        results = [m for m in model.requests[0].messages if isinstance(m, ToolMessage)]
        kinds = {m.name: m.kind for m in results}
        assert kinds == {c.name: "unknown_outcome" if c.name == "pay" else None for c in calls}
        assert ran.count("pay") == sum(c.name == "pay" for c in calls)


def test_state_that_cannot_be_saved_is_named_and_the_rest_comes_back() -> None:
    run = Agent(Scripted(["ok"])).start("go", state={"kept": {"a": (1, 2)}, "open": [object()]})
    assert run.state.omitted_values == ("open[0]",)
    assert saved(run).values == {"kept": {"a": (1, 2)}}
    back = Agent(Scripted(["ok"])).start(saved(run), state={"kept": "mine"})
    assert back.context.state == {"kept": "mine"}  # what the caller gives counts


def test_instructions_are_made_in_each_run_recorded_and_never_in_the_transcript() -> None:
    made: list[int] = []

    def instructions(run: object) -> str:
        made.append(1)
        return f"Number {len(made)}."

    @tool(approval=True)
    def pay() -> str:
        """Pay."""
        return "paid"

    model = Scripted([call("pay"), "done", "more"])
    agent = Agent(model, [pay], instructions=instructions)
    waiting = agent.run_sync("go")
    state = RunState.from_json(waiting.state.to_json())
    assert state.instructions == "Number 1."
    done = agent.run_sync(state, decisions=[state.pending[0].approve()])
    agent.run_sync(done.messages)
    told = [request.messages[0].text for request in model.requests]
    assert told == ["Number 1.", "Number 1.", "Number 2."]
    assert [m.text for m in done.messages] == ["go", "", "paid", "done"]


def test_a_choice_that_forces_a_call_is_made_once_unless_it_is_to_be_kept() -> None:
    for keep in (False, True):
        lines = [call("note", {"text": "a"}), call("note", {"text": "b"}), "done"]
        model = Scripted(lines)
        wanted = Settings(tool_choice="note", keep_tool_choice=keep)
        Agent(model, [note], settings=wanted).run_sync("go")
        choices = [request.settings.tool_choice for request in model.requests]
        assert choices == ["note", *(["note"] * 2 if keep else [None] * 2)]


@pytest.mark.parametrize(
    ("finish", "reason"), [("refusal", "refused"), ("filtered", "refused"), ("length", "cut_off")]
)
def test_a_reply_that_was_refused_or_cut_off_is_told_as_such(finish: Any, reason: str) -> None:
    reply = AssistantMessage("I had beg", finish_reason=finish)
    result = Agent(Scripted([reply])).run_sync("go")
    assert (result.reason, result.output, result.finish_reason) == (reason, "I had beg", finish)
    with pytest.raises(OutputError, match=reason) as raised:
        Agent(Scripted([reply]), on_refusal="raise").run_sync("go")
    assert raised.value.run.messages[-1] is reply  # type: ignore[attr-defined]


def test_a_call_that_is_cancelled_while_a_person_is_asked_has_not_run() -> None:
    """By the token, and from outside, after which it waits."""

    async def main(way: str) -> str:
        token = CancelToken()
        asked = asyncio.Event()

        async def approver(ticket: object) -> bool:
            asked.set()
            await asyncio.sleep(60)
            return True

        @tool(approval=True)
        def pay() -> str:
            """Pay."""
            return "paid"

        agent = Agent(Scripted([call("pay")]), [pay])
        run = agent.start("go", approver=approver, cancel=token)
        task = asyncio.ensure_future(run.__aenter__())
        await asked.wait()
        await task
        if way == "token":
            token.cancel("enough")
            await run
        else:
            await run.aclose()
        return run.messages[-1].text or f"{len(run.pending)} waits"

    assert "was not started" in run_async(lambda: main("token"))
    assert run_async(lambda: main("outside")) == "1 waits"


def test_the_last_event_has_what_was_spent_and_the_answer() -> None:
    events: list[Event] = []
    reply = AssistantMessage("42", usage=Usage(1, 10, 5))
    Agent(Scripted([reply])).run_sync("go", listeners=[events.append])
    last = events[-1]
    assert isinstance(last, RunFinished)
    assert (last.reason, last.output, last.usage) == ("answered", "42", Usage(1, 10, 5))


def test_the_text_of_a_stream_comes_alone() -> None:
    async def main() -> list[str]:
        stream = Agent(Scripted([call("note", {"text": "a"}), "done"]), [note]).stream("go")
        return [text async for text in stream.stream_text()]

    assert "".join(run_async(main)) == "done"


def test_sync_code_goes_through_a_stream_as_async_code_does() -> None:
    def stream() -> Run[str]:
        return Agent(Scripted([call("note", {"text": "a"}), "done"]), [note]).stream("go")

    async def main() -> list[str]:
        return [event.type async for event in stream()]

    run = stream()
    assert [event.type for event in run] == run_async(main)
    assert run.result.output == "done" and "".join(stream().stream_text()) == "done"


def test_a_piece_is_handed_to_sync_code_before_the_next_is_made() -> None:
    let_go = threading.Event()

    class Slow:
        name = "slow"

        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            yield TextDelta("one ")
            await asyncio.to_thread(let_go.wait, 60)
            yield TextDelta("two")

    pieces = iter(Agent(Slow()).stream("go").stream_text())
    assert next(pieces) == "one "
    let_go.set()
    assert list(pieces) == ["two"]


def test_sync_code_that_leaves_a_stream_stops_its_run() -> None:
    class Endless:
        name = "endless"

        async def stream(self, request: ModelRequest) -> AsyncIterator[Delta]:
            yield TextDelta("one")
            await asyncio.Event().wait()

    run = Agent(Endless()).stream("go")
    events = iter(run)
    next(events)
    events.close()
    assert run.reason == "cancelled"


def test_sync_code_gets_what_a_stream_fails_with_and_the_run_with_it() -> None:
    run = Agent(Scripted([ModelError("down")])).stream("go")
    with pytest.raises(ModelError, match="down") as failed:
        list(run.stream_text())
    assert failed.value.run is run  # type: ignore[attr-defined]


def test_a_sync_stream_within_a_running_loop_works_as_run_sync_does() -> None:
    async def main() -> str:
        return "".join(Agent(Scripted(["done"])).stream("go").stream_text())

    assert run_async(main) == "done"


def test_one_run_may_have_a_model_settings_and_time_of_its_own() -> None:
    agent = Agent(Scripted([]), name="a")
    other = Scripted(["other"])
    result = agent.run_sync("go", model=other, settings=Settings(temperature=0.5))
    assert (result.output, other.requests[0].settings.temperature) == ("other", 0.5)
    with agent.override(model=Scripted(["played"])):
        assert agent.model.name == "scripted"
        assert agent.run_sync("go").output == "played"
    late = agent.run_sync("go", model=Stuck(), timeout=0.05)
    assert (late.reason, late.limit, late.has_output) == ("limit", "seconds: 0.05", False)


# — saying something to a run —


def _says(*said: tuple[str, str], **more: Any) -> tuple[Any, list[Run[Any]]]:
    """A tool that says things to its own run, and where that run is put."""
    held: list[Run[Any]] = []

    @tool(sequential=True)
    def speak() -> str:
        """Speak."""
        for how, text in said:
            getattr(held[0], how)(text, **(more if how == "say" else {}))
        return "spoken"

    return speak, held


async def _held(agent: Agent, held: list[Run[Any]], **options: Any) -> Any:
    held.append(agent.start("go", **options))
    return await held[0]


def test_what_is_said_comes_after_the_current_calls_and_what_is_queued_at_the_end() -> None:
    speak, held = _says(("say", "hurry"), ("queue", "and then"), ("queue", "at last"))
    model = Scripted([call("speak", {}), "one", "two", "three"])
    result = asyncio.run(_held(Agent(model, [speak]), held))
    texts = [m.text for m in result.messages]
    assert texts == ["go", "", "spoken", "hurry", "one", "and then", "two", "at last", "three"]
    assert result.output == "three" and problems(result.messages) == []


def test_what_is_said_instead_skips_the_calls_that_have_not_begun() -> None:
    ran: list[str] = []

    @tool
    def after() -> str:
        """Come after."""
        ran.append("after")
        return "ran"

    speak, held = _says(("say", "stop that"), skip=True)
    calls = AssistantMessage(
        "", (ToolCall("1", "speak", "{}"), ToolCall("2", "after", "{}")), "tool_calls"
    )
    model = Scripted([calls, call("after", {}), "done"])
    result = asyncio.run(_held(Agent(model, [speak, after]), held))
    skipped_one = result.messages[3]
    assert skipped_one.kind == "skipped" and "said something instead" in skipped_one.text
    assert result.messages[4].text == "stop that" and ran == ["after"]


def test_what_is_only_said_skips_no_call() -> None:
    held: list[Run[Any]] = []

    @tool(sequential=True)
    def speak() -> str:
        """Speak."""
        return str(held[0].say("hurry"))

    model = Scripted([[call("speak"), call("note", {"text": "a"})], "done"])
    result = asyncio.run(_held(Agent(model, [speak, note]), held))
    assert [m.text for m in result.messages] == ["go", "", "True", "['a']", "hurry", "done"]


def test_one_call_that_the_model_makes_after_it_was_told_to_stop_is_skipped() -> None:
    held: list[Run[Any]] = []

    def reply(request: Any) -> Any:
        held[0].say("do not", skip=True)
        return call("note", {"text": "x"})

    model = Scripted([reply, "fine"])
    result = asyncio.run(_held(Agent(model, [note]), held))
    assert [getattr(m, "kind", None) for m in result.messages][2] == "skipped"
    assert result.messages[3].text == "do not" and result.output == "fine"


def test_what_nobody_has_heard_is_saved_with_the_run_and_said_when_it_goes_on() -> None:
    speak, held = _says(("say", "hurry"), ("queue", "then"))
    agent = Agent(Scripted([call("speak", {}), "one", "two"]), [speak], max_turns=1)
    stopped = asyncio.run(_held(agent, held))
    assert stopped.reason == "limit"
    more = Agent(Scripted(["one", "two"]), [speak])
    state = RunState.from_json(stopped.state.to_json())
    result = more.run_sync(state)
    assert [m.text for m in result.messages][3:] == ["hurry", "one", "then", "two"]


def test_a_run_that_has_ended_says_that_it_hears_nothing_and_keeps_it() -> None:
    async def main() -> None:
        run = Agent(Scripted(["one", "two"])).start("go")
        await run
        assert run.say("late") is False and [m.text for m in run.state.inbox] == ["late"]
        assert [m.text for m in run.retract()] == ["late"] and run.state.inbox == ()

    asyncio.run(main())


def test_a_session_writes_down_what_was_said_before_it_is_heard(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "s.db")
    speak, held = _says(("say", "hurry"), ("queue", "then"))
    agent = Agent(Scripted([call("speak", {}), "one", "two"]), [speak])
    result = asyncio.run(_held(agent, held, session=sessions["ada"]))
    assert result.output == "two"
    kinds = [each.entry.kind for each in sessions["ada"].entries()]
    assert kinds.count("queued") == kinds.count("steered") == 2
    assert [m.text for m in sessions["ada"].messages][3:] == ["hurry", "one", "then", "two"]
    sessions.close()


def test_an_answer_of_a_type_is_given_anew_after_a_follow_up() -> None:
    held: list[Run[Any]] = []

    def first(request: Any) -> Any:
        held[0].queue("and doubled?")
        return call("final_result", {"result": 2})

    agent = Agent(Scripted([first, call("final_result", {"result": 4})]), output_type=int)
    assert asyncio.run(_held(agent, held)).output == 4  # type: ignore[arg-type]


def test_a_run_that_has_not_ended_has_no_result() -> None:
    run = Agent(Scripted(["done"])).start("go")
    with pytest.raises(SetupError, match="the run has not ended"):
        _ = run.result
    asyncio.run(run.run())
    assert run.result.output == "done"


def test_a_run_that_has_begun_does_not_run_twice() -> None:
    async def main() -> None:
        run = Agent(Scripted(["once", "twice"])).start("go")
        with pytest.raises(SetupError, match="has begun already: await it"):
            await asyncio.gather(run, run.run())
        with pytest.raises(SetupError, match="has begun already: await it"):
            await run.run()
        assert (await run).output == "once"

    asyncio.run(main())

"""Guardrails of an agent: nothing comes out, and no body runs, before they have allowed it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from toolkeel import Agent, RunState, SetupError, tool
from toolkeel._records.entries import Judged, ModelFailed
from toolkeel.agent.guardrail import Guardrail, GuardrailTripped, as_guardrails
from toolkeel.call.steps.guard import Allow, Reject, Stop
from toolkeel.errors import ModelError
from toolkeel.events import Event
from toolkeel.messages import AssistantMessage, Usage, UserMessage
from toolkeel.model_interface import Finish, ModelRequest, Settings, TextDelta
from toolkeel.sessions import Sessions
from toolkeel.testing.scripted import Scripted, call

RAN: list[str] = []


@tool
def act() -> str:
    """Act."""
    RAN.append("act")
    return "acted"


class Streaming:
    """A model that says a text in pieces, and tells that it was asked."""

    name = "streaming"

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.ends = asyncio.Event()
        self.cancelled = False

    async def stream(self, request: ModelRequest) -> Any:
        yield TextDelta("some")
        self.asked.set()
        try:
            await self.ends.wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise
        yield TextDelta("thing")
        yield Finish("stop", Usage(1, 10, 5))


def no_bombs(said: Any, run: Any) -> Any:
    return Reject("not about bombs") if "bomb" in said[-1].text else Allow()


def test_a_guardrail_runs_beside_the_request_and_holds_back_what_is_said() -> None:
    model, heard = Streaming(), list[str]()
    judging = asyncio.Event()

    async def slow(said: Any, run: Any) -> Any:
        await model.asked.wait()  # the model is asked although nothing is decided yet
        model.ends.set()
        await judging.wait()
        return Allow()

    async def main() -> None:
        agent = Agent(model, input_guardrails=[slow])
        run = agent.start("hi", listeners=[lambda event: heard.append(event.type)])
        await model.ends.wait()
        for _ in range(20):
            await asyncio.sleep(0)
        assert "streamed" not in heard and "replied" not in heard
        judging.set()
        assert (await run).output == "something"

    asyncio.run(main())
    assert heard == ["run_started", "turn_started", *["streamed"] * 3, "replied", "run_finished"]


def test_a_refusal_cancels_the_request_and_nobody_is_told_of_the_reply() -> None:
    model, heard = Streaming(), list[str]()

    async def refuse(said: Any, run: Any) -> Any:
        await model.asked.wait()
        return Reject("no")

    async def main() -> GuardrailTripped:
        agent = Agent(model, input_guardrails=[refuse])
        run = agent.start("hi", listeners=[lambda event: heard.append(event.type)])
        with pytest.raises(GuardrailTripped, match="no") as tripped:
            await run
        return tripped.value

    error = asyncio.run(main())
    assert model.cancelled and "streamed" not in heard and "replied" not in heard
    assert (error.guardrail, error.stage) == ("refuse", "input")
    assert error.run.reason == "failed" and [m.text for m in error.run.messages] == ["hi"]


def test_no_body_runs_before_the_verdict_and_none_after_a_refusal() -> None:
    RAN.clear()

    async def slow(said: Any, run: Any) -> Any:
        for _ in range(20):
            await asyncio.sleep(0)
        assert RAN == []
        return no_bombs(said, run)

    agent = Agent(Scripted([call("act", {}), "done"] * 2), [act], input_guardrails=[slow])
    with pytest.raises(GuardrailTripped):
        agent.run_sync("a bomb")
    assert RAN == []
    assert (
        Agent(Scripted([call("act", {}), "done"]), [act], input_guardrails=[slow])
        .run_sync("hello")
        .output
        == "done"
    )
    assert RAN == ["act"]


@pytest.mark.parametrize("hosted", [False, True])
def test_one_that_comes_first_spares_the_request(hosted: bool) -> None:
    model = Scripted(["hello"])
    settings = Settings(extra_body={"tools": [{"type": "web_search"}]} if hosted else {})
    bombs = Guardrail(no_bombs, "bombs", blocking=not hosted)
    agent = Agent(model, settings=settings, input_guardrails=[bombs])
    with pytest.raises(GuardrailTripped) as tripped:
        agent.run_sync("a bomb")
    assert tripped.value.guardrail == "bombs" and model.requests == []
    assert agent.run_sync("flowers").output == "hello"


def test_a_saved_run_that_was_refused_is_refused_again() -> None:
    agent = Agent(Scripted(["x", "x"]), input_guardrails=[no_bombs])
    with pytest.raises(GuardrailTripped) as tripped:
        agent.run_sync("a bomb")
    state = RunState.from_json(tripped.value.run.state.to_json())
    with pytest.raises(GuardrailTripped):
        agent.run_sync(state)


def test_what_a_person_says_meanwhile_is_looked_at_too() -> None:
    @tool
    def interrupted() -> str:
        """Act."""
        run[0].context.loop_state.inbox.append(UserMessage("now a bomb"))
        return "acted"

    run: list[Any] = []
    agent = Agent(
        Scripted([call("interrupted", {}), "done"]), [interrupted], input_guardrails=[no_bombs]
    )

    async def main() -> None:
        run.append(agent.start("hello"))
        with pytest.raises(GuardrailTripped):
            await run[0]

    asyncio.run(main())


def test_an_answer_is_looked_at_and_one_that_is_refused_is_no_output() -> None:
    seen: list[Any] = []

    async def polite(output: Any, run: Any) -> Any:
        seen.append((output, run.agent.name))
        return Reject("rude") if output == "go away" else Allow()

    agent = Agent(Scripted(["go away", "welcome"]), name="host", output_guardrails=[polite])
    with pytest.raises(GuardrailTripped, match="rude") as tripped:
        agent.run_sync("hi")
    assert tripped.value.stage == "output"
    again = agent.run_sync(RunState.from_json(tripped.value.run.state.to_json()))
    assert again.output == "welcome" and seen == [("go away", "host"), ("welcome", "host")]
    assert [m.text for m in agent.model.requests[1].messages] == ["hi"]  # type: ignore[attr-defined]


def test_a_guardrail_stops_with_its_own_exception_and_a_broken_one_counts_as_a_no() -> None:
    class Mine(Exception):
        pass

    def stop(said: Any, run: Any) -> Any:
        return Stop(Mine("over"))

    with pytest.raises(Mine) as raised:
        Agent(Scripted(["x"]), input_guardrails=[stop]).run_sync("hi")
    assert raised.value.run.messages[0].text == "hi"  # type: ignore[attr-defined]

    def broken(said: Any, run: Any) -> Any:
        raise ValueError("oops")

    with pytest.raises(GuardrailTripped, match="'broken' failed: ValueError: oops"):
        Agent(Scripted(["x"]), input_guardrails=[broken]).run_sync("hi")
    for nonsense in (True, Allow("changed")):
        check = lambda said, run, nonsense=nonsense: nonsense  # noqa: E731
        with pytest.raises(GuardrailTripped, match="failed: TypeError"):
            Agent(Scripted(["x"]), output_guardrails=[check]).run_sync("hi")
    with pytest.raises(SetupError, match="no guardrail"):
        as_guardrails(["text"])  # type: ignore[list-item]


def test_the_refusal_counts_though_the_model_failed_meanwhile() -> None:
    async def slow(said: Any, run: Any) -> Any:
        for _ in range(20):
            await asyncio.sleep(0)
        return Reject("no")

    with pytest.raises(GuardrailTripped):
        Agent(Scripted([ModelError("down")]), input_guardrails=[slow]).run_sync("hi")


def test_a_cancel_while_a_guardrail_looks_ends_the_run_as_cancelled() -> None:
    async def main() -> None:
        model, begun = Streaming(), asyncio.Event()

        async def forever(said: Any, run: Any) -> Any:
            begun.set()
            await asyncio.Event().wait()

        run = Agent(model, input_guardrails=[forever]).start("hi")
        await begun.wait()
        run.cancel("enough")
        assert (await run).reason == "cancelled"
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())


def test_a_session_keeps_what_was_refused_and_shows_it_to_no_model(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "s.db")
    polite = Guardrail(lambda out, run: Reject("rude") if out == "go away" else Allow(), "polite")
    model = Scripted(["go away", "hello"])
    agent = Agent(model, input_guardrails=[no_bombs], output_guardrails=[polite])
    for said, asked in (("a bomb", Scripted(["read by nobody"])), ("hi", model)):
        with pytest.raises(GuardrailTripped):
            agent.run_sync(said, session=sessions["ada"], model=asked)
    assert agent.run_sync("again", session=sessions["ada"]).output == "hello"
    assert [m.text for m in model.requests[-1].messages] == ["hi", "again"]
    assert [m.text for m in sessions["ada"].messages] == [
        "a bomb",
        "hi",
        "go away",
        "again",
        "hello",
    ]
    entries = [each.entry for each in sessions["ada"].entries()]
    judged = [(e.by, e.verdict, e.reason) for e in entries if isinstance(e, Judged)]
    assert judged[:3] == [
        ("no_bombs", "tripped", "not about bombs"),
        ("no_bombs", "allowed", ""),
        ("polite", "tripped", "rude"),
    ]
    assert [e.error for e in entries if isinstance(e, ModelFailed)] == ["a guardrail refused it"]
    sessions.close()


def test_input_guardrails_of_the_first_agent_hold_after_a_handoff() -> None:
    heard: list[Event] = []
    desk = Agent(Scripted([AssistantMessage("hello")]), name="desk")
    first = Agent(
        Scripted([call("transfer_to_desk", {})]),
        handoffs=[desk],
        input_guardrails=[no_bombs],
        output_guardrails=[lambda out, run: Reject("only the agent that answers is asked")],
    )
    assert first.run_sync("hi", listeners=[heard.append]).output == "hello"

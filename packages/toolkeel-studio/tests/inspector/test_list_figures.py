"""Figures of sessions: models, cost, error, and the tools as they were sent."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from tests.shared import peer
from toolkeel import Agent, AssistantMessage, Usage, tool
from toolkeel._records.entries import ModelAsked
from toolkeel.define.tool import AnyTool
from toolkeel.sessions import Sessions
from toolkeel.sessions.errors import SessionUnavailable
from toolkeel.testing import Scripted, call
from toolkeel_studio.inspector.list_figures import SentTools, SessionFigures, SessionReader


def test_figures_of_a_session_are_those_of_all_its_runs_and_the_error_that_of_the_last() -> None:
    peer("genai_prices")
    usage = Usage(input_tokens=1_000_000, requests=1)
    inner = Agent(Scripted([AssistantMessage("in", usage=usage, model="gpt-4o")]), name="helper")
    lines = [
        call("helper", {"input": "?"}),
        AssistantMessage("out", usage=usage, model="gpt-4o"),
        ValueError("odd 猫"),
        "Hello.",
    ]
    sessions = Sessions(":memory:")
    agent = Agent(Scripted(lines, name="play"), [inner.as_tool()])
    reader = SessionReader(sessions, SessionFigures)
    for error, models in (("", "play, gpt-4o"), ("odd 猫", "play, gpt-4o")):
        try:
            agent.run_sync("?", session=sessions["s"])
        except ValueError:
            assert error
        figures = reader.read(sessions["s"].info)
        assert error in figures.error and figures.models == models
        assert bool(figures.error) == bool(error)
    assert figures.cost is None  # play has no price
    figures.usage.pop("play")
    assert figures.cost == 5.0


def test_a_tool_is_shown_as_the_request_sent_it_and_recorded_once_while_it_stays() -> None:
    def described(text: str) -> AnyTool:
        def ping(times: int) -> str:
            return "pong"

        return tool(description=text)(ping)

    sessions = Sessions(":memory:")
    for text in ("First.", "First.", "Second."):
        Agent(Scripted(["Hello."]), [described(text)]).run_sync("?", session=sessions["s"])
    asked = sessions["s"].entries(kind="model_asked")
    assert [bool(each.entry.definitions) for each in asked] == [True, False, True]  # type: ignore[union-attr]
    tools = SessionReader(sessions, SentTools).read(sessions["s"].info)
    sent = [tools.definition("ping", each.seq) for each in asked]
    assert [each["description"] for each in sent] == ["First.", "First.", "Second."]  # type: ignore[index]
    assert "times" in str(sent[0]) and tools.definition("pang", asked[0].seq) is None


def test_a_session_that_cannot_be_read_for_a_moment_is_read_the_next_time() -> None:
    sessions = Sessions(":memory:")
    Agent(Scripted(["Hello."], name="play")).run_sync("?", session=sessions["s"])
    info = sessions["s"].info

    def refuse(*_: object) -> None:
        raise SessionUnavailable("the disk is busy")

    found: Any = {"s": SimpleNamespace(entries=refuse)}
    reader = SessionReader(found, SessionFigures)
    assert reader.read(info).models == "" and not reader.is_read(info)
    found["s"] = sessions["s"]
    assert reader.read(info).models == "play"


def test_a_definition_whose_description_is_no_text_is_none() -> None:
    tools = SentTools()
    tools.add(1, ModelAsked("r", 1, definitions={"ping": '{"description": 3}'}))
    assert tools.definition("ping", 1) is None

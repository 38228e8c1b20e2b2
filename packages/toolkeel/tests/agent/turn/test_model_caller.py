"""Asking a model: what is recorded of each request, failed ones too."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.agent.valid import problems
from toolkeel import Agent, ModelError, RunState, Settings, Usage, tool
from toolkeel._records.entries import ModelAsked, ModelFailed
from toolkeel.agent.turn.model_caller import unanswered_messages
from toolkeel.errors import ModelUnavailable
from toolkeel.events import Event, Retrying
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.sessions import Sessions
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call


@tool
def act() -> str:
    """Act."""
    return "acted"


def test_a_journal_says_which_tools_and_settings_were_sent_and_what_failed(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "s.db")
    model = Scripted([call("act", {}), ModelError("down"), "done"])
    agent = Agent(model, [act], settings=Settings(temperature=0.5, tool_choice="required"))
    with pytest.raises(ModelError):
        agent.run_sync("go", session=sessions["ada"])
    entries = [each.entry for each in sessions["ada"].entries()]
    asked = [(e.turn, e.tools, dict(e.settings)) for e in entries if isinstance(e, ModelAsked)]
    assert asked == [
        (1, ("act",), {"tool_choice": "required", "temperature": 0.5}),
        (2, (), {"tool_choice": None}),
    ]
    [failed] = [e for e in entries if isinstance(e, ModelFailed)]
    assert (failed.turn, failed.attempt, failed.model) == (2, 1, "scripted")
    assert failed.error == "ModelError: down"
    sessions.close()


def test_a_request_holds_the_same_list_of_messages_as_long_as_nothing_is_cut() -> None:
    seen: list[int] = []

    async def watch(request, run, proceed):  # type: ignore[no-untyped-def]
        seen.append(id(request))
        return await proceed(request)

    Agent(Scripted([call("act", {}), "done"]), [act], model_steps=[watch]).run_sync("go")
    assert seen[0] == seen[1]


def test_what_the_person_unanswered_messages_is_what_no_model_has_answered() -> None:
    messages = [UserMessage("a"), AssistantMessage("b"), UserMessage("c"), UserMessage("d")]
    assert [message.text for message in unanswered_messages(messages)] == ["c", "d"]
    assert unanswered_messages(messages[:2]) == []


def test_a_note_of_the_library_was_not_said_by_the_person() -> None:
    messages = [UserMessage("a"), UserMessage("b", "correction"), UserMessage("c")]
    assert [message.text for message in unanswered_messages(messages)] == ["c"]


# — a reply that is none —


def kinds(events: list[Event]) -> list[str]:
    return [each.error for each in events if isinstance(each, Retrying)]


@pytest.mark.parametrize("route", ["run", "stream", "session", "inner"])
def test_an_empty_reply_is_no_answer_and_the_model_is_asked_again(
    route: str, tmp_path: Path
) -> None:
    empty = AssistantMessage("", usage=Usage(1, 10, 1))
    model, events = Scripted([empty, empty, "here"]), list[Event]()
    agent = Agent(model, name="clerk")
    listen: Any = {"listeners": [events.append]}
    if route == "inner":
        boss = Agent(Scripted([call("clerk", {"input": "go"}), "end"]), [agent.as_tool()])
        result = boss.run_sync("go", **listen)
        assert result.messages[2].text == "here" and result.usage.requests == 5
        return
    if route == "session":
        listen["session"] = session = Sessions(tmp_path / "s.db")["ada"]
    run = agent.stream("go", **listen) if route == "stream" else None
    if run is not None:
        list(run)
    result = agent.run_sync("go", **listen) if run is None else run.result
    assert (result.output, result.usage) == ("here", Usage(3, 20, 2))
    assert [m.text for m in result.messages] == ["go", "here"]
    assert kinds(events) == ["the reply was empty"] * 2
    if route == "session":
        assert session.usage == Usage(3, 20, 2)
        assert [m.text for m in session.messages] == ["go", "here"]


def test_a_model_that_only_gives_empty_replies_fails_the_run_which_can_be_resumed(
    tmp_path: Path,
) -> None:
    agent = Agent(Scripted(["", "", "", "here"]))
    with pytest.raises(ModelUnavailable, match="empty, 3 times") as failed:
        agent.run_sync("go")
    state = failed.value.run.state  # type: ignore[attr-defined]
    assert [m.text for m in state.messages] == ["go"]
    assert agent.run_sync(state).output == "here"
    session = Sessions(tmp_path / "s.db")["ada"]
    agent = Agent(Scripted(["", "", "", "here"]))
    with pytest.raises(ModelUnavailable):
        agent.run_sync("go", session=session)
    assert agent.run_sync(None, session=session).output == "here"


def test_empty_replies_count_in_the_bound_of_requests() -> None:
    result = Agent(Scripted(["", "", "here"])).run_sync("go", limits=RunLimits(requests=2))
    assert result.reason == "limit" and not result.has_output


@pytest.mark.parametrize("choice", ["required", "add"])
def test_a_forced_call_that_the_reply_lacks_is_asked_for_once_more(choice: str) -> None:
    @tool
    def add() -> str:
        """Add."""
        return "4"

    events: list[Event] = []
    named = "the tool 'add'"
    forced = Settings(tool_choice=choice)
    model = Scripted(["I would rather not.", call("add"), "It is 4."])
    result = Agent(model, [add], settings=forced).run_sync("go", listeners=[events.append])
    assert result.output == "It is 4." and len(kinds(events)) == 1
    assert [m.text for m in result.messages][1:3] == [
        "I would rather not.",
        f"You called no tool. Call {'a tool' if choice == 'required' else named} now.",
    ]
    assert problems(result.messages) == []
    stubborn = Agent(Scripted(["No.", "Still no."]), [add], settings=forced)
    result = stubborn.run_sync("go")
    assert result.output == "Still no." and result.usage.requests == 2
    again = stubborn.run_sync(RunState.from_json(result.state.to_json()))
    assert again.output == "Still no." and len(stubborn.model.requests) == 2  # type: ignore[attr-defined]


def test_a_forced_call_may_be_one_that_the_provider_runs_itself() -> None:
    forced = Settings(tool_choice="required", extra_body={"tools": [{"type": "web_search"}]})
    result = Agent(Scripted(["It is 4."]), settings=forced).run_sync("go")
    assert result.output == "It is 4." and result.usage.requests == 1

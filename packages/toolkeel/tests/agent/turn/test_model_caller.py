"""Asking a model: what is recorded of each request, failed ones too."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel import Agent, ModelError, Settings, tool
from toolkeel._records.entries import ModelAsked, ModelFailed
from toolkeel.agent.turn.model_caller import unanswered_messages
from toolkeel.messages import AssistantMessage, UserMessage
from toolkeel.sessions import Sessions
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

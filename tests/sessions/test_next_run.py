"""What the next run of a session finds: the last one gone on with, or ended in words the model reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.sessions.talking import opened
from toolkeel import Agent, tool
from toolkeel.sessions import Sessions
from toolkeel.sessions.next_run import end_run, last_goes_on, state_of
from toolkeel.testing import Scripted, call


@tool(approval=True)
def pay(amount: int) -> str:
    """Pay."""
    return f"paid {amount}"


@pytest.fixture
def waiting(tmp_path: Path) -> Sessions:
    """Sessions of which one waits for a person."""
    made = Sessions(tmp_path / "talk.db")
    agent = Agent(Scripted([[call("pay", {"amount": 7})], "Done."]), [pay])
    assert agent.run_sync("Pay 7.", session=made["ada"]).reason == "waiting"
    return made


def test_a_run_that_waits_goes_on_also_when_somebody_says_something(waiting: Sessions) -> None:
    journal = opened(waiting)
    assert last_goes_on(journal, says=False) and last_goes_on(journal, says=True)
    [ticket] = state_of(journal.fold, True).pending
    assert ticket.tool == "pay"
    end_run(journal)
    waiting.close()


def test_an_ended_run_does_not_go_on_whatever_is_said(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    Agent(Scripted(["Hello."])).run_sync("Hi.", session=sessions["ada"])
    journal = opened(sessions)
    assert not last_goes_on(journal, says=False) and not last_goes_on(journal, says=True)
    state = state_of(journal.fold, False)
    assert [message.text for message in state.messages] == ["Hi.", "Hello."] and not state.counts
    end_run(journal)
    sessions.close()

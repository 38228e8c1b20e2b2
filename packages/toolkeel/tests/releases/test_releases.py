"""What an earlier release wrote is read by this one: a session, a waiting run and a recording."""

from __future__ import annotations

import asyncio
import datetime
import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from tests.releases.write import HERE, note, pay
from toolkeel import Agent, RunState
from toolkeel._records import tickets
from toolkeel.sessions import Sessions
from toolkeel.testing import Cassette, Scripted
from toolkeel.testing.taped import TapedModel

RELEASES = sorted(folder.name for folder in HERE.iterdir() if (folder / "run.json").is_file())


@pytest.fixture
def old(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy a release's folder, as a user has it who decided nothing yet, soon after it was written."""
    monkeypatch.setenv("TOOLKEEL_DATA", str(tmp_path / "data"))
    copy = tmp_path / "release"
    shutil.copytree(HERE / request.param, copy)
    [ticket] = RunState.from_json((copy / "run.json").read_text("utf-8")).pending
    monkeypatch.setattr(tickets, "time", lambda: ticket.expires - 60)  # tickets expire, files stay
    return copy


def test_the_first_release_is_among_the_files() -> None:
    assert "0.1.0" in RELEASES


@pytest.mark.parametrize("old", RELEASES, indirect=True)
def test_a_saved_run_of_an_earlier_release_is_resumed(old: Path) -> None:
    state = RunState.from_json((old / "run.json").read_text("utf-8"))
    assert state.values["when"] == datetime.date(2026, 11, 27)
    [ticket] = state.pending
    agent = Agent(Scripted(["Paid."]), [note, pay], used_tickets=old / "used")
    result = asyncio.run(_resume(agent, state, ticket.approve()))
    assert [m.text for m in result.messages[-2:]] == ["paid 5", "Paid."]


async def _resume(agent: Agent, state: RunState, decision: object) -> object:
    return await agent.run(state, decisions=[decision])


@pytest.mark.parametrize("old", RELEASES, indirect=True)
def test_a_session_of_an_earlier_release_goes_on_with_its_typed_state(old: Path) -> None:
    sessions = Sessions(old / "sessions.db")
    session = sessions.open("talk")
    [ticket] = session.pending
    agent = Agent(Scripted(["Paid."]), [note, pay])
    result = asyncio.run(_in_session(agent, session, ticket.approve()))
    assert [m.text for m in result.messages[-2:]] == ["paid 5", "Paid."]
    assert "note 你好" in [m.text for m in result.messages]
    values = session.state
    assert values["price"] == Decimal("12.50") and values["when"] == datetime.date(2026, 11, 27)
    sessions.close()


async def _in_session(agent: Agent, session: object, decision: object) -> object:
    return await agent.run(None, session=session, decisions=[decision])


@pytest.mark.parametrize("old", RELEASES, indirect=True)
def test_a_recording_of_an_earlier_release_is_replayed_without_its_model(old: Path) -> None:
    tape = Cassette(old / "cassette.json")
    agent = Agent(TapedModel(tape), [note, pay], instructions="Be brief.")
    result = agent.run_sync("note 你好")
    assert result.output == "It is noted."

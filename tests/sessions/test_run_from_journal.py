"""What the next run of a session finds: the last one gone on with, or ended in words the model reads."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from pathlib import Path

import pytest

from tests.sessions.killed_run import work_through
from tests.sessions.talking import opened
from toolkeel import Agent, tool
from toolkeel._records.entries import CallEnded
from toolkeel.sessions import Sessions
from toolkeel.sessions.run_from_journal import end_run, last_goes_on, state_of
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
    asyncio.run(end_run(journal))
    waiting.close()


def test_an_ended_run_does_not_go_on_whatever_is_said(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    Agent(Scripted(["Hello."])).run_sync("Hi.", session=sessions["ada"])
    journal = opened(sessions)
    assert not last_goes_on(journal, says=False) and not last_goes_on(journal, says=True)
    state = state_of(journal.fold, False)
    assert [message.text for message in state.messages] == ["Hi.", "Hello."] and not state.counts
    asyncio.run(end_run(journal))
    sessions.close()


def test_an_inner_run_that_waited_goes_on_in_the_journal_where_it_stood(tmp_path: Path) -> None:
    sessions = Sessions(tmp_path / "talk.db")
    inner = Agent(Scripted([call("pay", {"amount": 7}), "Paid."]), [pay], name="clerk")
    boss = Agent(Scripted([call("clerk", {"input": "Pay 7."}), "Done."]), [inner.as_tool("clerk")])
    assert boss.run_sync("Pay.", session=sessions["ada"]).reason == "waiting"
    [ticket] = sessions["ada"].pending
    sessions["ada"].decide(ticket.approve())
    result = boss.run_sync(None, session=sessions["ada"])
    assert [m.text for m in result.messages] == ["Pay.", "", "Paid.", "Done."]
    kinds = Counter(each.entry.kind for each in sessions["ada"].entries())
    counted = {kind: kinds[kind] for kind in ("run_began", "person_said", "model_replied", "waits")}
    # Both runs say that they wait: each is asked once, and nothing is written a second time.
    assert counted == {"run_began": 2, "person_said": 2, "model_replied": 4, "waits": 2}
    assert sessions["ada"].pending == () and not sessions["ada"].fold().inner
    sessions.close()


STEPS = (
    *(f"asks0 {n}" for n in (1, 3, 5, 7)),
    *(f"{when} {n}" for when in ("before", "inside") for n in range(3)),
)
"""Where an inner run of three steps is killed: before, inside and after each of them."""


@pytest.mark.parametrize("kind", ["safe", "unsafe"])
@pytest.mark.parametrize("depth", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_an_inner_run_killed_at_any_of_its_steps_goes_on_from_there(
    tmp_path: Path, depth: int, kind: str
) -> None:
    """No model is asked again what it has answered, nothing is done twice, nobody asked for nothing."""
    places = (*STEPS, *(f"asks{level} {n}" for level in range(1, depth + 1) for n in (1, 3)))
    folders = [tmp_path / when for when in places]
    jobs: list[tuple[object, ...]] = []
    for when, folder in zip(places, folders, strict=True):
        folder.mkdir()
        jobs += [(folder, when, kind, depth), (folder, "never", kind, depth)]
    ends = work_through(jobs, "tests.sessions.killed_inner_run")
    assert ends == [(-signal.SIGKILL, ""), (0, "answered")] * len(places)
    for when, folder in zip(places, folders, strict=True):
        _check_inner(folder, when, kind, depth)


def _check_inner(folder: Path, when: str, kind: str, depth: int) -> None:
    log = (folder / "log").read_text("utf-8").splitlines()
    asks = Counter(line for line in log if line.startswith("asks"))
    expected = {f"asks0 {n}": 1 for n in (1, 3, 5, 7)}
    expected |= {f"asks{level} {n}": 1 for level in range(1, depth + 1) for n in (1, 3)}
    if when.startswith("asks"):  # it was sent, and no reply is known
        expected[when] = 2
    assert asks == expected, when
    done = [line for line in log if line[0].isdigit()]
    again = kind == "safe" and when.startswith("inside")
    assert len(set(done)) == 3 and len(done) == 3 + again, (when, done)  # each by one key
    unknown = kind == "unsafe" and not when.startswith("asks")
    assert [line for line in log if line.startswith("person")] == ["person work"] * unknown, when
    sessions = Sessions(folder / "talk.db")
    session = sessions["ada"]
    said = "all done" if depth == 1 else "over"
    assert [m.text for m in session.messages] == ["go", "", said, "over"], when
    told = [e.entry.message.text for e in session.entries() if isinstance(e.entry, CallEnded)]
    if unknown and when.startswith("inside"):
        assert sum("A person says: it did" in text for text in told) == 1
    else:  # with the state that the steps before have left
        assert told[:3] == [f"did {n} of {n + 1}" for n in range(3)], when
    fold = session.fold()
    assert (fold.reason, fold.runs, session.pending) == ("answered", 1, ())
    kinds = Counter(each.entry.kind for each in session.entries())
    assert kinds["model_asked"] == sum(asks.values())
    assert kinds["model_replied"] == 4 + 2 * depth and kinds["run_began"] == 1 + depth
    sessions.close()

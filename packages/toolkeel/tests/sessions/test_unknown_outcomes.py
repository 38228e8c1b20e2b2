"""After a kill: what has an outcome is not repeated, and of what has none somebody is asked."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.sessions.killed_run import STEPS, done_in, work_through
from toolkeel import Agent, ToolMessage, tool
from toolkeel._records import tickets
from toolkeel.approvals import Ticket
from toolkeel.runs import RunLimits
from toolkeel.sessions import Sessions, unknown_outcomes
from toolkeel.testing.scripted import Scripted, call

PLACES = {
    "asked": 11,
    "replied": 11,
    "before": 10,
    "inside": 10,
    "tool_finished": 10,
    "run_finished": 1,
}
"""Where a run of ten steps is killed, and how often it comes by: before, inside and after each step."""
NOT_ACKNOWLEDGED = ("inside", "tool_finished")
"""A step has happened, and no commit has said so."""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["safe", "unsafe"])
@pytest.mark.parametrize("when", PLACES)
def test_a_run_of_ten_steps_killed_at_any_of_them_ends_as_if_it_had_not_been(
    tmp_path: Path, when: str, kind: str
) -> None:
    folders = [tmp_path / f"{step}" for step in range(PLACES[when])]
    jobs: list[tuple[object, ...]] = []
    for step, folder in enumerate(folders):
        folder.mkdir()
        jobs += [(folder, when, step, kind), (folder, "never", 0, kind)]
    ends = work_through(jobs)
    assert ends == [(-signal.SIGKILL, ""), (0, "answered")] * len(folders)
    for step, folder in enumerate(folders):
        _check_end(folder, when, step, kind)


def _check_end(folder: Path, when: str, step: int, kind: str) -> None:
    lines = done_in(folder)
    assert sorted({int(line.split()[0]) for line in lines}) == list(range(STEPS))
    assert len(set(lines)) == STEPS  # the one that ran twice had one key
    again = when in NOT_ACKNOWLEDGED and kind == "safe"
    assert sorted(lines) == sorted({*lines} if not again else [*{*lines}, lines[step]])
    told = [f"did {n}" for n in range(STEPS)]
    state = list(range(STEPS))
    if when in NOT_ACKNOWLEDGED and kind == "unsafe":  # a person has said that it did happen
        told[step] = (
            "It is unknown whether this call of 'work' happened: it was stopped. "
            f"A person says: yes, did {step}"
        )
        state.remove(step)
    sessions = Sessions(folder / "talk.db")
    session = sessions["ada"]
    texts = [message.text for message in session.messages]
    assert texts == ["go", *(text for one in told for text in ("", one)), "all done"]
    fold = session.load_state()
    assert (fold.state, fold.reason, fold.run_count) == ({"done": state}, "answered", 1)
    lost = when in ("asked", "replied", "run_finished")  # a request without a reply: asked again
    asked = [each for each in session.entries() if each.entry.kind == "model_asked"]
    assert (len(asked), fold.unknown_calls, session.pending) == (STEPS + 1 + lost, (), ())
    sessions.close()


@pytest.mark.parametrize(("when", "happened"), [("before", 0), ("inside", 1)])
def test_of_a_call_that_nobody_knows_about_a_person_is_asked(
    tmp_path: Path, when: str, happened: int
) -> None:
    goes_on = (tmp_path, "never", 0, "unsafe", "nobody")
    killed, again = work_through([(tmp_path, when, 1, "unsafe"), goes_on])
    assert (killed, again) == ((-signal.SIGKILL, ""), (0, "waiting"))
    assert len(done_in(tmp_path)) == 1 + happened  # nothing has run
    sessions = Sessions(tmp_path / "talk.db")
    [ticket] = sessions["ada"].pending
    assert "did this happen?" in ticket.reason
    assert (ticket.tool, ticket.arguments) == ("work", {"n": 1})
    decision = ticket.deny("yes, did 1") if happened else ticket.approve()
    sessions["ada"].decide(decision)
    sessions.close()
    assert work_through([goes_on]) == [(0, "answered")]
    keys = [line.split()[1] for line in done_in(tmp_path)]
    assert len(keys) == len(set(keys)) == STEPS
    sessions = Sessions(tmp_path / "talk.db")
    kinds = [each.entry.kind for each in sessions["ada"].entries()]
    results = [each for each in sessions["ada"].messages if isinstance(each, ToolMessage)]
    sessions.close()
    assert kinds.count("decided") == 1
    assert results[1].kind == ("unknown_outcome" if happened else None)


def _killed(tmp_path: Path, calls: Sequence[str]) -> Sessions:
    """A session whose program was killed while these calls ran."""
    program = f"""
import os, signal
from typing import Any
from toolkeel import Agent, ToolContext, tool
from toolkeel.sessions import Sessions, unknown_outcomes
from toolkeel.testing.scripted import Scripted, call
@tool
def fast(context: ToolContext[Any]) -> str:
    "Be fast."
    context.state["fast"] = {{"was": ["here"]}}
    return "fast"
@tool
async def slow() -> str:
    "Never end."
    import asyncio
    await asyncio.sleep(0.2)
    os.kill(os.getpid(), signal.SIGKILL)
    return ""
calls = [call(name, {{}}) for name in {list(calls)!r}]
Agent(Scripted([calls]), [fast, slow]).run_sync("go", session=Sessions({str(tmp_path / "a.db")!r})["ada"])
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], timeout=60, capture_output=True, text=True
    )
    assert ended.returncode == -signal.SIGKILL, ended.stderr
    return Sessions(tmp_path / "a.db")


@tool
def fast() -> str:
    """Be fast."""
    raise AssertionError("it has run already")


@tool
def slow() -> str:
    """Be asked about."""
    return "ran now"


def test_an_outcome_whose_siblings_still_ran_is_kept_with_what_it_wrote(tmp_path: Path) -> None:
    sessions = _killed(tmp_path, ["fast", "slow", "fast"])
    assert sessions["ada"].state == {"fast": {"was": ["here"]}}
    asked: list[Ticket] = []

    def approver(ticket: Ticket) -> bool:
        asked.append(ticket)
        return True

    result = Agent(Scripted(["ok"]), [fast, slow]).run_sync(
        None, session=sessions["ada"], approver=approver
    )
    assert [message.text for message in result.messages] == [
        "go", "", "fast", "ran now", "fast", "ok",
    ]  # fmt: skip
    assert len(asked) == 1
    sessions.close()


def test_limits_count_on_from_what_was_called_before_the_kill(tmp_path: Path) -> None:
    sessions = _killed(tmp_path, ["fast", "slow", "fast"])
    result = Agent(Scripted([[call("fast"), call("slow")], "ok"]), [fast, slow]).run_sync(
        None,
        session=sessions["ada"],
        approver=lambda ticket: True,
        limits=RunLimits(calls={"fast": 2, "slow": 2}),
    )
    kinds = [m.kind for m in result.messages if isinstance(m, ToolMessage)]
    assert kinds == [None, None, None, "limit_reached", None]
    sessions.close()


def test_who_says_leave_it_has_the_model_told_that_it_is_unknown(tmp_path: Path) -> None:
    sessions = _killed(tmp_path, ["slow"])
    result = Agent(Scripted(["ok"]), [slow]).run_sync(
        None, session=sessions["ada"], approver=lambda ticket: ticket.deny("the bank says yes")
    )
    told = result.messages[2]
    assert "unknown whether" in told.text
    assert "the bank says yes" in told.text
    assert told.kind == "unknown_outcome"  # type: ignore[union-attr]
    sessions.close()


def test_of_an_approver_and_somebody_else_the_first_to_say_what_happened_counts(
    tmp_path: Path,
) -> None:
    sessions = _killed(tmp_path, ["slow"])
    session = sessions["ada"]

    def approver(ticket: Ticket) -> bool:
        assert session.decide(ticket.deny("the bank says yes"), "bob") is None
        return True

    result = Agent(Scripted(["ok"]), [slow]).run_sync(None, session=session, approver=approver)
    assert "the bank says yes" in result.messages[2].text
    sessions.close()


def test_an_approver_that_says_neither_yes_nor_no_leaves_it_waiting(tmp_path: Path) -> None:
    sessions = _killed(tmp_path, ["slow"])
    result = Agent(Scripted([]), [slow]).run_sync(
        None, session=sessions["ada"], approver=lambda ticket: None
    )
    assert (result.reason, len(result.pending)) == ("waiting", 1)
    sessions.close()


def test_a_question_that_has_expired_is_replaced_by_the_one_that_is_asked_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions = _killed(tmp_path, ["slow"])
    session, clerk = sessions["ada"], Agent(Scripted(["ok"]), [slow])
    [late] = clerk.run_sync(None, session=session).pending
    for module in (tickets, unknown_outcomes):
        monkeypatch.setattr(module, "time", lambda: late.expires + 1)
    [anew] = clerk.run_sync(None, session=session).pending
    assert session.pending == (anew,) and anew.id != late.id
    session.decide(anew.answer("done"))
    assert clerk.run_sync(None, session=session).output == "ok"
    sessions.close()


def test_what_is_said_after_a_kill_comes_behind_the_results(tmp_path: Path) -> None:
    sessions = _killed(tmp_path, ["slow"])
    result = Agent(Scripted(["ok"]), [slow]).run_sync(
        "are you there?", session=sessions["ada"], approver=lambda ticket: True
    )
    assert [m.text for m in result.messages] == ["go", "", "ran now", "are you there?", "ok"]
    assert [m.text for m in sessions["ada"].messages] == [m.text for m in result.messages]
    sessions.close()


STORM = """
import sys, threading
from pathlib import Path
from toolkeel._records.entries import StateChanged
from toolkeel.sessions import Sessions, unknown_outcomes
from tests.sessions.talking import opened
folder = Path(sys.argv[1])
sessions = Sessions(folder / "a.db")
def write(name):
    journal = opened(sessions, name)
    n = journal.state.state.get("n", 0)
    while True:
        n += 1
        journal.append(StateChanged("r", "n", n))
        journal.commit_now()
        sys.stdout.write(f"{name} {n}\\n")
        sys.stdout.flush()
for name in ("ada", "bob", "eve"):
    threading.Thread(target=write, args=(name,)).start()
"""


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_in_a_storm_of_writes_and_kills(tmp_path: Path) -> None:
    known: dict[str, int] = {}
    for number in range(50):
        words = [sys.executable, "-c", STORM, str(tmp_path)]
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as storm:
            assert storm.stdout is not None
            for _ in range(3 + number * 7 % 40):
                name, n = storm.stdout.readline().split()
                known[name] = int(n)
            storm.kill()
            for line in storm.stdout.read().splitlines(keepends=True):
                if line.endswith("\n"):
                    known[line.split()[0]] = int(line.split()[1])
        sessions = Sessions(tmp_path / "a.db")
        for name, n in known.items():
            entries = sessions[name].entries()
            assert [each.seq for each in entries] == list(range(1, len(entries) + 1))
            assert sessions[name].state["n"] >= n  # type: ignore[operator]
        sessions.close()


APPROVED = """
import os, signal, sys
from pathlib import Path
from toolkeel import Agent, tool
from toolkeel.sessions import Sessions, unknown_outcomes
from toolkeel.testing.scripted import Scripted, call

folder, dies = Path(sys.argv[1]), sys.argv[2] == "dies"

@tool(approval=True)
def pay(amount: int) -> str:
    "Pay."
    if dies:
        os.kill(os.getpid(), signal.SIGKILL)
    with open(folder / "log", "a") as log:
        log.write("paid\\n")
    return "paid"

session = Sessions(folder / "talk.db")["ada"]
replies = ["done"] if session.exists else [call("pay", {"amount": 5})]
result = Agent(Scripted(replies), [pay]).run_sync(None if session.exists else "go", session=session)
print(result.reason, flush=True)
"""


def test_an_approved_call_that_was_killed_runs_once_somebody_says_that_it_did_not(
    tmp_path: Path,
) -> None:
    def went_on(how: str) -> str:
        command = [sys.executable, "-c", APPROVED, str(tmp_path), how]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    session = Sessions(tmp_path / "talk.db")["ada"]
    assert went_on("lives") == "waiting"
    session.decide(session.pending[0].approve())
    assert went_on("dies") == ""
    assert went_on("lives") == "waiting"  # asked whether it happened
    question = next(each for each in session.pending if "did this happen" in each.reason)
    session.decide(question.approve())
    assert went_on("lives") == "answered"
    assert (tmp_path / "log").read_text("utf-8") == "paid\n"


def test_an_answer_is_checked_by_the_tool_of_the_agent_that_made_the_call(tmp_path: Path) -> None:
    """The first agent has a tool of the same name and another type."""

    @tool
    def count() -> int:
        """Count."""
        return 1

    @tool("count")
    def count_words() -> str:
        """Count in words."""
        return "one"

    second = Agent(Scripted([call("count"), "lost", "done"]), [count], name="second")
    triage = Scripted([call("transfer_to_second")])
    first = Agent(triage, [count_words], name="first", handoffs=[second])
    sessions = Sessions(tmp_path / "talk.db")
    first.run_sync("go", session=sessions["ada"])
    lines = list(sessions.export("ada"))
    last = [n for n, line in enumerate(lines) if '"call_intended"' in line][-1]
    session = sessions.import_(lines[: last + 1], "killed")
    [ticket] = first.run_sync(None, session=session).pending
    session.decide(ticket.answer("many"))
    first.run_sync(None, session=session)
    result = [each for each in session.messages if isinstance(each, ToolMessage)][-1]
    assert result.kind == "invalid_output"

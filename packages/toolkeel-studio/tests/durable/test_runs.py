"""Durable runs from an operator's side: listed, decided, retried, limited, deleted."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.durable.working import done_in, durable_of, workers, working
from tests.waiting import until_sync
from toolkeel import Agent, tool
from toolkeel._records import tickets
from toolkeel.call.steps import approve
from toolkeel.context import ToolContext
from toolkeel.errors import SetupError
from toolkeel.sessions import Sessions
from toolkeel.spending import RunLimits
from toolkeel.testing.scripted import Scripted, call
from toolkeel_studio.cli.runs import decide_command, retry_command
from toolkeel_studio.durable import Durable, Runs
from toolkeel_studio.durable.engine import queue_name
from toolkeel_studio.durable.schedules import Schedule

pytestmark = pytest.mark.slow


@contextmanager
def opened(*made: Runs) -> Iterator[Runs]:
    try:
        yield made[0]
    finally:
        for each in made:
            each.close()
        made[0].sessions.close()


def rows_of(path: Path) -> str:
    """All that the tables hold, without their definitions."""
    with closing(sqlite3.connect(path)) as rows:
        return "\n".join(line for line in rows.iterdump() if line.startswith("INSERT"))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("客服", "财务"),
        ("clerk a", "clerk-a"),
        ("Clerk", "clerk"),
        ("é", "e"),
        ("--", "-"),
        ("служба", "слежба"),
        ("a" * 300, "a" * 299),
    ],
)
def test_agents_with_different_names_have_different_queues_that_the_engine_accepts(
    one: str, other: str, tmp_path: Path
) -> None:
    assert queue_name(one) != queue_name(other)
    place = Sessions(tmp_path / "talk.db")
    made = [Durable(Agent(Scripted(["yes"]), name=name), place) for name in (one, other)]
    with opened(*made):
        made[0].start("for one", id="1")
        with pytest.raises(SetupError, match="'1' names a run of another agent"):
            made[1].start("for one", id="1", session="1")
        with working(made[1]):
            made[1].start("for the other", id="2")
            assert made[1].result("2", 20).text == "yes"
        with pytest.raises(TimeoutError):
            made[0].result("1", 0)


def test_a_hashed_name_is_no_agents_own_name() -> None:
    assert queue_name("clerk") == "toolkeel-clerk"
    made = queue_name("客服").removeprefix("toolkeel-")
    assert queue_name(made) != queue_name("客服")


def test_two_agents_cannot_have_schedules_of_one_name_and_are_told_what_to_do(
    tmp_path: Path,
) -> None:
    place = Sessions(tmp_path / "talk.db")
    made = [Durable(Agent(Scripted([]), name=name), place) for name in ("one", "two")]
    with opened(*made):
        made[0].schedule("* * * * *", "hi", session="ada")
        with pytest.raises(SetupError, match=r"another agent has a schedule 'ada'.*name=") as told:
            made[1].schedule("* * * * *", "hi", session="ada")
        assert "dbos" not in str(told.value)
        made[1].schedule("0 8 * * *", "morning", session="bob", scope="b", name="b's", missed=True)
        assert [each.name for each in made[0].schedules()] == ["ada"]
        everybodys = Runs(place)
        mornings = Schedule("b's", "two", "0 8 * * *", "bob", "b", "morning", True, "")
        assert everybodys.schedules(scope="b") == (mornings,)
        assert len(everybodys.schedules()) == 2
        everybodys.unschedule("b's")
        everybodys.close()
        assert made[1].schedules() == ()
        with pytest.raises(SetupError, match=r"prompt= has half of a surrogate"):
            made[0].schedule("* * * * *", "\ud800", session="ada")


def test_an_operator_lists_decides_and_deletes_what_a_worker_of_another_process_runs(
    tmp_path: Path,
) -> None:
    durable = durable_of(tmp_path, str(tmp_path / "talk.db"))
    durable.start("pay 5", session="ada", id="paying")
    durable.start("run 1", session="bob", scope="b", id="quick")
    operator = Runs(Sessions(tmp_path / "talk.db"))
    assert {run.status for run in operator.list()} == {"queued"}
    with opened(durable, operator), working(durable):
        assert operator.result("paying", 20).reason == "waiting"
        assert operator.result("quick", 20).reason == "answered"
        listed = operator.list(status="waiting")
        assert [(run.id, run.session, run.prompt) for run in listed] == [("paying", "ada", "pay 5")]
        assert [run.id for run in operator.list(scope="b")] == ["quick"]
        assert operator.list(limit=1) == operator.list()[:1]
        [ticket] = operator.sessions["ada"].pending
        assert [run.id for run in operator.prune(0, dry=False)] == ["quick"]  # what waits stays
        assert [run.id for run in operator.list()] == ["paying"]
        with pytest.raises(SetupError, match="no durable run of the session 'bob'"):
            operator.decide("bob", ticket.approve(), scope="b")
        assert operator.result(operator.decide("ada", ticket.approve()), 20).text == "Paid."
        assert operator.show("paying").status == "answered"
        assert done_in(tmp_path)[-1] == "paid 5"
        with pytest.raises(SetupError, match="is answered; only a failed run"):
            operator.retry("paying")


def test_a_run_whose_question_has_expired_is_retried_to_ask_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    durable = durable_of(tmp_path, str(tmp_path / "talk.db"))
    durable.start("pay 5", session="ada", id="paying")
    with opened(durable), working(durable):
        assert durable.result("paying", 20).reason == "waiting"
        with pytest.raises(SetupError, match=r"is waiting; only a failed run .* has expired"):
            durable.retry("paying")
        [late] = durable.sessions["ada"].pending
        for module in (tickets, approve):
            monkeypatch.setattr(module, "time", lambda: late.expires + 1)
        with pytest.raises(SetupError, match="anew: toolkeel runs retry paying --database /"):
            decide_command("paying", approve=[late.id], database=str(tmp_path / "talk.db"))
        retry_command(["paying"], database=str(tmp_path / "talk.db"))
        assert durable.result(capsys.readouterr().out.strip(), 20).reason == "waiting"
        [anew] = durable.sessions["ada"].pending
        assert anew.id != late.id
        assert durable.result(durable.decide("ada", anew.approve()), 20).text == "Paid."
        with pytest.raises(SetupError, match="no call of the run 'paying' waits: it is answered"):
            decide_command("paying", approve=[anew.id], database=str(tmp_path / "talk.db"))
    assert done_in(tmp_path) == ["paid 5"]


def test_a_deleted_scope_leaves_no_text_in_any_table_and_other_scopes_stay(tmp_path: Path) -> None:
    durable = durable_of(tmp_path, str(tmp_path / "talk.db"))
    durable.start("run secret", session="one", scope="ada", id="1")
    durable.start("run public", session="one", scope="bob", id="2")
    durable.schedule("0 0 1 1 *", "secret, too", session="one", scope="ada", name="yearly")
    with opened(durable):
        with pytest.raises(SetupError, match=r"'1' has not ended: cancel it"):
            durable.delete(None, scope="ada")
        with working(durable):
            assert [durable.result(id, 20).reason for id in "12"] == ["answered"] * 2
        texts = rows_of(tmp_path / "talk.db.runs") + rows_of(tmp_path / "talk.db")
        assert "secret" in texts
        assert durable.delete(None, scope="ada") == 1
        texts = rows_of(tmp_path / "talk.db.runs") + rows_of(tmp_path / "talk.db")
        assert "secret" not in texts and "run public" in texts
        assert [run.id for run in durable.list()] == ["2"]


def test_a_wrong_value_is_refused_where_it_is_given_and_nothing_is_queued(tmp_path: Path) -> None:
    durable = Durable(Agent(Scripted([])), Sessions(tmp_path / "talk.db"))
    wrong: list[tuple[Callable[[], object], str]] = [
        (
            lambda: durable.start("hi", priority=1001),
            r"Durable.start\(priority=...\): .* 0 to 1000",
        ),
        (lambda: durable.start(7), r"Durable.start\(prompt=...\)"),  # type: ignore[arg-type]
        (lambda: durable.start("hi", limits={"cost": 1}), r"start\(limits=...\)"),  # type: ignore[arg-type]
        (lambda: durable.list(status="canceled"), "queued, active, answered"),
        (lambda: durable.decide("ada", "yes"), r"decide\(decision=...\)"),  # type: ignore[arg-type]
        (lambda: durable.result("1", "soon"), r"result\(timeout=...\)"),  # type: ignore[arg-type]
        (lambda: durable.prune("all"), r"prune\(older_than=...\)"),  # type: ignore[arg-type]
    ]
    with opened(durable):
        for attempt, message in wrong:
            with pytest.raises(SetupError, match=message):
                attempt()
        assert durable.list() == ()


def test_a_full_queue_refuses_a_run_and_takes_the_repeat_of_one_it_has(tmp_path: Path) -> None:
    agent = Agent(Scripted(["yes"] * 9), name="clerk")
    durable = Durable(agent, Sessions(tmp_path / "talk.db"), max_queued=2)
    with opened(durable):
        for id in ("1", "2", "1"):
            durable.start("hi", id=id)
        with pytest.raises(SetupError, match=r"queue of 'clerk' is full: 2 runs wait.*max_queued"):
            durable.start("hi", id="3")
        with working(durable):
            durable.result("2", 20)
            durable.start("hi", id="3")
            assert durable.result("3", 20).reason == "answered"


def test_a_scope_whose_runs_wait_is_refused_another_and_other_scopes_are_not(
    tmp_path: Path,
) -> None:
    agent = Agent(Scripted([]), name="clerk")
    durable = Durable(agent, Sessions(tmp_path / "talk.db"), max_queued_per_scope=1)
    with opened(durable):
        for scope, place in (("ada", "of the scope 'ada'"), ("", "without a scope")):
            durable.start("hi", scope=scope, id=f"one of {scope}")
            with pytest.raises(SetupError, match=rf"as many runs {place} wait as may \(1\)"):
                durable.start("hi", scope=scope)
        durable.cancel("one of ada")
        durable.start("hi", scope="ada")


def test_no_scope_has_more_runs_in_progress_than_its_limit_and_others_do_not_wait(
    tmp_path: Path,
) -> None:
    lock, now, most = threading.Lock(), set[str](), [0]
    opens = threading.Event()

    @tool
    def hold(who: str) -> str:
        """Hold."""
        with lock:
            now.add(who)
            most[0] = max(most[0], len(now))
        opens.wait(30)
        with lock:
            now.discard(who)
        return "held"

    class Model(Scripted):
        async def stream(self, request):  # type: ignore[no-untyped-def, override]
            said = [message.text for message in request.messages]
            flood = said[0].startswith("flood") and "held" not in said
            self._lines = iter([call("hold", {"who": said[0]}) if flood else "done"])
            async for delta in super().stream(request):
                yield delta

    place = Sessions(tmp_path / "talk.db")
    durable = Durable(
        Agent(Model([]), [hold], name="clerk"), place, max_concurrency=3, max_per_scope=2
    )
    with opened(durable):
        flood = [durable.start(f"flood {n}", scope="a", id=f"flood {n}") for n in range(6)]
        with working(durable):
            until_sync(lambda: len(now) == 2)
            durable.start("quick", scope="b", id="quick")
            assert durable.result("quick", 20).text == "done"
            assert len(now) == 2
            opens.set()
            assert {durable.result(id, 30).reason for id in flood} == {"answered"}
    assert most == [2]


def test_deps_model_and_limits_of_one_run_replace_those_of_the_worker(tmp_path: Path) -> None:
    @tool
    def whoami(context: ToolContext) -> str:
        """Say who asks."""
        return str(context.deps)

    class Model(Scripted):
        async def stream(self, request):  # type: ignore[no-untyped-def, override]
            last = request.messages[-1].text
            self._lines = iter([call("whoami", {}) if last == "hi" else f"you are {last}"])
            async for delta in super().stream(request):
                yield delta

    place = Sessions(tmp_path / "talk.db")
    durable = Durable(Agent(Model([]), [whoami], name="clerk"), place, deps="nobody")
    with opened(durable), working(durable):
        ids = [durable.start("hi"), durable.start("hi", deps={"user": "猫"})]
        ids.append(durable.start("hi", limits=RunLimits(requests=1)))
        ends = [durable.result(id, 20) for id in ids]
        assert [end.text for end in ends[:2]] == ["you are nobody", "you are {'user': '猫'}"]
        assert ends[2].reason == "limit"


@pytest.mark.parametrize("adopted", [False, True])
def test_a_run_that_kills_its_worker_is_failed_after_five_recoveries_and_retried_by_hand(
    tmp_path: Path, adopted: bool
) -> None:
    place = str(tmp_path / "talk.db")
    durable = durable_of(tmp_path, place)
    durable.start("always before 2", session="ada", id="poison")
    kills = 0
    with workers() as made, opened(durable):
        for n in range(20):
            words = {"adopt": [f"w{n - 1}"]} if adopted and n else {}
            pid = made.begin(tmp_path, place, f"w{n}" if adopted else "w", **words)
            if made.end_of(pid) == 0:
                break
            kills += 1
        assert kills == 6
        end = durable.result("poison", 1)
        error = "6 workers have died before it completed another call"
        assert (end.reason, end.error) == ("failed", error)
        assert [run.id for run in durable.list(status="failed")] == ["poison"]
        (tmp_path / "cured").touch()
        again = durable.retry("poison")
        assert made.end_of(made.begin(tmp_path, place, "w")) == 0
        assert durable.result(again, 1).reason == "answered"
        texts = [message.text for message in durable.sessions["ada"].messages]
        assert texts.count("always before 2") == 1


def test_a_session_that_goes_on_without_its_cancelled_durable_run_awaits_no_durable_decision(
    make: Callable[..., Durable],
) -> None:
    durable = make()
    with opened(durable):
        durable.start("pay 5", session="ada", id="one")
        with working(durable):
            durable.result("one", 20)
            ada = durable.sessions["ada"]
            first = ada.pending[0]
            assert durable.awaits_decision("ada", first.id)
            assert not durable.awaits_decision("bo", first.id)
        durable.cancel("one")
        durable.agent.run_sync("pay 6", session=ada)
        later = ada.pending[0]
        assert later.id != first.id and not durable.awaits_decision("ada", later.id)

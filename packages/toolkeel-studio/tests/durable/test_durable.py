"""Durable runs: killed at each step, moved from worker to worker, decided days later, done once."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from tests.durable.working import STEPS, done_in, durable_of, left_in, workers
from tests.sessions.postgres_server import Server, serving
from tests.waiting import until_sync
from toolkeel.sessions import Sessions
from toolkeel_studio.durable import Durable

pytestmark = pytest.mark.slow

PLANS = ["after -1", *(f"{at} {n}" for n in range(STEPS) for at in ("before", "inside", "after"))]


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as made:
        yield made


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "talk.db")
    server: Server = request.getfixturevalue("server")
    return server.new_database()


def close(durable: Durable) -> None:
    durable.close()
    durable.sessions.close()


def check_whole(durable: Durable, plans: list[str]) -> None:
    """Each run has ended as if nothing had been killed."""
    for plan in plans:
        end = durable.result(plan, 1)
        assert end.reason == "answered", end.error
        assert (end.reason, end.text, end.session) == ("answered", f"all of {plan}", plan)
        texts = [message.text for message in durable.sessions[plan].messages]
        did = [text for n in range(STEPS) for text in ("", f"did {n}")]
        assert texts == [plan, *did, f"all of {plan}"]


def test_a_run_of_ten_steps_killed_before_in_and_after_each_step_ends_as_if_it_had_not_been(
    place: str, tmp_path: Path
) -> None:
    durable = durable_of(tmp_path, place)
    for plan in PLANS:
        assert durable.start(plan, session=plan, id=plan) == plan
    kills = 0
    with workers() as made:
        while made.end_of(made.begin(tmp_path, place, "one")) == -signal.SIGKILL:
            kills += 1
    assert kills == len(PLANS)
    check_whole(durable, PLANS)
    lines = done_in(tmp_path)
    assert len(set(lines)) == len(PLANS) * STEPS  # what was done twice was done by one key
    twice = [line for line, count in Counter(lines).items() if count > 1]
    assert sorted(line.split("|")[0] for line in twice) == sorted(
        plan for plan in PLANS if plan.startswith("inside")
    )
    close(durable)


def test_what_a_dead_worker_had_begun_waits_until_another_adopts_it(
    server: Server, tmp_path: Path
) -> None:
    place = server.new_database()
    durable = durable_of(tmp_path, place, width=4)
    plans = [f"run {n}" for n in range(8)]
    for plan in plans:
        durable.start(plan, session=plan, id=plan)
    with workers() as made:
        slow = made.begin(tmp_path, place, "slow", width=4, pause=600, stays=True)
        until_sync(lambda: len(done_in(tmp_path)) == 4)
        begun = {line.split("|")[0] for line in done_in(tmp_path)}
        other = made.begin(tmp_path, place, "other", width=4, stays=True)
        rest = [plan for plan in plans if plan not in begun]
        assert all(durable.result(plan, 60).reason == "answered" for plan in rest)
        made.kill(slow)
        time.sleep(1)  # some five looks of the other's
        assert left_in(durable) == len(begun) == 4  # what the dead one had begun waits
        assert made.end_of(made.begin(tmp_path, place, "heir", width=4, adopt=["slow"])) == 0
        made.kill(other)
    check_whole(durable, plans)
    assert len(set(done_in(tmp_path))) == 8 * STEPS
    close(durable)


def test_a_storm_of_kills_ends_with_right_results(server: Server, tmp_path: Path) -> None:
    place = server.new_database()
    durable = durable_of(tmp_path, place, width=5)
    plans = [f"run {n}" for n in range(40)]
    for plan in plans:
        durable.start(plan, session=plan, id=plan)
    dice, kills = random.Random(18), 0
    with workers() as made:
        while kills < 25:
            pid = made.begin(tmp_path, place, "one", width=5, pause=0.1, stays=True)
            time.sleep(dice.uniform(0.3, 1.1))
            made.kill(pid)
            kills += 1
        assert left_in(durable) > 0  # the storm was over before the work was
        assert made.end_of(made.begin(tmp_path, place, "one", width=5)) == 0
    check_whole(durable, plans)
    lines = done_in(tmp_path)
    assert len(set(lines)) == 40 * STEPS
    assert len(lines) <= 40 * STEPS + 5 * kills  # at most what was going on was done again
    close(durable)


def test_a_run_outlives_a_restart_of_its_database(tmp_path: Path) -> None:
    with serving() as server:
        place = server.new_database()
        durable = durable_of(tmp_path, place)
        durable.start("run 0", session="run 0", id="run 0")
        with workers() as made:
            made.begin(tmp_path, place, "one", pause=0.2, stays=True)
            until_sync(lambda: len(done_in(tmp_path)) >= 3)
            server.stop()
            time.sleep(1)
            server.start()
            assert durable.result("run 0", 200).reason == "answered"
        check_whole(durable, ["run 0"])
        assert len(set(done_in(tmp_path))) == STEPS
        close(durable)


def test_a_run_that_waits_is_moved_killed_and_decided_and_its_call_runs_once(
    server: Server, tmp_path: Path
) -> None:
    """From a file to another folder, to a database, and to another one; there it is decided."""
    places = [str(tmp_path / "talk.db"), str(tmp_path / "elsewhere" / "moved.db")]
    places += [server.new_database(), server.new_database()]
    with workers() as made:
        first = durable_of(tmp_path, places[0])
        first.start("pay 5", session="ada", id="paying")
        pid = made.begin(tmp_path, places[0], "one", stays=True)
        assert first.result("paying", 20).reason == "waiting"
        made.kill(pid)
        close(first)
        for source, target in pairwise(places):
            there, here = Sessions(source), Sessions(target)
            here.import_(there.export("ada"), "ada")
            there.close()
            here.close()
        last = durable_of(tmp_path, places[-1])
        [ticket] = last.sessions["ada"].pending
        id = last.decide("ada", ticket.approve())
        assert last.decide("ada", ticket.deny("too late")) == id  # the first counts
        assert made.end_of(made.begin(tmp_path, places[-1], "two")) == 0
        end = last.result(id, 1)
        assert (end.reason, end.text) == ("answered", "Paid.")
        assert made.end_of(made.begin(tmp_path, places[-1], "three")) == 0
    assert done_in(tmp_path) == ["paid 5"]
    close(last)


def test_of_a_step_that_nobody_knows_about_a_person_is_asked(tmp_path: Path) -> None:
    place = str(tmp_path / "talk.db")
    durable = durable_of(tmp_path, place, safe=False)
    durable.start("inside 3", session="ada", id="first")
    with workers() as made:
        assert made.end_of(made.begin(tmp_path, place, "one", safe=False)) == -signal.SIGKILL
        assert made.end_of(made.begin(tmp_path, place, "one", safe=False)) == 0
        assert durable.result("first", 1).reason == "waiting"
        [ticket] = durable.sessions["ada"].pending
        assert "did this happen?" in ticket.reason
        id = durable.decide("ada", ticket.answer("did 3"))
        assert made.end_of(made.begin(tmp_path, place, "one", safe=False)) == 0
    assert durable.result(id, 1).text == "all of inside 3"
    assert [line.split("|")[1] for line in done_in(tmp_path)] == [str(n) for n in range(STEPS)]
    close(durable)

"""Workers that are killed again and again beside a slow database, doing what must not happen twice."""

from __future__ import annotations

import random
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.durable.working import STEPS, done_in, durable_of, left_in, workers
from tests.sessions.postgres_server import serving
from tests.sessions.slow_store import delayed
from toolkeel_studio.durable import Durable

RUNS, KILLS = 60, 26


def answer_questions(durable: Durable, folder: Path) -> int:
    """Answer what waits as a person who looks whether a step happened. Return how many waited."""
    waiting = durable.list(status="waiting")
    for run in waiting:
        for ticket in durable.sessions[run.session].pending:
            number = ticket.arguments["n"]
            happened = any(line.startswith(f"{run.session}|{number}|") for line in done_in(folder))
            durable.decide(
                run.session, ticket.answer(f"did {number}") if happened else ticket.approve()
            )
    return len(waiting)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_each_prompt_arrives_once_and_each_step_happens_once_or_a_person_is_asked(
    tmp_path: Path,
) -> None:
    plans, dice = [f"run {n}" for n in range(RUNS)], random.Random(40)
    words: dict[str, object] = {"width": 6, "safe": False, "pause": 0.05, "stays": True}
    with serving("on") as server, workers() as made:
        place = server.new_database()
        durable = durable_of(tmp_path, place, safe=False)
        for plan in plans:
            durable.start(plan, session=plan, id=plan)
        with delayed(place, 0.02) as slow:
            pids = [made.begin(tmp_path, slow, f"w{n}", **words) for n in range(3)]
            for _ in range(KILLS):
                time.sleep(dice.uniform(0.6, 1.8))
                number = dice.randrange(3)
                made.kill(pids[number])
                pids[number] = made.begin(tmp_path, slow, f"w{number}", **words)
            while answer_questions(durable, tmp_path) or left_in(durable):
                time.sleep(0.5)
            for pid in pids:
                made.kill(pid)
        did = [text for n in range(STEPS) for text in ("", f"did {n}")]
        for plan in plans:
            texts = [message.text for message in durable.sessions[plan].messages]
            assert texts == [plan, *did, f"all of {plan}"]
        steps = Counter(line.rsplit("|", 1)[0] for line in done_in(tmp_path))
        assert len(steps) == RUNS * STEPS
        assert set(steps.values()) == {1}
        durable.close()
        durable.sessions.close()

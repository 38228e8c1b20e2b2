"""Which deaths of workers count against a run, and how many it survives."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.durable.working import STEPS, done_in, durable_of, workers
from toolkeel._records.entries import CallEnded, CallIntended, ModelAsked, ModelReplied, RunBegan
from toolkeel.messages import AssistantMessage, ToolMessage
from toolkeel_studio.durable.recovery import (
    MAX_EARLY,
    MAX_RECOVERIES,
    Recovery,
    Steps,
    count_death,
    count_steps,
    load_recovery,
)


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.booleans()), max_size=60))
def test_only_deaths_in_a_row_within_a_step_that_was_not_completed_count(
    lives: list[tuple[bool, bool, bool]],
) -> None:
    """Each life of a worker: whether it recovered the run, began a step, and completed a call."""
    last, steps, deaths, early = Recovery(), Steps(3, 1), 1, 0
    for number, (recovers, begins, completes) in enumerate(lives, 2):
        now = count_death(last, number, steps)
        assert (now.deaths, now.early) == (deaths, early)
        if not recovers:
            continue
        last = load_recovery(now.to_json())
        completes = begins and completes
        steps = Steps(steps.begun + begins, steps.completed + completes)
        if completes:
            deaths, early = 1, 0
        else:
            deaths, early = deaths + begins, early + (not begins)


def test_a_run_that_is_put_back_in_time_has_not_lost_a_worker() -> None:
    last = Recovery(4, begun=3, completed=2, deaths=3)
    assert count_death(last, 4, Steps(5, 2)).deaths == 3
    assert not Recovery(deaths=MAX_RECOVERIES, early=MAX_EARLY).verdict
    assert Recovery(deaths=MAX_RECOVERIES + 1).verdict
    assert (
        Recovery(early=MAX_EARLY + 1).verdict
        == f"{MAX_EARLY + 1} workers have died before it began"
    )


def test_what_runs_again_or_has_an_unknown_outcome_is_no_progress() -> None:
    def ended(run: str, turn: int, kind: str = "", within: str = "") -> CallEnded:
        message = ToolMessage("x", "", "t", "error" if kind else "success", kind)
        return CallEnded(run, turn, 0, message, within)

    again = [
        CallIntended("r", 1, 0),
        ModelAsked("r", 2),
        ModelReplied("r", 2, AssistantMessage("x")),
        ended("r", 1, "unknown_outcome"),
        RunBegan("code", parent="r", call="r-1-0", joined=True),
        ended("code", 1),
        RunBegan("below", parent="code", call="code-1-0"),
        ended("below", 1),
    ]
    assert count_steps(again) == Steps(2, 0)
    inner = RunBegan("inner", parent="r", call="r-1-0")
    once = [ended("r", 1), ended("r", 1), inner, ended("inner", 1), ended("r", 1, within="r-1-0")]
    assert count_steps([*again, *once]).completed == 3


@pytest.mark.slow
def test_a_run_outlives_any_number_of_workers_as_long_as_it_completes_calls(tmp_path: Path) -> None:
    place = str(tmp_path / "talk.db")
    durable = durable_of(tmp_path, place)
    durable.start("everywhere", session="ada", id="long")
    kills = 0
    with workers() as made:
        while made.end_of(made.begin(tmp_path, place, "w")) == -signal.SIGKILL:
            kills += 1
    assert kills == STEPS > MAX_RECOVERIES
    assert durable.result("long", 1).text == "all of everywhere"
    assert durable.show("long").attempts == STEPS + 1
    assert len(done_in(tmp_path)) == STEPS
    durable.close()
    durable.sessions.close()


@pytest.mark.slow
def test_a_run_that_is_told_of_unknown_outcomes_and_tries_again_is_failed_after_five_recoveries(
    tmp_path: Path,
) -> None:
    place = str(tmp_path / "talk.db")
    words: dict[str, bool] = {"safe": False, "denies": True}
    durable = durable_of(tmp_path, place, **words)
    durable.start("always inside 2", session="ada", id="poison")
    kills = 0
    with workers() as made:
        while made.end_of(made.begin(tmp_path, place, "w", **words)) == -signal.SIGKILL:
            kills += 1
    assert kills == MAX_RECOVERIES + 1
    end = durable.result("poison", 1)
    assert end.error == "6 workers have died before it completed another call"
    assert sum("|2|" in line for line in done_in(tmp_path)) == kills
    durable.close()
    durable.sessions.close()

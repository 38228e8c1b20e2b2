"""A process that is killed behind a body loses nothing and pays once, on routes of other libraries, too."""

from __future__ import annotations

import signal

import pytest

from tests.sessions.killed_run import work_through

ROUTES = ("own_store", "graph", "runner")
STEPS = ("start", "look", "decide")
Told = dict[tuple[str, str], str]


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """What each step of each route tells. The first is killed behind the body."""
    folders = {route: tmp_path_factory.mktemp(route) for route in ROUTES}
    jobs = [(folders[route], route, step) for route in ROUTES for step in STEPS]
    done = work_through(jobs, "tests.killed_routes")
    for route in ROUTES:
        assert (folders[route] / "log").read_text() == "paid\n"
    assert [each for each, _ in done] == [-signal.SIGKILL, 0, 0] * len(ROUTES)
    return {(route, step): said for (_, route, step), (_, said) in zip(jobs, done, strict=True)}


@pytest.mark.parametrize("route", ["own_store", "graph"])
def test_a_person_is_asked_if_the_payment_happened_and_the_model_reads_the_answer(
    told: Told, route: str
) -> None:
    assert "did this happen?" in told[route, "look"]
    assert "it did" in told[route, "decide"]


def test_without_a_journal_the_decision_is_used_up_and_the_items_up_to_the_call_are_there(
    told: Told,
) -> None:
    assert told["runner", "look"] == '["user", null]'  # the prompt and the call that waited
    assert "has served already" in told["runner", "decide"]

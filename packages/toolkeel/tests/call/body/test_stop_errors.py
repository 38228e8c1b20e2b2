"""What is told of a call that was stopped: why, and whether its work may go on."""

from __future__ import annotations

from typing import Any, Literal

import pytest

from toolkeel import ToolCall
from toolkeel.call.body.stop_errors import (
    WorkState,
    detached_error,
    not_started_error,
    self_cancelled_error,
    stop_error,
)
from toolkeel.context import RunContext, ToolContext


def context(reason: str | None = None) -> ToolContext[Any]:
    run: RunContext[None] = RunContext()
    if reason is not None:
        run.cancel.cancel(reason)
    made: ToolContext[Any] = ToolContext(ToolCall("c", "dig", {}), "dig", run)
    made.body_state = "runs"
    return made


@pytest.mark.parametrize("work", ["running", "stopped"])
def test_whether_the_work_may_go_on_is_in_the_text_and_in_the_details(work: WorkState) -> None:
    late = stop_error(context(), "timeout", 2.5, work)
    assert late.text.startswith("'dig' did not finish within 2.5 seconds.")
    assert late.details["may_still_be_running"] is (work == "running")
    assert ("may still be running" in late.text) is (work == "running")
    gone = stop_error(context("enough"), "cancelled", None, work)
    assert gone.text.startswith("'dig' was cancelled: enough.")


@pytest.mark.parametrize("work", ["running", "stopped"])
@pytest.mark.parametrize("why", ["timeout", "cancelled"])
@pytest.mark.parametrize(
    ("body", "away", "says"),
    [("", 0, "started"), ("runs", 1, "may still be running"), ("done", 0, "was done by then")],
)
def test_what_the_call_knows_of_its_body_is_told_whoever_stopped_it(
    work: WorkState, why: Literal["timeout", "cancelled"], body: Any, away: int, says: str
) -> None:
    made = context("enough" if why == "cancelled" else None)
    made.body_state, made.remote_count = body, away
    found = stop_error(made, why, 1, work)
    assert says in found.text and "was stopped" not in found.text
    assert found.details["may_still_be_running"] is (away == 1)


@pytest.mark.parametrize(
    ("work", "says"), [("queued", "free thread and has not started"), ("not started", "It has not")]
)
def test_a_body_that_never_began_has_not_started_whatever_it_waited_for(
    work: WorkState, says: str
) -> None:
    made = context()
    made.body_state = ""
    found = stop_error(made, "timeout", 1, work)
    assert says in found.text and found.details["may_still_be_running"] is False


def test_work_elsewhere_is_away_until_it_has_answered() -> None:
    made = context()
    with made.working_remotely(), made.working_remotely():
        assert made.remote_count == 2
    assert made.remote_count == 0
    with pytest.raises(KeyError), made.working_remotely():
        raise KeyError
    assert made.remote_count == 1, "whoever failed to wait does not know what came of it"


def test_a_body_nobody_can_end_is_told_by_what_struck_it() -> None:
    assert detached_error(context(), 1).kind == "timeout"
    assert detached_error(context(), None).kind == "cancelled"
    struck = detached_error(context("enough"), 1)
    assert (struck.kind, struck.details["may_still_be_running"]) == ("cancelled", True)


def test_a_call_that_never_began_is_told_so_with_the_reason() -> None:
    assert not_started_error("dig", "enough").text.endswith(
        "because its run was cancelled: enough."
    )
    assert stop_error(context("x"), "cancelled", None, "not started").text.startswith(
        "'dig' was not"
    )
    assert "cancelled itself" in self_cancelled_error("dig").text

"""What is told of a call that was stopped: why, and whether its work may go on."""

from __future__ import annotations

from typing import Any

import pytest

from toolkeel import ToolCall
from toolkeel.call.body.told import Work, cancelled_itself, left_behind, not_started, told
from toolkeel.context import RunContext, ToolContext


def context(reason: str | None = None) -> ToolContext[Any]:
    run: RunContext[None] = RunContext()
    if reason is not None:
        run.cancel.cancel(reason)
    return ToolContext(ToolCall("c", "dig", {}), "dig", run)


@pytest.mark.parametrize("work", ["running", "stopped"])
def test_whether_the_work_may_go_on_is_in_the_text_and_in_the_details(work: Work) -> None:
    late = told(context(), "timeout", 2.5, work)
    assert late.text.startswith("'dig' did not finish within 2.5 seconds.")
    assert late.details["may_still_be_running"] is (work == "running")
    assert ("may still be running" in late.text) is (work == "running")
    gone = told(context("enough"), "cancelled", None, work)
    assert gone.text.startswith("'dig' was cancelled: enough.")


def test_a_body_nobody_can_end_is_told_by_what_struck_it() -> None:
    assert left_behind(context(), 1).kind == "timeout"
    assert left_behind(context(), None).kind == "cancelled"
    struck = left_behind(context("enough"), 1)
    assert (struck.kind, struck.details["may_still_be_running"]) == ("cancelled", True)


def test_a_call_that_never_began_is_told_so_with_the_reason() -> None:
    assert not_started("dig", "enough").text.endswith("because its run was cancelled: enough.")
    assert told(context("x"), "cancelled", None, "not started").text.startswith("'dig' was not")
    assert "cancelled itself" in cancelled_itself("dig").text

"""What a result says of its body is so, whatever failed, and just before or just after what."""

from __future__ import annotations

import asyncio
import contextlib
import re
import threading
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.waiting import until
from toolkeel import (
    Effects,
    Prepared,
    RunContext,
    ToolCall,
    ToolContext,
    ToolMessage,
    Toolset,
    tool,
)
from toolkeel.call.body import task_cancels
from toolkeel.call.steps.cache import Cache
from toolkeel.call.steps.call_limits import CallLimit
from toolkeel.call.steps.guard import Allow, input_guard, output_guard
from toolkeel.call.steps.retry import Retry
from toolkeel.define.tool import Proceed
from toolkeel.events import Event, ToolFinished
from toolkeel.testing.faults import POINTS, Fault, Faults

NOT_RUN = re.compile(r"not started|did not run|not run\b|not sent|was refused|not approved")
OVER = re.compile(r"was stopped|was done by then|has ended late")
INSIDE = {
    point.name: point.waits for point in POINTS if point.name not in ("ask", "delta", "offer")
}


class Witness:
    """A body that tells how often it began, and how often it ended."""

    def __init__(self, form: str, fails: int) -> None:
        self.began = self.ended = 0
        self.fails = fails
        self.form = form

    def tools(self) -> Toolset:
        async def passes(*seen: object) -> Allow:
            await asyncio.sleep(0)
            return Allow()

        decorate = tool(
            name="work",
            effects=Effects(read_only=True, resources=("room:{n}",)),
            steps=[
                input_guard(passes),
                output_guard(passes),
                CallLimit(9),
                Cache(),
                Retry(3, 0.001),
            ],
            approval=True,
            enabled=lambda context: True,
            timeout=60,
        )

        async def waits(n: int) -> str:
            """Work."""
            self.began += 1
            try:
                await asyncio.sleep(0)
                return self.outcome()
            finally:
                self.ended += 1

        def threads(n: int) -> str:
            """Work."""
            self.began += 1
            try:
                return self.outcome()
            finally:
                self.ended += 1

        return Toolset([decorate(waits if self.form == "async" else threads)])

    def outcome(self) -> str:
        if self.began <= self.fails:
            raise RuntimeError("again")
        return "done"


async def play(witness: Witness, fault: Fault, how: str) -> ToolMessage | None:
    """One call under a fault; what hangs is ended by the run's token, or from outside."""
    told: list[Event] = []

    async def agrees(ticket: object) -> bool:
        await asyncio.sleep(0)
        return True

    with Faults(fault) as plan:
        run: RunContext[Any] = RunContext(approver=agrees, listeners=(told.append,))
        call = ToolCall("1", "work", {"n": 1})
        working = asyncio.ensure_future(witness.tools().run([call], run))
        await until(lambda: working.done() or plan.hits[fault.point] >= max(fault.hit, 1))
        if fault.action == "hang":
            await asyncio.sleep(0.005)
            if how == "token":
                run.cancel.cancel("enough")
                await asyncio.wait([working], timeout=1)
            working.cancel()  # a fault may hang where no token reaches
        await asyncio.wait([working], timeout=30)
        assert working.done(), "the call hangs"
        if not working.cancelled():
            working.exception()
    ends = [event.message for event in told if isinstance(event, ToolFinished)]
    assert len(ends) <= 1
    return ends[0] if ends else None


@given(
    point=st.sampled_from(sorted(INSIDE)),
    action=st.sampled_from(["raise", "hang", "cancel", "reorder"]),
    hit=st.integers(1, 2),
    how=st.sampled_from(["token", "outside"]),
    form=st.sampled_from(["async", "thread"]),
    fails=st.integers(0, 2),
)
def test_whatever_fails_and_wherever_what_is_said_of_the_body_is_so(
    point: str, action: Any, hit: int, how: str, form: str, fails: int
) -> None:
    if action in ("hang", "reorder") and not INSIDE[point]:
        action = "raise"
    witness = Witness(form, fails)
    usual, task_cancels.GRACE = task_cancels.GRACE, 0.05
    try:
        message = asyncio.run(play(witness, Fault(point, action, hit), how))
    finally:
        task_cancels.GRACE = usual
    if message is not None:  # else its listeners failed, or the whole turn was taken away
        check(message, witness)
        if message.kind == "cancelled" and not witness.began and point not in ("run", "thread"):
            assert "not started" in message.text


def check(message: ToolMessage, witness: Witness) -> None:
    """What is said of the body is so."""
    text, told = message.text, message.details
    if NOT_RUN.search(text):
        assert witness.began == 0, text
    if OVER.search(text) or told.get("may_still_be_running") is False:
        assert witness.ended == witness.began, text
    if "was run" in text:
        assert witness.began, text


@pytest.mark.parametrize("how", ["token", "outside"])
@pytest.mark.parametrize(
    "point",
    [name for name, waits in INSIDE.items() if waits and name not in ("stop", "start", "run")],
)
def test_a_call_that_hangs_before_its_body_was_not_started(point: str, how: str) -> None:
    witness = Witness("async", 0)
    message = asyncio.run(play(witness, Fault(point, "hang"), how))
    if message is not None and witness.began == 0:
        assert "not started" in message.text
        assert message.details["may_still_be_running"] is False


@pytest.mark.parametrize("bare", [True, False])
@pytest.mark.parametrize("form", ["async", "thread", "elsewhere"])
@pytest.mark.parametrize("place", ["before", "body", "after"])
def test_wherever_a_call_was_when_its_run_was_cancelled_its_body_is_told_of_as_it_is(
    place: str, form: str, bare: bool
) -> None:
    begun, free = threading.Event(), threading.Event()
    witness = Witness(form, 0)

    async def hang(here: str) -> None:
        if here == place:
            begun.set()
            await asyncio.Event().wait()

    async def around(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        await hang("before")
        value = await proceed(prepared)
        await hang("after")
        return value

    async def waits(context: ToolContext[Any]) -> str:
        """Work."""
        witness.began += 1
        try:
            with context.working_remotely() if form == "elsewhere" else contextlib.nullcontext():
                await hang("body")
        finally:
            witness.ended += 1
        return "done"

    def threads() -> str:
        """Work."""
        witness.began += 1
        if place == "body":
            begun.set()
            free.wait(60)
        witness.ended += 1
        return "done"

    body: Any = threads if form == "thread" else waits
    guard = () if bare else (input_guard(lambda prepared, context: Allow()),)

    async def main() -> ToolMessage:
        made = tool(name="work", steps=[around, *guard], timeout=60)(body)
        run: RunContext[Any] = RunContext()
        working = asyncio.ensure_future(Toolset([made]).run([ToolCall("1", "work")], run))
        await until(begun.is_set)
        run.cancel.cancel("enough")
        return (await working)[0]

    try:
        message = asyncio.run(main())
        check(message, witness)
    finally:
        free.set()
    says = {"before": "not started", "after": "was done by then", "body": "was stopped"}[place]
    if place == "body" and form != "async":
        says = "may still take effect"
    assert message.kind == "cancelled" and says in message.text
    assert message.details["may_still_be_running"] is ("may still" in says)

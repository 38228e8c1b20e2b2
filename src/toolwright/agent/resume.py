"""Going on from a saved run: its decisions reach the calls that wait for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolwright.agent.saved import InnerRun, RunState
from toolwright.approval import Decision, Ticket
from toolwright.call.approve import accepted, by_call
from toolwright.context import Run
from toolwright.errors import Suspend
from toolwright.record import record


@record
class Resumed:
    """A saved run to go on from within another, whose decisions were accepted with that one's.

    Args:
        state: Where it stands.
        decisions: By ticket; those of other runs among them.
    """

    state: RunState
    decisions: Mapping[str, tuple[Ticket, Decision]]


def resume(run: Run[Any], prompt: object, decisions: Iterable[Decision]) -> None:
    """Hand out decisions: to the calls of a run, and to the runs within it.

    Args:
        run: Goes on from `prompt`.
        prompt: What it is given: a saved run, or something that has no calls to decide on.
        decisions: For the calls that wait, at any depth.

    Raises:
        SetupError: for a decision that counts for no call that waits.
    """
    state = prompt.state if isinstance(prompt, Resumed) else prompt
    if not isinstance(state, RunState):
        accepted((), decisions)
        return
    given = accepted(state.pending, decisions)
    if isinstance(prompt, Resumed):
        given = {**prompt.decisions, **given}
    within = {ticket.id for inner in state.inner.values() for ticket in inner.state.pending}
    run.decisions = by_call((t for t in state.pending if t.id not in within), given)
    for call_id, inner in state.inner.items():
        run.waiting[call_id] = Resumed(inner.state, given)
        if inner.decision is not None:
            run.decisions[call_id, inner.decision.seal] = None, inner.decision


def inner_runs(run: Run[Any], waits: Mapping[str, Suspend]) -> dict[str, InnerRun]:
    """The runs within a run that has stopped to wait.

    Args:
        run: The outer one.
        waits: What it waits for, by the id of the call.
    """
    inner = {
        id: InnerRun(wait.inner, wait.decision)
        for id, wait in waits.items()
        if isinstance(wait.inner, RunState)
    }
    for id, left in run.waiting.items():  # its call waits itself: these could not go on yet
        if isinstance(left, Resumed):
            inner[id] = InnerRun(RunState(left.state.messages, (), left.state.inner))
    return inner

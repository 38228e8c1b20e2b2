"""Resuming a saved run: decisions reach the calls that wait for them."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TypeAlias, TypeVar

from toolkeel._records.record import record
from toolkeel._records.taint_sources import Permit, parse_source
from toolkeel._records.tickets import Decision, Ticket, call_digest
from toolkeel._records.typed_values import copy_state
from toolkeel._records.used_tickets import (
    claim_decisions,
    decisions_by_call,
    is_used_elsewhere,
    mark_decided,
    mark_used,
    match_decisions,
)
from toolkeel.agent.run_state import InnerRun, RunState, joined_key
from toolkeel.call.steps.resources import resolve_argument
from toolkeel.call.steps.rules import Rules, find_rule, is_allowed
from toolkeel.call.steps.session_permits import definition_of
from toolkeel.call.steps.taint import BUILDS
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError, Suspend
from toolkeel.messages import unanswered

P = TypeVar("P")
Decisions = Mapping[str, tuple[Ticket, Decision]]
"""What was decided, by ticket."""
ToolsByCall: TypeAlias = tuple[Toolset, Mapping[str, Toolset]]
"""The tools of a run, and those of other agents that made some of its calls, by call id."""


@record
class Resumed:
    """A saved inner run to resume, with decisions that the outer run has accepted already.

    Args:
        inner: The saved inner run.
        decisions: Decisions by ticket id; some may be for other runs.
    """

    inner: InnerRun
    decisions: Decisions

    @property
    def state(self) -> RunState:
        """The state of the run."""
        return self.inner.state


def collect_decisions(
    prompt: object, decisions: Iterable[Decision], *, in_session: bool = False
) -> Decisions:
    """Match decisions to the waiting calls of a saved run, by ticket id. None is marked as used.

    Args:
        prompt: A saved run, or another prompt, which has no waiting calls.
        decisions: Decisions on the calls that wait, at any depth.
        in_session: True if the prompt is the state of a session.

    Raises:
        SetupError: a decision matches no waiting call.
    """
    state = prompt.state if isinstance(prompt, Resumed) else prompt
    tickets = state.pending if isinstance(state, RunState) else ()
    given = match_decisions(tickets, decisions, in_session=in_session)
    return {**prompt.decisions, **given} if isinstance(prompt, Resumed) else given


def load_start(prompt: P | Resumed, run: RunContext) -> P | RunState:
    """Return the prompt, or the saved state of a resumed inner run.

    Side effect: an inner run that the journal has gets its old id, and its entries are not written again.
    """
    if not isinstance(prompt, Resumed):
        return prompt
    state, inner = prompt.state, prompt.inner
    if inner.run and run.recorder is not None:
        run.id = inner.run
        run.recorder.resume(inner.run, len(state.messages), inner.turn, state.values)
    return state


def resume(
    run: RunContext,
    state: RunState,
    given: Decisions,
    tools: ToolsByCall,
    folder: Path | None,
    *,
    is_accepted: bool,
) -> None:
    """Mark decisions as used, and give them to the run's calls and to its inner runs.

    Args:
        run: The run that is resumed.
        state: Its saved state.
        given: Decisions with their tickets, by ticket id.
        tools: The tools of the run, and those of other agents that made calls, by call id.
        folder: Folder that marks used tickets; None for one in the user's data folder.
        is_accepted: True if the outer run has marked the decisions already.

    Raises:
        SetupError: the tool of a waiting call is missing or has changed, or a decision was used
            before. No decision is used up then.

    In a session, the journal records decisions, and the first one counts; a call whose tool has
    changed since gets a new ticket instead of an error.
    """
    if run.recorder is not None:
        found = _with_tools(own_tickets(state), tools)
        changed = {ticket.id for ticket, tool, _ in found if tool and _has_changed(ticket, tool)}
        given = {id: each for id, each in given.items() if id not in changed}
    own = check_pending_calls(state, given, tools)
    if run.approver is not None and not is_accepted:
        own = own_tickets(state := _share_tickets(run, state, given, folder))
    if given and not is_accepted:
        if run.recorder is None:
            mark_decided(folder, given)
            mark_used(given)
        else:
            claimed = claim_decisions(folder, given, run.id)
            state = _without_tickets(state, given.keys() - claimed.keys())
            own, given = own_tickets(state), claimed
    run.loop_state.decisions = decisions_by_call(own, given)
    for call_id, inner in state.inner.items():
        run.loop_state.inner_runs[call_id] = Resumed(inner, given)
        if inner.decision is not None:
            run.loop_state.decisions[inner.call or call_id, inner.decision.seal] = (
                None,
                inner.decision,
            )


def _share_tickets(
    run: RunContext, state: RunState, given: Container[str], folder: Path | None
) -> RunState:
    """Let a run's approver decide the tickets of a saved run, each of which serves once on all routes.

    Sets the run's `settle_decision`.

    Returns:
        The state without tickets that were used elsewhere: their calls are asked about under new ones.
    """
    open = [ticket.id for ticket in state.pending if ticket.id not in given]
    used = {id for id in open if is_used_elsewhere(folder, id, run.id)}
    first = run.loop_state.settle_decision

    async def settle(ticket: Ticket, decision: Decision) -> Decision | None:
        """Return the decision that counts, and claim it; None if the ticket was used elsewhere."""
        counted = decision if first is None else await first(ticket, decision)
        if counted is None or ticket.id not in open:
            return counted
        claimed = claim_decisions(folder, {ticket.id: (ticket, counted)}, run.id)
        return counted if claimed else None

    run.loop_state.settle_decision = settle
    return _without_tickets(state, used)


def _with_tools(
    tickets: Iterable[Ticket], tools: ToolsByCall
) -> Iterator[tuple[Ticket, AnyTool | None, Toolset]]:
    """Yield each ticket with the tool of its call, or None if there is no such tool, and its set."""
    own, lenders = tools
    for ticket in tickets:
        found = lenders.get(ticket.call_id, own)
        is_known = ticket.tool in found
        yield ticket, found[ticket.tool] if is_known else None, found


def check_pending_calls(state: RunState, given: Container[str], tools: ToolsByCall) -> list[Ticket]:
    """Raise unless the waiting calls' tools exist, decided calls are unchanged, and the rest need decisions.

    Args:
        state: A saved run.
        given: Ids of the decided tickets.
        tools: See `resume`.

    Returns:
        The tickets of the run itself, not those of the runs within it.

    Raises:
        SetupError: naming the tool; no decision is used up.
    """
    own = own_tickets(state)
    for ticket, tool, of in _with_tools(own, tools):
        if tool is None:
            raise SetupError(
                f"a call of {ticket.tool!r} waits in this saved run, and there is no such tool "
                "here; give the agent the tools it had. Nothing was used up"
            )
        if ticket.id not in given and not _would_ask(ticket, tool, of.rules):
            raise SetupError(
                f"a call of {ticket.tool!r} waits for a person in this saved run, and by the "
                "approval and rules given here it would run unasked: decide it first, or give "
                "those it had. Nothing was used up"
            )
        if ticket.id in given and _has_changed(ticket, tool):
            raise SetupError(
                f"the tool {ticket.tool!r}, or the ticket for its call, has changed since the "
                "decision was made: go on without that decision, to be asked anew. Nothing was "
                "used up"
            )
    return own


def _would_ask(ticket: Ticket, tool: AnyTool, rules: Rules | None) -> bool:
    """Return True if a waiting call would require a decision again under the present tools and rules.

    An approval function counts as a yes: it is not called. Without rules, the tool's own setting decides.
    """
    places = partial(resolve_argument, tool)
    rule = find_rule(rules, tool, ticket.arguments, places) if rules is not None else None
    if ticket.external or hasattr(tool.approval, "despite_rules"):
        return True
    if ticket.labels and (BUILDS in tool.metadata or not is_allowed(tool, rule)):
        return True
    return bool(tool.approval) if rule is None else rule.action != "allow"


def own_tickets(state: RunState) -> list[Ticket]:
    """Return the tickets of the run itself, without those of inner runs."""
    within = {ticket.id for inner in state.inner.values() for ticket in inner.state.pending}
    return [ticket for ticket in state.pending if ticket.id not in within]


def _without_tickets(state: RunState, ids: Container[str]) -> RunState:
    """Return a state without some tickets, at any depth. Their calls get new tickets when they run."""
    inner = {
        id: dataclasses.replace(one, state=_without_tickets(one.state, ids))
        for id, one in state.inner.items()
    }
    pending = tuple(ticket for ticket in state.pending if ticket.id not in ids)
    return dataclasses.replace(state, pending=pending, inner=inner)


def fits_tool(ticket: Ticket, tools: Toolset) -> bool:
    """Return True if a waiting call's tool is among these, unchanged."""
    return ticket.tool in tools and not _has_changed(ticket, tools[ticket.tool])


def _has_changed(ticket: Ticket, tool: AnyTool) -> bool:
    """Return True if a tool differs from the definition in its call's ticket; False if secrets are masked."""
    if tool.arguments.mask is not None:
        return False
    shown = json.loads(json.dumps(dict(ticket.arguments)))
    return call_digest(tool.name, definition_of(tool), shown) != ticket.digest


def detach_start(start: object) -> RunState | None:
    """Return the state that a run starts from as it continues outside of a session; None for another start."""
    if not isinstance(start, RunState):
        return None
    return dataclasses.replace(start, inner=_detach(start.inner)) if start.inner else start


def _detach(inner: Mapping[str, InnerRun]) -> dict[str, InnerRun]:
    """Return inner runs by the ids of their calls, without what only a session's journal knows of them."""
    found = {}
    for key, one in inner.items():
        key = joined_key(one.call, one.run) if one.call and one.joined else one.call or key
        state = dataclasses.replace(one.state, inner=_detach(one.state.inner))
        found[key] = InnerRun(state, one.decision, joined=one.joined)
    return found


def collect_inner_runs(run: RunContext, waits: Mapping[str, Suspend]) -> dict[str, InnerRun]:
    """Collect the inner runs to save with a run, by call id, or by `joined_key` if a body started them.

    Args:
        run: The outer run.
        waits: What its calls wait for, by call id.
    """
    inner = {
        id: InnerRun(wait.inner, wait.decision)
        for id, wait in waits.items()
        if isinstance(wait.inner, RunState)
    }
    for id, left in run.loop_state.inner_runs.items():  # not continued: their calls wait themselves
        if isinstance(left, Resumed):
            state = dataclasses.replace(left.state, pending=())
            inner |= _detach({id: dataclasses.replace(left.inner, state=state, decision=None)})
    open_calls = {call.id for call in unanswered(run.transcript)}
    joined = run.loop_state.joined_runs
    for call in open_calls & joined.keys():
        for each in joined[call]:
            inner[joined_key(call, each.context.id)] = InnerRun(each.state, joined=True)
    return inner


def collect_saved_values(
    run: RunContext,
) -> tuple[Mapping[str, object], tuple[str, ...], float, Mapping[str, int]]:
    """Return what is saved of a run's context: values, omitted paths, cost in US dollars, and counts.

    Args:
        run: The run. Without limits of its own, cost is 0 and counts are empty: the outer run has them.
    """
    with run.lock:
        values, left = copy_state(run.state)
    pool = run.scope.spending if run.scope.owns_spending else None
    if pool is None:
        return values, left, 0.0, {}
    return values, left, pool.cost, pool.counts


def collect_callers(start: object, lenders: Mapping[str, Toolset]) -> Mapping[str, str]:
    """Return the names of the agents that made the waiting calls of a saved run, by call id.

    Args:
        start: The saved run; another start has no waiting calls.
        lenders: The tools of other agents that made calls of this turn; empty in later turns.
    """
    return start.made_by if lenders and isinstance(start, RunState) else {}


def list_permits(run: RunContext) -> tuple[Permit, ...]:
    """Return what a person has permitted for a run beyond one call; empty for an inner run."""
    return () if run.taint is None or run.scope.parent_id else run.taint.list_permits()


def restore_permits(run: RunContext, start: object) -> None:
    """Restore what a person has permitted for a saved run; do nothing for another start."""
    for permit in start.permits if isinstance(start, RunState) else ():
        run.get_taint().permit(permit)


def waiting_state(run: RunContext, given: object, waits: Mapping[str, Suspend] | None) -> RunState:
    """Return what the journal needs of a waiting run: its inner runs and counts.

    Args:
        run: The run.
        given: The prompt or saved run that it started from; returned itself if nothing ran.
        waits: What its calls wait for, by call id; None if it failed before any call.
    """
    if waits is None:
        return given if isinstance(given, RunState) else RunState(())
    return RunState((), (), collect_inner_runs(run, waits), counts=collect_saved_values(run)[3])


def collect_labels(run: RunContext) -> tuple[str, ...]:
    """Return the run's taint labels as texts; empty for an inner run, which shares those of the outer run."""
    taint = None if run.scope.parent_id else run.taint
    return tuple(f"{s.label} {s.to_text()}" for s in taint.sources) if taint is not None else ()


def restore_context(run: RunContext, state: RunState) -> None:
    """Restore state, labels, inbox, follow-ups, usage and counts from a saved run into a run's context.

    Values that the caller set take precedence. An inner run's usage is not added again.

    Args:
        run: The run.
        state: The saved run.
    """
    for key, value in state.values.items():
        run.state.setdefault(key, value)
    for text in state.labels:
        label, _, source = text.partition(" ")
        run.get_taint().add(parse_source(label, source))
    run.loop_state.inbox.extend(state.inbox)
    run.loop_state.follow_ups.extend(state.follow_ups)
    if not run.scope.parent_id:
        run.usage = state.usage
    if run.scope.spending is not None and run.scope.owns_spending:
        usage = state.usage
        known = {"requests": usage.requests, "tokens": usage.total_tokens}
        run.scope.spending.restore_counts({**known, **state.counts}, state.cost)

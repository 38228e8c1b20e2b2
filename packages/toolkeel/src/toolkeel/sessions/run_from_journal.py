"""Resuming a session: if its last run continues, what the next run starts with, what a run leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, TypeAlias, cast

from toolkeel._common.loop_state import CALLBACK_TIMEOUT
from toolkeel._records.entries import (
    Compacted,
    Decided,
    Deferred,
    Queued,
    Repeated,
    RunBegan,
    RunEnded,
)
from toolkeel._records.record import record
from toolkeel._records.taint_sources import SESSION, parse_source
from toolkeel._records.tickets import Decision, new_id
from toolkeel._records.typed_values import load_state
from toolkeel.agent.history import HistoryPolicy
from toolkeel.agent.run_state import InnerRun, RunState, joined_key
from toolkeel.agent.session_interface import JOURNAL_KEY, SessionStart
from toolkeel.agent.transcript import make_placeholder
from toolkeel.call.body.callback import run_callback
from toolkeel.context import RunContext
from toolkeel.events import EndReason
from toolkeel.messages import AssistantMessage, Message, unanswered
from toolkeel.sessions.checkpoint import make_checkpoint
from toolkeel.sessions.code_calls import CodeCallJournal, SessionRecorder
from toolkeel.sessions.decisions import deferred_to_ask, settle_decision
from toolkeel.sessions.errors import SessionBusy, SessionError, SessionIdle
from toolkeel.sessions.inbox import (
    DEFAULT_REASON,
    apply_cancel,
    cancel_last_run,
    deliver,
    take_early_messages,
    take_posts,
)
from toolkeel.sessions.journal import SessionJournal, StoredEntry
from toolkeel.sessions.journal_state import JournalState
from toolkeel.sessions.stores.store import Post, SessionInfo, SessionStore
from toolkeel.sessions.unknown_outcomes import end_call, resolve_unknown_calls

MESSAGE_CAME = "a new message came"
"""Why a call runs no more that a message has replaced."""
END_WITH_ANSWER = ("answered", "returned", "refused", "cut_off")
"""Ends of a run after which nothing is left to do."""
END_WITH_RESULT = (*END_WITH_ANSWER, "limit", "cancelled")
"""Ends of a run that has returned a result."""

OnMessage: TypeAlias = Literal["queue", "answer", "cancel"]


@record
class RunOptions:
    """Options of a session for the start of a run; see `Session`.

    Args:
        name: Its name.
        resumes_only: See `Session`.
        on_message: See `Session`.
        since: Time at which the run became the session's writer, in seconds since the epoch.
    """

    name: str
    resumes_only: bool
    on_message: OnMessage
    since: float


async def begin_run(
    journal: SessionJournal,
    run: RunContext,
    given: tuple[Sequence[Message], Sequence[Decision], list[Post]],
    options: RunOptions,
) -> SessionStart:
    """Continue the session's last run, or start another one, and return its start.

    Write decisions, posts, messages that must wait and results of replaced calls to the journal.

    Args:
        journal: The session's journal.
        run: Receives its id, state and recorder.
        given: The new messages and decisions, and the posts in the session's inbox.
        options: Options of the session.

    Raises:
        SessionIdle: there is no message, and nothing waits.
    """
    said, decisions, posts = given
    fold = journal.state
    _take_inbox(journal, run, posts, options.since)
    known = {each.ticket: each for each in reversed(decisions) if not fold.rejects(each)}
    known |= {id: each.decision for id, each in fold.decisions.items()}
    says = bool(said or run.loop_state.inbox)
    speaks = says or bool(fold.queued)
    await _move_waiting_calls(journal, run, known, options.on_message if speaks else None)
    resumes = resumes_last_run(journal, says)
    run.id = fold.last_run.run if resumes else run.id
    for decision in decisions:
        journal.append(Decided(run.id, decision))
    run.loop_state.settle_decision = partial(settle_decision, journal, run.id)
    pending = await resolve_unknown_calls(journal, run, known)
    attach_journal(journal, run, resumes)
    said = (*said, *take_early_messages(journal, run))
    counted, asks = select_decisions(fold, known)
    if not asks and run.approver is None:
        pending += fold.open_tickets.values()
    start = SessionStart(build_run_state(fold, resumes), (), counted, tuple(pending))
    if not (pending or unanswered(fold.view.messages)):
        return _add_messages(journal, run, start, said, options, resumes=resumes)
    for message in said:  # it comes after the results of what waits
        journal.append(Queued(run.id, new_id(), message))
    if not pending:
        deliver(journal, run)
    elif fold.reason != "waiting":
        journal.append(RunEnded(run.id, "waiting"))
    return start


async def _move_waiting_calls(
    journal: SessionJournal,
    run: RunContext,
    known: Mapping[str, Decision],
    on_message: OnMessage | None,
) -> None:
    """Defer or cancel calls that wait for a person, and repeat deferred ones that are decided.

    Args:
        journal: The session's journal, to which the changes are appended.
        run: The run that begins.
        known: Decisions so far, by ticket id.
        on_message: What a new message does; None if there is none.
    """
    fold = journal.state
    if on_message in ("answer", "cancel"):
        _make_room(journal, known, on_message)
    asked = deferred_to_ask(fold, run) if on_message is None else set()
    if fold.deferred.keys().isdisjoint(known.keys() | asked):
        return
    if unanswered(fold.view.messages):
        _make_room(journal, {}, "answer")  # one turn after the other
    # Of calls with one id, one is repeated: a decision is found by the id of its call.
    due = {t.ticket.call_id: t for id, t in fold.deferred.items() if id in known or id in asked}
    if not unanswered(fold.view.messages):
        calls = tuple(call for each in due.values() for call in each.reply.tool_calls)
        ids = tuple(each.ticket.id for each in due.values())
        journal.append(Repeated(run.id, AssistantMessage(tool_calls=calls), ids))
        await journal.commit()


def _make_room(
    journal: SessionJournal, known: Mapping[str, Decision], how: Literal["answer", "cancel"]
) -> None:
    """Give each undecided waiting call a result, so that a message can follow; `how`: a placeholder, or cancel.

    Do nothing if everything is decided, or if a call waits whose inner run or outcome is open: the
    message is queued then. ``cancel`` ends a run without decisions at once.
    """
    fold = journal.state
    is_decided = not known.keys().isdisjoint(fold.open_tickets | fold.outcome_tickets)
    if fold.reason == "waiting" and how == "cancel" and not is_decided:
        cancel_last_run(journal, MESSAGE_CAME)
        return
    calls, tickets = unanswered(fold.view.messages), dict(fold.open_tickets)
    if fold.reason != "waiting" or fold.open_calls or fold.nested_runs or fold.outcome_tickets:
        return
    by_call = [next((t for t in tickets.values() if t.call_id == c.id), None) for c in calls]
    if None in by_call or all(id in known for id in tickets):
        return
    for call in calls:
        ticket = next((t for t in tickets.values() if t.call_id == call.id), None)
        place = fold.last_run.run, fold.turn, fold.position_of(call)
        if ticket is None or (how == "cancel" and ticket.id not in known):
            end_call(journal, call, MESSAGE_CAME)
        else:
            del tickets[ticket.id]
            reply, by = AssistantMessage(tool_calls=(call,)), fold.made_by.get(call.id, fold.agent)
            journal.append(Deferred(*place, reply, make_placeholder(call), ticket, by))


def _take_inbox(journal: SessionJournal, run: RunContext, posts: list[Post], since: float) -> None:
    """Take messages and decisions from the inbox, and apply requests to cancel. Raises as `take_posts`."""
    fold, head = journal.state, journal.head
    take_into = fold.last_run.run if fold.has_unfinished_run else run.id
    for request in take_posts(journal, take_into, posts):
        if fold.has_unfinished_run or request.sender:
            apply_cancel(journal, request)
        elif request.head >= head and request.at >= since:  # this run had the session already
            run.cancel.cancel(request.reason or DEFAULT_REASON)


def _add_messages(
    journal: SessionJournal,
    run: RunContext,
    start: SessionStart,
    said: Sequence[Message],
    options: RunOptions,
    *,
    resumes: bool,
) -> SessionStart:
    """Return the start of a run with the queued messages and the new ones; no call is open.

    Empties the run's inbox, and may set its ID to the last run's. Raises SessionIdle if nothing waits.
    """
    deliver(journal, run)
    now = (*run.loop_state.inbox, *said)
    run.loop_state.inbox.clear()
    messages, name = start.state.messages, options.name
    if now or (resumes and messages):
        return replace(start, new_messages=now)
    over = not messages or isinstance(messages[-1], AssistantMessage)
    last, reason = journal.state.last_run.run, journal.state.reason
    if over and messages and reason == "failed" and not options.resumes_only:
        return start  # its answer was not checked in time, so its guardrails are asked again
    if not (over or reason in END_WITH_ANSWER or options.resumes_only):
        return start  # the last run was stopped before the model answered
    if deferred := tuple(each.ticket for each in journal.state.deferred.values()):
        return replace(start, pending=deferred)
    if options.resumes_only or (over and reason not in END_WITH_RESULT):
        raise SessionIdle(f"nothing waits in the session {name!r}: say something")
    run.id, state = last, replace(start.state, instructions="")
    return replace(start, state=state, ended=cast("EndReason", reason))


def refuse_enclosing(run: RunContext, store: SessionStore, info: SessionInfo) -> None:
    """Raise SessionBusy if a run around this one writes to the same session: both would wait forever."""
    while (outer := run.scope.outer_run) is not None:
        run, journal = outer, outer.recorder and outer.recorder.journal
        if isinstance(journal, SessionJournal) and journal.belongs_to(store, info.id):
            raise SessionBusy(
                f"the run around this one writes to the session {info.name!r}; give another "
                "session, or none"
            )


def select_decisions(
    fold: JournalState, known: Mapping[str, Decision]
) -> tuple[tuple[Decision, ...], bool]:
    """Return the decisions that count for open tickets, and True if a run can act on some ticket.

    A decision on an expired ticket does not count: its call is asked about again.
    """
    late = {ticket.id for ticket in fold.open_tickets.values() if ticket.expired}
    counted = tuple(known[id] for id in fold.open_tickets if id in known and id not in late)
    return counted, bool(counted or late)


def attach_journal(journal: SessionJournal, run: RunContext, resumes: bool) -> None:
    """Attach the session's recorder, state, labels and permits to a run; those of a run if it `resumes` it."""
    fold = journal.state
    known, turn = len(fold.view.messages), fold.turn if resumes else 0
    values = load_state(fold.state)
    run.recorder = recorder = SessionRecorder(journal, run.id, known, turn, values)
    recorder.is_resumed = resumes and fold.has_begun
    recorder.places, recorder.code = fold.view.positions, CodeCallJournal(journal)
    for key, value in values.items():
        run.state.setdefault(key, value)
    for source in run.taint.sources if run.taint is not None else ():  # of the run around it
        recorder.record_taint(source.label, source.to_text())
    for label, text in ((label, text) for label, texts in fold.taint.items() for text in texts):
        run.get_taint().add(parse_source(label, text))
    for permit in (each for each in fold.permits if resumes or each.reach == SESSION):
        run.get_taint().permit(permit)


def resumes_last_run(journal: SessionJournal, says: bool) -> bool:
    """Return True if the session's last run continues. If it does not, write its end to the journal.

    Args:
        journal: The session's journal.
        says: True if there is a new prompt.
    """
    fold = journal.state
    waits = unanswered(fold.view.messages)
    resumes = waits and not (says and fold.reason == "cancelled")
    if fold.has_unfinished_run and (resumes or not says):
        return True
    if fold.last_run.run and not fold.reason:  # its program was killed before the model answered
        journal.append(RunEnded(fold.last_run.run, "cancelled", "its program ended"))
    elif fold.suspended_state is not None:  # its inner runs end with it
        journal.append(RunEnded(fold.last_run.run, fold.reason))
    for call in waits:
        end_call(journal, call, MESSAGE_CAME)
    return False


async def shorten_view(journal: SessionJournal, run: str, history: HistoryPolicy) -> bool:
    """Apply a policy to later requests' transcript, and journal its cuts. Return True if any; raise as it does."""
    name = f"the history policy {type(history).__name__}"
    view = journal.state.view
    cuts = await run_callback(history.cuts, view, seconds=CALLBACK_TIMEOUT, name=name)
    for cut in cuts:
        entry = Compacted(run, cut.start, cut.stop, cut.messages, cut.policy, cut.usage)
        journal.append(entry)
    return bool(cuts)


async def end_run(journal: SessionJournal) -> None:
    """Write a run's last entries, a checkpoint if at rest, and close the journal.

    Raises SessionError if a write fails. A cancel is raised once all is durable.
    """
    fold = journal.state
    if fold.is_at_rest and journal.has_grown:
        journal.append(make_checkpoint(fold))
    if (closed := journal.close()) is None:
        return
    written = asyncio.wrap_future(closed)
    cancelled: asyncio.CancelledError | None = None
    while not written.done():
        try:
            await asyncio.wait([written])
        except asyncio.CancelledError as error:
            cancelled = error
    written.result()
    if cancelled is not None:
        raise cancelled


def _nested_states(fold: JournalState, decisions: Mapping[str, InnerRun]) -> dict[str, InnerRun]:
    """Return the saved states of the runs nested in a run, by call key.

    Args:
        fold: State of the run.
        decisions: The runs whose calls were approved, by call id.
    """
    found = {}
    for each in fold.open_nested_runs(joined=None):
        if not each.view.messages:  # killed before it was asked anything: it begins anew
            continue
        call = fold.open_calls[each.last_run.call].call_id
        let = decisions.get(call, InnerRun(RunState(())))
        queued = [(queued.when, queued.message) for queued in each.queued.values()]
        state = RunState(
            tuple(each.view.messages),
            tuple(each.open_tickets.values()),
            _nested_states(each, let.state.inner),
            load_state(each.state),
            instructions=each.instructions,
            agent=each.agent,
            previous_agents=each.path,
            cuts=tuple(each.cuts),
            inbox=tuple(message for when, message in queued if when == "steer"),
            follow_ups=tuple(message for when, message in queued if when != "steer"),
            counts=each.counts,
            cost=each.cost,
        )
        began = each.last_run
        key = joined_key(began.call, began.run) if began.joined else began.call
        decision = None if began.joined else let.decision
        found[key] = InnerRun(state, decision, began.run, each.turn, call, began.joined)
    return found


def build_run_state(fold: JournalState, resumes: bool) -> RunState:
    """Return the state from which the last run `resumes`, or a new run starts; raise `SetupError` for a damaged one."""
    text = fold.suspended_state
    saved = RunState.from_json(text, JOURNAL_KEY) if isinstance(text, str) else RunState(())
    messages, waiting = tuple(fold.view.messages), tuple(fold.open_tickets.values())
    state = RunState(messages, waiting, agent=fold.agent, previous_agents=fold.path)
    if not resumes:
        return state
    told, spent = (fold.instructions if fold.has_begun else None), fold.run_usage
    known = saved.counts if text else fold.counts  # of calls made in code, too
    counts = {**known, "requests": spent.requests, "tokens": spent.total_tokens}
    state = replace(state, inner=_nested_states(fold, saved.inner), made_by=fold.made_by)
    return replace(state, instructions=told, usage=spent, cost=fold.cost, counts=counts)


def end_of_turn(found: Sequence[StoredEntry], name: str, turn: int, is_next: bool = False) -> int:
    """Return the number of the last entry of a turn; 0 without entries.

    Args:
        found: All entries of a session.
        name: The session's name, for the error.
        turn: Number of the turn, or of the next one if `is_next`; 0 for the place before the first.

    Raises:
        SessionError: there is no such turn.
    """
    entries = enumerate(each.entry for each in found)
    began = [n for n, e in entries if isinstance(e, RunBegan) and not e.parent]
    if not is_next <= turn <= len(began):
        raise SessionError(f"{name!r} has {len(began)} turns, and no turn {turn}")
    if turn - is_next == len(began):
        return found[-1].seq if found else 0
    first = began[turn - is_next]
    run: str = getattr(found[first].entry, "run", "")
    while first and getattr(found[first - 1].entry, "run", "") == run:
        first -= 1  # a message that the next turn has taken from the inbox
    return found[first].seq - 1

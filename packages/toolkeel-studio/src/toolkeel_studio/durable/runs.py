"""Durable runs as an operator has them: list, show, decide, cancel, retry and delete, from any process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from time import monotonic, sleep
from typing import TYPE_CHECKING, Annotated, Any, Final

from toolkeel._common.checked_arguments import ArgumentKind, checked
from toolkeel._records.record import record
from toolkeel._records.tickets import Decision, new_id
from toolkeel.errors import SetupError
from toolkeel.sessions.sessions import Sessions
from toolkeel.sessions.stores.postgres import is_postgres
from toolkeel_studio.durable.engine import (
    PREFIX,
    RUN,
    TICK,
    RunQueue,
    attempts_of,
    parse_end,
    parse_order,
    place_of,
    queue_of,
)
from toolkeel_studio.durable.journaled import (
    DurableResult,
    cancel_order,
    current_end,
    is_delivered,
)
from toolkeel_studio.durable.orders import DECIDED, RETRY, STATUSES, RunOrder, check_text
from toolkeel_studio.durable.schedules import Schedule, list_schedules

if TYPE_CHECKING:
    from dbos import WorkflowStatus

_STATUS: Final = ArgumentKind(lambda value: value in STATUSES, f"one of {', '.join(STATUSES)}")
_PAGE = 500
_ENDED = ["SUCCESS", "ERROR", "CANCELLED", "MAX_RECOVERY_ATTEMPTS_EXCEEDED"]


@record
class DurableRun:
    """A durable run, as a list shows it.

    Args:
        id: Its id.
        queue: Name of its agent's queue.
        session: Name of its session.
        scope: Scope of the session.
        status: ``queued``, ``active``, ``waiting`` for a person, or how it ended.
        prompt: Its prompt; None if it resumes the session without one.
        error: What went wrong, if anything.
        created: When it was put into the queue, in seconds since the epoch.
        updated: When its status last changed.
        worker: The worker that began it last.
        attempts: How many times workers have begun it.
    """

    id: str
    queue: str
    session: str
    scope: str
    status: str
    prompt: str | None
    error: str
    created: float
    updated: float
    worker: str
    attempts: int


@checked
class Runs:
    """The durable runs of a database, of all agents.

    Args:
        sessions: Where their sessions are.
        database: Where DBOS keeps its tables; beside the sessions by default.

    Raises:
        SetupError: the extra is not installed, or the database cannot be used.
    """

    def __init__(self, sessions: Sessions, database: str | None = None) -> None:
        self._open(sessions, database, "")

    def _open(self, sessions: Sessions, database: str | None, name: str) -> None:
        self.sessions = sessions
        beside = sessions.path if is_postgres(sessions.path) else f"{sessions.path}.runs"
        self._queue = RunQueue(database or beside, name)

    # — what there is —

    @checked
    def list(
        self,
        *,
        session: str | None = None,
        scope: str | None = None,
        status: Annotated[str, _STATUS] | None = None,
        limit: int | None = None,
    ) -> tuple[DurableRun, ...]:
        """Return the runs, the latest first.

        Args:
            session: Name of the session; all by default.
            scope: Scope of the sessions; all by default.
            status: As `DurableRun.status`, such as ``failed``; all by default.
            limit: Most runs to return.
        """
        found = []
        for row in self._rows(RUN):
            of_scope, of_session = place_of(row)
            if session in (None, of_session) and scope in (None, of_scope):
                run = self._describe(row)
                found += [run] if status in (None, run.status) else []
            if len(found) == limit:
                break
        return tuple(found)

    @checked
    def show(self, id: str) -> DurableRun:
        """Return a run.

        Raises:
            SetupError: there is no such run.
        """
        return self._describe(self._status(id))

    @checked
    def result(self, id: str, timeout: float | None = None) -> DurableResult:
        """Wait until a run has ended or waits for a person, and return its result.

        Args:
            id: As returned by `start` and `decide`.
            timeout: Seconds to wait; forever by default.

        Raises:
            TimeoutError: it has not ended by then.
            SetupError: there is no such run.
        """
        limit = None if timeout is None else monotonic() + timeout
        pause = 0.02
        while True:
            status = self._status(id)
            if (found := parse_end(status)) is not None:
                order = parse_order(status)
                if found["reason"] == "waiting":
                    now = current_end(self.sessions, order)
                    found = now if now is not None and now["reason"] == "cancelled" else found
                return DurableResult(id, order["session"], scope=order["scope"], **found)
            if limit is not None and monotonic() > limit:
                raise TimeoutError(f"the run {id!r} is {status.status.lower()} still")
            sleep(pause)
            pause = min(1.0, pause * 1.5)

    @checked
    def schedules(self, *, scope: str | None = None) -> tuple[Schedule, ...]:
        """Return the schedules by name, of one scope unless it is None."""
        found = list_schedules(self._queue)
        return tuple(each for each in found if scope in (None, each.scope))

    # — what is done to them —

    @checked
    def awaits_decision(self, session: str, ticket: str, *, scope: str = "") -> bool:
        """Return True if a durable run of a session waits for a person, or a decision of the ticket resumed one.

        Args:
            session: Name of the session.
            ticket: Id of a ticket of the session.
            scope: Scope of the session.
        """
        if self._queue.status(DECIDED + ticket) is not None:
            return True
        ended = (
            row for row in self._rows(RUN, status="SUCCESS") if place_of(row) == (scope, session)
        )
        return any(self._describe(row).status == "waiting" for row in ended)

    @checked
    def decide(self, session: str, decision: Decision, *, scope: str = "", who: str = "") -> str:
        """Decide a ticket of a session, and have a worker resume the run.

        Deciding the same ticket twice is one run, and the first decision counts.

        Returns:
            The id of the resumed run.

        Raises:
            SetupError: no durable run of the session waits.
        """
        id = DECIDED + decision.ticket
        check_text(session=session, scope=scope, who=who)
        queue = self._queue.name or self._queue_of(session, scope)
        order = self._order(id, session, scope, None)
        self.sessions.open(session, scope).decide(decision, who)
        if self._queue.status(id) is None:  # DBOS warns of what is in another queue by now
            self._queue.put(order, queue)
        return id

    @checked
    def cancel(self, id: str, reason: str = "") -> None:
        """Cancel a run that is queued, active or waiting for a person.

        Decisions on its calls have no effect afterwards.
        """
        status = self._queue.status(id)
        if status is None:
            return
        if (found := parse_end(status)) is None:
            self._queue.client.cancel_workflow(id)
        elif found["reason"] != "waiting":
            return
        cancel_order(self.sessions, parse_order(status), reason)

    @checked
    def retry(self, id: str) -> str:
        """Put a failed run into the queue again, or one whose question has expired, to ask anew.

        It goes on where it stopped: its prompt is not sent a second time, and calls with an outcome are
        not run again.

        Returns:
            The id of the new run.

        Raises:
            SetupError: there is no such run, or neither is so.
        """
        status = self._status(id)
        found, old, now = parse_end(status), parse_order(status), self._describe(status).status
        has_failed = found is not None and found["reason"] == "failed"
        if not has_failed and not (now == "waiting" and self._has_expired(old)):
            raise SetupError(
                f"retry({id!r}): the run is {now}; only a failed run can be retried, or a waiting one "
                "whose question has expired"
            )
        prompt = None if is_delivered(self.sessions, old) else old["prompt"]
        order = self._order(RETRY + new_id(), old["session"], old["scope"], prompt)
        if "options" in old:
            order["options"] = old["options"]
        if "priority" in old:
            order["priority"] = old["priority"]
        self._queue.put(order, queue_of(status))
        return order["id"]

    @checked
    def unschedule(self, name: str) -> None:
        """Remove a schedule, if there is one of this name; runs it has started continue."""
        self._queue.client.delete_schedule(name)

    # — retention —

    @checked
    def prune(
        self,
        older_than: float,
        *,
        scope: str | None = None,
        waiting: bool = False,
        dry: bool = True,
    ) -> tuple[DurableRun, ...]:
        """Delete ended runs from the tables of DBOS, with their prompts and results.

        Sessions stay; see `Sessions.prune`. The rows of schedules of that age are deleted too.

        Args:
            older_than: Days since the run has ended.
            scope: Scope of the sessions; all by default.
            waiting: Delete runs that wait for a person as well.
            dry: Only return which they would be.
        """
        before = datetime.now(UTC) - timedelta(days=older_than)
        found = {run.id: run for run in map(self._describe, self._ended(RUN, before))}
        gone = tuple(
            run
            for run in found.values()
            if scope in (None, run.scope) and (waiting or run.status != "waiting")
        )
        if not dry:
            ticks = [row for row in self._ended(TICK, before) if scope in (None, _tick(row)[0])]
            self._delete_rows([*(run.id for run in gone), *(row.workflow_id for row in ticks)])
        return gone

    @checked
    def delete(self, session: str | None, *, scope: str = "") -> int:
        """Delete a session and all that the queue stores of it; of a scope, if the session is None.

        Schedules that send prompts to it are removed. Nothing brings it back.

        Args:
            session: Name of the session; None for all sessions of the scope.
            scope: The scope.

        Returns:
            How many sessions were deleted.

        Raises:
            SetupError: a run of it is queued or active; nothing is deleted then.
        """
        rows = [r for r in self._rows(RUN) if _matches(place_of(r), scope, session)]
        if going := [row.workflow_id for row in rows if parse_end(row) is None]:
            raise SetupError(f"the run {going[0]!r} has not ended: cancel it first")
        for each in self.schedules(scope=scope):
            if _matches((each.scope, each.session), scope, session):
                self.unschedule(each.name)
        names = [info.name for info in self.sessions.list(scope) if session in (None, info.name)]
        for name in names:
            self.sessions.delete(name, scope)
        ticks = [row for row in self._rows(TICK) if _matches(_tick(row), scope, session)]
        self._delete_rows([row.workflow_id for row in (*rows, *ticks)])
        return len(names)

    def close(self) -> None:
        """Close the database."""
        self._queue.close()

    # — rows —

    def _status(self, id: str) -> WorkflowStatus:
        status = self._queue.status(id)
        if status is None:
            raise SetupError(f"there is no run {id!r}")
        return status

    def _rows(self, name: str, **words: Any) -> Iterator[WorkflowStatus]:
        """Yield the rows of our workflows, the latest first, page by page."""
        offset = 0
        while page := self._queue.client.list_workflows(
            name=name, limit=_PAGE, offset=offset, sort_desc=True, **words
        ):
            yield from page
            offset += len(page)

    def _ended(self, name: str, before: datetime) -> Sequence[WorkflowStatus]:
        return tuple(self._rows(name, status=_ENDED, completed_before=before.isoformat()))

    def _delete_rows(self, ids: Sequence[str]) -> None:
        for start in range(0, len(ids), _PAGE):
            self._queue.client.delete_workflows([*ids[start : start + _PAGE]], delete_children=True)

    def _describe(self, row: WorkflowStatus) -> DurableRun:
        """Return a row as an operator reads it; a waiting run has the status of its session."""
        try:
            order = parse_order(row)
        except SetupError:
            order = RunOrder(id=row.workflow_id, session="", scope="", prompt=None, since=0)
        end = parse_end(row)
        if end is not None and end["reason"] == "waiting" and order["session"]:
            now = current_end(self.sessions, order)
            end = {"error": ""} | now if now is not None else end
        status = "queued" if row.status in ("ENQUEUED", "DELAYED") else "active"
        return DurableRun(
            row.workflow_id,
            queue_of(row).removeprefix(PREFIX),
            order["session"],
            order["scope"],
            status if end is None else end["reason"],
            order["prompt"],
            "" if end is None else end.get("error", ""),
            (row.created_at or 0) / 1000,
            (row.updated_at or 0) / 1000,
            row.executor_id or "",
            attempts_of(row),
        )

    def _queue_of(self, session: str, scope: str) -> str:
        """Return the queue of the latest run of a session."""
        for row in self._rows(RUN):
            if place_of(row) == (scope, session) and (queue := queue_of(row)):
                return queue
        raise SetupError(
            f"no durable run of the session {session!r} is in this database; for other sessions: "
            "toolkeel sessions decide"
        )

    def _has_expired(self, order: RunOrder) -> bool:
        session = self.sessions.open(order["session"], order["scope"])
        return any(ticket.expired for ticket in session.pending)

    def _order(self, id: str, session: str, scope: str, prompt: str | None) -> RunOrder:
        found = self.sessions.open(session, scope)
        since = found.info.head if found.exists else 0
        return RunOrder(id=id, session=session, scope=scope, prompt=prompt, since=since)


def _tick(row: WorkflowStatus) -> tuple[str, str]:
    """Return scope and session that the row of a schedule's time names."""
    match row.input:
        case {"args": [_, {"scope": str() as scope, "session": str() as session}]}:
            return scope, session
    return "", ""


def _matches(place: tuple[str, str], scope: str, session: str | None) -> bool:
    return place[0] == scope and place[1] != "" and session in (None, place[1])

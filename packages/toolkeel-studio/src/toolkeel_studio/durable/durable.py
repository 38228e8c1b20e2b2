"""`Durable`: an agent whose runs are started here, and run by workers, wherever those are."""

from __future__ import annotations

import asyncio
import logging
import signal
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Final, Unpack

from toolkeel._common.checked_arguments import ArgumentKind, above, at_least, checked
from toolkeel._records.tickets import new_id
from toolkeel.agent.agent import Agent
from toolkeel.agent.options import RunOptions
from toolkeel.errors import SetupError
from toolkeel.sessions.sessions import Sessions
from toolkeel.spending import RunLimits
from toolkeel_studio.durable.engine import attempts_of, parse_order, queue_name, recovery_of
from toolkeel_studio.durable.fair_queue import ScopeLimits
from toolkeel_studio.durable.journaled import run_order, stored_entries
from toolkeel_studio.durable.monitor import RunMetrics, published
from toolkeel_studio.durable.orders import (
    MAX_PRIORITY,
    RunOrder,
    check_text,
    dump_options,
    load_options,
)
from toolkeel_studio.durable.recovery import Recovery, count_death, count_steps
from toolkeel_studio.durable.runs import Runs
from toolkeel_studio.durable.scope_costs import ScopeCosts, cost_of, with_cost_limit
from toolkeel_studio.durable.worker import Worker, is_retried
from toolkeel_studio.durable.worker_log import log_event, quiet_engine

if TYPE_CHECKING:
    from dbos import WorkflowStatus

MAX_CONCURRENCY: Final = 10
"""Runs that go on in one worker at a time."""
PRIORITY: Final = ArgumentKind(lambda value: 0 <= value <= MAX_PRIORITY, "a number from 0 to 1000")
DRAIN_SECONDS: Final = 30.0
"""Seconds that a worker waits for its runs when it is stopped."""


@checked
class Durable(Runs):
    """An agent whose runs are put into a queue, and survive the workers that run them.

    The journal of its session is the truth of a run; DBOS only says who runs it next. Its methods
    ask a database: in async code call them by `asyncio.to_thread`.

    Args:
        agent: Who answers. Its name is the name of the queue.
        sessions: Where its sessions are; a file for the workers of one machine, PostgreSQL for many.
        database: Where DBOS keeps its tables, likewise; beside the sessions by default.
        max_concurrency: How many runs go on in one worker at a time; those of one session never do.
        max_per_scope: Most runs of one scope in progress, in all workers together; None for no limit.
        max_starts_per_second: Most runs of one scope that begin in a second, in all workers together;
            below 1 for one in several seconds. None for no limit.
        max_cost_per_scope: Most US dollars that the runs of one scope may cost in a day (UTC): a run
            gets what is left as its limit, and fails if nothing is. None for no limit.
        max_queued: Most runs that wait in the queue; `start` refuses the next one. None for no limit.
        max_queued_per_scope: Most runs of one scope that wait there, likewise.
        options: What each run is given, as by `Agent.run`, such as ``deps`` and ``limits``.

    Raises:
        SetupError: the extra is not installed, or the database cannot be used.

    ::

        durable = Durable(agent, Sessions("postgresql://keel@db.example/app"))
        id = durable.start("Pay 5 euros.", session="ada")
        durable.result(id)  # once a worker has run it: toolkeel worker app.py:durable
    """

    def __init__(
        self,
        agent: Agent[Any, Any],
        sessions: Sessions,
        database: str | None = None,
        *,
        max_concurrency: int = MAX_CONCURRENCY,
        max_per_scope: Annotated[int, at_least(1, "a number from 1, or None")] | None = None,
        max_starts_per_second: Annotated[float, above(0, "a number above 0, or None")]
        | None = None,
        max_cost_per_scope: Annotated[float, above(0, "dollars above 0, or None")] | None = None,
        max_queued: Annotated[int, at_least(1, "a number from 1, or None")] | None = None,
        max_queued_per_scope: Annotated[int, at_least(1, "a number from 1, or None")] | None = None,
        **options: Unpack[RunOptions[Any]],
    ) -> None:
        self.agent = agent
        self._max_concurrency = max_concurrency
        self._max_queued, self._max_queued_per_scope = max_queued, max_queued_per_scope
        self._options: dict[str, Any] = dict(options)
        self._metrics = RunMetrics()
        cost = max_cost_per_scope
        self._costs = None if cost is None else ScopeCosts(sessions.path, cost)
        self._limits = ScopeLimits(max_per_scope, max_starts_per_second)
        self._open(sessions, database, queue_name(agent.name))

    # — from any process —

    @checked
    def start(
        self,
        prompt: str | None,
        *,
        session: str = "",
        scope: str = "",
        id: str = "",
        deps: object = None,
        model: str | None = None,
        limits: RunLimits | None = None,
        priority: Annotated[int, PRIORITY] = 0,
    ) -> str:
        """Put a run into the queue, and return its id at once.

        Args:
            prompt: The prompt; None to resume without one.
            session: Name of the session; by default a new one named by the id.
            scope: Scope of the session.
            id: Id of the run, for callers that may repeat the call: one id is one run.
            deps: JSON that replaces the deps of `Durable` in this run.
            model: Name of the model of this run; that of the agent by default.
            limits: Limits of this run; those of `Durable` by default.
            priority: From 0 to 1000; the highest comes first among the runs of its scope, except that
                a session's runs keep their order.

        Raises:
            SetupError: the id belongs to a run of another session or with another prompt, or too many
                runs wait, in the queue or of the scope.
        """
        check_text(prompt=prompt, session=session, scope=scope, id=id)
        options = dump_options(deps, model, limits)
        known, id = bool(id), id or new_id()
        wanted = self._order(id, session or id, scope, prompt)
        if options:
            wanted["options"] = options
        if priority:
            wanted["priority"] = priority
        if known and (status := self._queue.status(id)) is not None:
            self._check_same(wanted, status)
            return id
        self._check_room(scope)
        self._queue.put(wanted)
        if known and (status := self._queue.status(id)) is not None:  # another process was first
            self._check_same(wanted, status)
        return id

    @checked
    def schedule(
        self,
        cron: str,
        prompt: str,
        *,
        session: str,
        scope: str = "",
        name: str = "",
        missed: bool = False,
    ) -> None:
        """Say something to a session at certain times, as long as there are workers.

        Args:
            cron: When, in UTC: ``minute hour day month weekday``, with a sixth in front for seconds.
            prompt: What is said.
            session: To which session.
            scope: Whose it is.
            name: Of the schedule, to replace or end it, one for all scopes; that of the session by
                default, where there is no scope.
            missed: True if the times are made up for at which there was no worker.

        Raises:
            SetupError: the times cannot be understood, or there is a scope and no name.
        """
        if scope and not name:
            raise SetupError(
                "schedule(scope=...) needs name=: two scopes may have a session of one name"
            )
        check_text(prompt=prompt, session=session, scope=scope, name=name)
        context = {"session": session, "scope": scope, "prompt": prompt, "name": name or session}
        self._queue.add_schedule(cron, name or session, context, missed)

    # — in a worker —

    @checked
    def work(
        self,
        id: str = "",
        *,
        adopt: Iterable[str] = (),
        drain: float = DRAIN_SECONDS,
        stop: threading.Event | None = None,
        health: str = "",
        metrics: str = "",
    ) -> bool:
        """Run what is in the queue, until this process is stopped (TERM, or Ctrl-C).

        Args:
            id: The worker's name: give each its own, and the same when it is started again, so that
                it goes on with what it had begun; that of the machine by default.
            adopt: Names of workers that will not come back: what they had begun is taken over.
            drain: Seconds to wait for the runs that go on, when it is stopped.
            stop: Tells it to end, in a thread that hears no signals.
            health: Where ``/healthz`` is, HOST:PORT, or a file with the same text.
            metrics: Where ``/metrics`` is, for Prometheus, likewise.

        Returns:
            Whether all runs have ended. Those that have not are put back for other workers, which go
            on with them once this process is gone: end it. If the database does not answer, it returns
            at most 15 seconds after `drain`, and they stay this worker's.
        """
        stopping = stop or threading.Event()
        name, room = id or socket.gethostname(), self._max_concurrency
        worker = Worker(self._queue, self._work, self._tick, name, room, self._limits)
        quiet_engine()
        worker.start()
        pages = {
            "/healthz": (health, worker.show_health),
            "/metrics": (metrics, lambda: (200, self._show_metrics(worker))),
        }
        with published(pages):
            return self._work_until(stopping, worker, adopt, drain)

    def _work_until(
        self, stopping: threading.Event, worker: Worker, adopt: Iterable[str], drain: float
    ) -> bool:
        """Adopt runs, wait until the process is stopped, and end the worker."""
        for dead in adopt:
            for run in self._queue.requeue(dead):
                log_event("adopted", id=run, worker=dead)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: stopping.set())
        with suppress(KeyboardInterrupt):
            while not (stopping.wait(0.5) or worker.is_outdated):
                pass
        ended = worker.stop(drain)
        for run in worker.put_back:
            log_event("put back", logging.WARNING, id=run)
        return ended

    async def _work(self, order: RunOrder, status: WorkflowStatus | None) -> dict[str, str]:
        place = {"id": order["id"], "session": order["session"], "scope": order["scope"]}
        attempts = 1 if status is None else attempts_of(status)
        if status is not None and attempts > 1:
            attempt = await asyncio.to_thread(self._count_death, order, status)
            if error := attempt.verdict:
                log_event("failed", logging.ERROR, **place, attempt=attempts, error=error)
                return {"reason": "failed", "text": "", "error": error}
            self._metrics.record_recovery()
        event = "begun" if attempts == 1 else "resumed"
        log_event(event, logging.INFO, **place, attempt=attempts)
        began = monotonic()
        try:
            end = await self._run(order)
        except BaseException as error:
            why = f"{type(error).__name__}: {error}"
            if is_retried(error):
                log_event("interrupted", logging.WARNING, **place, error=why)
                self._metrics.record_end("interrupted", monotonic() - began)
                raise
            end = {"reason": "failed", "text": "", "error": why}
        self._metrics.record_end(end["reason"], monotonic() - began)
        failed = end["reason"] == "failed"
        log_event(
            "failed" if failed else "ended",
            logging.ERROR if failed else logging.INFO,
            **place,
            reason=end["reason"],
            seconds=round(monotonic() - began, 3),
            error=end.get("error", ""),
        )
        return end

    async def _run(self, order: RunOrder) -> dict[str, str]:
        """Run an order, within what its scope may still spend."""
        options = {**self._options, **load_options(order)}
        if self._costs is None:
            return await run_order(self.agent, self.sessions, order, options)
        scope, costs = order["scope"], self._costs
        left = await asyncio.to_thread(costs.left, scope)
        if left <= 0:
            error = (
                f"the scope {scope!r} has spent the ${costs.limit:.2f} of today; retry the run after "
                "midnight UTC, or raise Durable(max_cost_per_scope=...)"
            )
            return {"reason": "failed", "text": "", "error": error}
        end = await run_order(self.agent, self.sessions, order, with_cost_limit(options, left))
        stored = await asyncio.to_thread(stored_entries, self.sessions, order)
        spent = cost_of((each.entry for each in stored), order["id"])
        await asyncio.to_thread(costs.add, scope, spent)
        return end

    def close(self) -> None:
        """Close the database."""
        if self._costs is not None:
            self._costs.close()
        super().close()

    def _show_metrics(self, worker: Worker) -> str:
        return self._metrics.render(worker.running, worker.count_queued())

    def _count_death(self, order: RunOrder, status: WorkflowStatus) -> Recovery:
        """Count the death of the worker before this one, and store the attempt that starts."""
        entries = (each.entry for each in stored_entries(self.sessions, order))
        attempt = count_death(recovery_of(status), attempts_of(status), count_steps(entries))
        self._queue.record_attempt(order["id"], attempt)
        return attempt

    def _tick(self, when: str, context: dict[str, Any]) -> RunOrder:
        id = f"{context['name']}-{when}"
        return self._order(id, context["session"], context["scope"], context["prompt"])

    def _check_room(self, scope: str) -> None:
        """Refuse a run for which the queue has no room.

        Raises:
            SetupError: as many runs wait as may, of all scopes or of this one.
        """
        all_, own = self._max_queued, self._max_queued_per_scope
        if all_ is not None and self._queue.has_queued(all_):
            raise SetupError(
                f"the queue of {self.agent.name!r} is full: {all_} runs wait. Start this one later, "
                "start more workers, or raise Durable(max_queued=...)"
            )
        if own is not None and self._queue.has_queued(own, scope):
            where = f"of the scope {scope!r}" if scope else "without a scope"
            raise SetupError(
                f"as many runs {where} wait as may ({own}). Start this one later, start more workers, or "
                "raise Durable(max_queued_per_scope=...)"
            )

    def _check_same(self, wanted: RunOrder, status: WorkflowStatus) -> None:
        """Refuse an id that names another run.

        Raises:
            SetupError: agent, session, prompt or options differ.
        """
        id = wanted["id"]
        if status.application_name not in (None, self._queue.name):
            raise SetupError(f"the id {id!r} names a run of another agent; choose another")
        found = parse_order(status)
        if any(found[key] != wanted[key] for key in ("session", "scope")):
            raise SetupError(f"the id {id!r} names a run of another session; choose another")
        if found["prompt"] != wanted["prompt"]:
            raise SetupError(f"the id {id!r} names a run with another prompt; choose another")
        if found.get("options", {}) != wanted.get("options", {}):
            raise SetupError(
                f"the id {id!r} names a run with other deps, model or limits; choose another"
            )

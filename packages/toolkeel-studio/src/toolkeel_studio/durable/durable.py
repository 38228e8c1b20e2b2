"""`Durable`: an agent whose runs are started here, and run by workers, wherever those are."""

from __future__ import annotations

import re
import signal
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from time import monotonic, sleep
from typing import Any, Final, Unpack

from toolkeel._common.checked_arguments import checked
from toolkeel._records.tickets import Decision, new_id
from toolkeel.agent.agent import Agent
from toolkeel.agent.options import RunOptions
from toolkeel.errors import SetupError
from toolkeel.sessions.postgres import is_postgres
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.durable.engine import RunQueue, Worker, parse_end, parse_order
from toolkeel_studio.durable.journaled import (
    DurableResult,
    RunOrder,
    cancel_order,
    current_end,
    run_order,
)

MAX_CONCURRENCY: Final = 10
"""Runs that go on in one worker at a time."""
DRAIN_SECONDS: Final = 30.0
"""Seconds that a worker waits for its runs when it is told to end."""


@checked
class Durable:
    """An agent whose runs are put into a queue, and survive the workers that run them.

    The journal of its session is the truth of a run; DBOS only says who runs it next. Its methods
    ask a database: in async code call them by `asyncio.to_thread`.

    Args:
        agent: Who answers. Its name is the name of the queue.
        sessions: Where its sessions are; a file for the workers of one machine, PostgreSQL for many.
        database: Where DBOS keeps its tables, likewise; beside the sessions by default.
        max_concurrency: How many runs go on in one worker at a time; those of one session never do.
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
        **options: Unpack[RunOptions[Any]],
    ) -> None:
        self.agent = agent
        self.sessions = sessions
        self._max_concurrency = max_concurrency
        self._options: dict[str, Any] = dict(options)
        beside = sessions.path if is_postgres(sessions.path) else f"{sessions.path}.runs"
        name = re.sub(r"[^a-z0-9_-]+", "-", agent.name.lower())
        self._queue = RunQueue(database or beside, f"toolkeel-{name}")

    # — from any process —

    def start(self, prompt: str | None, *, session: str = "", scope: str = "", id: str = "") -> str:
        """Put a run into the queue, and return its id at once.

        Args:
            prompt: The prompt; None to resume without one.
            session: Name of the session; by default a new one named by the id.
            scope: Scope of the session.
            id: Id of the run, for callers that may repeat the call: one id is one run.

        Raises:
            SetupError: the id belongs to a run of another session.
        """
        known, id = bool(id), id or new_id()
        wanted = self._order(id, session or id, scope, prompt)
        self._queue.put(wanted)
        if known and (status := self._queue.status(id)) is not None:
            found = parse_order(status)
            if any(found[key] != wanted[key] for key in ("session", "scope")):
                raise SetupError(f"the id {id!r} names a run of another session; choose another")
        return id

    def decide(self, session: str, decision: Decision, *, scope: str = "", who: str = "") -> str:
        """Decide a ticket of a session, and have a worker resume the run.

        Deciding the same ticket twice is one run, and the first decision counts.

        Returns:
            The id of the resumed run.
        """
        id = f"decided-{decision.ticket}"
        order = self._order(id, session, scope, None)
        self.sessions.open(session, scope).decide(decision, who)
        self._queue.put(order)
        return id

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
            status = self._queue.status(id)
            if status is None:
                raise SetupError(f"there is no run {id!r}")
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
            missed: Whether the times are made up for at which there was no worker.

        Raises:
            SetupError: the times cannot be understood, or there is a scope and no name.
        """
        if scope and not name:
            raise SetupError(
                "schedule(scope=...) needs name=: two scopes may have a session of one name"
            )
        context = {"session": session, "scope": scope, "prompt": prompt, "name": name or session}
        self._queue.add_schedule(cron, name or session, context, missed)

    def unschedule(self, name: str) -> None:
        """Remove a schedule; runs it has started continue."""
        self._queue.client.delete_schedule(name)

    def close(self) -> None:
        """Close the database."""
        self._queue.client.destroy()

    # — in a worker —

    def work(
        self,
        id: str = "",
        *,
        adopt: Iterable[str] = (),
        drain: float = DRAIN_SECONDS,
        stop: threading.Event | None = None,
    ) -> bool:
        """Run what is in the queue, until this process is told to end (TERM, or Ctrl-C).

        Args:
            id: The worker's name: give each its own, and the same when it is started again, so that
                it goes on with what it had begun; that of the machine by default.
            adopt: Names of workers that will not come back: what they had begun is taken over.
            drain: Seconds to wait for the runs that go on, when it is told to end.
            stop: Tells it to end, in a thread that hears no signals.

        Returns:
            Whether all runs have ended. Those that have not are put back for other workers, which go
            on with them once this process is gone: end it.
        """
        told = stop or threading.Event()
        worker = Worker(
            self._queue, self._work, self._tick, id or socket.gethostname(), self._max_concurrency
        )
        worker.start()
        for dead in adopt:
            self._queue.requeue(dead)
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, lambda *_: told.set())
        with suppress(KeyboardInterrupt):
            while not told.wait(0.5):
                pass
        return worker.stop(drain)

    async def _work(self, order: RunOrder) -> dict[str, str]:
        return await run_order(self.agent, self.sessions, order, self._options)

    def _tick(self, when: str, context: dict[str, Any]) -> RunOrder:
        id = f"{context['name']}-{when}"
        return self._order(id, context["session"], context["scope"], context["prompt"])

    def _order(self, id: str, session: str, scope: str, prompt: str | None) -> RunOrder:
        found = self.sessions.open(session, scope)
        since = found.info.head if found.exists else 0
        return RunOrder(id=id, session=session, scope=scope, prompt=prompt, since=since)

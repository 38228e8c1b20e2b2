"""Starts the runs of one session, in a task that outlives every request and every reader.

Whoever says or decides something leaves it in the session's inbox and calls `start`. The task then runs
the session until nothing is left to do. That holds across processes: the inbox is in the database, a
run needs the session's lock, and a run that finds nothing to do ends without an entry.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from typing import Any

from toolkeel._records.recorder import RESUMABLE
from toolkeel._records.tickets import Decision, Ticket
from toolkeel._records.typed_values import load_state as load_values
from toolkeel.agent.agent import Agent
from toolkeel.agent.run import Run
from toolkeel.call.body.task_cancels import GRACE_ONLY
from toolkeel.context import CancelToken
from toolkeel.errors import ToolkeelError, describe_error
from toolkeel.sessions.errors import SessionError, SessionIdle
from toolkeel.sessions.journal import SessionJournal
from toolkeel.sessions.session import Session
from toolkeel_studio.serve.client_tools import (
    CLIENT_TOOLS,
    ClientTool,
    ClientTools,
    dump_client_tools,
    load_client_tools,
)
from toolkeel_studio.serve.decisions import Choice, decide_question
from toolkeel_studio.serve.errors import UnknownApproval
from toolkeel_studio.serve.feed import Feed
from toolkeel_studio.serve.items import Problem, Question, QuestionClosed


class PendingQuestion:
    """A server's question during a call, and the future that gets its answer."""

    def __init__(self, ticket: Ticket) -> None:
        self.ticket = ticket
        self.answer: asyncio.Future[Decision | None] = asyncio.get_running_loop().create_future()

    def decide(self, seal: str, choice: Choice) -> None:
        """Answer the question as it was shown.

        Raises:
            UnknownApproval: it is no longer open.
            InvalidDecision: the answer does not fit.
        """
        if self.ticket.seal != seal or self.answer.done():
            raise UnknownApproval("this question is no longer open")
        self.answer.set_result(decide_question(self.ticket, choice))


class Runner:
    """The runs of one session in this process.

    Args:
        agent: Answers.
        session: The session.
        options: Options of each run, such as ``deps``; called when a run starts.
        on_idle: Called when nothing is left to do.

    Attributes:
        feed: Gets what happens.
        questions: What servers ask meanwhile, by the ticket's id; the oldest first.
        client_tools: Tools of the client for runs that start from now on; None for those of before.
        problem: Why the last run failed or could not start; empty if it did not fail, and from `start` on.
        is_stuck: True if `problem` is why no run could start, so messages stay in the inbox.
    """

    def __init__(
        self,
        agent: Agent[Any, Any],
        session: Session,
        options: Callable[[], Mapping[str, Any]],
        on_idle: Callable[[], None],
    ) -> None:
        self.feed = Feed(session, self)
        self.questions: dict[str, PendingQuestion] = {}
        self.client_tools: tuple[ClientTool, ...] | None = None
        self.problem = ""
        self.is_stuck = False
        self._agent = agent
        self._session = session
        session.resumes_only = True
        self._options = options
        self._on_idle = on_idle
        self._task: asyncio.Task[None] | None = None
        self._run: Run[Any] | None = None
        self._is_wanted = self._continues = False
        self._cancel_reason: str | None = None

    @property
    def is_busy(self) -> bool:
        """True while a run is active here, or about to start."""
        return self._task is not None and not self._task.done()

    @property
    def is_unused(self) -> bool:
        """True if nothing runs here and nobody reads."""
        return not (self.is_busy or self.feed.readers)

    @property
    def is_writing(self) -> bool:
        """True while a run of this process has the session's lock."""
        return self._run is not None and self._run.context.recorder is not None

    def start(self, *, continues: bool = False) -> None:
        """Run the session if there is something to do.

        Args:
            continues: Continue a run whose process was killed, and act on decisions even if other
                calls still wait.
        """
        self._is_wanted = True
        self._continues = self._continues or continues
        if not self.is_busy:
            self.problem, self.is_stuck = "", False
            self._task = asyncio.create_task(self._work())

    async def recover(self) -> None:
        """Continue what a killed process has left: its run, and decisions and messages that none took."""
        await self.feed.open()
        continues = not self.feed.state.open_tickets  # else it would act on a part of the decisions
        if not self.is_busy and await self._has_work(continues):
            self.start(continues=continues)

    def cancel(self, reason: str) -> bool:
        """Cancel the run that is active here or about to start; return True if there is one."""
        if self.is_busy:
            self._cancel_reason = reason
        if self._run is not None:
            self._run.cancel(reason)
        return self.is_busy

    def leave(self) -> None:
        """End the run as if this process was killed: whoever opens the session again continues it."""
        recorder = self._run.context.recorder if self._run is not None else None
        if recorder is not None and isinstance(recorder.journal, SessionJournal):
            with suppress(SessionError):  # nothing more can be written anyway
                recorder.journal.close()
        if self._task is not None:
            self._task.cancel(GRACE_ONLY)

    async def wait(self) -> None:
        """Return when nothing runs here."""
        if self._task is not None:
            await asyncio.wait([self._task])

    async def _work(self) -> None:
        try:
            await self.feed.open()
            while self._is_wanted:
                self._is_wanted, continues, self._continues = False, self._continues, False
                while await self._has_work(continues):
                    continues = False
                    if not await self._run_once():
                        break
            while (reason := self._cancel_reason) is not None:  # its run had begun to wait
                self._cancel_reason = None
                await asyncio.to_thread(self._session.cancel, reason)
        except Exception as error:  # the database is away, or the session was deleted
            self._report(error)
        finally:
            self._task = None
            self.feed.wake()
            self._on_idle()

    async def _has_work(self, continues: bool) -> bool:
        """Return True if a run of the session could do something now."""
        await self.feed.refresh(finds_writer=False)
        return await asyncio.to_thread(self._finds_work, continues)

    def _finds_work(self, continues: bool) -> bool:
        session, state = self._session, self.feed.state
        if session.on_message != "queue" and session.inbox:
            return True
        if not session.decisions.keys().isdisjoint(state.deferred):
            return True
        if tickets := (*state.open_tickets, *state.outcome_tickets):
            decisions = session.decisions
            decided = [id in decisions for id in tickets]
            return any(decided) if continues else all(decided)
        is_left = continues and state.has_unfinished_run
        return bool(session.inbox) or (is_left and session.writer is None)

    async def _run_once(self) -> bool:
        """Run the session once; return False if it failed or was canceled."""
        ended, options = self.feed.ended_count, dict(self._options())
        agent = self._offer_client_tools(options)
        listeners = (*options.pop("listeners", ()), self.feed.take_event)
        self.problem, self.is_stuck = "", False
        asks = {"approver": self.ask} if _can_ask(agent) else {}
        options = {"cancel": CancelToken(), **asks, **options}
        try:
            run = self._run = agent.start(
                None, session=self._session, listeners=listeners, **options
            )
            if self._cancel_reason is not None:
                run.cancel(self._cancel_reason)
            if (await run).reason == "cancelled":
                self._cancel_reason = None
        except SessionIdle:
            return True  # another process was first
        except asyncio.CancelledError:
            if self._run is not None:
                await self._run.aclose()
            raise
        except Exception as error:
            self.problem = _text_of(error)
            await self.feed.refresh()
            if self.feed.ended_count == ended:  # its journal does not say so
                self._report(error)
            return False
        finally:
            self._run = None
        return not run.context.cancel.cancelled

    def _offer_client_tools(self, options: dict[str, Any]) -> Agent[Any, Any]:
        """Return the agent with the client's tools, and put them into the state of its next run."""
        state, declared = self.feed.state, self.client_tools
        known = load_client_tools(load_values(state.state))
        if declared is None and not known:
            return self._agent
        if declared is not None and declared != known:
            waiting = {ticket.tool for ticket in state.open_tickets.values() if ticket.external}
            new = {each.name for each in declared}
            left = [each for each in known if each.name in waiting - new]
            dumped = dump_client_tools([*declared, *left])
            options["state"] = {**(options.get("state") or {}), CLIENT_TOOLS: dumped}
        return self._agent.with_tools([ClientTools()])

    def _report(self, error: Exception) -> None:
        self.problem, self.is_stuck = _text_of(error), True
        self.feed.add_live(Problem(describe_error(error)))

    async def ask(self, ticket: Ticket) -> Decision | None:
        """Wait for the answer to a server's question; return None for a call, whose run then waits."""
        if not ticket.form:
            return None
        question = self.questions[ticket.id] = PendingQuestion(ticket)
        self.feed.add_live(Question(ticket))
        try:
            return await question.answer
        finally:
            del self.questions[ticket.id]
            self.feed.add_live(QuestionClosed(ticket.id))


async def end_runs(runners: Iterable[Runner], reason: str = "", grace: float = 0.0) -> None:
    """End what runs, and return when nothing does.

    Args:
        runners: The runners, none of which is asked for more.
        reason: Why runs are canceled. Without one they are left as if the process was killed, and
            continue when their session is opened again.
        grace: Seconds in which they may end by themselves.
    """
    waiting = {asyncio.create_task(each.wait()): each for each in runners}
    if not waiting:
        return
    _, late = await asyncio.wait(waiting, timeout=grace)
    for runner in (waiting[each] for each in late):
        if reason:
            runner.cancel(reason)
        else:
            runner.leave()
    await asyncio.wait(waiting)


def _can_ask(agent: Agent[Any, Any]) -> bool:
    """Return True if a call of the agent may ask for something while it runs, such as an MCP server's."""
    tools = agent.tools
    known = [tools[name] for name in tools.names]
    asks = any(each.approval or each.steps or RESUMABLE in each.metadata for each in known)
    return asks or agent.has_tool_sources or bool(agent.handoffs) or tools.rules is not None


def _text_of(error: Exception) -> str:
    """Return the text of an error for the program's own people; those of the user's code name their type."""
    return str(error) if isinstance(error, ToolkeelError) else describe_error(error)

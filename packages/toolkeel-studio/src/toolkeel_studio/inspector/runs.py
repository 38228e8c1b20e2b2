"""The runs of the page, each in its session, and what of them the page shows before a journal has it.

The channels start and stop runs and take decisions. Here is only what the page adds: the reply while it
arrives, and forms as decisions.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

from toolkeel import events
from toolkeel._records.entries import Decided
from toolkeel._records.tickets import VERDICTS, Reach, Ticket
from toolkeel.agent.agent import Agent
from toolkeel.agent.resume import fits_tool
from toolkeel.define.schema.json_schema_validator import compile_json_schema
from toolkeel.errors import InvalidArguments
from toolkeel.model_interface import CallDelta, TextDelta
from toolkeel.observe.wording import one_line
from toolkeel.sessions.errors import DecisionRefused, SessionUnavailable
from toolkeel.sessions.session import Session
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.inspector.forms import build_form, submitted_value
from toolkeel_studio.serve.channel import Channels
from toolkeel_studio.serve.decisions import Choice, Verdict, decide_ticket, find_ticket
from toolkeel_studio.serve.errors import InvalidDecision, UnknownApproval
from toolkeel_studio.serve.items import approval_id_of
from toolkeel_studio.serve.runner import PendingQuestion

if TYPE_CHECKING:
    from toolkeel_studio.durable.runs import Runs as DurableRuns

WHO = "inspector"
TAIL = 20_000
"""Characters of a reply that still arrives which are shown."""
NO_QUESTIONS: Final[Mapping[str, PendingQuestion]] = MappingProxyType({})
ANSWERS: Final[dict[str, Verdict]] = {"send": "edit", "decline": "deny"}
"""By button of a question: what it decides; any other cancels."""
SESSION: Final = "session"
"""The button of a ticket that approves its scope for the session."""
VERDICT_OF: Final[dict[str, Verdict]] = {**{each: each for each in VERDICTS}, SESSION: "approve"}
"""By button of a ticket: what it decides; any other denies."""
DURABLE_SECONDS: Final = 10.0
"""Seconds in which the database of durable runs must answer a page."""
DURABLE_THREADS: Final = 4
"""Threads that ask it, at most."""
T = TypeVar("T")


class DurableAccess:
    """Durable runs, opened once there are some, and asked by a few threads beside the event loop.

    They are daemon threads: a question may wait for a silent database forever, and nothing waits for it.

    Args:
        find: Opens the runs; returns None as long as there are none.
        seconds: How long a question is waited for.
    """

    def __init__(
        self, find: Callable[[], DurableRuns | None], seconds: float = DURABLE_SECONDS
    ) -> None:
        self._find, self._seconds = find, seconds
        self._found: DurableRuns | None = None
        self._opening = threading.Lock()
        self._jobs = SimpleQueue[Callable[[], None] | None]()
        self._threads = 0

    async def ask(self, work: Callable[[DurableRuns], T], nothing: T) -> T:
        """Return what `work` returns for the runs, or `nothing` if there are none.

        Raises:
            SessionUnavailable: it has not ended in time; it is not begun later.
        """
        found = Future[T]()

        def answer() -> None:
            if found.set_running_or_notify_cancel():
                try:
                    runs = self._open()
                    found.set_result(nothing if runs is None else work(runs))
                except Exception as error:
                    found.set_exception(error)

        self._jobs.put(answer)
        if self._threads < DURABLE_THREADS:
            self._threads += 1
            threading.Thread(target=self._serve, name="toolkeel-durable-runs", daemon=True).start()
        awaited = asyncio.wrap_future(found)
        await asyncio.wait([awaited], timeout=self._seconds)
        if not awaited.done():
            found.cancel()  # at once: `awaited` would only do it when the loop turns
            awaited.cancel()
            raise SessionUnavailable(
                "the database of the durable runs does not answer; try again later"
            )
        return awaited.result()

    def close(self) -> None:
        """Close the runs, if they were opened, and end the threads that do not wait for them."""
        for _ in range(self._threads):
            self._jobs.put(None)
        if self._found is not None:
            self._found.close()

    def _open(self) -> DurableRuns | None:
        with self._opening:
            if self._found is None:
                self._found = self._find()
            return self._found

    def _serve(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()


class Live:
    """What of a run of this process is not in the journal yet, for the page.

    Args:
        questions: What servers ask meanwhile, by the ticket's id; the oldest first.

    Attributes:
        version: Counts what has come.
        text: Of the reply that still arrives.
        calls: Arguments of its calls as they arrive, by position.
        progress: How far running calls are, by call id.
        questions: The same.
    """

    def __init__(self, questions: Mapping[str, PendingQuestion] = NO_QUESTIONS) -> None:
        self.version = 0
        self.text = ""
        self.calls: dict[int, str] = {}
        self.progress: dict[str, str] = {}
        self.questions = questions

    def __call__(self, event: events.Event) -> None:
        """Take note of what happened."""
        match event:
            case events.Streamed(delta=TextDelta(text=text)):
                self.text = (self.text + text)[-TAIL:]
            case events.Streamed(delta=CallDelta() as delta):
                written = self.calls.get(delta.index, "") + (delta.name or "") + delta.arguments
                self.calls[delta.index] = written[-TAIL:]
            case events.Progress():
                self.progress[event.call_id] = one_line(event.message)
            case events.TurnStarted() | events.Replied() | events.RunFinished():
                self.text, self.calls = "", {}
            case events.ToolFinished():
                self.progress.pop(event.call_id, None)
            case events.Nested(event=events.Progress(message=message)):
                self.progress[event.call_id] = one_line(message)
            case _:
                return
        self.version += 1


class Runs:
    """The runs of the page: sessions of the channels, with what no journal has for the page.

    Args:
        agent: Who answers.
        sessions: Where they are kept.
        durable: Durable runs of these sessions, which workers continue after a decision, or None.
    """

    def __init__(
        self, agent: Agent[Any, Any], sessions: Sessions, durable: DurableAccess | None = None
    ) -> None:
        self._durable = durable
        self.agent = agent
        self.sessions = sessions
        self._channels = Channels(agent, sessions, listener=self._listen)
        self._views: dict[str, Live] = {}
        self._answered: dict[str, str] = {}
        """What became of a server's question, by the ticket's id."""

    def _listen(self, session: Session) -> Live:
        runner = self._channels.runner_of(session)
        view = self._views[session.name] = Live(runner.questions)
        return view

    @property
    def live(self) -> dict[str, Live]:
        """Those that go on in this process, by the session's name."""
        names = [name for scope, name in self._channels.active if not scope]
        return {name: self._views.setdefault(name, Live()) for name in names}

    def problem(self, name: str) -> str:
        """Return why the last run of a session could not go on; empty if it could."""
        runner = self._channels.find_runner(self.sessions[name])
        return "" if runner is None else runner.problem

    def is_running(self, name: str) -> bool:
        """Return True if a run of the session is active, here or in another process."""
        return self._channels.open(name).is_running

    async def say(self, name: str, text: str) -> None:
        """Say something: it begins a run, or joins the one that goes on or waits."""
        await self._channels.open(name).say(text, who=WHO)

    async def go_on(self, name: str) -> None:
        """Go on with what waits, without saying anything."""
        await self._channels.open(name).resume()

    async def stop(self, name: str) -> None:
        """Stop the run that goes on, wherever."""
        await self._channels.open(name).cancel("stopped in the inspector", who=WHO)

    async def idle(self) -> None:
        """Return when nothing runs here."""
        await self._channels.wait()

    async def close(self) -> None:
        """Leave all that runs here, to be continued later, and wait for it."""
        await self._channels.close()

    # — what waits —

    def waiting(self) -> Iterator[tuple[str, Ticket]]:
        """Yield what waits for a person in all sessions, as session name and ticket."""
        for info in self.sessions.list(scope=""):
            if info.ended == "waiting":
                for ticket in self.open_tickets(self.sessions[info.name]).values():
                    yield info.name, ticket

    def open_tickets(self, session: Session) -> Mapping[str, Ticket]:
        """Return the undecided tickets by id."""
        decided = session.decisions
        return {ticket.id: ticket for ticket in session.pending if ticket.id not in decided}

    async def decide(
        self, name: str, id: str, seal: str, form: Mapping[str, str]
    ) -> Decided | None:
        """Decide a ticket; go on when nothing else waits, by a worker if it is a durable run that waits.

        Args:
            name: The session's.
            id: The ticket's.
            seal: Of the ticket as it was shown.
            form: ``verdict``, ``reason``, ``value`` of an answer, and ``arguments`` as JSON.

        Returns:
            What was decided before, by whoever was first; None if this is what counts.

        Raises:
            ChannelError: there is no such ticket, it is another than was shown, or the edited
                arguments do not fit.
            SessionUnavailable: the sessions or the durable runs cannot be read now.
        """
        verdict: Verdict = VERDICT_OF.get(form.get("verdict", ""), "deny")
        arguments = _object(form.get("arguments", "")) if verdict == "edit" else None
        extends = form.get("verdict") == SESSION
        reach: Reach = "session" if extends else "call"
        if (durable := self._durable) is not None:
            reason, value, shown = form.get("reason", ""), form.get("value", ""), (name, id, seal)
            choice = Choice(verdict, reason, arguments, value, reach)
            first = await asyncio.to_thread(self._find_decision, shown)
            if await durable.ask(lambda runs: runs.awaits_decision(name, id), False):
                return await durable.ask(
                    lambda runs: self._queue_decision(runs, shown, choice, first), None
                )
        waiting = self.open_tickets(self.sessions[name]) if extends else {}
        channel, ticket = self._channels.open(name), waiting.get(id)
        first = await channel.decide(
            f"{id}.{seal}",
            verdict,
            reason=form.get("reason", ""),
            arguments=arguments,
            value=form.get("value", ""),
            reach=reach,
            who=WHO,
        )
        tools = self._channels.agent.tools
        if ticket is not None and first is None and fits_tool(ticket, tools):
            for each in waiting.values():  # what it covers need not be decided, too
                same = (each.tool, each.scope) == (ticket.tool, ticket.scope)
                if each.id != id and same and fits_tool(each, tools):  # no other agent's tool
                    await channel.decide(f"{each.id}.{each.seal}", "approve", who=WHO)
        return first

    def _find_decision(self, shown: tuple[str, str, str]) -> Decided | None:
        """Return the earlier decision of a ticket; None if it waits.

        Raises:
            UnknownApproval: neither, or the ticket is another than was shown.
        """
        name, id, seal = shown
        session = self.sessions[name]
        first = session.find_decision(id)
        if first is None:
            find_ticket(session, id, seal)
        elif first.decision.seal != seal:
            raise UnknownApproval("the call that was shown is no longer pending")
        return first

    def _queue_decision(
        self,
        durable: DurableRuns,
        shown: tuple[str, str, str],
        choice: Choice,
        first: Decided | None,
    ) -> Decided | None:
        """Decide a ticket of a durable run, and leave the run to a worker. Return an earlier decision.

        The run of an earlier decision is queued if whoever made it did not come that far.
        """
        name, id, seal = shown
        session, tools = self.sessions[name], self._channels.agent.tools
        if first is None:
            decision = decide_ticket(find_ticket(session, id, seal), choice, tools)
        else:
            decision = first.decision
        try:
            durable.decide(name, decision, who=WHO)
        except DecisionRefused:  # it was canceled since it was read
            raise UnknownApproval("the call that was shown is no longer pending") from None
        found = first or session.find_decision(id)
        return None if first is None and found and found.decision == decision else found

    def questions(self) -> list[tuple[str, Ticket]]:
        """List the servers' questions in runs of this process, as session name and ticket."""
        return [
            (name, question.ticket)
            for name, live in self.live.items()
            for question in live.questions.values()
        ]

    async def answer(self, name: str, id: str, form: Mapping[str, str]) -> str:
        """Answer a server's question.

        Args:
            name: The session's.
            id: The ticket's.
            form: ``verdict``, one of ``send``, ``decline`` and ``cancel``, and the fields.

        Returns:
            What it was answered before, by whoever was first; empty if this is what counts.

        Raises:
            ChannelError: this question is no longer open.
            InvalidArguments: a field does not fit.
            DefinitionError: the form is none, so that it can only be declined or cancelled.
        """
        if id in self._answered:
            return self._answered[id]
        live = self.live.get(name)
        question = live.questions.get(id) if live is not None else None
        if question is None:
            raise UnknownApproval("this question is no longer open")
        shown, ticket = form.get("verdict", ""), question.ticket
        verdict = ANSWERS.get(shown, "cancel")
        fields = _filled(ticket.form, form) if verdict == "edit" else None
        channel = self._channels.open(name)
        await channel.decide(approval_id_of(ticket), verdict, arguments=fields)
        self._answered[id] = shown
        return ""


def _object(text: str) -> Mapping[str, object]:
    """Read edited arguments.

    Raises:
        InvalidDecision: they are no JSON object.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidDecision(f"the arguments are no JSON: {error}") from None
    if not isinstance(value, dict):
        raise InvalidDecision("the arguments are one JSON object")
    return cast(Mapping[str, object], value)


def _filled(schema: Mapping[str, Any], form: Mapping[str, str]) -> Mapping[str, object]:
    """Convert the submitted fields to the types of the schema."""
    value = submitted_value(build_form(schema, form), form)
    if errors := compile_json_schema(schema).errors(value):
        raise InvalidArguments("the answer does not fit the form", errors)
    return cast(Mapping[str, object], value)

"""Runs that the page starts, each in its session: message, resume, stop, decide.

The sessions' journals have what happened, wherever the run is. Only what no journal has is here: the task
that runs, and the reply while it arrives.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from toolkeel import events
from toolkeel._records.entries import Decided
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.agent.agent import Agent
from toolkeel.agent.run import Run
from toolkeel.call.arguments.validate import as_json, prepare
from toolkeel.context import CancelToken
from toolkeel.define.schema.from_json_schema import compile_json_schema
from toolkeel.errors import CallError, InvalidArguments, SetupError, ToolkeelError
from toolkeel.messages import ToolCall
from toolkeel.model_interface import CallDelta, TextDelta
from toolkeel.observe.wording import one_line
from toolkeel.sessions.session import Session
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.inspector.forms import form_of, value_of

WHO = "inspector"
TAIL = 20_000
"""Characters of a reply that still arrives which are shown."""


@dataclass(eq=False)
class ServerQuestion:
    """A server's question during a call; no journal has it, since only this call waits."""

    ticket: Ticket
    answer: asyncio.Future[Decision | None]


class Live:
    """A run of this process: its task, and what of it is not in the journal yet.

    Attributes:
        version: Counts what has come.
        text: Of the reply that still arrives.
        calls: Arguments of its calls as they arrive, by position.
        progress: How far running calls are, by call id.
        questions: What servers ask meanwhile, by the ticket's id; the oldest first.
    """

    def __init__(self) -> None:
        self.version = 0
        self.text = ""
        self.calls: dict[int, str] = {}
        self.progress: dict[str, str] = {}
        self.questions: dict[str, ServerQuestion] = {}
        self.run: Run[Any] | None = None

    def __call__(self, event: events.Event) -> None:
        """Take note of what happened."""
        match event:
            case events.Streamed(delta=TextDelta(text=text)):
                self.text = (self.text + text)[-TAIL:]
            case events.Streamed(delta=CallDelta() as delta):
                told = self.calls.get(delta.index, "") + (delta.name or "") + delta.arguments
                self.calls[delta.index] = told[-TAIL:]
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

    async def ask(self, ticket: Ticket) -> Decision | None:
        """Wait for a person's answer to a server's question. Return None for a call, whose run then waits."""
        if not ticket.form:
            return None
        question = ServerQuestion(ticket, asyncio.get_running_loop().create_future())
        self.questions[ticket.id] = question
        try:
            return await question.answer
        finally:
            del self.questions[ticket.id]


class Runs:
    """The runs of the page.

    Args:
        agent: Who answers.
        sessions: Where they are kept.

    Attributes:
        live: Those that go on in this process, by the session's name.
        problems: Why the last one could not go on, by the session's name.
    """

    def __init__(self, agent: Agent[Any, Any], sessions: Sessions) -> None:
        self.agent = agent
        self.sessions = sessions
        self.live: dict[str, Live] = {}
        self.problems: dict[str, str] = {}
        self._answered: dict[str, str] = {}
        """What became of a server's question, by the ticket's id."""
        self._tasks: set[asyncio.Task[None]] = set()

    def is_running(self, name: str) -> bool:
        """Return True if a run of the session is active, here or in another process."""
        return name in self.live or self.sessions[name].writer is not None

    def say(self, name: str, text: str) -> None:
        """Say something: it begins a run, or joins the one that goes on or waits."""
        session = self.sessions[name]
        live = self.live.get(name)
        if live is not None and live.run is not None and live.run.say(text):
            return  # at once: the inbox is only looked into now and then
        if self.is_running(name) or (session.exists and self.open_tickets(session)):
            session.say(text, WHO)
        else:
            self._start(name, text)

    def go_on(self, name: str) -> None:
        """Go on with what waits, without saying anything."""
        if not self.is_running(name):
            self._start(name, None)

    def _start(self, name: str, prompt: str | None) -> None:
        live = self.live[name] = Live()
        self.problems.pop(name, None)
        task = asyncio.create_task(self._run(name, prompt, live))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, name: str, prompt: str | None, live: Live) -> None:
        """Run to the end; a failure before the journal begins is recorded in `problems`."""
        cancel = CancelToken()
        try:
            session = self.sessions.open(name, wait=False)
            live.run = self.agent.start(
                prompt, session=session, listeners=[live], cancel=cancel, approver=live.ask
            )
            await live.run
        except ToolkeelError as error:
            self.problems[name] = str(error)
        except Exception as error:  # of the user's own code: shown, not swallowed
            self.problems[name] = f"{type(error).__name__}: {error}"
        finally:
            del self.live[name]
        session = self.sessions[name]
        if not cancel.cancelled and session.info.ended != "waiting" and session.unread:
            self.go_on(name)  # it was said when the run had made its last request

    def stop(self, name: str) -> None:
        """Stop the run that goes on, wherever."""
        live = self.live.get(name)
        if live is not None and live.run is not None:
            live.run.cancel("stopped in the inspector")
        else:
            self.sessions[name].cancel("stopped in the inspector", WHO)

    async def idle(self) -> None:
        """Return when nothing runs here."""
        while self._tasks:
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def close(self) -> None:
        """Stop all that runs here, and wait for it."""
        for live in list(self.live.values()):
            if live.run is not None:
                live.run.cancel("the inspector was ended")
        await self.idle()

    # — what waits —

    def waiting(self) -> list[tuple[str, Ticket]]:
        """List what waits for a person in all sessions, as session name and ticket."""
        return [
            (info.name, ticket)
            for info in self.sessions.list(scope="")
            if info.ended == "waiting"
            for ticket in self.open_tickets(self.sessions[info.name]).values()
        ]

    def open_tickets(self, session: Session) -> Mapping[str, Ticket]:
        """Return the undecided tickets by id."""
        decided = session.decisions
        return {ticket.id: ticket for ticket in session.pending if ticket.id not in decided}

    def decide(self, name: str, id: str, seal: str, form: Mapping[str, str]) -> Decided | None:
        """Decide a ticket; go on when nothing else waits.

        Args:
            name: The session's.
            id: The ticket's.
            seal: Of the ticket as it was shown.
            form: ``verdict``, ``reason``, ``value`` of an answer, and ``arguments`` as JSON.

        Returns:
            What was decided before, by whoever was first; None if this is what counts.

        Raises:
            SetupError: there is no such ticket, or it is another than was shown.
            CallError: the edited arguments do not fit.
            ValueError: they are no JSON object.
        """
        session = self.sessions[name]
        before = session.decisions.get(id)
        if before is not None:
            return before
        ticket = {each.id: each for each in session.pending}.get(id)
        if ticket is None or ticket.seal != seal:
            raise SetupError("what was shown does not wait any more")
        decision = self._decision(ticket, form)
        if (first := session.decide(decision, WHO)) is not None:
            return first
        if not self.open_tickets(session):
            self.go_on(name)
        return None

    def questions(self) -> list[tuple[str, Ticket]]:
        """List the servers' questions in runs of this process, as session name and ticket."""
        return [
            (name, question.ticket)
            for name, live in self.live.items()
            for question in live.questions.values()
        ]

    def answer(self, name: str, id: str, form: Mapping[str, str]) -> str:
        """Answer what a server asks.

        Args:
            name: The session's.
            id: The ticket's.
            form: ``verdict``, one of ``send``, ``decline`` and ``cancel``, and the fields.

        Returns:
            What it was answered before, by whoever was first; empty if this is what counts.

        Raises:
            SetupError: nobody asks this any more.
            InvalidArguments: a field does not fit.
            DefinitionError: the form is none, so that it can only be declined or cancelled.
        """
        if id in self._answered:
            return self._answered[id]
        live = self.live.get(name)
        question = live.questions.get(id) if live is not None else None
        if question is None or question.answer.done():  # its run was stopped this very moment
            raise SetupError("nobody asks this any more")
        verdict = form.get("verdict", "")
        decision = None
        if verdict == "send":
            decision = question.ticket.edit(_filled(question.ticket.form, form))
        elif verdict == "decline":
            decision = question.ticket.deny()
        self._answered[id] = verdict
        question.answer.set_result(decision)
        return ""

    def _decision(self, ticket: Ticket, form: Mapping[str, str]) -> Decision:
        verdict = form.get("verdict", "")
        if verdict == "approve":
            return ticket.approve()
        if verdict == "edit":
            return ticket.edit(self._fitting(ticket, form.get("arguments", "")))
        if verdict == "answer":
            return ticket.answer(form.get("value", ""))
        return ticket.deny(form.get("reason", ""))

    def _fitting(self, ticket: Ticket, text: str) -> Mapping[str, object]:
        """Edited arguments, as they would run."""
        call = ToolCall(ticket.call_id, ticket.tool, text)
        if ticket.tool not in self.agent.tools:
            raise CallError(f"there is no tool {ticket.tool!r} here")
        return as_json(prepare(call, self.agent.tools[ticket.tool]))


def _filled(schema: Mapping[str, Any], form: Mapping[str, str]) -> Mapping[str, object]:
    """Convert the submitted fields to the types of the schema."""
    value = value_of(form_of(schema, form), form)
    if errors := compile_json_schema(schema).errors(value):
        raise InvalidArguments("the answer does not fit the form", errors)
    return cast(Mapping[str, object], value)

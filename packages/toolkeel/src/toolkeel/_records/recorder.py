"""Turns what a run does into entries of its journal: in each turn two commits that are waited for.

The reply and the intents of its calls are durable before a body starts, and their outcomes, with the
next request, before that is sent. An outcome whose siblings still run is written at once, and nobody
waits for it. The entries are read off the transcript as it grows, so the two cannot differ. A run
without a journal has no recorder.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Self, TypeAlias

from pydantic_core import to_json

from toolkeel._records import entries
from toolkeel._records.record_json import plain
from toolkeel._records.tickets import Ticket, new_id
from toolkeel.errors import SetupError
from toolkeel.messages import NO_USAGE, AssistantMessage, Message, ToolCall, ToolMessage, Usage
from toolkeel.model_interface import ModelRequest, Settings

OWN_KEYS = ("messages",)
"""Of a run's state: what an agent keeps there, and the journal has already."""
GOES_ON = "goes_on"
"""Key of a tool's metadata: its body is a run with a journal of its own, so it begins again unharmed."""
Repeatable: TypeAlias = Callable[[ToolCall], bool]
ByCode: TypeAlias = Callable[[Sequence[ToolCall], Any, Any], Awaitable[list[ToolMessage]]]
"""Writes the calls that a body makes, and runs those of no known outcome: as `Toolset.run` does, with
the set and the run."""


class RunRecorder:
    """Writes one run into a journal.

    Args:
        journal: Where to.
        run: The run's id.
        known: How many messages at the beginning of its transcript the journal has already.
        turn: Requests it has made before, if it goes on.
        state: What the journal has of its state.

    Attributes:
        calls: The intents of calls that run now, by the `id` of each, those of code too.
        within: The run, and the key of its call, that it is within; empty for none.
        regained: Whether it goes on from its journal, within a call that runs again.
        places: Where each message that the model is shown stands in the whole conversation.
    """

    def __init__(
        self,
        journal: entries.Journal,
        run: str,
        known: int = 0,
        turn: int = 0,
        state: Mapping[str, object] | None = None,
    ) -> None:
        self.journal = journal
        self.within = ("", "")
        self.places: Sequence[int] = ()
        self.regained = False
        self._run = run
        self._turn = turn
        self._known = known
        self._messages: list[Message] = []
        self._at = 0
        self._reply = AssistantMessage()
        self._answered: dict[int, int] = {}
        self.calls: dict[int, entries.CallIntended] = {}
        self._queued: dict[int, entries.Queued] = {}
        self._seen: set[str] = set()
        self._asked = 0
        self._sent = ModelRequest(())
        self._state = {key: _mark(value) for key, value in (state or {}).items()}

    def inner(self, run: str, call: ToolCall) -> Self:
        """What writes a run within this one.

        Args:
            run: Its id.
            call: The call that it is.
        """
        made = type(self)(self.journal, run)
        made.within = self._run, self.key(call)
        return made

    def go_on(self, run: str, known: int, turn: int, state: Mapping[str, object]) -> None:
        """Write a run within that the journal has already; see the class."""
        self._run, self._known, self._turn, self.regained = run, known, turn, True
        self._state = {key: _mark(value) for key, value in state.items()}

    def began(self, began: entries.RunBegan, messages: list[Message], told: int) -> None:
        """The run begins, or goes on.

        Args:
            began: What is written if it begins.
            messages: Its transcript, which grows.
            told: How many messages at its beginning are the agent's instructions.
        """
        self._messages, self._at = messages, told
        if not (self._turn or self.regained):
            self.journal.append(began)
        self._read(told + self._known, lambda entry: None)
        self.catch_up()

    def catch_up(self) -> None:
        """Write what the transcript has grown by."""
        self._read(len(self._messages), self.journal.append)

    def _read(self, stop: int, write: Callable[..., object]) -> None:
        """Go through the transcript from where the last turn ended: results may come late."""
        for place in range(self._at, stop):
            message = self._messages[place]
            if isinstance(message, ToolMessage):
                if id(message) not in self._answered.values():
                    position = self._position(message)
                    self._answered[position] = id(message)
                    write(entries.CallEnded(self._run, self._turn, position, message))
                continue
            self._at = place + 1
            if isinstance(message, AssistantMessage):
                self._reply, self._answered = message, {}
                write(entries.ModelReplied(self._run, self._turn, message))
            elif (queued := self._queued.pop(id(message), None)) is not None:
                write(entries.Steered(self._run, message, queued.id, queued.who))
            else:
                write(entries.PersonSaid(self._run, message))

    def queue(self, queued: entries.Queued) -> bool:
        """A message will join the transcript; whether this is the first time it is said so."""
        if queued.id in self._seen:
            return False
        self._seen.add(queued.id)
        self._queued[id(queued.message)] = queued
        return True

    def said(self, message: Message, when: str) -> None:
        """A message will join the transcript; any thread may say so.

        Args:
            message: It.
            when: As `Queued` has it.
        """
        queued = entries.Queued(self._run, new_id(), message, "", when)
        self.journal.append(queued)
        self.queue(queued)
        self.journal.flush()

    def unsaid(self, messages: Sequence[Message]) -> None:
        """Messages that were to join the transcript will not."""
        for message in messages:
            if (queued := self._queued.pop(id(message), None)) is not None:
                self.journal.append(entries.Unqueued(self._run, queued.id))
        self.journal.flush()

    def _position(self, message: ToolMessage) -> int:
        """Which call of the reply a result answers."""
        open = [n for n in range(len(self._reply.tool_calls)) if n not in self._answered]
        calls = self._reply.tool_calls
        same = (n for n in open if calls[n].id == message.tool_call_id)
        return next(same, open[0] if open else len(self._answered))

    async def asks(self, turn: int, model: str, request: ModelRequest) -> None:
        """The model is about to be asked; all before is durable when this returns.

        Args:
            turn: Which turn of the loop it is for; asked again, it is the same turn.
            model: Name of the model.
            request: What is sent.
        """
        self.catch_up()
        if turn != self._asked:
            self._asked, self._turn = turn, self._turn + 1
        place = self._run, self._turn, model
        self.journal.append(entries.ModelAsked(*place, *self._changes(request)))
        await self.journal.commit()

    def _changes(self, request: ModelRequest) -> tuple[dict[str, object], tuple[str, ...]]:
        """Settings and names of tools, as far as they differ from those of the request before."""
        settings: dict[str, object] = {}
        if request.settings is not self._sent.settings:
            old, new = self._sent.settings, request.settings
            for field in dataclasses.fields(Settings):
                value = getattr(new, field.name)
                if value != getattr(old, field.name):
                    settings[field.name] = plain(value)
        same = request.tools is self._sent.tools
        self._sent = ModelRequest((), request.tools, request.settings)
        return settings, () if same else tuple(tool.name for tool in request.tools)

    def failed(self, attempt: int, error: str, model: str, usage: Usage = NO_USAGE) -> None:
        """A request was sent and gave no reply that counts.

        Args:
            attempt: Which one of this turn, from 1.
            error: What happened.
            model: Name of the model.
            usage: What was billed, as far as is known.
        """
        place = self._run, self._turn
        self.journal.append(entries.ModelFailed(*place, attempt, error, usage, model))

    def spent(self, cost: float) -> None:
        """Requests have cost so many US dollars."""
        self.journal.append(entries.Spent(self._run, cost))

    def judged(self, by: str, verdict: str, reason: str) -> None:
        """A guardrail has looked at what a person said, or at an answer."""
        self.journal.append(entries.Judged(self._run, by, verdict, reason=reason))

    def hide(self, count: int) -> None:
        """The model is not shown the last messages any more: a guardrail has refused them."""
        self.catch_up()
        if places := self.places[-count:]:
            cut = entries.Compacted(self._run, places[0], places[-1] + 1, (), "guardrail")
            self.journal.append(cut)

    def compacted(self, cut: entries.Compacted, start: int, stop: int) -> None:
        """The model is shown something else in place of a part from now on.

        Args:
            cut: It, with places in the run.
            start: The first of the messages shown that it replaces.
            stop: One behind the last.
        """
        self.catch_up()
        if places := self.places:
            last = places[stop] if stop < len(places) else places[-1] + 1
            stop = places[start] + 1 if cut.stop - cut.start == 1 else last
            cut = dataclasses.replace(cut, start=places[start], stop=stop)
        self.journal.append(dataclasses.replace(cut, run=self._run))

    def handed_over(
        self, agent: str, told: str, messages: tuple[Message, ...], how: tuple[bool, int]
    ) -> None:
        """Another agent has the run from here on.

        Args:
            agent: Its name.
            told: Its instructions.
            messages: What it is shown of the history.
            how: Whether it is shown all, and by how many messages the transcript has grown at its
                beginning, where instructions stand.
        """
        self._at += how[1]
        self.catch_up()
        self.journal.append(entries.HandedOver(self._run, agent, messages, how[0], told))

    async def intends(self, calls: Sequence[ToolCall], repeatable: Repeatable) -> None:
        """Calls are about to run; this is durable when it returns.

        Args:
            calls: Which of the last reply's.
            repeatable: Whether one may run again, if nobody knows what became of it.
        """
        self.catch_up()
        places = {id(call): place for place, call in enumerate(self._reply.tool_calls)}
        for call in calls:
            key = self._run, self._turn, places.get(id(call), 0)
            made = entries.CallIntended(*key, call.id, call.name, repeatable=repeatable(call))
            self.journal.append(made)
            if id(call) in places:
                self.calls[id(call)] = made
        await self.journal.commit()

    def begins(self, call: ToolCall) -> None:
        """A body is about to begin: calls made from here on in this context are its own."""

    def by_code(self, calls: Sequence[ToolCall]) -> ByCode | None:
        """What runs calls, if a body makes them and they are not written yet."""
        return None

    def key(self, call: ToolCall) -> str:
        """What names a call for ever; see `call_key`."""
        made = self.calls.get(id(call))
        return f"{self._run}-{call.id}" if made is None else entries.key_of(made)

    def call_ended(self, call: ToolCall, message: ToolMessage, state: Mapping[str, object]) -> None:
        """A call has its result, while others of its turn still run.

        Args:
            call: It.
            message: Its result.
            state: The run's, as it is now: what the call wrote is there before its outcome.
        """
        made = self.calls.pop(id(call), None)
        if made is not None and self.calls:
            self.changed(state)
            self._answered[made.position] = id(message)
            self.journal.append(entries.CallEnded(self._run, self._turn, made.position, message))
            self.journal.flush()

    def calls_ended(self, tickets: Sequence[Ticket], state: Mapping[str, object]) -> None:
        """Every call of the turn has its result, or waits.

        Args:
            tickets: What waits.
            state: The run's, as it is now.
        """
        self.calls.clear()
        self.changed(state)
        self.catch_up()
        for ticket in tickets:
            self.journal.append(entries.Waits(self._run, ticket))

    def state_changed(self, key: str, value: object) -> None:
        """A value of the state is another one. Any thread may say so.

        Raises:
            SetupError: it has no JSON form, so it would be gone when the run goes on.
        """
        try:
            json.dumps(value, allow_nan=False)
        except (TypeError, ValueError, RecursionError) as error:
            raise SetupError(
                f"the state's {key!r} cannot be kept in a session: {error}; give plain data"
            ) from None
        if self._state.get(key) != (mark := _mark(value)):
            self._state[key] = mark
            self.journal.append(entries.StateChanged(self._run, key, plain(value)))

    def emitted(self, value: object) -> None:
        """A call has told something of its own."""
        self.journal.append(entries.Emitted(self._run, plain(value)))

    def tainted(self, label: str, source: str) -> None:
        """The run has touched what some ways out must not pass on unasked."""
        self.journal.append(entries.Tainted(self._run, label, source))

    def changed(self, state: Mapping[str, object]) -> None:
        """Write what of the state has changed, in whatever way; bodies in threads write it meanwhile."""
        for key in [key for key in list(self._state) if key not in state]:
            del self._state[key]
            self.journal.append(entries.StateChanged(self._run, key, removed=True))
        for key, value in list(state.items()):
            if key not in OWN_KEYS and self._state.get(key) != (mark := _mark(value)):
                self._state[key] = mark
                value = json.loads(_text(value))
                self.journal.append(entries.StateChanged(self._run, key, value))

    def ended(
        self, reason: str, error: str, state: Mapping[str, object], output: object = None
    ) -> None:
        """The run ended, or waits."""
        self.calls.clear()
        self.changed(state)
        self.catch_up()
        self.journal.append(entries.RunEnded(self._run, reason, error, output))


def _mark(value: Any) -> bytes | str:
    """What tells whether a value has changed: looked at whenever a call ends, so it must cost little."""
    try:
        return to_json(value, inf_nan_mode="constants")
    except ValueError:
        return _text(value)


def _text(value: object) -> str:
    """A value as JSON, at one go: nobody can change it in between."""
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return json.dumps(plain(value))

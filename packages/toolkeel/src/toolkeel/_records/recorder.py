"""The recorder: writes what a run does to its journal, with two awaited commits per turn.

A run may be killed at any instruction. Whoever resumes it has only the journal, so the journal must
know of every side effect before it happens, and of every result before the model sees it. Awaiting a
commit for each entry would make a turn slow. The recorder awaits exactly two commits per turn::

            record_request()              record_intents()            record_result()
    start ──────────────────> REQUESTED ──────────────────> RUNNING ──────────────────> RUNNING
              commit 1            │           commit 2         │          flush
                ^                 │ reply without calls        │ record_turn_results()
                │                 v                            v
                │             record_end() <────────────── TURN DONE
                └──────────────────────────────────────────────┘

1. `record_request`, before a request is sent. Durable then: results of the last turn, messages that
   people sent, state. A crash during the request loses nothing but the request.
2. `record_intents`, before any tool body starts. Durable then: the reply and one `CallIntended` for
   each call. After a crash, a call with an intent and no `CallEnded` has an unknown outcome: it runs
   again if it is repeatable, else a person is asked.

Between the two nothing is awaited. When a call of several ends, `record_result` writes its result
and flushes, so that a crash of its siblings does not make it unknown. The state that the call wrote
is recorded before its result.

Entries are read off the transcript as it grows, so journal and transcript cannot differ. Results
arrive as calls end; their position in the reply determines their place in the transcript.

A message from the inbox is recorded as `Queued` when it is accepted, and as `Steered` when it joins
the transcript. `track_queued` remembers the message in between.

Runs nested in a call share the journal: `nested` returns a recorder for the nested run's id, and
`resume` continues one that the journal knows. A run without a journal has no recorder.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Self, TypeAlias

from toolkeel._records import entries
from toolkeel._records.journal import Journal
from toolkeel._records.record_json import describe_as_json, to_json_data
from toolkeel._records.state_changes import StateChanges
from toolkeel._records.taint_sources import Permit
from toolkeel._records.tickets import Ticket, new_id
from toolkeel._records.tool_definitions import definition_texts
from toolkeel.messages import NO_USAGE, AssistantMessage, Message, ToolCall, ToolMessage, Usage
from toolkeel.model_interface import ModelRequest, Settings

RESUMABLE = "goes_on"
"""Key of a tool's metadata: its body is a run with a journal of its own, so it begins again unharmed."""
Repeatable: TypeAlias = Callable[[ToolCall], bool]
CodeRunner: TypeAlias = Callable[[Sequence[ToolCall], Any, Any], Awaitable[list[ToolMessage]]]
"""Writes the calls that a body makes, and runs those of no known outcome: as `Toolset.run` does, with
the set and the run."""


class RunRecorder:
    """A writer of one run's entries.

    Args:
        journal: Destination of the entries.
        run: Id of the run.
        known: Number of messages at the start of the transcript that the journal has already.
        turn: Number of requests made before, if the run is resumed.
        state: The run's state according to the journal.

    Attributes:
        calls: The intents of the calls that run now, by the `id` of each call object.
        within: Id of the run around this one and key of its call; empty strings for none.
        is_joined: True if code in that call started the run; False if the call is the run.
        is_resumed: True if the run continues from its journal: a session's last run that has not ended,
            or a nested run whose call runs again.
        places: Index in the conversation of each message that the model is shown.
    """

    def __init__(
        self,
        journal: Journal,
        run: str,
        known: int = 0,
        turn: int = 0,
        state: Mapping[str, object] | None = None,
    ) -> None:
        self.journal = journal
        self.within = ("", "")
        self.is_joined = False
        self.places: Sequence[int] = ()
        self.is_resumed = False
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
        self._state = StateChanges(state or {})

    def nested(self, run: str, call: ToolCall | None) -> Self:
        """Return a recorder for a run nested in this one.

        Args:
            run: Id of the nested run.
            call: The call that it is, or is started in; None if it is started outside of calls.
        """
        made = type(self)(self.journal, run)
        made.within = self._run, "" if call is None else self.call_key(call)
        return made

    def resume(self, run: str, known: int, turn: int, state: Mapping[str, object]) -> None:
        """Continue a nested run that the journal knows: set its id, known messages, turn and state."""
        self._run, self._known, self._turn, self.is_resumed = run, known, turn, True
        self._state = StateChanges(state)

    def make_start(self, agent: str, model: str, instructions: str) -> entries.RunBegan:
        """Return the entry for the start of the run. It is not written; pass it to `start`."""
        parent, call = self.within
        return entries.RunBegan(
            self._run, agent, model, instructions, parent, call, joined=self.is_joined
        )

    def start(
        self, began: entries.RunBegan, messages: list[Message], instruction_count: int
    ) -> None:
        """Record the start of the run, unless it is resumed, and its first messages that are new.

        Args:
            began: The entry to write.
            messages: The transcript, which grows.
            instruction_count: Number of messages at its start that are the agent's instructions.
        """
        self._messages, self._at = messages, instruction_count
        if not (self._turn or self.is_resumed):
            self.journal.append(began)
        self._read(instruction_count + self._known, lambda entry: None)
        self.record_new_messages()

    def record_new_messages(self) -> None:
        """Write an entry for each message that the transcript has gained."""
        self._read(len(self._messages), self.journal.append)

    def _read(self, stop: int, write: Callable[..., object]) -> None:
        """Pass an entry for each new message up to `stop` to `write`.

        Results are recorded once each, also those that arrive after later messages.
        """
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

    def track_queued(self, queued: entries.Queued) -> bool:
        """Remember a queued message until it joins the transcript. Return False if it is known already."""
        if queued.id in self._seen:
            return False
        self._seen.add(queued.id)
        self._queued[id(queued.message)] = queued
        return True

    def queue_message(self, message: Message, when: str) -> None:
        """Write a `Queued` entry for a message that will join the transcript. Any thread may call this.

        Args:
            message: The message.
            when: See `Queued`.
        """
        queued = entries.Queued(self._run, new_id(), message, "", when)
        self.journal.append(queued)
        self.track_queued(queued)
        self.journal.flush()

    def unqueue_messages(self, messages: Sequence[Message]) -> None:
        """Write an `Unqueued` entry for each of these messages that is still queued."""
        for message in messages:
            if (queued := self._queued.pop(id(message), None)) is not None:
                self.journal.append(entries.Unqueued(self._run, queued.id))
        self.journal.flush()

    def _position(self, message: ToolMessage) -> int:
        """Return the index of the call that a result answers: the first open one of its id, or of all."""
        open = [n for n in range(len(self._reply.tool_calls)) if n not in self._answered]
        calls = self._reply.tool_calls
        same = (n for n in open if calls[n].id == message.tool_call_id)
        return next(same, open[0] if open else len(self._answered))

    async def record_request(self, turn: int, model: str, request: ModelRequest) -> None:
        """Record a request and new messages, and wait until all entries are durable.

        Args:
            turn: Turn of the loop; a retry has the same turn.
            model: Name of the model.
            request: The request about to be sent.
        """
        self.record_new_messages()
        if turn != self._asked:
            self._asked, self._turn = turn, self._turn + 1
        place = self._run, self._turn, model
        self.journal.append(entries.ModelAsked(*place, **self._changes(request)))
        await self.journal.commit()

    def _changes(self, request: ModelRequest) -> dict[str, Any]:
        """Return the fields of `ModelAsked` that changed since the last request; this one becomes the last."""
        settings: dict[str, object] = {}
        if request.settings is not self._sent.settings:
            old, new = self._sent.settings, request.settings
            for field in dataclasses.fields(Settings):
                value = getattr(new, field.name)
                if value != getattr(old, field.name):
                    settings[field.name] = to_json_data(value)
        tools = () if request.tools is self._sent.tools else request.tools
        self._sent = ModelRequest((), request.tools, request.settings)
        names = tuple(tool.name for tool in tools)
        return {"settings": settings, "tools": names, "definitions": definition_texts(tools)}

    def record_failed_request(
        self, attempt: int, error: str, model: str, usage: Usage = NO_USAGE
    ) -> None:
        """Record an attempt at a request that produced no usable reply.

        Args:
            attempt: Number of the attempt in this turn, from 1.
            error: What happened.
            model: Name of the model.
            usage: What was billed, as far as is known.
        """
        place = self._run, self._turn
        self.journal.append(entries.ModelFailed(*place, attempt, error, usage, model))

    def record_cost(self, cost: float) -> None:
        """Record the cost of requests, in US dollars."""
        self.journal.append(entries.Spent(self._run, cost))

    def record_verdict(self, by: str, verdict: str, reason: str) -> None:
        """Record the verdict of a guardrail on a prompt or an answer."""
        self.journal.append(entries.Judged(self._run, by, verdict, reason=reason))

    def hide_last_messages(self, count: int) -> None:
        """Record that a session's later requests omit the last messages, which a guardrail refused; not in a nested run."""
        self.record_new_messages()
        if places := self.places[-count:]:
            cut = entries.Compacted(self._run, places[0], places[-1] + 1, (), "guardrail")
            self.journal.append(cut)

    def record_cut(self, cut: entries.Compacted, start: int, stop: int) -> None:
        """Record new messages, then that requests have a replacement for a part of the transcript.

        Args:
            cut: The entry, with indexes in the run.
            start: Index of the first replaced message among those shown.
            stop: Index after the last.
        """
        self.record_new_messages()
        if places := self.places:
            last = places[stop] if stop < len(places) else places[-1] + 1
            stop = places[start] + 1 if cut.stop - cut.start == 1 else last
            cut = dataclasses.replace(cut, start=places[start], stop=stop)
        self.journal.append(dataclasses.replace(cut, run=self._run))

    def record_handoff(
        self, agent: str, instructions: str, messages: tuple[Message, ...], how: tuple[bool, int]
    ) -> None:
        """Record new messages, then that another agent owns the run from here on.

        Args:
            agent: Its name.
            instructions: Its instructions.
            messages: The part of the history it is shown.
            how: A flag that it is shown the complete history, and the number of instruction messages
                that were inserted at the start of the transcript.
        """
        self._at += how[1]
        self.record_new_messages()
        self.journal.append(entries.HandedOver(self._run, agent, messages, how[0], instructions))

    async def record_intents(self, calls: Sequence[ToolCall], repeatable: Repeatable) -> None:
        """Record new messages, and that calls are about to run, and wait until that is durable.

        Args:
            calls: Calls of the last reply.
            repeatable: Returns True for a call that may run again when its outcome is unknown.
        """
        self.record_new_messages()
        places = {id(call): place for place, call in enumerate(self._reply.tool_calls)}
        for call in calls:
            key = self._run, self._turn, places.get(id(call), 0)
            made = entries.CallIntended(*key, call.id, call.name, repeatable=repeatable(call))
            self.journal.append(made)
            if id(call) in places:
                self.calls[id(call)] = made
        await self.journal.commit()

    def enter_call(self, call: ToolCall) -> None:
        """Attribute calls made from here on in this context to the body of `call`; does nothing here."""

    def code_runner(self, calls: Sequence[ToolCall]) -> CodeRunner | None:
        """Return the function that runs the calls of a tool's body, or None: this recorder has none."""
        return None

    def call_key(self, call: ToolCall) -> str:
        """Return the permanent key of a recorded call (`entries.call_key`); of another, run id and call id."""
        made = self.calls.get(id(call))
        return f"{self._run}-{call.id}" if made is None else entries.call_key_of(made)

    def record_result(
        self, call: ToolCall, message: ToolMessage, state: Mapping[str, object]
    ) -> None:
        """Record the result of a call while others of its turn still run. Do nothing for the last one.

        Args:
            call: The call.
            message: Its result.
            state: The run's state, which is recorded before the result.
        """
        made = self.calls.pop(id(call), None)
        if made is not None and self.calls:
            self.record_state_changes(state)
            self._answered[made.position] = id(message)
            self.journal.append(entries.CallEnded(self._run, self._turn, made.position, message))
            self.journal.flush()

    def record_turn_results(self, tickets: Sequence[Ticket], state: Mapping[str, object]) -> None:
        """Record state, results and tickets when every call of the turn has ended or waits.

        Args:
            tickets: Tickets of the calls that wait.
            state: The run's state.
        """
        self.calls.clear()
        self.record_state_changes(state)
        self.record_new_messages()
        for ticket in tickets:
            self.journal.append(entries.Waits(self._run, ticket))

    def record_state_value(self, key: str, value: object) -> None:
        """Record a new value in the run's state. Any thread may call this.

        Raises:
            TypeError: the value cannot be saved, so a resumed run would lose it.
        """
        data, is_new = self._state.dump_value(key, value)
        if is_new:
            self.journal.append(entries.StateChanged(self._run, key, data))

    def record_emitted(self, value: object) -> None:
        """Record an event that a call has emitted, as `describe_as_json` converts it."""
        self.journal.append(entries.Emitted(self._run, describe_as_json(value)))

    def record_taint(self, label: str, source: str) -> None:
        """Record a taint label and its source."""
        self.journal.append(entries.Tainted(self._run, label, source))

    def record_permit(self, permit: Permit) -> None:
        """Record what a person has permitted for the run."""
        self.journal.append(entries.Permitted(self._run, permit.reach, permit.name, permit.value))

    def record_state_changes(self, state: Mapping[str, object]) -> None:
        """Record every change of the state since the last record, however it was made."""
        for change in self._state.collect(state):
            self.journal.append(entries.StateChanged(self._run, *change))

    def exclude_unsavable(self, state: Mapping[str, object]) -> None:
        """Exclude state values that cannot be saved from the journal, with a warning in the log."""
        self._state.exclude_unsavable(state)

    def revert_unsavable(self, state: MutableMapping[str, object]) -> None:
        """Undo state changes that cannot be saved.

        Raises:
            TypeError: there was one; the message names it.
        """
        self._state.revert_unsavable(state)

    def record_end(
        self, reason: str, error: str, state: Mapping[str, object], output: object = None
    ) -> None:
        """Record state, messages and the end or wait; `output` serves to resume. Unsavable state is left out, and logged."""
        self.calls.clear()
        self.record_state_changes(state)
        self.exclude_unsavable(state)
        self.record_new_messages()
        self.journal.append(entries.RunEnded(self._run, reason, error, output))

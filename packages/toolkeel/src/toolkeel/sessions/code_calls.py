"""The calls that the body of a call makes, in the journal: each nested under that one.

Its intent is written before its body begins, its outcome after. What may change something waits until
its intent is durable; what only reads is written along with the next commit. A body that runs again
after a crash makes its calls again: one of the same tool and arguments that has its outcome in the
journal is answered by that, and runs no second time.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import NamedTuple, Self

from toolkeel._records.entries import CallEnded, CallIntended, call_key_of
from toolkeel._records.record_json import to_json_data
from toolkeel._records.recorder import RESUMABLE, CodeRunner, RunRecorder
from toolkeel._records.tickets import Ticket
from toolkeel.call.batch import check_calls
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.effects import Effects
from toolkeel.errors import CallError
from toolkeel.events import ToolStarted
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.sessions.journal import SessionJournal


class RunningCall(NamedTuple):
    """A call whose body may make calls: its recorder, its intent, and the call around it."""

    recorder: RunRecorder
    call: ToolCall
    intended: CallIntended
    outer: RunningCall | None


_making: ContextVar[RunningCall | None] = ContextVar("toolkeel_making", default=None)


def running_call() -> RunningCall | None:
    """Return the innermost call whose body runs in this context, or None."""
    found = _making.get()
    while found is not None and id(found.call) not in found.recorder.calls:
        found = found.outer
    return found


class SessionRecorder(RunRecorder):
    """Records one run of a session, and the calls that its tools' bodies make.

    Attributes:
        code: Runs and records the calls that bodies make.
    """

    code: CodeCallJournal

    def nested(self, run: str, call: ToolCall | None) -> Self:
        """Return the recorder of a run inside a call, or of no call (None), with the same journal of code's calls."""
        made = super().nested(run, call)
        made.code = self.code
        return made

    def enter_call(self, call: ToolCall) -> None:
        """Make a recorded call the running one of this context; do nothing for a call that is not recorded."""
        if (made := self.calls.get(id(call))) is not None:
            _making.set(RunningCall(self, call, made, running_call()))

    def code_runner(self, calls: Sequence[ToolCall]) -> CodeRunner | None:
        """Return the runner that journals calls made by code; None if `calls` are the model's or replayed."""
        new = calls and id(calls[0]) not in self.calls and running_call() is not None
        return self.code.run if new else None

    def record_result(
        self, call: ToolCall, message: ToolMessage, state: Mapping[str, object]
    ) -> None:
        """Record a call's result and the changes of state; a code's call only while the outer call runs."""
        made = self.calls.get(id(call))
        if made is None or not made.within:
            super().record_result(call, message, state)
            return
        del self.calls[id(call)]
        outer = running_call()
        if outer is not None and call_key_of(outer.intended) == made.within:
            place = made.run, made.turn, made.position
            self.record_state_changes(state)
            self.journal.append(CallEnded(*place, message, made.within))
            if not made.repeatable:
                self.journal.flush()

    def record_turn_results(self, tickets: Sequence[Ticket], state: Mapping[str, object]) -> None:
        """Record state, results and tickets at a turn's end; the call around it is the running one again."""
        super().record_turn_results(tickets, state)
        _making.set(running_call())


class CodeCallJournal:
    """Runs and records the calls that bodies make, as a `toolkeel._records.recorder.CodeRunner`.

    Args:
        journal: The session's journal, whose state has the calls made before a crash.
    """

    def __init__(self, journal: SessionJournal) -> None:
        self._journal = journal
        self._lock = threading.Lock()
        self._numbers = Counter(
            {outer: len(made) for outer, made in journal.state.code_calls.items()}
        )
        self._before: defaultdict[str, list[tuple[str, str, int]]] = defaultdict(list)
        for outer, made in journal.state.code_calls.items():
            self._before[outer] = [(key, *known) for key, known in made.items()]

    async def run(
        self, calls: Sequence[ToolCall], tools: Toolset, run: RunContext
    ) -> list[ToolMessage]:
        """Run calls that a body makes, like `Toolset.run`, and record them.

        A call that the journal has a result for, from before a crash, is answered by that and does
        not run.
        """
        check_calls(calls)
        recorder = run.recorder
        assert isinstance(recorder, SessionRecorder)
        tools.mask_secrets(run, calls)
        known: dict[int, ToolMessage] = {}
        fresh: list[ToolCall] = []
        waits = False
        for place, call in enumerate(calls):
            effects = _effects(tools, call)
            intended, seq = self._intended(call, effects, run)
            if seq:
                ended = await asyncio.to_thread(self._journal.read_entry, seq)
                assert isinstance(ended, CallEnded)
                known[place] = replace(ended.message, tool_call_id=call.id)
                continue
            fresh.append(call)
            recorder.calls[id(call)] = intended
            self._journal.append(intended)
            waits = waits or effects.writes
        if waits:
            await self._journal.commit()
        if len(fresh) == 1:  # else each in the context of its own task
            recorder.enter_call(fresh[0])
        try:
            ran = iter(await tools.run(fresh, run) if fresh else ())
        finally:
            for call in fresh:
                recorder.calls.pop(id(call), None)
        return [known[n] if n in known else next(ran) for n in range(len(calls))]

    def _intended(
        self, call: ToolCall, effects: Effects, run: RunContext
    ) -> tuple[CallIntended, int]:
        """Return the intent of a call, and the number of its outcome's entry, or 0 if unknown."""
        outer = running_call()
        assert outer is not None
        within, digest = call_key_of(outer.intended), code_call_digest(call)
        with self._lock:
            number, seq = self._place_and_outcome(within, digest)
        shown = "" if effects.repeatable else _text(_masked(call, run))
        place = outer.intended.run, outer.intended.turn, number, call.id, call.name, digest
        return CallIntended(*place, effects.repeatable, within=within, arguments=shown), seq

    def _place_and_outcome(self, within: str, digest: str) -> tuple[int, int]:
        """Return a call's index within the outer call, and its outcome's entry number (0 if not recorded).

        A recorded call of the same digest is used up; without one, the next index is assigned.
        """
        for known in self._before[within]:
            if known[1] == digest:
                self._before[within].remove(known)
                return int(known[0].rpartition("-")[2]), known[2]
        self._numbers[within] += 1
        return self._numbers[within] - 1, 0


def _effects(tools: Toolset, call: ToolCall) -> Effects:
    """Return a call's effects, idempotent for an agent, which continues; read-only for an unknown tool."""
    try:
        tool = tools.find(call.name).tool
        return (
            replace(tool.effects, idempotent=True) if RESUMABLE in tool.metadata else tool.effects
        )
    except CallError:
        return Effects(read_only=True)


def _masked(call: ToolCall, run: RunContext) -> ToolCall:
    """Return a call with its secret arguments masked."""
    if run.mask is None:
        return call
    told = run.mask.mask_event(ToolStarted(0, 0.0, run.id, call.id, call))
    return told.call if isinstance(told, ToolStarted) else replace(call, arguments="{}")


def _text(call: ToolCall) -> str:
    """Return the arguments of a call as text."""
    given = call.arguments
    return given if isinstance(given, str) else json.dumps(to_json_data(given), ensure_ascii=False)


def code_call_digest(call: ToolCall) -> str:
    """Return the SHA-256 of a call's name and arguments, by which it is recognized when code repeats it."""
    text = f"{call.name} {_text(call)}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

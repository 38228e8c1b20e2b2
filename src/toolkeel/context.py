"""What a run shares between its calls, and what one running tool may see of it."""

from __future__ import annotations

import os
from _thread import RLock  # `threading` has a function around it, which each run would enter
from collections.abc import Awaitable, Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, Protocol

from typing_extensions import TypeVar

from toolkeel._common import reporter
from toolkeel._common.cancel import CancelToken as CancelToken
from toolkeel._common.cancel import log
from toolkeel._common.other_libraries_words import unknown_option
from toolkeel._records.record import NOTHING
from toolkeel._records.taint_sources import Taint
from toolkeel._records.tickets import Approver, Decision, Ticket
from toolkeel._records.tickets import Edit as Edit
from toolkeel.events import Event, Nested
from toolkeel.messages import NO_USAGE, Message, ToolCall, Usage

if TYPE_CHECKING:
    from toolkeel._records.recorder import RunRecorder
    from toolkeel.spending import Spending

C = TypeVar("C", default=Any)
D = TypeVar("D")
T = TypeVar("T")
Listener = Callable[[Event], None]
WITHIN_BODY: ContextVar[bool] = ContextVar("toolkeel_within_body", default=False)
"""Whether calls are made by a tool's body. They cannot wait: the body would have to run again."""


class Masks(Protocol):
    """What hides secrets in what a run tells."""

    def event(self, event: Event) -> Event:
        """The event as listeners may see it."""
        ...

    def deep(self, value: T) -> T:
        """Anything else without them."""
        ...


class RunContext(Generic[C]):
    """What all calls of one run share.

    Args:
        deps: The user's own object, handed to tools that ask for it.
        state: Data that tools write (see `update`); saved with the run, and back when it goes on.
        store: Memory that outlives the run.
        inject: Values of parameters marked with a plain `Injected`, by name.
        agent: The agent that runs, if one does.
        listeners: Called with each event, in order. One that raises is logged and goes on.
        cancel: Token that stops the run.
        approver: Asked when a call needs approval; without one such a call is refused, or, in an
            agent, suspends the run.

    Attributes:
        closers: What gives back at the run's end what was opened for it; see `close`.
        depth: How many runs it is within.
        disabled: Names of tools that cannot be called in this turn.
        handing: The handoff that a call of this turn has made; None if none has.
        deadline: `time.perf_counter` value at which a run around it ends it; None if none does.
        waiting: Inner runs to go on with, by the id of the call that is each.
        failures: How calls of each tool failed, by its name; see `toolkeel.call.steps.call_limits`.
        spending: What this run and all around and within it may spend; None if nothing is bounded.
        parent: Id of the run it is within; empty if it is nobody's.
        toolset: The `Toolset` whose steps and rules hold for every call made in it, whoever makes
            it; None if there are none but each set's own.
        lock: Held while `update` runs; who writes `state` in another way may hold it too.
        seen: How many of `taint.sources` the request had seen that made the calls that run now.
        taint: What this run and all around and within it have touched; None for nothing yet.
        notes: What steps remember during the run, each under itself.
        recorder: Writes the journal of a session; None if there is none.
        said: What joins the transcript before the model is asked next.
        later: What joins it when the run would end: follow-ups.
        skipping: Whether calls that have not begun shall not: a person said something instead.
        mask: Hides secrets in events and failures; None as long as no tool has any.
        told: How many messages at the transcript's beginning are the agent's own instructions.
        transcript: What the model is sent: its instructions, and `messages` as they grow.
    """

    __slots__ = (
        "agent", "approver", "cancel", "closers", "deadline", "decisions", "deps", "depth", "disabled",
        "failures", "handing", "id", "inject", "later", "listeners", "lock", "mask", "notes",
        "parent", "recorder", "said", "seen", "seq", "skipping", "spending", "state", "store", "suspends", "taint",
        "told", "toolset", "transcript", "usage", "waiting",
    )  # fmt: skip

    def __init__(
        self,
        deps: C = None,  # type: ignore[assignment]
        *,
        state: MutableMapping[str, object] | None = None,
        store: object = None,
        inject: Mapping[str, object] = NOTHING,
        agent: object = None,
        listeners: tuple[Listener, ...] = (),
        cancel: CancelToken | None = None,
        approver: Approver | None = None,
        **unknown: Never,
    ) -> None:
        if unknown:  # no wrapper: each run and each `Tool.invoke` makes one
            known = RunContext.__init__.__kwdefaults__ or ()
            raise unknown_option("RunContext", next(iter(unknown)), ["deps", *known])
        self.id = os.urandom(8).hex()
        self.deps = deps
        self.state = {} if state is None else state
        self.store, self.inject, self.agent, self.approver = store, inject, agent, approver
        self.usage = NO_USAGE
        self.cancel = cancel or CancelToken()
        self.listeners = listeners
        self.seq = self.depth = self.told = self.seen = 0
        self.suspends = self.skipping = False
        self.closers: list[Callable[[], Awaitable[object]]] = []
        self.disabled: frozenset[str] = frozenset()
        self.handing: Any = None
        self.deadline: float | None = None
        self.waiting: dict[str, object] = {}
        self.notes: dict[object, object] = {}
        self.mask: Masks | None = None
        self.decisions: dict[tuple[str, str], tuple[Ticket | None, Decision | None]] = {}
        self.failures: dict[str, Any] = {}
        self.lock = RLock()
        self.transcript: list[Message] = []
        self.said: list[Message] = []
        self.later: list[Message] = []
        self.recorder: RunRecorder | None = None
        self.spending: Spending | None = None
        self.parent = ""
        self.toolset: Any = None
        self.taint: Taint | None = None

    @property
    def messages(self) -> list[Message]:
        """The transcript so far, a copy; without the agent's instructions."""
        return self.transcript[self.told :]

    def update(self, key: str, function: Callable[[Any], T], default: object = None) -> T:
        """Change one value of `state`, and give it; parallel calls do not lose each other's changes.

        Args:
            key: Of the value.
            function: Gives the new value of the old one; it may be called in any thread, and
                nobody else's runs meanwhile.
            default: Stands for the old value if there is none.

        >>> run = RunContext()
        >>> run.update("seen", lambda seen: [*seen, "a"], [])
        ['a']
        """
        with self.lock:
            value = function(self.state.get(key, default))
            if self.recorder is not None:
                self.recorder.state_changed(key, value)
            self.state[key] = value
        return value

    def shared_taint(self) -> Taint:
        """What this run has touched, made now if it has touched nothing yet."""
        if self.taint is None:
            self.taint = Taint(self)
        return self.taint

    def next(self) -> tuple[int, float, str]:
        """The three fields every event begins with."""
        self.seq += 1
        return self.seq, time(), self.id

    def within(self, call: ToolContext, name: str, deps: D) -> RunContext[D]:
        """The context of a run that a running call of this one makes: it shares what holds here.

        Args:
            call: The running call.
            name: What its events are told under, as `Nested`.
            deps: Its own object.
        """
        inner = RunContext(
            deps,
            store=self.store,
            inject=self.inject,
            agent=self.agent,
            listeners=(_nested(call, name),) if self.listeners else (),
            cancel=self.cancel,
            approver=self.approver,
        )
        inner.depth = self.depth + 1
        inner.deadline = call.deadline
        inner.notes = self.notes
        inner.spending, inner.toolset, inner.parent = self.spending, self.toolset, self.id
        inner.taint = self.shared_taint()
        inner.seen = len(inner.taint.sources)
        if self.recorder is not None:
            inner.recorder = self.recorder.inner(inner.id, call.call)
        return inner

    @property
    def can_wait(self) -> bool:
        """Whether a call may wait for a person: in an agent, unless a body makes the call."""
        return self.suspends and not WITHIN_BODY.get()

    def tell(self, event: Event) -> None:
        """Hand an event to every listener; none of them can break the run."""
        if self.mask is not None:
            try:
                event = self.mask.event(event)
            except Exception:
                log().exception("%s cannot be masked, so nobody is told", event.type)
                return
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:
                log().exception("a listener failed on %s; the run goes on", event.type)

    async def close(self) -> None:
        """Give back what was opened for this run: an agent does it when its run has ended."""
        while self.closers:
            try:
                await self.closers.pop()()
            except Exception:
                log().exception("what was opened for a run could not be closed")


def _nested(call: ToolContext, name: str) -> Listener:
    """A listener for a run within a call, that tells the run around it."""

    def tell(event: Event) -> None:
        if not call.ended:  # nothing about a call follows its end
            run = call.run
            run.tell(Nested(*run.next(), call.call.id, name, event))

    return tell


class Clock(Protocol):
    """What stops a call at its deadline."""

    def pause(self, paused: bool) -> None:
        """Let no time pass, or go on with what was left."""
        ...


class ToolContext(Generic[C]):
    """What a running tool may see. Ask for it by annotating a parameter, at any position.

    Attributes:
        call: The call being run.
        tool_name: Name of the tool.
        run: What the calls of this run share.
        deadline: `time.perf_counter` value at which the call is stopped; None if never.
        ended: Whether the call has its result already, because it was stopped.
        clock: What stops it at the deadline, once it waits for something.
        paused, away: How many parts are off the clock; wait for others' work, or have given it up.
        edits: How its arguments were changed since the model sent them, in order.
        body: How far its body is: not begun (empty), it runs, or runs again, or has ended well.
        started: `time.perf_counter` value at which its call began; 0 if that is not known.
    """

    __slots__ = (
        "_loop", "_reporter", "away", "body", "call", "clock", "deadline", "edits", "ended",
        "paused", "run", "started", "tool_name",
    )  # fmt: skip

    def __init__(self, call: ToolCall, tool_name: str, run: RunContext[C]) -> None:
        self.call = call
        self.tool_name = tool_name
        self.run = run
        self.deadline = run.deadline
        self.body: Literal["", "runs", "again", "done"] = ""
        self.ended, self.paused, self.away = False, 0, 0
        self.started = 0.0
        self.clock: Clock | None = None
        self.edits: tuple[Edit, ...] = ()
        # Asked for only if somebody listens: it costs a system call in Python 3.11.
        self._loop = reporter.running_loop() if run.listeners else None
        self._reporter: reporter.Reporter | None = None

    @property
    def tool_call_id(self) -> str:
        return self.call.id

    @property
    def deps(self) -> C:
        """The user's own object, as given to the run."""
        return self.run.deps

    @property
    def state(self) -> MutableMapping[str, object]:
        return self.run.state

    def update(self, key: str, function: Callable[[Any], T], default: object = None) -> T:
        """Change one value of the run's `state`; see `RunContext.update`."""
        return self.run.update(key, function, default)

    @property
    def messages(self) -> list[Message]:
        """The transcript so far, a copy."""
        return self.run.messages

    @property
    def idempotency_key(self) -> str:
        """What names this call for ever, also when it runs again after a crash of the program.

        Give it to a service that takes such a key, and declare the tool idempotent.
        """
        recorder, call = self.run.recorder, self.call
        return f"{self.run.id}-{call.id}" if recorder is None else recorder.key(call)

    @property
    def store(self) -> object:
        return self.run.store

    @property
    def agent(self) -> object:
        return self.run.agent

    @property
    def usage(self) -> Usage:
        """Tokens the run has spent so far."""
        return self.run.usage

    @property
    def cancel(self) -> CancelToken:
        return self.run.cancel

    @property
    def time_left(self) -> float | None:
        """Seconds until the deadline; None if there is none."""
        return None if self.deadline is None else self.deadline - perf_counter()

    def progress(
        self, message: str = "", done: float | None = None, total: float | None = None
    ) -> None:
        """Tell whoever watches how far this call is. Any thread may call it.

        Args:
            message: What is being done.
            done: Amount done.
            total: Amount in all, in the unit of `done`.
        """
        if self.run.listeners and not self.ended:
            self._report().say(message, done, total)

    def emit(self, value: object) -> None:
        """Tell whoever listens something of the program's own, as `Emitted`. Any thread may.

        Args:
            value: Anything; none is dropped, or merged with another.
        """
        if self.run.recorder is not None:
            self.run.recorder.emitted(value)
        if self.run.listeners:
            self._report().emit(value)

    def _report(self) -> reporter.Reporter:
        if self._reporter is None:
            id = "" if self.ended else self.call.id
            self._reporter = reporter.Reporter(self.run, id, self._loop)
        return self._reporter

    def set_deadline(self, seconds: float) -> None:
        """Say when the call will be stopped, counted from now."""
        self.deadline = perf_counter() + seconds
        if self.run.deadline is not None:
            self.deadline = min(self.deadline, self.run.deadline)

    @contextmanager
    def off_the_clock(self) -> Iterator[None]:
        """Wait for a person: time in here does not count. For async bodies only."""
        self.paused += 1
        if self.paused == 1 and self.clock is not None:
            self.clock.pause(True)
        try:
            yield
        finally:
            self.paused -= 1
            if self.paused == 0 and self.clock is not None:
                self.clock.pause(False)

    @contextmanager
    def elsewhere(self) -> Iterator[None]:
        """Wait for another system: who stops waiting, or fails, does not stop its work."""
        self.away += 1
        yield
        self.away -= 1

    def end(self) -> None:
        """Tell what was held back; drop progress that comes later."""
        self.ended = True
        if self._reporter is not None:
            self._reporter.end()

"""The context of a run, shared by its calls, and the context of one running call."""

from __future__ import annotations

import os
from _thread import RLock  # `threading` has a function around it, which each run would enter
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, Generic, Literal, Never, Protocol

from typing_extensions import TypeVar

from toolkeel._common import reporter
from toolkeel._common.cancel import CancelToken as CancelToken
from toolkeel._common.cancel import get_logger
from toolkeel._common.loop_state import LoopState as LoopState
from toolkeel._common.loop_state import RunScope as RunScope
from toolkeel._common.other_libraries_words import unknown_option_error
from toolkeel._records.record import NOTHING
from toolkeel._records.taint_sources import Source, Taint
from toolkeel._records.tickets import Approver
from toolkeel._records.tickets import Edit as Edit
from toolkeel.events import Event, Nested
from toolkeel.messages import NO_USAGE, Message, ToolCall, Usage

if TYPE_CHECKING:
    from toolkeel._records.recorder import RunRecorder

C = TypeVar("C", default=Any)
D = TypeVar("D")
T = TypeVar("T")
Listener = Callable[[Event], None]
WITHIN_BODY: ContextVar[bool] = ContextVar("toolkeel_within_body", default=False)
"""True while a tool's body makes calls. They cannot wait: the body would have to run again."""
ENCLOSING: ContextVar[RunContext[Any] | ToolContext[Any] | None] = ContextVar(
    "toolkeel_enclosing", default=None
)
"""The call or the run whose code runs in this context; a run that starts there belongs to it."""


class EventMask(Protocol):
    """Protocol of an object that hides secrets in events and other values of a run."""

    def mask_event(self, event: Event) -> Event:
        """Return the event without secrets."""
        ...

    def mask_value(self, value: T) -> T:
        """Return any other value without secrets."""
        ...

    def add_secrets(self, secrets: Iterable[str]) -> None:
        """Mask these texts from now on."""
        ...


class RunContext(Generic[C]):
    """Everything that the calls of one run share.

    Args:
        deps: The user's own object, passed to tools that ask for it.
        state: Data that tools write (see `update`); saved with the run and restored on resume.
        store: Memory that outlives the run.
        inject: Values of parameters marked with a plain `Injected`, by name.
        agent: The agent that runs, if any.
        listeners: Called with each event, in order. An exception of a listener is logged and ignored.
        cancel: Token that stops the run.
        approver: Called when a call needs approval. Without one such a call is refused or, in an
            agent, suspends the run.

    Attributes:
        id: The run's id, in its events and journal entries.
        usage: Tokens and requests spent so far.
        lock: Lock of `state`; `update` acquires it, and so must any other writer.
        taint: Taint of the whole run tree; None until something is tainted.
        recorder: Writes the journal of a session; None without a session.
        mask: Hides secrets in events and failures; None if no tool has any.
        loop_state: Transcript, inbox and whatever else the run's loop advances.
        scope: Bounds and rules of this run and the runs inside it.
    """

    __slots__ = (
        "agent", "approver", "cancel", "deps", "id", "inject", "listeners", "lock", "loop_state",
        "mask", "recorder", "scope", "state", "store", "taint", "usage",
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
            raise unknown_option_error("RunContext", next(iter(unknown)), ["deps", *known])
        self.id = os.urandom(8).hex()
        self.deps = deps
        self.state = {} if state is None else state
        self.store, self.inject, self.agent, self.approver = store, inject, agent, approver
        self.usage = NO_USAGE
        self.cancel = cancel or CancelToken()
        self.listeners = listeners
        self.lock = RLock()
        self.mask: EventMask | None = None
        self.recorder: RunRecorder | None = None
        self.taint: Taint | None = None
        self.loop_state = LoopState()
        self.scope = RunScope()

    @property
    def transcript(self) -> list[Message]:
        """The list of messages sent to the model, itself: the agent's instructions, then `messages`."""
        return self.loop_state.transcript

    @property
    def messages(self) -> list[Message]:
        """A copy of the transcript so far, without the agent's instructions."""
        return self.loop_state.transcript[self.loop_state.instruction_count :]

    def update(self, key: str, function: Callable[[Any], T], default: object = None) -> T:
        """Change one value of `state`, record it in the journal and return it; parallel calls lose no change.

        Args:
            key: Key of the value.
            function: Returns the new value for the old one. It runs in the caller's thread while
                `lock` is locked.
            default: Passed to `function` if there is no value yet.

        >>> run = RunContext()
        >>> run.update("cities", lambda cities: [*cities, "a"], [])
        ['a']
        """
        with self.lock:
            value = function(self.state.get(key, default))
            if self.recorder is not None:
                self.recorder.record_state_value(key, value)
            self.state[key] = value
        return value

    def get_taint(self) -> Taint:
        """Return the run tree's taint; create and store it at the first use."""
        if self.taint is None:
            self.taint = Taint(self)
        return self.taint

    def next_event_fields(self) -> tuple[int, float, str]:
        """Count an event, and return its sequence number, its time in seconds and the run's ID."""
        self.loop_state.event_count = seq = self.loop_state.event_count + 1
        return seq, time(), self.id

    def make_inner(self, call: ToolContext | None, name: str, deps: D) -> RunContext[D]:
        """Return the context of a run inside this one: with its store, limits, taint and so on, not its state.

        Args:
            call: The running call that it is inside of; None for other code of this run.
            name: Name of the inner agent, for `Nested` events.
            deps: The inner run's own object.
        """
        inner = RunContext(
            deps,
            store=self.store,
            inject=self.inject,
            agent=self.agent,
            listeners=(_forward_to_outer(self, call, name),) if self.listeners else (),
            cancel=self.cancel,
            approver=self.approver,
        )
        inner.scope = RunScope(self)
        inner.scope.deadline = self.scope.deadline if call is None else call.deadline
        inner.taint = self.get_taint()
        inner.loop_state.visible_taint = len(inner.taint.sources)
        if self.recorder is not None:
            inner.recorder = self.recorder.nested(inner.id, None if call is None else call.call)
        return inner

    @property
    def can_wait(self) -> bool:
        """True if a call may wait for a person: in an agent's run, but not inside a body."""
        return self.loop_state.can_suspend and not WITHIN_BODY.get()

    def emit(self, event: Event) -> None:
        """Send an event, masked, to every listener; log exceptions. One that cannot be masked is dropped."""
        if self.mask is not None:
            try:
                event = self.mask.mask_event(event)
            except Exception:
                get_logger().exception("masking %s failed; the event is dropped", event.type)
                return
        for listener in self.listeners:
            try:
                listener(event)
            except Exception:
                get_logger().exception("a listener failed on %s; the run continues", event.type)

    def mask_value(self, value: T) -> T:
        """Return a value without the run's secrets."""
        return value if self.mask is None else self.mask.mask_value(value)

    async def close(self) -> None:
        """Run and remove the cleanup functions, last first, at the run's end; their exceptions are logged."""
        cleanups = self.loop_state.cleanups
        while cleanups:
            try:
                await cleanups.pop()()
            except Exception:
                get_logger().exception("a cleanup function of a run failed")


def _forward_to_outer(run: RunContext, call: ToolContext | None, name: str) -> Listener:
    """Return a listener that sends events of an inner run to the enclosing run, until `call`, if given, has ended."""
    call_id = "" if call is None else call.call.id

    def forward(event: Event) -> None:
        """Emit an event as `Nested` in the enclosing run, unless its call has ended."""
        if call is None or not call.ended:  # no event of a call follows its end
            run.emit(Nested(*run.next_event_fields(), call_id, name, event))

    return forward


_OVERWRITTEN = (
    "%s assigned state[%r], which another call had written meanwhile; use context.update(key, "
    "function), which loses no write"
)


class DeadlineClock(Protocol):
    """Protocol of the timer that stops a call at its deadline."""

    def pause(self, paused: bool) -> None:
        """Stop the clock, or continue with the time that was left."""
        ...


class ToolContext(Generic[C]):
    """The context of a running call. Ask for it by annotating a parameter, at any position.

    Attributes:
        call: The call being run.
        tool_name: Name of the tool.
        run: The run of the call.
        deadline: `time.perf_counter` value at which the call is stopped; None for never.
        ended: True once the call has its result; later progress is dropped.
        deadline_clock: Stops the call at the deadline, once it waits for something.
        pause_count: Number of parts that have paused the deadline.
        remote_count: Number of parts that wait for another system's work, or abandoned it.
        edits: Changes of the arguments since the model sent them, in order.
        body_state: Empty before the body starts, then ``runs``, ``again`` for a retry, ``done``.
        started_at: `time.perf_counter` value at which the call started; 0 if unknown.
        strangers: Sources of strangers' text that the call, or what its body ran, has read.
    """

    __slots__ = (
        "_loop", "_reporter", "body_state", "call", "deadline", "deadline_clock", "edits", "ended",
        "pause_count", "remote_count", "run", "started_at", "strangers", "tool_name",
    )  # fmt: skip

    def __init__(self, call: ToolCall, tool_name: str, run: RunContext[C]) -> None:
        self.call = call
        self.tool_name = tool_name
        self.run, self.deadline = run, run.scope.deadline
        self.body_state: Literal["", "runs", "again", "done"] = ""
        self.ended, self.pause_count, self.remote_count, self.started_at = False, 0, 0, 0.0
        self.deadline_clock: DeadlineClock | None = None
        self.edits: tuple[Edit, ...] = ()
        self.strangers: tuple[Source, ...] = ()
        # Asked for only if somebody listens: it costs a system call in Python 3.11.
        self._loop = reporter.running_loop() if run.listeners else None
        self._reporter: reporter.Reporter | None = None

    @property
    def tool_call_id(self) -> str:
        """Id of the call."""
        return self.call.id

    @property
    def deps(self) -> C:
        """The user's own object, as passed to the run."""
        return self.run.deps

    @property
    def state(self) -> MutableMapping[str, object]:
        """The run's data that tools write. Change it by `update`, which loses no write."""
        return self.run.state

    def update(self, key: str, function: Callable[[Any], T], default: object = None) -> T:
        """Change one value of the run's `state`. See `RunContext.update`."""
        return self.run.update(key, function, default)

    @property
    def messages(self) -> list[Message]:
        """A copy of the transcript so far, without the agent's instructions."""
        return self.run.messages

    @property
    def idempotency_key(self) -> str:
        """A key of this call, the same after a crash, for a service that accepts one (see `Effects`)."""
        recorder, call = self.run.recorder, self.call
        return f"{self.run.id}-{call.id}" if recorder is None else recorder.call_key(call)

    @property
    def store(self) -> object:
        """The memory that outlives the run, as passed to the run; None without one."""
        return self.run.store

    @property
    def agent(self) -> object:
        """The agent that runs; None for a call outside an agent."""
        return self.run.agent

    @property
    def usage(self) -> Usage:
        """Tokens and requests the run has spent so far."""
        return self.run.usage

    @property
    def cancel(self) -> CancelToken:
        """The token that stops the run; a long sync body checks it."""
        return self.run.cancel

    @property
    def time_left(self) -> float | None:
        """Seconds until the deadline, negative after it; None without a deadline."""
        return None if self.deadline is None else self.deadline - perf_counter()

    def progress(
        self, message: str = "", done: float | None = None, total: float | None = None
    ) -> None:
        """Report progress to listeners, from any thread. Ignored after the call has ended.

        Args:
            message: What is being done.
            done: Amount done, if known.
            total: Total amount, in the unit of `done`, if known.
        """
        if self.run.listeners and not self.ended:
            self._get_reporter().progress(message, done, total)

    def emit(self, value: object) -> None:
        """Send a value to listeners, as `Emitted`, and the journal; after the call's end without its id."""
        if self.run.recorder is not None:
            self.run.recorder.record_emitted(self.run.mask_value(value))
        if self.run.listeners:
            self._get_reporter().emit(value)

    def report_overwrite(self, key: str, lost_call_id: str) -> None:
        """Emit `StateOverwritten` (log it without listeners): a value of another call was lost unread."""
        if self.run.listeners:
            self._get_reporter().report_overwrite(key, lost_call_id)
        else:
            get_logger().warning(_OVERWRITTEN, self.tool_name, key)

    def _get_reporter(self) -> reporter.Reporter:
        """Return the call's reporter, created at the first use; without a call ID once the call has ended."""
        if self._reporter is None:
            call_id = "" if self.ended else self.call.id
            self._reporter = reporter.Reporter(self.run, call_id, self._loop)
        return self._reporter

    def set_deadline(self, seconds: float) -> None:
        """Set the deadline to so many seconds from now, or the run's deadline if that is earlier."""
        self.deadline = perf_counter() + seconds
        if self.run.scope.deadline is not None:
            self.deadline = min(self.deadline, self.run.scope.deadline)

    @contextmanager
    def pause_deadline(self) -> Iterator[None]:
        """Pause an async body's deadline while the call waits for a person. Nested pauses are counted."""
        self.pause_count += 1
        if self.pause_count == 1 and self.deadline_clock is not None:
            self.deadline_clock.pause(True)
        try:
            yield
        finally:
            self.pause_count -= 1
            if self.pause_count == 0 and self.deadline_clock is not None:
                self.deadline_clock.pause(False)

    @contextmanager
    def working_remotely(self) -> Iterator[None]:
        """Mark that another system does the work, for good if the block raises: it may go on there."""
        self.remote_count += 1
        yield
        self.remote_count -= 1

    def end(self) -> None:
        """Send progress that is still due, and mark the call as ended: later progress is dropped."""
        self.ended = True
        if self._reporter is not None:
            self._reporter.end()

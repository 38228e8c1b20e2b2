"""Parts of a run's context: what its loop advances, and what holds for the runs inside it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from toolkeel._records.taint_sources import Source
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.messages import Message, ToolCall

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Future

    from toolkeel.spending import Spending


CALLBACK_TIMEOUT = 30.0
"""Seconds a guardrail, predicate or other callback of the program may take, if nothing else is set."""


SettleDecision: TypeAlias = Callable[[Ticket, Decision], Awaitable[Decision | None]]


def _never(call: ToolCall) -> bool:
    """Return False: no call is repeatable in a run without an agent."""
    return False


class LoopState:
    """The part of a run that its loop advances, as far as calls read it or add to it.

    Attributes:
        transcript: Messages sent to the model: the agent's instructions, then `RunContext.messages`.
        instruction_count: Number of messages at the start of `transcript` that are instructions.
        inbox: Messages that join the transcript before the next model request.
        follow_ups: Messages that join it one by one, each when the run would otherwise end.
        skip_unstarted: Calls that have not started are skipped, because a person sent a message.
        pending_handoff: The handoff made by a call of this turn; None if there is none.
        disabled_tools: Names of tools that cannot be called in this turn.
        visible_taint: Number of taint sources visible to the request, or the code, that made the last calls.
        request_taint: The same for the last request alone: what the agent's transcript already carries.
        decisions: A person's decisions for the calls of a resumed run, by call id and ticket digest.
        settle_decision: Returns the decision that counts for a ticket that others can decide, too, given
            the approver's; None if the ticket was used elsewhere. None where only the approver decides.
        inner_runs: Saved inner runs to resume, by the id of their call.
        joined_runs: Runs that the bodies of this turn's calls have started, by the id of the call.
        is_repeatable: Returns True for a call of this turn whose body may run again.
        failed_calls: Failures of each tool, by its name; see `toolkeel.call.steps.call_limits`.
        can_suspend: Calls may wait for a person: the run belongs to an agent.
        cleanups: Functions called at the run's end; see `RunContext.close`.
        event_count: Number of the last event.
        turn: Number of batches of calls so far: calls of one have not read each other's errors.
        event_loop: The event loop of an agent's run while the run goes on; else None.
        end: Done when that run has ended; None if nobody waits for it.
        strangers: Sources of strangers' text that its calls have read.
    """

    __slots__ = (
        "can_suspend", "cleanups", "decisions", "disabled_tools", "end", "event_count", "event_loop",
        "failed_calls", "follow_ups", "inbox", "inner_runs", "instruction_count", "is_repeatable",
        "joined_runs", "pending_handoff", "request_taint", "settle_decision", "skip_unstarted", "strangers", "transcript",
        "turn", "visible_taint",
    )  # fmt: skip

    def __init__(self) -> None:
        self.transcript: list[Message] = []
        self.inbox: list[Message] = []
        self.follow_ups: list[Message] = []
        self.instruction_count = self.event_count = self.turn = 0
        self.visible_taint = self.request_taint = 0
        self.skip_unstarted = self.can_suspend = False
        self.pending_handoff: Any = None
        self.disabled_tools: frozenset[str] = frozenset()
        self.decisions: dict[tuple[str, str], tuple[Ticket | None, Decision | None]] = {}
        self.settle_decision: SettleDecision | None = None
        self.inner_runs: dict[str, object] = {}
        self.joined_runs: dict[str, list[Any]] = {}
        self.is_repeatable: Callable[[ToolCall], bool] = _never
        self.failed_calls: dict[str, Any] = {}
        self.cleanups: list[Callable[[], Awaitable[object]]] = []
        self.event_loop: AbstractEventLoop | None = None
        self.end: Future[None] | None = None
        self.strangers: tuple[Source, ...] = ()


class RunScope:
    """Limits and rules that apply to a run and to every run inside it.

    Args:
        outer_run: The enclosing run, if any, a `RunContext`.

    Attributes:
        outer_run: The enclosing run; None for an outermost run.
        parent_id: Its id; empty for an outermost run.
        depth: Number of enclosing runs.
        callback_timeout: Seconds that a callback of the program may take; None for no limit.
        deadline: `time.perf_counter` value at which the enclosing call ends the run; None for never.
        spending: Shared limits of the run tree; None if nothing is limited.
        owns_spending: True if `spending` was made for this run, not for the enclosing run.
        toolset: The `Toolset` whose steps and rules apply to every call of the run, at any depth.
        step_state: Values that steps store during the run, each under its own key.
    """

    __slots__ = (
        "callback_timeout", "deadline", "depth", "outer_run", "owns_spending", "parent_id", "spending", "step_state",
        "toolset",
    )  # fmt: skip

    def __init__(self, outer_run: Any = None) -> None:
        self.outer_run = outer_run
        self.parent_id = ""
        self.depth = 0
        self.owns_spending = False
        self.callback_timeout: float | None = CALLBACK_TIMEOUT
        self.deadline: float | None = None
        self.spending: Spending | None = None
        self.toolset: Any = None
        self.step_state: dict[object, object] = {}
        if outer_run is not None:
            outer = outer_run.scope
            self.parent_id, self.callback_timeout = outer_run.id, outer.callback_timeout
            self.depth = outer.depth + 1
            self.spending, self.toolset = outer.spending, outer.toolset
            self.step_state = outer.step_state

    @property
    def is_at_limit(self) -> bool:
        """True if the run, or a run around it, has reached a limit."""
        return self.spending is not None and bool(self.spending.find_reached_limit())

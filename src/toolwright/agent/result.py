"""How a run ended, and its events while it goes on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from contextlib import aclosing
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from toolwright.agent.correction import Correction
from toolwright.agent.partial import PartialOutput
from toolwright.agent.saved import InnerRun, RunState
from toolwright.approval import Ticket
from toolwright.call.partial import Item
from toolwright.call.stop import GIVE_UP
from toolwright.context import Run
from toolwright.errors import OutputError, SetupError
from toolwright.events import EndReason, Event
from toolwright.messages import Message, Usage
from toolwright.record import NOTHING, record

T = TypeVar("T", default=str)
NO_ANSWER = object()
"""Stands for the answer of a run that ended without one."""
_HINTS: Mapping[str, str] = {
    "max_turns": "; raise Agent(max_turns=...), or run again with its messages to go on",
    "suspended": "; calls wait in result.pending: run again with result.state and decisions",
}


@record
class RunResult(Generic[T]):
    """How a run ended.

    Args:
        answer: See `output`.
        messages: The whole transcript; valid for every provider, so a run can go on from it.
        reason: Why it ended.
        usage: Tokens and requests spent, also by the agents it called.
        corrections: How often the model had to mend its calls, by tool.
        run_id: The id in the run's events.
        pending: Calls that wait for a person; the run goes on from `state` with decisions.
        inner: Runs of agents within this one that wait with it, by the id of their call.
    """

    answer: object
    messages: list[Message]
    reason: EndReason
    usage: Usage
    corrections: Mapping[str, Correction]
    run_id: str
    pending: tuple[Ticket, ...] = ()
    inner: Mapping[str, InnerRun] = NOTHING  # type: ignore[assignment]

    @property
    def answered(self) -> bool:
        """Whether there is an `output`."""
        return self.answer is not NO_ANSWER

    @property
    def output(self) -> T:
        """The answer: of the type that was asked for, else the model's last text, or what a
        `return_direct` tool returned. A run that stopped before it has none, not an empty one.

        Raises:
            OutputError: the run ended without an answer; `reason` says why.
        """
        if not self.answered:
            hint = _HINTS.get(self.reason, "")
            raise OutputError(f"there is no answer: the run ended with {self.reason!r}{hint}")
        return cast("T", self.answer)

    @property
    def state(self) -> RunState:
        """Where the run stands; goes to JSON and back, and into `Agent.run`."""
        return RunState(tuple(self.messages), self.pending, self.inner)


class RunStream(Generic[T]):
    """The events of one run, in order; `result` is there when they have ended.

    Leaving the loop early does not stop the run by itself: use it as an async context manager, or
    call `aclose`, which cancels the run and waits until nothing of it goes on.
    """

    def __init__(
        self,
        run: Run[Any],
        work: Callable[[], Coroutine[Any, Any, RunResult[T]]],
        partial: Callable[[], PartialOutput] | None = None,
    ) -> None:
        self.run = run
        self._work = work
        self._partial = partial
        self._task: asyncio.Task[RunResult[T]] | None = None
        self._events: deque[Event] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._result: RunResult[T] | None = None
        run.listeners = (*run.listeners, self._receive)

    @property
    def result(self) -> RunResult[T]:
        """How the run ended.

        Raises:
            SetupError: while it has not.
        """
        if self._result is None:
            raise SetupError("the run has not ended: read its events to the end first")
        return self._result

    def _receive(self, event: Event) -> None:
        self._events.append(event)
        self._awake()

    def _awake(self, _: object = None) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def __aiter__(self) -> AsyncIterator[Event]:
        if self._task is None:
            self._task = asyncio.create_task(self._work())
            self._task.add_done_callback(self._awake)
        try:
            while True:
                while self._events:
                    yield self._events.popleft()
                if self._task.done():
                    break
                self._wake = asyncio.get_running_loop().create_future()
                await self._wake
            self._result = await self._task
        finally:
            await self.aclose()

    async def outputs(self) -> AsyncGenerator[Item, None]:
        """The answer while it arrives: each time more of it, as far as it has come.

        Nothing of it is validated yet, and a correction begins anew; the answer itself is
        ``result.output`` in the end.

        Raises:
            SetupError: no `output_type` was asked for.
        """
        if self._partial is None:
            raise SetupError("outputs() shows answers of an output_type, and none was asked for")
        partial = self._partial()
        async with aclosing(cast("AsyncGenerator[Event, None]", aiter(self))) as events:
            async for event in events:
                grown = partial.see(event)
                if grown is not None:
                    yield grown

    async def aclose(self) -> None:
        """Stop the run if it still goes on."""
        if self._task is None:
            return
        if not self._task.done():
            self._task.cancel(GIVE_UP)
            await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # who leaves early does not ask; who reads on was told

    async def __aenter__(self) -> RunStream[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

"""`Run`: one run of an agent as a handle, from before it begins until after it ends.

Await it for the result, or iterate over its events; its `state` is available after every end.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import aclosing
from functools import partial
from typing import Any, Generic

from typing_extensions import TypeVar

from toolkeel._common.unread_events import UnreadEvents
from toolkeel._records.record import NotebookDisplay
from toolkeel.agent.loop import RunLoop
from toolkeel.agent.result import RunResult
from toolkeel.call.arguments.partial_value import PartialItem
from toolkeel.call.body.sync_bridge import SyncIterator, require_event_loop
from toolkeel.call.body.task_cancels import GRACE_ONLY
from toolkeel.errors import SetupError
from toolkeel.events import Event, Streamed
from toolkeel.messages import Message, Usage, UserMessage
from toolkeel.model_interface import TextDelta

S = TypeVar("S")
T = TypeVar("T", default=str)


class Run(NotebookDisplay, RunLoop[T], Generic[T]):
    """A run of an agent: await it, stream its events, send messages to it, save its state.

    `Agent.start` and `Agent.stream` make it. It exists before the run starts and after every end.
    """

    _task: asyncio.Task[RunResult[T]] | None = None
    _events: UnreadEvents | None = None
    _wake: asyncio.Future[None] | None = None

    @property
    def messages(self) -> list[Message]:
        """A copy of the transcript so far, without the agent's instructions."""
        return self.context.messages

    @property
    def usage(self) -> Usage:
        """Tokens and requests spent so far, inner runs included."""
        return self.context.usage

    @property
    def result(self) -> RunResult[T]:
        """The result of the ended run.

        Raises:
            SetupError: the run has not ended, or it failed.
        """
        if self._result is None:
            raise SetupError("the run has not ended: await it, or read its events to the end first")
        return self._result

    # — in a task of its own —

    def start(self) -> None:
        """Start the run in a task of the running loop; do nothing if it has started."""
        require_event_loop()
        if self._task is None:
            if self._session is not None:  # other runs may begin before the task does
                self._place = self._session.take_place()
            self._task = asyncio.create_task(self.run())
            self._task.add_done_callback(self._end_task)

    def __await__(self) -> Generator[Any, None, RunResult[T]]:
        self.start()
        assert self._task is not None
        return (yield from self._task.__await__())

    def cancel(self, reason: str = "") -> None:
        """Request that the run and its running calls stop, from any thread. It ends as ``cancelled``."""
        self.context.cancel.cancel(reason)

    def say(self, text: str, *, skip: bool = False) -> bool:
        """Send a message to a running run. It is added before the next model request.

        Args:
            text: The message.
            skip: True to skip the calls of this turn that have not started.

        Returns:
            True if the message reaches this run, False if it has ended. A saved run includes the message.
        """
        loop_state = self.context.loop_state
        skipping = skip or loop_state.skip_unstarted
        loop_state.skip_unstarted = self.reason is None and skipping
        return self._add_message(self.context.loop_state.inbox, text, "steer")

    def queue(self, text: str) -> bool:
        """Queue a follow-up, which continues the run when it would end with an answer. See `say`."""
        return self._add_message(self.context.loop_state.follow_ups, text, "follow_up")

    def _add_message(self, queue: list[Message], text: str, when: str) -> bool:
        """Write a message to the journal and append it to a queue. Return True if the run has not ended.

        Do nothing, and return False, for the ended run of a session.
        """
        message, recorder = UserMessage(text), self.context.recorder
        if self.reason is not None and self._session is not None:
            return False
        if recorder is not None:
            recorder.queue_message(message, when)
        queue.append(message)
        return self.reason is None

    def retract(self) -> list[Message]:
        """Withdraw and return the messages that have not reached the model, also from a session's queue."""
        run = self.context
        taken = [*run.loop_state.inbox, *run.loop_state.follow_ups]
        del run.loop_state.inbox[:], run.loop_state.follow_ups[:]
        if run.recorder is not None:
            run.recorder.unqueue_messages(taken)
        return taken

    def buffer_events(self) -> None:
        """Add a listener that buffers events for readers that start later; `UnreadEvents` has the limit."""
        if self._events is None:
            self._events = UnreadEvents()
            self.context.listeners = (*self.context.listeners, self._receive)

    def _receive(self, event: Event) -> None:
        """Buffer an event, and wake the reader."""
        assert self._events is not None
        self._events.put(event)
        self._wake_reader()

    def _end_task(self, _: object) -> None:
        """Leave the place in the session's order, if the task was cancelled before it began; wake the reader."""
        if self._place is not None:
            self._place.leave()
        self._wake_reader()

    def _wake_reader(self) -> None:
        """Wake the task that reads events, if it waits."""
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def __aiter__(self) -> AsyncGenerator[Event, None]:
        self.buffer_events()
        self.start()
        assert self._events is not None and self._task is not None
        try:
            while True:
                while (event := self._events.get()) is not None:
                    yield event
                if self._task.done():
                    break
                self._wake = asyncio.get_running_loop().create_future()
                await self._wake
            await self._task
        finally:
            await self.aclose()

    def __iter__(self) -> Generator[Event, None, None]:
        """Yield the run's events in sync code, as in a script or a WSGI view. See `__aiter__`."""
        return iter(SyncIterator(self.__aiter__))

    def stream_outputs(self) -> SyncIterator[PartialItem]:
        """Return an iterator that starts the run and yields its answer while it arrives, ever more complete.

        Partial answers are not validated, and a correction starts over. Use ``async for`` or ``for``.

        Raises:
            SetupError: the run has no `output_type`.
        """
        if self._active.plan.output is None:
            raise SetupError(
                "stream_outputs() shows answers of an output_type, and none was asked for"
            )
        see = self._active.plan.output.make_partial().take_event
        return SyncIterator(lambda: self._stream_values(see))

    def stream_text(self) -> SyncIterator[str]:
        """Return an iterator that starts the run and yields the model's text as it arrives, also between calls."""
        return SyncIterator(partial(self._stream_values, _text_delta_of))

    async def _stream_values(self, see: Callable[[Event], S | None]) -> AsyncGenerator[S, None]:
        """Start the run, and yield a function's result for each event, except None. Cancel the run when left."""
        async with aclosing(self.__aiter__()) as events:
            async for event in events:
                if (seen := see(event)) is not None:
                    yield seen

    async def aclose(self) -> None:
        """Cancel the run and wait for its end. Nothing is raised, or done before its start or after its end."""
        if self._task is None:
            return
        if not self._task.done():
            self._task.cancel(GRACE_ONLY)
            await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # who leaves early does not ask; who reads on was told

    async def __aenter__(self) -> Run[T]:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def _text_delta_of(event: Event) -> str | None:
    """Return the text that an event streams, or None for another event."""
    delta = event.delta if isinstance(event, Streamed) else None
    return delta.text if isinstance(delta, TextDelta) else None

"""`Agent`: a model and its tools, asked in one of three ways over one loop."""

from __future__ import annotations

import asyncio
import dataclasses
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any, Generic, TypedDict, TypeVar, Unpack

from toolwright.agent.correction import Correction
from toolwright.agent.loop import Plan, Progression
from toolwright.agent.saved import RunState
from toolwright.agent.transcript import repair
from toolwright.approval import Approver, Decision, Ticket
from toolwright.call.approve import accepted
from toolwright.call.bridge import run_sync
from toolwright.call.provider import Source, fixed, gather
from toolwright.call.rules import Rules
from toolwright.call.stop import GIVE_UP
from toolwright.call.toolset import Toolset
from toolwright.content import Content
from toolwright.context import CancelToken, Listener, Run
from toolwright.define.tool import Step
from toolwright.errors import SetupError, describe
from toolwright.events import EndReason, Event, RunFinished, RunStarted
from toolwright.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    ToolMessage,
    Usage,
    UserMessage,
)
from toolwright.model import Model, Settings, connected
from toolwright.record import record

C = TypeVar("C")
MAX_TURNS = 25

Prompt = Content | Sequence[Message] | RunState
"""What the person says, or a transcript or a saved run to go on from."""


@record
class RunResult:
    """How a run ended.

    Args:
        output: The answer: the model's last text, or what a `return_direct` tool returned.
        messages: The whole transcript; valid for every provider, so a run can go on from it.
        reason: Why it ended.
        usage: Tokens and requests spent.
        corrections: How often the model had to mend its calls, by tool.
        run_id: The id in the run's events.
        pending: Calls that wait for a person; the run goes on from `state` with decisions.
    """

    output: str
    messages: list[Message]
    reason: EndReason
    usage: Usage
    corrections: Mapping[str, Correction]
    run_id: str
    pending: tuple[Ticket, ...] = ()

    @property
    def state(self) -> RunState:
        """Where the run stands; goes to JSON and back, and into `Agent.run`."""
        return RunState(tuple(self.messages), self.pending)


class RunOptions(TypedDict, Generic[C], total=False):
    """What a run may be given besides the prompt; see `Run`.

    `decisions` answer the tickets of the saved run it goes on from.
    """

    context: C
    state: MutableMapping[str, object]
    store: object
    inject: Mapping[str, object]
    listeners: Sequence[Listener]
    cancel: CancelToken
    approver: Approver
    decisions: Sequence[Decision]


class Agent:
    """A model with tools.

    Args:
        model: ``"vendor:model"``, such as ``openai:gpt-5``, or ``offline``; or a `Model`.
        tools: A `Toolset`; or tools, plain functions and tool providers.
        instructions: What the model is told before anything else.
        name: For people and events.
        settings: How to sample.
        max_turns: How often the model may be asked in one run.
        steps: Steps around every call, outside those of the tools.
        rules: Which calls are refused, asked about or let through; those of a `Toolset` otherwise.
        search_tools: Tell the model of a tool that finds the others, rather than of all: for sets
            too large to be sent with every request.

    Raises:
        SetupError: for a model name nobody knows, or tools that cannot be wired up.
    """

    def __init__(
        self,
        model: str | Model,
        tools: Toolset | Iterable[Source] = (),
        *,
        instructions: str = "",
        name: str = "agent",
        settings: Settings | None = None,
        max_turns: int = MAX_TURNS,
        steps: Sequence[Step] = (),
        rules: Rules | None = None,
        search_tools: bool = False,
    ) -> None:
        if isinstance(model, str):
            model = connected(model)
        self.name = name
        self.instructions = instructions
        toolset, self._sources = fixed(tools)
        self.tools = toolset.around(*steps, rules=rules) if steps or rules else toolset
        self._plan = Plan(model, self.tools, settings or Settings(), max_turns, search_tools)

    @property
    def model(self) -> Model:
        return self._plan.model

    async def run(self, prompt: Prompt, **options: Unpack[RunOptions[Any]]) -> RunResult:
        """Run to the end.

        Args:
            prompt: What the person says, or a transcript to go on from; a transcript that ends
                with unanswered calls goes on by running them.
            options: See `RunOptions`.

        Raises:
            ModelError: the model failed.
            SetupError: the program is wired up wrongly.
        """
        run = self._new_run(prompt, options)
        return await self._work(self._messages(prompt), run)

    def run_sync(self, prompt: Prompt, **options: Unpack[RunOptions[Any]]) -> RunResult:
        """`run` for sync code; works with and without a running event loop."""
        return run_sync(lambda: self.run(prompt, **options))

    def stream(self, prompt: Prompt, **options: Unpack[RunOptions[Any]]) -> RunStream:
        """`run`, with its events as they happen: ``async for event in agent.stream(...)``."""
        run = self._new_run(prompt, options)
        return RunStream(run, lambda: self._work(self._messages(prompt), run))

    def _new_run(self, prompt: Prompt, options: RunOptions[Any]) -> Run[Any]:
        given: dict[str, Any] = dict(options)
        listeners = tuple(given.pop("listeners", ()))
        decisions = given.pop("decisions", ())
        run = Run(given.pop("context", None), agent=self, listeners=listeners, **given)
        tickets = prompt.pending if isinstance(prompt, RunState) else ()
        run.decisions = accepted(tickets, decisions)
        run.suspends = True
        return run

    def _messages(self, prompt: Prompt) -> list[Message]:
        head: list[Message] = [SystemMessage(self.instructions)] if self.instructions else []
        if isinstance(prompt, str):
            return [*head, UserMessage(prompt)]
        items: list[Any] = list(prompt.messages if isinstance(prompt, RunState) else prompt)
        if not any(hasattr(item, "content") for item in items):
            return [*head, UserMessage(tuple(items))]
        transcript = repair(items)
        if transcript and isinstance(transcript[0], SystemMessage):
            return transcript
        return [*head, *transcript]

    async def _work(self, messages: list[Message], run: Run[Any]) -> RunResult:
        run.state["messages"] = messages
        if run.listeners:
            run.emit(RunStarted(*run.next(), self.model.name))
        reason: EndReason = "error"
        problem = ""
        try:
            plan = self._plan
            if self._sources:
                tools = await gather(self._sources, self.tools, run)
                plan = dataclasses.replace(plan, tools=tools)
            progression = Progression(plan, messages, run)
            reason = await progression.advance()
        except asyncio.CancelledError:
            reason = "cancelled"
            raise
        except BaseException as error:
            problem = describe(error)
            raise
        finally:
            if run.listeners:
                run.emit(RunFinished(*run.next(), reason, problem))
        return RunResult(
            _output(messages, reason),
            messages,
            reason,
            run.usage,
            progression.corrections.by_tool(),
            run.id,
            progression.tickets,
        )


def _output(messages: list[Message], reason: EndReason) -> str:
    if reason == "returned":
        texts = []
        for message in reversed(messages):
            if not isinstance(message, ToolMessage):
                break
            texts.append(message.text)
        return "\n".join(reversed(texts))
    last = messages[-1]
    return last.text if isinstance(last, AssistantMessage) else ""


class RunStream:
    """The events of one run, in order; `result` is there when they have ended.

    Leaving the loop early does not stop the run by itself: use it as an async context manager, or
    call `aclose`, which cancels the run and waits until nothing of it goes on.
    """

    def __init__(self, run: Run[Any], work: Callable[[], Any]) -> None:
        self.run = run
        self._work = work
        self._task: asyncio.Task[RunResult] | None = None
        self._events: deque[Event] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._result: RunResult | None = None
        run.listeners = (*run.listeners, self._receive)

    @property
    def result(self) -> RunResult:
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

    async def aclose(self) -> None:
        """Stop the run if it still goes on."""
        if self._task is None:
            return
        if not self._task.done():
            self._task.cancel(GIVE_UP)
            await asyncio.wait([self._task])
        if not self._task.cancelled():
            self._task.exception()  # who leaves early does not ask; who reads on was told

    async def __aenter__(self) -> RunStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

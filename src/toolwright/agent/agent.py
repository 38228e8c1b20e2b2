"""`Agent`: a model and its tools, asked in one of three ways over one loop."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable, Coroutine, Iterable, Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import Any, Generic, TypedDict, Unpack, overload

from typing_extensions import TypeForm, TypeVar

from toolwright.agent.decided import note_decided
from toolwright.agent.loop import Plan, Progression
from toolwright.agent.nested import MAX_DEPTH, Begun, Nesting, agent_tool, as_prompt, nest
from toolwright.agent.output import RETRIES, plan_output
from toolwright.agent.prompt import (
    Instructions,
    Prompt,
    begins_told,
    check_instructions,
    told,
    transcript_of,
)
from toolwright.agent.result import NO_ANSWER, RunResult, RunStream
from toolwright.agent.resume import Resumed, inner_runs, resume
from toolwright.approval import Approver, Decision
from toolwright.call.bridge import run_sync
from toolwright.call.provider import Source, fixed, gather
from toolwright.call.rules import Rules
from toolwright.call.toolset import Toolset
from toolwright.context import CancelToken, Listener, Run, ToolContext
from toolwright.define.compile import ArgsSchema
from toolwright.define.tool import AnyTool, Step, ToolOptions
from toolwright.errors import SetupError, describe
from toolwright.events import EndReason, RunFinished, RunStarted
from toolwright.messages import AssistantMessage, Message, SystemMessage, ToolMessage
from toolwright.model import Model, Settings, connected

C = TypeVar("C")
T = TypeVar("T", default=str)
N = TypeVar("N")
MAX_TURNS = 25


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


class Agent(Generic[T]):
    """A model with tools.

    Args:
        model: ``"vendor:model"``, such as ``openai:gpt-5``, or ``offline``; or a `Model`.
        tools: A `Toolset`; or tools, plain functions and tool providers.
        instructions: What the model is told before anything else: a text, or a function of the
            `Run` that gives one when a run begins, and may be async.
        name: For people and events.
        settings: How to sample.
        max_turns: How often the model may be asked in one run.
        steps: Steps around every call, outside those of the tools.
        rules: Which calls are refused, asked about or let through; those of a `Toolset` otherwise.
        search_tools: Tell the model of a tool that finds the others, rather than of all: for sets
            too large to be sent with every request.
        decided: A folder where the processes that go on from saved runs note which tickets were
            decided, so that no approval serves twice. Without one, each process knows its own.
        output_type: What its answers shall be: anything pydantic can validate, such as a model, a
            dataclass, ``list[int]`` or a union; `str` for plain text.
        output_retries: How often the model may correct an answer that is not of that type.

    Raises:
        DefinitionError: `output_type` has no JSON form.
        SetupError: for a model name nobody knows, or tools that cannot be wired up.
    """

    def __init__(
        self,
        model: str | Model,
        tools: Toolset | Iterable[Source] = (),
        *,
        instructions: Instructions = "",
        name: str = "agent",
        settings: Settings | None = None,
        max_turns: int = MAX_TURNS,
        steps: Sequence[Step] = (),
        rules: Rules | None = None,
        search_tools: bool = False,
        decided: str | Path | None = None,
        output_type: TypeForm[T] = str,  # type: ignore[assignment]
        output_retries: int = RETRIES,
    ) -> None:
        if isinstance(model, str):
            model = connected(model)
        check_instructions(instructions)
        self.name = name
        self.instructions = instructions
        self._decided = Path(decided) if decided else None
        toolset, self._sources = fixed(tools)
        self._tools = toolset.around(*steps, rules=rules) if steps or rules else toolset
        self._retries = output_retries
        plan = Plan(model, self._tools, settings or Settings(), max_turns, search_tools)
        self._plan = self._answering(plan, output_type)

    @property
    def model(self) -> Model:
        return self._plan.model

    @property
    def tools(self) -> Toolset:
        """What it may call, but for what its providers add when a run begins."""
        return self._tools

    @overload
    async def run(self, prompt: Prompt, **options: Unpack[RunOptions[Any]]) -> RunResult[T]: ...
    @overload
    async def run(
        self, prompt: Prompt, *, output_type: TypeForm[N], **options: Unpack[RunOptions[Any]]
    ) -> RunResult[N]: ...
    async def run(
        self,
        prompt: Prompt,
        *,
        output_type: TypeForm[Any] | None = None,
        **options: Unpack[RunOptions[Any]],
    ) -> RunResult[Any]:
        """Run to the end.

        Args:
            prompt: What the person says, or a transcript to go on from; a transcript that ends
                with unanswered calls goes on by running them.
            output_type: What the answer shall be, in this run.
            options: See `RunOptions`.

        Raises:
            ModelError: the model failed.
            OutputError: it did not give an answer of the `output_type`.
            SetupError: the program is wired up wrongly.
        """
        _, work = self._begin(prompt, options, self._planned(output_type))
        return await work()

    @overload
    def run_sync(self, prompt: Prompt, **options: Unpack[RunOptions[Any]]) -> RunResult[T]: ...
    @overload
    def run_sync(
        self, prompt: Prompt, *, output_type: TypeForm[N], **options: Unpack[RunOptions[Any]]
    ) -> RunResult[N]: ...
    def run_sync(
        self,
        prompt: Prompt,
        *,
        output_type: TypeForm[Any] | None = None,
        **options: Unpack[RunOptions[Any]],
    ) -> RunResult[Any]:
        """`run` for sync code; works with and without a running event loop."""
        plan = self._planned(output_type)
        return run_sync(lambda: self._begin(prompt, options, plan)[1]())

    @overload
    def stream(self, prompt: Prompt, **options: Unpack[RunOptions[Any]]) -> RunStream[T]: ...
    @overload
    def stream(
        self, prompt: Prompt, *, output_type: TypeForm[N], **options: Unpack[RunOptions[Any]]
    ) -> RunStream[N]: ...
    def stream(
        self,
        prompt: Prompt,
        *,
        output_type: TypeForm[Any] | None = None,
        **options: Unpack[RunOptions[Any]],
    ) -> RunStream[Any]:
        """`run`, with its events as they happen: ``async for event in agent.stream(...)``."""
        plan = self._planned(output_type)
        run, work = self._begin(prompt, options, plan)
        return RunStream(run, work, None if plan.output is None else plan.output.partial)

    def as_tool(
        self,
        name: str | None = None,
        description: str | None = None,
        *,
        parameters: ArgsSchema | None = None,
        prompt: Callable[[dict[str, Any]], Prompt] = as_prompt,
        context: Callable[[Any], object] | None = None,
        output: Callable[[RunResult[T]], object] | None = None,
        max_depth: int = MAX_DEPTH,
        **options: Unpack[ToolOptions],
    ) -> AnyTool:
        """This agent as a tool of another.

        Each call is a run of its own that knows nothing of the conversation around it. It shares
        the caller's cancel token, deadline, approver, store and context; what it spends is added
        to the caller's usage, and its events are told there as `Nested`.

        Args:
            name: The tool's name; made of the agent's by default.
            description: For the calling model: what the agent is good for.
            parameters: What the caller fills, as a pydantic model or JSON Schema; one text,
                ``input``, by default.
            prompt: Makes the prompt of the arguments; their one text, or their JSON, by default.
            context: Makes the agent's context object of the caller's; the same by default.
            output: What the tool gives back; the run's output by default.
            max_depth: How many agents may call each other in a row.
            options: See `ToolOptions`; the time limit is ten minutes if nothing is said.

        Raises:
            DefinitionError: the tool's name or parameters will not do.
        """
        nesting = Nesting(self.name, self._begin_within, prompt, context, output, max_depth)
        told = description or f"Ask the agent {self.name!r}."
        return agent_tool(nesting, (name, told), parameters, options)

    def _begin_within(self, prompt: Any, call: ToolContext[Any], context: object) -> Begun:
        """Begin a run that is a call of another."""
        outer = call.run
        options: RunOptions[Any] = {"context": context, "store": outer.store}
        options |= {"inject": outer.inject, "cancel": outer.cancel}
        if outer.listeners:
            options["listeners"] = [nest(call, self.name)]
        if outer.approver is not None:
            options["approver"] = outer.approver
        run, work = self._begin(prompt, options, self._plan)
        run.depth = outer.depth + 1
        run.deadline = call.deadline
        run.suspends = outer.suspends
        return run, work

    def _planned(self, output_type: TypeForm[Any] | None) -> Plan:
        """The plan for a run that asks for its own type of answer, if it does."""
        if output_type is None:
            return self._plan
        return self._answering(self._plan, output_type)

    def _answering(self, plan: Plan, output_type: TypeForm[Any]) -> Plan:
        """The plan with answers of a type."""
        tools = len(self._tools) > 0 or len(self._sources) > 0
        output = plan_output(output_type, plan.model, self._tools, tools, self._retries)
        return dataclasses.replace(plan, output=output)

    def _begin(
        self, prompt: Prompt | Resumed, options: RunOptions[Any], plan: Plan
    ) -> tuple[Run[Any], Callable[[], Coroutine[Any, Any, RunResult[Any]]]]:
        """A new run, and what runs it."""
        given: dict[str, Any] = dict(options)
        listeners = tuple(given.pop("listeners", ()))
        decisions = tuple(given.pop("decisions", ()))
        run = Run(given.pop("context", None), agent=self, listeners=listeners, **given)
        resume(run, prompt, decisions)
        if self._decided and decisions:
            note_decided(self._decided, [decision.ticket for decision in decisions])
        run.suspends = True
        messages = transcript_of(prompt.state if isinstance(prompt, Resumed) else prompt)
        return run, lambda: self._work(messages, run, plan)

    async def _work(self, messages: list[Message], run: Run[Any], plan: Plan) -> RunResult[Any]:
        run.state["messages"] = messages
        if run.listeners:
            run.emit(RunStarted(*run.next(), self.model.name))
        reason: EndReason = "error"
        problem = ""
        try:
            if not begins_told(messages) and (text := await told(self.instructions, run)):
                messages.insert(0, SystemMessage(text))
            if self._sources:
                tools = await gather(self._sources, self._tools, run)
                plan = dataclasses.replace(plan, tools=tools)
            if plan.output is not None:
                _check_answers(plan.tools)
            progression = Progression(plan, messages, run)
            reason = await progression.advance()
        except asyncio.CancelledError:
            reason = "cancelled"
            raise
        except BaseException as error:
            problem = describe(error)
            raise
        finally:
            if run.closers:
                await run.close()
            if run.listeners:
                run.emit(RunFinished(*run.next(), reason, problem))
        return self._ended(progression, messages, run, reason)

    def _ended(
        self, progression: Progression, messages: list[Message], run: Run[Any], reason: EndReason
    ) -> RunResult[Any]:
        answers = progression.answers
        answer: object = NO_ANSWER
        if reason in ("answered", "returned"):
            answer = _text(messages, reason)
        if answers is not None:
            answer = answers.value if answers.given else NO_ANSWER
        waits = progression.waits
        return RunResult(
            answer,
            messages,
            reason,
            run.usage,
            progression.corrections.by_tool(),
            run.id,
            tuple(ticket for wait in waits.values() for ticket in wait.tickets),
            inner_runs(run, waits),
        )


def _check_answers(tools: Toolset) -> None:
    """Refuse tools whose own word is the answer, where the answer must have a form.

    Raises:
        SetupError: naming the tool.
    """
    for tool in tools:
        if tool.return_direct:
            raise SetupError(
                f"{tool.name!r} answers the person itself (return_direct), but this run's answer "
                "must be of its output_type; leave one of the two out"
            )


def _text(messages: list[Message], reason: EndReason) -> str:
    """What plain text a run ended with."""
    if reason == "returned":
        texts = []
        for message in reversed(messages):
            if not isinstance(message, ToolMessage):
                break
            texts.append(message.text)
        return "\n".join(reversed(texts))
    last = messages[-1]
    return last.text if isinstance(last, AssistantMessage) else ""

"""`Agent`: a model and its tools; awaited, streamed or run in sync code over one loop."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Generic, Literal, Unpack, overload

from typing_extensions import TypeForm, TypeVar

from toolkeel._common.checked_arguments import ArgumentKind, at_least, check_values, checked
from toolkeel._common.data_folder import register_state
from toolkeel._common.loop_state import CALLBACK_TIMEOUT
from toolkeel._common.other_libraries_words import (
    attribute_hints,
    too_many_arguments,
    unknown_option_error,
)
from toolkeel.agent import inner_agent
from toolkeel.agent.guardrail import NO_GUARDRAILS, Check, Guardrail, as_guardrails
from toolkeel.agent.handoff import AgentLike, Handoff, HandoffsOption, as_handoffs
from toolkeel.agent.history import HistoryPolicy
from toolkeel.agent.inner_agent import AgentToolConfig, arguments_to_prompt, make_agent_tool
from toolkeel.agent.options import GUARDRAILS, HANDOFFS, KINDS, MODEL, SECONDS, RunOptions
from toolkeel.agent.output import MAX_RETRIES, plan_output
from toolkeel.agent.plan import Plan, add_limits, set_before_plan
from toolkeel.agent.prompt import Instructions, Prompt, check_instructions
from toolkeel.agent.result import RunResult
from toolkeel.agent.run import Run
from toolkeel.agent.session_interface import resolve_session
from toolkeel.agent.turn.steps import ModelStep
from toolkeel.call.body.sync_bridge import require_event_loop, run_sync
from toolkeel.call.enclosing_run import MAX_DEPTH, find_enclosing_call, make_run_context
from toolkeel.call.steps.rules import Rules
from toolkeel.call.tool_sources import ToolOrSource, static_tools
from toolkeel.call.toolset import Toolset
from toolkeel.call.watched_state import WatchedState
from toolkeel.context import ToolContext
from toolkeel.define.compile import ParametersSchema
from toolkeel.define.tool import AnyTool, Step, ToolOptions
from toolkeel.errors import SetupError
from toolkeel.model_interface import Model, Settings, resolve_model
from toolkeel.spending import RunLimits

C = TypeVar("C", default=object)
T = TypeVar("T", default=str)
N = TypeVar("N")
MAX_TURNS = 25


class Agent(Generic[C, T]):
    """A model with tools.

    Args:
        model: ``"vendor:model"``, such as ``openai:gpt-5``, or ``offline``, or a `Model`.
        tools: A `Toolset`, or tools, plain functions and tool sources.
        instructions: The system message: a text, or a function of the `RunContext`, also async.
        name: Name shown to people, in events, and to agents that hand over to this one.
        settings: Sampling settings.
        max_turns: Maximum number of model requests in one run; the run then ends with reason
            ``limit``.
        steps: Steps around every call, outside those of the tools.
        rules: Rules that refuse, allow or ask about calls; by default those of the `Toolset`.
        search_tools: Offer the model a tool that finds the others, for sets too large for each request.
        used_tickets: The folder of decided tickets; by default in the user's data folder.
        output_type: The type of the answer: anything pydantic can validate; `str` for plain text.
        output_retries: How often the model may correct an answer of another type before `OutputError`
            is raised.
        limits: What a run and the runs inside it may spend. See `RunLimits`.
        on_refusal: What happens to a text that was refused or cut off: ``return`` it with that
            `reason`, or ``raise`` an `OutputError`, as every other `output_type` does.
        handoffs: Agents that may take over its runs, or `Handoff` objects, or a function that
            returns them, for agents that know each other.
        input_guardrails: Checks of a person's message, which run beside the first request.
        output_guardrails: Checks of the answer.
        model_steps: Steps around each model request, outermost first.
        history: The policy that shortens long transcripts; by default that of the session.
        deps_type: The class of its runs' `deps`, for type checkers only.
        callback_timeout: Seconds for each guardrail, guard, step, predicate, history policy, tool source
            and function for instructions or handoffs; None for no bound.

    Raises:
        DefinitionError: `output_type` has no JSON form.
        SetupError: The model's name is unknown, or tools cannot be used together.
    """

    @checked
    def __init__(
        self,
        model: Annotated[str | Model, MODEL],
        tools: Toolset | Iterable[ToolOrSource] = (),
        *,
        instructions: Instructions[C] = "",
        name: Annotated[str, ArgumentKind(bool, "a text")] = "agent",
        settings: Settings | None = None,
        max_turns: Annotated[int, at_least(1, "a number from 1")] = MAX_TURNS,
        steps: Sequence[Step] = (),
        rules: Rules | None = None,
        search_tools: bool = False,
        used_tickets: str | Path | None = None,
        output_type: TypeForm[T] = str,  # type: ignore[assignment]
        output_retries: Annotated[int, at_least(0, "a number, 0 or more")] = MAX_RETRIES,
        limits: RunLimits | None = None,
        on_refusal: Literal["return", "raise"] = "return",
        handoffs: Annotated[HandoffsOption, HANDOFFS] = (),
        input_guardrails: Annotated[Iterable[Guardrail | Check[C]], GUARDRAILS] = NO_GUARDRAILS,
        output_guardrails: Annotated[Iterable[Guardrail | Check[C]], GUARDRAILS] = NO_GUARDRAILS,
        model_steps: Sequence[ModelStep] = (),
        history: HistoryPolicy | None = None,
        deps_type: type[C] | None = None,
        callback_timeout: Annotated[float | None, SECONDS] = CALLBACK_TIMEOUT,
    ) -> None:
        model, self.name = resolve_model(model), name
        self.instructions = check_instructions(instructions)
        self._retries, self._output_type = output_retries, output_type
        self._handoffs = handoffs if callable(handoffs) else as_handoffs(handoffs)
        toolset, sources = static_tools(tools)
        plan = Plan(
            model,
            toolset.with_steps(*steps, rules=rules) if steps or rules else toolset,
            Settings() if settings is None else settings,
            max_turns,
            search_tools,
            agent=name,
            instructions=instructions,
            sources=sources,
            limits=limits,
            on_refusal=on_refusal,
            used_tickets=register_state(used_tickets) if used_tickets else None,
            input_guardrails=as_guardrails(input_guardrails),
            output_guardrails=as_guardrails(output_guardrails),
            model_steps=tuple(model_steps),
            history=history,
            callback_timeout=callback_timeout,
        )
        self._plan = self._with_output(self._checked(plan, rules), output_type)

    def _checked(self, plan: Plan, rules: Rules | None) -> Plan:
        """Return the plan with the handoffs, validated against `rules`, or raise `SetupError`; unchanged if a function gives them."""
        if callable(self._handoffs):
            return plan
        plan = plan.with_handoffs(self._handoffs)
        plan.validate(rules)
        return plan

    if not TYPE_CHECKING:  # there, an unknown attribute stays unknown
        __getattr__ = attribute_hints("Agent.")
        __setattr__ = set_before_plan(__init__)

    def __repr__(self) -> str:
        tools = f", tools={list(self.tools.names)}" if len(self.tools) else ""
        return f"Agent({self.model!r:.60}{tools}, name={self.name!r})"

    @property
    def model(self) -> Model:
        """The model of runs that name none: that of `override` here, else the agent's own."""
        return _MODEL_OVERRIDES.get().get(self, self._plan.model)

    @property
    def tools(self) -> Toolset:
        """The agent's own tools, without those of tool sources."""
        return self._plan.tools

    @property
    def has_tool_sources(self) -> bool:
        """True if tool sources bring further tools when a run begins."""
        return bool(self._plan.sources)

    @property
    def handoffs(self) -> tuple[Handoff, ...]:
        """The handoffs to other agents. A function that gives them is called; other results raise `SetupError`."""
        return as_handoffs(self._handoffs()) if callable(self._handoffs) else self._handoffs

    @contextmanager
    def override(self, *, model: str | Model) -> Iterator[None]:
        """Use another `Model`, or that of a name, in runs that start in the block, for tests. Raises as `Agent`."""
        known = resolve_model(model)
        token = _MODEL_OVERRIDES.set({**_MODEL_OVERRIDES.get(), self: known})
        try:
            yield
        finally:
            _MODEL_OVERRIDES.reset(token)

    @overload
    async def run(self, prompt: Prompt, **options: Unpack[RunOptions[C]]) -> RunResult[T]: ...
    @overload
    async def run(
        self, prompt: Prompt, *, output_type: TypeForm[N], **options: Unpack[RunOptions[C]]
    ) -> RunResult[N]: ...
    async def run(self, prompt: Prompt, *more: object, **options: Any) -> RunResult[Any]:
        """Run the agent to its end, and return the result.

        Args:
            prompt: A message, or a transcript or saved run to continue, whose open calls run first.
            output_type: The type of this run's answer.
            options: ``deps``, ``state``, ``store`` and ``inject`` for tools; ``listeners``,
                ``cancel`` and ``approver``; ``decisions`` on the calls that wait; ``model``,
                ``settings``, ``limits`` and ``timeout`` (seconds) of this run. See `RunOptions`.

        Raises:
            ModelError: The model failed.
            OutputError: The model gave no answer of the `output_type`.
            SetupError: An option or a tool cannot be used.

        Each exception has the `Run` as its attribute ``run``: resume with ``error.run.state``.
        """
        require_event_loop()
        return await self._make_run(prompt, more, options).run()

    @overload
    def run_sync(self, prompt: Prompt, **options: Unpack[RunOptions[C]]) -> RunResult[T]: ...
    @overload
    def run_sync(
        self, prompt: Prompt, *, output_type: TypeForm[N], **options: Unpack[RunOptions[C]]
    ) -> RunResult[N]: ...
    def run_sync(self, prompt: Prompt, *more: object, **options: Any) -> RunResult[Any]:
        """Run the agent from sync code, with or without a running event loop. See `run`."""
        run = self._make_run(prompt, more, options)
        try:
            return run_sync(run.run)
        except KeyboardInterrupt as error:  # raised here, not in the run's own thread
            error.run = run  # type: ignore[attr-defined]
            raise

    @overload
    def start(self, prompt: Prompt, **options: Unpack[RunOptions[C]]) -> Run[T]: ...
    @overload
    def start(
        self, prompt: Prompt, *, output_type: TypeForm[N], **options: Unpack[RunOptions[C]]
    ) -> Run[N]: ...
    def start(self, prompt: Prompt, *more: object, **options: Any) -> Run[Any]:
        """Create a run and return its handle without waiting, or raise `SetupError` for a wrong option.

        Use ``result = await run``, ``run.state`` at any time, and ``run.cancel()``. In an event loop the run
        starts at once, in a task of its own; without one when it is first awaited. Options are those of `run`.
        """
        run = self._make_run(prompt, more, options)
        with suppress(SetupError):  # no loop runs here
            run.start()
        return run

    @overload
    def stream(self, prompt: Prompt, **options: Unpack[RunOptions[C]]) -> Run[T]: ...
    @overload
    def stream(
        self, prompt: Prompt, *, output_type: TypeForm[N], **options: Unpack[RunOptions[C]]
    ) -> Run[N]: ...
    def stream(self, prompt: Prompt, *more: object, **options: Any) -> Run[Any]:
        """Create a run whose events can be read as they happen, or raise `SetupError` for a wrong option.

        The run, whose handle is returned, starts when its events are first read. ``async for event in run``
        yields all events, ``run.stream_text()`` only the model's text. Options are those of `run`.
        """
        run = self._make_run(prompt, more, options)
        run.buffer_events()
        return run

    def as_tool(
        self,
        name: str | None = None,
        description: str | None = None,
        *,
        parameters: ParametersSchema | None = None,
        prompt: Callable[[dict[str, Any]], Prompt] = arguments_to_prompt,
        deps: Callable[[Any], C] | None = None,
        output: Callable[[RunResult[T]], object] | None = None,
        max_depth: int = MAX_DEPTH,
        **options: Unpack[ToolOptions],
    ) -> AnyTool:
        """Make a tool that runs this agent.

        Each call is a run of its own, without the conversation around it. It shares the caller's
        cancel token, deadline, approver, store, bounds and usage; its events arrive as `Nested`.

        Args:
            name: The tool's name; by default the agent's.
            description: Tells the calling model what the agent is good for.
            parameters: A pydantic model or JSON Schema; by default one text, ``input``.
            prompt: Converts the arguments to a prompt.
            deps: Converts the caller's `deps`; by default they are shared.
            output: Converts the run's result; by default its output is returned.
            max_depth: How many agents may call each other in a row.
            options: See `ToolOptions`; the default time limit is ten minutes.

        Raises:
            DefinitionError: The tool's name or parameters are invalid.
        """
        nesting = AgentToolConfig(self.name, self._start_inner_run, prompt, deps, output, max_depth)
        told = description or f"Ask the agent {self.name!r}."
        return make_agent_tool(nesting, (name, told), parameters, options)

    def _start_inner_run(self, prompt: Any, call: ToolContext, deps: object) -> Run[Any]:
        """Create the run of a call of this agent as a tool, in the caller's run, not started. Raises as `Agent`."""
        plan = self._make_plan({})
        run = call.run.make_inner(call, self.name, deps)
        run.agent, run.loop_state.can_suspend = self, call.run.can_wait
        run.state = WatchedState()
        if plan.limits is not None:
            add_limits(run, plan, plan.limits)
        return Run(plan, run, prompt)

    def with_tools(self, tools: Iterable[ToolOrSource]) -> Agent[C, T]:
        """Return a copy with further tools and sources and its present model, or raise `DuplicateToolError`."""
        return self._with_plan(self._plan.with_tools(list(tools)))

    def map_tools(self, change: Callable[[Any], ToolOrSource], *steps: Step) -> Agent[C, T]:
        """Return a copy of this agent with each tool and tool source replaced by a function's result.

        Args:
            change: Takes a tool or tool source, and returns its replacement. Two of one name raise
                `DuplicateToolError`.
            steps: Further steps around every call, also those of agents that it calls or hands over to.
        """
        return self._with_plan(self._plan.map_tools(change, steps))

    def _with_plan(self, plan: Plan) -> Agent[C, T]:
        """Return a copy of this agent with a plan, its model and its output type, or raise `DefinitionError`."""
        made = copy.copy(self)
        plan = dataclasses.replace(plan, model=self.model)
        made._plan = self._with_output(plan, self._output_type)
        return made

    def set_change_finder(self, find_change: Callable[[], Awaitable[AgentLike | None]]) -> None:
        """Set the function that runs await before each turn for a changed agent. See `Plan.find_change`."""
        self._plan = dataclasses.replace(self._plan, find_change=find_change)

    def plan_for(self, asked: Mapping[str, Any]) -> Plan:
        """Return the plan of this agent for a run that it takes over; raise as `Agent`. See `AgentLike.plan_for`."""
        return self._make_plan({"model": asked.get("model")}, asked.get("output_type"))

    def _make_plan(
        self, options: Mapping[str, Any], output_type: TypeForm[Any] | None = None
    ) -> Plan:
        """Build the plan of one run: the agent's own plan, changed by the run's options. Raises as `Agent`."""
        changes: dict[str, Any] = {
            name: options[name] for name in ("settings", "limits") if options.get(name) is not None
        }
        own = self._plan.with_handoffs(self.handoffs) if callable(self._handoffs) else self._plan
        asked = {"model": options.get("model"), "output_type": output_type}
        if any(value is not None for value in asked.values()):
            changes["requested"] = asked
        model = options.get("model") or _MODEL_OVERRIDES.get().get(self)
        if model is not None:
            changes["model"] = resolve_model(model)
        if (timeout := options.get("timeout")) is not None:
            limits = changes.get("limits") or own.limits or RunLimits()
            seconds = timeout if limits.seconds is None else min(timeout, limits.seconds)
            changes["limits"] = dataclasses.replace(limits, seconds=seconds)
        if not changes and output_type is None:
            return own
        plan = dataclasses.replace(own, **changes)
        if "limits" in changes or "settings" in changes:
            plan.validate(None)
        if output_type is None:
            return self._with_output(plan, self._output_type) if model is not None else plan
        return self._with_output(plan, output_type)

    def _with_output(self, plan: Plan, output_type: TypeForm[Any]) -> Plan:
        """Return the plan with the way its model returns answers of a type, or raise DefinitionError."""
        tools = len(plan.tools) > 0 or len(plan.sources) > 0
        output = plan_output(output_type, plan.model, plan.tools, tools, self._retries)
        return dataclasses.replace(plan, output=output)

    def _make_run(
        self, prompt: Prompt, more: tuple[object, ...], options: dict[str, Any]
    ) -> Run[Any]:
        """Create a run, not started, in the enclosing call. Takes ``output_type`` off `options`. Raises as `run`."""
        output_type = options.pop("output_type", None)
        if more:
            raise too_many_arguments("Agent.run", len(more) + 1, "prompt")
        for word in options.keys() - RunOptions.__annotations__.keys():
            raise unknown_option_error("Agent.run", word, _RUN_OPTIONS)
        given: dict[str, Any] = {k: v for k, v in options.items() if v is not None}
        check_values("Agent.run", given, KINDS)
        plan = self._make_plan(options, output_type)
        for option in _PLAN_OPTIONS:
            given.pop(option, None)
        listeners, decisions = (tuple(given.pop(name, ())) for name in ("listeners", "decisions"))
        session = given.pop("session", None)
        if "approver" in given:
            plan.warn_of_approver()
        run = make_run_context(self, self.name, listeners, given)
        add_limits(run, plan, plan.limits or RunLimits())
        within = None if session is None else resolve_session(session)
        call = None if given.get("standalone") or within else find_enclosing_call()
        start = inner_agent.continue_joined(call, self.name, prompt)
        return inner_agent.join_call(Run(plan, run, start, decisions, within), call)


_RUN_OPTIONS = (*RunOptions.__annotations__, "output_type")
_PLAN_OPTIONS = ("model", "settings", "limits", "timeout")
_MODEL_OVERRIDES: ContextVar[Mapping[Any, Model]] = ContextVar(
    "overridden", default=MappingProxyType({})
)

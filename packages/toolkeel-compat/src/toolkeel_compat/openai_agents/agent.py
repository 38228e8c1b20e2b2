"""`Agent`, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import copy
import dataclasses
import operator
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from reprlib import recursive_repr
from typing import Annotated, Any, Generic, TypeAlias, TypedDict, Unpack

from typing_extensions import TypeVar

from toolkeel._common.checked_arguments import any_list, at_least
from toolkeel._records.record import NOTHING
from toolkeel.agent import agent as core
from toolkeel.agent.guardrail import Guardrail
from toolkeel.agent.plan import Plan
from toolkeel.agent.run import Run
from toolkeel.agent.turn.steps import ModelStep
from toolkeel.call.enabled_tools import EnabledTools
from toolkeel.call.tool_sources import ToolOrSource, gather_tools
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext, ToolContext
from toolkeel.errors import SetupError
from toolkeel.model_interface import Model, Settings
from toolkeel_compat.check_options import check_options, maybe_await
from toolkeel_compat.openai_agents.agent_tool import AsToolOptions, Extractor, agent_as_tool
from toolkeel_compat.openai_agents.context import RunContextWrapper, current_run
from toolkeel_compat.openai_agents.guardrails import InputGuardrail, OutputGuardrail
from toolkeel_compat.openai_agents.handoffs import mark_strict_handoffs, to_handoffs
from toolkeel_compat.openai_agents.hooks import (
    AgentHooks,
    AgentStart,
    make_call_steps,
    make_request_step,
)
from toolkeel_compat.openai_agents.models import custom_models
from toolkeel_compat.openai_agents.models.named import (
    LazyModel,
    get_default_settings,
    make_prompt_model,
    resolve_model,
)
from toolkeel_compat.openai_agents.models.requests import (
    make_filter_step,
    make_final_output_step,
    make_instructions_step,
    make_prompt_step,
    resolve_tool_use_behavior,
)
from toolkeel_compat.openai_agents.output import check_strict, to_output_type
from toolkeel_compat.openai_agents.run_lifecycle import RunLifecycle
from toolkeel_compat.openai_agents.settings import (
    MAX_TURNS,
    ModelSettings,
    RunConfig,
    to_model_settings,
)
from toolkeel_compat.openai_agents.tools import FunctionTool, mark_strict, return_refusal

__all__ = ["Agent", "AgentBase"]

T = TypeVar("T")
C = TypeVar("C", default=Any)
Instructions: TypeAlias = "Callable[[RunContextWrapper[Any], Agent[Any]], str | Awaitable[str]]"


_LISTS = ("handoffs", "mcp_servers", "input_guardrails", "output_guardrails")
_DEFAULTS: Mapping[str, Any] = {
    "max_turns": MAX_TURNS,
    "tool_use_behavior": "run_llm_again",
    "reset_tool_choice": True,
}


_REFUSED: Mapping[str, str] = {"mcp_config": "the core's MCPServer has what it sets"}


class AgentOptions(TypedDict, total=False):
    """Options of an `Agent` besides the first four.

    Attributes:
        model_settings: Sampling settings.
        max_turns: Maximum model requests of one run, unless the runner sets it.
        output_type: Type of the output; text by default.
        mcp_servers: Servers with further tools.
        tool_use_behavior: ``run_llm_again``; ``stop_on_first_tool``: results of tools are the output;
            `StopAtTools`: results of some tools are; or a function that decides.
        reset_tool_choice: Apply a forced `tool_choice` to the first request only.
        handoff_description: For models that may hand off to it: its purpose.
        handoffs: Agents that it may hand off to, or handoffs made by `handoff`.
        input_guardrails: Checks of the input.
        output_guardrails: Checks of the output.
        prompt: A prompt stored at OpenAI: its fields, or a function of `GenerateDynamicPromptData`.
        hooks: Called during its runs.
    """

    model_settings: ModelSettings | Settings | None
    max_turns: Annotated[int, at_least(1, "a number from 1")]
    output_type: Any
    mcp_servers: Annotated[Sequence[ToolOrSource], any_list("a list of MCP servers")]
    tool_use_behavior: Any
    reset_tool_choice: bool
    handoff_description: str | None
    prompt: Mapping[str, Any] | Callable[..., Any] | None
    handoffs: Annotated[Sequence[Any], any_list("a list of agents, or of what handoff() returns")]
    input_guardrails: Sequence[InputGuardrail]
    output_guardrails: Sequence[OutputGuardrail]
    hooks: AgentHooks[Any] | None


class Agent(core.Agent[C, Any], Generic[C]):
    """A core `Agent` with the SDK's parameters; an attribute set later applies from then on.

    Args:
        name: The agent's name, for display and events.
        instructions: The system prompt: a string, or a function of ``(context wrapper, agent)``.
        tools: The agent's tools.
        model: A bare name is OpenAI's; ``"vendor:model"``, ``offline``, or a core `Model`.
        options: See `AgentOptions`.

    Raises:
        SetupError: An option of the SDK is not supported; the message names it.
        TypeError: An option is unknown.
    """

    mcp_config: Mapping[str, Any] = NOTHING

    def __init__(
        self,
        name: str = "agent",
        instructions: str | Instructions | None = None,
        tools: Toolset | Iterable[ToolOrSource] = (),
        model: str | Model | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        if "model_settings" in options:
            options["model_settings"] = to_model_settings(options["model_settings"])
        known = check_options(options, AgentOptions, "Agent", _REFUSED)
        fields: dict[str, Any] = {"name": name, "instructions": instructions, "model": model}
        fields |= {**dict.fromkeys(AgentOptions.__annotations__), **_DEFAULTS, **known}
        for one in _LISTS:
            fields[one] = list(fields[one] or ())
        fields["tools"] = tools if isinstance(tools, Toolset | list) else list(tools)
        self.__dict__["_fields"] = fields
        self._build()

    def _build(self) -> None:
        """Rebuild the core's agent from the current attributes."""
        self.__dict__["_building"] = True
        try:
            super().__init__(**self._core_options())
            self.instructions = self._fields["instructions"]
        finally:
            self.__dict__["_building"] = False

    def _core_options(
        self, run: RunLifecycle | None = None, start: AgentStart | None = None
    ) -> dict[str, Any]:
        """Return the core agent's options, for one run or for any."""
        fields, config = self._fields, RunConfig() if run is None else run.config
        asked = config.model or fields["model"]
        named = asked or not fields["prompt"] or config.model_provider
        model = resolve_model(asked, config.model_provider) if named else make_prompt_model()
        if isinstance(model, custom_models.Model) and run is not None:
            model = custom_models.AgentModel(model, self, run.streamed)
        ours = isinstance(model, LazyModel)
        return {
            "model": model,
            "tools": mark_strict(self.all_tools) if ours else self.all_tools,
            "instructions": ""
            if callable(instructions := fields["instructions"])
            else instructions or "",
            "name": fields["name"],
            "settings": self._merge_settings(asked, model, config),
            "max_turns": (run and run.max_turns) or fields["max_turns"],
            "output_type": to_output_type(fields["output_type"]),
            "handoffs": lambda: mark_strict_handoffs(self.handoffs, ours),
            "input_guardrails": self._merge_guardrails("input_guardrails", config, run),
            "output_guardrails": self._merge_guardrails("output_guardrails", config, run),
            "steps": [*make_call_steps(start.hooks if start else (), self), return_refusal],
            "model_steps": self._model_steps(config, run, start),
        }

    def _merge_settings(self, asked: Any, model: Any, config: RunConfig) -> Settings:
        """Return the agent's model settings, overridden by those of the run."""
        settings: Any = self._fields["model_settings"]
        if not isinstance(settings, Settings):
            merged = (settings or get_default_settings(asked)).resolve(config.model_settings)
            settings = merged.to_core(chat=getattr(model, "chat", False))
        keeps = settings.keep_tool_choice or self._fields["reset_tool_choice"] is False
        made: Settings = dataclasses.replace(settings, keep_tool_choice=keeps)
        return made

    def _merge_guardrails(
        self, name: str, config: RunConfig, run: RunLifecycle | None
    ) -> list[Guardrail]:
        """Return the guardrails of the agent and of the run, as the core's."""
        guardrails = (*(self._fields[name] or ()), *(getattr(config, name) or ()))
        return [guardrail.to_core(self, run) for guardrail in guardrails]

    def _model_steps(
        self, config: RunConfig, run: RunLifecycle | None, start: AgentStart | None
    ) -> list[ModelStep]:
        """Return the steps around model requests, outermost first."""
        make_wrapper = RunContextWrapper.from_run if run is None else lambda _: run.wrapper
        steps: list[ModelStep] = [] if run is None else [run.begin_turn]
        if callable(instructions := self._fields["instructions"]):
            steps.append(make_instructions_step(instructions, self, make_wrapper))
        if start is not None and (start.hooks or getattr(start.source, "hooks", None) is not None):
            steps.append(make_request_step(start, make_wrapper))
        if (chosen := config.call_model_input_filter) is not None:
            steps.append(make_filter_step(chosen, self))
        if (prompt := self._fields["prompt"]) is not None:
            steps.append(make_prompt_step(prompt, self, make_wrapper))
        if (decide := resolve_tool_use_behavior(self._fields["tool_use_behavior"])) is not None:
            steps.append(make_final_output_step(decide, self, make_wrapper))
        return steps if run is None else [*steps, run.save_before_request]

    @property
    def handoffs(self) -> Any:
        """The agents and handoffs it may transfer the run to; the list may be changed."""
        handoffs: list[Any] = self._fields["handoffs"]
        handoffs[:] = to_handoffs(handoffs)
        return handoffs

    def plan_for(self, asked: Mapping[str, Any]) -> Plan:
        """Return the plan of a run handed to this agent, with that run's settings and hooks."""
        run: RunLifecycle | None = current_run.get()
        if run is None:
            return super().plan_for(asked)
        before, run.active_agent = run.active_agent, self
        return self.build_for_run(run, before).plan_for(asked)

    def build_for_run(self, run: RunLifecycle, before: Any = None) -> core.Agent[Any]:
        """Build the core's agent for one run from the current attributes.

        Args:
            run: The run.
            before: The agent that handed the run over, if any.
        """
        return self._build_changeable(run, before, has_begun=False)

    def _build_changeable(
        self, run: RunLifecycle, before: Any, *, has_begun: bool
    ) -> core.Agent[Any]:
        """Build the core's agent for a run, which notices changes that hooks and tools make here."""
        hooks = [one for one in (run.hooks, self._fields["hooks"]) if one is not None]
        start = AgentStart(hooks, self, before, has_begun=has_begun)
        check_strict(self._fields["output_type"])
        made: core.Agent[Any] = core.Agent(**self._core_options(run, start))
        built_from = self._changeable(run)
        guardrails = self._merge_guardrails("input_guardrails", run.config, run)
        can_be_blocked = any(one.blocking for one in guardrails)  # then the agent has not begun

        async def find_change() -> core.Agent[Any] | None:
            if not can_be_blocked:
                await start.begin(run.wrapper)
            if _same(self._changeable(run), built_from):
                return None
            return self._build_changeable(run, before, has_begun=True)

        made.set_change_finder(find_change)
        return made

    def _changeable(self, run: RunLifecycle) -> dict[str, Any]:
        """Return the parts of this agent that may change during a run."""
        asked = run.config.model or self._fields["model"]
        settings = self._fields["model_settings"]
        if not isinstance(settings, Settings):
            settings = (settings or get_default_settings(asked)).resolve(run.config.model_settings)
        changed = {"model_settings": copy.deepcopy(settings), "handoffs": self.handoffs}
        fields = {**self._fields, **changed}
        return {key: tuple(it) if type(it) is list else it for key, it in fields.items()}

    def _start_inner_run(self, prompt: Any, call: ToolContext, deps: object) -> Run[Any]:
        """Start a run that is a call of another run, with that run's settings."""
        within: RunLifecycle | None = current_run.get()
        if within is None or within.agent is not self:
            return super()._start_inner_run(prompt, call, deps)
        within.original_input = prompt
        inner_run: Run[Any] = self.build_for_run(within)._start_inner_run(prompt, call, deps)
        return inner_run

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self._fields and not self._building:
            self._fields[name] = value
            self._build()
        elif name in _REFUSED and not self._building:
            raise SetupError(f"an agent's {name}: {_REFUSED[name]}")
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields", {})
        if name == "model_settings" and name in fields and fields[name] is None:
            fields[name] = get_default_settings(fields["model"])  # what is changed of it counts
        if name in fields:
            return fields[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @recursive_repr()
    def __repr__(self) -> str:
        arguments = ", ".join(f"{name}={value!r}" for name, value in self._fields.items())
        return f"{type(self).__name__}({arguments})"

    def clone(self, **changes: Any) -> Agent[C]:
        """Return a copy with some parameters changed."""
        return type(self)(**{**self._fields, **changes})

    @property
    def model(self) -> Any:
        """The model as passed, or the one its name stands for."""
        return self._plan.model

    @property
    def tools(self) -> Any:
        """The tools as passed: a `FunctionTool` is not converted."""
        return self._fields["tools"]

    @property
    def all_tools(self) -> list[ToolOrSource] | Toolset:
        """The tools and the MCP servers."""
        tools, servers = self._fields["tools"], self._fields["mcp_servers"]
        return [*tools, *servers] if servers else tools

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Any]:
        """Return the tools that are enabled now, with those of the servers."""
        run = RunContext(run_context.context, agent=self)
        offered = await EnabledTools(
            await gather_tools(self.all_tools, Toolset(), run), run, False
        ).current()
        return [custom_models.find_original_tool(one, self) for one in offered]

    async def get_system_prompt(self, run_context: RunContextWrapper[Any]) -> str | None:
        """Return the system prompt for a run."""
        instructions = self._fields["instructions"]
        text: str | None = (
            await maybe_await(instructions(run_context, self))
            if callable(instructions)
            else instructions
        )
        return text

    def limited(self, max_turns: int) -> Agent[C]:
        """Return a copy with another `max_turns`."""
        return self.clone(max_turns=max_turns)

    def as_tool(  # type: ignore[override]
        self,
        tool_name: str | None = None,
        tool_description: str | None = None,
        custom_output_extractor: Extractor | None = None,
        **options: Unpack[AsToolOptions],
    ) -> FunctionTool:
        """Return this agent as a tool for another agent.

        Args:
            tool_name: Derived from the agent's name by default.
            tool_description: The description for the calling model.
            custom_output_extractor: Returns the tool's result for the run's result; may be async.
            options: See `AsToolOptions`.

        Raises:
            TypeError: An option is unknown.
        """
        about = (tool_name, tool_description)
        return agent_as_tool(self, about, custom_output_extractor, options)


def _same(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Return True if settings and texts are equal, and all else, also in lists, is the same objects."""
    return all(_is_same(one, second[key]) for key, one in first.items())


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(operator.is_, one, other))
    by_value = isinstance(one, str | ModelSettings | Settings)
    return bool(one == other) if by_value else one is other


AgentBase = Agent
"""Any agent, in annotations."""

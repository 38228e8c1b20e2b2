"""`Agent`, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from reprlib import recursive_repr
from typing import Any, Generic, TypeAlias, TypedDict, Unpack

from typing_extensions import TypeVar

from toolkeel._records.record import NOTHING
from toolkeel.agent import agent as core
from toolkeel.agent.guardrail import Guardrail
from toolkeel.agent.plan import Plan
from toolkeel.agent.run import Run
from toolkeel.agent.turn.steps import ModelStep
from toolkeel.call.enabled_tools import EnabledTools
from toolkeel.call.tool_sources import ToolOrSource, gather
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext, ToolContext
from toolkeel.errors import SetupError
from toolkeel.model_interface import Model, Settings
from toolkeel_compat.check_options import check_options, maybe_await
from toolkeel_compat.openai_agents.agent_tool import AsToolOptions, Extractor, agent_as_tool
from toolkeel_compat.openai_agents.context import RunContextWrapper, of_run
from toolkeel_compat.openai_agents.guardrails import InputGuardrail, OutputGuardrail
from toolkeel_compat.openai_agents.handoffs import as_handoffs, strict_handoffs
from toolkeel_compat.openai_agents.hooks import AgentHooks, around_calls, around_requests
from toolkeel_compat.openai_agents.models import custom_models
from toolkeel_compat.openai_agents.models.named import (
    LaterModel,
    default_settings,
    resolve,
    unnamed,
)
from toolkeel_compat.openai_agents.models.requests import (
    decider,
    deciding,
    filtered,
    instructed,
    prompted,
)
from toolkeel_compat.openai_agents.output import output_type_of
from toolkeel_compat.openai_agents.run_lifecycle import Begun
from toolkeel_compat.openai_agents.settings import MAX_TURNS, ModelSettings, RunConfig
from toolkeel_compat.openai_agents.tools import FunctionTool, as_strict, refusal_as_result

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
        model_settings: How to sample.
        max_turns: How often the model may be asked in one run, if the runner does not say.
        output_type: What its answers shall be; text by default.
        mcp_servers: Servers whose tools it may call, too.
        tool_use_behavior: ``run_llm_again``; ``stop_on_first_tool``, so that results of tools are
            the answer; `StopAtTools`, so that those of some are; or a function that decides.
        reset_tool_choice: Whether a forced `tool_choice` holds for the first request only.
        handoff_description: For models that may hand over to it: what it is good for.
        handoffs: Agents that it may give the run to, or what `handoff` makes of them.
        input_guardrails: Look at what a person says.
        output_guardrails: Look at what it answers.
        prompt: One kept at OpenAI: its fields, or a function of `GenerateDynamicPromptData`.
        hooks: Told of its runs.
    """

    model_settings: ModelSettings | Settings | None
    max_turns: int
    output_type: Any
    mcp_servers: Sequence[ToolOrSource]
    tool_use_behavior: Any
    reset_tool_choice: bool
    handoff_description: str | None
    prompt: Any
    handoffs: Sequence[Any]
    input_guardrails: Sequence[InputGuardrail]
    output_guardrails: Sequence[OutputGuardrail]
    hooks: AgentHooks[Any] | None


class Agent(core.Agent[C, Any], Generic[C]):
    """A core `Agent` with the SDK's parameters; an attribute that is set anew counts from then on.

    Args:
        name: For people and events.
        instructions: What the model is told before anything else: a text, or
            ``(context wrapper, agent)`` gives it.
        tools: What it may call.
        model: A bare name is OpenAI's; ``"vendor:model"``, ``offline``, or a core `Model`.
        options: See `AgentOptions`.

    Raises:
        SetupError: for an option of the SDK that would not be honoured, by name.
        TypeError: for one that nobody knows.
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
        known = check_options(options, AgentOptions, "Agent", _REFUSED)
        fields: dict[str, Any] = {"name": name, "instructions": instructions, "model": model}
        fields |= {**dict.fromkeys(AgentOptions.__annotations__), **_DEFAULTS, **known}
        for one in _LISTS:
            fields[one] = list(fields[one] or ())
        fields["tools"] = tools if isinstance(tools, Toolset | list) else list(tools)
        self.__dict__["_fields"] = fields
        self._build()

    def _build(self) -> None:
        """Be the core's agent of the attributes as they are now."""
        self.__dict__["_building"] = True
        try:
            super().__init__(**self._core_options())
            self.instructions = self._fields["instructions"]
        finally:
            self.__dict__["_building"] = False

    def _core_options(self, run: Begun | None = None, before: Any = None) -> dict[str, Any]:
        """What the core's agent is made of, for a run or for any."""
        fields, config = self._fields, RunConfig() if run is None else run.config
        asked = config.model or fields["model"]
        named = asked or not fields["prompt"] or config.model_provider
        model = resolve(asked, config.model_provider) if named else unnamed()
        if isinstance(model, custom_models.Model) and run is not None:
            model = custom_models.AskedModel(model, self, run.streamed)
        ours = isinstance(model, LaterModel)
        hooks = [] if run is None else [h for h in (run.hooks, fields["hooks"]) if h is not None]
        return {
            "model": model,
            "tools": as_strict(self.all_tools) if ours else self.all_tools,
            "instructions": "" if callable(told := fields["instructions"]) else told or "",
            "name": fields["name"],
            "settings": self._settings(asked, model, config),
            "max_turns": (run and run.max_turns) or fields["max_turns"],
            "output_type": output_type_of(fields["output_type"]),
            "handoffs": lambda: strict_handoffs(self.handoffs, ours),
            "input_guardrails": self._guardrails("input_guardrails", config, run),
            "output_guardrails": self._guardrails("output_guardrails", config, run),
            "steps": [*around_calls(hooks, self), refusal_as_result],
            "model_steps": self._model_steps(hooks, config, run, before),
        }

    def _settings(self, asked: Any, model: Any, config: RunConfig) -> Settings:
        """How a model is asked: its own settings, and over them those of the run."""
        settings: Any = self._fields["model_settings"]
        if not isinstance(settings, Settings):
            merged = (settings or default_settings(asked)).resolve(config.model_settings)
            settings = merged.core(chat=getattr(model, "chat", False))
        keeps = settings.keep_tool_choice or self._fields["reset_tool_choice"] is False
        made: Settings = dataclasses.replace(settings, keep_tool_choice=keeps)
        return made

    def _guardrails(self, name: str, config: RunConfig, run: Begun | None) -> list[Guardrail]:
        """Its own guardrails and those of the run, as the core's."""
        given = (*(self._fields[name] or ()), *(getattr(config, name) or ()))
        return [guardrail.core(self, run) for guardrail in given]

    def _model_steps(
        self, hooks: list[Any], config: RunConfig, run: Begun | None, before: Any
    ) -> list[ModelStep]:
        """What stands around its requests, outermost first."""
        seen = RunContextWrapper.of if run is None else lambda _: run.wrapper
        steps: list[ModelStep] = [] if run is None else [run.turn]
        if callable(told := self._fields["instructions"]):
            steps.append(instructed(told, self, seen))
        if hooks or getattr(before, "hooks", None) is not None:
            steps.append(around_requests(hooks, self, seen, before))
        if (chosen := config.call_model_input_filter) is not None:
            steps.append(filtered(chosen, self))
        if (prompt := self._fields["prompt"]) is not None:
            steps.append(prompted(prompt, self, seen))
        if (decide := decider(self._fields["tool_use_behavior"])) is not None:
            steps.append(deciding(decide, self, seen))
        return steps

    @property
    def handoffs(self) -> Any:
        """To whom it may give the run; a list that may be changed."""
        given: list[Any] = self._fields["handoffs"]
        given[:] = as_handoffs(given)
        return given

    def planned_for(self, asked: Mapping[str, Any]) -> Plan:
        """What a run needs that is given to this agent: with the settings and hooks of that run."""
        run: Begun | None = of_run.get()
        if run is None:
            return super().planned_for(asked)
        before, run.in_charge = run.in_charge, self
        return self.for_run(run, before).planned_for(asked)

    def for_run(self, run: Begun, before: Any = None) -> core.Agent[Any]:
        """The core's agent for one run, of the attributes as they are now.

        Args:
            run: What holds for the run.
            before: Who has given it to this agent, if somebody has.
        """
        return core.Agent(**self._core_options(run, before))

    def _begin_within(self, prompt: Any, call: ToolContext, deps: object) -> Run[Any]:
        """Begin a run that is a call of another: as there, with that one's settings."""
        within: Begun | None = of_run.get()
        if within is None or within.agent is not self:
            return super()._begin_within(prompt, call, deps)
        within.asked_for = prompt
        begun: Run[Any] = self.for_run(within)._begin_within(prompt, call, deps)
        return begun

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
            fields[name] = default_settings(fields["model"])  # what is changed of it counts
        if name in fields:
            return fields[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @recursive_repr()
    def __repr__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self._fields.items())
        return f"{type(self).__name__}({given})"

    def clone(self, **changes: Any) -> Agent[C]:
        """Another agent, with some of its parameters changed."""
        return type(self)(**{**self._fields, **changes})

    @property
    def model(self) -> Any:
        """The model as it was given, or the one it stands for."""
        return self._plan.model

    @property
    def tools(self) -> Any:
        """The tools as they were given: a `FunctionTool` is one still."""
        return self._fields["tools"]

    @property
    def all_tools(self) -> list[ToolOrSource] | Toolset:
        """The tools, and the servers that bring more."""
        given, servers = self._fields["tools"], self._fields["mcp_servers"]
        return [*given, *servers] if servers else given

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Any]:
        """The tools that can be called now: those given, of which some may be off, and the servers'."""
        run = RunContext(run_context.context, agent=self)
        offered = await EnabledTools(await gather(self.all_tools, Toolset(), run), run, False).now()
        return [custom_models.as_given(one, self) for one in offered]

    async def get_system_prompt(self, run_context: RunContextWrapper[Any]) -> str | None:
        """What the model is told before anything else, in such a run."""
        told = self._fields["instructions"]
        text: str | None = await maybe_await(told(run_context, self)) if callable(told) else told
        return text

    def limited(self, max_turns: int) -> Agent[C]:
        """The same agent with another limit."""
        return self.clone(max_turns=max_turns)

    def as_tool(  # type: ignore[override]
        self,
        tool_name: str | None = None,
        tool_description: str | None = None,
        custom_output_extractor: Extractor | None = None,
        **options: Unpack[AsToolOptions],
    ) -> FunctionTool:
        """This agent as a tool of another.

        Args:
            tool_name: Made of the agent's name by default.
            tool_description: For the calling model.
            custom_output_extractor: Makes the tool's result of the run's; may be async.
            options: See `AsToolOptions`.

        Raises:
            TypeError: for an option that is not there.
        """
        about = (tool_name, tool_description)
        return agent_as_tool(self, about, custom_output_extractor, options)


AgentBase = Agent
"""Any agent, in annotations."""

"""`Agent`, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from reprlib import recursive_repr
from typing import Any, Generic, TypeAlias, TypedDict, Unpack

from pydantic import BaseModel
from typing_extensions import TypeVar

from toolkeel.agent import agent as core
from toolkeel.agent import result as core_result
from toolkeel.agent.plan import Plan
from toolkeel.agent.prompt import Instructions as CoreInstructions
from toolkeel.call.tool_sources import Source
from toolkeel.call.toolset import Toolset
from toolkeel.compat.given import only_known, value_of
from toolkeel.compat.openai_agents.behavior import DecidingModel, ending
from toolkeel.compat.openai_agents.context import RunContextWrapper, Usage
from toolkeel.compat.openai_agents.guardrails.agent_guardrails import (
    InputGuardrail,
    OutputGuardrail,
)
from toolkeel.compat.openai_agents.guardrails.verdicts import AgentsException
from toolkeel.compat.openai_agents.handoffs import as_handoffs, held_handoffs
from toolkeel.compat.openai_agents.hooks import AgentHooks, HookedModel, ToolHooks
from toolkeel.compat.openai_agents.models import own
from toolkeel.compat.openai_agents.models.input_filter import FilteredModel
from toolkeel.compat.openai_agents.models.named import (
    LaterModel,
    default_settings,
    resolve,
    unnamed,
)
from toolkeel.compat.openai_agents.output import output_type_of
from toolkeel.compat.openai_agents.prompts import PromptedModel
from toolkeel.compat.openai_agents.result import Given, RunResult, as_result
from toolkeel.compat.openai_agents.settings import ModelSettings, RunConfig
from toolkeel.compat.openai_agents.stream import Begun, telling
from toolkeel.compat.openai_agents.tools import (
    UNSET,
    Approval,
    Enabled,
    FunctionTool,
    Invoker,
    OnFailure,
    failing_as_told,
    held_strictly,
    refusal_as_result,
)
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.model import Model, Settings

T = TypeVar("T")
C = TypeVar("C", default=Any)
Instructions: TypeAlias = "Callable[[RunContextWrapper[Any], Agent[Any]], str | Awaitable[str]]"
MAX_TURNS = 10


class MaxTurnsExceeded(AgentsException):
    """The model was asked as often as it may be, and has not answered."""


class AsToolOptions(TypedDict, total=False):
    """Further options of `Agent.as_tool`.

    Attributes:
        is_enabled: Whether it can be called now.
        max_turns: How often the model may be asked in one call.
        needs_approval: Whether a person must approve a call; see `Approval`.
        parameters: What the caller fills, as a pydantic model; one text by default.
        failure_error_function: What the calling model is told when a run fails; None ends its own
            run.
        on_stream: Told of the events of its runs, as `AgentToolStreamEvent`; may be async.
    """

    is_enabled: Enabled
    max_turns: int | None
    needs_approval: Approval
    parameters: type[BaseModel] | None
    failure_error_function: OnFailure | None
    on_stream: Callable[[Any], Any] | None


class AgentAsToolInput(BaseModel):
    """Default input schema for agent-as-tool calls."""

    input: str


_REFUSED: Mapping[str, str] = {"mcp_config": "the core's MCPServer has what it sets"}


_OWN_RUN = "write a function_tool whose body awaits Runner.run(agent, ...) with it"
_RUN_APART: Mapping[str, str] = dict.fromkeys(
    ("run_config", "hooks", "session", "previous_response_id", "conversation_id", "input_builder"),
    _OWN_RUN,
)


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
    mcp_servers: Sequence[Source]
    tool_use_behavior: Any
    reset_tool_choice: bool
    handoff_description: str | None
    prompt: Any
    handoffs: Sequence[Any]
    input_guardrails: Sequence[InputGuardrail]
    output_guardrails: Sequence[OutputGuardrail]
    hooks: AgentHooks[Any] | None


in_run: ContextVar[Begun | None] = ContextVar("in_run", default=None)
"""The run that goes on: an agent that is given it has its settings and hooks."""


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

    def __init__(
        self,
        name: str = "agent",
        instructions: str | Instructions | None = "",
        tools: Toolset | Iterable[Source] = (),
        model: str | Model | None = None,
        **options: Unpack[AgentOptions],
    ) -> None:
        known = only_known(options, AgentOptions, "Agent", _REFUSED)
        given = tools if isinstance(tools, Toolset | list) else tuple(tools)
        fields: dict[str, Any] = {"name": name, "instructions": instructions, "tools": given}
        self.__dict__["_fields"] = {**fields, "model": model, **known}
        self._fields["handoffs"] = list(options.get("handoffs") or ())
        self._build()

    def _build(self) -> None:
        """Be the core's agent of the attributes as they are now."""
        self.__dict__["_building"] = True
        try:
            super().__init__(**self._core_options())
        finally:
            self.__dict__["_building"] = False

    def _core_options(self, run: Begun | None = None) -> dict[str, Any]:
        """What the core's agent is made of, for a run or for any."""
        fields = self._fields
        config = RunConfig() if run is None else run.config
        guards = [
            [
                guard.core(self, run)
                for guard in (*(fields.get(name) or ()), *(getattr(config, name) or ()))
            ]
            for name in ("input_guardrails", "output_guardrails")
        ]
        asked = config.model or fields["model"]
        named = asked or not fields.get("prompt") or config.model_provider
        model = resolve(asked, config.model_provider) if named else unnamed()
        if isinstance(model, own.Model) and run is not None:
            model = own.AskedModel(model, self, run.streamed)
        settings, ours = fields.get("model_settings"), isinstance(model, LaterModel)
        if not isinstance(settings, Settings):
            merged = (settings or default_settings(asked)).resolve(config.model_settings)
            settings = merged.core(chat=isinstance(model, LaterModel) and model.chat)
        if fields.get("reset_tool_choice") is False:
            settings = dataclasses.replace(settings, keep_tool_choice=True)
        tools = ending(self.all_tools, fields.get("tool_use_behavior") or "run_llm_again")
        return {
            "model": model,
            "tools": held_strictly(tools) if ours else tools,
            "instructions": self._told(fields["instructions"] or ""),
            "name": fields["name"],
            "settings": settings,
            "max_turns": (run and run.max_turns) or fields.get("max_turns", MAX_TURNS),
            "output_type": output_type_of(fields.get("output_type")),
            "handoffs": lambda: held_handoffs(self.handoffs, ours),
            "input_guardrails": guards[0],
            "output_guardrails": guards[1],
            "steps": [refusal_as_result],
        }

    @property
    def handoffs(self) -> Any:
        """To whom it may give the run; a list that may be changed."""
        given: list[Any] = self._fields["handoffs"]
        given[:] = as_handoffs(given)
        return given

    def planned_for(self, asked: Mapping[str, Any]) -> Plan:
        """What a run needs that is given to this agent: with the settings and hooks of that run."""
        run = in_run.get()
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
        context, hooks = run.wrapper, run.hooks
        made = self._core_options(run)
        behavior: Any = self._fields.get("tool_use_behavior")
        if callable(behavior):
            decide: Any = behavior
            made["model"] = DecidingModel(made["model"], decide, self.tools, context, self)
        if (prompt := self._fields.get("prompt")) is not None:
            made["model"] = PromptedModel(made["model"], prompt, context, self)
        if (chosen := run.config.call_model_input_filter) is not None:
            made["model"] = FilteredModel(made["model"], chosen, self, context.context)
        told = [hook for hook in (hooks, self._fields.get("hooks")) if hook is not None]
        if told:
            made["model"] = HookedModel(made["model"], told, self, context, before)
            made["steps"] = [ToolHooks(told, self), refusal_as_result]
        return core.Agent(**made)

    def __setattr__(self, name: str, value: Any) -> None:
        known = name in self._fields or name in AgentOptions.__annotations__
        if known and not self._building:
            self._fields[name] = value
            self._build()
        elif name in _REFUSED and not self._building:
            raise SetupError(f"an agent's {name}: {_REFUSED[name]}")
        else:
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        fields = self.__dict__.get("_fields", {})
        if name in fields:
            return fields[name]
        if name in AgentOptions.__annotations__:
            return None
        if name in _REFUSED:
            raise AttributeError(f"an agent's {name}: {_REFUSED[name]}")
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
    def all_tools(self) -> list[Source] | Toolset:
        """The tools, and the servers that bring more."""
        given, servers = self._fields["tools"], self._fields.get("mcp_servers") or ()
        return [*given, *servers] if servers else given

    async def get_all_tools(self, run_context: RunContextWrapper[Any]) -> list[Any]:
        """The tools that can be called now: those given, of which some may be off, and the servers'."""
        run = RunContext(run_context.context, agent=self)
        found: list[Any] = []
        for one in self.all_tools:
            more = getattr(one, "get_tools", None)
            found += await more(run) if more is not None else [one]
        on = [getattr(one, "is_enabled", True) for one in found]
        said = [is_on(run_context, self) if callable(is_on) else is_on for is_on in on]
        real = [await value_of(one) for one in said]
        return [one for one, is_on in zip(found, real, strict=True) if is_on]

    def _told(self, instructions: str | Instructions) -> CoreInstructions[Any]:
        """The instructions in the core's form."""
        if not callable(instructions):
            return instructions
        return lambda run: instructions(RunContextWrapper(run.deps).joined(run), self)

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
        only_known(options, AsToolOptions, "as_tool", _RUN_APART)
        limit = options.get("max_turns")
        agent = self if limit is None else self.limited(limit)
        streamed = options.get("on_stream")

        def extract(result: core_result.RunResult[Any]) -> object:
            assert custom_output_extractor is not None
            return custom_output_extractor(
                as_result(result, Given(agent, RunContextWrapper(None, Usage.of(result.usage))))
            )

        inner = core.Agent.as_tool(
            agent,
            tool_name,
            tool_description,
            output=extract if custom_output_extractor else None,
            parameters=options.get("parameters") or AgentAsToolInput,
            steps=() if streamed is None else (telling(agent, streamed),),
        )
        inner = failing_as_told(inner, options.get("failure_error_function", UNSET))
        return FunctionTool(
            inner.name,
            inner.description,
            inner.parameters,
            Invoker(inner),
            is_enabled=options.get("is_enabled", True),
            needs_approval=options.get("needs_approval", False),
            timeout_seconds=inner.timeout,
        )


AgentBase = Agent
"""Any agent, in annotations."""
Extractor: TypeAlias = "Callable[[RunResult], str | Awaitable[str]]"

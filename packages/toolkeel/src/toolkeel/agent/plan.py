"""The plan of a run, frozen: model, tools, settings, limits."""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from toolkeel._common.loop_state import CALLBACK_TIMEOUT
from toolkeel._records.record import NOTHING, record
from toolkeel.agent.guardrail import Guardrail
from toolkeel.agent.handoff import AgentLike, Handoff
from toolkeel.agent.history import HistoryPolicy
from toolkeel.agent.output import OutputPlan
from toolkeel.agent.prompt import Instructions
from toolkeel.agent.turn.steps import ModelStep
from toolkeel.call.steps.rules import Rules, check_rules, check_tool_name
from toolkeel.call.tool_sources import ToolOrSource, static_tools
from toolkeel.call.toolset import Toolset
from toolkeel.call.waiting_tools import warn_of_idle_approver, warn_of_waiting_tools
from toolkeel.context import RunContext
from toolkeel.define.tool import Step
from toolkeel.errors import SetupError
from toolkeel.model_interface import Model, Settings
from toolkeel.spending import RunLimits, Spending

_OF_ONE_RUN = ("model", "settings", "limits", "output_type")
"""Parameters of an agent that are options of a run, too."""
TREE_REQUESTS = 10
"""How many times `max_turns` a run and all runs within it may ask models, if nothing is said."""


@record
class Plan:
    """Everything a run needs to know of its agent, with the run's own options applied.

    Args:
        model: The model that is asked.
        tools: The tools that it may call.
        settings: Sampling settings.
        max_turns: Maximum number of model requests.
        search: True to offer a tool that finds the others, rather than all of them.
        output: How the model returns answers of a type; None for plain text.
        agent: The agent's name.
        instructions: The system message, or a function that returns it.
        sources: Tools and tool sources, if there is a source among them; else empty.
        limits: Limits of the run; None for none.
        on_refusal: ``return`` or ``raise`` for a text that was refused or cut off.
        used_tickets: The folder that marks decided tickets; None for one in the user's data folder.
        handoffs: Handoffs by tool name.
        input_guardrails: Checks of the person's messages.
        output_guardrails: Checks of the answer.
        model_steps: Steps around each model request, outermost first.
        requested: Options of the caller for all agents of the run: ``model``, ``output_type``.
        history: The policy that shortens long transcripts; None for the session's.
        callback_timeout: Seconds that a guardrail, predicate or other callback may take.
        find_change: Returns the agent as it is now if it was changed since the plan was made, else
            None; awaited before each turn. None for agents that do not change.
    """

    model: Model
    tools: Toolset
    settings: Settings
    max_turns: int
    search: bool = False
    output: OutputPlan | None = None
    agent: str = "agent"
    instructions: Instructions[Any] = ""
    sources: tuple[ToolOrSource, ...] = ()
    limits: RunLimits | None = None
    on_refusal: Literal["return", "raise"] = "return"
    used_tickets: Path | None = None
    handoffs: Mapping[str, Handoff] = NOTHING  # type: ignore[assignment]
    input_guardrails: tuple[Guardrail, ...] = ()
    output_guardrails: tuple[Guardrail, ...] = ()
    model_steps: tuple[ModelStep, ...] = ()
    requested: Mapping[str, object] = NOTHING
    history: HistoryPolicy | None = None
    callback_timeout: float | None = CALLBACK_TIMEOUT
    find_change: Callable[[], Awaitable[AgentLike | None]] | None = None

    def with_handoffs(self, handoffs: Sequence[Handoff]) -> Plan:
        """Return the plan with the tools that pass the run to other agents.

        Raises:
            SetupError: two of the agents have the same name, which saved runs identify them by.
        """
        if not handoffs:
            return self
        known: dict[str, object] = {self.agent: None}
        for each in handoffs:
            if known.setdefault(each.agent.name, each.agent) is not each.agent:
                raise SetupError(
                    f"two agents of a handoff are called {each.agent.name!r}, so that nobody could "
                    "tell which of them has a saved run; give each a name: Agent(..., name='billing')"
                )
        return dataclasses.replace(
            self.with_tools([each.tool for each in handoffs]),
            handoffs={each.tool.name: each for each in handoffs},
        )

    def with_tools(self, tools: Sequence[ToolOrSource]) -> Plan:
        """Return a copy of the plan with further tools and tool sources, or raise DuplicateToolError."""
        known, sources = static_tools(tools)
        own = self.sources or (tuple(self.tools) if sources else ())
        return dataclasses.replace(
            self,
            tools=self.tools.with_tools([*self.tools, *known]),
            sources=(*own, *tools) if own or sources else (),
        )

    def map_tools(self, change: Callable[[Any], ToolOrSource], steps: Sequence[Step]) -> Plan:
        """Return the plan with each tool and source replaced by a function's result, inside further steps."""
        known: list[Any] = [change(each) for each in self.tools]
        return dataclasses.replace(
            self,
            tools=self.tools.with_tools(known).with_steps(*steps),
            sources=tuple(change(each) for each in self.sources),
        )

    def warn_of_approver(self) -> None:
        """Log a warning if no known tool has an approval, so that the run's approver is never called."""
        if not (self.sources or self.handoffs):
            warn_of_idle_approver(self.tools)

    def validate(self, rules: Rules | None) -> None:
        """Raise unless the tools that rules, limits and settings name exist.

        Plans with tool sources or handoffs are not checked, since their tools are not all known yet.
        Logs a warning if results of some tools will require approval of others, or if a missing tool may
        be called by other tools' bodies.

        Args:
            rules: The agent's own rules, if it has any.

        Raises:
            SetupError: naming the option and what it should be.
        """
        warn_of_waiting_tools(self.tools)
        if self.sources or self.handoffs:  # which bring further tools
            return
        tools = list(self.tools)
        if rules is not None:
            check_rules(rules, tools)
        if self.limits is not None:
            for name in (*self.limits.calls, *self.limits.failures):
                check_tool_name("RunLimits", name, tools)
        if self.settings.tool_choice not in (None, "auto", "none", "required"):
            check_tool_name("Settings(tool_choice=...)", self.settings.tool_choice, tools)


def add_limits(run: RunContext, plan: Plan, limits: RunLimits) -> None:
    """Give a run limits of its own, inside those of the run around it; raise `SetupError` for one below 0.

    Without a limit of requests there is one of `TREE_REQUESTS` times the plan's `max_turns`.
    """
    run.scope.spending = Spending(limits, TREE_REQUESTS * plan.max_turns, run.scope.spending)
    run.scope.owns_spending = True


def set_before_plan(init: Callable[..., None]) -> Callable[[Any, str, object], None]:
    """Return a ``__setattr__`` that sets a parameter only before the agent has its plan, which runs read.

    Args:
        init: The function with the parameters. Other attributes can be set at any time.
    """
    parameters = frozenset(init.__annotations__)

    def set_attribute(agent: Any, name: str, value: object) -> None:
        """Set an attribute, or raise AttributeError for a parameter of `init` once the agent has its plan."""
        if name in parameters and "_plan" in vars(agent):
            for_one = f"run(prompt, {name}=...) for one run, or " if name in _OF_ONE_RUN else ""
            raise AttributeError(
                f"Agent: {name!r} cannot be set, as an agent does not change; write {for_one}"
                f"Agent(..., {name}=...) for another agent",
                name=name,
                obj=agent,
            )
        object.__setattr__(agent, name, value)

    return set_attribute

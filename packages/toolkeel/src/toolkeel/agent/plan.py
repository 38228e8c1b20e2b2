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

TREE_REQUESTS = 10
"""How many times `max_turns` a run and all runs within it may ask models, if nothing is said."""


@record
class Plan:
    """What a run needs of its agent.

    Args:
        model: Who answers.
        tools: What it may call.
        settings: How to sample.
        max_turns: How often it may be asked.
        search: True if it is told of a tool that finds the others, rather than of all.
        output: How answers of a given form are had; None if text will do.
        agent: The agent's name.
        instructions: What it is told before anything else.
        sources: Tools and those who bring some when a run begins; none if all are known.
        limits: What a run may spend; None if nothing was said.
        on_refusal: What becomes of a text that was refused or cut off.
        used_tickets: A folder where decided tickets are noted; None: one of the user's data folder.
        handoffs: To whom it may give the run, by the tools' names.
        input_guardrails: Look at what a person says.
        output_guardrails: Look at what it answers.
        model_steps: Stand around each model request, outermost first.
        asked: What the caller wants of the whole run, whoever has it: ``model``, ``output_type``.
        history: Says what of a long transcript the model is still shown.
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
            SetupError: two of the agents have one name, by which a saved run knows them.
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
        """Return the plan with further tools and tool sources."""
        known, sources = static_tools(tools)
        own = self.sources or (tuple(self.tools) if sources else ())
        return dataclasses.replace(
            self,
            tools=self.tools.with_tools([*self.tools, *known]),
            sources=(*own, *tools) if own or sources else (),
        )

    def map_tools(self, change: Callable[[Any], ToolOrSource], steps: Sequence[Step]) -> Plan:
        """Return the plan with its tools and tool sources changed, inside further steps."""
        known: list[Any] = [change(each) for each in self.tools]
        return dataclasses.replace(
            self,
            tools=self.tools.with_tools(known).with_steps(*steps),
            sources=tuple(change(each) for each in self.sources),
        )

    def warn_of_approver(self) -> None:
        """Log a warning if no call of the tools that are known can reach a run's approver."""
        if not (self.sources or self.handoffs):
            warn_of_idle_approver(self.tools)

    def validate(self, rules: Rules | None) -> None:
        """Raise unless the tools, agents and arguments that options name exist.

        Args:
            rules: The agent's own.

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
    """Give a run limits of its own, inside those of the run around it."""
    run.scope.spending = Spending(limits, TREE_REQUESTS * plan.max_turns, run.scope.spending)
    run.scope.owns_spending = True

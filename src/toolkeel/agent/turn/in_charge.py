"""The agent in charge of a run: its instructions and tools, and those who had the run before (handoff)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from toolkeel.agent.guardrail import Guardrail
from toolkeel.agent.handoff import Handoff, HandoffHistory, Takes, find_agent
from toolkeel.agent.history import Cut, Shown
from toolkeel.agent.output import check_answers
from toolkeel.agent.plan import Plan
from toolkeel.agent.prompt import told
from toolkeel.agent.run_state import RunState
from toolkeel.call.sources import gather
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.events import HandedOver
from toolkeel.messages import Message, SystemMessage, UserMessage


class InCharge:
    """Who has a run, and who had it before: their rules, steps and input guardrails hold on.

    Args:
        plan: Of the agent that begins.
        run: The run.

    Attributes:
        plan: Of the agent that has it now.
        before: Plans of those that had it, each once.
        shown: What the model is sent of the transcript.
        given: How many messages the run began with.
        most: How often models may be asked in it: as the agent says that begins.
    """

    def __init__(self, plan: Plan, run: RunContext[Any]) -> None:
        self.plan = plan
        self.before: tuple[Plan, ...] = ()
        self.shown = Shown()
        self.given = 0
        self.most = plan.max_turns
        self._run = run
        self._around: Toolset | None = run.policy

    @property
    def guardrails(self) -> list[Guardrail]:
        """What looks at what a person says."""
        return [each for plan in (*self.before, self.plan) for each in plan.input_guardrails]

    def resume(self, state: RunState, *, goes_on: bool) -> None:
        """Let the agent have the run that had it when it was saved.

        Args:
            state: Where it stood.
            goes_on: Whether that run goes on, rather than another one of its session begins.

        Raises:
            SetupError: the agent cannot be reached from this one.
        """
        self.shown = Shown(state.cuts)
        if not state.path:
            return
        first: Takes = self._run.agent  # type: ignore[assignment]
        agent, by = first, None
        plans: dict[str, Plan] = {}
        for name in (*state.path, state.agent):
            found = find_agent(first, name)
            if found is None:
                raise SetupError(
                    f"this run was handed over to {name!r}, which the agent {first.name!r} cannot "
                    "reach by its handoffs; give it the handoffs it had"
                )
            agent, by = found
            plans[name] = self.plan if agent is first else agent.planned_for(self.plan.asked)
        if goes_on or by is None or by.stays:
            plan = plans.pop(state.agent)
            self._run.agent, self.plan, self.before = agent, plan, tuple(plans.values())

    async def instruct(self, text: str | None = None) -> str:
        """Put what the agent is told at the transcript's beginning, in place of what was there.

        Args:
            text: As it was evaluated before, in a run that goes on.
        """
        run = self._run
        text = await told(self.plan.instructions, run) if text is None else text
        run.transcript[: run.told] = [SystemMessage(text)] if text else []
        run.told = 1 if text else 0
        return text

    async def tools(self) -> Toolset:
        """What the agent may call; all that stands around the run holds for it."""
        run, plan, outer = self._run, self.plan, self._around
        tools = plan.tools
        if plan.sources:
            tools = await gather(plan.sources, tools, run)
        for earlier in self.before:
            outer = earlier.tools.under(outer)
        tools = run.policy = tools.under(outer)
        if plan.output is not None:
            check_answers(tools)
        return tools

    async def hand_over(self, handoff: Handoff) -> Toolset:
        """Give the run to another agent.

        Returns:
            What that one may call.
        """
        run, left, agent = self._run, self.plan, handoff.agent
        kept = self.shown.now(run.transcript, run.told)[run.told :]
        seen = await handoff.seen(HandoffHistory(tuple(kept), self.given, run, handoff))
        plan: Plan = agent.planned_for(left.asked)
        before = {each.agent: each for each in (*self.before, left)}
        before.pop(plan.agent, None)
        run.agent, self.plan = agent, plan
        self.before = tuple(before.values())
        if seen is not None:
            self.shown.cut(Cut(0, len(run.messages), tuple(seen), "handoff"))
        was_told = run.told
        text = await self.instruct()
        if run.recorder is not None:
            shown = tuple(seen or ())
            run.recorder.handed_over(plan.agent, text, shown, (seen is None, run.told - was_told))
        tools = await self.tools()
        if run.listeners:
            run.tell(HandedOver(*run.next(), left.agent, plan.agent, plan.model.name))
        return tools


def said_last(messages: Sequence[Message]) -> list[Message]:
    """What the person has said that no model has answered yet."""
    found: list[Message] = []
    for message in reversed(messages):
        if not isinstance(message, UserMessage):
            break
        found.insert(0, message)
    return found

"""The agent that owns the run, and the agents before it: instructions, tools, handoff."""

from __future__ import annotations

from collections.abc import Sequence

from toolkeel.agent.guardrail import Guardrail
from toolkeel.agent.handoff import AgentLike, Handoff, HandoffHistory, find_agent
from toolkeel.agent.history import Cut, TranscriptWindow
from toolkeel.agent.output import check_no_tool_ends_run
from toolkeel.agent.plan import Plan
from toolkeel.agent.prompt import insert_instructions
from toolkeel.agent.run_state import RunState
from toolkeel.call.tool_sources import SourceReader
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.events import HandedOver


class ActiveAgent:
    """The agent that owns the run, and the agents before it.

    Rules, steps and input guardrails of the agents before it still apply.

    Args:
        plan: Of the agent that starts the run.
        run: The run.

    Attributes:
        plan: Of the agent that owns the run now.
        before: Plans of the agents before it, each once.
        max_turns: Most model requests of the run, as the agent that started it says.
    """

    def __init__(self, plan: Plan, run: RunContext) -> None:
        self.plan = plan
        self.before: tuple[Plan, ...] = ()
        self.max_turns = plan.max_turns
        self._run = run
        self._outer_toolset: Toolset | None = run.scope.toolset
        self._reader: SourceReader | None = None

    @property
    def guardrails(self) -> list[Guardrail]:
        """Input guardrails of all agents that own or owned the run."""
        return [each for plan in (*self.before, self.plan) for each in plan.input_guardrails]

    def restore(self, state: RunState, *, resumed: bool) -> None:
        """Make the agent that was active when the run was saved active again.

        Args:
            state: The saved run.
            resumed: That run continues; False if a new run of its session starts.

        Raises:
            SetupError: the agent cannot be reached from this one.
        """
        if not state.previous_agents:
            return
        first: AgentLike = self._run.agent  # type: ignore[assignment]
        agent, by = first, None
        plans: dict[str, Plan] = {}
        for name in (*state.previous_agents, state.agent):
            found = find_agent(first, name)
            if found is None:
                raise SetupError(
                    f"this run was handed over to {name!r}, which the agent {first.name!r} cannot "
                    "reach by its handoffs; give it the handoffs it had"
                )
            agent, by = found
            plans[name] = self.plan if agent is first else agent.plan_for(self.plan.requested)
        if resumed or by is None or by.sticky:
            plan = plans.pop(state.agent)
            self._run.agent, self.plan, self.before = agent, plan, tuple(plans.values())

    async def instruct(self, text: str | None = None) -> str:
        """Start the transcript with the agent's system message. See `prompt.instruct`."""
        self._run.scope.callback_timeout = self.plan.callback_timeout
        self._run.scope.toolset = self.plan.tools.within(self._find_outer())  # calls obey its rules
        return await insert_instructions(self._run, self.plan.instructions, text)

    async def gather_tools(self) -> Toolset:
        """Return the agent's tools under the steps and rules of everything around the run."""
        run, plan = self._run, self.plan
        self._reader = SourceReader(plan.sources, plan.tools, run) if plan.sources else None
        return await self._read_sources()

    async def _read_sources(self) -> Toolset:
        plan, tools = self.plan, self.plan.tools
        if self._reader is not None:
            tools = await self._reader.read()
        tools = self._run.scope.toolset = tools.within(self._find_outer())
        if plan.output is not None:
            check_no_tool_ends_run(tools)
        return tools

    def _find_outer(self) -> Toolset | None:
        """Return the set around the agent's tools: of the agents before it and the run around."""
        outer = self._outer_toolset
        for earlier in self.before:
            outer = earlier.tools.within(outer)
        return outer

    async def hand_over(self, handoff: Handoff, window: TranscriptWindow) -> Toolset:
        """Make another agent active, and return its tools.

        Args:
            handoff: The handoff to that agent.
            window: Shows it the transcript, as the handoff's filter says.

        Returns:
            The tools of that agent.
        """
        run, left, agent = self._run, self.plan, handoff.agent
        history = tuple(window.view(run).messages)
        shown = await handoff.filter_history(
            HandoffHistory(history, window.initial_count, run, handoff)
        )
        plan: Plan = agent.plan_for(left.requested)
        before = {each.agent: each for each in (*self.before, left)}
        before.pop(plan.agent, None)
        run.agent, self.plan = agent, plan
        self.before = tuple(before.values())
        if shown is not None:
            window.apply_cut(Cut(0, len(run.messages), tuple(shown), "handoff"))
        instruction_count = run.loop_state.instruction_count
        text = await self.instruct()
        if run.recorder is not None:
            grown = run.loop_state.instruction_count - instruction_count
            run.recorder.record_handoff(
                plan.agent, text, tuple(shown or ()), (shown is None, grown)
            )
        tools = await self.gather_tools()
        if run.listeners:
            run.emit(HandedOver(*run.next_event_fields(), left.agent, plan.agent, plan.model.name))
        return tools

    async def refresh(self) -> Toolset | None:
        """Continue with the instructions, tools and settings of an agent that was changed.

        Returns:
            Its tools; None if it was not changed since its plan was made.
        """
        find = self.plan.find_change
        if find is None or (agent := await find()) is None:
            return None
        run = self._run
        self.plan = agent.plan_for(self.plan.requested)
        count, text = run.loop_state.instruction_count, await self.instruct()
        if run.recorder is not None:
            grown = run.loop_state.instruction_count - count
            run.recorder.record_handoff(self.plan.agent, text, (), (True, grown))
        return await self.gather_tools()

    async def update_tools(self) -> Toolset | None:
        """Read sources again whose tools have changed.

        Returns:
            The tools of the agent; None if they are as they were.
        """
        if self._reader is None or not self._reader.has_changed():
            return None
        old = self._run.scope.toolset
        new = await self._read_sources()
        same = len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))
        return None if same else new

    def list_handoffs_here(self) -> Sequence[str]:
        """Return the names of the tools by which earlier agents can hand over to this agent."""
        return [
            name
            for before in self.before
            for name, handoff in before.handoffs.items()
            if handoff.agent.name == self.plan.agent
        ]

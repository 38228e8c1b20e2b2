"""The agent that owns the run, and the agents before it: instructions, tools, handoff."""

from __future__ import annotations

from collections.abc import Sequence

from toolkeel.agent.guardrail import Guardrail
from toolkeel.agent.handoff import (
    AgentLike,
    Handoff,
    HandoffHistory,
    find_agent,
    find_pending_handoff,
    list_agents,
)
from toolkeel.agent.history import Cut, TranscriptWindow
from toolkeel.agent.output import check_no_tool_ends_run
from toolkeel.agent.plan import Plan
from toolkeel.agent.prompt import insert_instructions
from toolkeel.agent.resume import fits_tool, own_tickets
from toolkeel.agent.run_state import RunState
from toolkeel.call.steps.label_sources import restore_labels
from toolkeel.call.tool_sources import SourceReader, gather_tools
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.events import HandedOver


class ActiveAgent:
    """The agent that owns the run, and the agents before it.

    Rules, steps and input guardrails of the agents before it still apply.

    Args:
        plan: Plan of the agent that starts the run.
        run: The run.

    Attributes:
        plan: Plan of the agent that owns the run now.
        before: Plans of the agents before it, each once.
        max_turns: Maximum number of model requests of the run, from the agent that started it.
    """

    def __init__(self, plan: Plan, run: RunContext) -> None:
        self.plan = plan
        self.before: tuple[Plan, ...] = ()
        self.max_turns = plan.max_turns
        self._run = run
        self._first: AgentLike = run.agent  # type: ignore[assignment]
        self._outer_toolset: Toolset | None = run.scope.toolset
        self._reader: SourceReader | None = None

    @property
    def guardrails(self) -> list[Guardrail]:
        """Input guardrails of all agents that own or owned the run."""
        return [each for plan in (*self.before, self.plan) for each in plan.input_guardrails]

    def restore(self, state: RunState, *, resumed: bool) -> None:
        """Make the agent active that owned the run when it was saved; do nothing if that was the first one.

        Args:
            state: The saved run.
            resumed: True if that run continues; False if a new run of its session starts, in which a
                handoff that is not sticky ends.

        Raises:
            SetupError: the agent cannot be reached from this one.
        """
        if not state.previous_agents:
            return
        first = self._first
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
        """Insert the agent's instructions into the transcript, replacing earlier ones, and return their text.

        Side effect: the run gets the agent's toolset and callback timeout.

        Args:
            text: The text as evaluated before, in a resumed run; None to evaluate it now.

        Raises:
            SetupError: the function for instructions returned something else than text.
            CallbackTimeout: it took too long.
            Exception: what it raised.
        """
        self._run.scope.callback_timeout = self.plan.callback_timeout
        self._run.scope.toolset = self.plan.tools.within(self._find_outer())  # calls obey its rules
        return await insert_instructions(self._run, self.plan.instructions, text)

    async def gather_tools(self) -> Toolset:
        """Start reading the agent's sources, and return its tools and theirs, within the run's steps and rules.

        Raises:
            SetupError: a tool ends the run, but the answer must have a type.
        """
        run, plan = self._run, self.plan
        self._reader = SourceReader(plan.sources, plan.tools, run) if plan.sources else None
        return await self._read_sources()

    async def _read_sources(self) -> Toolset:
        """Read the tool sources and set the run's toolset. Return it.

        Raises:
            SetupError: a tool ends the run, but the answer must have a type.
        """
        plan, tools = self.plan, self.plan.tools
        if self._reader is not None:
            tools = await self._reader.read()
        tools = self._run.scope.toolset = tools.within(self._find_outer())
        if plan.output is not None:
            check_no_tool_ends_run(tools)
        return tools

    async def find_lenders(self, start: object, tools: Toolset) -> dict[str, Toolset]:
        """Return the toolsets of other agents that made waiting calls of a saved run, by call id.

        They have handed over since. Where the saved run does not say who made a call, or names an agent
        that cannot be reached any more, it is the active agent, or the nearest that has the call's tool.

        Args:
            start: The saved run; another start has no waiting calls.
            tools: The tools of the active agent.
        """
        if not isinstance(start, RunState):
            return {}
        agents = {agent.name: agent for agent, _ in list_agents(self._first)}
        lenders: dict[str, Toolset] = {}
        lent = {self.plan.agent: tools}
        for ticket in own_tickets(start):
            by = start.made_by.get(ticket.call_id, "")
            for name in (by,) if by in agents else (self.plan.agent, *agents):
                if name not in lent:
                    lent[name] = await self._read_tools(agents[name])
                if by in agents or fits_tool(ticket, lent[name]):
                    lenders[ticket.call_id] = lent[name]
                    break
        return {id: theirs for id, theirs in lenders.items() if theirs is not tools}

    async def _read_tools(self, agent: AgentLike) -> Toolset:
        """Return the tools of an agent that had the run, within the run's steps and rules."""
        plan: Plan = agent.plan_for(self.plan.requested)
        tools = plan.tools
        if plan.sources:
            tools = await gather_tools(plan.sources, tools, self._run)
        return tools.within(self._find_outer())

    def find_pending_handoff(self, start: object) -> Handoff | None:
        """Return the handoff that a saved run has called and not made yet, or None."""
        owner = start.agent if isinstance(start, RunState) else ""
        return find_pending_handoff(self._run.transcript, self.plan.handoffs, owner)

    def _find_outer(self) -> Toolset | None:
        """Return the toolset whose steps and rules apply around the agent's own, or None.

        It is that of the outer run and of earlier agents.
        """
        outer = self._outer_toolset
        for earlier in self.before:
            outer = earlier.tools.within(outer)
        return outer

    async def hand_over(self, handoff: Handoff, window: TranscriptWindow) -> Toolset:
        """Make another agent active: its instructions, history, tools, journal entry and event.

        Args:
            handoff: The handoff to that agent.
            window: The part of the transcript that is sent; the handoff's filter may replace it.

        Returns:
            The tools of that agent.

        Raises:
            SetupError, CallbackTimeout: the agent's instructions, sources or the handoff's filter fail.
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
        """If the agent was changed, continue with its present instructions, tools and settings.

        Returns:
            Its tools; None if it was not changed since its plan was made.

        Raises:
            SetupError: as for `gather_tools`.
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
        tools = await self.gather_tools()
        restore_labels(run, (), tools)
        return tools

    async def update_tools(self) -> Toolset | None:
        """Read the tool sources again if they report a change.

        The run's labels then follow the new definitions, which may contain a stranger's text.

        Returns:
            The agent's tools, or None if they are the same.

        Raises:
            SetupError: as for `gather_tools`.
        """
        if self._reader is None or not self._reader.has_changed():
            return None
        old = self._run.scope.toolset
        new = await self._read_sources()
        same = len(old) == len(new) and all(a is b for a, b in zip(old, new, strict=True))
        if same:
            return None
        restore_labels(self._run, (), new)  # what they are said to do may be a stranger's text
        return new

    def list_handoffs_here(self) -> Sequence[str]:
        """Return the names of the tools by which earlier agents can hand over to this agent."""
        return [
            name
            for before in self.before
            for name, handoff in before.handoffs.items()
            if handoff.agent.name == self.plan.agent
        ]

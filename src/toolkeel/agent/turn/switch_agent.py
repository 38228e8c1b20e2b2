"""The agent in charge of a run: its instructions and tools, and those who had the run before (handoff)."""

from __future__ import annotations

from collections.abc import Sequence

from toolkeel._records.kept_results import KEPT
from toolkeel.agent.guardrail import Guardrail
from toolkeel.agent.handoff import AgentLike, Handoff, HandoffHistory, find_agent
from toolkeel.agent.history import Cut, HistoryPolicy, SentHistory, ShortenedTranscript
from toolkeel.agent.output import check_no_tool_ends_run
from toolkeel.agent.plan import Plan
from toolkeel.agent.prompt import instruct
from toolkeel.agent.run_state import RunState
from toolkeel.agent.session_interface import Going
from toolkeel.agent.turn.read_result import READ, reading_tool
from toolkeel.call.tool_sources import gather
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.define.tool import AnyTool
from toolkeel.errors import SetupError
from toolkeel.events import HandedOver
from toolkeel.messages import Message, Usage, UserMessage


class InCharge:
    """Who has a run, and who had it before: their rules, steps and input guardrails hold on.

    Args:
        plan: Of the agent that begins.
        run: The run.

    Attributes:
        plan: Of the agent that has it now.
        before: Plans of those that had it, each once.
        sent: What the model is sent of the transcript.
        given: How many messages the run began with.
        most: How often models may be asked in it: as the agent says that begins.
        reader: The tool by which the model reads what it is not shown whole; empty if there is none.
    """

    def __init__(self, plan: Plan, run: RunContext) -> None:
        self.plan = plan
        self.before: tuple[Plan, ...] = ()
        self.sent = SentHistory()
        self.given = 0
        self.most = plan.max_turns
        self.reader = ""
        self._run = run
        self._around: Toolset | None = run.scope.toolset
        self._history: HistoryPolicy | None = None
        self._whole: ShortenedTranscript | None = None
        self._looks = False

    @property
    def history(self) -> HistoryPolicy | None:
        """What says how much of the transcript is shown: the agent's own policy, else the session's."""
        return self.plan.history or self._history

    def join(self, going: Going) -> None:
        """Be part of a session; see `resume`."""
        self._history, self._whole = going.history, going.whole
        self.resume(going.state, goes_on=going.state.instructions is not None)

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
        self.sent = SentHistory(state.cuts)
        if not state.path:
            return
        first: AgentLike = self._run.agent  # type: ignore[assignment]
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
        """Have the transcript begin with the agent's system message; see `prompt.instruct`."""
        return await instruct(self._run, self.plan.instructions, text)

    async def tools(self) -> Toolset:
        """What the agent may call; all that stands around the run holds for it."""
        run, plan, outer = self._run, self.plan, self._around
        tools = plan.tools
        if plan.sources:
            tools = await gather(plan.sources, tools, run)
        for earlier in self.before:
            outer = earlier.tools.under(outer)
        tools = run.scope.toolset = tools.under(outer)
        if plan.output is not None:
            check_no_tool_ends_run(tools)
        return tools

    async def hand_over(self, handoff: Handoff) -> Toolset:
        """Give the run to another agent.

        Returns:
            What that one may call.
        """
        run, left, agent = self._run, self.plan, handoff.agent
        kept = self.sent.view(run).messages
        seen = await handoff.seen(HandoffHistory(tuple(kept), self.given, run, handoff))
        plan: Plan = agent.planned_for(left.asked)
        before = {each.agent: each for each in (*self.before, left)}
        before.pop(plan.agent, None)
        run.agent, self.plan = agent, plan
        self.before = tuple(before.values())
        if seen is not None:
            self.sent.cut(Cut(0, len(run.messages), tuple(seen), "handoff"))
        was_told = run.loop_state.instruction_count
        text = await self.instruct()
        if run.recorder is not None:
            sent = tuple(seen or ())
            run.recorder.handed_over(
                plan.agent, text, sent, (seen is None, run.loop_state.instruction_count - was_told)
            )
        tools = await self.tools()
        if run.listeners:
            run.tell(HandedOver(*run.next(), left.agent, plan.agent, plan.model.name))
        return tools

    # — what the model is shown of it —

    def reading(self, tools: Toolset) -> tuple[AnyTool, ...]:
        """What the model needs besides these tools to read what it is not shown whole."""
        run, sent = self._run, self.sent
        whole = self._whole or ShortenedTranscript(lambda: sent.cuts, lambda: run.messages)
        able = self.history is not None and len(tools) > 0
        self.reader = ""
        if not (able or whole.named):
            return ()
        self._look(whole)
        self.reader = tools.keeper[0] if tools.keeper is not None else READ
        return () if tools.keeper is not None or READ in tools else (reading_tool(whole),)

    def _look(self, whole: ShortenedTranscript) -> None:
        """Let whatever opens kept results find those of this run, as long as it goes on."""
        if self._looks:
            return

        async def forget() -> None:
            KEPT.elsewhere.remove(find)

        self._looks, find = True, whole.find
        KEPT.elsewhere.append(find)
        self._run.loop_state.cleanups.append(forget)

    async def shorten(self) -> Usage:
        """Have the history policy look at what would be sent next; what that cost."""
        view = self.sent.view(self._run)
        if self.history is None:
            return Usage()
        view.reader, view.asked = self.reader, self._asked()
        return await self.sent.shorten(self.history, self._run, view)

    def _asked(self) -> int:
        """Where what the person asked stands, that the run began with."""
        return max(0, self.given - len(said_last(self._run.messages[: self.given])))


def said_last(messages: Sequence[Message]) -> list[Message]:
    """What the person has said that no model has answered yet."""
    found: list[Message] = []
    for message in reversed(messages):
        if not isinstance(message, UserMessage) or message.origin != "person":
            break
        found.insert(0, message)
    return found

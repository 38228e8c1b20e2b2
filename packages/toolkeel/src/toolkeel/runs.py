"""Runs of an agent: context, result, saved state, handoffs, guardrails, history, transcript repair."""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.agent.agent import Agent as Agent
    from toolkeel.agent.guardrail import Guardrail as Guardrail
    from toolkeel.agent.guardrail import GuardrailTripped as GuardrailTripped
    from toolkeel.agent.handoff import Handoff as Handoff
    from toolkeel.agent.handoff import HandoffHistory as HandoffHistory
    from toolkeel.agent.handoff import flatten_history as flatten_history
    from toolkeel.agent.handoff import remove_tool_calls as remove_tool_calls
    from toolkeel.agent.history import Cut as Cut
    from toolkeel.agent.history import HistoryPolicy as HistoryPolicy
    from toolkeel.agent.history import HistoryView as HistoryView
    from toolkeel.agent.result import CallFailure as CallFailure
    from toolkeel.agent.result import RunResult as RunResult
    from toolkeel.agent.run import Run as Run
    from toolkeel.agent.run_state import RunState as RunState
    from toolkeel.agent.transcript import repair as repair
    from toolkeel.agent.transcript_media import within_limit as within_limit
    from toolkeel.context import CancelToken as CancelToken
    from toolkeel.context import RunContext as RunContext
    from toolkeel.context import ToolContext as ToolContext
    from toolkeel.spending import Price as Price
    from toolkeel.spending import RunLimits as RunLimits
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.agent.agent": "Agent",
            "toolkeel.agent.guardrail": "Guardrail GuardrailTripped",
            "toolkeel.agent.handoff": "Handoff HandoffHistory flatten_history remove_tool_calls",
            "toolkeel.agent.history": "Cut HistoryPolicy HistoryView",
            "toolkeel.agent.result": "CallFailure RunResult",
            "toolkeel.agent.run": "Run",
            "toolkeel.agent.run_state": "RunState",
            "toolkeel.agent.transcript": "repair",
            "toolkeel.agent.transcript_media": "within_limit",
            "toolkeel.context": "CancelToken RunContext ToolContext",
            "toolkeel.spending": "Price RunLimits",
        },
    )

"""Runs of an agent: context, result, saved state, handoffs, guardrails, history, transcript repair."""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.agent.agent import Agent as Agent
    from toolkeel.agent.guardrail import Guardrail as Guardrail
    from toolkeel.agent.guardrail import GuardrailTripped as GuardrailTripped
    from toolkeel.agent.handoff import Handoff as Handoff
    from toolkeel.agent.handoff import HandoffHistory as HandoffHistory
    from toolkeel.agent.handoff import as_text as as_text
    from toolkeel.agent.handoff import without_calls as without_calls
    from toolkeel.agent.history import Cut as Cut
    from toolkeel.agent.history import HistoryPolicy as HistoryPolicy
    from toolkeel.agent.history import View as View
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
            "toolkeel.agent.handoff": "Handoff HandoffHistory as_text without_calls",
            "toolkeel.agent.history": "Cut HistoryPolicy View",
            "toolkeel.agent.result": "RunResult",
            "toolkeel.agent.run": "Run",
            "toolkeel.agent.run_state": "RunState",
            "toolkeel.agent.transcript": "repair",
            "toolkeel.agent.transcript_media": "within_limit",
            "toolkeel.context": "CancelToken RunContext ToolContext",
            "toolkeel.spending": "Price RunLimits",
        },
    )

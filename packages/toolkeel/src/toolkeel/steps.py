"""Steps around a call or a model request (middleware): guards, limits, caches, retries, fallback."""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.agent.turn.model_fallback import Fallback as Fallback
    from toolkeel.agent.turn.redact_messages import Redact as Redact
    from toolkeel.agent.turn.steps import ModelStep as ModelStep
    from toolkeel.agent.turn.steps import SendRequest as SendRequest
    from toolkeel.call.steps.cache import Cache as Cache
    from toolkeel.call.steps.call_limits import CallLimit as CallLimit
    from toolkeel.call.steps.call_limits import ConcurrencyLimit as ConcurrencyLimit
    from toolkeel.call.steps.call_limits import RateLimit as RateLimit
    from toolkeel.call.steps.guard import Allow as Allow
    from toolkeel.call.steps.guard import InputGuard as InputGuard
    from toolkeel.call.steps.guard import OutputGuard as OutputGuard
    from toolkeel.call.steps.guard import Reject as Reject
    from toolkeel.call.steps.guard import Stop as Stop
    from toolkeel.call.steps.guard import input_guard as input_guard
    from toolkeel.call.steps.guard import output_guard as output_guard
    from toolkeel.call.steps.retry import Retry as Retry
    from toolkeel.define.tool import Prepared as Prepared
    from toolkeel.define.tool import Proceed as Proceed
    from toolkeel.define.tool import Step as Step
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.agent.turn.model_fallback": "Fallback",
            "toolkeel.agent.turn.redact_messages": "Redact",
            "toolkeel.agent.turn.steps": "ModelStep SendRequest",
            "toolkeel.call.steps.cache": "Cache",
            "toolkeel.call.steps.guard": "Allow InputGuard OutputGuard Reject Stop input_guard output_guard",
            "toolkeel.call.steps.call_limits": "ConcurrencyLimit CallLimit RateLimit",
            "toolkeel.call.steps.retry": "Retry",
            "toolkeel.define.tool": "Prepared Proceed Step",
        },
    )

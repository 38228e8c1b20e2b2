"""Values that can be read while they arrive: arguments, calls, typed answers (partial JSON)."""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel.agent.reply_assembly import assemble as assemble
    from toolkeel.agent.run import Run as Run
    from toolkeel.agent.streamed_calls import PartialCall as PartialCall
    from toolkeel.agent.streamed_calls import PartialCalls as PartialCalls
    from toolkeel.agent.streamed_calls import PartialOutput as PartialOutput
    from toolkeel.call.arguments.partial import PartialArguments as PartialArguments
    from toolkeel.call.arguments.partial_value import PartialValue as PartialValue
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel.agent.streamed_calls": "PartialCall PartialCalls PartialOutput",
            "toolkeel.agent.run": "Run",
            "toolkeel.agent.reply_assembly": "assemble",
            "toolkeel.call.arguments.partial": "PartialArguments",
            "toolkeel.call.arguments.partial_value": "PartialValue",
        },
    )

"""Approval of calls by a person (human in the loop): tickets, decisions, rules."""

from typing import TYPE_CHECKING

from toolkeel._lazy_exports import door

if TYPE_CHECKING:
    from toolkeel._records.tickets import Decision as Decision
    from toolkeel._records.tickets import Ticket as Ticket
    from toolkeel.call.steps.rules import Rule as Rule
    from toolkeel.call.steps.rules import Rules as Rules
    from toolkeel.define.options import external as external
else:
    __getattr__, __dir__, __all__ = door(
        __name__,
        {
            "toolkeel._records.tickets": "Decision Ticket",
            "toolkeel.call.steps.rules": "Rule Rules",
            "toolkeel.define.options": "external",
        },
    )

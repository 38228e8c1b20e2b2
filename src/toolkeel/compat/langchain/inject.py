"""Parameters that LangChain's tools have injected, by its markers."""

from __future__ import annotations

from typing import Any

from toolkeel.context import ToolContext
from toolkeel.define.inject import Injected

InjectedToolArg = Injected


class InjectedToolCallId(Injected):
    """Marks a parameter that receives the id of the call."""

    crosses = True

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        return context.call.id


class InjectedState(Injected):
    """Marks a parameter that receives the run's state, or one field of it.

    Args:
        field: Key of the state, or ``messages`` for the transcript; None for all of the state.
    """

    def __init__(self, field: str | None = None) -> None:
        self.field = field

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        if self.field == "messages" and self.field not in context.state:
            return context.messages
        return context.state if self.field is None else context.state[self.field]


class InjectedStore(Injected):
    """Marks a parameter that receives the run's store."""

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        if context.store is None:
            raise KeyError(name)
        return context.store

"""Parameters that LangChain's tools have injected, by its markers."""

from __future__ import annotations

from typing import Any

from toolkeel.compat.langchain.messages import convert_to_messages
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
        state = state_of(context)
        if self.field == "messages" and self.field not in state:
            return context.messages
        return state if self.field is None else state[self.field]


def state_of(context: ToolContext[Any]) -> Any:
    """A run's state as a tool sees it: with its messages, which an agent keeps elsewhere."""
    if "messages" in context.state or not context.messages:
        return context.state
    return {**context.state, "messages": convert_to_messages(context.messages)}


class InjectedStore(Injected):
    """Marks a parameter that receives the run's store."""

    def resolve(self, context: ToolContext[Any], name: str) -> object:
        if context.store is None:
            raise KeyError(name)
        return context.store

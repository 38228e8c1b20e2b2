"""Options of an agent, and what they say about its state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from toolkeel._common.other_libraries_words import explain_foreign
from toolkeel.errors import SetupError
from toolkeel_compat.langchain.command import Reducers, read_reducers
from toolkeel_compat.langchain.middleware import AgentMiddleware
from toolkeel_compat.langchain.names import suggest_replacement
from toolkeel_compat.langchain.ready.limits import CallLimit
from toolkeel_compat.langchain.threads.checkpoints import InMemorySaver
from toolkeel_compat.langchain.threads.human_review import HumanInTheLoopMiddleware


class AgentOptions(TypedDict, total=False):
    """Options of an agent besides model, tools and instructions.

    Attributes:
        middleware: `AgentMiddleware`, what its decorators make, and `HumanInTheLoopMiddleware`.
        response_format: Type of the structured output: a pydantic model or any other type, or a JSON
            Schema, optionally in a `ToolStrategy` or `ProviderStrategy`.
        state_schema: The state's keys besides ``messages``, with their reducers.
        context_schema: Type of the context: a dict is converted to this dataclass or model.
        checkpointer: An `InMemorySaver`: runs of one ``thread_id`` continue each other.
        store: Memory that outlives the run.
        name: The agent's name, for display and events.
    """

    middleware: Sequence[Any]
    response_format: Any
    state_schema: Any
    context_schema: Any
    checkpointer: InMemorySaver | None
    store: object
    name: str | None


def check_middleware(options: AgentOptions) -> list[Any]:
    """Return the middleware of the options.

    Raises:
        SetupError: One is not supported, or two limits have one name, and so one count.
    """
    found = list(options.get("middleware") or ())
    for one in found:
        if not isinstance(one, AgentMiddleware | HumanInTheLoopMiddleware):
            hint = suggest_replacement(type(one).__name__)
            raise SetupError(f"create_agent(middleware=...): {explain_foreign(one) or hint}")
    names = [one.name for one in found if isinstance(one, CallLimit)]
    if twice := [name for name in names if names.count(name) > 1]:
        raise SetupError(
            f"create_agent(middleware=...): {twice[0]} is there twice, and calls would "
            "count twice: give one limit for the run and the thread, or a subclass, which has its own name"
        )
    return found


def merge_reducers(options: AgentOptions) -> Reducers | None:
    """Return the reducers of the agent's and its middleware's state schemas."""
    middleware = check_middleware(options)
    more = [getattr(one, "state_schema", None) for one in middleware]
    return read_reducers([options.get("state_schema"), *more])

"""`create_agent`, under LangChain's name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from toolwright.agent.agent import Agent
from toolwright.call.bridge import run_sync
from toolwright.call.toolset import Toolish
from toolwright.compat.langchain_messages import convert_to_messages
from toolwright.compat.langchain_run import ChatModel, Config
from toolwright.model import Model
from toolwright.providers.connect import connect


class CompiledAgent:
    """An agent that takes and gives a state with messages; made by `create_agent`."""

    def __init__(
        self, agent: Agent[Any], store: object = None, *, structured: bool = False
    ) -> None:
        self.agent = agent
        self._store = store
        self._structured = structured

    async def ainvoke(
        self, state: Mapping[str, Any], config: Config = None, *, context: object = None
    ) -> dict[str, Any]:
        """Run to the end; see `invoke`."""
        shared = {key: value for key, value in state.items() if key != "messages"}
        result = await self.agent.run(
            convert_to_messages(state["messages"]),
            context=context,
            state=shared,
            store=self._store,
            inject={"config": config or {}},
        )
        state = {**shared, "messages": convert_to_messages(result.messages)}
        if self._structured and result.answered:
            state["structured_response"] = result.answer
        return state

    def invoke(
        self, state: Mapping[str, Any], config: Config = None, *, context: object = None
    ) -> dict[str, Any]:
        """Run to the end.

        Args:
            state: With ``messages``; tools may read and change the rest.
            config: Handed to tools that ask for a `RunnableConfig`.
            context: The user's own object, handed to tools that ask for a `ToolRuntime`.

        Returns:
            The state as it is then, with every message, and under ``structured_response`` the
            answer, if a `response_format` was asked for.
        """
        return run_sync(lambda: self.ainvoke(state, config, context=context))


def create_agent(
    model: str | Model | ChatModel,
    tools: Iterable[Toolish] = (),
    *,
    system_prompt: str = "",
    store: object = None,
    name: str = "agent",
    response_format: Any = None,
) -> CompiledAgent:
    """An agent: a model with tools, in a loop.

    Args:
        model: Name, core `Model`, or `ChatModel`.
        tools: What it may call.
        system_prompt: What it is told before anything else.
        store: Memory that outlives the run.
        name: For people and events.
        response_format: What its answers shall be: a pydantic model, or any other type.
    """
    asked = model.model if isinstance(model, ChatModel) else model
    agent: Agent[Any] = Agent(
        connect(asked),
        tools,
        instructions=system_prompt,
        name=name,
        output_type=response_format or str,
    )
    return CompiledAgent(agent, store, structured=response_format is not None)

"""`create_react_agent`, under LangGraph's name."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Literal, Unpack

from toolkeel.agent.turn.steps import Ask
from toolkeel.call.toolset import Toolish
from toolkeel.compat.langchain.agent import AgentOptions, CompiledAgent, create_agent
from toolkeel.compat.langchain.chat_models import ChatModel
from toolkeel.compat.langchain.messages import convert_to_messages
from toolkeel.compat.langchain.middleware import AgentMiddleware, apart, called
from toolkeel.compat.langchain.runtime import config_of
from toolkeel.compat.langchain.tool_node import ToolNode
from toolkeel.context import RunContext
from toolkeel.messages import AssistantMessage, SystemMessage
from toolkeel.model import Model, ModelRequest


def _prompted(prompt: Callable[..., Any]) -> AgentMiddleware:
    """Middleware that shows the model what a function makes of the state, or of it and the config."""
    takes, made = len(inspect.signature(prompt).parameters), AgentMiddleware[Any, Any, Any]()

    async def step(request: ModelRequest, run: RunContext[Any], proceed: Ask) -> AssistantMessage:
        state = {**run.state, "messages": apart(request, run)[1]}
        shown = await called(prompt, *(state, config_of(run))[:takes])
        return await proceed(dataclasses.replace(request, messages=convert_to_messages(shown)))

    made.model_step = step
    return made


def create_react_agent(
    model: str | Model | ChatModel,
    tools: Iterable[Toolish] | ToolNode | None = (),
    *,
    prompt: str | SystemMessage | Callable[..., Any] | None = None,
    version: Literal["v1", "v2"] = "v2",
    **options: Unpack[AgentOptions],
) -> CompiledAgent:
    """`create_agent` by LangGraph's older name.

    Args:
        model: See `create_agent`.
        tools: The same, or a `ToolNode`.
        prompt: What it is told before anything else; or what gives the messages of each request,
            of the state, or of the state and the config.
        version: Makes no difference: calls run side by side in both.
        options: See `AgentOptions`.
    """
    held = tools.tools if isinstance(tools, ToolNode) else tools
    if callable(prompt):
        options["middleware"] = [*(options.get("middleware") or ()), _prompted(prompt)]
        prompt = None
    made = create_agent(model, held, system_prompt=prompt, **options)
    made.node = "agent"
    return made

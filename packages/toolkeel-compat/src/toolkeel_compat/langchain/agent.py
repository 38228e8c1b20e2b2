"""`create_agent`, and its older name `create_react_agent`, with LangChain's signatures."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, Unpack

from toolkeel.agent.agent import Agent
from toolkeel.agent.turn.steps import SendRequest
from toolkeel.call.toolset import Toolish, Toolset
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, SystemMessage
from toolkeel.model_interface import Model, ModelRequest
from toolkeel_compat.check_options import check_options
from toolkeel_compat.langchain.agent_options import (
    AgentOptions,
    check_middleware,
    merge_reducers,
)
from toolkeel_compat.langchain.command import (
    make_command_step,
)
from toolkeel_compat.langchain.compiled_agent import CompiledAgent
from toolkeel_compat.langchain.convert_tool import to_tool
from toolkeel_compat.langchain.messages import convert_to_messages
from toolkeel_compat.langchain.middleware import (
    AgentMiddleware,
    build_runtime,
    build_steps,
    call_hook,
    split_instructions,
)
from toolkeel_compat.langchain.models.chat_models import (
    ChatModel,
    OwnModel,
    resolve_output_type,
    send_plain_failures,
    to_chat_model,
    use_model,
)
from toolkeel_compat.langchain.names import explain_object
from toolkeel_compat.langchain.recursion_limit import MAX_REQUESTS, make_limit_step
from toolkeel_compat.langchain.runtime import build_config
from toolkeel_compat.langchain.threads.human_review import HumanInTheLoopMiddleware
from toolkeel_compat.langchain.threads.interrupts import (
    handle_interrupts,
)
from toolkeel_compat.langchain.tool_node import ToolNode, stop_at_error

_REFUSED: Mapping[str, str] = {
    "interrupt_before": "HumanInTheLoopMiddleware asks before calls",
    "interrupt_after": "interrupt() in a tool asks",
    "pre_model_hook": "middleware=[before_model(f)], f of the state and the runtime",
    "post_model_hook": "middleware=[after_model(f)], f of the state and the runtime",
    "debug": "logging.getLogger('toolkeel') is the logger",
    "cache": "@tool(steps=[Cache(...)]) with Cache of toolkeel.steps keeps results",
}
"""By option of LangChain's agents that is refused: what to write instead."""


def create_agent(
    model: str | Model | ChatModel | Callable[..., Any],
    tools: Iterable[Toolish | Mapping[str, Any]] | None = (),
    *,
    system_prompt: str | SystemMessage | None = "",
    **options: Unpack[AgentOptions],
) -> CompiledAgent:
    """Create an agent: a model that calls tools in a loop.

    Args:
        model: Name, core `Model`, or `ChatModel`; or a function of the state and the runtime that
            returns one before each request.
        tools: The agent's tools; a provider's own tools in its JSON format, too.
        system_prompt: The system prompt.
        options: See `AgentOptions`.

    Raises:
        SetupError: A middleware is not supported.
        TypeError: An option is unknown.
    """
    check_options(options, AgentOptions, "create_agent", _REFUSED)
    _reject_foreign(model=model, system_prompt=system_prompt, **options)
    if callable(model) and not (hasattr(model, "stream") or isinstance(model, OwnModel)):
        options["middleware"] = [*(options.get("middleware") or ()), _make_model_middleware(model)]
        model = "offline"  # which nobody asks
    chat = to_chat_model(model)
    middleware = check_middleware(options)
    all_tools = _collect_tools(tools, middleware)
    reviewers = [one for one in middleware if isinstance(one, HumanInTheLoopMiddleware)]
    asked, form = resolve_output_type(chat.model, options.get("response_format"))
    reducers = merge_reducers(options)
    around_models, around_calls = build_steps(middleware, reducers, options.get("name"))
    words = system_prompt.text if isinstance(system_prompt, SystemMessage) else system_prompt
    agent: Agent[Any, Any] = Agent(
        asked,
        all_tools,
        instructions=words or "",
        name=options.get("name") or "agent",
        settings=chat.settings,
        output_type=form,
        steps=[
            stop_at_error,
            *(one.report_decision for one in reviewers),
            *(*around_calls, make_command_step(reducers), handle_interrupts),
        ],
        model_steps=[make_limit_step(middleware), *around_models, send_plain_failures],
        max_turns=MAX_REQUESTS,
    )
    return CompiledAgent(agent, options)


def _reject_foreign(**options: object) -> None:
    """Raise `SetupError` for an option whose value is another library's object."""
    for name, value in options.items():
        if foreign := explain_object(value):
            raise SetupError(f"create_agent({name}=...): {foreign}")


def _collect_tools(tools: Any, middleware: Sequence[Any]) -> Any:
    """Return the tools and those of middleware, with approval required where it asks a person."""
    more = [tool for one in middleware for tool in getattr(one, "tools", ())]
    collected: Any = tools if isinstance(tools, Toolset) else [*map(to_tool, tools or ())]
    collected = [*collected, *more] if more else collected
    for one in middleware:
        collected = (
            one.require_approval(collected)
            if isinstance(one, HumanInTheLoopMiddleware)
            else collected
        )
    return collected


def create_react_agent(
    model: str | Model | ChatModel | Callable[..., Any],
    tools: Iterable[Toolish | Mapping[str, Any]] | ToolNode | None = (),
    *,
    prompt: str | SystemMessage | Callable[..., Any] | None = None,
    version: Literal["v1", "v2"] = "v2",
    **options: Unpack[AgentOptions],
) -> CompiledAgent:
    """Create an agent, under LangGraph's older name. See `create_agent`.

    Args:
        model: See `create_agent`.
        tools: See `create_agent`; or a `ToolNode`.
        prompt: The system prompt; or a function of the state, or of the state and the config, that
            returns the messages of each request.
        version: Ignored: calls run concurrently in both.
        options: See `AgentOptions`.
    """
    plain_tools = tools.tools if isinstance(tools, ToolNode) else tools
    if callable(prompt):
        options["middleware"] = [
            *(options.get("middleware") or ()),
            _make_prompt_middleware(prompt),
        ]
        prompt = None
    made = create_agent(model, plain_tools, system_prompt=prompt, **options)
    made.node = "agent"
    return made


def _make_step_middleware(step: Any) -> AgentMiddleware:
    """Make middleware of one model step."""
    made = AgentMiddleware[Any, Any, Any]()
    made.model_step = step
    return made


def _make_prompt_middleware(prompt: Callable[..., Any]) -> AgentMiddleware:
    """Make middleware that sends the messages a function returns for the state (and the config)."""
    takes = len(inspect.signature(prompt).parameters)

    async def step(
        request: ModelRequest, run: RunContext[Any], proceed: SendRequest
    ) -> AssistantMessage:
        shown = await call_hook(
            prompt, *(_build_request_state(request, run), build_config(run))[:takes]
        )
        return await proceed(dataclasses.replace(request, messages=convert_to_messages(shown)))

    return _make_step_middleware(step)


def _make_model_middleware(choose: Callable[..., Any]) -> AgentMiddleware:
    """Make middleware that uses the model a function returns for the state and the runtime."""

    async def step(
        request: ModelRequest, run: RunContext[Any], proceed: SendRequest
    ) -> AssistantMessage:
        chosen = await call_hook(choose, _build_request_state(request, run), build_runtime(run))
        bound = {tool.name for tool in getattr(chosen, "tools", ())}
        tools = [tool for tool in request.tools if tool.name in bound or not bound]
        return await proceed(use_model(chosen, dataclasses.replace(request, tools=tools)))

    return _make_step_middleware(step)


def _build_request_state(request: ModelRequest, run: RunContext[Any]) -> dict[str, Any]:
    """Return the run's state with the messages of a request."""
    return {**run.state, "messages": split_instructions(request, run)[1]}

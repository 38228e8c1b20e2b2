"""Agents as tools of others, under the names of the OpenAI Agents SDK.

As there, a run within a call has the settings of the run around it and the hooks of its own agent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, TypedDict

from pydantic import BaseModel

from toolkeel.agent import agent as core
from toolkeel.agent.result import RunResult as CoreResult
from toolkeel.context import ToolContext
from toolkeel.define.tool import Prepared, Proceed, Step
from toolkeel.errors import ToolError
from toolkeel.messages import ToolOutput
from toolkeel_compat.check_options import check_options, maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper, Usage, of_run
from toolkeel_compat.openai_agents.hooks import RunHooks
from toolkeel_compat.openai_agents.result import Given, RunResult, as_result
from toolkeel_compat.openai_agents.run_lifecycle import Begun
from toolkeel_compat.openai_agents.settings import RunConfig
from toolkeel_compat.openai_agents.stream import telling
from toolkeel_compat.openai_agents.tools import (
    FAILED,
    UNSET,
    Approval,
    Enabled,
    FunctionTool,
    Invoker,
    OnFailure,
    failing_as_told,
)

Extractor: TypeAlias = Callable[[RunResult], Any]
"""Makes a tool's result of a run's; may be async."""


class AsToolOptions(TypedDict, total=False):
    """Further options of `Agent.as_tool`.

    Attributes:
        is_enabled: Whether it can be called now.
        max_turns: How often the model may be asked in one call.
        needs_approval: Whether a person must approve a call; see `Approval`.
        parameters: What the caller fills, as a pydantic model; one text by default.
        failure_error_function: What the calling model is told when a run fails; None ends its own
            run.
        on_stream: Told of the events of its runs, as `AgentToolStreamEvent`; may be async.
        run_config: What holds for its runs, in place of what holds for the run around them.
        hooks: Told of its runs as they go.
    """

    is_enabled: Enabled
    max_turns: int | None
    needs_approval: Approval
    parameters: type[BaseModel] | None
    failure_error_function: OnFailure | None
    on_stream: Callable[[Any], Any] | None
    run_config: RunConfig | None
    hooks: RunHooks[Any] | None


class AgentAsToolInput(BaseModel):
    """Default input schema for agent-as-tool calls."""

    input: str


_OWN_RUN = "write a function_tool whose body awaits Runner.run(agent, ...) with it"
_RUN_APART: Mapping[str, str] = dict.fromkeys(
    ("session", "previous_response_id", "conversation_id", "input_builder", "include_input_schema"),
    _OWN_RUN,
)


def agent_as_tool(
    agent: Any,
    about: tuple[str | None, str | None],
    extract: Extractor | None,
    options: AsToolOptions,
) -> FunctionTool:
    """An agent as a tool of another.

    Args:
        agent: The agent.
        about: The tool's name and its description for the calling model.
        extract: Makes the tool's result of the run's.
        options: See `AsToolOptions`.
    """
    check_options(options, AsToolOptions, "as_tool", _RUN_APART)
    limit, told = options.get("max_turns"), options.get("on_stream")
    agent = agent if limit is None else agent.limited(limit)

    async def output(result: CoreResult[Any]) -> object:
        inner: Begun | None = of_run.get()
        given = Given(agent, RunContextWrapper(None, Usage.of(result.usage)))
        if inner is not None and inner.agent is agent:
            if result.has_output:
                await inner.ended(result.output_value)
            given = Given(agent, inner.wrapper, input=inner.asked_for)
        if extract is not None:
            return await maybe_await(extract(as_result(result, given)))
        if result.reason in ("refused", "cut_off"):
            raise ToolError(
                f"{agent.name!r} gave no whole answer ({result.reason}): {result.output}"
            )
        return ToolOutput(str(result.output), result.output)

    heard = [] if told is None else [telling(agent, told)]
    inner = core.Agent.as_tool(
        agent,
        *about,
        output=output,
        parameters=options.get("parameters") or AgentAsToolInput,
        steps=[_within(agent, options), *heard],
    )
    inner = dataclasses.replace(inner, description=about[1] or "", on_crash=FAILED)
    inner = failing_as_told(inner, options.get("failure_error_function", UNSET))
    made = (inner.name, inner.description, inner.parameters, Invoker(inner))
    return FunctionTool(
        *made,
        is_enabled=options.get("is_enabled", True),
        needs_approval=options.get("needs_approval", False),
        timeout_seconds=inner.timeout,
    )


def _within(agent: Any, options: AsToolOptions) -> Step:
    """The step in which an agent's run has its own settings, or those of the run around it."""
    streamed = options.get("on_stream") is not None
    own = options.get("run_config"), options.get("hooks")

    async def step(prepared: Prepared, context: ToolContext[Any], proceed: Proceed) -> object:
        outer: Begun | None = of_run.get()
        token = of_run.set(outer and outer.within(agent, context.deps, streamed, *own))
        try:
            return await proceed(prepared)
        finally:
            of_run.reset(token)

    return step

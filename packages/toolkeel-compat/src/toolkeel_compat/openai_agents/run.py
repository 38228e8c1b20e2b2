"""`Runner` and `execute_tool`, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any, Unpack

from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.messages import ToolCall
from toolkeel_compat.openai_agents.agent import Agent
from toolkeel_compat.openai_agents.context import to_raw_call
from toolkeel_compat.openai_agents.items import ToolCallOutputItem
from toolkeel_compat.openai_agents.models.requests import FunctionToolResult
from toolkeel_compat.openai_agents.result import RunResult
from toolkeel_compat.openai_agents.run_lifecycle import RunLifecycle, RunnerOptions
from toolkeel_compat.openai_agents.settings import MAX_TURNS
from toolkeel_compat.openai_agents.stream import RunResultStreaming
from toolkeel_compat.openai_agents.tools import FunctionTool

__all__ = ["Runner", "execute_tool"]


class Runner:
    """Runs agents."""

    @classmethod
    async def run(
        cls, starting_agent: Agent[Any], input: object, **options: Unpack[RunnerOptions]
    ) -> RunResult:
        """Run to the end.

        Args:
            starting_agent: The first agent.
            input: The user's input, items as `RunResult.to_input_list` returns them, or the
                `RunState` of a waiting run with its decisions.
            options: See `RunnerOptions`.

        Raises:
            MaxTurnsExceeded: The model requests reached the limit.
            AgentsException: A guardrail ended the run.
            ModelError: The model failed.
            SetupError: An option of the SDK is not supported.

        An exception that ends a run has the work done until then as its attribute ``run_data``.
        """
        lifecycle = RunLifecycle(starting_agent, input, options)
        prompt = await lifecycle.build_prompt()
        with lifecycle.trace() as spans:
            try:
                result = await lifecycle.start(prompt, spans)
            except asyncio.CancelledError:
                await lifecycle.save_cancelled()
                raise
            except Exception as error:
                raise await lifecycle.to_raised_error(error) from error.__cause__
        return await lifecycle.result(result)

    @classmethod
    def run_sync(
        cls, starting_agent: Agent[Any], input: object, **options: Unpack[RunnerOptions]
    ) -> RunResult:
        """Call `run` from sync code."""
        return run_sync(lambda: cls.run(starting_agent, input, **options))

    @classmethod
    def run_streamed(
        cls,
        starting_agent: Agent[Any],
        input: object,
        context: Any = None,
        max_turns: int | None = MAX_TURNS,
        **options: Any,
    ) -> RunResultStreaming:
        """Start a run and stream its events: ``async for event in result.stream_events()``."""
        all_options: Any = {**options, "context": context, "max_turns": max_turns}
        return RunResultStreaming(
            starting_agent, RunLifecycle(starting_agent, input, all_options, True)
        )


async def execute_tool(
    tool: FunctionTool, args: Mapping[str, Any] | str, context: Any = None, *, call_id: str = "call"
) -> FunctionToolResult:
    """Run one tool as a model would call it, with validation and guardrails.

    Args:
        tool: The tool.
        args: The arguments, or their JSON text.
        context: The user's own object.
        call_id: Id of the call.
    """
    call = ToolCall(call_id, tool.name, args)
    [message] = await Toolset([tool]).run([call], RunContext(context))
    item = ToolCallOutputItem(None, to_raw_call(call), message.content, not message.failed)
    return FunctionToolResult(tool, message.content, item)

"""`Runner` and what it gives, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Unpack

from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.toolset import Toolset
from toolkeel.context import RunContext
from toolkeel.messages import ToolCall
from toolkeel_compat.openai_agents.agent import Agent
from toolkeel_compat.openai_agents.context import raw_call
from toolkeel_compat.openai_agents.items import ToolCallOutputItem
from toolkeel_compat.openai_agents.models.requests import FunctionToolResult
from toolkeel_compat.openai_agents.result import RunResult
from toolkeel_compat.openai_agents.run_lifecycle import Begun, RunnerOptions
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
            starting_agent: Who runs.
            input: What the person says, items as `RunResult.to_input_list` gives them, or the
                `RunState` of a run that waits, with what was decided.
            options: See `RunnerOptions`.

        Raises:
            MaxTurnsExceeded: it was asked that often.
            AgentsException: a guardrail ended the run.
            ModelError: the model failed.
            SetupError: for an option of the SDK that would not be honoured.

        What ends a run has what was done until then as its attribute ``run_data``.
        """
        begun = Begun(starting_agent, input, options)
        prompt = await begun.prompt()
        with begun.trace() as spans:
            try:
                result = await begun.stream(prompt, spans)
            except Exception as error:
                raise await begun.failed(error) from error.__cause__
        return await begun.result(result)

    @classmethod
    def run_sync(
        cls, starting_agent: Agent[Any], input: object, **options: Unpack[RunnerOptions]
    ) -> RunResult:
        """`run` for sync code."""
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
        """`run`, with its events as they happen: ``async for event in result.stream_events()``."""
        given: Any = {**options, "context": context, "max_turns": max_turns}
        return RunResultStreaming(starting_agent, Begun(starting_agent, input, given, True))


async def execute_tool(
    tool: FunctionTool, args: Mapping[str, Any] | str, context: Any = None, *, call_id: str = "call"
) -> FunctionToolResult:
    """Run one tool as a model would: validated, guarded.

    Args:
        tool: Which one.
        args: The arguments, or their JSON text.
        context: The user's own object.
        call_id: Id of the call.
    """
    call = ToolCall(call_id, tool.name, args)
    [message] = await Toolset([tool]).run([call], RunContext(context))
    item = ToolCallOutputItem(None, raw_call(call), message.content, not message.failed)
    return FunctionToolResult(tool, message.content, item)

"""`Runner` and what it gives, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolwright.call.bridge import run_sync
from toolwright.call.toolset import Toolset
from toolwright.compat.agents_agent import MAX_TURNS, Agent, MaxTurnsExceeded, RunResult
from toolwright.compat.agents_context import RawToolCall, RunContextWrapper
from toolwright.compat.agents_state import RunState
from toolwright.compat.agents_tools import FunctionTool
from toolwright.compat.langchain_messages import convert_to_messages
from toolwright.context import Run
from toolwright.messages import Message, SystemMessage, ToolCall
from toolwright.providers.wire import dumps
from toolwright.record import record


class Runner:
    """Runs agents."""

    @classmethod
    async def run(
        cls, agent: Agent, input: object, *, context: Any = None, max_turns: int = MAX_TURNS
    ) -> RunResult:
        """Run to the end.

        Args:
            agent: Who runs.
            input: What the person says, messages in any form `convert_to_messages` reads, or the
                `RunState` of a run that waits, with what was decided.
            context: The user's own object, handed to tools that ask for it; that of the
                `RunState` by default.
            max_turns: How often the model may be asked.

        Raises:
            MaxTurnsExceeded: it was asked that often.
            AgentsException: a guardrail ended the run.
            ModelError: the model failed.
        """
        runs = agent.limited(max_turns)
        if isinstance(input, RunState):
            asked = list(input.state.messages)
            context = input.context if context is None else context
            result = await runs.run(input.state, context=context, decisions=input.decisions)
        else:
            asked = convert_to_messages(input)
            result = await runs.run(asked, context=context)
        if result.reason == "max_turns":
            raise MaxTurnsExceeded(f"max turns ({max_turns}) exceeded")
        wrapper = RunContextWrapper(context, result.usage)
        known = {id(message) for message in asked}
        later = [message for message in result.messages if id(message) not in known]
        new: list[Message] = [one for one in later if not isinstance(one, SystemMessage)]
        answer = result.answer if result.answered else None
        return RunResult(answer, new, agent, wrapper, result.messages, result.state)

    @classmethod
    def run_sync(
        cls, agent: Agent, input: object, *, context: Any = None, max_turns: int = MAX_TURNS
    ) -> RunResult:
        """`run` for sync code."""
        return run_sync(lambda: cls.run(agent, input, context=context, max_turns=max_turns))


@record
class ToolCallOutputItem:
    """The result of one call, as an item of a run.

    Args:
        output: What the model reads.
        call_id: Id of the call.
        success: Whether it went well.
        agent: Whose run it was.
        raw_item: The call.
    """

    output: Any
    call_id: str
    success: bool
    agent: Any
    raw_item: RawToolCall


@record
class FunctionToolResult:
    """How a tool was run, and what came of it."""

    tool: FunctionTool
    output: Any
    run_item: ToolCallOutputItem


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
    [message] = await Toolset([tool]).run([call], Run(context))
    raw = RawToolCall(call_id, tool.name, args if isinstance(args, str) else dumps(dict(args)))
    item = ToolCallOutputItem(message.content, call_id, not message.failed, None, raw)
    return FunctionToolResult(tool, message.content, item)

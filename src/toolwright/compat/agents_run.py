"""`Agent` and `Runner`, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from toolwright.agent import agent as core
from toolwright.call.bridge import run_sync
from toolwright.call.toolset import Toolish, Toolset
from toolwright.compat.agents_context import RawToolCall, RunContextWrapper
from toolwright.compat.agents_tools import FunctionTool
from toolwright.compat.agents_verdicts import AgentsException
from toolwright.compat.langchain_messages import convert_to_messages
from toolwright.context import Run
from toolwright.errors import SetupError
from toolwright.messages import AssistantMessage, Message, SystemMessage, ToolCall
from toolwright.model import Delta, Model, ModelRequest, Settings
from toolwright.providers.connect import connect
from toolwright.providers.wire import dumps
from toolwright.record import record

MAX_TURNS = 10


class MaxTurnsExceeded(AgentsException):
    """The model was asked as often as it may be, and has not answered."""


class _NoModel:
    """Stands where a model is missing, until it is asked."""

    name = ""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        raise SetupError("the agent has no model: Agent(model='openai:gpt-5'), or 'offline'")
        yield  # pragma: no cover


class Agent(core.Agent):
    """A core `Agent` with the SDK's parameters.

    Args:
        name: For people and events.
        instructions: What the model is told before anything else.
        tools: What it may call.
        model: ``"vendor:model"``, ``offline``, or a core `Model`; needed when it is run.
        model_settings: How to sample.
        max_turns: How often the model may be asked in one run.
    """

    def __init__(
        self,
        name: str = "agent",
        instructions: str = "",
        tools: Toolset | Iterable[Toolish] = (),
        model: str | Model | None = None,
        *,
        model_settings: Settings | None = None,
        max_turns: int = MAX_TURNS,
    ) -> None:
        super().__init__(
            _NoModel() if model is None else connect(model),
            tools,
            instructions=instructions,
            name=name,
            settings=model_settings,
            max_turns=max_turns,
        )

    def limited(self, max_turns: int) -> Agent:
        """The same agent with another limit."""
        other = copy.copy(self)
        other._plan = dataclasses.replace(self._plan, max_turns=max_turns)
        return other


@record
class RunResult:
    """How a run ended.

    Args:
        final_output: The answer.
        new_items: The messages it added, in order.
        last_agent: Whose run it was.
        context_wrapper: The user's own object, and what was spent.
        messages: The whole transcript.
    """

    final_output: str
    new_items: list[Message]
    last_agent: Agent
    context_wrapper: RunContextWrapper[Any]
    messages: list[Message]

    def to_input_list(self) -> list[Message]:
        """The transcript, to go on from."""
        return list(self.messages)


class Runner:
    """Runs agents."""

    @classmethod
    async def run(
        cls, agent: Agent, input: object, *, context: Any = None, max_turns: int = MAX_TURNS
    ) -> RunResult:
        """Run to the end.

        Args:
            agent: Who runs.
            input: What the person says, or messages in any form `convert_to_messages` reads.
            context: The user's own object, handed to tools that ask for it.
            max_turns: How often the model may be asked.

        Raises:
            MaxTurnsExceeded: it was asked that often.
            AgentsException: a guardrail ended the run.
            ModelError: the model failed.
        """
        runs = agent.limited(max_turns)
        asked = convert_to_messages(input)
        result = await runs.run(asked, context=context)
        if result.reason == "max_turns":
            raise MaxTurnsExceeded(f"max turns ({max_turns}) exceeded")
        wrapper = RunContextWrapper(context, result.usage)
        known = {id(message) for message in asked}
        later = [message for message in result.messages if id(message) not in known]
        new: list[Message] = [one for one in later if not isinstance(one, SystemMessage)]
        return RunResult(result.output, new, agent, wrapper, result.messages)

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

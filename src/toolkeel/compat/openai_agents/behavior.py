"""`tool_use_behavior`, under the names of the OpenAI Agents SDK: when results of tools are the answer."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, TypeAlias

from toolkeel._records.record import record
from toolkeel.compat.given import value_of
from toolkeel.compat.openai_agents.context import RunContextWrapper
from toolkeel.compat.openai_agents.items import DECIDED, ToolCallOutputItem, result_item
from toolkeel.compat.openai_agents.models.own import WrappedModel
from toolkeel.define.base_tool import as_tool
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, ToolMessage
from toolkeel.model import Delta, Model, ModelRequest
from toolkeel.providers.wire.plain_json import dumps


@record
class StopAtTools:
    """Which tools' results are the answer; see `Agent`'s `tool_use_behavior`."""

    stop_at_tool_names: Sequence[str]


@record
class FunctionToolResult:
    """How a tool was run, and what came of it.

    Args:
        tool: Which one.
        output: What its body returned.
        run_item: The same as an item of the run.
    """

    tool: Any
    output: Any
    run_item: ToolCallOutputItem


@record
class ToolsToFinalOutputResult:
    """What a function says of results: whether one is the answer, and which."""

    is_final_output: bool
    final_output: Any = None


ToolsToFinalOutputFunction: TypeAlias = Callable[
    [RunContextWrapper[Any], list[FunctionToolResult]],
    "ToolsToFinalOutputResult | Awaitable[ToolsToFinalOutputResult]",
]


def ending(tools: Any, behavior: Any) -> Any:
    """The tools, with those marked whose results are the answer.

    Raises:
        SetupError: for a behaviour that is none.
    """
    if behavior == "run_llm_again" or callable(behavior):
        return tools
    if isinstance(behavior, Mapping):
        behavior = StopAtTools(behavior["stop_at_tool_names"])
    if behavior != "stop_on_first_tool" and not isinstance(behavior, StopAtTools):
        raise SetupError(
            "tool_use_behavior is 'run_llm_again', 'stop_on_first_tool', StopAtTools(...) or a "
            f"function, not {behavior!r:.60}"
        )
    names = None if behavior == "stop_on_first_tool" else set(behavior.stop_at_tool_names)
    made = []
    for each in tools:
        tool = as_tool(each)
        ends = names is None or tool.name in names
        made.append(dataclasses.replace(tool, ends_run=True) if ends else each)
    return made


class DecidingModel(WrappedModel):
    """A `Model` that is asked only if a function does not find the answer in the results of tools.

    Args:
        model: Who is asked then.
        decide: The function.
        tools: The agent's, for the results.
        wrapper: What the function sees of the run.
        agent: Whose run it is.
    """

    def __init__(
        self,
        model: Model,
        decide: ToolsToFinalOutputFunction,
        tools: Any,
        wrapper: RunContextWrapper[Any],
        agent: Any,
    ) -> None:
        super().__init__(model)
        self._decide = decide
        self._tools = {getattr(tool, "name", ""): tool for tool in tools}
        self._wrapper = wrapper
        self._agent = agent

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """The answer that was found, else the model's reply."""
        last = takewhile(lambda one: isinstance(one, ToolMessage), reversed(request.messages))
        results = [self._result(one) for one in last if isinstance(one, ToolMessage)][::-1]
        if results:
            said = await value_of(self._decide(self._wrapper, results))
            if said.is_final_output:
                value = said.final_output
                text = value if isinstance(value, str) else dumps(value)
                yield AssistantMessage(text, model=DECIDED)
                return
        async for delta in self._model.stream(request):
            yield delta

    def _result(self, message: ToolMessage) -> FunctionToolResult:
        item = result_item(self._agent, message)
        return FunctionToolResult(self._tools.get(message.name), item.output, item)

"""What stands around requests to a model, under the names of the OpenAI Agents SDK.

Prompts kept at OpenAI, instructions that a function gives, filters of what a model sees, and
`tool_use_behavior`: when results of tools are the answer.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Generic, TypeAlias, TypeVar, cast

from toolkeel._records.record import record
from toolkeel.agent.turn.steps import Ask, ModelStep
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, SystemMessage, ToolMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper, Seen
from toolkeel_compat.openai_agents.items import (
    DECIDED,
    ToolCallOutputItem,
    messages_of,
    parted,
    result_item,
)

__all__ = [
    "CallModelData", "CallModelInputFilter", "DynamicPromptFunction", "FunctionToolResult",
    "GenerateDynamicPromptData", "ModelInputData", "Prompt", "StopAtTools",
    "ToolsToFinalOutputFunction", "ToolsToFinalOutputResult",
]  # fmt: skip

C = TypeVar("C")
Prompt: TypeAlias = Mapping[str, Any]
"""Its ``id``, and perhaps ``version`` and ``variables``."""


@record
class GenerateDynamicPromptData:
    """What a function that gives a prompt sees."""

    context: RunContextWrapper[Any]
    agent: Any


DynamicPromptFunction: TypeAlias = Callable[
    [GenerateDynamicPromptData], "Prompt | Awaitable[Prompt]"
]


def prompted(prompt: Any, agent: Any, seen: Seen) -> ModelStep:
    """The step whose requests name a prompt kept at the provider.

    Args:
        prompt: The prompt, or what gives it.
        agent: Whose run it is.
        seen: What that sees of a run.
    """

    async def step(request: ModelRequest, run: RunContext, proceed: Ask) -> AssistantMessage:
        data = GenerateDynamicPromptData(seen(run), agent)
        named: Any = await maybe_await(prompt(data) if callable(prompt) else prompt)
        options = {**request.settings.provider_options, "prompt": dict(named)}
        settings = dataclasses.replace(request.settings, provider_options=options)
        return await proceed(dataclasses.replace(request, settings=settings))

    return step


def instructed(told: Callable[..., Any], agent: Any, seen: Seen) -> ModelStep:
    """The step whose requests begin with what a function says, which is asked anew for each.

    Args:
        told: ``(context, agent)`` gives the instructions.
        agent: Whose they are.
        seen: What the function sees of a run.
    """

    async def step(request: ModelRequest, run: RunContext, proceed: Ask) -> AssistantMessage:
        text = await maybe_await(told(seen(run), agent))
        messages = [*([SystemMessage(text)] if text else ()), *request.messages]
        return await proceed(dataclasses.replace(request, messages=messages))

    return step


@record
class ModelInputData:
    """What a model is about to see.

    Args:
        input: What was said until now, as items.
        instructions: The agent's.
    """

    input: list[Any]
    instructions: str | None


@record
class CallModelData(Generic[C]):
    """What a filter sees of a request.

    Args:
        model_data: What the model would see.
        agent: Whose run it is.
        context: The user's own object.
    """

    model_data: ModelInputData
    agent: Any
    context: C


CallModelInputFilter: TypeAlias = Callable[[CallModelData[Any]], Any]
"""Gives a `ModelInputData`; may be async."""


def filtered(chosen: CallModelInputFilter, agent: Any) -> ModelStep:
    """The step whose requests hold what a filter leaves of them; the transcript stays whole."""

    async def step(request: ModelRequest, run: RunContext, proceed: Ask) -> AssistantMessage:
        told, said = parted(request.messages, agent)
        data = CallModelData(ModelInputData(said, told), agent, run.deps)
        seen: ModelInputData = await maybe_await(chosen(data))
        first = [SystemMessage(seen.instructions)] if seen.instructions else []
        messages = [*first, *messages_of(seen.input)]
        return await proceed(dataclasses.replace(request, messages=messages))

    return step


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


def decider(behavior: Any) -> ToolsToFinalOutputFunction | None:
    """What finds the answer in results of tools; None if the model is asked again whatever they are.

    Raises:
        SetupError: for a behaviour that is none.
    """
    if behavior == "run_llm_again":
        return None
    if callable(behavior):
        return cast("ToolsToFinalOutputFunction", behavior)
    stop = StopAtTools(**behavior) if isinstance(behavior, Mapping) else behavior
    if stop != "stop_on_first_tool" and not isinstance(stop, StopAtTools):
        raise SetupError(
            "tool_use_behavior is 'run_llm_again', 'stop_on_first_tool', StopAtTools(...) or a "
            f"function, not {behavior!r:.60}"
        )
    names = stop.stop_at_tool_names if isinstance(stop, StopAtTools) else None

    def decide(_: object, results: list[FunctionToolResult]) -> ToolsToFinalOutputResult:
        found = [r for r in results if names is None or r.run_item.tool_name in names]
        return ToolsToFinalOutputResult(bool(found), found[0].output if found else None)

    return decide


def deciding(decide: ToolsToFinalOutputFunction, agent: Any, seen: Seen) -> ModelStep:
    """The step that asks the model only if a function does not find the answer in results of tools.

    Args:
        decide: The function.
        agent: Whose run it is.
        seen: What the function sees of a run.
    """
    known = {getattr(tool, "name", ""): tool for tool in agent.tools}

    async def step(request: ModelRequest, run: RunContext, proceed: Ask) -> AssistantMessage:
        last = takewhile(lambda one: isinstance(one, ToolMessage), reversed(run.transcript))
        items = [result_item(agent, one) for one in last if isinstance(one, ToolMessage)]
        results = [FunctionToolResult(known.get(i.tool_name), i.output, i) for i in items[::-1]]
        said = await maybe_await(decide(seen(run), results)) if results else None
        if said is None or not said.is_final_output:
            return await proceed(request)
        value = said.final_output
        plain = agent.output_type in (None, str)
        return AssistantMessage(str(value) if plain else dumps(value), model=DECIDED)

    return step

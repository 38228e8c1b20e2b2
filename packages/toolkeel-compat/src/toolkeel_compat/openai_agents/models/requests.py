"""Steps around model requests, under the names of the OpenAI Agents SDK.

Prompts stored at OpenAI, instructions returned by a function, filters of the model's input, and
`tool_use_behavior`: when results of tools are the output.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any, Generic, TypeAlias, TypeVar, cast

from toolkeel._records.record import record
from toolkeel.agent.turn.steps import ModelStep, SendRequest
from toolkeel.context import RunContext
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, SystemMessage, ToolMessage
from toolkeel.model_interface import ModelRequest
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.check_options import maybe_await
from toolkeel_compat.openai_agents.context import RunContextWrapper, WrapperFactory
from toolkeel_compat.openai_agents.items import (
    DECIDED,
    ToolCallOutputItem,
    split_instructions,
    to_messages,
    to_result_item,
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
    """The argument of a function that returns a prompt."""

    context: RunContextWrapper[Any]
    agent: Any


DynamicPromptFunction: TypeAlias = Callable[
    [GenerateDynamicPromptData], "Prompt | Awaitable[Prompt]"
]


def make_prompt_step(prompt: Any, agent: Any, make_wrapper: WrapperFactory) -> ModelStep:
    """Return the step that names a prompt stored at the provider in each request.

    Args:
        prompt: The prompt, or a function that returns it.
        agent: The agent.
        make_wrapper: Creates the wrapper of a run for that function.
    """

    async def step(
        request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> AssistantMessage:
        data = GenerateDynamicPromptData(make_wrapper(run), agent)
        named: Any = await maybe_await(prompt(data) if callable(prompt) else prompt)
        options = {**request.settings.extra_body, "prompt": dict(named)}
        settings = dataclasses.replace(request.settings, extra_body=options)
        return await proceed(dataclasses.replace(request, settings=settings))

    return step


def make_instructions_step(
    instructions: Callable[..., Any], agent: Any, make_wrapper: WrapperFactory
) -> ModelStep:
    """Return the step that puts a function's instructions before each request.

    Args:
        instructions: Returns the instructions for ``(context, agent)``.
        agent: The agent.
        make_wrapper: Creates the wrapper of a run for that function.
    """

    async def step(
        request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> AssistantMessage:
        text = await maybe_await(instructions(make_wrapper(run), agent))
        messages = [*([SystemMessage(text)] if text else ()), *request.messages]
        return await proceed(dataclasses.replace(request, messages=messages))

    return step


@record
class ModelInputData:
    """The input of a model request.

    Args:
        input: The conversation so far, as items.
        instructions: The agent's instructions.
    """

    input: list[Any]
    instructions: str | None


@record
class CallModelData(Generic[C]):
    """The argument of an input filter.

    Args:
        model_data: The model's input.
        agent: The agent whose run it is.
        context: The user's own object.
    """

    model_data: ModelInputData
    agent: Any
    context: C


CallModelInputFilter: TypeAlias = Callable[[CallModelData[Any]], Any]
"""Gives a `ModelInputData`; may be async."""


def make_filter_step(chosen: CallModelInputFilter, agent: Any) -> ModelStep:
    """Return the step that filters each request's input. The transcript is not changed."""

    async def step(
        request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> AssistantMessage:
        instructions, items = split_instructions(request.messages, agent)
        data = CallModelData(ModelInputData(items, instructions), agent, run.deps)
        filtered: ModelInputData = await maybe_await(chosen(data))
        first = [SystemMessage(filtered.instructions)] if filtered.instructions else []
        messages = [*first, *to_messages(filtered.input)]
        return await proceed(dataclasses.replace(request, messages=messages))

    return step


@record
class StopAtTools:
    """Tools whose results are the output. See `Agent`'s `tool_use_behavior`."""

    stop_at_tool_names: Sequence[str]


@record
class FunctionToolResult:
    """A tool's result.

    Args:
        tool: The tool.
        output: The body's return value.
        run_item: The result as an item of the run.
    """

    tool: Any
    output: Any
    run_item: ToolCallOutputItem


@record
class ToolsToFinalOutputResult:
    """A function's decision on results: the final output, if one of them is."""

    is_final_output: bool
    final_output: Any = None


ToolsToFinalOutputFunction: TypeAlias = Callable[
    [RunContextWrapper[Any], list[FunctionToolResult]],
    "ToolsToFinalOutputResult | Awaitable[ToolsToFinalOutputResult]",
]


def resolve_tool_use_behavior(behavior: Any) -> ToolsToFinalOutputFunction | None:
    """Return the function that finds the output in results of tools; None to call the model again.

    Raises:
        SetupError: The behavior is unknown.
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


def make_final_output_step(
    decide: ToolsToFinalOutputFunction, agent: Any, make_wrapper: WrapperFactory
) -> ModelStep:
    """Return the step that calls the model only if no result of a tool is the output.

    Args:
        decide: The function that decides.
        agent: The agent whose run it is.
        make_wrapper: Creates the wrapper of a run for that function.
    """
    known = {getattr(tool, "name", ""): tool for tool in agent.tools}

    async def step(
        request: ModelRequest, run: RunContext, proceed: SendRequest
    ) -> AssistantMessage:
        last = takewhile(lambda one: isinstance(one, ToolMessage), reversed(run.transcript))
        items = [to_result_item(agent, one) for one in last if isinstance(one, ToolMessage)]
        results = [FunctionToolResult(known.get(i.tool_name), i.output, i) for i in items[::-1]]
        decision = await maybe_await(decide(make_wrapper(run), results)) if results else None
        if decision is None or not decision.is_final_output:
            return await proceed(request)
        value = decision.final_output
        plain = agent.output_type in (None, str)
        return AssistantMessage(str(value) if plain else dumps(value), model=DECIDED)

    return step

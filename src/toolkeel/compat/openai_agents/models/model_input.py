"""What stands in requests besides the transcript, under the names of the OpenAI Agents SDK.

Prompts kept at OpenAI, which each request names, and a run's filter of what its models see.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeAlias, TypeVar

from toolkeel._records.record import record
from toolkeel.agent.turn.steps import Ask, ModelStep
from toolkeel.compat.foreign_options import value_of
from toolkeel.compat.openai_agents.context import RunContextWrapper, Seen
from toolkeel.compat.openai_agents.items import messages_of, parted
from toolkeel.context import RunContext
from toolkeel.messages import AssistantMessage, SystemMessage
from toolkeel.model_interface import ModelRequest

__all__ = [
    "CallModelData", "CallModelInputFilter", "DynamicPromptFunction", "GenerateDynamicPromptData",
    "ModelInputData", "Prompt",
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

    async def step(request: ModelRequest, run: RunContext[Any], proceed: Ask) -> AssistantMessage:
        data = GenerateDynamicPromptData(seen(run), agent)
        named: Any = await value_of(prompt(data) if callable(prompt) else prompt)
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

    async def step(request: ModelRequest, run: RunContext[Any], proceed: Ask) -> AssistantMessage:
        text = await value_of(told(seen(run), agent))
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

    async def step(request: ModelRequest, run: RunContext[Any], proceed: Ask) -> AssistantMessage:
        told, said = parted(request.messages, agent)
        data = CallModelData(ModelInputData(said, told), agent, run.deps)
        seen: ModelInputData = await value_of(chosen(data))
        first = [SystemMessage(seen.instructions)] if seen.instructions else []
        messages = [*first, *messages_of(seen.input)]
        return await proceed(dataclasses.replace(request, messages=messages))

    return step

"""Prompts kept at OpenAI, under the names of the OpenAI Agents SDK: sent with each request."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeAlias

from toolkeel._records.record import record
from toolkeel.compat.given import value_of
from toolkeel.compat.openai_agents.context import RunContextWrapper
from toolkeel.compat.openai_agents.models.own import WrappedModel
from toolkeel.messages import AssistantMessage
from toolkeel.model import Delta, Model, ModelRequest

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


class PromptedModel(WrappedModel):
    """A `Model` whose requests name a prompt kept at the provider.

    Args:
        model: Who answers.
        prompt: The prompt, or what gives it.
        wrapper: What that sees of the run.
        agent: Whose run it is.
    """

    def __init__(
        self, model: Model, prompt: Any, wrapper: RunContextWrapper[Any], agent: Any
    ) -> None:
        super().__init__(model)
        self._prompt = prompt
        self._data = GenerateDynamicPromptData(wrapper, agent)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """The model's reply."""
        prompt = self._prompt(self._data) if callable(self._prompt) else self._prompt
        named: Any = await value_of(prompt)
        options = {**request.settings.provider_options, "prompt": dict(named)}
        settings = dataclasses.replace(request.settings, provider_options=options)
        async for delta in self._model.stream(dataclasses.replace(request, settings=settings)):
            yield delta

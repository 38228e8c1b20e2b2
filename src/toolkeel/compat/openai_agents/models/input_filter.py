"""What a run's filter makes of each request, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import dataclasses
from collections.abc import AsyncIterator, Callable
from typing import Any, Generic, TypeAlias, TypeVar

from toolkeel._records.record import record
from toolkeel.compat.given import value_of
from toolkeel.compat.openai_agents.items import messages_of, parted
from toolkeel.compat.openai_agents.models.own import WrappedModel
from toolkeel.messages import AssistantMessage, SystemMessage
from toolkeel.model import Delta, Model, ModelRequest

C = TypeVar("C")


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


class FilteredModel(WrappedModel):
    """A `Model` that sees what a filter leaves of each request; the transcript stays whole.

    Args:
        model: Who answers.
        chosen: The filter.
        agent: Whose run it is.
        context: The user's own object.
    """

    def __init__(
        self, model: Model, chosen: CallModelInputFilter, agent: Any, context: Any
    ) -> None:
        super().__init__(model)
        self._filter = (chosen, agent, context)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """The model's reply."""
        chosen, agent, context = self._filter
        told, said = parted(request.messages, agent)
        data = ModelInputData(said, told)
        seen: ModelInputData = await value_of(chosen(CallModelData(data, agent, context)))
        first = [SystemMessage(seen.instructions)] if seen.instructions else []
        messages = [*first, *messages_of(seen.input)]
        async for delta in self._model.stream(dataclasses.replace(request, messages=messages)):
            yield delta

"""A model for tests with scripted replies, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.openai_agents.context import RawItem, Usage, to_dict
from toolkeel_compat.openai_agents.models.custom_models import Model, ModelResponse

__all__ = ["ModelCall", "ScriptedModel", "assistant_message", "function_call"]


@record
class ModelCall:
    """A recorded call of the model.

    Args:
        system_instructions: The agent's instructions.
        input: The conversation so far, as items.
        model_settings: Sampling settings.
        tools: The tools it could call.
    """

    system_instructions: str | None
    input: Any
    model_settings: Any
    tools: list[Any]


class ScriptedModel(Model):
    """Returns one step for each request: a list of items, a `ModelResponse`, or an exception.

    Args:
        steps: The steps, in order.

    Attributes:
        calls: The recorded calls, in order.
    """

    def __init__(self, steps: Iterable[Any] = ()) -> None:
        self._steps = list(steps)
        self.calls: tuple[ModelCall, ...] = ()

    @property
    def remaining_steps(self) -> int:
        """Number of steps left."""
        return len(self._steps)

    @property
    def last_call(self) -> ModelCall | None:
        """The last recorded call, or None."""
        return self.calls[-1] if self.calls else None

    def enqueue(self, step: Any) -> None:
        """Add one step."""
        self._steps.append(step)

    def extend(self, steps: Iterable[Any]) -> None:
        """Add steps."""
        self._steps.extend(steps)

    async def get_response(self, *asked: Any, **more: Any) -> ModelResponse:
        """Return the next step.

        Raises:
            SetupError: No step is left.
        """
        self.calls = (*self.calls, ModelCall(*asked[:4]))
        if not self._steps:
            raise SetupError("the ScriptedModel was asked once more than it has steps")
        step = self._steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step if hasattr(step, "output") else ModelResponse(list(step), Usage())

    async def stream_response(self, *asked: Any, **more: Any) -> AsyncIterator[Any]:
        """Yield the next step as events."""
        await asyncio.sleep(0)
        response = await self.get_response(*asked, **more)
        for place, item in enumerate(map(to_dict, response.output)):
            about, kind = {"output_index": place}, item["type"]
            if kind == "message":
                for part in item["content"]:
                    yield RawItem(about, type="response.output_text.delta", delta=part["text"])
            elif kind == "function_call":
                yield RawItem(about, type="response.output_item.added", item=RawItem(item))
                kind, arguments = "response.function_call_arguments.delta", item["arguments"]
                yield RawItem(about, type=kind, delta=arguments)
        yield RawItem(type="response.completed", response=response)


def assistant_message(text: str, *, item_id: str = "scripted-message") -> RawItem:
    """Build a model's message."""
    part = RawItem(annotations=[], text=text, type="output_text", logprobs=[])
    fields = {"content": [part], "role": "assistant", "status": "completed", "type": "message"}
    return RawItem(id=item_id, **fields)


def function_call(
    name: str, arguments: str | Mapping[str, Any], *, call_id: str, item_id: str | None = None
) -> RawItem:
    """Build a model's call."""
    text = arguments if isinstance(arguments, str) else dumps(dict(arguments))
    about = {"call_id": call_id, "name": name, "type": "function_call", "id": item_id or call_id}
    return RawItem(arguments=text, **about)

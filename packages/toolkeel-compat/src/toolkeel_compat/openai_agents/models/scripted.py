"""A model for tests that says what it was told to, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import Any

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.providers.wire.plain_json import dumps
from toolkeel_compat.openai_agents.context import Raw, Usage, plain
from toolkeel_compat.openai_agents.models.custom_models import Model, ModelResponse

__all__ = ["ModelCall", "ScriptedModel", "assistant_message", "function_call"]


@record
class ModelCall:
    """How the model was asked.

    Args:
        system_instructions: The agent's.
        input: What was said until then, as items.
        model_settings: How to sample.
        tools: What it might have called.
    """

    system_instructions: str | None
    input: Any
    model_settings: Any
    tools: list[Any]


class ScriptedModel(Model):
    """Gives its steps, one a request: a list of items, a `ModelResponse`, or an exception.

    Args:
        steps: What it gives, in order.

    Attributes:
        calls: How it was asked, in order.
    """

    def __init__(self, steps: Iterable[Any] = ()) -> None:
        self._steps = list(steps)
        self.calls: tuple[ModelCall, ...] = ()

    @property
    def remaining_steps(self) -> int:
        """How many are left."""
        return len(self._steps)

    @property
    def last_call(self) -> ModelCall | None:
        """How it was asked last."""
        return self.calls[-1] if self.calls else None

    def enqueue(self, step: Any) -> None:
        """One step more."""
        self._steps.append(step)

    def extend(self, steps: Iterable[Any]) -> None:
        """More steps."""
        self._steps.extend(steps)

    async def get_response(self, *asked: Any, **more: Any) -> ModelResponse:
        """The next step.

        Raises:
            SetupError: there is none left.
        """
        self.calls = (*self.calls, ModelCall(*asked[:4]))
        if not self._steps:
            raise SetupError("the ScriptedModel was asked once more than it has steps")
        step = self._steps.pop(0)
        if isinstance(step, Exception):
            raise step
        return step if hasattr(step, "output") else ModelResponse(list(step), Usage())

    async def stream_response(self, *asked: Any, **more: Any) -> AsyncIterator[Any]:
        """The next step, at once, unless the run was stopped."""
        await asyncio.sleep(0)
        whole = await self.get_response(*asked, **more)
        for place, item in enumerate(map(plain, whole.output)):
            about, kind = {"output_index": place}, item["type"]
            if kind == "message":
                for part in item["content"]:
                    yield Raw(about, type="response.output_text.delta", delta=part["text"])
            elif kind == "function_call":
                yield Raw(about, type="response.output_item.added", item=Raw(item))
                kind, said = "response.function_call_arguments.delta", item["arguments"]
                yield Raw(about, type=kind, delta=said)
        yield Raw(type="response.completed", response=whole)


def assistant_message(text: str, *, item_id: str = "scripted-message") -> Raw:
    """A message of a model."""
    part = Raw(annotations=[], text=text, type="output_text", logprobs=[])
    said = {"content": [part], "role": "assistant", "status": "completed", "type": "message"}
    return Raw(id=item_id, **said)


def function_call(
    name: str, arguments: str | Mapping[str, Any], *, call_id: str, item_id: str | None = None
) -> Raw:
    """A call of a model."""
    text = arguments if isinstance(arguments, str) else dumps(dict(arguments))
    about = {"call_id": call_id, "name": name, "type": "function_call", "id": item_id or call_id}
    return Raw(arguments=text, **about)

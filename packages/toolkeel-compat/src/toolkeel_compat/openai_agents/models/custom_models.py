"""Models of a program's own, under the names of the OpenAI Agents SDK, and replies as they see them."""

from __future__ import annotations

import dataclasses
import enum
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from typing import Any

from toolkeel._records.record import record
from toolkeel.agent.bind_tools import Binds
from toolkeel.define.tool import Tool
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage
from toolkeel.messages import Usage as CoreUsage
from toolkeel.model_interface import CallDelta, Delta, ModelRequest, TextDelta
from toolkeel.providers.openai_responses import decode_messages
from toolkeel.providers.openai_responses.native_calls import NATIVE_CALLS
from toolkeel.providers.openai_responses.profile import CALLS
from toolkeel_compat.openai_agents.context import Usage, plain, spent
from toolkeel_compat.openai_agents.items import items_of, parted
from toolkeel_compat.openai_agents.output import AgentOutputSchema, AgentOutputSchemaBase
from toolkeel_compat.openai_agents.settings import ModelSettings
from toolkeel_compat.openai_agents.tools import FunctionTool, Invoker

__all__ = ["Model", "ModelResponse", "ModelTracing"]


class ModelTracing(enum.Enum):
    """Whether a model shall trace what it does; here runs are traced around it."""

    DISABLED = 0
    ENABLED = 1
    ENABLED_WITHOUT_DATA = 2

    def is_disabled(self) -> bool:
        """Whether it shall not."""
        return self is ModelTracing.DISABLED

    def include_data(self) -> bool:
        """Whether it shall, with what was said."""
        return self is ModelTracing.ENABLED


@record
class ModelResponse:
    """A reply of a model.

    Args:
        output: Its items, as the wire carries them.
        usage: What it cost.
        response_id: None: nothing is kept at the provider.
        request_id: The provider's id of the request, if the model tells it.
    """

    output: list[Any]
    usage: Usage
    response_id: str | None = None
    request_id: str | None = None

    def to_input_items(self) -> list[dict[str, Any]]:
        """The same as plain dicts, to go on from."""
        return [plain(item) for item in self.output]


class Model(Binds, ABC):
    """A model of the program's own: it is asked as there, and is a core `Model` by that."""

    @property
    def name(self) -> str:
        """For people and events."""
        return str(vars(self).get("model") or type(self).__name__)

    @abstractmethod
    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: ModelSettings,
        tools: list[Any],
        *rest: Any,
        **more: Any,
    ) -> Any:
        """The whole reply, as a `ModelResponse`.

        Args:
            system_instructions: The agent's.
            input: What was said until now, as items.
            model_settings: How to sample.
            tools: What it may call.
            rest: ``output_schema``, ``handoffs`` and ``tracing``.
            more: ``previous_response_id``, ``conversation_id`` and ``prompt``: None.
        """

    @abstractmethod
    def stream_response(self, *asked: Any, **more: Any) -> AsyncIterator[Any]:
        """The reply as events of OpenAI's Responses, asked for as `get_response` is."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """The reply, as the core asks for it."""
        return ask(self, request)


class AskedModel(Binds):
    """A model of the program's own, as one agent asks it.

    Args:
        model: The model.
        agent: Who asks: its tools, handoffs and output type are handed on as they were given.
        streamed: Whether somebody reads the run's events: then the model streams, too.
    """

    def __init__(self, model: Model, agent: Any, streamed: bool) -> None:
        self.name, self._asked = model.name, (model, agent, streamed)

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """The model's own reply."""
        model, agent, streamed = self._asked
        return ask(model, request, agent, streamed)


async def ask(
    model: Model, request: ModelRequest, agent: Any = None, streamed: bool = False
) -> AsyncIterator[Delta | AssistantMessage]:
    """A reply, as the core wants it.

    Raises:
        ModelError: a stream ended without one.
    """
    nothing: dict[str, Any] = dict.fromkeys(("previous_response_id", "conversation_id", "prompt"))
    given = _asked(request, agent)
    if not streamed:
        yield reply_of(await model.get_response(*given, **nothing), request.tools)
        return
    whole = None
    async for event in model.stream_response(*given, **nothing):
        if event.type == "response.output_text.delta":
            yield TextDelta(event.delta)
        elif event.type == "response.function_call_arguments.delta":
            yield CallDelta(event.output_index, arguments=event.delta)
        elif event.type == "response.output_item.added" and event.item.type == "function_call":
            yield CallDelta(event.output_index, event.item.call_id, event.item.name)
        elif event.type == "response.completed":
            whole = event.response
    if whole is None:
        raise ModelError(f"{model.name} ended its stream without 'response.completed'")
    yield reply_of(whole, request.tools)


def _asked(request: ModelRequest, agent: Any) -> tuple[Any, ...]:
    """What a model of the program's own is given, by position."""
    told, said = parted(request.messages, agent)
    handoffs = list(getattr(agent, "handoffs", None) or ())
    taken = {one.tool.name for one in handoffs}
    tools = [as_given(one, agent) for one in request.tools if one.name not in taken]
    form = getattr(agent, "output_type", None)
    own = isinstance(form, AgentOutputSchema | AgentOutputSchemaBase)
    schema = form if own or form in (None, str) else AgentOutputSchema(form)
    settings = ModelSettings.of(request.settings)
    return told, said, settings, tools, schema, handoffs, ModelTracing.DISABLED


def as_given(tool: Any, agent: Any) -> Any:
    """A tool as the agent was given it; one that came otherwise, as a `FunctionTool`."""
    given = [one for one in getattr(agent, "tools", ()) if getattr(one, "name", "") == tool.name]
    if given and not isinstance(given[0], Tool):
        return given[0]
    return FunctionTool(tool.name, tool.description, tool.parameters, Invoker(tool))


def reply_of(response: Any, tools: Any = ()) -> AssistantMessage:
    """A `ModelResponse`, or OpenAI's own, as the core's reply; `tools` are those it may call.

    Raises:
        ModelError: it holds something that is no part of a reply.
    """
    items = map(plain, response.output)
    spoken = {"role": "assistant"}
    given = [i | spoken if i.get("type") == "message" else i for i in items]
    made = decode_messages(given, tools=tools)
    reply = made[0] if made else AssistantMessage("")
    if len(made) > 1 or not isinstance(reply, AssistantMessage):
        raise ModelError("a model's output is one reply: messages, reasoning and calls")
    calls = [i["type"] for i in given if i.get("type") in (*CALLS, *NATIVE_CALLS)]
    if len(calls) > len(reply.tool_calls):
        raise ModelError(f"the model made calls that no tool of the agent takes: {calls}")
    told = response.usage
    return dataclasses.replace(reply, usage=CoreUsage(1) if told is None else spent(told))


def response_of(reply: AssistantMessage, agent: Any = None) -> ModelResponse:
    """The core's reply as a `ModelResponse`."""
    return ModelResponse([i.raw_item for i in items_of(agent, reply)], Usage.of(reply.usage))

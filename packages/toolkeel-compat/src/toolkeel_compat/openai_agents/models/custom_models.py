"""Custom models under the names of the OpenAI Agents SDK, and replies in their format."""

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
from toolkeel_compat.openai_agents.context import Usage, to_core_usage, to_dict
from toolkeel_compat.openai_agents.items import split_instructions, to_items
from toolkeel_compat.openai_agents.output import AgentOutputSchema, AgentOutputSchemaBase
from toolkeel_compat.openai_agents.settings import ModelSettings
from toolkeel_compat.openai_agents.tools import FunctionInvoker, FunctionTool

__all__ = ["Model", "ModelResponse", "ModelTracing"]


class ModelTracing(enum.Enum):
    """What a model traces by itself; here runs are traced around it."""

    DISABLED = 0
    ENABLED = 1
    ENABLED_WITHOUT_DATA = 2

    def is_disabled(self) -> bool:
        """Return True if it traces nothing."""
        return self is ModelTracing.DISABLED

    def include_data(self) -> bool:
        """Return True if it traces inputs and outputs, too."""
        return self is ModelTracing.ENABLED


@record
class ModelResponse:
    """A reply of a model.

    Args:
        output: Its items of the Responses API.
        usage: The usage.
        response_id: None: nothing is stored at the provider.
        request_id: The provider's id of the request, if the model returns it.
    """

    output: list[Any]
    usage: Usage
    response_id: str | None = None
    request_id: str | None = None

    def to_input_items(self) -> list[dict[str, Any]]:
        """Return the items as plain dicts, for the input of another run."""
        return [to_dict(item) for item in self.output]


class Model(Binds, ABC):
    """A custom model with the SDK's interface, usable as a core `Model`."""

    @property
    def name(self) -> str:
        """The display name."""
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
        """Return the complete reply, as a `ModelResponse`.

        Args:
            system_instructions: The agent's instructions.
            input: The conversation so far, as items.
            model_settings: Sampling settings.
            tools: The tools it may call.
            rest: ``output_schema``, ``handoffs`` and ``tracing``.
            more: ``previous_response_id``, ``conversation_id`` and ``prompt``: None.
        """

    @abstractmethod
    def stream_response(self, *asked: Any, **more: Any) -> AsyncIterator[Any]:
        """Yield the reply as events of the Responses API; arguments as for `get_response`."""

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Stream a reply in the core's form."""
        return stream_reply(self, request)


class AgentModel(Binds):
    """A custom model as one agent calls it.

    Args:
        model: The model.
        agent: The agent, whose tools, handoffs and output type are passed as they are.
        streamed: Use the model's stream, because the caller reads the run's events.
    """

    def __init__(self, model: Model, agent: Any, streamed: bool) -> None:
        self.name, self._asked = model.name, (model, agent, streamed)

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Stream the model's reply."""
        model, agent, streamed = self._asked
        return stream_reply(model, request, agent, streamed)


async def stream_reply(
    model: Model, request: ModelRequest, agent: Any = None, streamed: bool = False
) -> AsyncIterator[Delta | AssistantMessage]:
    """Call a custom model and stream its reply in the core's form.

    Raises:
        ModelError: The stream ended without ``response.completed``.
    """
    nothing: dict[str, Any] = dict.fromkeys(("previous_response_id", "conversation_id", "prompt"))
    arguments = _build_arguments(request, agent)
    if not streamed:
        yield to_core_reply(await model.get_response(*arguments, **nothing), request.tools)
        return
    response = None
    async for event in model.stream_response(*arguments, **nothing):
        if event.type == "response.output_text.delta":
            yield TextDelta(event.delta)
        elif event.type == "response.function_call_arguments.delta":
            yield CallDelta(event.output_index, arguments=event.delta)
        elif event.type == "response.output_item.added" and event.item.type == "function_call":
            yield CallDelta(event.output_index, event.item.call_id, event.item.name)
        elif event.type == "response.completed":
            response = event.response
    if response is None:
        raise ModelError(f"{model.name} ended its stream without 'response.completed'")
    yield to_core_reply(response, request.tools)


def _build_arguments(request: ModelRequest, agent: Any) -> tuple[Any, ...]:
    """Return the positional arguments of a custom model."""
    instructions, items = split_instructions(request.messages, agent)
    handoffs = list(getattr(agent, "handoffs", None) or ())
    taken = {one.tool.name for one in handoffs}
    tools = [find_original_tool(one, agent) for one in request.tools if one.name not in taken]
    form = getattr(agent, "output_type", None)
    own = isinstance(form, AgentOutputSchema | AgentOutputSchemaBase)
    schema = form if own or form in (None, str) else AgentOutputSchema(form)
    settings = ModelSettings.from_core(request.settings)
    return instructions, items, settings, tools, schema, handoffs, ModelTracing.DISABLED


def find_original_tool(tool: Any, agent: Any) -> Any:
    """Return the agent's own object for a tool; a `FunctionTool` for one from elsewhere."""
    originals = [
        one for one in getattr(agent, "tools", ()) if getattr(one, "name", "") == tool.name
    ]
    if originals and not isinstance(originals[0], Tool):
        return originals[0]
    return FunctionTool(tool.name, tool.description, tool.parameters, FunctionInvoker(tool))


def to_core_reply(response: Any, tools: Any = ()) -> AssistantMessage:
    """Convert a `ModelResponse`, or OpenAI's own, to the core's reply; `tools` are those it may call.

    Raises:
        ModelError: An item is not part of a reply.
    """
    items = map(to_dict, response.output)
    spoken = {"role": "assistant"}
    output = [i | spoken if i.get("type") == "message" else i for i in items]
    made = decode_messages(output, tools=tools)
    reply = made[0] if made else AssistantMessage("")
    if len(made) > 1 or not isinstance(reply, AssistantMessage):
        raise ModelError("a model's output is one reply: messages, reasoning and calls")
    calls = [i["type"] for i in output if i.get("type") in (*CALLS, *NATIVE_CALLS)]
    if len(calls) > len(reply.tool_calls):
        raise ModelError(f"the model made calls that no tool of the agent takes: {calls}")
    usage = response.usage
    return dataclasses.replace(reply, usage=CoreUsage(1) if usage is None else to_core_usage(usage))


def to_model_response(reply: AssistantMessage, agent: Any = None) -> ModelResponse:
    """Convert the core's reply to a `ModelResponse`."""
    return ModelResponse([i.raw_item for i in to_items(agent, reply)], Usage.from_core(reply.usage))

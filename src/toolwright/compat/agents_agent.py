"""`Agent`, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack, cast

from pydantic import BaseModel

from toolwright.agent import agent as core
from toolwright.agent import result as core_result
from toolwright.call.provider import Source
from toolwright.call.toolset import Toolset
from toolwright.compat.agents_context import RunContextWrapper
from toolwright.compat.agents_tools import Enabled, as_enabled
from toolwright.compat.agents_verdicts import AgentsException
from toolwright.define.tool import AnyTool, Needs
from toolwright.errors import SetupError
from toolwright.messages import AssistantMessage, Message, SystemMessage
from toolwright.model import Delta, Model, ModelRequest, Settings
from toolwright.providers.connect import connect
from toolwright.record import record

T = TypeVar("T")
MAX_TURNS = 10


class MaxTurnsExceeded(AgentsException):
    """The model was asked as often as it may be, and has not answered."""


class _NoModel:
    """Stands where a model is missing, until it is asked."""

    name = ""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        raise SetupError("the agent has no model: Agent(model='openai:gpt-5'), or 'offline'")
        yield  # pragma: no cover


class AsToolOptions(TypedDict, total=False):
    """Further options of `Agent.as_tool`.

    Attributes:
        is_enabled: Whether it can be called now.
        max_turns: How often the model may be asked in one call.
        needs_approval: Whether a person must approve a call.
        parameters: What the caller fills, as a pydantic model; one text by default.
    """

    is_enabled: Enabled
    max_turns: int | None
    needs_approval: Needs
    parameters: type[BaseModel] | None


@record
class AgentOutputSchema:
    """A type of answer, as the SDK wraps it.

    Args:
        output_type: The type.
        strict_json_schema: Taken for what it says there; here a schema is strict where it can be.
    """

    output_type: Any
    strict_json_schema: bool = True


class Agent(core.Agent[Any]):
    """A core `Agent` with the SDK's parameters.

    Args:
        name: For people and events.
        instructions: What the model is told before anything else.
        tools: What it may call.
        model: ``"vendor:model"``, ``offline``, or a core `Model`; needed when it is run.
        model_settings: How to sample.
        max_turns: How often the model may be asked in one run.
        output_type: What its answers shall be; text by default.
    """

    def __init__(
        self,
        name: str = "agent",
        instructions: str = "",
        tools: Toolset | Iterable[Source] = (),
        model: str | Model | None = None,
        *,
        model_settings: Settings | None = None,
        max_turns: int = MAX_TURNS,
        output_type: Any = None,
    ) -> None:
        if isinstance(output_type, AgentOutputSchema):
            output_type = output_type.output_type
        super().__init__(
            _NoModel() if model is None else connect(model),
            tools,
            instructions=instructions,
            name=name,
            settings=model_settings,
            max_turns=max_turns,
            output_type=output_type or str,
        )

    def limited(self, max_turns: int) -> Agent:
        """The same agent with another limit."""
        other = copy.copy(self)
        other._plan = dataclasses.replace(self._plan, max_turns=max_turns)
        return other

    def as_tool(  # type: ignore[override]
        self,
        tool_name: str | None = None,
        tool_description: str | None = None,
        custom_output_extractor: Extractor | None = None,
        **options: Unpack[AsToolOptions],
    ) -> AnyTool:
        """This agent as a tool of another.

        Args:
            tool_name: Made of the agent's name by default.
            tool_description: For the calling model.
            custom_output_extractor: Makes the tool's result of the run's; may be async.
            options: See `AsToolOptions`.
        """
        limit = options.get("max_turns")
        agent = self if limit is None else self.limited(limit)
        enabled = options.get("is_enabled", True)
        given: dict[str, Any] = {"approval": options.get("needs_approval", False)}
        if (parameters := options.get("parameters")) is not None:
            given["parameters"] = parameters

        def extract(result: core_result.RunResult[Any]) -> object:
            assert custom_output_extractor is not None
            return custom_output_extractor(_as_sdk(result, agent))

        return core.Agent.as_tool(
            agent,
            tool_name,
            tool_description,
            output=extract if custom_output_extractor else None,
            enabled=as_enabled(enabled),
            **given,
        )


@record
class RunResult:
    """How a run ended.

    Args:
        final_output: The answer.
        new_items: The messages it added, in order.
        last_agent: Whose run it was.
        context_wrapper: The user's own object, and what was spent.
        messages: The whole transcript.
    """

    final_output: Any
    new_items: list[Message]
    last_agent: Agent
    context_wrapper: RunContextWrapper[Any]
    messages: list[Message]

    def final_output_as(self, cls: type[T], raise_if_incorrect_type: bool = False) -> T:
        """The answer, for the type checker of one type.

        Raises:
            TypeError: it is not, and `raise_if_incorrect_type` is set.
        """
        if raise_if_incorrect_type and not isinstance(self.final_output, cls):
            name = type(self.final_output).__name__
            raise TypeError(f"Final output is not of type {cls.__name__}, but {name}")
        return cast("T", self.final_output)

    def to_input_list(self) -> list[Message]:
        """The transcript, to go on from."""
        return list(self.messages)


Extractor: TypeAlias = "Callable[[RunResult], str | Awaitable[str]]"


def _as_sdk(result: core_result.RunResult[Any], agent: Agent) -> RunResult:
    wrapper: RunContextWrapper[Any] = RunContextWrapper(None, result.usage)
    new: list[Message] = [one for one in result.messages if not isinstance(one, SystemMessage)]
    return RunResult(result.output, new, agent, wrapper, result.messages)

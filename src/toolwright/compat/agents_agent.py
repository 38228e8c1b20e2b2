"""`Agent`, under the names of the OpenAI Agents SDK."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from typing import Any, TypeAlias, TypedDict, TypeVar, Unpack, cast

from pydantic import BaseModel

from toolwright.agent import agent as core
from toolwright.agent import result as core_result
from toolwright.agent.prompt import Instructions as CoreInstructions
from toolwright.agent.saved import RunState as SavedRun
from toolwright.call.provider import Source
from toolwright.call.toolset import Toolset
from toolwright.compat.agents_context import RunContextWrapper
from toolwright.compat.agents_state import RunState, ToolApprovalItem
from toolwright.compat.agents_tools import Approval, Enabled, as_approval, as_enabled, only_known
from toolwright.compat.agents_verdicts import AgentsException
from toolwright.define.tool import AnyTool
from toolwright.errors import SetupError
from toolwright.messages import AssistantMessage, Message, SystemMessage
from toolwright.model import Delta, Model, ModelRequest, Settings
from toolwright.providers.connect import connect
from toolwright.record import record

T = TypeVar("T")
Instructions: TypeAlias = "Callable[[RunContextWrapper[Any], Agent], str | Awaitable[str]]"
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
        needs_approval: Whether a person must approve a call; see `Approval`.
        parameters: What the caller fills, as a pydantic model; one text by default.
    """

    is_enabled: Enabled
    max_turns: int | None
    needs_approval: Approval
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
        instructions: What the model is told before anything else: a text, or
            ``(context wrapper, agent)`` gives it.
        tools: What it may call.
        model: ``"vendor:model"``, ``offline``, or a core `Model`; needed when it is run.
        model_settings: How to sample.
        max_turns: How often the model may be asked in one run.
        output_type: What its answers shall be; text by default.
    """

    def __init__(
        self,
        name: str = "agent",
        instructions: str | Instructions | None = "",
        tools: Toolset | Iterable[Source] = (),
        model: str | Model | None = None,
        *,
        model_settings: Settings | None = None,
        max_turns: int = MAX_TURNS,
        output_type: Any = None,
    ) -> None:
        if isinstance(output_type, AgentOutputSchema):
            output_type = output_type.output_type
        self._given = tools if isinstance(tools, Toolset) else tuple(tools)
        super().__init__(
            _NoModel() if model is None else connect(model),
            self._given,
            instructions=self._told(instructions or ""),
            name=name,
            settings=model_settings,
            max_turns=max_turns,
            output_type=output_type or str,
        )

    @property
    def tools(self) -> Any:
        """The tools as they were given: a `FunctionTool` is one still."""
        return self._given

    def _told(self, instructions: str | Instructions) -> str | CoreInstructions:
        """The instructions in the core's form."""
        if not callable(instructions):
            return instructions
        return lambda run: instructions(RunContextWrapper(run.context, run.usage), self)

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

        Raises:
            TypeError: for an option that is not there.
        """
        only_known(options, AsToolOptions, "as_tool")
        limit = options.get("max_turns")
        agent = self if limit is None else self.limited(limit)
        enabled = options.get("is_enabled", True)
        approval, steps = as_approval(options.get("needs_approval", False))
        given: dict[str, Any] = {"approval": approval, "steps": steps}
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
        state: Where the run stands.
    """

    final_output: Any
    new_items: list[Message]
    last_agent: Agent
    context_wrapper: RunContextWrapper[Any]
    messages: list[Message]
    state: SavedRun

    @property
    def interruptions(self) -> list[ToolApprovalItem]:
        """The calls that wait for a person; the run has stopped because of them, if there are any."""
        return self.to_state().get_interruptions()

    def to_state(self) -> RunState:
        """Where the run stands: decide on its interruptions, and give it to `Runner.run`."""
        return RunState(self.last_agent, self.state, self.context_wrapper.context)

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
    return RunResult(result.output, new, agent, wrapper, result.messages, result.state)

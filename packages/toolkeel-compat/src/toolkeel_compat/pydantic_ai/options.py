"""Options of agents and runs, and their values in the core's form, under the names of Pydantic AI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from toolkeel._common.checked_arguments import any_list
from toolkeel.agent import agent as core
from toolkeel.model_interface import Model
from toolkeel_compat.pydantic_ai.deferred import DeferredToolResults
from toolkeel_compat.pydantic_ai.models.test_model import TestModel
from toolkeel_compat.pydantic_ai.models.vendors import connect_model
from toolkeel_compat.pydantic_ai.usage import RunUsage, UsageLimits


class Caching:
    """Marks the repeated part of requests for the provider's cache, as the core does anyway."""


class AgentOptions(TypedDict, total=False):
    """Options of an agent besides its model.

    Attributes:
        output_type: Type of the output, or a list of types; text by default.
        instructions: The system prompt: texts, or functions of the `RunContext`.
        system_prompt: The same.
        deps_type: For type checkers.
        name: Its name.
        model_settings: Settings of requests.
        retries: How often the model may correct an answer, and calls of each tool; or a dict with
            ``output`` and ``tools``.
        output_retries: The same.
        tools: Functions and tools.
        toolsets: Sets of tools.
        capabilities: `Caching` and `ProcessHistory` only.
        history_processors: Functions of `ProcessHistory`, as earlier versions have them.
        defer_model_check: Create the model at the first run.
        end_strategy: ``graceful`` only: the first valid answer ends the run, after the calls beside it.
    """

    output_type: Any
    instructions: Any
    system_prompt: Any
    deps_type: Any
    name: str | None
    model_settings: Mapping[str, Any] | None
    retries: int | Mapping[str, int]
    output_retries: int | None
    tools: Annotated[Sequence[Any], any_list("a list of functions and tools")]
    toolsets: Sequence[Any] | None
    capabilities: Sequence[Any] | None
    history_processors: Sequence[Any] | None
    defer_model_check: bool
    end_strategy: str


REFUSED: Mapping[str, str] = {
    "builtin_tools": "toolkeel.tools has counterparts: docs/hosted.md",
    "prepare_tools": "@tool(enabled=...) of toolkeel offers a tool or not",
    "prepare_output_tools": "output_type takes types",
    "instrument": "listeners=[...] of a run, and OpenTelemetry: docs/watching.md",
    "event_stream_handler": "listeners=[...] of toolkeel's Agent.run",
    "tool_timeout": "@agent.tool(timeout=...)",
    "max_concurrency": "ConcurrencyLimit of toolkeel.steps",
    "metadata": "name= of the agent names its traces",
}


class RunOptions(TypedDict, total=False):
    """Options of a run.

    Attributes:
        message_history: The transcript of another run: `all_messages()`.
        deferred_tool_results: Decisions on the calls that wait in it.
        deps: The user's own object, for tools that request a `RunContext`.
        model: Another model.
        model_settings: Settings over those of the agent.
        instructions: Further instructions.
        usage_limits: Limits of the run.
        usage: Usage before it; the run adds its own.
        toolsets: Further sets of tools.
        output_type: Another output type.
    """

    message_history: Sequence[Any] | None
    deferred_tool_results: DeferredToolResults | None
    deps: Any
    model: Any
    model_settings: Mapping[str, Any] | None
    instructions: str | None
    usage_limits: UsageLimits | None
    usage: RunUsage | None
    toolsets: Sequence[Any] | None
    output_type: Any


RUN_REFUSED: Mapping[str, str] = {
    "event_stream_handler": "listeners=[...] of toolkeel's Agent.run",
    "cancellation_token": "cancel= of toolkeel's Agent.run",
    "conversation_id": "session= of toolkeel's Agent.run: docs/sessions.md",
    "metadata": "there is no counterpart",
    "capabilities": "give them to the agent",
    "infer_name": "name= of the agent",
}


def as_list(value: Any) -> list[Any]:
    """Return a value or several as a list. A single text or function is one item."""
    if value is None or value == "":
        return []
    return [value] if isinstance(value, str) or callable(value) else list(value)


_VENDORS: Mapping[str, str] = {
    "openai": "openai-responses",
    "openai-chat": "openai",
    "google-gla": "google",
    "google-vertex": "google",
}


def to_core_model(model: Any) -> Model:
    """Return the core's model, also of a name: ``openai:`` is the Responses API there."""
    if not isinstance(model, str):
        known: Model = model
        return known
    vendor, colon, name = model.partition(":")
    if model == "test":
        return TestModel()
    return connect_model(f"{_VENDORS.get(vendor, vendor)}{colon}{name}", {})


def check_model(model: Any) -> None:
    """Raise `SetupError` for a model that does not exist."""
    core.Agent(to_core_model(model))

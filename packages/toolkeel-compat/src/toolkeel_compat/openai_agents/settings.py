"""`ModelSettings` and `RunConfig`, under the names of the OpenAI Agents SDK.

What has a counterpart is passed on, what has none is refused by name: no setting is dropped.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from toolkeel.errors import SetupError
from toolkeel.model_interface import Model, Settings

__all__ = ["MCPToolChoice", "ModelSettings", "RunConfig", "SessionSettings"]

MAX_TURNS = 10
_REFUSED: Mapping[str, str] = {
    "retry": "the model's own max_retries says how often a failed request is sent again",
    "extra_headers": "give them to the client: OpenAIResponsesModel(..., AsyncOpenAI(default_headers=...))",
    "extra_query": "give it to the client: OpenAIResponsesModel(..., AsyncOpenAI(default_query=...))",
    "context_management": "there is no counterpart yet",
    "prompt_cache_options": "there is no counterpart yet",
    "preserve_raw_usage": "there is no counterpart",
    "timeout": "give it to the client: OpenAIResponsesModel(..., AsyncOpenAI(timeout=...))",
}
_OF_WIRE: Mapping[bool, Sequence[str]] = {
    True: ("frequency_penalty", "presence_penalty"),
    False: ("truncation",),
}
"""What Chat Completions alone knows, and what Responses alone does: as there, others do not get it."""
_PASSED = ("top_p", "metadata", "store", "prompt_cache_retention", "top_logprobs")


@dataclasses.dataclass
class MCPToolChoice:
    """That the model shall call one tool of an MCP server that OpenAI talks to."""

    server_label: str
    name: str


@dataclasses.dataclass
class ModelSettings:
    """How to sample, with the SDK's fields; `core` gives what the model is asked with.

    Raises:
        SetupError: for a setting that has no counterpart, naming what to write instead.
    """

    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    truncation: str | None = None
    max_tokens: int | None = None
    reasoning: Any = None
    verbosity: str | None = None
    metadata: dict[str, str] | None = None
    store: bool | None = None
    prompt_cache_retention: str | None = None
    include_usage: bool | None = None
    response_include: list[str] | None = None
    top_logprobs: int | None = None
    extra_query: Any = None
    extra_body: Any = None
    extra_headers: Any = None
    extra_args: dict[str, Any] | None = None
    retry: Any = None
    context_management: Any = None
    prompt_cache_options: Any = None
    preserve_raw_usage: bool | None = None
    timeout: Any = None

    def __post_init__(self) -> None:
        for name, instead in _REFUSED.items():
            if getattr(self, name) is not None:
                raise SetupError(f"ModelSettings({name}=...) is not honoured here: {instead}")
        if not isinstance(self.tool_choice, str | MCPToolChoice | None):
            raise SetupError(
                f"ModelSettings(tool_choice={self.tool_choice!r:.80}): give 'auto', 'required', "
                "'none' or a tool's name"
            )

    def resolve(self, override: ModelSettings | None) -> ModelSettings:
        """These settings with those of another that are set put over them."""
        if override is None:
            return self
        names = [field.name for field in dataclasses.fields(override)]
        given = {n: v for n in names if (v := getattr(override, n)) is not None}
        if self.extra_args and override.extra_args:
            given["extra_args"] = {**self.extra_args, **override.extra_args}
        return dataclasses.replace(self, **given)

    def to_json_dict(self) -> dict[str, Any]:
        """The fields as plain data."""
        fields = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return {n: _plain(v) if hasattr(v, "model_dump") else v for n, v in fields.items()}

    @classmethod
    def of(cls, settings: Settings) -> ModelSettings:
        """The core's, for a model of the program's own."""
        rest = dict(settings.provider_options)
        names = (*_PASSED, *_OF_WIRE[True], *_OF_WIRE[False], "reasoning")
        known: dict[str, Any] = {n: rest.pop(n) for n in names if n in rest}
        return cls(
            settings.temperature,
            tool_choice=settings.tool_choice,
            parallel_tool_calls=settings.parallel_tool_calls,
            max_tokens=settings.max_tokens,
            extra_args=rest or None,
            **known,
        )

    def core(self, *, chat: bool = False) -> Settings:
        """The same as the core's `Settings`.

        Args:
            chat: Whether the model is asked over Chat Completions, which names some otherwise.
        """
        given = ((name, getattr(self, name)) for name in (*_PASSED, *_OF_WIRE[chat]))
        options: dict[str, Any] = {name: value for name, value in given if value is not None}
        if self.reasoning is not None:
            reasoning = _plain(self.reasoning)
            if chat:
                options["reasoning_effort"] = reasoning.get("effort")
            else:
                options["reasoning"] = reasoning
        if self.verbosity is not None:
            options |= (
                {"verbosity": self.verbosity} if chat else {"text": {"verbosity": self.verbosity}}
            )
        if self.response_include is not None:
            options["include"] = list(self.response_include)
        choice = self.tool_choice
        if isinstance(choice, MCPToolChoice):
            options["tool_choice"] = {"type": "mcp", **dataclasses.asdict(choice)}
            choice = None
        options |= _plain(self.extra_body or {}) | (self.extra_args or {})
        return Settings(
            choice, self.parallel_tool_calls, None, self.temperature, self.max_tokens, options
        )


def _plain(value: Any) -> dict[str, Any]:
    """A mapping, or an SDK's object, as a dict without what is unset."""
    dump = getattr(value, "model_dump", None)
    made: dict[str, Any] = dump(exclude_none=True) if dump is not None else dict(value)
    return made


@dataclasses.dataclass
class SessionSettings:
    """How a session is read.

    Args:
        limit: How many of the latest items join a run; None for all.
    """

    limit: int | None = None


def _tells_data() -> bool:
    told = os.environ.get("OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA", "true")
    return told.strip().lower() in ("1", "true", "yes", "on")


@dataclasses.dataclass
class RunConfig:
    """What holds for one run, with the SDK's fields that have a counterpart.

    Args:
        model: Asked in place of the agent's own.
        model_settings: Put over the agent's own.
        workflow_name: Name of the run's trace.
        trace_id: Its id; made by itself.
        group_id: Joins several traces, such as those of one conversation.
        trace_metadata: Kept with the trace.
        tracing_disabled: Whether this run is traced at all.
        trace_include_sensitive_data: Whether spans hold arguments and results; as there, they do
            unless ``OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA`` is off.
        model_provider: Makes a model of a name; see `ModelProvider`.
        tool_error_formatter: What the model is told of a call that a person rejected without a
            reason, of `ToolErrorFormatterArgs`.
        session_settings: How its session is read, in place of the session's own.
        session_input_callback: ``(history, new items) -> items``: what the run begins with.
        input_guardrails: Look at what the run is given, besides the first agent's own.
        output_guardrails: Look at the answer, besides the last agent's own.
        handoff_input_filter: Of handoffs that have none of their own.
        nest_handoff_history: Whether who takes the run sees what was said as one text.
        handoff_history_mapper: Makes the items that it sees then.
        call_model_input_filter: ``(CallModelData) -> ModelInputData``: what each request holds.

    Raises:
        TypeError: for a field that is not here.
    """

    model: str | Model | None = None
    model_settings: ModelSettings | None = None
    workflow_name: str = "Agent workflow"
    trace_id: str | None = None
    group_id: str | None = None
    trace_metadata: dict[str, Any] | None = None
    tracing_disabled: bool = False
    trace_include_sensitive_data: bool = dataclasses.field(default_factory=_tells_data)
    model_provider: Any = None
    tool_error_formatter: Callable[[Any], Any] | None = None
    session_settings: SessionSettings | None = None
    session_input_callback: Callable[[list[Any], list[Any]], Any] | None = None
    input_guardrails: Sequence[Any] | None = None
    output_guardrails: Sequence[Any] | None = None
    handoff_input_filter: Callable[[Any], Any] | None = None
    nest_handoff_history: bool = False
    handoff_history_mapper: Callable[[list[Any]], list[Any]] | None = None
    call_model_input_filter: Callable[[Any], Any] | None = None

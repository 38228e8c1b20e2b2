"""`ModelSettings` and `RunConfig`, under the names of the OpenAI Agents SDK.

A setting with a counterpart is passed on, one without is refused by name; none is ignored.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from toolkeel.errors import SetupError
from toolkeel.model_interface import Model, Settings
from toolkeel_compat.check_options import check_fields

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
_WIRE_OPTIONS: Mapping[bool, Sequence[str]] = {
    True: ("frequency_penalty", "presence_penalty"),
    False: ("truncation",),
}
"""What Chat Completions alone knows, and what Responses alone does: as there, others do not get it."""
_SAMPLING = ("top_p", "frequency_penalty", "presence_penalty")
_PASSED_OPTIONS = ("top_p", "metadata", "store", "prompt_cache_retention", "top_logprobs")


@dataclasses.dataclass
class MCPToolChoice:
    """A forced call of one tool of an MCP server that OpenAI connects to."""

    server_label: str
    name: str


@dataclasses.dataclass
class ModelSettings:
    """Sampling settings with the SDK's fields; `to_core` converts them.

    Raises:
        SetupError: A setting has no counterpart; the message names what to write instead.
    """

    temperature: float | None = None
    top_p: float | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    tool_choice: Any = None
    parallel_tool_calls: bool | None = None
    truncation: Literal["auto", "disabled"] | None = None
    max_tokens: int | None = None
    reasoning: Any = None
    verbosity: Literal["low", "medium", "high"] | None = None
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
        check_fields(self)
        for name, instead in _REFUSED.items():
            if getattr(self, name) is not None:
                raise SetupError(f"ModelSettings({name}=...) is not honoured here: {instead}")
        if not (
            isinstance(self.reasoning, Mapping | None) or hasattr(self.reasoning, "model_dump")
        ):
            raise SetupError(
                f"ModelSettings(reasoning={self.reasoning!r:.80}): give Reasoning(effort=...), or a dict"
            )
        if not isinstance(self.tool_choice, str | MCPToolChoice | None):
            raise SetupError(
                f"ModelSettings(tool_choice={self.tool_choice!r:.80}): give 'auto', 'required', "
                "'none' or a tool's name"
            )

    def resolve(self, override: ModelSettings | None) -> ModelSettings:
        """Return these settings, overridden by the ones set in `override`."""
        if override is None:
            return self
        names = [field.name for field in dataclasses.fields(override)]
        overrides = {n: v for n in names if (v := getattr(override, n)) is not None}
        if self.extra_args and override.extra_args:
            overrides["extra_args"] = {**self.extra_args, **override.extra_args}
        return dataclasses.replace(self, **overrides)

    def to_json_dict(self) -> dict[str, Any]:
        """Return the fields as plain data."""
        fields = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        return {n: _to_dict(v) if hasattr(v, "model_dump") else v for n, v in fields.items()}

    @classmethod
    def from_core(cls, settings: Settings) -> ModelSettings:
        """Convert the core's settings, for a custom model."""
        rest = dict(settings.extra_body)
        names = (*_PASSED_OPTIONS, *_WIRE_OPTIONS[True], *_WIRE_OPTIONS[False], "reasoning")
        known: dict[str, Any] = {name: getattr(settings, name) for name in _SAMPLING}
        known |= {n: rest.pop(n) for n in names if n in rest}
        return cls(
            settings.temperature,
            tool_choice=settings.tool_choice,
            parallel_tool_calls=settings.parallel_tool_calls,
            max_tokens=settings.max_tokens,
            extra_args=rest or None,
            **known,
        )

    def to_core(self, *, chat: bool = False) -> Settings:
        """Convert to the core's `Settings`.

        Args:
            chat: Use the option names of Chat Completions.
        """
        pairs = ((name, getattr(self, name)) for name in (*_PASSED_OPTIONS, *_WIRE_OPTIONS[chat]))
        options: dict[str, Any] = {name: value for name, value in pairs if value is not None}
        if self.reasoning is not None:
            reasoning = _to_dict(self.reasoning)
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
        options |= _to_dict(self.extra_body or {}) | (self.extra_args or {})
        return Settings(
            choice, self.parallel_tool_calls, None, self.temperature, self.max_tokens, options
        )


def to_model_settings(settings: Any) -> Any:
    """Convert a dict of settings to `ModelSettings`; return anything else unchanged."""
    return ModelSettings(**settings) if isinstance(settings, dict) else settings


def _to_dict(value: Any) -> dict[str, Any]:
    """Convert a mapping or an SDK object to a dict without unset values."""
    dump = getattr(value, "model_dump", None)
    made: dict[str, Any] = dump(exclude_none=True) if dump is not None else dict(value)
    return made


@dataclasses.dataclass
class SessionSettings:
    """Settings for reading a session.

    Args:
        limit: Number of latest items that join a run; None for all.
    """

    limit: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)


def _includes_sensitive_data() -> bool:
    value = os.environ.get("OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA", "true")
    return value.strip().lower() in ("1", "true", "yes", "on")


@dataclasses.dataclass
class RunConfig:
    """Configuration of one run, with the SDK's fields that have a counterpart.

    Args:
        model: Replaces the agent's model.
        model_settings: Overrides the agent's settings.
        workflow_name: Name of the run's trace.
        trace_id: Id of the trace; generated by default.
        group_id: Joins several traces, such as those of one conversation.
        trace_metadata: Metadata of the trace.
        tracing_disabled: Do not trace this run.
        trace_include_sensitive_data: Put arguments and results on spans; as in the SDK, the default is
            True unless ``OPENAI_AGENTS_TRACE_INCLUDE_SENSITIVE_DATA`` is off.
        model_provider: Creates models by name; see `ModelProvider`.
        tool_error_formatter: Returns the text for the model after a rejection without a reason; gets
            `ToolErrorFormatterArgs`.
        session_settings: Overrides the session's own settings.
        session_input_callback: ``(history, new items) -> items``: the run's input.
        input_guardrails: Checks of the run's input, besides the first agent's own.
        output_guardrails: Checks of the output, besides the last agent's own.
        handoff_input_filter: The filter of handoffs without one.
        nest_handoff_history: Pass the history to the next agent as one text.
        handoff_history_mapper: Creates the items of that history.
        call_model_input_filter: ``(CallModelData) -> ModelInputData``: the input of each request.

    Raises:
        SetupError: A field has a value of a wrong type.
        TypeError: A field is unknown.
    """

    model: str | Model | None = None
    model_settings: ModelSettings | None = None
    workflow_name: str = "Agent workflow"
    trace_id: str | None = None
    group_id: str | None = None
    trace_metadata: dict[str, Any] | None = None
    tracing_disabled: bool = False
    trace_include_sensitive_data: bool = dataclasses.field(default_factory=_includes_sensitive_data)
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

    def __post_init__(self) -> None:
        self.model_settings = to_model_settings(self.model_settings)
        if isinstance(self.session_settings, dict):
            self.session_settings = SessionSettings(**self.session_settings)
        check_fields(self)

"""What a language model is to this library: messages and tools in, deltas out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, runtime_checkable

from toolkeel._common.other_libraries_words import naming
from toolkeel._records.record import NOTHING, record
from toolkeel.content import Block
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, FinishReason, Message, Usage


@record
class TextDelta:
    """A piece of what the model says."""

    text: str


@record
class ReasoningDelta:
    """A piece of what the model thinks; `signature` comes with the last piece if at all."""

    text: str = ""
    signature: str = ""


@record
class CallDelta:
    """A piece of a call.

    Args:
        index: Which call of this reply it belongs to, counted from 0 by the decoder.
        id: The call's id, once known.
        name: The tool's name, once known.
        arguments: The next piece of the arguments' text.
        provider_options: What else the provider sent with the call and wants back.
    """

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""
    provider_options: Mapping[str, object] = NOTHING


@record
class Finish:
    """The end of a reply. A stream that ends without it was cut off.

    Args:
        reason: Why it ended.
        usage: What it cost.
        model: Which model answered.
        provider_options: What else the provider sent and wants back.
        media: The pictures, sounds and files it made, which come whole and stand behind its text.
    """

    reason: FinishReason
    usage: Usage = Usage()
    model: str = ""
    provider_options: Mapping[str, object] = NOTHING
    media: tuple[Block, ...] = ()


@record
class RetryDelta:
    """The request failed before anything was said; the model sends it again.

    Args:
        attempt: Which repetition this is, from 1.
        wait: Seconds until it is sent.
        error: What happened.
        status: HTTP status, if there was an answer.
    """

    attempt: int
    wait: float
    error: str
    status: int | None = None


Delta: TypeAlias = TextDelta | ReasoningDelta | CallDelta | RetryDelta | Finish


class ToolDefinition(Protocol):
    """What a model is told about a tool."""

    @property
    def name(self) -> str: ...
    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, object]: ...
    @property
    def provider_options(self) -> Mapping[str, object]: ...


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | str
"""``auto``, ``none``, ``required``, or the name of the tool that must be called."""


@record
class OutputFormat:
    """The form a reply must have, for wires that hold replies to a schema.

    Args:
        name: Of the form.
        schema: JSON Schema of an object.
        description: What the answer is, for the model.
    """

    name: str
    schema: Mapping[str, object]
    description: str = ""


@record
class Settings:
    """How to sample a reply; None leaves a choice to the provider.

    Args:
        tool_choice: Whether and which tool the model must call.
        parallel_tool_calls: Whether it may call several at once.
        strict: Whether the provider shall hold arguments to the schema while sampling.
        temperature: Randomness, in the provider's own scale.
        max_tokens: Longest reply, in tokens.
        provider_options: Further keys of the request's body, sent as they are.
        output: The form the reply must have; for models that can (`SupportsStructuredOutput`).
        keep_tool_choice: Whether a `tool_choice` that forces a call still does in an agent's run
            when one was made; it would have to call for ever.
    """

    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    strict: bool | None = None
    temperature: float | None = None
    max_tokens: int | None = None
    provider_options: Mapping[str, object] = NOTHING
    output: OutputFormat | None = None
    keep_tool_choice: bool = False


if not TYPE_CHECKING:  # there, an unknown setting is an error already
    Settings.__new__ = naming(Settings.__new__)


@record
class ModelRequest:
    """One request to a model.

    Args:
        messages: The transcript so far. It only ever grows between requests of one run.
        tools: What the model may call.
        settings: How to sample.
        model: Who is asked, in an agent's run; a step around the request may want another.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolDefinition] = ()
    settings: Settings = Settings()
    model: Model | None = None


class Model(Protocol):
    """Anything that answers a transcript.

    `stream` yields deltas and ends with `Finish`; a model that has the reply whole yields the
    one `AssistantMessage` instead. `RetryDelta` may come before either. It raises `ModelError` if there
    is no reply to be had.
    """

    @property
    def name(self) -> str:
        """The model's name, for people and events."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Answer a transcript: deltas as they come, then `Finish`; or the whole reply at once."""
        ...


@runtime_checkable
class SupportsStructuredOutput(Protocol):
    """A model whose server can make replies keep to a schema (structured output)."""

    def supports_format(self, output: OutputFormat, *, tools: bool) -> bool:
        """Whether replies can be made to keep to this one.

        Args:
            output: The form.
            tools: Whether the model has tools to call, too; some servers take one or the other.
        """
        ...


def provider_of(model: Model) -> str:
    """Whose server a model asks, by the names of OpenTelemetry's GenAI conventions where they have one.

    A model of your own says it by an attribute `provider`; empty where nobody knows.

    >>> class Mine:
    ...     name, provider = "mine", "example"
    >>> provider_of(Mine())
    'example'
    """
    provider = getattr(model, "provider", "")
    return provider if isinstance(provider, str) else ""


_connect: list[Callable[[str], Model]] = []


def lend_connect(connect: Callable[[str], Model]) -> None:
    """Let agents take a model by name: lent by the chapter `providers`, which knows the names."""
    _connect[:] = [connect]


def connected(name: str | Model) -> Model:
    """The model of that name; a model is itself.

    Raises:
        SetupError: if nobody knows it, or it is neither.
    """
    if not isinstance(name, str):
        if isinstance(name, type) or not hasattr(name, "stream"):
            shown = f"the class {name.__name__}" if isinstance(name, type) else f"{name!r:.60}"
            raise SetupError(
                f"{shown} is no model, which comes first: Agent('openai:gpt-5', [a_function])"
            )
        return name
    if " " in name.strip():
        raise SetupError(
            f"{name!r:.60} is no model's name, which comes first; what a model is told goes into "
            "instructions=: Agent('openai:gpt-5', tools, instructions='...')"
        )
    if not _connect:
        raise SetupError("import toolkeel before naming a model")
    return _connect[0](name)


_prices: list[Callable[[str], Callable[[Usage], float] | None]] = []


def lend_prices(price_of: Callable[[str], Callable[[Usage], float] | None]) -> None:
    """Let limits know what models cost: lent by the chapter `providers`."""
    _prices[:] = [price_of]


def known_price(model: str) -> Callable[[Usage], float] | None:
    """What a model of that name costs, in US dollars; None if nobody knows.

    Raises:
        MissingExtraError: who would know is not installed.
    """
    return _prices[0](model) if _prices else None


_sessions: list[Callable[[Any], Any]] = []


def lend_sessions(find: Callable[[Any], Any]) -> None:
    """Let agents take a session by name or path: lent by the chapter that keeps them."""
    _sessions[:] = [find]


def session_named(name: object) -> Any:
    """The session of that name, or of the file at that path."""
    return _sessions[0](name)

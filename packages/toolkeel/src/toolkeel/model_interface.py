"""The interface of language models: messages and tools in, deltas out."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Annotated, Any, Literal, Protocol, TypeAlias, runtime_checkable

from toolkeel._common.checked_arguments import at_least, checked
from toolkeel._common.other_libraries_words import explain_foreign
from toolkeel._records.record import NOTHING, record
from toolkeel.content import Block
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, FinishReason, Message, Usage


@record
class TextDelta:
    """A piece of the reply's text."""

    text: str


@record
class ReasoningDelta:
    """A piece of the model's reasoning. The last piece may have the `signature`."""

    text: str = ""
    signature: str = ""


@record
class CallDelta:
    """A piece of a call.

    Args:
        index: The call's place in the reply, counted from 0 by the decoder.
        id: The call's id, once known.
        name: The tool's name, once known.
        arguments: The next piece of the arguments' text.
        provider_options: Other data that the provider sent with the call and needs back.
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
        reason: Why the reply ended.
        usage: Its tokens.
        model: The model that answered.
        provider_options: Other data that the provider sent and needs back.
        media: Pictures, sounds and files of the reply, which arrive complete, after its text.
    """

    reason: FinishReason
    usage: Usage = Usage()
    model: str = ""
    provider_options: Mapping[str, object] = NOTHING
    media: tuple[Block, ...] = ()


@record
class RetryDelta:
    """The request failed before the reply started. The model sends it again.

    Reasoning before it is withdrawn: it belongs to a reply that its provider did not accept.

    Args:
        attempt: Number of this repetition, from 1.
        wait: Seconds until it is sent.
        error: The failure.
        status: HTTP status, if there was a response.
    """

    attempt: int
    wait: float
    error: str
    status: int | None = None


Delta: TypeAlias = TextDelta | ReasoningDelta | CallDelta | RetryDelta | Finish


class ToolDefinition(Protocol):
    """The definition of a tool, as a model gets it."""

    @property
    def name(self) -> str:
        """Name of the tool."""
        ...

    @property
    def description(self) -> str:
        """What the tool does, for the model."""
        ...

    @property
    def parameters(self) -> Mapping[str, object]:
        """JSON Schema of the parameters."""
        ...

    @property
    def provider_options(self) -> Mapping[str, object]:
        """What a provider gets with the definition, such as ``cache_control``."""
        ...


ToolChoice: TypeAlias = Literal["auto", "none", "required"] | str
"""``auto``, ``none``, ``required``, or the name of the tool that must be called."""


ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""Levels of reasoning, least first; a server that has fewer gets its nearest."""


@record
class OutputFormat:
    """A format for replies, for wires that can enforce a schema.

    Args:
        name: Name of the format.
        schema: JSON Schema of an object.
        description: What the answer is, for the model.
        strict: True to have the schema enforced, in the form that the server needs for that;
            ``verbatim`` to have OpenAI's servers enforce it as it is written, and others as for True;
            False to ask for the schema without enforcing it, where the wire can.
    """

    name: str
    schema: Mapping[str, object]
    description: str = ""
    strict: bool | Literal["verbatim"] = True


@checked
@record
class Settings:
    """Sampling settings of a reply. None leaves the choice to the provider.

    Args:
        tool_choice: If and which tool the model must call.
        parallel_tool_calls: Allow several calls in one reply.
        strict: Have the provider enforce the schema of arguments while sampling.
        temperature: Randomness, in the provider's own scale.
        max_tokens: Longest reply, in tokens.
        extra_body: Further keys of the request's body, sent as they are.
        output: Required format of the reply, for models that support it (`SupportsStructuredOutput`).
        keep_tool_choice: Send a `tool_choice` that forces a call in every turn of an agent's run, not
            only until one was made. The model would have to call forever.
        top_p: Sample from the likeliest tokens that have this probability together.
        top_k: Sample from this many tokens.
        min_p: Sample from tokens with this share of the likeliest one's probability.
        stop: Texts at which the reply ends.
        seed: Start of the sampling, for replies that can be repeated as far as the server can.
        frequency_penalty: How much a token that was used often is avoided.
        presence_penalty: How much a token that was used is avoided.
        timeout: Seconds to wait for the answer, or for its next bytes; overrides the model's own.
        reasoning_effort: How much the model reasons before it answers.

    A setting that a model's server does not take is left out, and logged once as a warning.
    """

    tool_choice: ToolChoice | None = None
    parallel_tool_calls: bool | None = None
    strict: bool | None = None
    temperature: Annotated[float, at_least(0, "a number, 0 or more")] | None = None
    max_tokens: Annotated[int, at_least(1, "a number from 1")] | None = None
    extra_body: Mapping[str, object] = NOTHING
    output: OutputFormat | None = None
    keep_tool_choice: bool = False
    top_p: Annotated[float, at_least(0, "a number, 0 or more")] | None = None
    top_k: Annotated[int, at_least(1, "a number from 1")] | None = None
    min_p: Annotated[float, at_least(0, "a number, 0 or more")] | None = None
    stop: str | Sequence[str] | None = None
    seed: int | None = None
    frequency_penalty: float | None = None
    presence_penalty: float | None = None
    timeout: Annotated[float, at_least(0, "a number, 0 or more")] | None = None
    reasoning_effort: ReasoningEffort | None = None


@record
class ModelRequest:
    """One request to a model.

    Args:
        messages: The transcript so far. It only ever grows between requests of one run.
        tools: Tools the model may call.
        settings: How to sample.
        model: The model to call, in an agent's run; a step around the request may choose another.
    """

    messages: Sequence[Message]
    tools: Sequence[ToolDefinition] = ()
    settings: Settings = Settings()
    model: Model | None = None


class Model(Protocol):
    """A language model.

    `stream` yields deltas and ends with `Finish`; a model that gets the complete reply at once yields
    the one `AssistantMessage` instead. `RetryDelta` may come before either. It raises `ModelError` if
    there is no reply.
    """

    @property
    def name(self) -> str:
        """The model's name, for people and events."""
        ...

    def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Answer a transcript. Yield deltas and then `Finish`, or yield the complete reply."""
        ...


@runtime_checkable
class SupportsStructuredOutput(Protocol):
    """A model whose server can enforce a schema on replies (structured output)."""

    def supports_format(self, output: OutputFormat, *, tools: bool) -> bool:
        """Return True if the server can enforce this format.

        Args:
            output: The format.
            tools: The request has tools, too; some servers accept only one or the other.
        """
        ...


def get_provider(model: Model) -> str:
    """Return the provider of a model, by the names of OpenTelemetry's GenAI conventions where they have one.

    A model of your own has it as an attribute `provider`; empty if unknown.

    >>> class Mine:
    ...     name, provider = "mine", "example"
    >>> get_provider(Mine())
    'example'
    """
    provider = getattr(model, "provider", "")
    return provider if isinstance(provider, str) else ""


_connect: list[Callable[[str], Model]] = []


def set_model_resolver(connect: Callable[[str], Model]) -> None:
    """Set the function that finds models by name, in place of the last one; `toolkeel` does when imported."""
    _connect[:] = [connect]


def resolve_model(name: str | Model) -> Model:
    """Return the model with a name; a model is returned as it is.

    Raises:
        SetupError: the name is unknown, or the value is no model.
    """
    if not isinstance(name, str):
        if foreign := explain_foreign(name):
            raise SetupError(f"{foreign}, or name the model: 'openai:gpt-5'")
        if isinstance(name, type) or not hasattr(name, "stream"):
            shown = f"the class {name.__name__}" if isinstance(name, type) else f"{name!r:.60}"
            raise SetupError(
                f"{shown} is not a model; the model comes first: Agent('openai:gpt-5', [a_function])"
            )
        return name
    if " " in name.strip():
        raise SetupError(
            f"{name!r:.60} is not a model name; the model comes first, and instructions for it go into "
            "instructions=: Agent('openai:gpt-5', tools, instructions='...')"
        )
    if not _connect:
        raise SetupError("import toolkeel before naming a model")
    return _connect[0](name)


_prices: list[Callable[[str], Callable[[Usage], float] | None]] = []


def set_price_lookup(price_of: Callable[[str], Callable[[Usage], float] | None]) -> None:
    """Set the function that finds models' prices, in place of the last one; `toolkeel` does when imported."""
    _prices[:] = [price_of]


def find_price(model: str) -> Callable[[Usage], float] | None:
    """Return the price function of a model, in US dollars, or None if the price is unknown.

    Raises:
        MissingExtraError: the package with the prices is not installed.
    """
    return _prices[0](model) if _prices else None


_sessions: list[Callable[[Any], Any]] = []


def set_session_lookup(find: Callable[[Any], Any]) -> None:
    """Set the function that finds sessions by name or path; `toolkeel` does when imported."""
    _sessions[:] = [find]


def find_session(name: object) -> Any:
    """Return the session with a name, or of the file at a path, as `toolkeel.sessions.session` does."""
    return _sessions[0](name)


_history: list[Callable[[int], Any]] = []


def set_history_lookup(make: Callable[[int], Any]) -> None:
    """Set the function that makes the history policy of agents without one; `toolkeel` does when imported."""
    _history[:] = [make]


def make_history_policy(tokens: int) -> Any:
    """Return a history policy that leaves `tokens`, at least 1, of messages; None if no policy is registered."""
    return _history[0](max(1, tokens)) if _history else None

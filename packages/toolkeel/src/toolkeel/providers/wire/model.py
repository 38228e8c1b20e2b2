"""The base of all wires' models: send a request, decode its events, retry, continue pauses.

Each wire's model adds its vendor's SDK; encoding, decoding, retries and closing are shared.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from toolkeel.agent.bind_tools import count_in_run
from toolkeel.agent.reply_assembly import assemble
from toolkeel.define.dialect import Target
from toolkeel.errors import ModelError
from toolkeel.messages import AssistantMessage, Usage, UserMessage
from toolkeel.model_interface import Delta, Finish, ModelRequest, OutputFormat
from toolkeel.providers.chat_servers import provider_at
from toolkeel.providers.wire.body_cache import BodyCache
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.http import ClientPerLoop, CommonOptions, media_policy, reading_answer
from toolkeel.providers.wire.reasoning_ownership import ModelProfile, requested_model_note
from toolkeel.providers.wire.request import Encoder, PreparedRequest
from toolkeel.providers.wire.retry import Deltas, Retries, is_beyond_reasoning
from toolkeel.providers.wire.server_errors import empty_answer, model_mistake
from toolkeel.providers.wire.structured_output import is_expressible

log = logging.getLogger("toolkeel")

MAX_PAUSES = 8
"""Times a reply may pause before it is returned incomplete."""


CORRECTION = (
    "Your last reply could not be read: {mistake}\nReply again. To call a tool, use one of the "
    "tools of this conversation, with arguments that fit its schema."
)
"""Message to the model after a reply that its provider did not accept."""


class ModelOptions(CommonOptions, total=False):
    """Options of a model, beside `CommonOptions`.

    Attributes:
        native_output: True if the server holds replies to a schema; absent: known for the vendors'
            own models.
    """

    native_output: bool


class WireModel:
    """A model behind a server of one wire.

    Args:
        profile: The requested model, and what it and its server accept.
        options: Options for the server.
        clients: The SDK's clients, closed with the model.
        limit: Times a failed request is sent again, if the options do not say.

    Raises:
        SetupError: the option `max_retries` is negative.
    """

    encoder: ClassVar[type[Encoder[Any]]]
    output_dialect: ClassVar[Target]
    """Dialect of a reply's schema on the wire."""
    local_reason = (
        "run here, since the server is not known to have tools of its own; pass hosts_tools=True "
        "if it does, as a proxy in front of the provider, else hosts_tools=False"
    )
    """Why the provider's own tools run locally."""
    vendor = ""
    """Provider at any address; empty if the address decides."""
    hosts = ""
    """Wire whose own tools the server has, such as web search; empty if it has none."""
    flags_failures = True
    """True if the wire flags a failed result, so that its text need not begin with ``Error:``."""

    def __init__(
        self,
        profile: ModelProfile,
        options: ModelOptions,
        clients: ClientPerLoop[Any] | None = None,
        limit: int | None = None,
    ) -> None:
        self.name = profile.model
        self.provider = self.vendor or provider_at(profile.endpoint)
        """Provider of the server; see `toolkeel.model_interface.get_provider`."""
        self._profile = profile
        self._stream = profile.stream
        self._clients = clients
        self._native_output = options.get("native_output")
        self._hosting_is_known = "hosts_tools" in options
        """True if the program decided where hosted tools run, or was warned."""
        self._retries = Retries(self.name, options.get("max_retries", limit))
        self._bodies = BodyCache(self.encoder, profile, media_policy(options))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    @count_in_run
    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | AssistantMessage]:
        """Yield the deltas of a reply. See `toolkeel.model_interface.Model`.

        A request that failed for a time is sent again, after a `RetryDelta`.

        Raises:
            ModelError: with the HTTP status and the seconds to wait, if the server reported them.
        """
        async with aclosing(self._retries.run(partial(self._attempt, [request]))) as parts:
            async for deltas in parts:
                for delta in deltas:
                    yield delta

    def supports_format(self, output: OutputFormat, *, tools: bool) -> bool:
        """Return True if replies can be held to a form. See `toolkeel.model_interface.SupportsStructuredOutput`."""
        known = (
            self._has_structured_output(tools)
            if self._native_output is None
            else self._native_output
        )
        return known and is_expressible(output, self.output_dialect)

    async def close(self) -> None:
        """Close the connections of the running event loop; a client of your own stays open."""
        if self._clients is not None:
            await self._clients.close()

    async def _attempt(self, requests: list[ModelRequest]) -> AsyncGenerator[Deltas]:
        """Yield the reply to the last of `requests`, or raise `ModelError`.

        If the model's reply was rejected, a corrected request is appended to `requests` first.
        """
        try:
            async with aclosing(self._request_reply(requests[-1], len(requests) - 1)) as parts:
                async for deltas in parts:
                    yield deltas
        except ModelError as error:
            if error.mistake:
                note = UserMessage(CORRECTION.format(mistake=error.mistake), "correction")
                requests.append(replace(requests[0], messages=[*requests[0].messages, note]))
            raise

    async def _request_reply(
        self, request: ModelRequest, corrections: int = 0
    ) -> AsyncGenerator[Deltas]:
        """Yield the reply to a request in parts; raise `ModelError` for one that its provider rejected.

        A rejection after the reply has begun is not raised. Logs once if the provider's own tools run here instead.

        Args:
            request: The request, with a correction if the last reply could not be read.
            corrections: Number of replies to the same transcript that could not be read.
        """
        prepared = self._bodies.prepare(request)
        if prepared.tools.stand_ins and not self._hosting_is_known:
            self._hosting_is_known = True
            log.warning("%r: %s: %s", self, ", ".join(prepared.tools.stand_ins), self.local_reason)
        body = self._bodies.encode(request)  # what fails by now is the program's fault
        decoder = self.encoder.decoder(prepared.tools, self.name)
        emitted: list[Delta | AssistantMessage] = []
        has_reply = False
        with self._report_partial_reply(decoder, emitted):
            async with aclosing(self._deltas(request, prepared, body, decoder)) as parts:
                async for deltas in parts:
                    is_last = any(isinstance(one, Finish | AssistantMessage) for one in deltas)
                    if is_last and not has_reply and (mistake := decoder.mistake()):
                        raise model_mistake(mistake)
                    if self._stream:
                        has_reply = has_reply or is_beyond_reasoning(deltas)
                        yield deltas
                    else:
                        emitted += deltas
        if not self._stream:
            yield [assemble(emitted)]

    @contextmanager
    def _report_partial_reply(
        self, decoder: Decoder, emitted: Sequence[Delta | AssistantMessage]
    ) -> Iterator[None]:
        """Raise errors as `ModelError`, with the text and the usage received before them."""
        try:
            with reading_answer(self.name), self._errors():
                yield
        except ModelError as error:
            error.usage, error.text = decoder.reported_usage(), assemble(emitted).text
            raise

    async def _deltas(
        self, request: ModelRequest, prepared: PreparedRequest, body: Any, decoder: Decoder
    ) -> AsyncGenerator[Deltas]:
        """Yield a reply's deltas, continuing one that pauses; raise `ModelError` if it is empty.

        One that breaks off ends with an ``incomplete`` `Finish` if the server reported its usage.
        """
        read = decoder.feed if self._stream else decoder.read_response
        emitted = False
        for _ in range(MAX_PAUSES + 1):
            async with aclosing(self._events(body, prepared)) as parts:
                async for events in parts:
                    for deltas in _decode_events(events, read):
                        emitted = emitted or bool(deltas)
                        yield deltas
            if not (more := decoder.continuation()):
                break
            body = self._bodies.encode(request, more)
        if decoder.is_empty and not decoder.mistake():
            raise empty_answer("the answer was empty")
        last = [self._note_requested_model(one) for one in decoder.finish()]
        if emitted and not decoder.is_ended() and (usage := decoder.reported_usage()) != Usage():
            last.append(Finish("incomplete", usage))
        yield last

    def _note_requested_model(self, last: Delta | AssistantMessage) -> Delta | AssistantMessage:
        """Return a `Finish` or message with a note of the requested model; other deltas as they are.

        No note if the reply names that model and has nothing sealed.
        """
        if not isinstance(last, Finish | AssistantMessage):
            return last
        sealed = any(map(self.encoder.decoder.is_sealed, last.provider_options))
        note = requested_model_note(self.encoder.wire, self._profile, last.model, is_sealed=sealed)
        if not note:
            return last
        return replace(last, provider_options={**last.provider_options, **note})

    # — defined by each wire's model —

    def _events(self, body: Any, prepared: PreparedRequest) -> AsyncGenerator[Sequence[object]]:
        """Send a request and yield the answer's events as they arrive; a complete answer is one event."""
        raise NotImplementedError

    def _errors(self) -> AbstractContextManager[None]:
        """Return a context that turns the SDK's exceptions into `ModelError`, by status and headers."""
        raise NotImplementedError

    def _has_structured_output(self, tools: bool) -> bool:
        """Return True if the vendor's model of this name holds replies to a schema."""
        raise NotImplementedError


def _decode_events(
    events: Sequence[object], read: Callable[[object], list[Delta]]
) -> Iterator[list[Delta]]:
    """Yield the deltas of events that arrived together; an error comes after the deltas before it."""
    deltas: list[Delta] = []
    try:
        for event in events:
            deltas += read(event)
    except ModelError:
        yield deltas
        raise
    yield deltas

"""What the models of all wires share: a request goes out, its events come in, deltas go on.

A wire's model opens its vendor's SDK; how requests are made, answers read, failures repeated and
connections closed is the same for all of them.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from toolkeel.agent.reply_assembly import assemble
from toolkeel.define.dialect import Target
from toolkeel.errors import ModelError, ModelUnavailable
from toolkeel.messages import AssistantMessage, Usage
from toolkeel.model_interface import Delta, Finish, ModelRequest, OutputFormat
from toolkeel.providers.chat_servers import provider_at
from toolkeel.providers.wire.body_cache import BodyCache
from toolkeel.providers.wire.decoder import Decoder
from toolkeel.providers.wire.http import CommonOptions, PerLoop, media_of, unreadable
from toolkeel.providers.wire.reasoning_ownership import Asked, asked_note
from toolkeel.providers.wire.request import Encoder, PreparedRequest
from toolkeel.providers.wire.retry import Deltas, Retries
from toolkeel.providers.wire.structured_output import is_expressible

log = logging.getLogger("toolkeel")

MAX_PAUSES = 8
"""How often a reply may pause before it is given as it is."""


class ModelOptions(CommonOptions, total=False):
    """How a model deals with its server, beside `CommonOptions`.

    Attributes:
        native_output: Whether the server holds replies to a schema; nothing: what is known of
            the vendor's own models.
    """

    native_output: bool


class WireModel:
    """A model behind a server of one wire.

    Args:
        profile: Which model is asked, and what it and its server take.
        options: How to deal with the server.
        clients: The SDK's, to be closed with the model.
        limit: How often failed requests are sent again, if the options do not say.
    """

    encoder: ClassVar[type[Encoder[Any]]]
    output_dialect: ClassVar[Target]
    """The form in which the wire takes the schema of a reply."""
    stand_in = (
        "run here, since the server is not known to have tools of its own; say hosts_tools=True "
        "if it does, as a proxy in front of the provider, else hosts_tools=False"
    )
    """Why tools that the provider has run here nevertheless."""
    vendor = ""
    """Whose service it is whatever its address; empty if the address says it."""
    hosts = ""
    """Whose own tools the server has, such as web search; empty if it has none."""

    def __init__(
        self,
        profile: Asked,
        options: ModelOptions,
        clients: PerLoop[Any] | None = None,
        limit: int | None = None,
    ) -> None:
        self.name = profile.model
        self.provider = self.vendor or provider_at(profile.endpoint)
        """Whose server is asked; see `toolkeel.model_interface.get_provider`."""
        self._profile = profile
        self._stream = profile.stream
        self._clients = clients
        self._native = options.get("native_output")
        self._told = "hosts_tools" in options
        """Whether somebody knows where hosted tools run."""
        self._retries = Retries(self.name, options.get("max_retries", limit))
        self._bodies = BodyCache(self.encoder, profile, media_of(options))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Delta | AssistantMessage]:
        """Ask for a reply; see `toolkeel.model_interface.Model`.

        Raises:
            ModelError: with the HTTP status and the seconds to wait, if the server said so.
        """
        async with aclosing(self._retries.of(partial(self._attempt, request))) as parts:
            async for deltas in parts:
                for delta in deltas:
                    yield delta

    def supports_format(self, output: OutputFormat, *, tools: bool) -> bool:
        """Whether replies can be held to a form; see `toolkeel.model_interface.SupportsStructuredOutput`."""
        known = self._has_structured_output(tools) if self._native is None else self._native
        return known and is_expressible(output, self.output_dialect)

    async def close(self) -> None:
        """Close the connections of the running event loop; a client of your own stays open."""
        if self._clients is not None:
            await self._clients.close()

    async def _attempt(self, request: ModelRequest) -> AsyncGenerator[Deltas]:
        prepared = self._bodies.prepared(request)
        if prepared.tools.stand_ins and not self._told:
            self._told = True
            log.warning("%r: %s: %s", self, ", ".join(prepared.tools.stand_ins), self.stand_in)
        body = self._bodies.body(request)  # what fails by now is the program's fault
        decoder = self.encoder.decoder(prepared.tools, self.name)
        said: list[Delta | AssistantMessage] = []
        with self._broken_off(decoder, said):
            async with aclosing(self._deltas(request, prepared, body, decoder)) as parts:
                async for deltas in parts:
                    if self._stream:
                        yield deltas
                    else:
                        said += deltas
        if not self._stream:
            yield [assemble(said)]

    @contextmanager
    def _broken_off(
        self, decoder: Decoder, said: Sequence[Delta | AssistantMessage]
    ) -> Iterator[None]:
        """Make a `ModelError` of what goes wrong, with what was said before and what it cost."""
        try:
            with unreadable(self.name), self._errors():
                yield
        except ModelError as error:
            error.usage, error.text = decoder.billed(), assemble(said).text
            raise

    async def _deltas(
        self, request: ModelRequest, prepared: PreparedRequest, body: Any, decoder: Decoder
    ) -> AsyncGenerator[Deltas]:
        """What the reply says; one that pauses is asked to go on."""
        read = decoder.feed if self._stream else decoder.read_response
        said = False
        for _ in range(MAX_PAUSES + 1):
            async with aclosing(self._events(body, prepared)) as parts:
                async for events in parts:
                    for deltas in _said(events, read):
                        said = said or bool(deltas)
                        yield deltas
            if not (more := decoder.unfinished()):
                break
            body = self._bodies.body(request, more)
        if decoder.empty:
            raise ModelUnavailable("the answer was empty")
        last = [self._noted(one) for one in decoder.finish()]
        if said and not decoder.ended() and (usage := decoder.billed()) != Usage():
            last.append(Finish("incomplete", usage))
        yield last

    def _noted(self, last: Delta | AssistantMessage) -> Delta | AssistantMessage:
        """The end of a reply with who was asked for it, if it says another name."""
        if not isinstance(last, Finish | AssistantMessage):
            return last
        if not (note := asked_note(self.encoder.wire, self._profile, last.model)):
            return last
        return replace(last, provider_options={**last.provider_options, **note})

    # — what a wire's model says itself —

    def _events(self, body: Any, prepared: PreparedRequest) -> AsyncGenerator[Sequence[object]]:
        """Send a request: the answer's events, as they come; a whole answer is one."""
        raise NotImplementedError

    def _errors(self) -> AbstractContextManager[None]:
        """Turns the SDK's exceptions into `ModelError`, by status and headers, never by text."""
        raise NotImplementedError

    def _has_structured_output(self, tools: bool) -> bool:
        """Whether the vendor's model of that name holds replies to a schema."""
        raise NotImplementedError


def _said(events: Sequence[object], read: Callable[[object], list[Delta]]) -> Iterator[list[Delta]]:
    """What events that came at once say, although one of them may be an error."""
    deltas: list[Delta] = []
    try:
        for event in events:
            deltas += read(event)
    except ModelError:
        yield deltas
        raise
    yield deltas

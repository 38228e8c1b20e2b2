"""Models behind the Responses API, through OpenAI's official SDK."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial
from typing import Unpack

from toolwright.errors import MissingExtraError
from toolwright.messages import AssistantMessage
from toolwright.model import Delta, ModelRequest, OutputFormat
from toolwright.providers import openai_responses
from toolwright.providers.held import gpt_holds, is_held
from toolwright.providers.http import CommonOptions, PerLoop, check_options, media_of
from toolwright.providers.responses_body import BodyCache
from toolwright.providers.retry import Reply
from toolwright.providers.wiretools import WireTools

try:
    import openai
except ImportError as error:
    raise MissingExtraError("OpenAIResponses", "openai") from error

from toolwright.providers.openai_client import (
    ONCE,
    checked_client,
    client_options,
    is_own_host,
    model_errors,
    new_client,
    retries,
    sent_events,
)

_PATH = "/responses"


class ResponsesOptions(CommonOptions, total=False):
    """How `OpenAIResponses` deals with its server, beside `CommonOptions`.

    Attributes:
        hosts_tools: Whether the server has tools of its own, such as web search; nothing: if it
            is OpenAI's or Azure's.
        native_output: Whether the server holds replies to a schema; nothing: what is known of
            OpenAI's own models.
    """

    hosts_tools: bool
    native_output: bool


class OpenAIResponses:
    """A model that answers over the Responses API: OpenAI's, or a server's that imitates it.

    Nothing is stored at the server: each request carries the transcript, with the model's own
    reasoning in its encrypted form. The SDK's environment variables stay in force:
    ``OPENAI_API_KEY``, ``OPENAI_BASE_URL``, ``OPENAI_ORG_ID``, ``OPENAI_PROJECT_ID``. Failed
    requests are sent again as ``retry.py`` says.

    Args:
        model: The model's name on the server.
        base_url: Where the server is, ``/v1`` included; None: OpenAI's.
        api_key: None: from the environment; a server given by `base_url` may need none.
        client: An `openai.AsyncOpenAI` (or Azure's) of your own, which then knows address, key
            and timeout by itself, and how often to send again if `max_retries` does not say.
        stream: Whether to ask for the answer as a stream.
        options: See `ResponsesOptions`.

    Raises:
        SetupError: if the client is no `AsyncOpenAI`, there is no key, or an option is unknown.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: openai.AsyncOpenAI | None = None,
        stream: bool = True,
        **options: Unpack[ResponsesOptions],
    ) -> None:
        check_options("OpenAIResponses", options, ResponsesOptions.__annotations__)
        self.name = model
        self._stream = stream
        given = client_options(base_url, api_key, options.get("timeout"))
        new: Callable[[], openai.AsyncOpenAI] = partial(new_client, "OpenAIResponses", model, given)
        self._clients: PerLoop[openai.AsyncOpenAI] = PerLoop(
            new, checked_client("OpenAIResponses", client)
        )
        self._native = options.get("native_output")
        self._own = is_own_host(self._clients.first.base_url.host)
        self._retries = retries(model, client, options.get("max_retries"))
        hosts = options.get("hosts_tools", self._own)
        self.hosts = "openai-responses" if hosts else ""
        self._bodies = BodyCache(model, stream, media_of(options), hosts)

    def __repr__(self) -> str:
        return f"OpenAIResponses({self.name!r})"

    def stream(self, request: ModelRequest) -> Reply:
        """Ask for a reply; see `toolwright.model.Model`.

        Raises:
            ModelError: with the HTTP status and the seconds to wait, if the server said so.
        """
        content = self._bodies.body(request)
        return self._retries.of(partial(self._attempt, content, self._bodies.tools(request)))

    def holds(self, output: OutputFormat, *, tools: bool) -> bool:
        """Whether replies can be held to a form; see `toolwright.model.HoldsOutput`."""
        known = self._own and gpt_holds(self.name) if self._native is None else self._native
        return known and is_held(output, "openai-strict")

    async def close(self) -> None:
        """Close the connections of the running event loop; a client of your own stays open."""
        await self._clients.close()

    async def _attempt(self, content: bytes, tools: WireTools) -> Reply:
        with model_errors(self.name):
            if not self._stream:
                yield openai_responses.decode(await self._post(content), tools=tools)
                return
            async with aclosing(self._deltas(content, tools)) as deltas:
                async for delta in deltas:
                    yield delta

    async def _post(self, content: bytes) -> object:
        client = self._clients.get()
        return await client.post(_PATH, cast_to=object, options=ONCE, content=content)

    async def _deltas(
        self, content: bytes, tools: WireTools
    ) -> AsyncGenerator[Delta | AssistantMessage]:
        stream = await self._clients.get().post(
            _PATH,
            cast_to=object,
            options=ONCE,
            stream=True,
            stream_cls=openai.AsyncStream[object],
            content=content,
        )
        decoder = openai_responses.StreamDecoder(tools)
        async with aclosing(sent_events(stream)) as events:
            async for event in events:
                for delta in decoder.feed(event):
                    yield delta
        for last in decoder.finish():
            yield last

"""Gemini, through Google's official SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from functools import partial
from threading import Lock
from typing import Any, TypeVar, Unpack

from toolwright.agent.assemble import assemble
from toolwright.errors import (
    MissingExtraError,
    ModelError,
    ModelUnavailable,
    SetupError,
    model_error,
)
from toolwright.messages import Message
from toolwright.model import Delta, ModelRequest, OutputFormat
from toolwright.providers.gemini import turn_encoder
from toolwright.providers.gemini_encode import GeminiOptions, encode_options, head_of
from toolwright.providers.gemini_part import retry_delay
from toolwright.providers.gemini_stream import StreamDecoder
from toolwright.providers.growing import Constant, Media, Transcripts
from toolwright.providers.held import gemini_holds, is_held
from toolwright.providers.http import CommonOptions, PerLoop, check_options, media_of, retry_after
from toolwright.providers.retry import Reply, Retries
from toolwright.providers.wire import Json, as_dict, dumps
from toolwright.providers.wiretools import WireTools, wire_tools

try:
    import httpx2
    from google import genai
    from google.genai import errors, types
except ImportError as error:
    raise MissingExtraError("Gemini", "gemini") from error

T = TypeVar("T")
_HERE = "."
"""Stands for the contents, which go in the body that is given beside: to make the SDK's objects of
them and dicts of these again would cost more at every turn than all the rest of it."""


class GeminiModelOptions(CommonOptions, total=False):
    """How `Gemini` deals with its server, beside `CommonOptions`.

    Attributes:
        api_version: Of the server's interface, such as ``v1beta``; nothing: the SDK's.
        vertexai: Whether to ask Vertex AI; nothing: what the environment says.
        hosts_tools: Whether the server has tools of its own, such as Google's search; True if
            nothing is said.
        native_output: Whether the model holds replies to a schema; nothing: what is known of it.
    """

    api_version: str
    vertexai: bool
    hosts_tools: bool
    native_output: bool


class Gemini:
    """A Gemini model, at Google's own service or on Vertex AI.

    The SDK's environment variables stay in force: ``GOOGLE_API_KEY``, ``GEMINI_API_KEY``,
    ``GOOGLE_GENAI_USE_VERTEXAI``, ``GOOGLE_CLOUD_PROJECT``, ``GOOGLE_CLOUD_LOCATION``,
    ``GOOGLE_GEMINI_BASE_URL`` and their kin. Failed requests are sent again as ``retry.py`` says,
    and so are those whose answer has nothing in it (provider quirk Q49).

    Args:
        model: The model's name.
        base_url: Where the server is; None: Google's.
        api_key: None: from the environment.
        client: A `google.genai.Client` of your own, which then knows address, key and timeout by
            itself.
        stream: Whether to ask for the answer as a stream.
        options: See `GeminiModelOptions`.

    Raises:
        SetupError: if the client is none, there is no key, or an option is unknown.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        client: genai.Client | None = None,
        stream: bool = True,
        **options: Unpack[GeminiModelOptions],
    ) -> None:
        check_options("Gemini", options, GeminiModelOptions.__annotations__)
        self.name = model
        self._stream = stream
        timeout = options.get("timeout")
        http = types.HttpOptions(
            base_url=base_url,
            api_version=options.get("api_version"),
            timeout=None if timeout is None else max(1, round(timeout * 1000)),
        )
        given = {"api_key": api_key, "http_options": http, "vertexai": options.get("vertexai")}
        new: Callable[[], _Client] = partial(_new_client, model, given)
        self._clients: PerLoop[_Client] = PerLoop(new, _checked(client))
        self._native = options.get("native_output")
        self._retries = Retries(model, options.get("max_retries"))
        vertex = bool(self._clients.first.sdk.vertexai)
        hosts = options.get("hosts_tools", True)
        self._bodies = _BodyCache(GeminiOptions(model, vertex, hosts), media_of(options))

    def __repr__(self) -> str:
        return f"Gemini({self.name!r})"

    def stream(self, request: ModelRequest) -> Reply:
        """Ask for a reply; see `toolwright.model.Model`.

        Raises:
            ModelError: with the HTTP status and the seconds to wait, if the server said so.
        """
        return self._retries.of(partial(self._attempt, request))

    async def close(self) -> None:
        """Close the connections of the running event loop; a client of your own stays open."""
        await self._clients.close()

    async def _attempt(self, request: ModelRequest) -> Reply:
        with _model_errors(self.name):
            async with aclosing(self._deltas(request)) as deltas:
                if not self._stream:
                    yield assemble([delta async for delta in deltas])
                    return
                async for delta in deltas:
                    yield delta

    def holds(self, output: OutputFormat, *, tools: bool) -> bool:
        """Whether replies can be held to a form; see `toolwright.model.HoldsOutput`."""
        known = gemini_holds(self.name, tools=tools) if self._native is None else self._native
        return known and is_held(output, "gemini")

    async def _deltas(self, request: ModelRequest) -> AsyncGenerator[Delta]:
        tools, body = self._bodies.body(request)
        decoder = StreamDecoder(tools)
        async with aclosing(self._chunks(body)) as chunks:
            async for chunk in chunks:
                for delta in decoder.feed(chunk):
                    yield delta
        if decoder.empty:
            raise ModelUnavailable("the answer was empty")
        for delta in decoder.finish():
            yield delta

    async def _chunks(self, body: Json) -> AsyncGenerator[types.GenerateContentResponse]:
        """The answer's chunks; a whole answer is one chunk."""
        models = self._clients.get().sdk.aio.models
        config = types.GenerateContentConfig(
            http_options=types.HttpOptions(
                extra_body=body, retry_options=types.HttpRetryOptions(attempts=1)
            ),
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
        )
        if not self._stream:
            yield await models.generate_content(model=self.name, contents=_HERE, config=config)
            return
        stream = await models.generate_content_stream(
            model=self.name, contents=_HERE, config=config
        )
        async with aclosing(_pumped(stream)) as chunks:
            async for chunk in chunks:
                yield chunk


async def _pumped(chunks: AsyncIterator[T]) -> AsyncGenerator[T]:
    """`chunks`, read by a task of their own.

    The SDK's stream does not hang up when it is left early, but it does when its reader is
    cancelled.
    """
    queue: asyncio.Queue[T | None] = asyncio.Queue()

    async def pump() -> None:
        async for chunk in chunks:
            queue.put_nowait(chunk)

    task = asyncio.create_task(pump())
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (chunk := await queue.get()) is not None:
            yield chunk
        await task
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class _Client:
    """The SDK's client, closed as the others are."""

    def __init__(self, sdk: genai.Client) -> None:
        self.sdk = sdk

    async def close(self) -> None:
        await self.sdk.aio.aclose()
        self.sdk.close()


class _Contents:
    """The contents of one run so far, as JSON values."""

    __slots__ = ("_encoder", "_over", "size")

    def __init__(self, tools: WireTools, options: GeminiOptions) -> None:
        self._encoder = turn_encoder(tools, options)
        self._over: list[Json] = []
        self.size = 0

    @property
    def late(self) -> bool:
        return self._encoder.late

    def add(self, message: Message) -> None:
        """Encode the next message."""
        over = self._encoder.add(message)
        self._over += over
        self.size += sum(len(dumps(wire)) for wire in over)

    def all(self) -> list[Json]:
        """The contents, with those at the end that may still change."""
        return [*self._over, *self._encoder.tail()]

    def head(self) -> Json:
        """What of the body's other keys depends on the messages."""
        return head_of(self._encoder)


class _BodyCache:
    """Bodies that grow with their transcripts; safe to use from several threads."""

    def __init__(self, options: GeminiOptions, media: Media) -> None:
        self._options = options
        self._lock = Lock()
        self._transcripts: Transcripts[_Contents] = Transcripts(media)
        self._prepared = Constant(self._prepare)

    def body(self, request: ModelRequest) -> tuple[WireTools, Json]:
        """The tools on the wire, and the request's body. Its contents are not yours to change."""
        with self._lock:
            tools, rest = self._prepared.of(request)
            contents = self._transcripts.of(
                request.messages, (tools.names, tools.keys), lambda: _Contents(tools, self._options)
            )
            return tools, {"contents": contents.all(), **contents.head(), **rest}

    def _prepare(self, request: ModelRequest) -> tuple[WireTools, Json]:
        tools = wire_tools(request.tools, "gemini", hosting=self._options.hosts(request.tools))
        return tools, encode_options(request.settings, tools)


def _new_client(model: str, options: Mapping[str, Any]) -> _Client:
    try:
        return _Client(genai.Client(**options))
    except ValueError as error:
        raise SetupError(
            f"Gemini({model!r}): {error} Set GEMINI_API_KEY or pass api_key=; for Vertex AI set "
            "GOOGLE_CLOUD_PROJECT and pass vertexai=True"
        ) from error


def _checked(client: object) -> _Client | None:
    if client is None:
        return None
    if isinstance(client, genai.Client):
        return _Client(client)
    raise SetupError(
        f"Gemini(client=...): expected google.genai.Client, got {type(client).__name__}"
    )


@contextmanager
def _model_errors(model: str) -> Iterator[None]:
    """Turn the SDK's exceptions into `ModelError`, by status and headers, never by text."""
    try:
        yield
    except errors.APIError as error:
        details = as_dict(error.details)
        after = retry_delay(as_dict(details.get("error")) or details)
        if after is None:
            after = retry_after(getattr(error.response, "headers", None) or {})
        status = error.code if 400 <= (error.code or 0) < 600 else None
        said = error.message or error.status or "the server sent an error"
        raise model_error(f"{model}: {said}", status=status, retry_after=after) from error
    except (httpx2.HTTPError, OSError) as error:
        raise ModelUnavailable(f"{model}: {str(error) or type(error).__name__}") from error
    except (errors.UnknownApiResponseError, json.JSONDecodeError) as error:
        raise ModelError(f"{model}: the server sent something that is not JSON") from error
    except ModelError as error:
        raise error.about(model) from error

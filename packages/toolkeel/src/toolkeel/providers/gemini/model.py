"""Gemini, through Google's official SDK."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from functools import partial
from typing import Any, TypeVar, Unpack

from toolkeel._common.checked_arguments import checked
from toolkeel.errors import MissingExtraError, ModelError, ModelUnavailable, SetupError
from toolkeel.providers.gemini.encode import GeminiEncoder
from toolkeel.providers.gemini.profile import GeminiProfile
from toolkeel.providers.wire.http import check_options
from toolkeel.providers.wire.model import ModelOptions
from toolkeel.providers.wire.request import PreparedRequest
from toolkeel.providers.wire.server_errors import response_error
from toolkeel.providers.wire.structured_output import gemini_has_structured_output

try:
    import httpx2
    from google import genai
    from google.genai import errors, types

    from toolkeel.providers.wire.sdk_model import (
        RequestTemplate,
        SdkClient,
        SdkModel,
        drop_key_elsewhere,
        http_errors,
        sdk_clients,
    )
except ImportError as error:
    raise MissingExtraError("Gemini", "gemini") from error

T = TypeVar("T")
_PLACEHOLDER = "."
"""Contents for the SDK, where the body is passed beside them: converting the contents into the SDK's
objects and back would cost more at every turn than everything else."""


class GeminiModelOptions(ModelOptions, total=False):
    """Options of `Gemini`, beside `ModelOptions`.

    Attributes:
        api_version: Version of the server's API, such as ``v1beta``; by default the SDK's.
        vertexai: True to use Vertex AI; by default the environment decides.
        hosts_tools: True if the server has tools of its own, such as Google's search; True by
            default.
    """

    api_version: str
    vertexai: bool
    hosts_tools: bool


@checked
class Gemini(SdkModel):
    """A Gemini model, at Google's own service or on Vertex AI.

    The SDK's environment variables stay in force: ``GOOGLE_API_KEY``, ``GEMINI_API_KEY``,
    ``GOOGLE_GENAI_USE_VERTEXAI``, ``GOOGLE_CLOUD_PROJECT``, ``GOOGLE_CLOUD_LOCATION``,
    ``GOOGLE_GEMINI_BASE_URL`` and their kin. Failed requests are sent again as `wire.retry` says,
    and so are those whose answer has nothing in it (provider quirk Q49).

    Args:
        model: The model's name.
        base_url: Where the server is; None: Google's.
        api_key: None: from the environment.
        client: A `google.genai.Client` of your own, which then knows address, key and timeout by
            itself.
        stream: True to request the answer as a stream.
        options: See `GeminiModelOptions`.

    Raises:
        SetupError: if `client` is no `google.genai.Client`, there is no key, or an option is unknown.
    """

    encoder = GeminiEncoder
    output_dialect = "gemini"
    local_reason = (
        "run here, since no Gemini before 3 has tools of its own beside functions; "
        "where='local' requests that"
    )

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
        timeout = options.get("timeout")
        http = types.HttpOptions(
            base_url=base_url,
            api_version=options.get("api_version"),
            timeout=None if timeout is None else _milliseconds(timeout),
        )
        sdk_options = {
            "api_key": api_key,
            "http_options": http,
            "vertexai": options.get("vertexai"),
        }
        new = partial(_new_client, model, sdk_options, stream)
        clients = sdk_clients(new, client)
        vertex = bool(clients.first.sdk.vertexai)
        self.vendor = "gcp.vertex_ai" if vertex else "gcp.gemini"
        hosts = options.get("hosts_tools", True)
        profile = GeminiProfile(model, stream, hosts, base_url or "", vertex)
        super().__init__(profile, options, clients)

    def _errors(self) -> AbstractContextManager[None]:
        """Return a context that turns the SDK's exceptions into `ModelError`."""
        return _model_errors(self.name)

    def _has_structured_output(self, tools: bool) -> bool:
        """Return True if the model holds replies to a schema, with or without tools."""
        return gemini_has_structured_output(self.name, tools=tools)

    def _events(self, body: Any, prepared: PreparedRequest) -> AsyncGenerator[Sequence[object]]:
        """Send a request by HTTP, or through the SDK where its client requires it; yield events."""
        client = self._sdk.get()
        if client.http is None:
            return self._chunks(client.sdk, body, prepared.settings.timeout)
        return super()._events(body, prepared)

    async def _chunks(
        self, sdk: genai.Client, body: bytes, timeout: float | None
    ) -> AsyncGenerator[Sequence[object]]:
        """Send a request through the SDK, and yield its objects of the answer as they arrive; None: no time limit."""
        options = types.HttpOptions(
            extra_body=json.loads(body),
            retry_options=types.HttpRetryOptions(attempts=1),
            timeout=None if timeout is None else _milliseconds(timeout),
        )
        asked = _make_arguments(self.name, options)
        models = sdk.aio.models
        if not self._stream:
            yield [await models.generate_content(**asked)]
            return
        async with aclosing(_read_in_task(await models.generate_content_stream(**asked))) as chunks:
            async for chunk in chunks:
                yield [chunk]


def _milliseconds(seconds: float) -> int:
    """Convert a timeout to whole milliseconds, at least 1."""
    return max(1, round(seconds * 1000))


async def _read_in_task(chunks: AsyncIterator[T]) -> AsyncGenerator[T]:
    """Yield `chunks` while a separate task reads them; cancel that task when iteration stops.

    The SDK's stream does not disconnect when it is left early, but it does when its reader is cancelled.
    """
    queue: asyncio.Queue[T | None] = asyncio.Queue()

    async def pump() -> None:
        """Put all chunks into the queue."""
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


def _make_arguments(model: str, options: types.HttpOptions | None = None) -> dict[str, Any]:
    """Return the arguments of the SDK's function for a request without contents."""
    disabled = types.AutomaticFunctionCallingConfig(disable=True)
    config = types.GenerateContentConfig(http_options=options, automatic_function_calling=disabled)
    return {"model": model, "contents": _PLACEHOLDER, "config": config}


class _RecordingTransport(httpx2.BaseTransport):
    """A transport that sends nothing and records the SDK's request."""

    request: httpx2.Request

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Record the request, and answer with an empty JSON object."""
        self.request = request
        return httpx2.Response(200, json={})


def _new_client(model: str, options: Mapping[str, Any], stream: bool) -> SdkClient:
    """Make a client of our own, for streams if `stream`; raise `SetupError` if its settings are incomplete.

    With Vertex AI, whose token changes, the SDK sends each request itself.
    """
    described = _RecordingTransport()
    http = httpx2.AsyncClient(follow_redirects=True, event_hooks={"request": [drop_key_elsewhere]})

    async def close() -> None:
        """Close the SDK's clients and the HTTP client."""
        await sdk.aio.aclose()
        sdk.close()
        await http.aclose()

    below = {"httpx_async_client": http, "httpx_client": httpx2.Client(transport=described)}
    above = options["http_options"].model_copy(update=below)
    try:
        sdk = genai.Client(**{**options, "http_options": above})
        if sdk.vertexai:
            sdk = genai.Client(**options)
            return SdkClient(sdk, close=close)
        return SdkClient(sdk, http, _make_template(sdk, model, stream, described), close)
    except ValueError as error:
        raise SetupError(
            f"Gemini({model!r}): {error} Set GEMINI_API_KEY or pass api_key=; for Vertex AI set "
            "GOOGLE_CLOUD_PROJECT and pass vertexai=True"
        ) from error


def _make_template(
    sdk: genai.Client, model: str, stream: bool, described: _RecordingTransport
) -> RequestTemplate:
    """Let the SDK make a request that is not sent; return its address, headers and timeout.

    Args:
        sdk: The client.
        model: Name of the model.
        stream: True for a request whose answer is streamed.
        described: The SDK's transport, which stores the request.
    """
    if stream:
        list(sdk.models.generate_content_stream(**_make_arguments(model)))
    else:
        sdk.models.generate_content(**_make_arguments(model))
    made = described.request
    headers = {name: text for name, text in made.headers.items() if name != "content-length"}
    return RequestTemplate(made.url, headers, made.extensions["timeout"])


@contextmanager
def _model_errors(model: str) -> Iterator[None]:
    """Raise the SDK's exceptions as `ModelError`, by status and headers, never by text."""
    with http_errors(model):
        try:
            yield
        except errors.APIError as error:
            headers = getattr(error.response, "headers", None) or {}
            status = error.code if 400 <= (error.code or 0) < 600 else None
            words = error.message or error.status or ""
            raise response_error(status, error.details, headers, words) from error
        except errors.UnknownApiResponseError as error:
            raise ModelError("the server sent something that is not JSON") from error
        except OSError as error:
            raise ModelUnavailable(str(error) or type(error).__name__) from error

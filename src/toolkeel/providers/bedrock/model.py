"""Models on Amazon Bedrock, through AWS's official SDK."""

from __future__ import annotations

import asyncio
import json
import os
from collections import deque
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager, suppress
from functools import partial
from typing import Any, Protocol, Unpack

from toolkeel.call.body.threads import ThreadPool
from toolkeel.errors import (
    MissingExtraError,
    ModelError,
    ModelUnavailable,
    RequestRejected,
    SetupError,
)
from toolkeel.providers.bedrock.encode import ENCODING
from toolkeel.providers.bedrock.profile import BedrockProfile
from toolkeel.providers.bedrock.stream import StreamDecoder
from toolkeel.providers.wire.body_cache import ValueCache
from toolkeel.providers.wire.http import check_options
from toolkeel.providers.wire.model import ModelOptions, WireModel
from toolkeel.providers.wire.plain_json import Json
from toolkeel.providers.wire.request import Prepared
from toolkeel.providers.wire.server_errors import refused, status_of
from toolkeel.providers.wire.structured_output import claude_holds

try:
    import boto3  # type: ignore[import-untyped]
    import botocore.exceptions  # type: ignore[import-untyped]
    import urllib3.exceptions
    from botocore.config import Config  # type: ignore[import-untyped]
    from botocore.eventstream import ParserError  # type: ignore[import-untyped]
    from botocore.parsers import ResponseParserError  # type: ignore[import-untyped]
except ImportError as error:
    raise MissingExtraError("BedrockConverse", "bedrock") from error

TIMEOUT = 600.0
"""Seconds to wait for an answer or its next event; boto3's own sixty are too few for models."""

_THREADS = ThreadPool(1000)


class Client(Protocol):
    """What is used of boto3's ``bedrock-runtime`` client, which has no class of its own."""

    def converse(self, **body: Any) -> dict[str, Any]: ...
    def converse_stream(self, **body: Any) -> dict[str, Any]: ...


class BedrockModelOptions(ModelOptions, total=False):
    """How `BedrockConverse` deals with the service, beside `ModelOptions`.

    Attributes:
        prompt_cache: Whether to mark what the next request will repeat for the cache, if the
            model takes such marks; True if nothing is said.
    """

    prompt_cache: bool


class BedrockConverse(WireModel):
    """A model on Amazon Bedrock, asked through the Converse API.

    Credentials and region are boto3's, with its environment variables and files:
    ``AWS_DEFAULT_REGION`` (or ``AWS_REGION``), ``AWS_PROFILE``, ``AWS_ACCESS_KEY_ID``,
    ``AWS_BEARER_TOKEN_BEDROCK``, ``AWS_ENDPOINT_URL_BEDROCK_RUNTIME`` and so on. Failed requests
    are sent again as ``retry.py`` says. boto3 waits in threads, one for each request, at most 1,000.

    Args:
        model: The model's id, such as ``us.anthropic.claude-sonnet-4-5-20250929-v1:0``, or the
            ARN of an inference profile.
        base_url: Where the service is; None: where the region's is.
        region: None: from boto3's environment and files.
        client: A ``bedrock-runtime`` client of your own, which then knows address, region,
            timeout and retries by itself; it is asked once unless `max_retries` says more.
        stream: Whether to ask for the answer as a stream.
        options: See `BedrockModelOptions`.

    Raises:
        SetupError: if the client cannot converse, there is no region, or an option is unknown.
    """

    encoding = ENCODING
    decoder = StreamDecoder
    held_form = "anthropic-strict"
    requests = ValueCache
    vendor = "aws.bedrock"

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        region: str | None = None,
        client: Client | None = None,
        stream: bool = True,
        **options: Unpack[BedrockModelOptions],
    ) -> None:
        check_options("BedrockConverse", options, BedrockModelOptions.__annotations__)
        timeout = options.get("timeout") or TIMEOUT
        config = Config(
            read_timeout=timeout,
            connect_timeout=min(timeout, 10.0),
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=64,
        )
        self._client = _checked(client) or _new_client(model, base_url, region, config)
        profile = BedrockProfile(model, options.get("prompt_cache", True), base_url or region or "")
        limit = None if client is None else 0
        super().__init__(model, stream, profile, options, limit=limit)

    def _errors(self) -> AbstractContextManager[None]:
        return _model_errors(self.name)

    def _is_known_to_hold(self, tools: bool) -> bool:
        return claude_holds(self.name)

    async def _events(self, body: Any, prepared: Prepared) -> AsyncGenerator[Sequence[object]]:
        if not self._stream:
            yield [await _THREADS.submit(partial(self._client.converse, **body)).future]
            return
        async with aclosing(_in_thread(_Stream(self._client, body))) as arrived:
            async for events in arrived:
                yield events


class _Stream:
    """A streamed answer, read in one thread, that another may break off."""

    def __init__(self, client: Client, body: Json) -> None:
        self._client = client
        self._body = body
        self._stream: Any = None
        self._left = False

    def __iter__(self) -> Iterator[object]:
        self._stream = self._client.converse_stream(**self._body)["stream"]
        try:
            for event in () if self._left else self._stream:
                yield event
                if self._left:
                    return
        finally:
            if hasattr(self._stream, "close"):
                self._stream.close()

    def hang_up(self) -> None:
        """Let the reading thread go on as if the answer had ended."""
        self._left = True
        answer: Any = getattr(self._stream, "_raw_stream", None)  # urllib3's; it may be gone
        if hasattr(answer, "shutdown"):
            with suppress(OSError, ValueError, RuntimeError):
                answer.shutdown()


async def _in_thread(stream: _Stream) -> AsyncGenerator[Sequence[object]]:
    """What has come of a stream, read in a thread that waits for it.

    Whoever leaves early is let go at once; the thread is told to hang up.
    """
    loop, came = asyncio.get_running_loop(), asyncio.Event()
    events: deque[object] = deque()

    def read() -> None:
        for event in stream:
            events.append(event)
            with suppress(RuntimeError):  # the loop has closed: nobody waits any more
                loop.call_soon_threadsafe(came.set)

    job = _THREADS.submit(read)
    job.future.add_done_callback(lambda _: came.set())
    try:
        while events or not job.future.done():
            await came.wait()
            came.clear()
            if arrived := [events.popleft() for _ in range(len(events))]:
                yield arrived
        job.future.result()
    finally:
        job.future.cancel()  # a thread that has not begun does not
        stream.hang_up()


def _new_client(model: str, base_url: str | None, region: str | None, config: Config) -> Client:
    session: Any = boto3.Session()
    where = region or session.region_name or os.environ.get("AWS_REGION")
    try:
        made: Client = session.client(
            "bedrock-runtime", region_name=where, endpoint_url=base_url, config=config
        )
    except botocore.exceptions.BotoCoreError as error:
        raise SetupError(
            f"BedrockConverse({model!r}): {error} Set AWS_REGION or pass region=, and see boto3's "
            "guide to credentials"
        ) from error
    return made


def _checked(client: Client | None) -> Client | None:
    if client is None or callable(getattr(client, "converse", None)):
        return client
    raise SetupError(
        "BedrockConverse(client=...): expected boto3.client('bedrock-runtime'), got "
        f"{type(client).__name__}"
    )


@contextmanager
def _model_errors(model: str) -> Iterator[None]:
    """Turn the SDK's exceptions into `ModelError`, by status and headers, never by text."""
    try:
        yield
    except botocore.exceptions.ClientError as error:
        answer: Mapping[str, Any] = error.response
        meta, told = answer.get("ResponseMetadata", {}), answer.get("Error", {})
        code = told.get("Code", "")
        status = status_of({}, code) or meta.get("HTTPStatusCode")
        failed = refused(status, told, meta.get("HTTPHeaders", {}), code)
        raise failed.about(model) from error
    except botocore.exceptions.NoCredentialsError as error:
        raise SetupError(f"BedrockConverse({model!r}): {error}; see boto3's guide") from error
    except botocore.exceptions.ParamValidationError as error:
        raise RequestRejected(f"{model}: {error}") from error
    except (botocore.exceptions.BotoCoreError, urllib3.exceptions.HTTPError) as error:
        raise ModelUnavailable(f"{model}: {error}") from error
    except (ParserError, ResponseParserError, json.JSONDecodeError) as error:
        raise ModelError(f"{model}: the server's answer cannot be read ({error})") from error
    except ModelError as error:  # sent inside a stream
        raise error.about(model) from error

"""Models on Amazon Bedrock, through AWS's official SDK."""

from __future__ import annotations

import asyncio
import contextvars
import json
import os
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from functools import partial
from typing import Any, Protocol, Unpack

from toolwright.agent.assemble import assemble
from toolwright.errors import (
    MissingExtraError,
    ModelError,
    ModelUnavailable,
    RequestRejected,
    SetupError,
    model_error,
)
from toolwright.messages import Message
from toolwright.model import ModelRequest, OutputFormat
from toolwright.providers.bedrock_encode import (
    BedrockBlocks,
    BedrockOptions,
    compose,
    encode_options,
    end_of,
    tool_config,
)
from toolwright.providers.bedrock_stream import STATUS, StreamDecoder
from toolwright.providers.growing import Constant, Media, Transcripts
from toolwright.providers.held import claude_holds, is_held
from toolwright.providers.http import CommonOptions, check_options, media_of, retry_after
from toolwright.providers.retry import Reply, Retries
from toolwright.providers.turns import TurnEncoder
from toolwright.providers.wire import Json, as_dict
from toolwright.providers.wiretools import WireTools, wire_tools

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


class Client(Protocol):
    """What is used of boto3's ``bedrock-runtime`` client, which has no class of its own."""

    def converse(self, **body: Any) -> dict[str, Any]: ...
    def converse_stream(self, **body: Any) -> dict[str, Any]: ...


class BedrockModelOptions(CommonOptions, total=False):
    """How `BedrockConverse` deals with the service, beside `CommonOptions`.

    Attributes:
        prompt_cache: Whether to mark what the next request will repeat for the cache, if the
            model takes such marks; True if nothing is said.
        native_output: Whether the model holds replies to a schema; nothing: Claude since 4.5.
    """

    prompt_cache: bool
    native_output: bool


class BedrockConverse:
    """A model on Amazon Bedrock, asked through the Converse API.

    Credentials and region are boto3's, with its environment variables and files:
    ``AWS_DEFAULT_REGION`` (or ``AWS_REGION``), ``AWS_PROFILE``, ``AWS_ACCESS_KEY_ID``,
    ``AWS_BEARER_TOKEN_BEDROCK``, ``AWS_ENDPOINT_URL_BEDROCK_RUNTIME`` and so on. Failed requests
    are sent again as ``retry.py`` says. boto3 waits in threads, one for each request.

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
        self.name = model
        self._stream = stream
        self._options = BedrockOptions(model, options.get("prompt_cache", True))
        self._native = options.get("native_output")
        timeout = options.get("timeout") or TIMEOUT
        config = Config(
            read_timeout=timeout,
            connect_timeout=min(timeout, 10.0),
            retries={"mode": "standard", "total_max_attempts": 1},
            max_pool_connections=64,
        )
        limit = options.get("max_retries")
        self._retries = Retries(model, 0 if client is not None and limit is None else limit)
        self._client = _checked(client) or _new_client(model, base_url, region, config)
        self._requests = _Requests(self._options, media_of(options))

    def __repr__(self) -> str:
        return f"BedrockConverse({self.name!r})"

    def holds(self, output: OutputFormat, *, tools: bool) -> bool:
        """Whether replies can be held to a form; see `toolwright.model.HoldsOutput`."""
        known = claude_holds(self.name) if self._native is None else self._native
        return known and is_held(output, "anthropic-strict")

    def stream(self, request: ModelRequest) -> Reply:
        """Ask for a reply; see `toolwright.model.Model`.

        Raises:
            ModelError: with the HTTP status and the seconds to wait, if the service said so.
        """
        return self._retries.of(partial(self._attempt, *self._requests.body(request)))

    async def _attempt(self, body: Json, tools: WireTools) -> Reply:
        decoder = StreamDecoder(tools, self.name)
        with _model_errors(self.name):
            if not self._stream:
                async for answer in _in_thread(_whole(self._client, body)):
                    yield assemble([*decoder.whole(as_dict(answer)), *decoder.finish()])
                return
            answer = _Stream(self._client, body)
            async with aclosing(_in_thread(answer, answer.hang_up)) as events:
                async for event in events:
                    for delta in decoder.feed(event):
                        yield delta
        for delta in decoder.finish():
            yield delta


class _Messages:
    """The messages of one run so far, encoded."""

    __slots__ = ("encoder", "messages", "size")

    def __init__(self, tools: WireTools, options: BedrockOptions) -> None:
        self.encoder = TurnEncoder(BedrockBlocks(tools, options))
        self.messages: list[Json] = []
        self.size = 0

    @property
    def late(self) -> bool:
        return self.encoder.late

    def add(self, message: Message) -> None:
        """Encode the next message."""
        for wire in self.encoder.add(message):
            self.messages.append(wire)
            self.size += _size(wire)


class _Requests:
    """Requests that grow with their transcript (see ``growing.py``); safe to use from threads."""

    def __init__(self, options: BedrockOptions, media: Media) -> None:
        self._options = options
        self._lock = threading.Lock()
        self._transcripts: Transcripts[_Messages] = Transcripts(media)
        self._prepared = Constant(self._prepare)

    def body(self, request: ModelRequest) -> tuple[Json, WireTools]:
        """The keyword arguments of the request, as `bedrock.encode` would give them."""
        with self._lock:
            tools, keys = self._prepared.of(request)
            grown = self._transcripts.of(
                request.messages, (tools.names, tools.keys), lambda: _Messages(tools, self._options)
            )
            cache = self._options.cache
            messages = [*grown.messages, *end_of(grown.encoder, cache)]
            config = tool_config(request.settings, tools, self._options, grown.encoder.called)
            return {**keys, **compose(grown.encoder, messages, config, cache)}, tools

    def _prepare(self, request: ModelRequest) -> tuple[WireTools, Json]:
        tools = wire_tools(request.tools, "bedrock", request.settings.strict)
        return tools, encode_options(request.settings, tools, self._options)


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
            if not self._left:
                yield from self._stream
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


async def _in_thread(
    items: Iterable[object], hang_up: Callable[[], None] = lambda: None
) -> AsyncGenerator[object]:
    """`items`, in a thread that may wait for each.

    Whoever leaves early is let go at once; `hang_up` then tells the thread.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[tuple[object, BaseException | None, bool]] = asyncio.Queue()
    left = threading.Event()

    def put(item: object, error: BaseException | None = None, last: bool = False) -> None:
        with suppress(RuntimeError):  # the loop has closed: nobody waits any more
            loop.call_soon_threadsafe(queue.put_nowait, (item, error, last))

    def work() -> None:
        try:
            for item in items:
                if left.is_set():
                    return
                put(item)
            put(None, last=True)
        except BaseException as error:
            put(None, error, last=True)

    context = contextvars.copy_context()
    thread = threading.Thread(target=context.run, args=(work,), name="bedrock", daemon=True)
    thread.start()
    try:
        while True:
            item, error, last = await queue.get()
            if error is not None:
                raise error
            if last:
                return
            yield item
    finally:
        left.set()
        hang_up()


def _whole(client: Client, body: Json) -> Iterator[object]:
    yield client.converse(**body)


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


def _size(value: object) -> int:
    """About how many bytes `value` holds."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(len(key) + _size(item) for key, item in value.items())
    return sum(map(_size, value)) if isinstance(value, list) else 8


@contextmanager
def _model_errors(model: str) -> Iterator[None]:
    """Turn the SDK's exceptions into `ModelError`, by status and headers, never by text."""
    try:
        yield
    except botocore.exceptions.ClientError as error:
        answer: Mapping[str, Any] = error.response
        meta = answer.get("ResponseMetadata", {})
        code = answer.get("Error", {}).get("Code", "")
        said = answer.get("Error", {}).get("Message") or code
        status = STATUS.get(code[:1].lower() + code[1:]) or meta.get("HTTPStatusCode")
        after = retry_after(meta.get("HTTPHeaders", {}))
        raise model_error(f"{model}: {said}", status=status, retry_after=after) from error
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

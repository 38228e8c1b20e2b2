"""Models behind vendors' SDKs on HTTP, which are made alike: requests, answers, errors.

What an SDK makes of a request, beside its body, is the same each time, and costs as much as the
sending. So the first request of a client of our own goes through the SDK, and the others have that
one's address, headers and timeouts, as long as its key stays the same. Clients that programs bring
send each request themselves: their keys may change, and whatever else they do at each request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from typing import Any, ClassVar

import httpx2

from toolkeel.errors import ModelError, ModelUnavailable
from toolkeel.providers.wire.http import PerLoop
from toolkeel.providers.wire.model import ModelOptions, WireModel
from toolkeel.providers.wire.plain_json import Json
from toolkeel.providers.wire.reasoning_ownership import Asked
from toolkeel.providers.wire.request import PreparedRequest
from toolkeel.providers.wire.server_errors import refused
from toolkeel.providers.wire.sse import parsed

_HARMLESS = ("host", "accept", "content-type", "content-length", "transfer-encoding", "user-agent")
"""Headers that tell nothing of who asks."""


class SdkClient:
    """An SDK's client, and the HTTP client below it.

    Args:
        sdk: The client.
        http: What it sends with, if later requests may be sent there as the first one was: the
            client is ours, and its key stays the same.
        close: Closes the client; None: the program does it itself.
    """

    def __init__(
        self,
        sdk: Any,
        http: httpx2.AsyncClient | None = None,
        close: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self.sdk = sdk
        self.http = http
        self._close = close

    async def close(self) -> None:
        if self._close is not None:
            await self._close()


def sdk_clients(new: Callable[[], SdkClient], given: Any) -> PerLoop[SdkClient]:
    """The clients of a model, one for each event loop.

    Args:
        new: Makes one.
        given: The program's own, or None.
    """
    return PerLoop(new, None if given is None else SdkClient(given))


def own_client(package: Any, make: Callable[[Mapping[str, Any]], Any], given: Json) -> SdkClient:
    """A client of our own, above an HTTP client of our own.

    Args:
        package: OpenAI's or Anthropic's SDK.
        make: Makes its client.
        given: What that takes beside the HTTP client.
    """
    http = package.DefaultAsyncHttpxClient()
    keep_key_home(http)
    sdk = make({**given, "http_client": http})
    return SdkClient(sdk, http if keeps_its_key(sdk) else None, sdk.close)


def keep_key_home(http: httpx2.AsyncClient) -> None:
    """Let a redirect to another origin take none of our headers along but those that say what is sent.

    The client itself leaves out ``Authorization`` alone; keys go by other names, too.
    """
    follow: Any = getattr(http, "_redirect_headers", None)
    if follow is None:  # a client that has no such place any more follows nothing
        http.follow_redirects = False
        return

    def headers(request: httpx2.Request, url: httpx2.URL, method: str) -> httpx2.Headers:
        found, here = follow(request, url, method), request.url
        at_home = here.origin == url.origin or (
            here.host == url.host and (here.scheme, url.scheme) == ("http", "https")
        )
        return found if at_home else httpx2.Headers({k: found[k] for k in found if k in _HARMLESS})

    setattr(http, "_redirect_headers", headers)  # noqa: B010


def keeps_its_key(sdk: Any) -> bool:
    """Whether every request of a client has the same key."""
    changing = getattr(sdk, "workload_identity", None) or getattr(sdk, "credentials", None)
    return not changing and sdk.api_key != ""  # OpenAI's, where a function gives the key


class SdkModel(WireModel):
    """A model behind one of these SDKs.

    Args:
        profile: Which model is asked, and what it and its server take.
        options: How to deal with the server.
        sdk: One client for each event loop.
        drafts: What was sent first, by the betas it asked for.

    Attributes:
        package: The SDK.
        path: Where requests go, below the server's base URL.
    """

    package: ClassVar[Any]
    path: ClassVar[str]

    def __init__(
        self,
        profile: Asked,
        options: ModelOptions,
        sdk: PerLoop[SdkClient],
        drafts: dict[str, httpx2.Request] | None = None,
    ) -> None:
        self._sdk = sdk
        self._drafts = {} if drafts is None else drafts
        limit = None if sdk.given is None else getattr(sdk.given.sdk, "max_retries", None)
        super().__init__(profile, options, sdk, limit)

    def _errors(self) -> AbstractContextManager[None]:
        return sdk_errors(self.package, self.name)

    def _betas(self, prepared: PreparedRequest) -> str:
        """What of the server's interface a request needs that is not for everybody yet."""
        return ""

    def _reads_body(self, sdk: Any) -> bool:
        """Whether a client looks for the model's name in the body, and so wants it as a dict."""
        raise NotImplementedError

    async def _events(
        self, body: Any, prepared: PreparedRequest
    ) -> AsyncGenerator[Sequence[object]]:
        client = self._sdk.get()
        answer = await self._ask(client, body, prepared)
        try:
            if self._stream:
                async with aclosing(self._read(client.sdk, answer)) as read:
                    async for some in read:
                        yield some
            else:
                yield [await answer.aread()]
        finally:
            await answer.aclose()

    def _read(self, sdk: Any, answer: httpx2.Response) -> AsyncGenerator[Sequence[object]]:
        """The events of a streamed answer, read here: the SDKs lose those without a name, and the
        first one behind a byte order mark."""
        return parsed(answer.aiter_bytes())

    async def _ask(
        self, client: SdkClient, body: bytes, prepared: PreparedRequest
    ) -> httpx2.Response:
        """The answer to a request; its body is still to be read."""
        betas = self._betas(prepared)
        if client.http is not None and (draft := self._drafts.get(betas)):
            return await self._again(draft, client.http, body)
        return await self._first(client, body, betas)

    async def _first(self, client: SdkClient, body: bytes, betas: str) -> httpx2.Response:
        """The answer to a request that the SDK sends."""
        headers = {"anthropic-beta": betas} if betas else {}
        sent = {"body": json.loads(body)} if self._reads_body(client.sdk) else {"content": body}
        answer: httpx2.Response = await client.sdk.post(
            self.path,
            cast_to=httpx2.Response,
            options={"headers": headers, "max_retries": 0},  # retry.py sends it again
            stream=self._stream,
            stream_cls=self.package.AsyncStream[object],
            **sent,
        )
        if client.http is not None and not answer.history:
            self._drafts[betas] = draft_of(answer.request)
        return answer

    async def _again(self, draft: Any, http: httpx2.AsyncClient, body: bytes) -> httpx2.Response:
        """The answer to a request like an earlier one, with another body."""
        request = httpx2.Request(
            "POST",
            draft.url,
            headers=draft.headers,
            cookies=http.cookies,
            content=body,
            extensions=draft.extensions,
        )
        answer = await http.send(request, stream=self._stream)
        if not answer.is_success:
            await answer.aread()
            raise _refused(answer)
        return answer


def draft_of(request: httpx2.Request) -> httpx2.Request:
    """What later requests have of one that was sent: all but its body and cookies."""
    for name in ("content-length", "cookie"):
        request.headers.pop(name, "")
    return request


def _refused(response: httpx2.Response) -> ModelError:
    return refused(response.status_code, response.text, response.headers)


@contextmanager
def sdk_errors(package: Any, model: str) -> Iterator[None]:
    """Turn an SDK's exceptions into ours, by status, code and headers, never by text."""
    with http_errors(model, (package.APIConnectionError, httpx2.HTTPError)):
        try:
            yield
        except package.APIStatusError as error:
            raise _refused(error.response) from error


@contextmanager
def http_errors(model: str, broken: Any = httpx2.HTTPError) -> Iterator[None]:
    """Turn an HTTP client's exceptions into ours; `broken` are those of a connection."""
    try:
        yield
    except broken as error:
        url = error.request.url
        why = str(error.__cause__ or error) or type(error).__name__
        said = f"{model} at {url.scheme}://{url.netloc.decode()}: the answer broke off ({why})"
        raise ModelUnavailable(said) from error
    except json.JSONDecodeError as error:
        raise ModelError(f"{model}: the server sent something that is not JSON") from error
    except ModelError as error:  # sent in place of an answer, or inside a stream
        raise error.about(model) from error.__cause__ or error

"""Models behind vendors' SDKs on HTTP: requests, answers, errors.

An SDK knows the address, the headers, the key and the timeouts of its requests. They are the same for
every request of a client with a fixed key, so they are read once, into a `RequestTemplate`, and the
requests are sent with the HTTP client alone. Clients that programs bring, and keys that change (a
function, a short-lived token), go through the SDK at each request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from typing import Any, ClassVar

import httpx2

from toolkeel._records.record import record
from toolkeel.errors import ModelError, ModelUnavailable
from toolkeel.providers.wire.http import ClientPerLoop
from toolkeel.providers.wire.model import ModelOptions, WireModel
from toolkeel.providers.wire.plain_json import Json
from toolkeel.providers.wire.reasoning_ownership import ModelProfile
from toolkeel.providers.wire.request import PreparedRequest
from toolkeel.providers.wire.server_errors import empty_answer, response_error
from toolkeel.providers.wire.sse import decode_events

_HARMLESS = ("host", "accept", "content-type", "content-length", "transfer-encoding", "user-agent")
"""Headers that identify neither the program nor its account."""
_FIRST_URL = "toolkeel.first_url"


@record
class RequestTemplate:
    """Everything of a client's requests except their bodies.

    Args:
        url: Address of the operation.
        headers: Headers, with the key.
        timeout: Seconds for each phase, as httpx names them.
    """

    url: httpx2.URL | str
    headers: Mapping[str, str]
    timeout: Mapping[str, float | None]


class SdkClient:
    """An SDK's client, and the HTTP client below it.

    Args:
        sdk: The SDK's client.
        http: HTTP client that sends requests; None: the SDK sends each one itself.
        template: Everything of the requests except their bodies, if `http` sends them.
        close: Closes the client; None: the program does it itself.
    """

    def __init__(
        self,
        sdk: Any,
        http: httpx2.AsyncClient | None = None,
        template: RequestTemplate | None = None,
        close: Callable[[], Awaitable[object]] | None = None,
    ) -> None:
        self.sdk = sdk
        self.http = http
        self.template = template
        self._close = close

    async def close(self) -> None:
        """Close the connections, unless they belong to the program."""
        if self._close is not None:
            await self._close()


def sdk_clients(new: Callable[[], SdkClient], program_client: Any) -> ClientPerLoop[SdkClient]:
    """Return the clients of a model, one for each event loop.

    Args:
        new: Makes one.
        program_client: The program's own client, or None.
    """
    return ClientPerLoop(new, None if program_client is None else SdkClient(program_client))


def own_client(
    package: Any, path: str, make: Callable[[Mapping[str, Any]], Any], options: Json
) -> SdkClient:
    """Make an SDK's client above an HTTP client of our own; if its key changes, the SDK itself sends.

    Args:
        package: OpenAI's or Anthropic's SDK.
        path: Path of the requests, below the server's base URL.
        make: Makes the SDK's client.
        options: Options of that client, except the HTTP client.
    """
    http = package.DefaultAsyncHttpxClient(event_hooks={"request": [drop_key_elsewhere]})
    sdk = make({**options, "http_client": http})
    if not sdk.auth_headers:  # a key that changes: the SDK gets it for each request
        return SdkClient(sdk, close=sdk.close)
    known = {
        **http.headers,
        **httpx2.Headers(_merge_headers(sdk.auth_headers, sdk.default_headers)),
    }
    base = sdk.base_url
    url = base.copy_with(raw_path=base.raw_path.rstrip(b"/") + path.encode())
    template = RequestTemplate(url, known, httpx2.Timeout(sdk.timeout).as_dict())
    return SdkClient(sdk, http, template, sdk.close)


def _merge_headers(*headers: Mapping[str, object]) -> dict[str, str]:
    """Merge headers into one dict, without those that an SDK marks as omitted; the later ones win."""
    return {name: text for some in headers for name, text in some.items() if isinstance(text, str)}


async def drop_key_elsewhere(request: httpx2.Request) -> None:
    """Remove the key, under whatever name, from a request that was redirected to another origin.

    All headers are removed but those that are known to be harmless. HTTPS on the same host, after
    HTTP, is no other origin. This is a hook of an HTTP client, which itself removes
    ``Authorization`` alone.
    """
    first: httpx2.URL = request.extensions.setdefault(_FIRST_URL, request.url)
    url = request.url
    if (url.scheme, url.host, url.port) == (first.scheme, first.host, first.port):
        return
    if url.host == first.host and (first.scheme, url.scheme) == ("http", "https"):
        return
    request.headers = httpx2.Headers({k: v for k, v in request.headers.items() if k in _HARMLESS})


class SdkModel(WireModel):
    """A model behind one of these SDKs.

    Args:
        profile: The requested model, and what it and its server accept.
        options: Options for the server.
        sdk: One client for each event loop.

    Attributes:
        package: The SDK.
        path: Path of the requests, below the server's base URL.
    """

    package: ClassVar[Any]
    path: ClassVar[str]

    def __init__(
        self,
        profile: ModelProfile,
        options: ModelOptions,
        sdk: ClientPerLoop[SdkClient],
    ) -> None:
        self._sdk = sdk
        limit = (
            None
            if sdk.program_client is None
            else getattr(sdk.program_client.sdk, "max_retries", None)
        )
        super().__init__(profile, options, sdk, limit)

    def _errors(self) -> AbstractContextManager[None]:
        """Return a context that turns the SDK's exceptions into `ModelError`."""
        return sdk_errors(self.package, self.name)

    def _betas(self, prepared: PreparedRequest) -> str:
        """Return the beta features of the server's API that a request needs, separated by commas; here empty."""
        return ""

    def _needs_dict_body(self, sdk: Any) -> bool:
        """Return True if a client reads the model's name from the body, and so needs a dict."""
        raise NotImplementedError

    async def _events(
        self, body: Any, prepared: PreparedRequest
    ) -> AsyncGenerator[Sequence[object]]:
        """Send a request; yield its events as they arrive, or the complete body if not streamed; raise `ModelError`."""
        client = self._sdk.get()
        answer = await self._post(client, body, prepared)
        try:
            if self._stream:
                async with aclosing(self._read(client.sdk, answer)) as read:
                    async for some in read:
                        yield some
            elif content := await answer.aread():
                yield [content]
            else:
                raise empty_answer("the server's answer has no body")
        finally:
            await answer.aclose()

    def _read(self, sdk: Any, answer: httpx2.Response) -> AsyncGenerator[Sequence[object]]:
        """Yield the events of a streamed answer, several at once as they arrive.

        The SDKs lose events without a name, and the first one after a byte order mark.
        Raises as `decode_events`.
        """
        return decode_events(answer.aiter_bytes())

    async def _post(
        self, client: SdkClient, body: bytes, prepared: PreparedRequest
    ) -> httpx2.Response:
        """Send a request and return the answer; the body of a streamed one is still unread.

        Raises:
            ModelError: the server refused the request, or cannot be reached.
        """
        betas = self._betas(prepared)
        headers = {"anthropic-beta": betas} if betas else {}
        timeout = prepared.settings.timeout
        if client.http is None or client.template is None:
            return await self._send_by_sdk(client.sdk, body, headers, timeout)
        return await self._send(client.http, client.template, body, headers, timeout)

    async def _send_by_sdk(
        self, sdk: Any, body: bytes, headers: Mapping[str, str], timeout: float | None
    ) -> httpx2.Response:
        """Send a request through the SDK, with its own timeout if there is no other."""
        waits = {} if timeout is None else {"timeout": timeout}
        sent = {"body": json.loads(body)} if self._needs_dict_body(sdk) else {"content": body}
        answer: httpx2.Response = await sdk.post(
            self.path,
            cast_to=httpx2.Response,
            options={"headers": headers, "max_retries": 0, **waits},  # retry.py sends it again
            stream=self._stream,
            stream_cls=self.package.AsyncStream[object],
            **sent,
        )
        return answer

    async def _send(
        self,
        http: httpx2.AsyncClient,
        template: RequestTemplate,
        body: bytes,
        headers: Mapping[str, str],
        timeout: float | None = None,
    ) -> httpx2.Response:
        """Send a request with the HTTP client.

        Args:
            http: The client.
            template: Everything but the body.
            body: The body, as JSON.
            headers: Further headers of this one request.
            timeout: Seconds to wait for the answer, or for its next bytes; None: the template's.

        Raises:
            ModelError: if the server refuses the request.
        """
        waits = template.timeout
        if timeout is not None:
            connect = min(timeout, waits.get("connect") or timeout)
            waits = httpx2.Timeout(timeout, connect=connect).as_dict()
        request = httpx2.Request(
            "POST",
            template.url,
            headers={**template.headers, **headers},
            cookies=http.cookies,
            content=body,
            extensions={"timeout": waits},
        )
        answer = await http.send(request, stream=self._stream)
        if not answer.is_success:
            await answer.aread()
            raise _read_refusal(answer)
        return answer


def _read_refusal(response: httpx2.Response) -> ModelError:
    """Build the error for an HTTP answer with an error status."""
    try:
        text = response.text
    except UnicodeError:  # a proxy's page in another charset than it says
        text = response.content.decode(errors="replace")
    return response_error(response.status_code, text, response.headers)


@contextmanager
def sdk_errors(package: Any, model: str) -> Iterator[None]:
    """Raise an SDK's exceptions as ours, by status, code and headers, never by text.

    Raises:
        ModelError: in place of an exception of the SDK.
    """
    with http_errors(model, (package.APIConnectionError, httpx2.HTTPError)):
        try:
            yield
        except package.APIStatusError as error:
            raise _read_refusal(error.response) from error


@contextmanager
def http_errors(model: str, broken: Any = httpx2.HTTPError) -> Iterator[None]:
    """Replace `broken`, the exceptions of a failed connection, and errors of JSON; others pass unchanged.

    Raises:
        ModelUnavailable: in place of an exception of `broken`.
        ModelError: in place of a `json.JSONDecodeError`, or one from inside with the model's name added.
    """
    try:
        yield
    except broken as error:
        url = error.request.url
        why = str(error.__cause__ or error) or type(error).__name__
        place = f"{url.scheme}://{url.netloc.decode()}"
        message = f"{model} at {place}: the answer broke off ({why})"
        if any(isinstance(one, httpx2.ConnectError) for one in (error, error.__cause__)):
            message = f"{model}: nothing answers at {place}; is the server running? ({why})"
        raise ModelUnavailable(message) from error
    except json.JSONDecodeError as error:
        raise ModelError(f"{model}: the server sent something that is not JSON") from error
    except ModelError as error:  # sent in place of an answer, or inside a stream
        raise error.with_model_name(model) from error.__cause__ or error

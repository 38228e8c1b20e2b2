"""Models behind OpenAI's and Anthropic's SDKs, which are made alike: requests, answers, errors.

What an SDK makes of a request, beside its body, is the same each time, and costs as much as the
sending. So the first request of a client of our own goes through the SDK, and the others have that
one's address, headers and timeouts, as long as its key stays the same. Clients that programs bring
send each request themselves: their keys may change, and whatever else they do at each request.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import AbstractContextManager, aclosing, contextmanager
from typing import Any, ClassVar

import httpx2

from toolkeel.errors import ModelError, ModelUnavailable, model_error
from toolkeel.providers.wire.http import PerLoop, retry_advice, retry_after
from toolkeel.providers.wire.model import ModelOptions, WireModel
from toolkeel.providers.wire.ownership import Asked
from toolkeel.providers.wire.plain_json import words_of
from toolkeel.providers.wire.request import Prepared
from toolkeel.providers.wire.sse import parsed

NO_MONEY = "insufficient_quota"
"""The code of a 429 that does not pass by itself."""


class SdkModel(WireModel):
    """A model behind one of these SDKs.

    Args:
        model: The model's name on the server.
        stream: Whether to ask for the answer as a stream.
        profile: What the model and its server take.
        options: How to deal with the server.
        sdk: One client for each event loop.

    Attributes:
        package: The SDK.
        path: Where requests go, below the server's base URL.
    """

    package: ClassVar[Any]
    path: ClassVar[str]

    def __init__(
        self, model: str, stream: bool, profile: Asked, options: ModelOptions, sdk: PerLoop[Any]
    ) -> None:
        self._sdk = sdk
        self._drafts: dict[str, httpx2.Request] = {}
        limit = None if sdk.given is None else sdk.given.max_retries
        super().__init__(model, stream, profile, options, sdk, limit)

    def _errors(self) -> AbstractContextManager[None]:
        return sdk_errors(self.package, self.name)

    def _betas(self, prepared: Prepared) -> str:
        """What of the server's interface a request needs that is not for everybody yet."""
        return ""

    def _reads_body(self, client: Any) -> bool:
        """Whether a client looks for the model's name in the body, and so wants it as a dict."""
        raise NotImplementedError

    async def _events(self, body: Any, prepared: Prepared) -> AsyncGenerator[Sequence[object]]:
        client = self._sdk.get()
        answer = await self._answer(client, body, self._betas(prepared))
        async with aclosing(read_to_end(answer, self._read(client, answer), self._stream)) as read:
            async for events in read:
                yield events

    def _read(self, client: Any, answer: httpx2.Response) -> AsyncGenerator[Sequence[object]]:
        """The events of a streamed answer, read here: the SDKs lose those without a name, and the
        first one behind a byte order mark."""
        return parsed(answer.aiter_bytes())

    async def _answer(self, client: Any, body: bytes, betas: str) -> httpx2.Response:
        """What the server answers, of which the body is still to be read."""
        if draft := self._drafts.get(betas):
            return await self._answer_to(draft, client, body)
        headers = {"anthropic-beta": betas} if betas else {}
        sent = {"body": json.loads(body)} if self._reads_body(client) else {"content": body}
        answer: httpx2.Response = await client.post(
            self.path,
            cast_to=httpx2.Response,
            options={"headers": headers, "max_retries": 0},  # retry.py sends it again
            stream=self._stream,
            stream_cls=self.package.AsyncStream[object],
            **sent,
        )
        if self._sdk.given is None and not answer.history and _keeps_its_key(client):
            self._drafts[betas] = draft_of(answer.request)
        return answer

    async def _answer_to(self, draft: httpx2.Request, client: Any, body: bytes) -> httpx2.Response:
        answer = await sent_again(draft, client._client, body, self._stream)
        if not answer.is_success:
            await answer.aread()
            raise client._make_status_error_from_response(answer)
        return answer


def draft_of(request: httpx2.Request) -> httpx2.Request:
    """What later requests have of one that was sent: all but its body and cookies."""
    for name in ("content-length", "cookie"):
        request.headers.pop(name, "")
    return request


async def sent_again(
    draft: httpx2.Request, http: httpx2.AsyncClient, body: bytes, stream: bool
) -> httpx2.Response:
    """The answer to a request like an earlier one, with another body."""
    request = httpx2.Request(
        "POST",
        draft.url,
        headers=draft.headers,
        cookies=http.cookies,
        content=body,
        extensions=draft.extensions,
    )
    return await http.send(request, stream=stream)


async def read_to_end(
    answer: httpx2.Response, events: AsyncGenerator[Sequence[object]], stream: bool
) -> AsyncGenerator[Sequence[object]]:
    """The events of an answer, which is then closed; without a stream it is one event."""
    try:
        if stream:
            async with aclosing(events) as read:
                async for some in read:
                    yield some
        else:
            yield [await answer.aread()]
    finally:
        await answer.aclose()


def _keeps_its_key(client: Any) -> bool:
    """Whether every request of a client has the same key."""
    return not (
        getattr(client, "workload_identity", None)
        or getattr(client, "credentials", None)
        or getattr(client, "_api_key_provider", None)
    )


@contextmanager
def sdk_errors(package: Any, model: str) -> Iterator[None]:
    """Turn an SDK's exceptions into ours, by status, code and headers, never by text."""
    try:
        yield
    except package.APIStatusError as error:
        headers = error.response.headers
        raise model_error(
            f"{model}: {words_of(error.body)[:1000] or error.message}",
            status=error.status_code,
            retry_after=retry_after(headers),
            retryable=False if getattr(error, "code", None) == NO_MONEY else retry_advice(headers),
        ) from error
    except (package.APIConnectionError, httpx2.HTTPError) as error:
        url = error.request.url
        why = str(error.__cause__ or error) or type(error).__name__
        said = f"{model} at {url.scheme}://{url.netloc.decode()}: the answer broke off ({why})"
        raise ModelUnavailable(said) from error
    except json.JSONDecodeError as error:
        raise ModelError(f"{model}: the server sent something that is not JSON") from error
    except ModelError as error:  # sent inside a stream
        raise error.about(model) from error

"""OpenAI's official SDK, as both of its wires use it: clients, and its errors as ours."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import AbstractContextManager, aclosing, contextmanager
from functools import partial
from typing import Any, ClassVar

from toolkeel._records.record import record
from toolkeel.errors import (
    MissingExtraError,
    ModelError,
    ModelUnavailable,
    SetupError,
    model_error,
)
from toolkeel.providers.openai_chat.profile import status_of
from toolkeel.providers.wire.http import PerLoop, retry_advice, retry_after
from toolkeel.providers.wire.model import ModelOptions, WireModel
from toolkeel.providers.wire.ownership import Asked
from toolkeel.providers.wire.request import Prepared
from toolkeel.providers.wire.sse import parsed

try:
    import httpx2
    import openai
except ImportError as error:
    raise MissingExtraError("OpenAI's models", "openai") from error


_OWN_HOSTS = ("api.openai.com", ".openai.azure.com", ".api.openai.com")


def is_own_host(host: str) -> bool:
    """Whether a server is OpenAI's, or Azure's of theirs."""
    return any(host == end or host.endswith(end) for end in _OWN_HOSTS)


ONCE: Any = {"max_retries": 0}
"""A request's options: the SDK sends it once, and ``retry.py`` sends it again."""

NO_MONEY = "insufficient_quota"
"""The code of a 429 that does not pass by itself."""


def client_options(
    base_url: str | None, api_key: str | None, timeout: float | None
) -> dict[str, Any]:
    """What the SDK's client takes; a server that is not OpenAI's may need no key."""
    base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
    if api_key is None and base_url is not None and not os.environ.get("OPENAI_API_KEY"):
        api_key = "none"
    return {
        "base_url": base_url,
        "api_key": api_key,
        "timeout": openai.NOT_GIVEN if timeout is None else timeout,
    }


def new_client(owner: str, model: str, options: Mapping[str, Any]) -> openai.AsyncOpenAI:
    """A client for `owner`, the model class that asks for it.

    Raises:
        SetupError: if there is no key.
    """
    try:
        return openai.AsyncOpenAI(**options)
    except openai.OpenAIError as error:
        raise SetupError(
            f"{owner}({model!r}): no API key; set OPENAI_API_KEY or pass api_key="
        ) from error


def checked_client(owner: str, client: object) -> openai.AsyncOpenAI | None:
    """`client`, if it is one or None.

    Raises:
        SetupError: if it is something else, such as the synchronous client.
    """
    if client is None or isinstance(client, openai.AsyncOpenAI):
        return client
    raise SetupError(
        f"{owner}(client=...): expected openai.AsyncOpenAI, got {type(client).__name__}"
    )


@record
class Clients:
    """The SDK's clients of one model.

    Args:
        sdk: One for each event loop.
        own: Whether the server is OpenAI's, or Azure's of theirs.
        endpoint: Where it is.
        limit: How often a client of the program's own sends a failed request again.
    """

    sdk: PerLoop[openai.AsyncOpenAI]
    own: bool
    endpoint: str
    limit: int | None


def open_clients(
    owner: str, model: str, client: object, place: tuple[str | None, str | None, float | None]
) -> Clients:
    """The clients of a model of class `owner`.

    Args:
        owner: The model's class, for errors.
        model: The model's name.
        client: The program's own, or None.
        place: Base URL, key and timeout, each as the model was given it.

    Raises:
        SetupError: if the client is none of the SDK's, or there is no key.
    """
    given = checked_client(owner, client)
    new: Callable[[], openai.AsyncOpenAI] = partial(
        new_client, owner, model, client_options(*place)
    )
    sdk: PerLoop[openai.AsyncOpenAI] = PerLoop(new, given)
    host = sdk.first.base_url.host
    return Clients(sdk, is_own_host(host), host, None if given is None else given.max_retries)


@contextmanager
def model_errors(model: str) -> Iterator[None]:
    """Turn the SDK's exceptions into ours, by status, code and headers, never by text."""
    try:
        yield
    except openai.APIStatusError as error:
        headers = error.response.headers
        raise model_error(
            f"{model}: {error.message}",
            status=error.status_code,
            retry_after=retry_after(headers),
            retryable=False if error.code == NO_MONEY else retry_advice(headers),
        ) from error
    except openai.APIConnectionError as error:
        why = f" ({error.__cause__})" if str(error.__cause__ or "") else ""
        raise ModelUnavailable(f"{model} at {_host(error)}: {error.message}{why}") from error
    except httpx2.HTTPError as error:
        raise ModelUnavailable(
            f"{model} at {_host(error)}: the answer broke off ({error})"
        ) from error
    except openai.APIError as error:  # sent inside a stream
        status = status_of({"code": error.code, "type": error.type})
        retryable = False if error.code == NO_MONEY else None
        raise model_error(
            f"{model}: {error.message}", status=status, retryable=retryable
        ) from error
    except openai.OpenAIError as error:
        raise ModelError(f"{model}: {error}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{model}: the server sent something that is not JSON") from error
    except ModelError as error:
        raise error.about(model) from error


def _host(error: openai.APIConnectionError | httpx2.HTTPError) -> str:
    return f"{error.request.url.scheme}://{error.request.url.netloc.decode()}"


async def sent_events(stream: openai.AsyncStream[object]) -> AsyncGenerator[object]:
    """What an answer says, event by event; one that is no stream is one event.

    Events are read here rather than by the SDK, which loses the first one behind a byte order
    mark.
    """
    async with stream, aclosing(parsed(stream.response.aiter_bytes())) as events:
        async for event in events:
            yield event


class OpenAIModel(WireModel):
    """A model behind one of the wires of OpenAI's SDK.

    Args:
        model: The model's name on the server.
        stream: Whether to ask for the answer as a stream.
        profile: What the model and its server take.
        options: How to deal with the server.
        clients: As `open_clients` makes them.
    """

    path: ClassVar[str]
    """Where requests go, below the server's base URL."""

    def __init__(
        self,
        model: str,
        stream: bool,
        profile: Asked,
        options: ModelOptions,
        clients: Clients,
    ) -> None:
        self._sdk = clients.sdk
        super().__init__(model, stream, profile, options, clients.sdk, clients.limit)

    def _errors(self) -> AbstractContextManager[None]:
        return model_errors(self.name)

    async def _events(self, body: Any, prepared: Prepared) -> AsyncGenerator[object]:
        client = self._sdk.get()
        sent: dict[str, Any] = {"content": body}
        if isinstance(client, openai.AsyncAzureOpenAI):  # reads the model's name out of a dict
            sent = {"body": json.loads(body)}
        if not self._stream:
            yield await client.post(self.path, cast_to=object, options=ONCE, **sent)
            return
        stream = await client.post(
            self.path,
            cast_to=object,
            options=ONCE,
            stream=True,
            stream_cls=openai.AsyncStream[object],
            **sent,
        )
        async with aclosing(sent_events(stream)) as events:
            async for event in events:
                yield event

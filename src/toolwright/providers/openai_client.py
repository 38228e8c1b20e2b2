"""OpenAI's official SDK, as both of its wires use it: clients, and its errors as ours."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager
from typing import Any

from toolwright.errors import (
    MissingExtraError,
    ModelError,
    ModelUnavailable,
    SetupError,
    model_error,
)
from toolwright.providers.chat_stream import status_of
from toolwright.providers.http import retry_advice, retry_after
from toolwright.providers.retry import Retries
from toolwright.providers.sse import parsed

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


def retries(model: str, given: openai.AsyncOpenAI | None, limit: int | None) -> Retries:
    """How often failed requests are sent again: as a client of the program's own would."""
    return Retries(model, given.max_retries if given is not None and limit is None else limit)


async def sent_events(stream: openai.AsyncStream[object]) -> AsyncGenerator[object]:
    """What an answer says, event by event; one that is no stream is one event.

    Events are read here rather than by the SDK, which loses the first one behind a byte order
    mark.
    """
    async with stream, aclosing(parsed(stream.response.aiter_bytes())) as events:
        async for event in events:
            yield event

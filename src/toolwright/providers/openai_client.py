"""OpenAI's official SDK, as both of its wires use it: clients, and its errors as ours."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from toolwright.errors import MissingExtraError, ModelError, SetupError
from toolwright.providers.http import retry_after

try:
    import openai
except ImportError as error:
    raise MissingExtraError("OpenAI's models", "openai") from error


_OWN_HOSTS = ("api.openai.com", ".openai.azure.com", ".api.openai.com")


def is_own_host(host: str) -> bool:
    """Whether a server is OpenAI's, or Azure's of theirs."""
    return any(host == end or host.endswith(end) for end in _OWN_HOSTS)


def client_options(
    base_url: str | None, api_key: str | None, timeout: float | None, max_retries: int | None
) -> dict[str, Any]:
    """What the SDK's client takes; a server that is not OpenAI's may need no key."""
    base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
    if api_key is None and base_url is not None and not os.environ.get("OPENAI_API_KEY"):
        api_key = "none"
    return {
        "base_url": base_url,
        "api_key": api_key,
        "max_retries": openai.DEFAULT_MAX_RETRIES if max_retries is None else max_retries,
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
    """Turn the SDK's exceptions into `ModelError`, by status and headers, never by text."""
    try:
        yield
    except openai.APIStatusError as error:
        after = retry_after(error.response.headers)
        raise ModelError(
            f"{model}: {error.message}", status=error.status_code, retry_after=after
        ) from error
    except openai.APIConnectionError as error:
        url = f"{error.request.url.scheme}://{error.request.url.netloc.decode()}"
        why = f" ({error.__cause__})" if str(error.__cause__ or "") else ""
        raise ModelError(f"{model} at {url}: {error.message}{why}") from error
    except openai.APIError as error:
        raise ModelError(f"{model}: {error.message}", status=_code(error)) from error
    except openai.OpenAIError as error:
        raise ModelError(f"{model}: {error}") from error
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise ModelError(f"{model}: the server sent something that is not JSON") from error


def _code(error: openai.APIError) -> int | None:
    """The status that an error sent inside a stream carries as its code."""
    code = error.code or ""
    return int(code) if code.isdecimal() and 400 <= int(code) < 600 else None

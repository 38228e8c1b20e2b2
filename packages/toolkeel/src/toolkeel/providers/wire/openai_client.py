"""Clients of OpenAI's official SDK, for both of its wires."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from toolkeel.errors import MissingExtraError, SetupError
from toolkeel.providers.chat_servers import provider_at
from toolkeel.providers.wire.http import ClientPerLoop

try:
    import openai

    from toolkeel.providers.wire.sdk_model import SdkClient, SdkModel, own_client, sdk_clients
except ImportError as error:
    raise MissingExtraError("OpenAI's models", "openai") from error


def is_openai(host: str) -> bool:
    """Return True for a server of OpenAI's, or for Azure's OpenAI service."""
    return provider_at(host) in ("openai", "azure.ai.openai")


def client_options(
    base_url: str | None,
    api_key: str | None,
    timeout: float | None,
    headers: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the options of the SDK's client; another server than OpenAI's gets the key "none" without one.

    Without a `base_url`, that of the environment (``OPENAI_BASE_URL``) is taken.
    """
    base_url = base_url or os.environ.get("OPENAI_BASE_URL") or None
    if api_key is None and base_url is not None and not os.environ.get("OPENAI_API_KEY"):
        api_key = "none"
    return {
        "base_url": base_url,
        "api_key": api_key,
        "timeout": openai.NOT_GIVEN if timeout is None else timeout,
        "default_headers": headers,
    }


def new_client(owner: str, model: str, options: Mapping[str, Any]) -> openai.AsyncOpenAI:
    """Make a client for `owner`, the model class in error messages.

    Raises:
        SetupError: if there is no key.
    """
    try:
        return openai.AsyncOpenAI(**options)
    except openai.OpenAIError as error:
        raise SetupError(
            f"{owner}({model!r}): no API key; set OPENAI_API_KEY or pass api_key="
        ) from error


def open_clients(
    owner: type[OpenAIModel],
    model: str,
    client: object,
    place: tuple[str | None, str | None, float | None],
    headers: Mapping[str, str] | None = None,
) -> ClientPerLoop[SdkClient]:
    """Return the clients of a model, one for each event loop.

    Args:
        owner: Class of the model.
        model: Name of the model.
        client: The program's own, or None.
        place: Base URL, key and timeout, as passed to the model.
        headers: Further headers of each request.

    Raises:
        SetupError: if there is no key.
    """
    make = partial(new_client, owner.__name__, model)
    new = partial(own_client, openai, owner.path, make, client_options(*place, headers))
    return sdk_clients(new, client)


class OpenAIModel(SdkModel):
    """A model behind one of the wires of OpenAI's SDK."""

    package: ClassVar[Any] = openai
    flags_failures = False

    def _needs_dict_body(self, sdk: Any) -> bool:
        """Return True for Azure's client, which reads the model's name from a dict."""
        return isinstance(sdk, openai.AsyncAzureOpenAI)

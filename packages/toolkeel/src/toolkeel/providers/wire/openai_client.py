"""Clients of OpenAI's official SDK, for both of its wires."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

from toolkeel.errors import MissingExtraError, SetupError
from toolkeel.providers.chat_servers import provider_at
from toolkeel.providers.wire.http import PerLoop

try:
    import openai

    from toolkeel.providers.wire.sdk_model import SdkClient, SdkModel, own_client, sdk_clients
except ImportError as error:
    raise MissingExtraError("OpenAI's models", "openai") from error


def is_openai(host: str) -> bool:
    """Whether a server is OpenAI's, or Azure's of theirs."""
    return provider_at(host) in ("openai", "azure.ai.openai")


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


def open_clients(
    owner: type[OpenAIModel],
    model: str,
    client: object,
    place: tuple[str | None, str | None, float | None],
) -> PerLoop[SdkClient]:
    """The clients of a model of class `owner`, one for each event loop.

    Args:
        owner: The model's class.
        model: The model's name.
        client: The program's own, or None.
        place: Base URL, key and timeout, each as the model was given it.

    Raises:
        SetupError: there is no key.
    """
    make = partial(new_client, owner.__name__, model)
    new = partial(own_client, openai, owner.path, make, client_options(*place))
    return sdk_clients(new, client)


class OpenAIModel(SdkModel):
    """A model behind one of the wires of OpenAI's SDK."""

    package: ClassVar[Any] = openai

    def _reads_body(self, sdk: Any) -> bool:
        return isinstance(sdk, openai.AsyncAzureOpenAI)

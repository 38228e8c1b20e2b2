"""Facts that a model server reports about a model: context length, and tools in its template.

Each server is asked by its own API; nothing is loaded or changed. Sources: llama.cpp's
``tools/server/README.md`` (``/props``), docs.ollama.com/api (``/api/show``, ``/api/ps``),
lmstudio.ai/docs/developer/rest (``/api/v1/models``); vLLM and SGLang report ``max_model_len`` in
``/v1/models``.
"""

from __future__ import annotations

import json
import re
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from http.client import HTTPException
from types import MappingProxyType
from typing import Literal, TypeAlias

from toolkeel._records.record import record
from toolkeel.providers.wire.plain_json import Json, as_count, as_dict, as_list, as_text

TIMEOUT = 1.5
"""Seconds to wait for a server that is on the same machine."""
_MOST = 8 * 1024 * 1024
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)

ServerKind: TypeAlias = Literal["", "llamacpp", "ollama", "lmstudio", "vllm", "sglang"]
"""Program behind an address; empty if unknown."""


@record
class ServerFacts:
    """What a server reports about a model.

    Args:
        context_length: Tokens of its context, or None if unknown.
        tools: True if its template has a place for tools, False if not, None if unknown.
        model: Name of the model that is loaded, if the server reports it.
    """

    context_length: int | None = None
    tools: bool | None = None
    model: str = ""


class Loading(OSError):
    """Raised if the server is still loading its model."""


class Locked(Exception):
    """Raised if the server requires a key."""


class ServerClient:
    """An HTTP client for one server, without a proxy; each request waits 1.5 seconds at most.

    Args:
        url: Its base URL, ``/v1`` included.
        key: Its key, or "" to send none.
    """

    def __init__(self, url: str, key: str = "") -> None:
        self.root = url.rstrip("/").removesuffix("/v1")
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        # A proxy in the environment is not the way to this machine.
        self._opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def fetch(self, path: str, body: Json | None = None) -> Json:
        """Fetch the JSON object at `path`, by POST if there is a `body`; return an empty one for any other answer.

        Raises:
            OSError: nothing answers.
            Loading: the server is loading its model.
            Locked: the server requires a key.
        """
        data = None if body is None else json.dumps(body).encode()
        headers = {**self._headers, "Content-Type": "application/json"}
        request = urllib.request.Request(self.root + path, data, headers)
        try:
            with self._opener.open(request, timeout=TIMEOUT) as answer:
                return as_dict(json.loads(answer.read(_MOST)))
        except urllib.error.HTTPError as error:
            with error:
                if error.code in (401, 403):
                    raise Locked from error
                if error.code == 503:
                    raise Loading("the server is loading its model") from error
            return {}
        except (ValueError, RecursionError, HTTPException):
            return {}


def _ask_llamacpp(client: ServerClient, model: str) -> ServerFacts:
    """Read the facts from llama.cpp's ``/props``, or raise as `fetch`."""
    props = client.fetch("/props")
    settings = as_dict(props.get("default_generation_settings"))
    can = as_dict(props.get("chat_template_caps")).get("supports_tools")
    length = as_count(settings.get("n_ctx")) or as_count(props.get("n_ctx"))
    name = as_text(props.get("model_alias")) or as_text(props.get("model_path"))
    return ServerFacts(length or None, can if isinstance(can, bool) else None, name)


def _ask_ollama(client: ServerClient, model: str) -> ServerFacts:
    """Read the facts from Ollama's ``/api/show``, and of a loaded model from ``/api/ps``. Raises as `fetch`."""
    shown = client.fetch("/api/show", {"model": model})
    can = shown.get("capabilities")
    loaded = (
        one
        for one in map(as_dict, as_list(client.fetch("/api/ps").get("models")))
        if model in (one.get("name"), one.get("model"))
    )
    length = as_count(next(loaded, {}).get("context_length"))
    if not length and (own := _NUM_CTX.search(as_text(shown.get("parameters")))):
        length = int(own[1])
    return ServerFacts(length or None, "tools" in can if isinstance(can, list) else None)


def _ask_lmstudio(client: ServerClient, model: str) -> ServerFacts:
    """Read the facts from LM Studio's ``/api/v1/models``.

    Unknown for a model that it does not list. Raises as `fetch`.
    """
    listed = map(as_dict, as_list(client.fetch("/api/v1/models").get("models")))
    found = next((one for one in listed if one.get("key") == model), {})
    instances = map(as_dict, as_list(found.get("loaded_instances")))
    config = as_dict(next(instances, {}).get("config"))
    can = as_dict(found.get("capabilities")).get("trained_for_tool_use")
    return ServerFacts(
        as_count(config.get("context_length")) or None, can if isinstance(can, bool) else None
    )


def _ask_openai_list(client: ServerClient, model: str) -> ServerFacts:
    """Read the context length from ``/v1/models``; the first entry if the model is not listed. Raises as `fetch`."""
    listed = [as_dict(one) for one in as_list(client.fetch("/v1/models").get("data"))]
    found = next((one for one in listed if one.get("id") == model), listed[0] if listed else {})
    length = as_count(found.get("max_model_len"))
    return ServerFacts(length or None, None, as_text(found.get("id")))


_ASKED: Mapping[str, Callable[[ServerClient, str], ServerFacts]] = MappingProxyType(
    {
        "llamacpp": _ask_llamacpp,
        "ollama": _ask_ollama,
        "lmstudio": _ask_lmstudio,
        "vllm": _ask_openai_list,
        "sglang": _ask_openai_list,
    }
)


def find_facts(kind: ServerKind, client: ServerClient, model: str) -> ServerFacts | None:
    """Ask a server about a model; blocks for a few seconds at most.

    Returns:
        Its facts, empty if it requires a key or its kind is unknown; None if it does not answer, or is
        still loading.
    """
    if kind not in _ASKED:
        return ServerFacts()
    try:
        return _ASKED[kind](client, model)
    except Locked:
        return ServerFacts()
    except (OSError, ValueError, HTTPException):  # ValueError: the address is none
        return None

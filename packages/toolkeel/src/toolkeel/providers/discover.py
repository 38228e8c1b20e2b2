"""Model servers on this machine: which run, and which models they have.

Four are searched for at their usual ports, or at ``<VENDOR>_BASE_URL``: Ollama, LM Studio, llama.cpp
and vLLM. Each is asked for its models by its own API, so that another program at such a port is not
mistaken for one. Nothing is loaded or changed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from http.client import HTTPException
from types import MappingProxyType
from typing import Literal

from toolkeel._records.record import record
from toolkeel.providers.chat_servers import base_url_of
from toolkeel.providers.constrained.server_facts import Loading, Locked, ServerClient, find_facts
from toolkeel.providers.wire.plain_json import as_count, as_dict, as_list, as_text

_SHOWN = 12
"""Most models of one Ollama that are asked what they can."""


@record
class LocalModel:
    """A model of a server on this machine.

    Args:
        name: Its name on the server.
        tools: True if it calls tools; None if the server does not report it.
        vision: True if it accepts pictures; None if the server does not report it.
        loaded: True if it is in memory, so that it answers at once.
        context_length: Tokens of its context, or None if the server does not report them.
    """

    name: str
    tools: bool | None = None
    vision: bool | None = None
    loaded: bool = False
    context_length: int | None = None


@record
class Server:
    """The result of a search at one address.

    Args:
        vendor: Its name for ``connect("vendor:model")``.
        title: Its name for people.
        url: Its address, ``/v1`` included.
        state: ``up``; ``locked`` if it requires a key; ``other`` if something else answers there;
            ``loading`` if it is still loading its model; ``down`` if nothing does.
        models: Its models; those in memory first, else in the server's order.
    """

    vendor: str
    title: str
    url: str
    state: Literal["up", "locked", "other", "loading", "down"]
    models: tuple[LocalModel, ...] = ()

    @property
    def best(self) -> LocalModel | None:
        """The first model that may call tools, or None. Those known to call tools come first.

        A llama.cpp server has one model, whose calls are held to a grammar if its template has no
        place for tools.
        """
        known = [one for one in self.models if one.tools]
        known += [one for one in self.models if one.tools is None]
        known += self.models if self.vendor == "llamacpp" else ()
        return next(iter(known), None)


def _list_ollama(asker: ServerClient) -> list[LocalModel] | None:
    """List models by https://docs.ollama.com/api; return None if another program answers.

    Models that cannot complete a text are left out. Those beyond the first `_SHOWN` are listed without
    their abilities if the server's list has none.
    """
    listed = asker.fetch("/api/tags").get("models")
    if not isinstance(listed, list):
        return None
    running = as_list(asker.fetch("/api/ps").get("models"))
    loaded = {as_text(one.get("name")): one for one in map(as_dict, running)}
    models = []
    for number, one in enumerate(map(as_dict, listed)):
        name = as_text(one.get("name"))
        can = one.get("capabilities")
        if can is None and number < _SHOWN:
            can = asker.fetch("/api/show", {"model": name}).get("capabilities")
        known = isinstance(can, list)
        if name and not (known and "completion" not in as_list(can)):
            tools, vision = (one in as_list(can) if known else None for one in ("tools", "vision"))
            context = as_count(loaded.get(name, {}).get("context_length")) or None
            models.append(LocalModel(name, tools, vision, name in loaded, context))
    return models


def _list_lmstudio(asker: ServerClient) -> list[LocalModel] | None:
    """List models by https://lmstudio.ai/docs/developer/rest; None if another program answers.

    Embedding models are left out. An older server is asked as `_list_openai` asks.
    """
    found = asker.fetch("/api/v1/models").get("models")
    if not isinstance(found, list):
        return _list_openai(asker)
    models = []
    for one in map(as_dict, found):
        can = as_dict(one.get("capabilities"))
        name = as_text(one.get("key"))
        if name and one.get("type") != "embedding":
            tools = True if can.get("trained_for_tool_use") else None
            vision = bool(can.get("vision"))
            instances = [as_dict(instance) for instance in as_list(one.get("loaded_instances"))]
            config = as_dict(instances[0].get("config")) if instances else {}
            context = as_count(config.get("context_length")) or None
            models.append(LocalModel(name, tools, vision, bool(instances), context))
    return models


def _list_openai(asker: ServerClient) -> list[LocalModel] | None:
    """List models by OpenAI's ``/v1/models``, or return None if another program answers.

    Models without a name, or with "embed" in it, are left out. A failed request raises: see `_probe`.
    """
    answer = asker.fetch("/v1/models")
    listed = answer.get("data")
    if not isinstance(listed, list) or answer.get("object") not in (None, "list"):
        return None
    entries = [(as_text(one.get("id")), one) for one in map(as_dict, listed)]
    return [
        LocalModel(name, context_length=as_count(one.get("max_model_len")) or None)
        for name, one in entries
        if name and "embed" not in name.lower()
    ]


def _list_llamacpp(asker: ServerClient) -> list[LocalModel] | None:
    """List a llama.cpp server's model; None if another program answers.

    Its context length and its tools are those that the server reports about the model it has loaded.
    """
    models = _list_openai(asker)
    if not models or (facts := find_facts("llamacpp", asker, models[0].name)) is None:
        return models
    return [replace(one, tools=facts.tools, context_length=facts.context_length) for one in models]


_PROBES: Mapping[str, tuple[str, Callable[[ServerClient], list[LocalModel] | None]]] = (
    MappingProxyType(
        {
            "ollama": ("Ollama", _list_ollama),
            "lmstudio": ("LM Studio", _list_lmstudio),
            "llamacpp": ("llama.cpp", _list_llamacpp),
            "vllm": ("vLLM", _list_openai),
        }
    )
)


def find_servers(environment: Mapping[str, str] | None = None) -> Sequence[Server]:
    """Ask all usual addresses for model servers at once, two seconds at most; one result each, also if down.

    Args:
        environment: Variables with addresses and keys; None: the process's environment.
    """
    known = os.environ if environment is None else environment
    with ThreadPoolExecutor(len(_PROBES)) as pool:
        return list(pool.map(lambda vendor: _probe(vendor, known), _PROBES))


def _probe(vendor: str, environment: Mapping[str, str]) -> Server:
    """Ask one vendor's server for its models, and return the result.

    A failure is its `state`, never raised.
    """
    title, asked = _PROBES[vendor]
    url = base_url_of(vendor, environment)
    try:
        models = asked(ServerClient(url, environment.get(f"{vendor.upper()}_API_KEY", "")))
    except Locked:
        return Server(vendor, title, url, "locked")
    except Loading:
        return Server(vendor, title, url, "loading")
    except (OSError, ValueError, HTTPException):  # ValueError: the address is none
        return Server(vendor, title, url, "down")
    if models is None:
        return Server(vendor, title, url, "other")
    models.sort(key=lambda one: not one.loaded)
    return Server(vendor, title, url, "up", tuple(models))

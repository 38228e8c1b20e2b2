"""Models by name, under the names of the OpenAI Agents SDK: bare names are OpenAI's."""

from __future__ import annotations

import dataclasses
import os
import re
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, Literal, get_args

from toolkeel.agent.bind_tools import Binds, Bound
from toolkeel.call.toolset import as_toolset
from toolkeel.errors import SetupError
from toolkeel.messages import AssistantMessage, SystemMessage
from toolkeel.model_interface import (
    Delta,
    Model,
    ModelRequest,
    OutputFormat,
    SupportsStructuredOutput,
)
from toolkeel.providers.chat_servers import COMPATIBLE, OPENAI, ChatProfile
from toolkeel.providers.model_by_name import connect
from toolkeel_compat.openai_agents.items import to_messages
from toolkeel_compat.openai_agents.models.custom_models import ModelResponse, to_model_response
from toolkeel_compat.openai_agents.settings import ModelSettings

__all__ = [
    "AnyLLMModel", "LitellmModel", "ModelProvider", "OpenAIChatCompletionsModel", "OpenAIProvider",
    "OpenAIResponsesModel", "get_default_model", "get_default_model_settings", "is_gpt_5_default",
    "set_default_openai_api", "set_default_openai_client", "set_default_openai_key",
]  # fmt: skip

Api = Literal["chat_completions", "responses"]
DEFAULT_MODEL = "gpt-5.6-luna"
"""What the SDK asks if nobody says, as of its version 0.24; ``OPENAI_DEFAULT_MODEL`` says otherwise."""
_IMPLEMENTATIONS = {
    "chat_completions": ("toolkeel.providers.openai_chat.model", "OpenAIChat"),
    "responses": ("toolkeel.providers.openai_responses.model", "OpenAIResponses"),
    "client": ("toolkeel.providers.wire.openai_client", "new_client"),
}
_CORE_MODELS = frozenset({"offline", "auto"})


class _Defaults:
    """Values set by `set_default_openai_*`."""

    api: Api = "responses"
    client: Any = None
    key: str | None = None


def set_default_openai_client(client: Any, use_for_tracing: bool = True) -> None:
    """Use this `openai.AsyncOpenAI` for bare model names; `use_for_tracing` has no effect."""
    _Defaults.client = client


def set_default_openai_key(key: str, use_for_tracing: bool = True) -> None:
    """Use this key for bare model names; `use_for_tracing` has no effect."""
    _Defaults.key = key


def set_default_openai_api(api: Api) -> None:
    """Use ``chat_completions`` or ``responses`` for bare model names.

    Raises:
        SetupError: Another name.
    """
    if api not in get_args(Api):
        raise SetupError(f"the api is one of {', '.join(get_args(Api))}, not {api!r}")
    _Defaults.api = api


def get_default_client() -> Any:
    """Return the client of `set_default_openai_client`, or one from the environment."""
    if _Defaults.client is not None:
        return _Defaults.client
    sdk = import_module(_IMPLEMENTATIONS["client"][0])
    options = sdk.client_options(None, _Defaults.key, None)
    return sdk.new_client("OpenAIConversationsSession", "conversations", options)


def get_default_model() -> str:
    """Return the model of an agent that names none."""
    return os.environ.get("OPENAI_DEFAULT_MODEL", DEFAULT_MODEL).lower()


class LazyModel(Binds):
    """A `Model` that connects at its first request, so that agents can be defined without a key.

    Args:
        name: The model's name.
        make: Connects it.
        chat: True for Chat Completions.
    """

    def __init__(self, name: str, make: Callable[[], Model], chat: bool) -> None:
        self.name = self.model = name
        self.chat = chat
        self._make = make
        self._made: Model | None = None

    def supports_format(self, output: OutputFormat, *, tools: bool) -> bool:
        """Return True if it enforces this schema; False without a key, where this is unknown."""
        try:
            model = self._model()
        except SetupError:
            return False
        return isinstance(model, SupportsStructuredOutput) and model.supports_format(
            output, tools=tools
        )

    async def stream(self, request: ModelRequest) -> AsyncIterator[Delta | AssistantMessage]:
        """Stream the model's reply."""
        async for delta in self._model().stream(request):
            yield delta

    @property
    def hosts(self) -> str:
        """The API on which it runs tools itself; empty if it runs none."""
        return str(getattr(self._model(), "hosts", ""))

    async def get_response(
        self,
        system_instructions: str | None,
        input: str | list[Any],
        model_settings: ModelSettings,
        tools: Sequence[Any] = (),
        *rest: Any,
        **more: Any,
    ) -> ModelResponse:
        """Return the complete reply; arguments as for a custom `Model`.

        Raises:
            SetupError: An output schema, handoffs, a prompt or an id of something stored at OpenAI is
                passed.
        """
        if any(rest[:2]) or any(value for name, value in more.items() if name != "tracing"):
            raise SetupError("a model by itself takes no output schema, handoffs, prompt or ids")
        system_messages = [SystemMessage(system_instructions)] if system_instructions else []
        settings = model_settings.to_core(chat=self.chat)
        asked = Bound(self, as_toolset(tools), settings)
        return to_model_response(await asked.ainvoke([*system_messages, *to_messages(input)]))

    def _model(self) -> Model:
        if self._made is None:
            self._made = self._make()
        return self._made


class OpenAIChatCompletionsModel(LazyModel):
    """A model called with Chat Completions.

    Args:
        model: Its name on the server.
        openai_client: An `openai.AsyncOpenAI`, with address and key.
    """

    def __init__(self, model: str, openai_client: Any) -> None:
        super().__init__(model, lambda: _connect(model, "chat_completions", openai_client), True)


class OpenAIResponsesModel(LazyModel):
    """A model called with the Responses API.

    Args:
        model: Its name on the server.
        openai_client: An `openai.AsyncOpenAI`, with address and key.
    """

    def __init__(self, model: str, openai_client: Any) -> None:
        super().__init__(model, lambda: _connect(model, "responses", openai_client), False)


class LitellmModel(LazyModel):
    """A model by another gateway's name, ``vendor/model``, called with the core's own providers.

    Args:
        model: Its name there.
        base_url: Address, if it is not the vendor's own.
        api_key: Key; the vendor's variable by default.
    """

    def __init__(self, model: str, base_url: str | None = None, api_key: str | None = None) -> None:
        place = {"base_url": base_url, "api_key": api_key}
        options = {name: value for name, value in place.items() if value is not None}
        name = model.replace("/", ":", 1)
        super().__init__(name, lambda: connect(name, **options), True)


AnyLLMModel = LitellmModel
_DEFAULT_EFFORTS: Sequence[tuple[str, str]] = (
    (r"gpt-5(-\d{4}-\d\d-\d\d)?|gpt-5\.2-codex", "low"),
    (r"gpt-5\.[24]-pro(-\d{4}-\d\d-\d\d)?", "medium"),
    (r"gpt-5\.[1-6](-\d{4}-\d\d-\d\d)?|gpt-5\.3-codex", "none"),
    (r"(gpt-5\.4-(mini|nano)|gpt-5\.6-(sol|terra|luna))(-\d{4}-\d\d-\d\d)?", "none"),
)
"""How hard the SDK lets a model think if nobody says, by its name, as of version 0.24."""


def get_default_model_settings(model: str | None = None) -> ModelSettings:
    """Return the SDK's default settings for a model.

    >>> get_default_model_settings("gpt-5").reasoning, get_default_model_settings("gpt-4.1").verbosity
    ({'effort': 'low'}, None)
    """
    name = get_default_model() if model is None else model
    if not name.startswith("gpt-5") or re.fullmatch(r"gpt-5(\.[123])?-chat-latest", name):
        return ModelSettings()
    found = (effort for pattern, effort in _DEFAULT_EFFORTS if re.fullmatch(pattern, name))
    effort = next(found, None)
    return ModelSettings(reasoning={"effort": effort} if effort else None, verbosity="low")


def is_gpt_5_default() -> bool:
    """Return True if the default model is a reasoning model."""
    return get_default_model_settings().verbosity is not None


def get_default_settings(model: str | Model | None) -> ModelSettings:
    """Return the settings of an agent that sets none: those of a name, none of a model itself."""
    if isinstance(model, str | None):
        return get_default_model_settings(model)
    return ModelSettings()


class ModelProvider(ABC):
    """Creates models by name, for ``RunConfig(model_provider=...)``."""

    @abstractmethod
    def get_model(self, model_name: str | None) -> Model:
        """Return the model of that name; a default one for None."""


class OpenAIProvider(ModelProvider):
    """OpenAI's models, with a client of the program's own.

    Args:
        api_key: The key, if there is no client.
        base_url: The address, if there is no client.
        openai_client: An `openai.AsyncOpenAI`.
        use_responses: Use the Responses API; by default as `set_default_openai_api` says.
    """

    def __init__(
        self,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        openai_client: Any = None,
        use_responses: bool | None = None,
    ) -> None:
        self._client = openai_client
        self._place = {"api_key": api_key, "base_url": base_url}
        kinds: Mapping[bool | None, Api] = {True: "responses", False: "chat_completions"}
        self._api: Api = kinds.get(use_responses, _Defaults.api)

    def get_model(self, model_name: str | None) -> Model:
        """Return the model of that name."""
        return _make_lazy_model(
            model_name or get_default_model(), self._api, self._client, self._place
        )


def resolve_model(model: str | Model | None, provider: ModelProvider | None = None) -> Model:
    """Return the model of a name: ``vendor:model`` is connected by the core, a bare name is OpenAI's.

    Args:
        model: A name, or a model.
        provider: Resolves the name instead of OpenAI.

    Raises:
        SetupError: The name has the prefix of a gateway that this library does not have.
    """
    if provider is not None and (model is None or isinstance(model, str)):
        return provider.get_model(model)
    if model is None:
        return resolve_model(get_default_model())
    if not isinstance(model, str):
        return model
    if ":" in model or model in _CORE_MODELS:
        return connect(model)
    prefix, _, rest = model.rpartition("/")
    if prefix.split("/")[0] in ("litellm", "any-llm"):
        raise SetupError(f"{model!r} goes through another gateway; write 'vendor:{rest}'")
    return _make_lazy_model(rest if prefix == "openai" else model, _Defaults.api)


def make_prompt_model() -> Model:
    """Return an OpenAI model that the stored prompt names."""
    return _make_lazy_model(get_default_model(), _Defaults.api, sent="")


def _make_lazy_model(name: str, api: Api, *where: Any, sent: str | None = None) -> LazyModel:
    """Return an OpenAI model; `sent` is the name in requests, if it differs."""
    asked = name if sent is None else sent
    return LazyModel(name, lambda: _connect(asked, api, *where), api == "chat_completions")


def _make_openai_profile() -> ChatProfile:
    """Return the profile of a compatible server that gets tools in OpenAI's form."""
    return dataclasses.replace(COMPATIBLE, target=OPENAI.target)


def _connect(
    name: str, api: Api, client: Any = None, place: Mapping[str, str | None] | None = None
) -> Model:
    module, kind = _IMPLEMENTATIONS[api]
    place = place or {"api_key": _Defaults.key}
    # As there, whoever answers: tools of OpenAI's own, or schemas that arguments are held to.
    there = {"hosts_tools": True} if api == "responses" else {"profile": _make_openai_profile()}
    made: Model = getattr(import_module(module), kind)(
        name, client=client or _Defaults.client, native_output=True, **there, **place
    )
    return made

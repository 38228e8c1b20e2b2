"""From a name to a model: ``connect("openai:gpt-5")``.

A vendor is one row: of `VENDORS` if it has a `Model` class, of `chat_servers.PRESETS` if it
imitates Chat Completions. Classes are imported when asked for, since vendors' SDKs are heavy and
may be missing.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from toolkeel._common.checked_arguments import checked
from toolkeel._common.nearest_names import nearest_names
from toolkeel.errors import SetupError
from toolkeel.model_interface import Model
from toolkeel.providers.chat_servers import PRESETS, Preset, base_url_of

_CHAT = "toolkeel.providers.openai_chat.model:OpenAIChat"
_GEMINI = "toolkeel.providers.gemini.model:Gemini"

VENDORS: Mapping[str, str] = MappingProxyType(
    {
        "offline": "toolkeel.providers.offline:Offline",
        "openai": _CHAT,
        "openai-responses": "toolkeel.providers.openai_responses.model:OpenAIResponses",
        "gemini": _GEMINI,
        "google": _GEMINI,
        "anthropic": "toolkeel.providers.anthropic.model:AnthropicMessages",
        "bedrock": "toolkeel.providers.bedrock.model:BedrockConverse",
    }
)
"""``module:Class`` of each vendor's model, which takes the model's name and options."""

AUTO = "auto"
"""Stands for the model that `toolkeel.providers.default_model` chooses."""
_CHOOSER = "toolkeel.providers.default_model"
_NAMELESS = frozenset({"offline"})
"""Vendors of a single model, which needs no name."""


@checked
def connect(model: str | Model, **options: Any) -> Model:
    """The model of that name.

    Args:
        model: ``"vendor:model"``, such as ``openai:gpt-5`` or ``ollama:qwen3:8b``; ``offline``;
            ``auto``, which chooses one (see `toolkeel.providers.default_model`) and says which on
            stderr; or a `Model`, which is returned as it is.
        options: What the vendor's class takes, such as `base_url`, `api_key` and `timeout`. A
            known server's place can also be given as ``<VENDOR>_BASE_URL`` in the environment.

    Raises:
        SetupError: if there is no such vendor, or no model is named, or a key is missing.
        MissingExtraError: if the vendor's SDK is not installed.

    >>> connect("olama:qwen3")
    Traceback (most recent call last):
    ...
    toolkeel.errors.SetupError: no vendor 'olama'; did you mean 'ollama:qwen3'?
    """
    if not isinstance(model, str):
        if options:
            raise SetupError(f"connect({model!r}): a model that is made already takes no options")
        return model
    vendor, _, name = model.partition(":")
    vendor = vendor.strip().lower()
    if model == AUTO:
        return connect(chosen(), **options)
    if vendor not in VENDORS and vendor not in PRESETS:
        raise SetupError(_unknown(model, vendor, name))
    if vendor in _NAMELESS:
        if name:
            raise SetupError(f"{vendor!r} is a single model; write {vendor!r}, not {model!r}")
        return _load(VENDORS[vendor])(**options)
    if not name:
        raise SetupError(f"{model!r} names no model; write {vendor}:<model>")
    if vendor in PRESETS:
        return _load(_CHAT)(name, **_preset_options(vendor, PRESETS[vendor], options))
    return _load(VENDORS[vendor])(name, **options)


def chosen() -> str:
    """The name of the model that ``auto`` stands for; it is told on stderr."""
    choice = importlib.import_module(_CHOOSER).choose()
    for clause in choice.passed:
        print(f"auto: {clause}", file=sys.stderr)
    print(f"auto: {choice}", file=sys.stderr, flush=True)
    name: str = choice.model
    return name


def _load(target: str) -> Callable[..., Model]:
    module, _, name = target.partition(":")
    made: Callable[..., Model] = getattr(importlib.import_module(module), name)
    return made


def _preset_options(vendor: str, preset: Preset, given: Mapping[str, Any]) -> dict[str, Any]:
    """The preset's options under those given; a client of the caller's knows its own."""
    options: dict[str, Any] = {"profile": preset.profile}
    if "client" not in given:
        options["base_url"] = base_url_of(vendor, os.environ)
        options["api_key"] = given.get("api_key") or _key(vendor, preset)
    return {**options, **{key: value for key, value in given.items() if value is not None}}


def _key(vendor: str, preset: Preset) -> str:
    """The vendor's own key; OpenAI's is never sent anywhere else."""
    for name in preset.keys:
        if os.environ.get(name):
            return os.environ[name]
    if preset.keys:
        names = " or ".join(preset.keys)
        raise SetupError(f"connect({vendor + ':...'!r}): no API key; set {names}, or pass api_key=")
    return os.environ.get(f"{vendor.upper()}_API_KEY") or "none"


def _unknown(model: str, vendor: str, name: str) -> str:
    known = sorted({*VENDORS, *PRESETS, AUTO})
    near = nearest_names(vendor, known, 1)
    if near:
        meant = f"{near[0]}:{name}" if name else near[0]
        return f"no vendor {vendor!r}; did you mean {meant!r}?"
    hint = "" if ":" in model else f"write vendor:model, such as openai:{model}; "
    return f"no vendor {vendor!r}; {hint}there are {', '.join(known)}"

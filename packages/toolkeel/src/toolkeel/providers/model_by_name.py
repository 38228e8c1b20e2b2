"""Models by name: ``connect("openai:gpt-5")``.

Each vendor is one row: of `VENDORS` if it has a `Model` class, of `chat_servers.PRESETS` if it
imitates Chat Completions. Classes are imported on use, since vendors' SDKs are heavy and may be
missing.
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
from toolkeel._common.other_libraries_words import explain_foreign
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
"""Name for the model that `toolkeel.providers.default_model` chooses."""
_CHOOSER = "toolkeel.providers.default_model"
_NAMELESS = frozenset({"offline"})
"""Vendors of a single model, which needs no name."""


@checked
def connect(model: str | Model, **options: Any) -> Model:
    """Return the model with a name. No request is sent, but for `auto` to model servers of this machine.

    Args:
        model: ``"vendor:model"``, such as ``openai:gpt-5`` or ``ollama:qwen3:8b``; ``offline``;
            ``auto``, which chooses one (see `toolkeel.providers.default_model`) and prints it to
            stderr; or a `Model`, which is returned unchanged.
        options: Options of the vendor's class, such as `base_url`, `api_key` and `timeout`. A
            known server's address can also be set by ``<VENDOR>_BASE_URL`` in the environment.

    Raises:
        SetupError: if there is no such vendor, no model is named, a key is missing, or a `Model` has options.
        MissingExtraError: if the vendor's SDK is not installed.

    >>> connect("olama:qwen3")
    Traceback (most recent call last):
    ...
    toolkeel.errors.SetupError: no vendor 'olama'; did you mean 'ollama:qwen3'?
    """
    if not isinstance(model, str):
        if foreign := explain_foreign(model):
            raise SetupError(f"connect: {foreign}, or name the model: connect('openai:gpt-5')")
        if options:
            raise SetupError(f"connect({model!r}): a model that is made already takes no options")
        return model
    vendor, _, name = model.partition(":")
    vendor = vendor.strip().lower()
    if vendor == AUTO and not name:
        return connect(choose_auto(), **options)
    if vendor not in VENDORS and vendor not in PRESETS:
        raise SetupError(_explain_unknown(model, vendor, name))
    if vendor in _NAMELESS:
        if name:
            raise SetupError(f"{vendor!r} is a single model; write {vendor!r}, not {model!r}")
        return _import_model(VENDORS[vendor])(**options)
    if not name:
        raise SetupError(f"{model!r} names no model; write {vendor}:<model>")
    if vendor in PRESETS:
        return _import_model(_CHAT)(name, **_preset_options(vendor, PRESETS[vendor], options))
    return _import_model(VENDORS[vendor])(name, **options)


def choose_auto() -> str:
    """Return the name of the model that ``auto`` means, and print the choice to stderr."""
    choice = importlib.import_module(_CHOOSER).choose()
    for clause in choice.rejected:
        print(f"auto: {clause}", file=sys.stderr)
    print(f"auto: {choice}", file=sys.stderr, flush=True)
    name: str = choice.model
    return name


def _import_model(target: str) -> Callable[..., Model]:
    """Import and return the class named by ``module:Class``."""
    module, _, name = target.partition(":")
    made: Callable[..., Model] = getattr(importlib.import_module(module), name)
    return made


def _preset_options(
    vendor: str, preset: Preset, caller_options: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the preset's options with the caller's over them; a client of the caller's has its own.

    Raises `SetupError` if the vendor needs a key and none is set.
    """
    options: dict[str, Any] = {"profile": preset.profile}
    if "client" not in caller_options:
        options["base_url"] = base_url_of(vendor, os.environ)
        options["api_key"] = caller_options.get("api_key") or _find_key(vendor, preset)
    return {**options, **{key: value for key, value in caller_options.items() if value is not None}}


def _find_key(vendor: str, preset: Preset) -> str:
    """Return a vendor's API key from its own environment variables, never OpenAI's.

    Raises `SetupError` if the vendor needs one and none is set; for others it is then "none".
    """
    for name in preset.keys:
        if os.environ.get(name):
            return os.environ[name]
    if preset.keys:
        names = " or ".join(preset.keys)
        raise SetupError(f"connect({vendor + ':...'!r}): no API key; set {names}, or pass api_key=")
    return os.environ.get(f"{vendor.upper()}_API_KEY") or "none"


def _explain_unknown(model: str, vendor: str, name: str) -> str:
    """Return the error text for an unknown vendor, with the nearest name or all names."""
    known = sorted({*VENDORS, *PRESETS, AUTO})
    near = nearest_names(vendor, known, 1)
    if near:
        suggested = f"{near[0]}:{name}" if name else near[0]
        return f"no vendor {vendor!r}; did you mean {suggested!r}?"
    hint = "" if ":" in model else f"write vendor:model, such as openai:{model}; "
    return f"no vendor {vendor!r}; {hint}there are {', '.join(known)}"

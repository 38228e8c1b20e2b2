"""The default model: one on this machine, else one with a key, else rules.

Servers on this machine come first: they cost nothing, and the data stays here. Keys follow in the
order of `HOSTED`. The ``offline`` model is always available.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence

from toolkeel._records.record import record
from toolkeel.providers.discover import Server, find_servers

OFFLINE = "offline"
LOADING_NAME = "default"
"""Name for the model of a server that is still loading it; llama.cpp answers to any name."""


@record
class Hosted:
    """A vendor whose key may be in the environment.

    Args:
        vendor: Its name for ``connect``.
        keys: Variables that may hold the key; the first one that is set counts.
        model: The model to choose.
        module: Module that must be installed.
        extra: Extra that installs it.
    """

    vendor: str
    keys: tuple[str, ...]
    model: str
    module: str = "openai"
    extra: str = "openai"


HOSTED: tuple[Hosted, ...] = (
    Hosted("anthropic", ("ANTHROPIC_API_KEY",), "claude-sonnet-5", "anthropic", "anthropic"),
    Hosted("openai", ("OPENAI_API_KEY",), "gpt-5"),
    Hosted(
        "gemini",
        ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
        "gemini-flash-latest",
        "google.genai",
        "gemini",
    ),
    Hosted("deepseek", ("DEEPSEEK_API_KEY",), "deepseek-chat"),
    Hosted("qwen", ("DASHSCOPE_API_KEY",), "qwen-plus"),
    Hosted("moonshot", ("MOONSHOT_API_KEY",), "kimi-latest"),
    Hosted("glm", ("ZHIPUAI_API_KEY", "ZAI_API_KEY"), "glm-4.6"),
    Hosted("mistral", ("MISTRAL_API_KEY",), "mistral-medium-latest"),
    Hosted("xai", ("XAI_API_KEY",), "grok-4"),
    Hosted("groq", ("GROQ_API_KEY",), "openai/gpt-oss-120b"),
    Hosted("openrouter", ("OPENROUTER_API_KEY",), "openrouter/auto"),
)
"""Vendors in the order in which their keys are looked for, each with the model that is taken."""


@record
class Choice:
    """The chosen model, with the reason.

    Args:
        model: Name for ``connect``.
        why: The reason, as a clause.
        rejected: Reasons against other models, one clause for each.
    """

    model: str
    why: str
    rejected: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.model} ({self.why})"


def choose(
    environment: Mapping[str, str] | None = None, servers: Sequence[Server] | None = None
) -> Choice:
    """Choose the model that ``auto`` means: one of a server on this machine, else one with a key, else ``offline``.

    Args:
        environment: Variables that may hold keys; None: the process's environment.
        servers: Servers on this machine; None: they are searched for.

    >>> str(choose({"DEEPSEEK_API_KEY": "sk-1"}, []))
    'deepseek:deepseek-chat (DEEPSEEK_API_KEY is set)'
    >>> str(choose({}, []))
    'offline (no model server on this machine, no key in the environment)'
    """
    known = os.environ if environment is None else environment
    passed: list[str] = []
    for server in find_servers(known) if servers is None else servers:
        if (choice := _choose_local(server, passed)) is not None:
            return Choice(*choice, tuple(passed))
    for hosted in HOSTED:
        if (choice := _choose_hosted(hosted, known, passed)) is not None:
            return Choice(*choice, tuple(passed))
    why = "no model server on this machine, no key in the environment"
    return Choice(OFFLINE, "nothing else can be used" if passed else why, tuple(passed))


def _choose_local(server: Server, passed: list[str]) -> tuple[str, str] | None:
    """Return a server's best model and the reason, or None.

    Append to `passed` why it was not chosen.
    """
    if server.state == "locked":
        passed.append(f"{server.title} at {server.url} wants {server.vendor.upper()}_API_KEY")
    if server.state not in ("up", "loading"):
        return None
    if not is_installed("openai"):
        passed.append(f"{server.title} is here, but not 'toolkeel[openai]' to speak with it")
        return None
    if server.state == "loading":
        why = f"{server.title} at {server.url}, still loading its model"
        return f"{server.vendor}:{LOADING_NAME}", why
    if server.best is None:
        what = "no model that calls tools" if server.models else "no model"
        passed.append(f"{server.title} at {server.url} has {what}")
        return None
    note = ", in memory" if server.best.loaded else ""
    if server.best.tools is False:
        note += ", calls by grammar: its template has no tools"
    return f"{server.vendor}:{server.best.name}", f"{server.title} at {server.url}{note}"


def _choose_hosted(
    hosted: Hosted, environment: Mapping[str, str], passed: list[str]
) -> tuple[str, str] | None:
    """Return a vendor's model and the reason, or None if its key is not set or its SDK is missing.

    A missing SDK is also reported in `passed`.
    """
    key = next((name for name in hosted.keys if environment.get(name, "").strip()), None)
    if key is None:
        return None
    if not is_installed(hosted.module):
        passed.append(f"{key} is set, but 'toolkeel[{hosted.extra}]' is not installed")
        return None
    return f"{hosted.vendor}:{hosted.model}", f"{key} is set"


def is_installed(module: str) -> bool:
    """Return True if `module` can be imported. It is not imported."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False

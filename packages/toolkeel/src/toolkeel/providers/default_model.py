"""Which model, if nobody says: one on this machine, else one there is a key for, else rules.

What is on this machine comes first: it costs nothing, and what is said stays here. Keys follow in
the order of `HOSTED`. The ``offline`` model is always there.
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping, Sequence

from toolkeel._records.record import record
from toolkeel.providers.discover import Server, find_servers

OFFLINE = "offline"


@record
class Hosted:
    """A vendor whose key may be in the environment.

    Args:
        vendor: What ``connect`` calls it.
        keys: Variables that may hold the key, the first that is set counts.
        model: Which of its models is taken.
        module: What must be installed.
        extra: What brings it.
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
    """The model that was chosen, and why.

    Args:
        model: As ``connect`` takes it.
        why: The reason, as a clause.
        passed: What was passed over, one clause each.
    """

    model: str
    why: str
    passed: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.model} ({self.why})"


def choose(
    environment: Mapping[str, str] | None = None, servers: Sequence[Server] | None = None
) -> Choice:
    """The model that ``auto`` stands for, here and now.

    Args:
        environment: Where keys are looked up; nothing: the process's own.
        servers: What was found on this machine; nothing: it is looked for.

    >>> str(choose({"DEEPSEEK_API_KEY": "sk-1"}, []))
    'deepseek:deepseek-chat (DEEPSEEK_API_KEY is set)'
    >>> str(choose({}, []))
    'offline (no model server on this machine, no key in the environment)'
    """
    known = os.environ if environment is None else environment
    passed: list[str] = []
    for server in find_servers(known) if servers is None else servers:
        if (choice := _local(server, passed)) is not None:
            return Choice(*choice, tuple(passed))
    for hosted in HOSTED:
        if (choice := _hosted(hosted, known, passed)) is not None:
            return Choice(*choice, tuple(passed))
    why = "no model server on this machine, no key in the environment"
    return Choice(OFFLINE, "nothing else can be used" if passed else why, tuple(passed))


def _local(server: Server, passed: list[str]) -> tuple[str, str] | None:
    if server.state == "locked":
        passed.append(f"{server.title} at {server.url} wants {server.vendor.upper()}_API_KEY")
    if server.state != "up":
        return None
    if not is_installed("openai"):
        passed.append(f"{server.title} is here, but not 'toolkeel[openai]' to speak with it")
        return None
    if server.best is None:
        what = "no model that calls tools" if server.models else "no model"
        passed.append(f"{server.title} at {server.url} has {what}")
        return None
    loaded = ", in memory" if server.best.loaded else ""
    return f"{server.vendor}:{server.best.name}", f"{server.title} at {server.url}{loaded}"


def _hosted(
    hosted: Hosted, environment: Mapping[str, str], passed: list[str]
) -> tuple[str, str] | None:
    key = next((name for name in hosted.keys if environment.get(name, "").strip()), None)
    if key is None:
        return None
    if not is_installed(hosted.module):
        passed.append(f"{key} is set, but 'toolkeel[{hosted.extra}]' is not installed")
        return None
    return f"{hosted.vendor}:{hosted.model}", f"{key} is set"


def is_installed(module: str) -> bool:
    """Whether `module` can be imported; nothing is."""
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False

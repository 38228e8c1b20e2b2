"""Settings that a model's server does not take: which ones a request loses, and the report of it."""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Mapping
from functools import cache
from typing import Final

from toolkeel.model_interface import Settings
from toolkeel.providers.wire.reasoning_ownership import model_family

log = logging.getLogger("toolkeel")

LOCAL_SAMPLING: Final = frozenset({"top_k", "min_p"})
"""Settings of servers that run open models; the large vendors' own services refuse them."""

PENALTIES: Final = frozenset({"frequency_penalty", "presence_penalty"})

SAMPLING: Final = frozenset({"temperature", "top_p", "top_k", "min_p"})


_NO_EFFORT_BY_DEFAULT = re.compile(r"gpt-5\.[124](?:-mini|-nano)?")
"""Models that do not reason unless a request says so."""
_CAN_STOP = re.compile(r"o1.*|o3-mini.*")
_REASONERS = re.compile(
    r"o\d+(?:-(?:mini|preview|pro|deep-research))*|codex-mini|gpt-5(?:\.\d+)?(?!.*-chat)(?:-.+)?"
)


def refused_by_reasoner(model: str, settings: Settings) -> frozenset[str]:
    """Return the settings that OpenAI's model of that name refuses, because it reasons.

    From GPT-5.1 on, `temperature` and `top_p` are accepted while the effort is ``none``.

    >>> sorted(refused_by_reasoner("o1", Settings()))
    ['frequency_penalty', 'presence_penalty', 'temperature', 'top_p']
    >>> sorted(refused_by_reasoner("openai/gpt-5.4", Settings(reasoning_effort="none")))
    ['frequency_penalty', 'presence_penalty', 'stop']
    >>> sorted(refused_by_reasoner("gpt-4.1", Settings()))
    []
    """
    name = model_family(model)
    if not _REASONERS.fullmatch(name):
        return frozenset()
    reasoning = settings.extra_body.get("reasoning")
    effort = reasoning.get("effort") if isinstance(reasoning, Mapping) else None
    effort = settings.reasoning_effort or effort or settings.extra_body.get("reasoning_effort")
    if effort is None and _NO_EFFORT_BY_DEFAULT.fullmatch(name):
        effort = "none"
    refused = PENALTIES if effort == "none" else PENALTIES | {"temperature", "top_p"}
    return refused if _CAN_STOP.fullmatch(name) else refused | {"stop"}


def stop_texts(settings: Settings) -> list[str] | None:
    """Return the texts at which a reply ends, as a list; None if not set."""
    if settings.stop is None:
        return None
    return [settings.stop] if isinstance(settings.stop, str) else list(settings.stop)


def report_lost_settings(
    wire: str, model: str, settings: Settings, unsupported: Collection[str]
) -> None:
    """Log, once for each model, the settings that are set but not accepted by its server.

    Args:
        wire: Name of the wire.
        model: Name of the model.
        settings: The request's settings.
        unsupported: Names of the settings that are left out.
    """
    lost = tuple(sorted(name for name in unsupported if getattr(settings, name) is not None))
    if lost:
        _report(wire, model, lost)


@cache
def _report(wire: str, model: str, lost: tuple[str, ...]) -> None:
    """Log a warning that these settings are not sent; once for each combination."""
    names = ", ".join(f"{name}=..." for name in lost)
    log.warning("Settings(%s) is not sent: %s does not take it (%s)", names, model or "?", wire)

"""Settings that a model's server does not take: which ones a request loses, and the report of it."""

from __future__ import annotations

import logging
from collections.abc import Collection
from functools import cache
from typing import Final

from toolkeel.model_interface import Settings

log = logging.getLogger("toolkeel")

LOCAL_SAMPLING: Final = frozenset({"top_k", "min_p"})
"""Settings of servers that run open models; the large vendors' own services refuse them."""

PENALTIES: Final = frozenset({"frequency_penalty", "presence_penalty"})

SAMPLING: Final = frozenset({"temperature", "top_p", "top_k", "min_p"})


def stop_texts(settings: Settings) -> list[str] | None:
    """Return the texts at which a reply ends, as a list."""
    if settings.stop is None:
        return None
    return [settings.stop] if isinstance(settings.stop, str) else list(settings.stop)


def report_lost_settings(
    wire: str, model: str, settings: Settings, unsupported: Collection[str]
) -> None:
    """Log, once for each model, the settings that are given and that its server does not take.

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
    names = ", ".join(f"{name}=..." for name in lost)
    log.warning("Settings(%s) is not sent: %s does not take it (%s)", names, model or "?", wire)

"""Decide which model a reply's reasoning belongs to.

Signed and encrypted reasoning is sent back to the model that made it and to no other. One model has
several names: servers answer with a dated or a shorter one, and clouds put a region and a vendor
before it and a version after it. An alias, a deployment or a router answers under another name
altogether. So each reply also records the requested model, and it is the model's own if either fits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from toolkeel._records.record import NOTHING, record
from toolkeel.messages import AssistantMessage, Reasoning

ASKED = "asked"
"""Key of a reply's ``provider_options`` that holds the requested model."""

_REGION = re.compile(r"(?:us|eu|ap|apac|jp|au|ca|sa|global|us-gov)\.(?=[a-z0-9-]+\.)")
_VENDOR = re.compile(r"(?:anthropic|amazon|meta|mistral|deepseek|qwen|openai|google)\.")
_TAIL = re.compile(r"(?:-latest|(?<=-\d)-0|-\d{8}|-\d{4}(?:-\d{2}-\d{2})?|-v\d+|:\d+|:latest)$")


@lru_cache(maxsize=256)
def model_family(name: str) -> str:
    """Return a model's name without its region, vendor, date and version.

    >>> model_family("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    'claude-sonnet-4-5'
    >>> model_family("models/gemini-3-pro"), model_family("claude-sonnet-4-5@20250929")
    ('gemini-3-pro', 'claude-sonnet-4-5')
    >>> model_family("claude-sonnet-4-0"), model_family("claude-sonnet-4-20250514")
    ('claude-sonnet-4', 'claude-sonnet-4')
    """
    family = name.rpartition("/")[2].lower().replace("@", "-")
    family = _VENDOR.sub("", _REGION.sub("", family, count=1), count=1)
    while (shorter := _TAIL.sub("", family)) and shorter != family:
        family = shorter
    return family


def is_same_model(asked: str, answered: str) -> bool:
    """Return True if two names are of one model; an empty name matches any.

    >>> is_same_model("claude-opus-4-1", "claude-opus-4-1-20250805")
    True
    >>> is_same_model("gpt-5", "gpt-5-mini")
    False
    """
    if not asked or not answered or asked == answered:
        return True
    return model_family(asked) == model_family(answered)


@record
class ModelProfile:
    """The requested model, and what it and its server accept. Each wire adds fields.

    Args:
        model: Name of the model; other models' signed reasoning is not sent to it. Empty: any.
        stream: True to stream the answer.
        hosting: True if the server has tools of its own, such as web search.
        endpoint: Host of the server; empty: any.
    """

    model: str = ""
    stream: bool = False
    hosting: bool = True
    endpoint: str = ""


def requested_model_note(
    wire: str, asked: ModelProfile, answered: str, *, is_sealed: bool = False
) -> Mapping[str, object]:
    """Return a note of the requested model; empty if the reply names that model and is not sealed.

    Args:
        wire: Name of the wire.
        asked: The requested model and its server.
        answered: The name in the reply.
        is_sealed: True if the reply has what only its server may get back.
    """
    if not is_sealed and answered and is_same_model(asked.model, answered):
        return NOTHING
    return {ASKED: {"wire": wire, "model": asked.model, "endpoint": asked.endpoint}}


def is_own(message: AssistantMessage, wire: str, asked: ModelProfile) -> bool:
    """Return True if a reply is from the requested model, by its note or its name; without either it is.

    Args:
        message: The reply.
        wire: Name of the wire.
        asked: The requested model and its server; an empty name: any.
    """
    note = message.provider_options.get(ASKED)
    if not isinstance(note, Mapping):
        return is_same_model(asked.model, message.model)
    if (note.get("wire"), note.get("model"), note.get("endpoint")) == (
        wire,
        asked.model,
        asked.endpoint,
    ):
        return True
    known = message.model or str(note.get("model") or "")
    return is_same_model(asked.model, known) if known else note.get("wire") == wire


def is_from_server(message: AssistantMessage, asked: ModelProfile) -> bool:
    """Return False if a reply is known to be from another server than the requested one."""
    note = message.provider_options.get(ASKED)
    endpoint = note.get("endpoint") if isinstance(note, Mapping) else ""
    return not endpoint or asked.endpoint in ("", endpoint)


def is_own_thought(
    thought: Reasoning, message: AssistantMessage, own: bool, asked: ModelProfile
) -> bool:
    """Return True if a part of a reply's reasoning is from the requested model.

    A part that names another model than its reply counts by that name, every other as `own` says.

    Args:
        thought: A part of the reply's reasoning.
        message: The reply.
        own: Result of `is_own`.
        asked: The requested model.
    """
    if thought.model in ("", message.model):
        return own
    return is_same_model(asked.model, thought.model)

"""Whose reasoning it is.

Signed and encrypted reasoning goes back to the model that it came from and to no other. Names
differ for one model: servers answer with a dated or a shorter one, and clouds put a region and
a vendor in front and a version behind. An alias, a deployment or a router answers under another
name altogether; so whoever reads a reply notes with it who was asked, and a reply is the model's
own if either fits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from toolkeel._records.record import NOTHING, record
from toolkeel.messages import AssistantMessage, Reasoning

ASKED = "asked"
"""Under which key of a reply's ``provider_options`` stands who was asked for it."""

_REGION = re.compile(r"(?:us|eu|ap|apac|jp|au|ca|sa|global|us-gov)\.(?=[a-z0-9-]+\.)")
_VENDOR = re.compile(r"(?:anthropic|amazon|meta|mistral|deepseek|qwen|openai|google)\.")
_TAIL = re.compile(r"(?:-latest|-\d{8}|-\d{4}(?:-\d{2}-\d{2})?|-v\d+|:\d+|:latest)$")


@lru_cache(maxsize=256)
def model_family(name: str) -> str:
    """A model's name without what says where it runs and when it was made.

    >>> model_family("us.anthropic.claude-sonnet-4-5-20250929-v1:0")
    'claude-sonnet-4-5'
    >>> model_family("models/gemini-3-pro"), model_family("claude-sonnet-4-5@20250929")
    ('gemini-3-pro', 'claude-sonnet-4-5')
    """
    family = name.rpartition("/")[2].lower().replace("@", "-")
    family = _VENDOR.sub("", _REGION.sub("", family, count=1), count=1)
    while (shorter := _TAIL.sub("", family)) and shorter != family:
        family = shorter
    return family


def same_model(asked: str, answered: str) -> bool:
    """Whether two names are of one model; a name that is not known may be any.

    >>> same_model("claude-opus-4-1", "claude-opus-4-1-20250805")
    True
    >>> same_model("gpt-5", "gpt-5-mini")
    False
    """
    if not asked or not answered or asked == answered:
        return True
    return model_family(asked) == model_family(answered)


@record
class Asked:
    """Which model is asked, and what it and its server take; wires add what is theirs.

    Args:
        model: Its name; what is signed by other models does not go to it as it is. Empty: any.
        stream: Whether the answer shall be streamed.
        hosting: Whether the server has tools of its own, such as web search.
        endpoint: Where the server is; empty: wherever.
    """

    model: str = ""
    stream: bool = False
    hosting: bool = True
    endpoint: str = ""


def asked_note(wire: str, asked: Asked, answered: str) -> Mapping[str, object]:
    """What is noted with a reply of a model that answers under another name than it is asked by.

    Args:
        wire: Over which wire.
        asked: Which model was asked, and where.
        answered: The name it answers under.
    """
    if answered and same_model(asked.model, answered):
        return NOTHING
    return {ASKED: {"wire": wire, "model": asked.model, "endpoint": asked.endpoint}}


def is_own(message: AssistantMessage, wire: str, asked: Asked) -> bool:
    """Whether a reply is of the model that is asked now: by its name, or by who was asked then.

    Args:
        message: The reply.
        wire: The wire that is spoken.
        asked: Which model is asked, and where; an empty name: any.
    """
    note = message.provider_options.get(ASKED)
    if not isinstance(note, Mapping):
        return same_model(asked.model, message.model)
    if (note.get("wire"), note.get("model"), note.get("endpoint")) == (
        wire,
        asked.model,
        asked.endpoint,
    ):
        return True
    known = message.model or str(note.get("model") or "")
    return same_model(asked.model, known) if known else note.get("wire") == wire


def owns_thought(thought: Reasoning, message: AssistantMessage, own: bool, asked: Asked) -> bool:
    """Whether a thought in a reply is of the model that is asked now.

    Args:
        thought: One of the reply's.
        message: The reply.
        own: What `is_own` says of it.
        asked: Which model is asked.
    """
    if thought.model in ("", message.model):
        return own
    return same_model(asked.model, thought.model)

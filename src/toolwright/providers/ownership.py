"""Whose reasoning it is.

Signed and encrypted reasoning goes back to the model that it came from and to no other. Names
differ for one model: servers answer with a dated or a shorter one, and clouds put a region and
a vendor in front and a version behind.
"""

from __future__ import annotations

import re
from functools import lru_cache

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

"""Options, flags and written values: what a prompt says of a slot without naming a value's kind."""

from __future__ import annotations

import math
import re

from toolkeel.providers.offline import concepts
from toolkeel.providers.offline.slots import Slot
from toolkeel.providers.offline.words import ideas

_NEGATED = re.compile(
    r"\b(?:no|not|without|don't|do not|doesn't|disable|exclude|off|false)\b|不要|不|无|没有", re.I
)
_SAID_TRUE = frozenset(["true", "yes", "on", "1", "是", "对", "开"])
_SAID_FALSE = frozenset(["false", "no", "off", "0", "否", "不", "关"])
_FLAG_WORDS = frozenset(
    ["is", "has", "include", "with", "enable", "use", "show", "allow", "do", "should", "want"]
)
_SWITCHES = frozenset(("on", "off", "enabled", "enable", "state", "status", "power", "active"))
_SWITCHED = re.compile(
    r"\b(?:turn|switch|power)(?:ed|ing)?\b[^.;]{0,40}?\b(?:(?P<on>on)|off)\b|(?P<kai>打开|开启)|关(?:闭|掉|上)"
)


def flag(slot: Slot, text: str) -> bool | None:
    """Whether a text switches a flag on or off; None if it does not speak of it.

    Args:
        slot: A slot for a boolean.
        text: The prompt.
    """
    wanted = ideas(" ".join(label for label in slot.labels if label not in _FLAG_WORDS))
    if wanted and wanted <= ideas(text):
        word = next((label for label in slot.labels if label in text.lower()), "")
        before = text[: text.lower().find(word)] if word else text
        return not _NEGATED.search(before[-20:])
    switched = _SWITCHED.search(text) if set(slot.labels) & _SWITCHES else None
    return bool(switched["on"] or switched["kai"]) if switched else None


def mention(option: object, text: str, said: frozenset[str]) -> float:
    """How plainly a text names one of the allowed values."""
    if not isinstance(option, str | int) or isinstance(option, bool) or option == "":
        return 0.0
    word = str(option)
    pattern = re.escape(word)
    if word[0].isascii():
        pattern = rf"(?<![\w.]){pattern}(?!\w|\.\d)"
    exact = re.search(pattern, text, re.I)
    if exact and word.lower() not in concepts.STOP:
        return 2.0 + len(word) / 100
    if isinstance(option, int):
        return 0.0
    meanings = ideas(word)
    return 1.0 if meanings and meanings <= said else 0.0


def read(slot: Slot, text: str) -> object:
    """A value written as text, in the slot's type; None if it has no such form."""
    if slot.type in ("integer", "number"):
        return _number(text, whole=slot.type == "integer")
    if slot.type == "boolean":
        lower = text.lower()
        return True if lower in _SAID_TRUE else False if lower in _SAID_FALSE else None
    if slot.type == "string" or not slot.type:
        same = [choice for choice in slot.choices if str(choice).lower() == text.lower()]
        return same[0] if same else text
    return None


def _number(text: str, whole: bool) -> int | float | None:
    if len(text) > 300:
        return None
    try:
        return int(text)
    except ValueError:
        pass
    try:
        number = float(text)
    except ValueError:
        return None
    return None if whole or not math.isfinite(number) else number

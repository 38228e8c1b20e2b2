"""Correct a failed call by what its error suggests."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline.parameters import parameters_of

_SUGGESTION = re.compile(
    r"(?<![A-Za-z])(?:did you mean|nearest(?: names?| is| are)?|perhaps you meant|use(?: one of)?|one of"
    r"|known|valid (?:values|options)(?: are)?|available|是不是|可选|可用|应为|建议)\s*[:：]?\s*(?P<list>[^?？。\n]{1,400})",
    re.IGNORECASE,
)
_ITEM = re.compile(r"['\"`“]([^'\"`”\n]{1,120})['\"`”]|([^\s,，、;；'\"`()\[\]]+)")
_LIKE = 0.5
"""Lowest likeness of a suggestion that replaces a value."""


def correct_call(
    tool: ToolDefinition, arguments: Mapping[str, object], error: str
) -> dict[str, object] | None:
    """Return the arguments with the one value replaced that an error suggests; None if none is like it.

    Args:
        tool: The tool that was called.
        arguments: Arguments of the failed call.
        error: Text of its result.
    """
    error = error[:4000]
    suggested = suggestions(error)
    choices = {parameter.name: parameter.choices for parameter in parameters_of(tool)}
    candidates: list[tuple[float, str, str]] = []
    for name, value in arguments.items():
        if not isinstance(value, str) or not value:
            continue
        offers = [*suggested, *map(str, choices.get(name, ()))]
        for rank, offer in enumerate(offers):
            if offer != value:
                named = 0.2 if value in error else 0.0
                candidates.append(
                    (_measure_likeness(value, offer) + named - rank / 1000, name, offer)
                )
        if len(suggested) == 1 and value in error and suggested[0] != value:
            candidates.append(
                (1.0, name, suggested[0])
            )  # it rejects the value and offers exactly one
    likeness, name, offer = max(candidates, default=(0.0, "", ""))
    return {**arguments, name: offer} if likeness >= _LIKE else None


def suggestions(error: str) -> list[str]:
    """Return the words that an error offers instead of a wrong one.

    >>> suggestions("No city 'Pariss'. Did you mean 'Paris' or Parras?")
    ['Paris', 'Parras']
    """
    found: list[str] = []
    for match in _SUGGESTION.finditer(error):
        for item in _ITEM.finditer(match["list"]):
            word = (item[1] or item[2]).strip().rstrip(".")
            if word and word.lower() not in ("or", "and", "are", "is", "或", "a", "the", "name"):
                found.append(word)
    return list(dict.fromkeys(found))


def _measure_likeness(value: str, offer: str) -> float:
    """Return how alike two words are, from 0 to 1; one word of the offer counts as near."""
    mine, other = value.casefold(), offer.casefold()
    if re.search(rf"(?<!\w){re.escape(mine)}(?!\w)", other.replace("_", " ")):
        return 0.9
    return difflib.SequenceMatcher(None, mine, other).ratio()

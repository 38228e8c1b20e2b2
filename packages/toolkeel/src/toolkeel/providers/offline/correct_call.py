"""Correct a call by what its error says."""

from __future__ import annotations

import dataclasses
import difflib
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from toolkeel._common.nearest_names import nearest_names
from toolkeel.model_interface import ToolDefinition
from toolkeel.providers.offline import concepts
from toolkeel.providers.offline.flags_and_options import read
from toolkeel.providers.offline.slots import Slot, slots_of

Path: TypeAlias = tuple[str, ...]

_HINT = re.compile(
    r"(?<![A-Za-z])(?:did you mean|do you mean|nearest(?: names?| is| are)?|perhaps you meant|suggestions?|try|"
    r"use(?: one of)?|one of|known|valid (?:values|options|choices)(?: are)?|allowed(?: values)?"
    r"|available|是不是|你是指|可选|可用|应为|建议|请用)\s*[:：]?\s*(?P<list>[^?？。\n]{1,400})",
    re.IGNORECASE,
)
_ITEM = re.compile(r"['\"`“‘「]([^'\"`”’」\n]{1,120})['\"`”’」]|([^\s,，、;；'\"`()\[\]]+)")
_EXPECTED = re.compile(
    r"(?<![\w.\[\]])(?P<path>[\w.\[\]]{1,100})['\"`]?[ \t]*[:：][ \t]*(?:[^\n:]*?)(?:expected|should be|must be|不是|应为)\s+"
    r"(?:an?\s+|a valid\s+)?(?P<type>integer|int|number|float|boolean|bool|string|text)",
    re.IGNORECASE,
)
_MISSPELT = re.compile(r"['\"`“](?P<bad>[^'\"`”\n]{1,80})['\"`”](?=.{0,80}did you mean)", re.I)
_UNKNOWN = re.compile(r"unknown|unexpected|extra|not (?:allowed|permitted|known)|未知|多余", re.I)


def mended(
    tool: ToolDefinition, arguments: Mapping[str, object], error: str
) -> dict[str, object] | None:
    """The arguments as the error asks for them; None if it does not say what to change.

    Args:
        tool: The tool that was called.
        arguments: What it was called with.
        error: What the failed result said.

    """
    error = error[:4000]
    slots = {slot.path: slot for slot in slots_of(tool)}
    changed = _without_unknown(dict(arguments), slots, error)
    changed = _retyped(changed, slots, error)
    for mend in (_powers, _respelt, _suggested):
        if changed == arguments:
            changed = mend(changed, slots, error)
    return changed if changed != arguments else None


def _without_unknown(
    arguments: dict[str, object], slots: Mapping[Path, Slot], error: str
) -> dict[str, object]:
    """Rename what the error calls unknown to the nearest name, or leave it out."""
    names = [path[0] for path in slots]
    kept: dict[str, object] = {}
    for key, value in arguments.items():
        named = re.search(rf"(?<!\w){re.escape(key)}(?!\w)", error)
        if key in names or not (named and _UNKNOWN.search(error)):
            kept[key] = value
            continue
        near = nearest_names(key, (n for n in names if n not in arguments), 1)
        if near:
            kept[near[0]] = value
    return kept


def _retyped(
    arguments: dict[str, object], slots: Mapping[Path, Slot], error: str
) -> dict[str, object]:
    """Convert values to the types the error names."""
    changed = dict(arguments)
    for match in _EXPECTED.finditer(error):
        key = match["path"].split(".")[0].split("[")[0]
        value = changed.get(key)
        slot = slots.get((key,))
        if value is None or slot is None or isinstance(value, dict | list):
            continue
        wanted = concepts.TYPES[match["type"].lower()]
        if wanted == "string":
            converted: object = str(value)
        else:
            text = str(value).strip().lower().replace(",", "")
            plain = text.removesuffix(".0") if wanted == "integer" else text
            converted = read(dataclasses.replace(slot, type=wanted, choices=()), plain)
        changed[key] = value if converted is None else converted
    return changed


def _powers(
    arguments: dict[str, object], slots: Mapping[Path, Slot], error: str
) -> dict[str, object]:
    """``2^3`` becomes ``2**3`` where the error says that powers are written so."""
    if "**" not in error or "^" not in error:
        return arguments
    return {
        key: value.replace("^", "**") if isinstance(value, str) else value
        for key, value in arguments.items()
    }


def _respelt(
    arguments: dict[str, object], slots: Mapping[Path, Slot], error: str
) -> dict[str, object]:
    """Replace one word inside a value, where the error quotes it and offers another."""
    match = _MISSPELT.search(error)
    offered = suggestions(error)
    if match is None or not offered:
        return arguments
    word = re.compile(rf"(?<!\w){re.escape(match['bad'])}(?!\w)")
    return {
        key: word.sub(lambda _: offered[0], value)
        if isinstance(value, str) and value != match["bad"]
        else value
        for key, value in arguments.items()
    }


def _suggested(
    arguments: dict[str, object], slots: Mapping[Path, Slot], error: str
) -> dict[str, object]:
    """Replace a text value by the nearest one the error offers."""
    offered = suggestions(error)
    likely = _offers(arguments, slots, offered, error)
    likeness, key, offer = max([(0.0, "", ""), *likely])
    if not key and len(offered) == 1:
        key = next((k for k, v in arguments.items() if isinstance(v, str) and v in error), "")
        likeness, offer = 1.0, offered[0]
    if likeness < 0.5 and len(offered) == 1 and str(arguments.get(key, "")) in error:
        likeness, offer = 1.0, offered[0]  # it names the value and offers exactly one instead
    return {**arguments, key: offer} if key and likeness >= 0.5 else arguments


def _offers(
    arguments: dict[str, object], slots: Mapping[Path, Slot], offered: list[str], error: str
) -> Iterator[tuple[float, str, str]]:
    """What may stand in place of each text, and how much it is like it."""
    for key, value in arguments.items():
        if not isinstance(value, str) or not value:
            continue
        slot = slots.get((key,))
        options = [str(choice) for choice in slot.choices] if slot else []
        for rank, offer in enumerate([*offered, *options]):
            if offer != value:
                named = 0.2 if value in error else 0.0
                yield _likeness(value, offer) + named - rank / 1000, key, offer


def suggestions(error: str) -> list[str]:
    """What an error offers instead.

    >>> suggestions("No city 'Pariss'. Did you mean 'Paris' or Parras?")
    ['Paris', 'Parras']
    """
    found: list[str] = []
    for match in _HINT.finditer(error):
        for item in _ITEM.finditer(match["list"]):
            word = (item[1] or item[2]).strip().rstrip(".")
            if word and word.lower() not in ("or", "and", "are", "is", "或", "a", "the", "name"):
                found.append(word)
    return list(dict.fromkeys(found))


def _likeness(value: str, offer: str) -> float:
    """From 0 to 1; a value that is a whole word of the offer counts as near."""
    mine, other = value.casefold(), offer.casefold()
    if re.search(rf"(?<!\w){re.escape(mine)}(?!\w)", other.replace("_", " ")):
        return 0.9
    return difflib.SequenceMatcher(None, mine, other).ratio()

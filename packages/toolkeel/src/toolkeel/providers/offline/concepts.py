"""What the offline model knows of language: plain tables, English and Chinese side by side.

The tables themselves stand in ``concepts.toml``, since they are words and no code.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkeel.providers.wire.plain_json import by_word


def words_of(text: str) -> tuple[str, ...]:
    """A table's words: they read better without quotes and commas."""
    return tuple(text.split())


_TABLES: dict[str, Any] = tomllib.loads(
    Path(__file__).with_name("concepts.toml").read_text("utf-8")
)

CONCEPTS: str = _TABLES["concepts"]
"""Each line is one idea with the words for it; two texts overlap where they share an idea."""

IDEAS: Mapping[str, Sequence[str]] = {
    words[0]: words for words in map(words_of, CONCEPTS.strip().splitlines())
}
"""The words for each idea, by its name, the first of them."""

STOP = frozenset(words_of(_TABLES["stop"]))
"""English words that say nothing about which tool is meant."""

CHINESE_STOP = words_of(_TABLES["chinese_stop"])
"""Chinese words that say nothing about which tool is meant."""

PLACES = words_of(_TABLES["places"])
"""Places written in Chinese, where no capital letter shows a name."""

CURRENCIES = words_of(_TABLES["currencies"])
"""Currencies written in Chinese, where no capitals show a code."""

UNITS = words_of(_TABLES["units"])
"""Letters that may follow a number without making it a code."""

PLACES_LATIN = frozenset(words_of(_TABLES["places_latin"]))
"""Places people also write without a capital letter."""

LANGUAGES = words_of(_TABLES["languages"])

WEEKDAYS: dict[str, str] = _TABLES["weekdays"]

SKIES: dict[str, str] = _TABLES["skies"]

ROLES: dict[str, str] = _TABLES["roles"]
"""What a string parameter holds, by the words in its name."""

KINDS = {role: words_of(kinds) for role, kinds in _TABLES["kinds"].items()}
"""Which values in a prompt can fill a role, best first."""

FORMATS: dict[str, str] = _TABLES["formats"]
"""JSON Schema formats that tell the role."""

FUNCTIONS = frozenset(words_of(_TABLES["functions"]))

FILLERS = frozenset(words_of(_TABLES["fillers"]))
"""Words between the name of a slot and its value."""

FROM, TO, BY = (frozenset(words_of(_TABLES[key])) for key in ("from", "to", "by"))
"""Names of slots for where something begins and ends, and for who made it."""

STRONG = {role: words_of(words) for role, words in _TABLES["strong"].items()}
"""Words that tell the role of a slot for certain, beside its own name."""

COMMANDS = frozenset(words_of(_TABLES["commands"]))
"""Verbs that a request begins with."""

OPENERS = frozenset(words_of(_TABLES["openers"]))
"""Further verbs that a sentence begins with, with a capital letter and yet no name."""

NOT_NAMES = frozenset(words_of(_TABLES["not_names"]))
"""Words with a capital letter that are no names."""

COUNTS: dict[str, int] = _TABLES["counts"]
"""Numbers in words."""

DEGREES: Mapping[str, str] = by_word(_TABLES["degrees"])
"""Units of temperature by their names."""

TYPES: Mapping[str, str] = by_word(_TABLES["types"])
"""Types of JSON by what errors call them."""

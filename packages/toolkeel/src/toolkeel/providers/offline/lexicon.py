"""The offline model's knowledge of language: words as ideas, English and Chinese side by side.

Two texts are about the same thing where they share an idea. An idea is a line of synonyms in
``lexicon.toml``, a stem, or two neighboring Chinese characters.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeAlias

from toolkeel._common.package_data import read_toml

Language: TypeAlias = Literal["en", "zh"]

HAN = "\u3400-\u4dbf\u4e00-\u9fff"
"""Chinese characters, for a set in a regular expression."""

_TABLES: dict[str, Any] = read_toml("toolkeel.providers.offline", "lexicon.toml")
_WORD = re.compile(rf"[A-Z]?[a-zà-öø-ÿ]+|[A-Z]+(?![a-z])|[{HAN}]+")
_HAN = re.compile(f"[{HAN}]")
_LONGEST = 4  # characters of the longest Chinese word in the lexicon


def _split(text: str) -> tuple[str, ...]:
    """Return the words of a text separated by blanks."""
    return tuple(text.split())


IDEAS = {words[0]: words for words in map(_split, _TABLES["ideas"].strip().splitlines())}
"""The words for each idea, by the first of them."""
STOP = frozenset(_split(_TABLES["stop"]))
"""English words that do not tell which tool is meant."""
COMMANDS = frozenset(_split(_TABLES["commands"]))
"""Verbs that a request begins with."""
OPENERS = frozenset(_split(_TABLES["openers"]))
"""Further verbs that a sentence begins with, capitalized without being names."""
NOT_NAMES = frozenset(_split(_TABLES["not_names"]))
"""Capitalized words that are not names."""
FILLERS = frozenset(_split(_TABLES["fillers"]))
"""Words between the name of a parameter and its value."""
UNITS = _split(_TABLES["units"])
"""Letters that may follow a number."""
PLACES_LATIN = frozenset(_split(_TABLES["places_latin"]))
"""Places that people also write without a capital letter."""
PLACES = frozenset(_split(_TABLES["places"]))
LANGUAGES = frozenset(_split(_TABLES["languages"]))
CURRENCIES = frozenset(_split(_TABLES["currencies"]))
FROM, TO = (frozenset(_split(_TABLES[key])) for key in ("from", "to"))
"""Parameter names for where something begins and ends."""
FUNCTIONS = frozenset(_split(_TABLES["functions"]))
"""Functions of arithmetic."""
ROLES: dict[str, str] = {
    word: role for role, words in reversed(_TABLES["roles"].items()) for word in words.split()
}
"""What a text parameter holds, by a word of its name."""
KINDS = {role: _split(kinds) for role, kinds in _TABLES["kinds"].items()}
"""Kinds of values that can fill a role, best first."""
FORMATS: dict[str, str] = _TABLES["formats"]
"""Roles by the formats of JSON Schema."""
COUNTS: dict[str, int] = _TABLES["counts"]
"""Numbers in words."""
WEEKDAYS: dict[str, str] = _TABLES["weekdays"]
SKIES: dict[str, str] = _TABLES["skies"]
DEGREES = {name: sign for sign, names in _TABLES["degrees"].items() for name in names.split()}
"""Signs of units of temperature, by the units' names."""


class Word(NamedTuple):
    """One idea in a text, with its position.

    Args:
        idea: Name of the idea; empty for a word without meaning of its own.
        text: The word itself.
        start: Index of its first character.
        known: False for Chinese characters between two words of the lexicon.
    """

    idea: str
    text: str
    start: int
    known: bool = True

    @property
    def end(self) -> int:
        """The index after the last character."""
        return self.start + len(self.text)


def language_of(text: str) -> Language:
    """Return the language to answer a text in: Chinese if it has any Chinese character.

    >>> language_of("北京 weather"), language_of("weather in Paris")
    ('zh', 'en')
    """
    return "zh" if _HAN.search(text) else "en"


def is_chinese(text: str) -> bool:
    """Return True if a text begins with a Chinese character."""
    return bool(_HAN.match(text))


def stem(word: str) -> str:
    """Return an English word without its commonest endings.

    >>> [stem(word) for word in ("Cities", "files", "searching", "translated", "is")]
    ['city', 'file', 'search', 'translat', 'is']
    """
    word = word.lower()
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 5 and word.endswith("ing"):
        word = word[:-3]
        return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    if len(word) > 4 and word.endswith(("ed", "ches", "shes", "xes", "sses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _index_ideas() -> tuple[dict[str, str], dict[str, str]]:
    """Return two tables from word to idea: of English stems and of Chinese words."""
    latin: dict[str, str] = {}
    han: dict[str, str] = dict.fromkeys(_split(_TABLES["chinese_stop"]), "")
    for name, words in IDEAS.items():
        for word in words:
            if is_chinese(word):
                han[word] = han.get(word) or name
            else:
                latin.setdefault(stem(word), name)
                latin.setdefault(stem(word).removesuffix("e"), name)
    for word in (*PLACES, *filter(is_chinese, LANGUAGES)):
        han.setdefault(word, word)
    return latin, han


_LATIN, _CHINESE = _index_ideas()


def idea_of(word: str) -> str:
    """Return the idea of one English word, or an empty string if it has no meaning of its own."""
    plain = word.lower().replace("’", "'").split("'")[0]
    if plain in STOP:
        return ""
    stemmed = stem(plain)
    return _LATIN.get(stemmed, stemmed)


@lru_cache(maxsize=2048)
def words_of(text: str) -> tuple[Word, ...]:
    """Return the words of a text in order; names in snake_case and camelCase are taken apart.

    >>> [word.idea for word in words_of("getWeather for cities") if word.idea]
    ['weather', 'city']
    >>> [word.idea for word in words_of("北京今天天气怎么样") if word.idea]
    ['北京', 'today', 'weather']
    """
    found: list[Word] = []
    for match in _WORD.finditer(text):
        if is_chinese(match[0]):
            found += _cut(match[0], match.start())
        else:
            found.append(Word(idea_of(match[0]), match[0], match.start()))
    return tuple(found)


def ideas_of(text: str) -> frozenset[str]:
    """Return the set of ideas in a text."""
    found: set[str] = set()
    for word in words_of(text):
        if word.known or len(word.text) == 1:
            found.add(word.idea)
        else:
            found |= {word.text[i : i + 2] for i in range(len(word.text) - 1)}
    return frozenset(found - {""})


def _cut(run: str, start: int) -> list[Word]:
    """Return a run of Chinese characters as the longest words of the lexicon; the run begins at `start`."""
    found: list[Word] = []
    index = unknown = 0
    while index < len(run):
        sizes = range(min(_LONGEST, len(run) - index), 0, -1)
        word = next(
            (run[index : index + n] for n in sizes if run[index : index + n] in _CHINESE), ""
        )
        if word and unknown < index:
            text = run[unknown:index]
            found.append(Word(text, text, start + unknown, known=False))
        if word:
            found.append(Word(_CHINESE[word], word, start + index))
        index += len(word) or 1
        unknown = index if word else unknown
    if unknown < len(run):
        found.append(Word(run[unknown:], run[unknown:], start + unknown, known=False))
    return found

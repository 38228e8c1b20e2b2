"""Texts as sets of ideas: what the offline model compares prompts and tools by."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

from toolkeel.providers.offline import concepts

Language = Literal["en", "zh"]

_CJK = "\u3400-\u4dbf\u4e00-\u9fff"
_WORD = re.compile(rf"[A-Z]?[a-zà-öø-ÿ]+|[A-Z]+(?![a-z])|[{_CJK}]+")
_HAN = re.compile(f"[{_CJK}]")
_LONGEST = 4  # characters of the longest Chinese word looked up


class Word(NamedTuple):
    """One idea in a text, and where it stands.

    Args:
        idea: A concept's first word, a stem, or two Chinese characters.
        start: Index of its first character.
        end: Index after its last.
    """

    idea: str
    start: int
    end: int


def language(text: str) -> Language:
    """The language to answer in.

    >>> language("北京 weather"), language("weather in Paris")
    ('zh', 'en')
    """
    return "zh" if _HAN.search(text) else "en"


def said(language: Language, english: str, chinese: str) -> str:
    """What is said in the language to answer in."""
    return chinese if language == "zh" else english


def stem(word: str) -> str:
    """An English word without its commonest endings; not linguistics, only consistent.

    >>> [stem(word) for word in ("Cities", "files", "searching", "translated", "is")]
    ['city', 'file', 'search', 'translat', 'is']
    """
    word = word.lower()
    if len(word) > 4 and word.endswith("ies"):
        return f"{word[:-3]}y"
    if len(word) > 5 and word.endswith("ing"):
        word = word[:-3]
        return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    if len(word) > 4 and word.endswith("ed"):
        return word[:-2]
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _read_concepts() -> tuple[dict[str, str], dict[str, str]]:
    latin: dict[str, str] = {}
    han: dict[str, str] = {}
    for name, words in concepts.IDEAS.items():
        for word in words:
            if _HAN.match(word):
                han.setdefault(word, name)
            else:
                latin.setdefault(stem(word), name)
                latin.setdefault(stem(word).removesuffix("e"), name)
    return latin, han


_LATIN, _CHINESE = _read_concepts()
_LEXICON = {**dict.fromkeys(concepts.CHINESE_STOP, ""), **_CHINESE}
_NAMED = frozenset((*concepts.PLACES, *(name for name in concepts.LANGUAGES if _HAN.match(name))))


def idea(word: str) -> str:
    """The idea of one English word; empty if it says nothing."""
    if word.lower() in concepts.STOP:
        return ""
    stemmed = stem(word)
    return _LATIN.get(stemmed, stemmed)


@lru_cache(maxsize=2048)
def words(text: str) -> tuple[Word, ...]:
    """The ideas in a text, in order; names in snake_case and camelCase are taken apart.

    >>> [word.idea for word in words("getWeather for the cities")]
    ['weather', 'city']
    >>> [word.idea for word in words("北京今天天气怎么样")]
    ['北京', 'today', 'weather']
    """
    found: list[Word] = []
    for match in _WORD.finditer(text):
        if _HAN.match(match[0]):
            found.extend(_chinese(match[0], match.start()))
        elif meaning := idea(match[0]):
            found.append(Word(meaning, match.start(), match.end()))
    return tuple(found)


def ideas(text: str) -> frozenset[str]:
    """The set of ideas in a text."""
    return frozenset(word.idea for word in words(text))


class Piece(NamedTuple):
    """A stretch of Chinese text: a word of the lexicon, or what stands between two of them."""

    text: str
    start: int
    idea: str
    known: bool


def pieces(run: str, start: int = 0) -> list[Piece]:
    """Cut a run of Chinese characters by the longest words the lexicon knows."""
    found: list[Piece] = []
    index = unknown = 0
    while index < len(run):
        word = next(
            (
                run[index : index + size]
                for size in range(min(_LONGEST, len(run) - index), 0, -1)
                if run[index : index + size] in _LEXICON or run[index : index + size] in _NAMED
            ),
            "",
        )
        if not word:
            index += 1
            continue
        if unknown < index:
            found.append(Piece(run[unknown:index], start + unknown, "", False))
        meaning = _LEXICON.get(word, word)
        found.append(Piece(word, start + index, meaning, True))
        index += len(word)
        unknown = index
    if unknown < len(run):
        found.append(Piece(run[unknown:], start + unknown, "", False))
    return found


def _chinese(run: str, start: int) -> list[Word]:
    """Known words as ideas; of what lies between, every two neighbouring characters."""
    found: list[Word] = []
    for piece in pieces(run, start):
        end = piece.start + len(piece.text)
        if piece.known:
            if piece.idea:
                found.append(Word(piece.idea, piece.start, end))
        elif len(piece.text) == 1:
            found.append(Word(piece.text, piece.start, end))
        else:
            found.extend(
                Word(piece.text[i : i + 2], piece.start + i, piece.start + i + 2)
                for i in range(len(piece.text) - 1)
            )
    return found

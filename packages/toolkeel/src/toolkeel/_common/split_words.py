"""Split text into index terms: its words, in one spelling, in any script.

Words are folded to lower case without accents, identifiers are also split into their parts, and endings
of English plurals and verb forms are removed. Chinese, Japanese and Korean have no spaces, so each pair
of adjacent characters is a term, which finds words of two characters and more without a dictionary.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_CJK = (
    "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af"
    "\U00020000-\U0003ffff"
)
_TOKEN = re.compile(rf"[{_CJK}]+|[^\W{_CJK}]+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_IS_CJK = re.compile(rf"[{_CJK}]")

STOPWORDS = frozenset([
    "a", "an", "and", "are", "as", "at", "be", "but", "by", "can", "do", "does", "for", "from",
    "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "me", "my", "no", "not",
    "of", "on", "or", "our", "so", "such", "that", "the", "their", "then", "there", "these",
    "they", "this", "to", "was", "we", "what", "when", "where", "which", "who", "why", "will",
    "with", "would", "you", "your", "的", "了", "是", "在", "和", "有", "我", "吗", "呢", "吧",
])  # fmt: skip
"""Words without meaning for a search."""


def split_terms(text: str) -> list[str]:
    """Return the stemmed index terms of a text, in order, with repetitions.

    >>> split_terms("Parsing the HTTPResponse of 北京天气")
    ['pars', 'the', 'httprespons', 'http', 'respons', 'of', '北京', '京天', '天气']
    """
    found: list[str] = []
    for token in _TOKEN.findall(text):
        found += _split_cjk(token) if _IS_CJK.match(token) else _split_word(token)
    return found


def cjk_characters(text: str) -> list[str]:
    """Return every Chinese, Japanese and Korean character of a text, in order.

    >>> cjk_characters("北京 weather")
    ['北', '京']
    """
    return _IS_CJK.findall(text)


def split_query(text: str) -> list[str]:
    """Return the stemmed terms of a query, each once, without stop words if others remain.

    >>> split_query("What is the weather in Oslo?")
    ['weather', 'oslo']
    """
    passed = list(dict.fromkeys(split_terms(text)))
    return [term for term in passed if term not in _STOPWORD_STEMS] or passed


def _split_cjk(run: str) -> list[str]:
    """Return the pairs of adjacent characters of a run, or the one character that it has."""
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


@lru_cache(maxsize=100_000)
def _split_word(token: str) -> tuple[str, ...]:
    """Return the stems of a word and of its parts, as in ``getHTTPName`` or ``file_name``."""
    found: list[str] = []
    for name in token.split("_"):
        found.append(stem_word(_fold(name)))
        parts = _PARTS.findall(name)
        if len(parts) > 1:
            found += [stem_word(_fold(part)) for part in parts]
    return tuple(filter(None, found))


def _fold(word: str) -> str:
    """Return a word in lower case without accents."""
    word = word.casefold()
    if word.isascii():
        return word
    plain = unicodedata.normalize("NFKD", word)
    return "".join(filter(str.isalnum, plain)).casefold()


def stem_word(word: str) -> str:
    """Return a word without its ending, as far as that is safe for English.

    >>> [stem_word(word) for word in ("files", "indexes", "indexing", "queries", "class", "parse")]
    ['fil', 'index', 'index', 'queri', 'class', 'pars']
    """
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    for ending, retained in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)] + retained
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


_ENDINGS = (
    ("ies", "i"),
    ("sses", "ss"),
    ("xes", "x"),
    ("ches", "ch"),
    ("shes", "sh"),
    ("ss", "ss"),
    ("us", "us"),
    ("is", "is"),
    ("s", ""),
    ("ing", ""),
    ("ied", "i"),
    ("ed", ""),
    ("y", "i"),
)
_STOPWORD_STEMS = frozenset(stem_word(word) for word in STOPWORDS) | STOPWORDS

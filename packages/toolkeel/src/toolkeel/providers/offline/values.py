"""Values in a prompt that can be arguments: numbers, quotations, paths, places, dates and so on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import NamedTuple

from toolkeel.providers.offline import lexicon
from toolkeel.providers.offline.arithmetic import find_expressions
from toolkeel.providers.offline.lexicon import HAN, idea_of, words_of

LONGEST = 4000
"""Characters of a prompt that are searched for values."""
_MOST = 200
_ASCII = r"[A-Za-z0-9_@/+-]"
_PATTERNS = (
    ("quoted", r"```[\w+-]*\n(.*?)\n?```"),
    ("quoted", r"(?<!\w)\"([^\"\n]+)\"|(?<!\w)'([^'\n]+)'(?!\w)|`([^`\n]+)`|“([^”\n]+)”|「([^」\n]+)」"),
    ("url", r"\bhttps?://[^\s\"'<>，。；]*[^\s\"'<>，。；,.;:!?)\]]"),
    ("email", r"(?<![\w.@+-])[\w+-]+(?:\.[\w+-]+)*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"),
    ("datetime", r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?"),
    ("date", r"(?<![\w/-])\d{4}-\d{1,2}-\d{1,2}(?![\w-])|(?<!\d)\d{4}年\d{1,2}月\d{1,2}[日号]"),
    ("time", r"(?<![\d:])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?!\d)(?:\s?[ap]m\b)?"),
    ("zone", r"\b(?:UTC|GMT)\b|\b(?:Africa|America|Asia|Atlantic|Australia|Europe|Pacific)/[A-Z]\w+"),
    ("glob", r"(?<![\w*.)])\*{1,2}(?:[/.][\w*?.\[\]{},/-]*[\w*\]}])(?![\w(])"),
    ("path", r"(?<![\w/])(?:\.{1,2}/|~/|/)[\w.@+/-]*\w/?"),
    ("path", r"(?<![\w@+/-])(?:[\w@+-]+/)+[\w.@+-]*\.[A-Za-z0-9]{1,8}(?![\w/])"),
    ("path", r"(?<![\w./-])[A-Za-z0-9_][\w.-]*/(?=[\s,;，。?]|$)"),
    ("path", rf"(?<!{_ASCII})[A-Za-z0-9+][A-Za-z0-9_+.-]*\.(?=[A-Za-z])[A-Za-z0-9]{{1,8}}(?!{_ASCII})"),
    ("path", rf"(?<!{_ASCII})\.[a-z][a-z0-9.-]+|\b(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG)\b"),
)  # fmt: skip
_SOURCES = tuple((kind, re.compile(pattern, re.DOTALL if "```" in pattern else 0)) for kind, pattern in _PATTERNS)  # fmt: skip
_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>-(?=[\d.]))?(?P<body>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    rf"(?:[eE](?P<exponent>[+-]?\d{{1,3}})(?!\w))?(?=(?:{'|'.join(lexicon.UNITS)})\b|(?![A-Za-z_]|\.?\d))"
    rf"|(?<=[{HAN}])(?P<after>\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_CODE = re.compile(
    rf"(?<![\w.-])(?!\d+(?:e\d+|{'|'.join(lexicon.UNITS)})\b)"
    r"(?=[A-Za-z_-]*\d)(?=\d*[A-Za-z_-])[A-Za-z0-9][\w-]*[A-Za-z0-9](?![\w-])",
    re.IGNORECASE,
)
_SYMBOL = re.compile(r"(?<![\w$])\$?([A-Z]{2,5})(?![\w])")
_NAME = re.compile(r"(?<![\w'’])[A-ZÀ-Þ][\w’'-]*(?:[ ](?:de |la |of |the )?[A-ZÀ-Þ][\w’'-]*){0,3}")
_LATIN = re.compile(r"(?<!\w)[a-zà-ÿ]{4,}(?!\w)")
_COUNT = re.compile(rf"\b(?:{'|'.join(lexicon.COUNTS)})\b", re.IGNORECASE)
_HAN_DIGITS = dict(zip("一两二三四五六七八九十", (1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10), strict=True))
_HAN_COUNT = re.compile(r"([一两二三四五六七八九十])(?=[个条张只天次位份项行页本倍人件])")
_HAN_FILE = re.compile(rf"([{HAN}]{{1,30}})[\w-]{{0,60}}\.[A-Za-z][A-Za-z0-9]{{0,7}}(?![A-Za-z0-9_])")  # fmt: skip


class Value(NamedTuple):
    """A part of a prompt that can be an argument.

    Args:
        kind: ``number``, ``quoted``, ``path``, ``place`` and so on.
        value: Text, or a number.
        start: Index of its first character in the prompt, with its quotes.
        end: Index after its last.
    """

    kind: str
    value: str | int | float
    start: int
    end: int


def overlaps(start: int, end: int, spans: Iterable[tuple[int, int]]) -> bool:
    """Return True if a stretch has a character in common with one of `spans`."""
    return any(start < until and since < end for since, until in spans)


@lru_cache(maxsize=64)
def find_values(text: str) -> tuple[Value, ...]:
    """Return the values in a prompt, in order; what one kind claims is not read as a weaker one.

    >>> [(value.kind, value.value) for value in find_values('email bob@x.org "hi" 3 times, a/b.txt')]
    [('email', 'bob@x.org'), ('quoted', 'hi'), ('number', 3), ('path', 'a/b.txt')]
    >>> [(value.kind, value.value) for value in find_values("weather in New York and 北京")]
    [('name', 'New York'), ('place', '北京')]
    """
    text = text[:LONGEST]
    found: list[Value] = []
    for match in _HAN_FILE.finditer(
        text
    ):  # 请读取数据.csv: the words before are no part of the name
        words = words_of(match[1])
        cut = words[-1].start if not words[-1].known else len(match[1])
        cut = words[-1].start if match[0][len(match[1])] == "." else cut
        _claim(found, Value("path", match[0][cut:], match.start() + cut, match.end()))
    for kind, source in _SOURCES:
        for match in source.finditer(text):
            inner = next((group for group in match.groups() if group is not None), match[0])
            kind = "glob" if kind == "quoted" and re.fullmatch(r"[\w.*?/-]*\*[\w.*?/-]*", inner) else kind  # fmt: skip
            value = _to_iso_date(inner) if kind == "date" else inner
            _claim(found, Value(kind, value, match.start(), match.end()))
    numbers = _find_numbers(text)
    terms: list[Value] = []
    for sums in find_expressions(text):
        _claim(found, Value("expression", sums.text, sums.start, sums.end))
        if found and found[-1].value == sums.text:  # one operation may also be meant for add(a, b)
            kind = "number" if sums.operators == 1 else "term"
            inside = (n for n in numbers if sums.start <= n.start < sums.end)
            terms += [number._replace(kind=kind) for number in inside]
    for value in (
        *_find_codes(text),
        *numbers,
        *_find_names(text),
        *_find_chinese(text),
        *_find_uncapitalized(text),
    ):
        _claim(found, value)
    return tuple(sorted([*found, *terms], key=lambda value: (value.start, value.kind)))


def _claim(found: list[Value], value: Value) -> None:
    """Append a value unless it overlaps an earlier one, is empty, or there are `_MOST` already."""
    spans = ((other.start, other.end) for other in found)
    if len(found) < _MOST and value.value != "" and not overlaps(value.start, value.end, spans):
        found.append(value)


def _to_iso_date(text: str) -> str:
    """Return a date in three numbers as ``YYYY-MM-DD``."""
    year, month, day = re.findall(r"\d+", text)
    return f"{year}-{month:0>2}-{day:0>2}"


def _find_all(
    kind: str, pattern: re.Pattern[str], text: str, read: Callable[[re.Match[str]], str | int]
) -> list[Value]:
    """Return a value for each match of a pattern, made by `read`."""
    return [Value(kind, read(m), m.start(), m.end()) for m in pattern.finditer(text)]


def _find_numbers(text: str) -> list[Value]:
    """Return the numbers in a text, in digits, English words or Chinese signs."""
    found = []
    for match in _NUMBER.finditer(text):
        body = (match["body"] or match["after"] or "").replace(",", "")
        if len(body) > 300:
            continue
        digits = f"{match['sign'] or ''}{body}"
        if match["exponent"]:
            digits += f"e{match['exponent']}"
        number = float(digits) if set(digits) & set(".e") else int(digits)
        if number not in (float("inf"), float("-inf")):
            found.append(Value("number", number, match.start(), match.end()))
    found += _find_all("number", _COUNT, text, lambda match: lexicon.COUNTS[match[0].lower()])
    return [*found, *_find_all("number", _HAN_COUNT, text, lambda match: _HAN_DIGITS[match[1]])]


def _find_codes(text: str) -> list[Value]:
    """Return codes and symbols such as currencies and tickers in a text."""
    symbols = _find_all("symbol", _SYMBOL, text, lambda match: match[1])
    return [*_find_all("code", _CODE, text, lambda match: match[0]), *symbols]


def _find_names(text: str) -> list[Value]:
    """Return capitalized names; the first word of a sentence only if it is not a common word."""
    found = []
    for match in _NAME.finditer(text):
        start, words = match.start(), match[0].split(" ")
        while words and _is_ordinary(words[0], _opens_sentence(text, start)):
            start += len(words.pop(0)) + 1
        name = re.sub(r"['’]s$", "", " ".join(words))
        if name and not (len(words) == 1 and idea_of(name) in lexicon.IDEAS):
            found.append(Value(_kind_of_name(name.lower()), name, start, start + len(name)))
    return found


def _kind_of_name(name: str) -> str:
    """Return ``language``, ``place`` or ``name``."""
    if name in lexicon.LANGUAGES:
        return "language"
    return "place" if name in lexicon.PLACES_LATIN else "name"


def _opens_sentence(text: str, start: int) -> bool:
    """Return True if nothing, or the end of a sentence, comes before a place in a text."""
    before = text[:start].rstrip(" \t\"'“‘(")
    return not before or before[-1] in ".!?:;\n。！？：；"


def _is_ordinary(word: str, opening: bool) -> bool:
    """Return True for a stop word, or an everyday word where `opening` says that it opens a sentence."""
    lower = word.lower().replace("’", "'")
    if lower in lexicon.NOT_NAMES or not idea_of(lower):
        return True
    everyday = opening and (idea_of(lower) in lexicon.IDEAS or lower in lexicon.OPENERS)
    return (everyday or len(lower) == 1) and lower not in lexicon.PLACES_LATIN


def _find_uncapitalized(text: str) -> list[Value]:
    """Return places and languages written without a capital letter."""
    known = lexicon.PLACES_LATIN | lexicon.LANGUAGES
    values = _find_all("", _LATIN, text, lambda match: match[0].title())
    return [v._replace(kind=_kind_of_name(str(v.value).lower())) for v in values if str(v.value).lower() in known]  # fmt: skip


def _find_chinese(text: str) -> list[Value]:
    """Return Chinese places, languages and currencies, and short words outside the lexicon."""
    tables = (
        ("place", lexicon.PLACES),
        ("language", lexicon.LANGUAGES),
        ("symbol", lexicon.CURRENCIES),
    )
    found = []
    for word in words_of(text):
        if lexicon.is_chinese(word.text):
            kind = next((kind for kind, known in tables if word.text in known), "")
            if kind or (not word.known and 2 <= len(word.text) <= 4):
                found.append(Value(kind or "name", word.text, word.start, word.end))
    return found

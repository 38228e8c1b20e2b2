"""Find what could be an argument in a prompt: numbers, quotes, paths, places, dates ..."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from toolkeel.providers.offline import concepts
from toolkeel.providers.offline.arithmetic import find_expressions
from toolkeel.providers.offline.words import idea, pieces

_HAN = "\u3400-\u4dbf\u4e00-\u9fff"
_ASCII = "[A-Za-z0-9_.]"
_CAPITAL = r"[A-ZÀ-ÖØ-Þ][\w'’-]*"
_NAME = rf"{_CAPITAL}(?:\s+(?:(?:de|da|do|del|la|le|van|von|of|the|am)\s+){{0,2}}{_CAPITAL})*"

_PATTERNS = (
    ("quoted", r"```(?:[\w+-]*\n)?(?P<q0>[^`]+?)\n?```"),
    ("quoted", r"“(?P<q1>[^”]*)”|‘(?P<q2>[^’]*)’|「(?P<q3>[^」]*)」|《(?P<q4>[^》]*)》"),
    ("quoted", r'"(?P<q5>[^"]*)"|`(?P<q6>[^`]*)`|(?<!\w)\'(?P<q7>[^\']*)\'(?!\w)'),
    ("url", r"\b[a-z][a-z0-9+.-]{1,9}://[^\s，。；、”」]+[^\s，。；、”」.,;:!?)\]]"),
    ("email", r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63})+"),
    ("uuid", r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b"),
    ("datetime", r"\b\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2})?(?:Z|[+-]\d{2}:\d{2})?"),
    ("date", r"(?<![\w/-])\d{4}-\d{1,2}-\d{1,2}(?![\w-])|(?<!\d)\d{4}年\d{1,2}月\d{1,2}[日号]"),
    ("phone", r"(?<!\w)\+\d[\d -]{6,}\d|(?<![\w-])\d{3}-\d{3,4}-\d{4}(?![\w-])"),
    ("time", r"(?<![\d:])(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?!\d)(?:\s?[ap]\.?m\b\.?)?"),
    (
        "time",
        r"(?<![\d.])(?:1[0-2]|0?[1-9])\s?[ap]m\b|(?:上午|下午|晚上|早上)?(?<!\d)\d{1,2}点(?:半|\d{1,2}分)?(?!钟?前)",
    ),
    (
        "zone",
        r"\b(?:UTC|GMT)\b|\b(?:Africa|America|Asia|Atlantic|Australia|Europe|Pacific)/[A-Z]\w+",
    ),
    ("glob", r"(?<![\w*.)])\*{1,2}(?:[/.][\w*?.\[\]{},/-]*[\w*\]}])(?![\w(])"),
    ("path", r"(?<![\w/])(?:\.{1,2}/|~/|/)[\w.@+/-]*\w/?"),
    ("path", r"(?<![\w@+/-])(?:[\w@+-]+/)+[\w.@+-]*\.[A-Za-z0-9]{1,8}(?![\w/])"),
    (
        "path",
        r"(?<![\w@+/-])(?!(?:and/or|he/she|yes/no|on/off|input/output|tcp/ip|km/h)\b)(?=[\w@+-]*[A-Za-z]{2})[\w@+-]{2,}/(?=[\w.@+/-]*[A-Za-z]{2})[\w.@+/-]*[\w/]",
    ),
    ("path", r"(?<![\w./-])[A-Za-z0-9_][\w.-]*/(?=[\s,;，。?]|$)"),
    (
        "path",
        rf"(?<!{_ASCII})(?<![+-])[A-Za-z0-9+-][A-Za-z0-9_+.-]*\.(?=[A-Za-z])[A-Za-z0-9]{{1,8}}(?!{_ASCII})",
    ),
    (
        "path",
        rf"(?<!{_ASCII})\.[a-z][a-z0-9.-]+|\b(?:Makefile|Dockerfile|LICENSE|README|CHANGELOG)\b",
    ),
)
_SOURCES = tuple(
    (kind, re.compile(pattern, re.I if "tcp" in pattern else 0)) for kind, pattern in _PATTERNS
)
_NUMBER = re.compile(
    r"(?<![\w.])(?P<sign>-(?=[\d.]))?(?P<body>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    rf"(?:[eE](?P<exponent>[+-]?\d{{1,3}})(?!\w))?(?=(?:{'|'.join(concepts.UNITS)})\b|(?![A-Za-z_]|\.?\d))|(?<=[{_HAN}])(?P<after>\d+(?:\.\d+)?)",
    re.IGNORECASE,
)
_GLOB = re.compile(r"(?=[^*]*\*)[\w.*?/{},\[\]-]{2,}")
_CODE = re.compile(
    rf"(?<![\w.-])(?!\d+(?:e\d+|{'|'.join(concepts.UNITS)})\b)"
    + r"(?=[A-Za-z_-]*\d)(?=\d*[A-Za-z_-])[A-Za-z0-9][\w-]*[A-Za-z0-9](?![\w-])",
    re.IGNORECASE,
)
_SYMBOL = re.compile(r"(?<![\w$])\$?([A-Z]{2,5})(?![\w])")
_NAMES = re.compile(_NAME)
_LOWER_PLACE = re.compile(r"\b(?:in|at|near|for|of|to|from)\s+([a-zà-ÿ]{3,})\b|\b([a-z]{4,})\b")
_COUNT = re.compile(rf"\b(?:{'|'.join(concepts.COUNTS)})\b", re.I)
_HAN_COUNTS = dict(zip("一两二三四五六七八九十", (1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 10), strict=True))
_HAN_COUNT = re.compile(r"([一两二三四五六七八九十])(?=[个条张只天次位份项行页本倍人件周年月日楼])")
_RUN = re.compile(f"[{_HAN}]+")
_HAN_FILE = re.compile(
    f"([{_HAN}]{{1,30}})[A-Za-z0-9_-]{{0,60}}\\.[A-Za-z][A-Za-z0-9]{{0,7}}(?![A-Za-z0-9_])"
)
_YEAR_DAY = re.compile(r"(\d{4})年(\d{1,2})月(\d{1,2})")


LONGEST = 4000
"""How much of a prompt is searched for values, in characters."""
_MOST = 200


class Value(NamedTuple):
    """Something in a prompt that can be an argument.

    Args:
        kind: ``number``, ``quoted``, ``path``, ``place`` and so on.
        value: Text, or a number.
        start: Where it begins in the prompt, counted with its quotes.
        end: Index after its end.
    """

    kind: str
    value: str | int | float
    start: int
    end: int

    def overlaps(self, other: Value) -> bool:
        return self.start < other.end and other.start < self.end


@lru_cache(maxsize=64)
def find_values(text: str) -> tuple[Value, ...]:
    """Every value in a prompt, in order; what one kind claimed is not read as a weaker one.

    >>> [(value.kind, value.value) for value in find_values('email bob@x.org "hi" 3 times, a/b.txt')]
    [('email', 'bob@x.org'), ('quoted', 'hi'), ('number', 3), ('path', 'a/b.txt')]
    >>> [(value.kind, value.value) for value in find_values("weather in New York and 北京")]
    [('name', 'New York'), ('place', '北京')]
    """
    text = text[:LONGEST]
    found: list[Value] = []
    for match in _HAN_FILE.finditer(text):
        cut = _known_prefix(match[1], match[0][len(match[1])] != ".")
        found.append(Value("path", match[0][cut:], match.start() + cut, match.end()))
    for kind, source in _SOURCES:
        for match in source.finditer(text):
            inner = next((group for group in match.groups() if group is not None), match[0])
            kind = "glob" if kind == "quoted" and _GLOB.fullmatch(inner) else kind
            _claim(found, Value(kind, _tidy(kind, inner), match.start(), match.end()))
    numbers = _numbers(text)
    inside: list[Value] = []
    for sums in find_expressions(text):
        _claim(found, Value("expression", sums.text, sums.start, sums.end))
        if found[-1].value == sums.text:  # one operation may also be meant for add(a, b)
            kind = "number" if sums.operators == 1 else "term"
            inside += [n._replace(kind=kind) for n in numbers if sums.start <= n.start < sums.end]
    for value in (*_codes(text), *numbers, *_names(text), *_chinese(text), *_lower(text)):
        _claim(found, value)
    found += inside
    return tuple(sorted(found, key=lambda value: (value.start, value.kind)))


def _claim(found: list[Value], value: Value) -> None:
    if len(found) < _MOST and value.value != "" and not any(map(value.overlaps, found)):
        found.append(value)


def _tidy(kind: str, text: str) -> str:
    if kind == "date" and (parts := _YEAR_DAY.match(text)):
        text = "-".join(parts.groups())
    if kind == "date":
        year, month, day = text.split("-")
        return f"{year}-{month:0>2}-{day:0>2}"
    return text


def _numbers(text: str) -> list[Value]:
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
    found += _all("number", _COUNT, text, lambda match: concepts.COUNTS[match[0].lower()])
    return [*found, *_all("number", _HAN_COUNT, text, lambda match: _HAN_COUNTS[match[1]])]


def _codes(text: str) -> list[Value]:
    symbols = _all("symbol", _SYMBOL, text, lambda match: match[1])
    return [*_all("code", _CODE, text, lambda match: match[0]), *symbols]


def _all(
    kind: str, pattern: re.Pattern[str], text: str, read: Callable[[re.Match[str]], str | int]
) -> list[Value]:
    return [Value(kind, read(m), m.start(), m.end()) for m in pattern.finditer(text)]


def _names(text: str) -> list[Value]:
    """Capitalised words; the first word of a sentence only if it is not an ordinary word."""
    found = []
    for match in _NAMES.finditer(text):
        start, words = match.start(), match[0].split()
        while words and _ordinary(words[0], _opens_sentence(text, start)):
            start = text.find(words[1], start + len(words[0])) if len(words) > 1 else match.end()
            words = words[1:]
        name = text[start : match.end()].removesuffix("'s").removesuffix("’s")
        if not words or not name or (len(words) == 1 and idea(name) in concepts.IDEAS):
            continue
        known = name.lower() in concepts.LANGUAGES
        kind = "language" if known else "place" if name.lower() in concepts.PLACES_LATIN else "name"
        found.append(Value(kind, name, start, start + len(name)))
    return found


def _opens_sentence(text: str, start: int) -> bool:
    before = text[:start].rstrip(" \t\"'“‘(")
    return not before or before[-1] in ".!?:;\n。！？：；"


def _ordinary(word: str, opening: bool) -> bool:
    """Whether a capitalised word is no name: a stop word, or an everyday word that opens."""
    lower = word.lower().replace("’", "'")
    if lower in concepts.NOT_NAMES or {lower, lower.split("'")[0]} & concepts.STOP:
        return True
    everyday = len(lower) == 1 or (
        opening and (idea(lower) in concepts.IDEAS or lower in concepts.OPENERS)
    )
    return everyday and lower not in concepts.PLACES_LATIN


_CHINESE_WORDS = (
    ("place", concepts.PLACES),
    ("language", concepts.LANGUAGES),
    ("symbol", concepts.CURRENCIES),
)


def _lower(text: str) -> list[Value]:
    """Places and languages written without a capital, and what follows "in"."""
    found = []
    for match in _LOWER_PLACE.finditer(text):
        group = 1 if match[1] else 2
        word = match[group]
        if word in concepts.PLACES_LATIN or word in concepts.LANGUAGES:
            kind = "place" if word in concepts.PLACES_LATIN else "language"
            found.append(Value(kind, word.title(), match.start(group), match.end(group)))
    return found


def _chinese(text: str) -> list[Value]:
    """Known places and languages, and two to four characters that no known word explains."""
    found = []
    for run in _RUN.finditer(text):
        for piece in pieces(run[0], run.start()):
            end = piece.start + len(piece.text)
            kind = next((kind for kind, known in _CHINESE_WORDS if piece.text in known), "")
            if kind or (not piece.known and 2 <= len(piece.text) <= 4):
                found.append(Value(kind or "name", piece.text, piece.start, end))
    return found


def _known_prefix(run: str, goes_on: bool) -> int:
    """How many characters before a file name are ordinary words: 4 in 请读取数据.csv.

    Args:
        run: The Chinese characters up to the first other one.
        goes_on: Whether the name has more characters before its dot.
    """
    last = pieces(run)[-1]
    return len(run) if last.known and goes_on else last.start

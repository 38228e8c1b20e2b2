"""Docstrings in the Google, NumPy and Sphinx styles, read tolerantly.

What people really write is taken as it is meant: Chinese titles, full-width colons, bullets, text
wrapped without indentation, a stray line. A style's reader gives the parameters in the order in
which they are described, each with its text, and the texts of what is returned.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache
from inspect import cleandoc
from types import MappingProxyType
from typing import Literal, TypeAlias

from toolkeel._records.record import record

DocstringUse = Literal["parse", "strict", "plain"]
"""What a tool's docstring is for: parameters too, if they exist; as before, and no others; none."""

Entries: TypeAlias = list[tuple[str, str]]
"""Names as they are written, maybe several at once, and their texts."""
Parts: TypeAlias = list[tuple[re.Match[str], str]]
"""Markers of sections, each with what follows it."""
NO_PARAMS: Mapping[str, str] = MappingProxyType({})


@record
class Docstring:
    """Contents of a docstring.

    Args:
        description: Everything before the first section, its Markdown and blank lines preserved.
        params: Parameter names, without stars and types, to their text on one line.
        returns: What is returned, on one line; empty if it does not say.
        style: "google", "numpy" or "sphinx", or "plain" without sections.
        problems: What is malformed, one sentence each; strict definitions refuse these.
    """

    description: str
    params: Mapping[str, str] = field(default_factory=lambda: NO_PARAMS)
    returns: str = ""
    style: str = "plain"
    problems: tuple[str, ...] = ()


def parse_docstring(text: str | None) -> Docstring:
    """Parse a docstring in the style that most of its markers have. Never raises.

    Args:
        text: As `__doc__` has it, indented or not; None if there is none.

    >>> parse_docstring('''Look up the weather.
    ...
    ... Args:
    ...     city (str): Name of
    ...         the city.
    ... ''').params
    mappingproxy({'city': 'Name of the city.'})
    """
    if not text or text.isspace():
        return Docstring("")
    text = cleandoc(text)
    # Two characters every marker has one of; most one-line docstrings end here.
    style = _likeliest(text) if ":" in text or "：" in text or "---" in text else ""
    if not style:
        return Docstring(text)
    problems: list[str] = []
    found = list(_markers()[style].finditer(text))
    entries, returns = _READERS[style](list(_parts(text, found)), problems)
    params = MappingProxyType(_params(entries, problems))
    description = text[: found[0].start()].rstrip()
    message = "; ".join(filter(None, map(_one_line, returns)))
    return Docstring(description, params, message, style, tuple(problems))


# — where the sections are —

_PARAMS = (
    "args", "arguments", "parameters", "params", "keyword args", "keyword arguments",
    "other parameters", "other params", "参数", "參數",
)  # fmt: skip
_RETURNS = ("returns", "return", "yields", "yield", "返回", "返回值", "回傳")
_DROPPED = (
    "raises", "raise", "exceptions", "except", "warns", "attributes", "example", "examples",
    "异常", "示例", "例子",
)  # fmt: skip
_NUMPY_DROPPED = (
    "see also", "notes", "note", "references", "warnings", "warning", "receives", "methods",
)  # fmt: skip


def _any_of(words: Iterable[str]) -> str:
    """Return a regular expression that matches any of the words."""
    return "|".join(re.escape(word) for word in words)


_TITLES = (*_PARAMS, *_RETURNS, *_DROPPED)
_FIELD = r"param|parameter|arg|argument|keyword|key|type|returns?|rtype|yields?|raises?|except|exception|var|ivar|cvar|vartype"


@cache
def _markers() -> Mapping[str, re.Pattern[str]]:
    """Return the patterns that begin a section, by style. They are compiled at the first use."""
    return {
        "google": re.compile(rf"^({_any_of(_TITLES)})[ \t]*[:：][ \t]*$", re.M | re.I),
        "numpy": re.compile(
            rf"^({_any_of((*_TITLES, *_NUMPY_DROPPED))})[ \t]*\n-{{3,}}[ \t]*$", re.M | re.I
        ),
        "sphinx": re.compile(rf"^[:：]({_FIELD})\b([^:：\n]*)[:：][ \t]*", re.M),
    }


def _likeliest(text: str) -> str:
    """Return the style with the most markers; "" without any. Of equals, NumPy's wins, then Sphinx's."""
    counts = {style: len(marker.findall(text)) for style, marker in _markers().items()}
    best = max(("numpy", "sphinx", "google"), key=lambda style: counts[style])
    return best if counts[best] else ""


def _parts(text: str, found: list[re.Match[str]]) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each marker with the text up to the next one."""
    for marker, following in zip(found, [*found[1:], None], strict=True):
        yield marker, text[marker.end() : following.start() if following else len(text)]


def _sections(parts: Parts) -> Iterator[tuple[str, str]]:
    """Yield lower-case titles with their bodies."""
    return ((title[1].lower(), body.strip("\n")) for title, body in parts)


# — Google —

_BULLET = re.compile(r"^[-*•·][ \t]+(?=[`*\w])")
_HEAD = re.compile(
    r"(?P<name>[`*\\]*\w[\w.\-\\]*`?(?:\s*,\s*[`*\\]*\w[\w\\]*`?)*)"
    r"\s*(?P<type>[(（].*?[)）]|\[.*?\])?\s*(?:[:：](?!\w*://)|--\s)"
)
_TYPED_WITHOUT_COLON = re.compile(r"[`*\\]*\w+`?\s*\(")


def _read_google(parts: Parts, problems: list[str]) -> tuple[Entries, list[str]]:
    """Return parameters and return text of a Google-style docstring; add to `problems`."""
    entries: Entries = []
    returns: list[str] = []
    for title, body in _sections(parts):
        if title in _PARAMS:
            found = _google_entries(body, title, problems)
            if not found:
                problems.append(f'The section "{title}" names no parameter.')
            entries += found
        elif title in _RETURNS:
            returns.append(" ".join(_indented(body)))
    return entries, [_without_type(" ".join(returns).strip())]


def _without_type(returns: str) -> str:
    """Return the text of a ``Returns`` section without the type before it."""
    kind, colon, text = returns.partition(":")
    typed = colon and (kind.endswith("]") or not any(map(str.isspace, kind)))
    return text if typed and kind else returns


def _indented(body: str) -> Iterator[str]:
    """Yield a section's stripped lines: the first, and those up to the next that is not indented."""
    for number, line in enumerate(body.splitlines()):
        if line and not line[0].isspace() and number:
            return
        yield line.strip()


def _google_entries(body: str, title: str, problems: list[str]) -> Entries:
    """Return the entries ``name (type): text``, with wrapped text joined; append to `problems`."""
    entries: Entries = []
    base = -1
    blank = False
    for line in body.splitlines():
        content = line.strip()
        if not content:
            blank = True
            continue
        indent = len(line) - len(line.lstrip())
        base = indent if base < 0 else base
        if indent == 0 < base:
            break
        content = _BULLET.sub("", content, count=1) if indent <= base else content
        head = _HEAD.match(content) if indent <= base else None
        if head is None and base == 0 and blank:
            break
        blank = False
        if head is not None:
            entries.append((head["name"], content[head.end() :]))
        elif not entries or (indent <= base and _TYPED_WITHOUT_COLON.match(content)):
            problems.append(f'In the section "{title}", no "name:" starts {content[:60]!r}.')
        else:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {content}")
    return entries


# — NumPy —


def _read_numpy(parts: Parts, problems: list[str]) -> tuple[Entries, list[str]]:
    """Return parameters and return text of a NumPy-style docstring; add to `problems`."""
    entries: Entries = []
    returns: list[str] = []
    for title, body in _sections(parts):
        if title in _PARAMS:
            entries += _numpy_entries(body)
            if not body.strip():
                problems.append(f'The section "{title}" names no parameter.')
        elif title in _RETURNS:
            returns += (text for _, text in _numpy_entries(body))
    return entries, returns


def _numpy_entries(body: str) -> Entries:
    """Return names, or types of return values, with the indented text below each."""
    entries: Entries = []
    for line in body.splitlines():
        if line and not line[0].isspace():
            entries.append((re.split("[:：]", line, maxsplit=1)[0], ""))
        elif entries:
            entries[-1] = (entries[-1][0], f"{entries[-1][1]} {line}")
    return entries


# — Sphinx —


def _read_sphinx(parts: Parts, problems: list[str]) -> tuple[Entries, list[str]]:
    """Return parameters and return text of a Sphinx-style docstring; add to `problems`."""
    entries: Entries = []
    returns: list[str] = []
    for marker, body in parts:
        name, subject = marker[1], marker[2].strip()
        if name.startswith(("raise", "except", "var", "ivar", "cvar", "rtype", "type")):
            continue
        text = " ".join(_field_text(body))
        if name.startswith(("return", "yield")):
            returns.append(text)
        elif subject:
            # `:param dict[str, int] name:` has a type of several words; the name is the last.
            entries.append((subject.split()[-1], text))
        else:
            problems.append(f"The field :{name}: names no parameter.")
    return entries, returns


def _field_text(body: str) -> Iterator[str]:
    """Yield the lines of a Sphinx field. After a blank line, only indented lines belong to it."""
    blank = False
    for number, line in enumerate(body.splitlines()):
        if not line.strip():
            blank = True
        elif number and not line[0].isspace() and (blank or line[0] == ":" or line[:3] == ".. "):
            return
        else:
            yield line.strip()


_READERS: Mapping[str, Callable[[Parts, list[str]], tuple[Entries, list[str]]]] = {
    "google": _read_google,
    "numpy": _read_numpy,
    "sphinx": _read_sphinx,
}


def _params(entries: Entries, problems: list[str]) -> dict[str, str]:
    """Return descriptions by parameter name as written, the first of two; append problems to `problems`."""
    params: dict[str, str] = {}
    for names, text in entries:
        for written in names.split(","):
            name = written.replace("\\", "").strip("`* \t")
            if not name.isidentifier():
                problems.append(f"{written.strip()[:60]!r} is not a parameter's name.")
            elif name in params:
                problems.append(f'The parameter "{name}" is documented twice.')
            else:
                params[name] = _one_line(text)
    return params


def _one_line(text: str) -> str:
    """Return a text with its white space as single spaces."""
    return " ".join(text.split())

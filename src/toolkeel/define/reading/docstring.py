"""Docstrings in the Google, NumPy and Sphinx styles, read tolerantly.

Two layers. This file finds where the sections are and mends what people really write: Chinese
titles, full-width colons, bullets, text wrapped without indentation, a stray line. What it
hands on is a small clean docstring of parameters and return value alone, and the grammar of
that is docstring_parser's business. A docstring without sections never gets that far, nor does
one in Google's style whose entries are plain: they are read here, in a fifth of the time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from functools import cache
from inspect import cleandoc
from types import MappingProxyType
from typing import Literal

from toolkeel._records.record import record

Style = Literal["auto", "google", "numpy", "sphinx"]
DocstringUse = Literal["parse", "strict", "plain"]
"""What a tool's docstring is for: parameters too, if they exist; as before, and no others; none."""

NO_PARAMS: Mapping[str, str] = MappingProxyType({})


@record
class Docstring:
    """What a docstring says.

    Args:
        description: Everything before the first section, its Markdown and blank lines kept.
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


def parse_docstring(text: str | None, style: Style = "auto") -> Docstring:
    """Read a docstring; never raises, whatever the text.

    Args:
        text: As `__doc__` has it, indented or not; None if there is none.
        style: "auto" takes the style of which the text has most section markers.

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
    if style == "auto":
        # Two characters every marker has one of; most one-line docstrings end here.
        style = _likeliest(text) if ":" in text or "：" in text or "---" in text else "auto"
    if style == "auto" or not _markers()[style].search(text):
        return Docstring(text)
    problems: list[str] = []
    description, clean = _CLEANERS[style](text, problems)
    params, returns = _read(clean, style, problems)
    return Docstring(description, MappingProxyType(params), returns, style, tuple(problems))


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
    return "|".join(re.escape(word) for word in words)


_TITLES = (*_PARAMS, *_RETURNS, *_DROPPED)
_FIELD = r"param|parameter|arg|argument|keyword|key|type|returns?|rtype|yields?|raises?|except|exception|var|ivar|cvar|vartype"


@cache
def _markers() -> Mapping[str, re.Pattern[str]]:
    """What a section begins with, by style; compiled for the first docstring that may have some."""
    return {
        "google": re.compile(rf"^({_any_of(_TITLES)})[ \t]*[:：][ \t]*$", re.M | re.I),
        "numpy": re.compile(
            rf"^({_any_of((*_TITLES, *_NUMPY_DROPPED))})[ \t]*\n-{{3,}}[ \t]*$", re.M | re.I
        ),
        "sphinx": re.compile(rf"^[:：]({_FIELD})\b([^:：\n]*)[:：][ \t]*", re.M),
    }


def _likeliest(text: str) -> Style:
    """The style with most markers; the plainer marker loses a tie."""
    counts = {style: len(marker.findall(text)) for style, marker in _markers().items()}
    best: Style = "numpy"
    for style in ("sphinx", "google"):
        if counts[style] > counts[best]:
            best = style
    return best if counts[best] else "auto"


def _sections(text: str, style: str) -> Iterator[tuple[str, str]]:
    """Titles, in lower case, and bodies."""
    titles = list(_markers()[style].finditer(text))
    for title, following in zip(titles, [*titles[1:], None], strict=True):
        end = following.start() if following else len(text)
        yield title[1].lower(), text[title.end() : end].strip("\n")


def _description(text: str, style: str) -> str:
    first = _markers()[style].search(text)
    return text[: first.start()].rstrip() if first else text


# — Google —

_BULLET = re.compile(r"^[-*•·][ \t]+(?=[`*\w])")
_HEAD = re.compile(
    r"(?P<name>[`*\\]*\w[\w.\-\\]*`?(?:\s*,\s*[`*\\]*\w[\w\\]*`?)*)"
    r"\s*(?P<type>[(（].*?[)）]|\[.*?\])?\s*(?:[:：](?!\w*://)|--\s)"
)
_TYPED_WITHOUT_COLON = re.compile(r"[`*\\]*\w+`?\s*\(")


def _clean_google(text: str, problems: list[str]) -> tuple[str, str]:
    params: list[str] = []
    returns: list[str] = []
    for title, body in _sections(text, "google"):
        if title in _PARAMS:
            entries = _google_entries(body, title, problems)
            if not entries:
                problems.append(f'The section "{title}" names no parameter.')
            params += entries
        elif title in _RETURNS:
            returns.append(" ".join(_indented(body)))
    clean = ""
    if params:
        clean += "Args:\n    " + "\n    ".join(params) + "\n"
    if any(returns):
        clean += "Returns:\n    " + " ".join(returns) + "\n"
    return _description(text, "google"), clean


def _indented(body: str) -> Iterator[str]:
    """The lines that belong to a section: those up to the first one back at the margin."""
    for number, line in enumerate(body.splitlines()):
        if line and not line[0].isspace() and number:
            return
        yield line.strip()


def _google_entries(body: str, title: str, problems: list[str]) -> list[str]:
    """One `name (type): text` a line, wrapped text joined."""
    entries: list[str] = []
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
            entries.append(_google_entry(head, content))
        elif not entries or (indent <= base and _TYPED_WITHOUT_COLON.match(content)):
            problems.append(f'In the section "{title}", no "name:" starts {content[:60]!r}.')
        else:
            entries[-1] += " " + content
    return entries


def _google_entry(head: re.Match[str], content: str) -> str:
    kind = head["type"]
    return f"{head['name']}{f' ({kind[1:-1]})' if kind else ''}: {content[head.end() :].strip()}"


# — NumPy —


def _clean_numpy(text: str, problems: list[str]) -> tuple[str, str]:
    clean = ""
    for title, body in _sections(text, "numpy"):
        if title in _PARAMS:
            clean += f"Parameters\n----------\n{_numpy_heads(body)}\n"
            if not body.strip():
                problems.append(f'The section "{title}" names no parameter.')
        elif title in _RETURNS:
            clean += f"Returns\n-------\n{_numpy_heads(body)}\n"
    return _description(text, "numpy"), clean


def _numpy_heads(body: str) -> str:
    """Full-width colons at the margin become plain ones: there they end a name."""
    lines = body.splitlines()
    return "\n".join(line if line[:1].isspace() else line.replace("：", " : ", 1) for line in lines)


# — Sphinx —


def _clean_sphinx(text: str, problems: list[str]) -> tuple[str, str]:
    """One field a line, so that no line of a text can look like a field."""
    fields: list[str] = []
    marker = _markers()["sphinx"]
    for match, following in _pairs(list(marker.finditer(text))):
        name, subject = match[1], match[2].strip()
        if name.startswith(("raise", "except", "var", "ivar", "cvar", "rtype", "type")):
            continue
        body = text[match.end() : following.start() if following else len(text)]
        line = " ".join(_field_text(body))
        if name.startswith(("return", "yield")):
            fields.append(f":returns: {line}")
        elif subject:
            # `:param dict[str, int] name:` has a type of several words; the name is the last.
            fields.append(f":param {subject.split()[-1]}: {line}")
        else:
            problems.append(f"The field :{name}: names no parameter.")
    return _description(text, "sphinx"), "\n".join(fields)


def _field_text(body: str) -> Iterator[str]:
    """A field's lines: after a blank one only those indented, and no other field's."""
    blank = False
    for number, line in enumerate(body.splitlines()):
        if not line.strip():
            blank = True
        elif number and not line[0].isspace() and (blank or line[0] == ":" or line[:3] == ".. "):
            return
        else:
            yield line.strip()


def _pairs(
    matches: list[re.Match[str]],
) -> Iterator[tuple[re.Match[str], re.Match[str] | None]]:
    return zip(matches, [*matches[1:], None], strict=True)


_CLEANERS = {"google": _clean_google, "numpy": _clean_numpy, "sphinx": _clean_sphinx}


# — what the library reads —


def _read(clean: str, style: str, problems: list[str]) -> tuple[dict[str, str], str]:
    """Parameters and return value of a clean docstring."""
    if not clean:
        return {}, ""
    if style == "google" and (plain := _plain_google(clean)) is not None:
        return _params(plain[0], problems), _one_line(plain[1])
    # Imported here: it costs 4 ms, and few docstrings need it.
    from docstring_parser import DocstringStyle, ParseError, parse

    styles = {
        "google": DocstringStyle.GOOGLE,
        "numpy": DocstringStyle.NUMPYDOC,
        "sphinx": DocstringStyle.REST,
    }
    try:
        # The first line keeps the section's indentation from being taken for the text's own.
        parsed = parse(f"-\n\n{clean}", styles[style])
    except ParseError as error:
        problems.append(str(error).split("\n", 1)[0][:200])
        return {}, ""
    returns = "; ".join(
        line for each in parsed.many_returns if (line := _one_line(each.description))
    )
    return _params([(each.arg_name, each.description) for each in parsed.params], problems), returns


_PLAIN_ENTRY = re.compile(r" {4}([^(:]+?)\s*(?:\([^():]*[^():\s][^():]*\))?:(.*)")


def _plain_google(clean: str) -> tuple[list[tuple[str, str]], str] | None:
    """Parameters and return value, one a line as `_clean_google` writes them.

    None if some line leaves room for a second reading, such as a type with a colon in it.
    """
    params, returns, title = [], "", ""
    for line in clean.removesuffix("\n").split("\n"):
        if not line.startswith(" "):
            title = line
        elif title == "Args:":
            entry = _PLAIN_ENTRY.fullmatch(line)
            if entry is None:
                return None
            params.append((entry[1], entry[2]))
        else:
            kind, colon, text = line.strip().partition(":")
            typed = colon and (kind.endswith("]") or not any(map(str.isspace, kind)))
            returns = text if typed and kind else line
    return params, returns


def _params(documented: Iterable[tuple[str, str | None]], problems: list[str]) -> dict[str, str]:
    """Texts by name, of names and texts as they are written."""
    params: dict[str, str] = {}
    for names, text in documented:
        for written in names.split(","):
            name = written.replace("\\", "").strip("`* \t")
            if not name.isidentifier():
                problems.append(f"{written.strip()[:60]!r} is not a parameter's name.")
            elif name in params:
                problems.append(f'The parameter "{name}" is documented twice.')
            else:
                params[name] = _one_line(text)
    return params


def _one_line(text: str | None) -> str:
    return " ".join(text.split()) if text else ""

"""A page without what people do not see: hidden elements and characters, where orders to models stand.

Without a browser there are no computed styles. What counts is what an element says of itself, and
what style sheets in the page say of its tag, class or id: ``hidden``, ``aria-hidden``, and styles
that make it invisible, tiny, transparent, of its background's colour, or far outside of the page.
A declaration that hides counts even if a later one takes it back.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from typing import TypeAlias

Pairs: TypeAlias = list[tuple[str, str]]
"""Declarations: properties and their values, in order."""
Colour: TypeAlias = tuple[int, int, int]

_TINY = r"(?:0+(?:\.\d*)?|\.\d+)"
_NOUGHT = r"(?:0+(?:\.0\d*)?|\.0\d*)"
_AWAY = r".*(?<![\w-])-\d{3,}(?![\d%])"
_FAR = rf"{_AWAY}|\d{{5,}}|[1-9]\d\dv[wh]"
_HIDES = {
    "display": "none",
    "visibility": "hidden|collapse",
    "content-visibility": "hidden",
    "opacity": r"0*(?:\.0\d*)?$|[0-5](?:\.\d*)?%",
    "font-size": rf"(?:{_TINY}|[12](?:\.\d*)?(?=px|pt))(?:px|pt|%)?$|0*(?:\.[01]\d*)?r?em",
    "font": rf"(?:.* )?{_TINY}(?:px|pt|em|rem|%)?(?:/.*)? ",
    "clip": r"rect\((?:0|1px)",
    "clip-path": r"inset\((?:[5-9]\d|100)%|circle\(0|polygon\(([^,)]+)(?:,\1)*\)",
    "transform": rf".*(?:scale\w*|matrix)\({_NOUGHT}[,)]|.*rotate[xy]\(-?(?:90|270)deg|.*translate\w*\({_AWAY}",
    "scale": rf"{_NOUGHT}(?: |$)",
    "zoom": rf"{_NOUGHT}%?$",
    "inset": _FAR,
    "translate": _AWAY,
    "filter": r".*opacity\(0(?:\.0*)?%?\)",
    **dict.fromkeys(("width", "height", "max-width", "max-height"), r"0+(?:\.0*)?[a-z%]*$"),
    **dict.fromkeys(("left", "right", "text-indent"), rf".*(?<![\w-])-\d{{3}}|{_FAR}"),
    **dict.fromkeys(("top", "bottom"), r".*(?<![\w-])-\d{3}"),
    **dict.fromkeys(("margin", "margin-left", "margin-top"), _AWAY),
}
_INVISIBLE = {name: re.compile(pattern) for name, pattern in _HIDES.items()}
_NAMED = {
    **dict.fromkeys(
        ("white", "snow", "ivory", "ghostwhite", "floralwhite", "mintcream"), "#ffffff"
    ),
    **dict.fromkeys(("azure", "seashell", "whitesmoke"), "#fafafa"),
    "black": "#000000",
}
_INK = ("color", "-webkit-text-fill-color")
_GROUND = ("background", "background-color")
_NO_GROUND = ("", "none", "transparent", "inherit", "initial", "unset")
_ON_SCREEN = re.compile(r"@(?:media (?:only )?(?:all|screen)$|layer|supports)")
_ALIKE = 16
"""Steps of 256 by which two colours may differ in each part, and nobody sees it."""
_HIDDEN_CLASSES = frozenset(
    ["sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "d-none"]
)
_HOLDERS = ("ul", "ol", "table", "div", "body", "select")
"""Elements by whose end an open item ends, too."""
_VOID = frozenset(
    "area base br col embed hr img input link meta source track wbr".split()  # noqa: SIM905
)
_ENDED_BY_NEXT = frozenset(["p", "li", "dt", "dd", "tr", "td", "th", "option"])
_NEVER_SEEN = frozenset(
    "template noscript noembed noframes canvas object video audio iframe datalist annotation".split()  # noqa: SIM905
)
"""What browsers that run scripts show nothing of, or only instead of a thing they can show."""
_MOST = 50
"""Rules of style sheets that are kept for one tag, class or id."""
_SELECTOR = re.compile(r"(?:html|body|:root|\*|main|[ >])*?([\w-]*|\*)((?:[.#][\w-]+)*)")
_TITLE = re.compile(r"\stitle\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))")
# Tags and selectors (U+E0000 on), controls of direction, and what has no width; joiners stay, for
# emoji and scripts that need them.
_CHARACTERS = re.compile(
    "[\U000e0000-\U000e01ef\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb]|(?<=\ufe0f)\ufe0f+"
)


def visible(page: str) -> tuple[str, int]:
    """The page without hidden parts, and how many characters of text these had.

    >>> visible('<p>seen</p><p style="color: #fff">order</p>')
    ('<p>seen</p>', 5)
    """
    parser = _Visible(page)
    head, end, tail = page.rpartition(">")
    parser.feed(head + end)
    parser.close()
    parser.handle_data(tail)  # tags without end, which would each look for it
    text, hidden = visible_text("".join(parser.kept))
    return text, parser.dropped + hidden


def visible_text(text: str) -> tuple[str, int]:
    """A text without characters that nobody sees, and how many there were."""
    return _CHARACTERS.subn("", text)


class _Visible(HTMLParser):
    """Copies a page, without hidden elements."""

    CDATA_CONTENT_ELEMENTS = (  # type: ignore[misc]
        "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes",
    )  # fmt: skip

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=False)
        self.kept: list[str] = []
        self.dropped = 0
        self._sheet = _sheet(page)
        self._all_known = "stylesheet" not in page.lower()
        self._known: dict[tuple[str, str, str], Pairs] = {}
        self._open: list[tuple[str, str]] = []  # tags, and the colour behind them
        self._inside = ""
        self._depth = 0
        self._foreign = 0  # elements of other languages that are open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._foreign += tag in ("svg", "math")
        if self._inside == tag and tag in _ENDED_BY_NEXT and self._depth == 1:
            self._inside = ""
        if self._inside:
            self._depth += tag == self._inside
        elif not self._is_hidden(tag, attrs):
            self.kept.append(_TITLE.sub("", self.get_starttag_text() or ""))
        elif tag not in _VOID:
            self._inside, self._depth = tag, 1

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        before, opened = self._inside, len(self._open)
        self.handle_starttag(tag, attrs)
        if self._foreign:  # elsewhere the slash means nothing
            del self._open[opened:]
            self._depth -= bool(before) and tag == before
            self._inside = before

    def handle_endtag(self, tag: str) -> None:
        self._foreign -= tag in ("svg", "math") and self._foreign > 0
        if not self._inside:
            self.kept.append(f"</{tag}>")
            recent = [each for each, _ in self._open[-20:]]
            if tag in recent:
                del self._open[-1 - recent[::-1].index(tag) :]
        elif tag == self._inside:
            self._depth -= 1
            self._inside = self._inside if self._depth else ""
        elif self._inside in _ENDED_BY_NEXT and tag in _HOLDERS:
            self._inside = ""
            self.kept.append(f"</{tag}>")

    def handle_data(self, data: str) -> None:
        self._text(data, data.strip())

    def handle_entityref(self, name: str) -> None:
        self._text(f"&{name};", " ")

    def handle_charref(self, name: str) -> None:
        self._text(f"&#{name};", " ")

    def handle_decl(self, decl: str) -> None:
        self._text(f"<!{decl}>", "")

    def _text(self, source: str, shown: str) -> None:
        if self._inside:
            self.dropped += len(shown)
        else:
            self.kept.append(source)

    def _is_hidden(self, tag: str, attrs: list[tuple[str, str | None]]) -> bool:
        """Whether an element is hidden; if not, what is inside of it stands on its background."""
        given = {name: value or "" for name, value in reversed(attrs)}  # the first counts
        if _says_so(tag, given):
            return True
        own = _declared_by_attributes(given)
        sheet = self._ruled(tag, given.get("class", ""), given.get("id", ""))
        grounds = [v for n, v in (*sheet, *own) if n in _GROUND and v not in _NO_GROUND]
        ground = grounds[-1] if grounds else self._open[-1][1] if self._open else ""
        if any(n in _INVISIBLE and _INVISIBLE[n].match(v) for n, v in (*sheet, *own)):
            return True
        # What a sheet of another file says of the background cannot be known.
        coloured = [*own, *(sheet if ground or self._all_known else ())]
        if any(n in _INK and _is_lost(v, ground or "white") for n, v in coloured):
            return True
        if tag not in _VOID:
            self._open.append((tag, ground))
        return False

    def _ruled(self, tag: str, classes: str, id: str) -> Pairs:
        """What the page's own style sheets say of an element: what hides it, else its colours."""
        key = (tag, classes, id)
        if key not in self._known:
            marks = {f"#{id}", *(f".{name}" for name in classes.split())}
            pairs = [
                pair
                for first in (tag, *marks)
                for wanted, needed, declared in self._sheet.get(first, ())
                if wanted in ("", "*", tag) and needed <= marks
                for pair in declared
            ]
            hiding = [p for p in pairs if p[0] in _INVISIBLE and _INVISIBLE[p[0]].match(p[1])]
            self._known[key] = hiding[:1] or [p for p in pairs if p[0] not in _INVISIBLE][-4:]
        return self._known[key]


def _declared_by_attributes(given: Mapping[str, str]) -> Pairs:
    """What an element's own attributes declare."""
    if given.keys().isdisjoint(("style", "color", "bgcolor")):
        return []
    colours = [("color", given.get("color", "").lower())]
    return [
        *colours,
        ("background", given.get("bgcolor", "").lower()),
        *_declared(given.get("style", "")),
    ]


def _says_so(tag: str, given: Mapping[str, str]) -> bool:
    """Whether an element is hidden by what it is, or by its attributes apart from its style."""
    if tag in _NEVER_SEEN or "hidden" in given or (tag == "dialog" and "open" not in given):
        return True
    if given.get("aria-hidden", "").strip().lower() == "true":
        return True
    return not _HIDDEN_CLASSES.isdisjoint(given.get("class", "").split())


def _sheet(page: str) -> Mapping[str, list[tuple[str, frozenset[str], Pairs]]]:
    """The rules of a page's style sheets that are about one tag, class or id, by that."""
    found: defaultdict[str, list[tuple[str, frozenset[str], Pairs]]] = defaultdict(list)
    parts = re.split(r"<style\b", page, flags=re.IGNORECASE)[1:]
    sheets = (re.split("</style", part.partition(">")[2], flags=re.IGNORECASE)[0] for part in parts)
    for selectors, body in _blocks(_uncommented("\n".join(sheets))):
        pairs = [(n, v) for n, v in _declared(body) if n in _INVISIBLE or n in (*_INK, *_GROUND)]
        for selector in selectors.split(",") if pairs else ():
            match = _SELECTOR.fullmatch(selector.strip()[:200])
            if match and (match[1] or match[2]):
                marks = re.findall(r"[.#][\w-]+", match[2])
                rules = found[marks[0] if marks else match[1].lower()]
                if len(rules) < _MOST:
                    rules.append((match[1].lower(), frozenset(marks), pairs))
    return found


def _blocks(sheet: str) -> Iterator[tuple[str, str]]:
    """Selectors and bodies of the rules of a sheet that hold on a screen."""
    skipped, prelude = 0, ""
    pieces = re.split(r"([{}])", sheet)
    for text, brace in zip(pieces[::2], pieces[1::2], strict=False):
        if brace == "}":
            if prelude and not skipped:
                yield prelude, text
            skipped, prelude = max(skipped - 1, 0), ""
            continue
        before = text.rpartition(";")[2].strip()
        screen = before.startswith("@") and _ON_SCREEN.match(before) is not None
        skipped += bool(skipped or (before.startswith("@") and not screen))
        prelude = "" if screen else before


def _uncommented(text: str) -> str:
    first, *rest = text.split("/*")
    return first + "".join(part.partition("*/")[2] for part in rest)


def _declared(style: str) -> Pairs:
    """The declarations of a style, in small letters and without escapes."""
    text = _ESCAPE.sub(_unescaped, _uncommented(style.lower()))
    pairs = (part.partition(":") for part in text.split(";"))
    return [(n.strip(), re.sub(r"\s*,\s*|\s+", _blank, v.strip())[:200]) for n, _, v in pairs]


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16) % 0x110000) if found[1] else found[2]


def _blank(found: re.Match[str]) -> str:
    return "," if "," in found[0] else " "


def _is_lost(value: str, behind: str) -> bool:
    """Whether a colour is the one that is behind it, or none."""
    value = value.partition("!")[0].strip()
    parts = re.findall(r"\d*\.?\d+", value) if value.startswith(("rgb", "hsl")) else []
    clear = len(parts) == 4 and float(parts[3]) == 0
    clear = clear or bool(re.fullmatch("#(?:...0|.{6}0[0-9a-f])", value))
    if value == "transparent" or clear or (value and value == behind):
        return True
    one, other = _colour(value), _colour(behind)
    if one is None or other is None:
        return False
    return all(abs(a - b) <= _ALIKE for a, b in zip(one, other, strict=True))


def _colour(text: str) -> Colour | None:
    """A colour's red, green and blue, 0 to 255; None if it is not one that is known.

    >>> _colour("#fff"), _colour("rgb(255 254 253 / 90%)"), _colour("hsl(0,0%,100%)")
    ((255, 255, 255), (255, 254, 253), (255, 255, 255))
    """
    text = _NAMED.get(text, text)
    if found := re.fullmatch(r"#([0-9a-f]{3,8})", text):
        digits = found[1] if len(found[1]) > 4 else "".join(d * 2 for d in found[1])
        return int(digits[:2], 16), int(digits[2:4], 16), int(digits[4:6] or "0", 16)
    numbers = [float(n) for n in re.findall(r"\d+(?:\.\d+)?", text)[:3]]
    if len(numbers) == 3 and text.startswith("rgb"):
        scale = 2.55 if "%" in text.partition("/")[0] else 1
        red, green, blue = (int(n * scale) for n in numbers)
        return red, green, blue
    if len(numbers) == 3 and text.startswith("hsl") and numbers[2] in (0, 100):
        grey = round(numbers[2] * 2.55)
        return grey, grey, grey
    return None

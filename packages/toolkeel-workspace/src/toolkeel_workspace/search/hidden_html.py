"""Remove text of a page that people cannot see, where instructions to models hide.

Without a browser there are no computed styles. What counts is what an element declares, and what style
sheets in the page declare for its tag, class or id: ``hidden``, ``aria-hidden``, and styles that make it
invisible, tiny, transparent, of the color of its background, or far outside of the page. A hiding
declaration counts even if a later one revokes it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from html.parser import HTMLParser
from typing import TypeAlias

Pairs: TypeAlias = list[tuple[str, str]]
"""Declarations: properties and their values, in order."""
Color: TypeAlias = tuple[int, int, int]

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
_COLOR_NAMES = {
    **dict.fromkeys(
        ("white", "snow", "ivory", "ghostwhite", "floralwhite", "mintcream"), "#ffffff"
    ),
    **dict.fromkeys(("azure", "seashell", "whitesmoke"), "#fafafa"),
    "black": "#000000",
}
_TEXT_COLORS = ("color", "-webkit-text-fill-color")
_BACKGROUNDS = ("background", "background-color")
_NO_BACKGROUND = ("", "none", "transparent", "inherit", "initial", "unset")
_ON_SCREEN = re.compile(r"@(?:media (?:only )?(?:all|screen)$|layer|supports)")
_MAX_COLOR_STEP = 16
"""Difference in each channel, of 256, up to which two colors are indistinguishable."""
_HIDDEN_CLASSES = frozenset(
    ["sr-only", "visually-hidden", "visuallyhidden", "screen-reader-text", "d-none"]
)
_CONTAINERS = ("ul", "ol", "dl", "table", "div", "body", "select")
"""Elements whose end also ends an item that was opened in them."""
_VOID = frozenset(
    "area base br col embed hr img input link meta source track wbr".split()  # noqa: SIM905
)
_ENDED_BY_NEXT = {
    "p": "p", "li": "li", "dt": "dd", "dd": "dd", "tr": "tr", "td": "td", "th": "td", "option": "option",
}  # fmt: skip
"""Items that need no end tag, and their kind: the next of that kind ends them."""
_NEVER_RENDERED = frozenset(
    "template noscript noembed noframes canvas object video audio iframe datalist annotation".split()  # noqa: SIM905
)
"""Elements that browsers with scripts do not render, or only as a fallback."""
_MAX_RULES = 50
"""Most style rules for one tag, class or id."""
_SELECTOR = re.compile(r"(?:html|body|:root|\*|main|[ >])*?([\w-]*|\*)((?:[.#][\w-]+)*)")
_TITLE = re.compile(r"\stitle\s*=\s*(?:\"[^\"]*\"|'[^']*'|[^\s>]+)", re.IGNORECASE)
_ESCAPE = re.compile(r"\\(?:([0-9a-f]{1,6})\s?|(.))")
# Tags and selectors (U+E0000 on), controls of direction, and what has no width; joiners stay, for
# emoji and scripts that need them.
_CHARACTERS = re.compile(
    "[\U000e0000-\U000e01ef\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f"
    "\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0e\ufeff\uffa0\ufff9-\ufffb]|(?<=\ufe0f)\ufe0f+"
)


def remove_hidden(page: str) -> tuple[str, int]:
    """Remove the hidden parts of a page. Return it and how many characters of text they had.

    >>> remove_hidden('<p>shown</p><p style="color: #fff">order</p>')
    ('<p>shown</p>', 5)
    """
    parser = _VisibleHTMLParser(page)
    head, end, tail = page.rpartition(">")
    parser.feed(head + end)
    parser.close()
    parser.handle_data(tail)  # unterminated tags would each scan to the end
    text, hidden = remove_invisible_characters("".join(parser.output))
    return text, parser.hidden_count + hidden


def remove_invisible_characters(text: str) -> tuple[str, int]:
    """Remove invisible characters from a text. Return it and their number."""
    return _CHARACTERS.subn("", text)


class _VisibleHTMLParser(HTMLParser):
    """Copies a page without hidden elements."""

    CDATA_CONTENT_ELEMENTS = (  # type: ignore[misc]
        "script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes",
    )  # fmt: skip

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=False)
        self.output: list[str] = []
        self.hidden_count = 0
        self._sheet = _parse_style_sheets(page)
        self._has_all_styles = "stylesheet" not in page.lower()
        self._rule_cache: dict[tuple[str, str, str], Pairs] = {}
        self._open_elements: list[tuple[str, str]] = []  # tags, and the color of their background
        self._hidden_tag = ""
        self._hidden_depth = 0
        self._hidden_containers: list[tuple[str, int]] = []  # open in a hidden item; depths before
        self._foreign_depth = 0  # open SVG and MathML elements

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._foreign_depth += tag in ("svg", "math")
        if self._is_next_item(tag):
            self._hidden_tag = ""
        if self._hidden_tag:
            if tag in _CONTAINERS and self._hidden_tag != "p":  # a container ends a paragraph
                self._hidden_containers.append((tag, self._hidden_depth))
            self._hidden_depth += tag == self._hidden_tag
        elif not self._is_hidden(tag, attrs):
            self.output.append(_TITLE.sub("", self.get_starttag_text() or ""))
        elif tag not in _VOID:
            self._hidden_tag, self._hidden_depth = tag, 1
            self._hidden_containers.clear()

    def _is_next_item(self, tag: str) -> bool:
        """Return true if a tag ends the hidden item by starting the next one."""
        kind = _ENDED_BY_NEXT.get(self._hidden_tag)
        return (
            kind is not None
            and kind == _ENDED_BY_NEXT.get(tag)
            and self._hidden_depth == 1
            and not self._hidden_containers
        )

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        before, opened = self._hidden_tag, len(self._open_elements)
        self.handle_starttag(tag, attrs)
        if self._foreign_depth:  # in HTML the slash means nothing
            del self._open_elements[opened:]
            self._hidden_depth -= bool(before) and tag == before
            self._hidden_tag = before

    def handle_endtag(self, tag: str) -> None:
        self._foreign_depth -= tag in ("svg", "math") and self._foreign_depth > 0
        if not self._hidden_tag:
            self.output.append(f"</{tag}>")
            self._close(tag)
        elif (inside := _last_index(tag, self._hidden_containers)) is not None:
            self._hidden_depth = self._hidden_containers[inside][1]
            del self._hidden_containers[inside:]
        elif tag == self._hidden_tag and not self._is_fenced():
            self._hidden_depth -= 1
            self._hidden_tag = self._hidden_tag if self._hidden_depth else ""
        elif self._hidden_tag in _ENDED_BY_NEXT and tag in _CONTAINERS and self._close(tag):
            self._hidden_tag = ""
            self.output.append(f"</{tag}>")

    def _is_fenced(self) -> bool:
        """Return true if an end tag is within a table or list, and so ends nothing around that."""
        fences = ("table", "ul", "ol") if self._hidden_tag == "li" else ("table",)
        inner = self._hidden_containers[-20:]
        return any(each in fences for each, depth in inner if depth >= self._hidden_depth)

    def _close(self, tag: str) -> bool:
        """End an open element with all in it. Return false if none of the tag is open."""
        at = _last_index(tag, self._open_elements)
        if at is None:
            return False
        del self._open_elements[at:]
        return True

    def handle_data(self, data: str) -> None:
        self._add_text(data, data.strip())

    def handle_entityref(self, name: str) -> None:
        self._add_text(f"&{name};", " ")

    def handle_charref(self, name: str) -> None:
        self._add_text(f"&#{name};", " ")

    def handle_decl(self, decl: str) -> None:
        self._add_text(f"<!{decl}>", "")

    def _add_text(self, source: str, shown: str) -> None:
        if self._hidden_tag:
            self.hidden_count += len(shown)
        else:
            self.output.append(source)

    def _is_hidden(self, tag: str, attrs: list[tuple[str, str | None]]) -> bool:
        """Return true if an element is hidden; else record the background of its content."""
        attributes = {name: value or "" for name, value in reversed(attrs)}  # the first counts
        if _is_hidden_by_attributes(tag, attributes):
            return True
        own = _parse_attributes(attributes)
        sheet = self._find_declarations(tag, attributes.get("class", ""), attributes.get("id", ""))
        grounds = [v for n, v in (*sheet, *own) if n in _BACKGROUNDS and v not in _NO_BACKGROUND]
        ground = (
            grounds[-1] if grounds else self._open_elements[-1][1] if self._open_elements else ""
        )
        if any(n in _INVISIBLE and _INVISIBLE[n].match(v) for n, v in (*sheet, *own)):
            return True
        # Style sheets in other files are unknown.
        coloured = [*own, *(sheet if ground or self._has_all_styles else ())]
        if any(
            n in _TEXT_COLORS and _is_invisible_color(v, ground or "white") for n, v in coloured
        ):
            return True
        if tag not in _VOID:
            self._open_elements.append((tag, ground))
        return False

    def _find_declarations(self, tag: str, classes: str, id: str) -> Pairs:
        """Return what the page's style sheets declare for an element: what hides it, else its colors."""
        key = (tag, classes, id)
        if key not in self._rule_cache:
            marks = {f"#{id}", *(f".{name}" for name in classes.split())}
            pairs = [
                pair
                for first in (tag, "*", *marks)
                for wanted, needed, declared in self._sheet.get(first, ())
                if wanted in ("", "*", tag) and needed <= marks
                for pair in declared
            ]
            hiding = [p for p in pairs if p[0] in _INVISIBLE and _INVISIBLE[p[0]].match(p[1])]
            self._rule_cache[key] = hiding[:1] or [p for p in pairs if p[0] not in _INVISIBLE][-4:]
        return self._rule_cache[key]


def _last_index(tag: str, open_elements: Sequence[tuple[str, object]]) -> int | None:
    """Return the place of the innermost element of a tag, of the last 20; None if there is none."""
    first = max(len(open_elements) - 20, 0)
    places = range(len(open_elements) - 1, first - 1, -1)
    return next((at for at in places if open_elements[at][0] == tag), None)


def _parse_attributes(attributes: Mapping[str, str]) -> Pairs:
    """Return the style declarations in an element's attributes."""
    if attributes.keys().isdisjoint(("style", "color", "bgcolor")):
        return []
    colours = [("color", attributes.get("color", "").lower())]
    return [
        *colours,
        ("background", attributes.get("bgcolor", "").lower()),
        *_parse_declarations(attributes.get("style", "")),
    ]


def _is_hidden_by_attributes(tag: str, attributes: Mapping[str, str]) -> bool:
    """Return true if an element is hidden by its tag or attributes, apart from its style."""
    if (
        tag in _NEVER_RENDERED
        or "hidden" in attributes
        or (tag == "dialog" and "open" not in attributes)
    ):
        return True
    if attributes.get("aria-hidden", "").strip().lower() == "true":
        return True
    return not _HIDDEN_CLASSES.isdisjoint(attributes.get("class", "").split())


def _parse_style_sheets(page: str) -> Mapping[str, list[tuple[str, frozenset[str], Pairs]]]:
    """Parse the rules of a page's style sheets that match one tag, class or id, by that."""
    found: defaultdict[str, list[tuple[str, frozenset[str], Pairs]]] = defaultdict(list)
    parts = re.split(r"<style\b", page, flags=re.IGNORECASE)[1:]
    sheets = (re.split("</style", part.partition(">")[2], flags=re.IGNORECASE)[0] for part in parts)
    for selectors, body in _iter_blocks(_strip_comments("\n".join(sheets))):
        pairs = [
            (n, v)
            for n, v in _parse_declarations(body)
            if n in _INVISIBLE or n in (*_TEXT_COLORS, *_BACKGROUNDS)
        ]
        for selector in selectors.split(",") if pairs else ():
            match = _SELECTOR.fullmatch(selector.strip()[:200])
            if match and (match[1] or match[2]):
                marks = re.findall(r"[.#][\w-]+", match[2])
                rules = found[marks[0] if marks else match[1].lower()]
                if len(rules) < _MAX_RULES:
                    rules.append((match[1].lower(), frozenset(marks), pairs))
    return found


def _iter_blocks(sheet: str) -> Iterator[tuple[str, str]]:
    """Yield selectors and bodies of the rules of a sheet that apply on a screen."""
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


def _strip_comments(text: str) -> str:
    first, *rest = text.split("/*")
    return first + "".join(part.partition("*/")[2] for part in rest)


def _parse_declarations(style: str) -> Pairs:
    """Parse the declarations of a style, in lower case and without escapes."""
    text = _ESCAPE.sub(_unescape, _strip_comments(style.lower()))
    pairs = (part.partition(":") for part in text.split(";"))
    return [
        (n.strip(), re.sub(r"\s*,\s*|\s+", _collapse_space, v.strip())[:200]) for n, _, v in pairs
    ]


def _unescape(found: re.Match[str]) -> str:
    return chr(int(found[1], 16) % 0x110000) if found[1] else found[2]


def _collapse_space(found: re.Match[str]) -> str:
    return "," if "," in found[0] else " "


def _is_invisible_color(value: str, background: str) -> bool:
    """Return true if a color is transparent or nearly the background's."""
    value = value.partition("!")[0].strip()
    parts = re.findall(r"\d*\.?\d+", value) if value.startswith(("rgb", "hsl")) else []
    clear = len(parts) == 4 and float(parts[3]) == 0
    clear = clear or bool(re.fullmatch("#(?:...0|.{6}0[0-9a-f])", value))
    if value == "transparent" or clear or (value and value == background):
        return True
    one, other = _parse_color(value), _parse_color(background)
    if one is None or other is None:
        return False
    return all(abs(a - b) <= _MAX_COLOR_STEP for a, b in zip(one, other, strict=True))


def _parse_color(text: str) -> Color | None:
    """Parse a color to red, green and blue, 0 to 255, or None if it is unknown.

    >>> _parse_color("#fff"), _parse_color("rgb(255 254 253 / 90%)"), _parse_color("hsl(0,0%,100%)")
    ((255, 255, 255), (255, 254, 253), (255, 255, 255))
    """
    text = _COLOR_NAMES.get(text, text)
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

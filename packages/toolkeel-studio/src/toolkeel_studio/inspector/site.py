"""Templates, languages, and text as HTML in which nothing runs.

Every page that the user opens can send requests to this machine, and names can be made to resolve to it
(DNS rebinding). So a request must name this server in Host, bring the token and, if it changes something,
come from this page (Origin). A browser sends a cookie to all ports of a host, so the token's cookie has a
path that cannot be guessed. Text of tools and models is escaped by the templates, and the policy sent
with each page allows only its own script, by nonce, which cannot create HTML from text (Trusted Types).
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request

from toolkeel.content import Content, Image, content_text, data_url, detect_media_type
from toolkeel.observe.wording import (
    badges,
    compact,
    count,
    dollars,
    duration,
    escaped,
    visible_json,
    visible_line,
    visible_row,
)
from toolkeel_studio.inspector.forms import name_at

LONGEST = 200_000
"""Characters of one text that a page shows."""
MARKED = 20_000
"""Characters beyond which a text is no Markdown: brackets without end take a time that is squared."""
PICTURE = 4_000_000
"""Bytes of one picture that a page shows."""
FORM = 2_000_000
"""Bytes of a form, or of a call as JSON."""
LANGUAGES = ("en", "zh")
Told: TypeAlias = str | tuple[str, Mapping[str, str]]
"""What a page tells: a text, or one of its own with the words that belong into it."""
TOO_LATE = "decided already by {who}: {verdict}"
UNTOUCHED: Mapping[str, str] = {}
"""A form that nobody has sent."""


async def form(request: Request, most: int = FORM) -> dict[str, str]:
    """Read the fields of a submitted form.

    Args:
        request: That sent it.
        most: Bytes it may have.

    Raises:
        HTTPException: it is too large, or has too many fields.
    """
    sent = await body(request, most)
    try:
        return dict(parse_qsl(sent, keep_blank_values=True, max_num_fields=5000))
    except ValueError:
        raise HTTPException(413) from None


async def body(request: Request, most: int = FORM) -> str:
    """Read a request's body up to a maximum size.

    Args:
        request: It.
        most: Bytes it may have.

    Raises:
        HTTPException: it is too large.
    """
    found = bytearray()
    async for piece in request.stream():
        found += piece
        if len(found) > most:
            raise HTTPException(413)
    return found.decode("utf-8", "replace")


# — text —

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_MARKDOWN.disable("image")  # an address in a reply is fetched by nobody
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def plain(text: str) -> str:
    r"""Remove terminal control characters from a text, and escape what changes its direction.

    >>> plain("\x1b[31mred\x1b[0m\r\n\u202egnp.exe")
    'red\n\\u202egnp.exe'
    """
    return escaped(_ANSI.sub("", text.replace("\r\n", "\n")))


def markdown(text: str) -> Markup:
    """Markdown as HTML that holds no HTML, no picture and no script of its writer's."""
    if len(text) > MARKED:
        return Markup('<pre tabindex="0">{}</pre>').format(shown(text))
    made = _MARKDOWN.render(plain(text))
    return Markup(made.replace("<a href=", '<a rel="noopener noreferrer nofollow" href='))


def shown(text: str) -> str:
    """Return the part of a text that a page shows."""
    text = plain(text)
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n… {count(len(text) - LONGEST, 'more character')}"


def pictures(content: Content) -> list[tuple[str, str]]:
    """Address and words for each picture in a result, if its bytes are one."""
    blocks = [] if isinstance(content, str) else [b for b in content if isinstance(b, Image)]
    return [
        (data_url(Image(block.data, detect_media_type(block.data))), f"{len(block.data):,} bytes")
        for block in blocks
        if detect_media_type(block.data).startswith("image/") and len(block.data) <= PICTURE
    ]


def _when(at: float, form: str = "%H:%M:%S") -> str:
    return datetime.fromtimestamp(at).astimezone().strftime(form)


def _pretty(value: object) -> str:
    return visible_json(value) if not isinstance(value, str) else plain(value)


def address(name: str) -> str:
    """Quote a name as one segment of a URL."""
    return quote(name, safe="")


_WORDS: Mapping[str, str] = json.loads(
    (files("toolkeel_studio.inspector") / "static" / "zh.json").read_text("utf-8")
)
_MANY = re.compile(r"(\{n\} \w+)s\b")
_PAGES = Environment(
    loader=PackageLoader("toolkeel_studio.inspector"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters |= {
    "address": address,
    "compact": compact,
    "dollars": dollars,
    "duration": duration,
    "markdown": markdown,
    "name_at": name_at,
    "pictures": pictures,
    "pretty": _pretty,
    "shown": shown,
    "text_of": content_text,
    "visible": visible_line,
    "row": visible_row,
    "when": _when,
    "badges": badges,
    "dict": dict,
    "effects": lambda effects: badges(dataclasses.asdict(effects)),
}


def language(request: Request) -> str:
    """Return the page's language: the chosen one, else the browser's."""
    chosen = request.cookies.get("toolkeel_language", "")
    if chosen in LANGUAGES:
        return chosen
    return "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"


def page(name: str, request: Request, **values: Any) -> str:
    """Render a page as HTML.

    Args:
        name: Of its template.
        request: Who asks.
        values: What the template shows.
    """
    tongue = language(request)

    def say(text: Told, **parts: object) -> Markup:
        """Translate a text and insert its parts, escaped."""
        if isinstance(text, tuple):
            text, words = text
            parts = {key: say(word) for key, word in words.items()}
        known = _WORDS.get(text, text) if tongue == "zh" else text
        if parts.get("n") == 1:
            known = _MANY.sub(r"\1", known)
        if not parts:  # others' words may have braces
            return escape(known)
        return Markup(str(escape(known)).format(**{k: escape(v) for k, v in parts.items()}))

    lang = "zh-CN" if tongue == "zh" else "en"
    given = {"t": say, "lang": lang, "nonce": request.state.nonce, "path": request.url.path}
    given["here"] = request.state.here
    made = _PAGES.get_template(name).render(**given, **values)
    return made.encode("utf-8", "replace").decode()  # half a surrogate pair is no character

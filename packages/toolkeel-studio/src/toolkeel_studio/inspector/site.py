"""Templates, languages, and text rendered as inert HTML.

Every page that the user opens can send requests to this machine, and names can be made to resolve to it
(DNS rebinding). So a request must name this server in Host, bring the token and, if it changes something,
come from this page (Origin). A browser sends a cookie to all ports of a host, so the token's cookie has a
path that cannot be guessed. Text of tools and models is escaped by the templates, and the policy sent
with each page allows only its own script, by nonce, which cannot create HTML from text (Trusted Types).
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import parse_qsl, quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it.common.utils import normalizeReference
from markupsafe import Markup, escape
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse

from toolkeel.content import Content, Image, Source, content_text, data_url, detect_media_type
from toolkeel.effects import UNKNOWN, Effects
from toolkeel.observe.wording import (
    badges,
    compact,
    count,
    dollars,
    duration,
    scope_words,
    table_of,
    visible_json,
    visible_line,
    visible_row,
)
from toolkeel_studio.inspector.forms import name_at
from toolkeel_studio.markdown_html import MAX_MARKDOWN, markdown_html, without_controls

if TYPE_CHECKING:
    from toolkeel_studio.inspector.session_view import CallItem

LONGEST = 200_000
"""Maximum number of characters that a page shows of one text."""
PICTURE = 4_000_000
"""Maximum size of a displayed picture in bytes."""
SHORT_RESULT = 1200
"""Characters up to which a result is shown expanded."""
FORM = 2_000_000
"""Maximum size of a form, or of a call as JSON, in bytes."""
LANGUAGES = ("en", "zh")
PageText: TypeAlias = str | tuple[str, Mapping[str, str]]
"""A text of a page: plain, or a translatable template with its parts."""
TOO_LATE = "already decided by {who}: {verdict}"
UNTOUCHED: Mapping[str, str] = {}
"""The fields of a form that was not submitted."""


async def read_form(request: Request, most: int = FORM) -> dict[str, str]:
    """Read the fields of a submitted form.

    Args:
        request: The request with the form.
        most: Maximum size in bytes.

    Raises:
        HTTPException: The form is too large, or has too many fields.
    """
    sent = await read_body(request, most)
    try:
        return dict(parse_qsl(sent, keep_blank_values=True, max_num_fields=5000))
    except ValueError:
        raise HTTPException(413) from None


async def read_body(request: Request, most: int = FORM) -> str:
    """Read a request's body up to a maximum size.

    Args:
        request: The request.
        most: Maximum size in bytes.

    Raises:
        HTTPException: The body is too large.
    """
    found = bytearray()
    async for piece in request.stream():
        found += piece
        if len(found) > most:
            raise HTTPException(413)
    return found.decode("utf-8", "replace")


# — text —


def markdown(text: str, references: Mapping[str, Mapping[str, str]] | None = None) -> Markup:
    """Render Markdown as HTML without the author's HTML, pictures and scripts.

    Args:
        text: The text.
        references: Links that it may refer to, by their labels.
    """
    if len(text) > MAX_MARKDOWN:
        return Markup('<pre tabindex="0">{}</pre>').format(truncate_for_page(text))
    return Markup(markdown_html(text, references))


def markdown_with_sources(text: str, sources: Sequence[Source], place: str) -> Markup:
    """Render Markdown whose marks, such as ``[1]``, lead to the list of sources below it.

    Args:
        text: The reply.
        sources: Its sources.
        place: Beginning of the ids of the entries of that list, which end in their number.
    """
    marked = {s.mark: n for n, s in enumerate(sources, 1) if _MARK.fullmatch(s.mark)}
    known = {normalizeReference(mark[1:-1]): f"#{place}{n}" for mark, n in marked.items()}
    return markdown(text, {label: {"href": href, "title": ""} for label, href in known.items()})


def _is_link(url: str) -> bool:
    """Return True for an address that a page may link to."""
    return url.startswith(("https://", "http://"))


def truncate_for_page(text: str) -> str:
    """Truncate a text to the length that a page shows."""
    text = without_controls(text)
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n… {count(len(text) - LONGEST, 'more character')}"


def picture_urls(content: Content) -> list[tuple[str, str]]:
    """Return a data URL and a size for each block whose bytes are a picture."""
    blocks = [] if isinstance(content, str) else [b for b in content if isinstance(b, Image)]
    return [
        (data_url(Image(block.data, detect_media_type(block.data))), f"{len(block.data):,} bytes")
        for block in blocks
        if detect_media_type(block.data).startswith("image/") and len(block.data) <= PICTURE
    ]


def _when(at: float, form: str = "%H:%M:%S") -> str:
    return datetime.fromtimestamp(at).astimezone().strftime(form)


def _pretty(value: object) -> str:
    return visible_json(value) if not isinstance(value, str) else without_controls(value)


def is_expanded(call: CallItem) -> bool:
    """Return True for a call to show in full: active, failed, short, or with a picture."""
    if call.result is None or call.result.failed:
        return call.status in ("failed", "runs", "interrupted")
    return bool(picture_urls(call.result.content)) or len(call.result.text) <= SHORT_RESULT


def _is_date_value(text: str) -> bool:
    """Return True if a browser's date field shows this value; it would drop any other text."""
    return not text or _DATE.fullmatch(text) is not None


def _is_declared(effects: Effects) -> bool:
    """Return True if the tool's author declared its effects."""
    return effects != UNKNOWN


def quote_segment(name: str) -> str:
    """Quote a name as one segment of a URL."""
    return quote(name, safe="")


_WORDS: Mapping[str, str] = json.loads(
    (files("toolkeel_studio.inspector") / "static" / "zh.json").read_text("utf-8")
)
_MARK = re.compile(r"\[\w{1,8}\]")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_MANY = re.compile(r"(\{n\} \w+)s\b")
_PAGES = Environment(
    loader=PackageLoader("toolkeel_studio.inspector"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.tests |= {"expanded": is_expanded, "date_value": _is_date_value, "declared": _is_declared}
_PAGES.filters |= {
    "address": quote_segment,
    "cited": markdown_with_sources,
    "compact": compact,
    "dollars": dollars,
    "duration": duration,
    "is_link": _is_link,
    "markdown": markdown,
    "name_at": name_at,
    "pictures": picture_urls,
    "pretty": _pretty,
    "shown": truncate_for_page,
    "table_of": table_of,
    "text_of": content_text,
    "visible": visible_line,
    "row": visible_row,
    "when": _when,
    "badges": badges,
    "scope_words": scope_words,
    "dict": dict,
    "effects": lambda effects: badges(dataclasses.asdict(effects)),
}


def page_language(request: Request) -> str:
    """Return the page's language: the chosen one, else the browser's."""
    chosen = request.cookies.get("toolkeel_language", "")
    if chosen in LANGUAGES:
        return chosen
    return "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"


async def show_page(name: str, request: Request, status: int = 200, **values: Any) -> HTMLResponse:
    """Render a page in a thread, so that runs on this loop do not wait for it.

    Args:
        name: File name of the template.
        request: The request.
        status: HTTP status of the response.
        values: Variables of the template.
    """
    return HTMLResponse(await asyncio.to_thread(render_page, name, request, **values), status)


def render_page(name: str, request: Request, **values: Any) -> str:
    """Render a page as HTML.

    Args:
        name: File name of the template.
        request: The request, for the language and the nonce.
        values: Variables of the template.
    """
    tongue = page_language(request)

    def say(text: PageText, **parts: object) -> Markup:
        """Translate a text and insert its parts, escaped."""
        if isinstance(text, tuple):
            text, words = text
            parts = {key: say(word) for key, word in words.items()}
        known = _WORDS.get(text, text) if tongue == "zh" else text
        if parts.get("n") == 1:
            known = _MANY.sub(r"\1", known)
        if not parts:  # text from elsewhere may contain braces
            return escape(known)
        return Markup(str(escape(known)).format(**{k: escape(v) for k, v in parts.items()}))

    lang = "zh-CN" if tongue == "zh" else "en"
    variables = {"t": say, "lang": lang, "nonce": request.state.nonce, "path": request.url.path}
    variables["here"] = request.state.here
    app = request.scope.get("app")  # none before a person has logged in
    variables["has_durable"] = app is not None and app.state.has_durable
    variables["waiting"] = app.state.count_waiting() if app is not None else ""
    made = _PAGES.get_template(name).render(**variables, **values)
    return made.encode("utf-8", "replace").decode()  # a lone surrogate cannot be encoded

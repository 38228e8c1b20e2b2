"""The web page's ground: who may see it (loopback, token, Host, Origin), and how text becomes HTML.

Every page its user opens can send requests to this machine, and names can be made to point at it (DNS
rebinding), so a request must name this server in Host, bring the token, and for all that changes
something come from this page (Origin). What tools and models wrote is text: the templates escape it,
and the policy sent with each page lets nothing run but our one script, by its nonce, which can make no
HTML of text (Trusted Types).
"""

from __future__ import annotations

import dataclasses
import hmac
import json
import re
import secrets
from collections.abc import Mapping
from datetime import datetime
from importlib.resources import files
from typing import Any
from urllib.parse import parse_qsl, quote

from jinja2 import Environment, PackageLoader, StrictUndefined
from markdown_it import MarkdownIt
from markupsafe import Markup, escape
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolkeel.content import Content, Image, data_url, sniff, text_of
from toolkeel.observe.wording import (
    badges,
    compact,
    count,
    dollars,
    duration,
    visible_json,
    visible_line,
)

POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # not less: without it a form's Origin is "null"
    "Cache-Control": "no-store",
}
LONGEST = 200_000
"""Characters of one text that a page shows."""
PICTURE = 4_000_000
"""Bytes of one picture that a page shows."""
FORM = 2_000_000
"""Bytes of a form."""
LANGUAGES = ("en", "zh")


class Guard:
    """ASGI middleware: only who was given the token, and only this page's own requests.

    Args:
        app: What is guarded.
        port: Where it is served.
        token: The secret; also taken as ``Authorization: Bearer``.

    Attributes:
        once: The secret in the address that is opened first; it is good once.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self._cookie = f"toolkeel_{port}"
        self.once = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        scope["state"] = {**scope.get("state", {}), "nonce": secrets.token_urlsafe(16)}
        refusal = await self._refusal(request)
        await (refusal or self._app)(scope, receive, _sealed(send, scope["state"]["nonce"]))

    async def _refusal(self, request: Request) -> Response | None:
        """What is answered to those who may not; None for who may."""
        headers = request.headers
        if headers.get("host", "") not in self._hosts:
            return PlainTextResponse("This server answers to 127.0.0.1 and localhost alone.", 403)
        if request.url.path.startswith("/static/"):
            return None
        if _is(headers.get("authorization", "").removeprefix("Bearer "), self._token):
            return None
        if request.method not in ("GET", "HEAD") and not self._is_own(headers):
            return PlainTextResponse("This did not come from a page of this server.", 403)
        if request.url.path == "/login":
            return await self._log_in(request)
        if _is(request.cookies.get(self._cookie, ""), self._token):
            return None
        return HTMLResponse(page("login.html", request), 401)

    def _is_own(self, headers: Headers) -> bool:
        origin = headers.get("origin", "")
        return origin.startswith("http://") and origin.removeprefix("http://") in self._hosts

    async def _log_in(self, request: Request) -> Response:
        given = request.query_params.get("key", "")
        if request.method == "POST":
            given = (await form(request)).get("key", "").strip()
        if _is(given, self._token) or _is(given, self.once):
            self.once = secrets.token_urlsafe(24) if _is(given, self.once) else self.once
            answer = RedirectResponse("/", 303)
            answer.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            return answer
        return HTMLResponse(page("login.html", request, wrong=bool(given)), 401)


def _is(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


def _sealed(send: Send, nonce: str) -> Send:
    """`send` that adds the headers every answer has."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Content-Security-Policy"] = POLICY.format(nonce=nonce)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return sending


async def form(request: Request) -> dict[str, str]:
    """The fields that a form sent.

    Raises:
        ValueError: it is too large.
    """
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > FORM:
            raise ValueError(f"a form has at most {FORM:,} bytes")
    fields = parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=5000)
    return dict(fields)


# — text —

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_MARKDOWN.disable("image")  # an address in a reply is fetched by nobody
_ANSI = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f]"
)


def plain(text: str) -> str:
    r"""What a terminal would show of a text: without what it would obey.

    >>> plain("\x1b[31mred\x1b[0m\r\nend\x1b]0;title\x07")
    'red\nend'
    """
    return _ANSI.sub("", text.replace("\r\n", "\n"))


def markdown(text: str) -> Markup:
    """Markdown as HTML that holds no HTML, no picture and no script of its writer's."""
    if len(text) > LONGEST // 4:
        return Markup('<pre tabindex="0">{}</pre>').format(shown(text))
    made = _MARKDOWN.render(plain(text))
    return Markup(made.replace("<a href=", '<a rel="noopener noreferrer nofollow" href='))


def shown(text: str) -> str:
    """A text as far as a page shows it."""
    text = plain(text)
    if len(text) <= LONGEST:
        return text
    return f"{text[:LONGEST]}\n… {count(len(text) - LONGEST, 'more character')}"


def pictures(content: Content) -> list[tuple[str, str]]:
    """Address and words for each picture in a result, if its bytes are one."""
    blocks = [] if isinstance(content, str) else [b for b in content if isinstance(b, Image)]
    return [
        (data_url(Image(block.data, sniff(block.data))), f"{len(block.data):,} bytes")
        for block in blocks
        if sniff(block.data).startswith("image/") and len(block.data) <= PICTURE
    ]


def _when(at: float, form: str = "%H:%M:%S") -> str:
    return datetime.fromtimestamp(at).astimezone().strftime(form)


def _pretty(value: object) -> str:
    return visible_json(value) if not isinstance(value, str) else plain(value)


def _address(name: str) -> str:
    return quote(name, safe="")


_WORDS: Mapping[str, str] = json.loads(
    (files("toolkeel.inspector") / "static" / "zh.json").read_text("utf-8")
)
_MANY = re.compile(r"(\{n\} \w+)s\b")
_PAGES = Environment(
    loader=PackageLoader("toolkeel.inspector"),
    autoescape=True,
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)
_PAGES.filters |= {
    "address": _address,
    "compact": compact,
    "dollars": dollars,
    "duration": duration,
    "markdown": markdown,
    "pictures": pictures,
    "pretty": _pretty,
    "shown": shown,
    "text_of": text_of,
    "visible": visible_line,
    "when": _when,
    "badges": badges,
    "dict": dict,
    "effects": lambda effects: badges(dataclasses.asdict(effects)),
}


def language(request: Request) -> str:
    """The page's language: as chosen, else as the browser asks for."""
    chosen = request.cookies.get("toolkeel_language", "")
    if chosen in LANGUAGES:
        return chosen
    return "zh" if request.headers.get("accept-language", "").lower().startswith("zh") else "en"


def page(name: str, request: Request, **values: Any) -> str:
    """A page as HTML.

    Args:
        name: Of its template.
        request: Who asks.
        values: What the template shows.
    """
    tongue = language(request)

    def say(text: str, **parts: object) -> Markup:
        """A sentence of ours in the page's language, with parts that are escaped."""
        known = _WORDS.get(text, text) if tongue == "zh" else text
        if parts.get("n") == 1:
            known = _MANY.sub(r"\1", known)
        return Markup(str(escape(known)).format(**{k: escape(v) for k, v in parts.items()}))

    common = {
        "t": say,
        "lang": "zh-CN" if tongue == "zh" else "en",
        "nonce": request.state.nonce,
        "path": request.url.path,
    }
    return _PAGES.get_template(name).render(**common, **values)

"""Access to the pages: the token, Host and Origin of each request, and each response's headers (CSP)."""

from __future__ import annotations

import hashlib
import hmac
import secrets

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from toolkeel_studio.inspector.site import read_form, render_page

POLICY = (
    "default-src 'none'; script-src 'nonce-{nonce}'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
LOGIN = 4096
"""Maximum size of the login form in bytes."""
COOKIE = "toolkeel"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",  # not less: without it a form's Origin is "null"
    "Cache-Control": "no-store",
}


class Guard:
    """ASGI middleware: admits only holders of the token, and only requests of this page.

    Args:
        app: The guarded application.
        port: Port of the server.
        token: The secret; also accepted as ``Authorization: Bearer``.

    Attributes:
        once: One-time secret in the first URL.
        place: Path prefix of all pages and of the cookie: browsers send cookies to every port of a host,
            but only below their path, which other servers do not know.
    """

    def __init__(self, app: ASGIApp, port: int, token: str) -> None:
        self._app = app
        self._token = token
        self._hosts = {f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]")}
        self.place = f"/{hashlib.sha256(f'place {token}'.encode()).hexdigest()[:32]}"
        self.once = secrets.token_urlsafe(24)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = Request(scope, receive)
        nonce, path = secrets.token_urlsafe(16), scope["path"]
        here = self.place if path.startswith(f"{self.place}/") else ""
        scope["path"] = path.removeprefix(here)
        scope["state"] = {**scope.get("state", {}), "nonce": nonce, "here": here}
        refusal = await self._refusal(request, here)
        await (refusal or self._app)(scope, receive, _with_security_headers(send, nonce, here))

    async def _refusal(self, request: Request, here: str) -> Response | None:
        """Return the response to a request that is not allowed, or None if it is."""
        headers = request.headers
        if headers.get("host", "") not in self._hosts:
            return PlainTextResponse(
                "This server only accepts requests to 127.0.0.1 or localhost.", 403
            )
        if request.url.path.startswith("/static/"):
            return None
        if _is(headers.get("authorization", "").removeprefix("Bearer "), self._token):
            return None
        if request.method not in ("GET", "HEAD") and not self._is_own(headers):
            return PlainTextResponse("This request did not come from a page of this server.", 403)
        if request.url.path == "/login" and not here:
            return await self._log_in(request)
        cookies = headers.get("cookie", "").split(
            ";"
        )  # other servers may set cookies of the same name
        if here and any(_is(each.strip(), f"{COOKIE}={self._token}") for each in cookies):
            return None
        return HTMLResponse(render_page("login.html", request), 401)

    def _is_own(self, headers: Headers) -> bool:
        origin = headers.get("origin", "")
        return origin.startswith("http://") and origin.removeprefix("http://") in self._hosts

    async def _log_in(self, request: Request) -> Response:
        key = request.query_params.get("key", "")
        if request.method == "POST":
            try:
                key = (await read_form(request, LOGIN)).get("key", "").strip()
            except HTTPException as error:
                return PlainTextResponse("This is not a valid login form.", error.status_code)
        if _is(key, self._token) or _is(key, self.once):
            self.once = secrets.token_urlsafe(24) if _is(key, self.once) else self.once
            answer = RedirectResponse(f"{self.place}/", 303)
            answer.set_cookie(
                COOKIE, self._token, path=self.place, httponly=True, samesite="strict"
            )
            return answer
        return HTMLResponse(render_page("login.html", request, wrong=bool(key)), 401)


def _is(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode(), secret.encode())


def _with_security_headers(send: Send, nonce: str, here: str) -> Send:
    """Wrap `send` to add the security headers and to prefix redirects with the path."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["Content-Security-Policy"] = POLICY.format(nonce=nonce)
            for name, value in HEADERS.items():
                headers[name] = value
            if headers.get("location", "").startswith("/"):
                headers["location"] = here + headers["location"]
        await send(message)

    return sending

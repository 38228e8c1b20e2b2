"""Who may see the inspector: the token, Host and Origin of a request, the headers of an answer."""

from __future__ import annotations

import re
import socket
from contextlib import ExitStack, suppress

import httpx2
import pytest

from tests.inspector.serving import Served, served
from toolkeel.mcp.server import keep_alive


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> object:
    with served(tmp_path_factory.mktemp("site")) as made:
        yield made


def bare(page: Served, path: str = "/tools", **headers: str) -> httpx2.Response:
    """A request that brings nothing but what it is given."""
    return httpx2.get(page.origin + path, headers=headers, timeout=60)


def test_without_the_token_nothing_but_the_login_is_seen(page: Served) -> None:
    for path in ("/", "/tools", "/sessions", "/events/x", "/stats", "/language/zh"):
        answer = bare(page, path)
        assert answer.status_code == 401
        assert "search" not in answer.text.replace("type=search", "")
    assert bare(page, Authorization=f"Bearer {page.inspector.token}").status_code == 200
    assert bare(page, Authorization="Bearer x").status_code == 401
    for place in ("", page.place):
        assert bare(page, f"{place}/tools", Cookie="toolkeel=x").status_code == 401


def test_a_server_on_another_port_of_this_host_is_sent_no_token_and_can_set_none(
    page: Served,
) -> None:
    with httpx2.Client(timeout=60) as browser:
        browser.get(page.inspector.url.replace(page.inspector.url[-32:], page.inspector.token))
        for path in ("/", "/tools", "/login", "/static/live.js"):
            asked = browser.build_request("GET", f"http://127.0.0.1:1{path}")
            assert "cookie" not in asked.headers
        browser.cookies.set("toolkeel", "of another port", "127.0.0.1", "/")
        assert browser.get(f"{page.base}/tools").status_code == 200
    mine = f"toolkeel={page.inspector.token}"
    assert (
        bare(page, "/tools", Cookie=mine).status_code == 401
    )  # whoever has not been told the place
    for both in (f"toolkeel=x; {mine}", f"{mine}; toolkeel=x"):
        assert bare(page, f"{page.place}/tools", Cookie=both).status_code == 200


def test_a_link_opens_the_page_once_and_the_token_is_typed_after_that(page: Served) -> None:
    link = page.inspector.url
    first = httpx2.get(link, timeout=60)
    assert (first.status_code, first.headers["location"]) == (303, f"{page.place}/")
    cookie = first.headers["set-cookie"].lower()
    assert f"path={page.place};" in cookie + ";"
    assert "httponly" in cookie and "samesite=strict" in cookie
    again = httpx2.get(link, timeout=60)
    assert again.status_code == 401 and "already used" in again.text
    with httpx2.Client(base_url=page.origin, timeout=60) as other:
        typed = {"key": page.inspector.token}
        assert other.post("/login", data=typed, headers={"Origin": page.origin}).status_code == 303
        assert other.get(f"{page.place}/tools").status_code == 200


@pytest.mark.parametrize("host", ["evil.test", "127.0.0.1", "127.0.0.1.evil.test:1", ""])
def test_another_name_for_this_machine_is_refused(host: str, page: Served) -> None:
    answer = bare(page, Host=host, Authorization=f"Bearer {page.inspector.token}")
    assert answer.status_code == 403


@pytest.mark.parametrize(
    "origin", ["", "null", "https://evil.test", "http://127.0.0.1:1", "file://"]
)
def test_a_form_of_another_page_changes_nothing(origin: str, page: Served) -> None:
    headers = {"Origin": origin} if origin else {}
    before = page.sessions.list()
    for path in ("/tools/search", "/sessions", "/sessions/x", "/login"):
        answer = page.client.post(path, data={"text": "hi"}, headers=headers)
        assert answer.status_code == 403
    assert page.sessions.list() == before


def test_every_answer_lets_nothing_run_but_our_script(page: Served) -> None:
    nonces = set()
    for path in ("/tools", "/tools/none", "/static/live.js", "/static/none", "/login"):
        headers = page.client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy and "trusted-types 'none'" in policy
        assert "unsafe" not in policy
        nonces.add(re.findall(r"'nonce-([\w-]+)'", policy)[0])
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
    assert len(nonces) == 5


def test_who_says_half_of_something_or_reads_nothing_keeps_nobody_out(
    page: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keep_alive, "MAX_CONNECTIONS", 20)
    monkeypatch.setattr(keep_alive, "REQUEST_SECONDS", 1.0)
    place = page.origin.removeprefix("http://").split(":")
    token = page.inspector.token.encode()
    half = b"GET /sessions HTTP/1.1\r\nHost: " + ":".join(place).encode() + b"\r\nX: "
    asks = b"\r\nAuthorization: Bearer " + token + b"\r\n\r\n"
    with ExitStack() as stack:
        for n in range(200):
            one = stack.enter_context(socket.create_connection((place[0], int(place[1]))))
            with suppress(ConnectionError):  # it is let go while it speaks
                one.sendall(half + asks * (n % 2))
        assert page.client.get("/tools").status_code == 200
        page.post("/sessions", text="Hi.", name="meanwhile")
        page.until("/sessions/meanwhile", "Hello")
        with suppress(ConnectionError):
            assert one.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_what_anybody_may_send_to_log_in_is_short(page: Served) -> None:
    for length, code in ((100, 401), (5000, 413)):
        sent = {"key": "x" * length}
        headers = {"Origin": page.origin}
        answer = httpx2.post(f"{page.origin}/login", data=sent, headers=headers, timeout=60)
        assert answer.status_code == code

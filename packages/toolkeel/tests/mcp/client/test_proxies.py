"""Servers behind a proxy, as the environment sets it: a real one, on loopback."""

from __future__ import annotations

import asyncio
import json
import ssl
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx2
import pytest

from tests.mcp.certificates import make_certificates
from tests.mcp.peers import http_peer
from toolkeel import RunContext, SetupError, ToolCall, Toolset
from toolkeel.call.body.sync_bridge import on_own_loop
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.client.proxies import find_proxy
from toolkeel.mcp.config import ServerConfig, read_config

TLS_PEER = [sys.executable, str(Path(__file__).parents[1] / "tls_peer.py")]
NAMES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


class Proxy(ThreadingHTTPServer):
    """A proxy that knows one address, and where it is.

    Attributes:
        home: The port on this machine that every name leads to.
        asked: Hosts it was asked for.
    """

    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Passing)
        self.home = 0
        self.asked: list[str] = []


class Passing(BaseHTTPRequestHandler):
    server: Proxy

    def do_POST(self) -> None:
        url = httpx2.URL(self.path)
        self.server.asked.append(f"{url.host} as {self.headers.get('proxy-authorization')}")
        body = self.rfile.read(int(self.headers["content-length"] or 0))
        kept = {key: value for key, value in self.headers.items() if key.lower() not in _OWN}
        here = f"http://127.0.0.1:{self.server.home}{url.raw_path.decode()}"
        with httpx2.Client(trust_env=False, timeout=30) as direct:
            answer = direct.request(self.command, here, content=body, headers=kept)
        self.send_response(answer.status_code)
        for key, value in answer.headers.items():
            if key.lower() not in _OWN:
                self.send_header(key, value)
        self.send_header("content-length", str(len(answer.content)))
        self.end_headers()
        self.wfile.write(answer.content)

    def do_DELETE(self) -> None:
        self.do_POST()

    def do_GET(self) -> None:
        self.send_error(405)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


_OWN = ("host", "content-length", "transfer-encoding", "connection", "proxy-authorization", "date")


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[Proxy]:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    server = Proxy()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("HTTP_PROXY", f"http://me:pw@127.0.0.1:{server.server_port}")
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()


async def echoed(url: str) -> str:
    async with MCPServer(url, trust=True) as server:
        tools = Toolset(await server.get_tools())
        [message] = await tools.run([ToolCall("1", "echo", {"text": "hi"})], RunContext())
        return message.text


def test_a_server_is_reached_by_the_proxy_and_one_of_this_machine_without(proxy: Proxy) -> None:
    with http_peer() as (url, _):
        proxy.home = httpx2.URL(url).port or 0
        assert asyncio.run(echoed(url)) == "hi"
        assert proxy.asked == []
        assert asyncio.run(echoed("http://mcp.example.com/mcp")) == "hi"
        assert set(proxy.asked) == {"mcp.example.com as Basic bWU6cHc="}


def test_a_proxy_that_cannot_be_used_is_told_without_its_password(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://me:secret@127.0.0.1:1")
    with pytest.raises(SetupError, match="the proxy that the environment sets") as caught:
        asyncio.run(echoed("http://mcp.example.com/mcp"))
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("http://far.example.com/mcp", "http://by:1"),
        ("https://far.example.com/mcp", "http://all:2"),
        ("http://near.example.org/mcp", ""),
        ("http://a.near.example.org/mcp", ""),
        ("http://far.example.com:8080/mcp", ""),
        ("http://localhost:3000/mcp", ""),
        ("http://127.0.0.1/mcp", ""),
        ("http://[::1]/mcp", ""),
        ("http://10.1.2.3:8080/mcp", ""),
        ("http://11.1.2.3/mcp", "http://by:1"),
        ("http://[fd00::7]/mcp", ""),
        ("http://10.example.com/mcp", "http://by:1"),
    ],
)
def test_which_proxy_an_address_is_reached_by(
    proxy: Proxy, monkeypatch: pytest.MonkeyPatch, url: str, found: str
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "by:1")
    monkeypatch.setenv("ALL_PROXY", "http://all:2")
    monkeypatch.setenv("NO_PROXY", "near.example.org,far.example.com:8080, 10.0.0.0/8,fd00::/8,x/y")
    assert find_proxy(httpx2.URL(url)) == found


# — TLS —


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("certificates")
    make_certificates(made)
    return made


@pytest.fixture(scope="module", params=["http", "sse"])
def private(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """The address of a server that wants to know who comes, in either form."""
    words = [*TLS_PEER, str(folder), request.param]
    with http_peer(words, "/mcp" if request.param == "http" else "/sse") as (url, _):
        yield url.replace("http:", "https:")


def said(server: MCPServer) -> str:
    async def use() -> str:
        try:
            tools = Toolset(await server.get_tools())
            [found] = await tools.run([ToolCall("1", "echo", {"text": "北京"})], RunContext())
            return found.text
        finally:
            await server.close()

    return asyncio.run(use())


def entry(folder: Path, url: str, **tls: str) -> ServerConfig:
    file = folder / "mcp.json"
    file.write_text(json.dumps({"mcpServers": {"x": {"url": url, "tls": tls}}}))
    return read_config(file)["x"]


def test_a_file_names_whom_to_trust_and_who_comes(folder: Path, private: str) -> None:
    own = {"cert": "client.pem", "key": str(folder / "client.key")}
    config = entry(folder, private, ca="ca.pem", **own)
    assert said(MCPServer(config, trust=True, consent=True)) == "北京"
    for less in ({"ca": "ca.pem"}, own):  # unknown, or unknowing
        with pytest.raises(SetupError, match="cannot be used"):
            said(MCPServer(entry(folder, private, **less), trust=True, consent=True))


def test_a_client_of_ones_own_brings_its_certificates_and_stays_open(
    folder: Path, private: str
) -> None:
    context = ssl.create_default_context(cafile=str(folder / "ca.pem"))
    context.load_cert_chain(folder / "client.pem", folder / "client.key")
    seen: list[str] = []

    async def note(request: httpx2.Request) -> None:
        seen.append(request.headers.get("x-team", ""))

    lent = httpx2.AsyncClient(
        verify=context, headers={"x-team": "keel"}, event_hooks={"request": [note]}
    )
    assert said(MCPServer(private, trust=True, http_client=lent)) == "北京"
    assert seen and set(seen) == {"keel"} and not lent.is_closed
    asyncio.run(on_own_loop(lent.aclose))


def test_the_environment_says_whom_to_trust(
    folder: Path, private: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(folder / "ca.pem"))
    config = entry(folder, private, cert="client.pem", key="client.key")
    assert said(MCPServer(config, trust=True, consent=True)) == "北京"


@pytest.mark.parametrize(
    ("tls", "why"),
    [
        ({"ca": "none.pem"}, "No such file"),
        ({"cert": "client.pem", "key": "locked.key"}, "passphrase"),
        ({"cert": "client.pem", "key": "server.key"}, "cannot be used"),
    ],
)
def test_files_that_cannot_be_used_are_named(folder: Path, tls: dict[str, str], why: str) -> None:
    config = entry(folder, "https://127.0.0.1:1/mcp", **tls)
    with pytest.raises(SetupError, match=why) as caught:
        said(MCPServer(config, consent=True))
    assert str(folder / tls.get("key", "none.pem")) in str(caught.value)


def test_what_tls_does_not_have_is_refused(folder: Path) -> None:
    with pytest.raises(SetupError, match="ca, cert and key, each a PEM file; not 'verify'"):
        entry(folder, "https://127.0.0.1:1/mcp", verify="no")

"""Servers on the network: a broken request costs one call, and says what is known of it."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import threading
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit

import httpx2
import mcp_types as types
import pytest
from mcp.shared.message import SessionMessage

from tests.mcp.peers import SSE_PEER, answers, free_port, http_peer
from tests.waiting import until_sync
from toolkeel import SetupError, ToolCall, ToolMessage, Toolset
from toolkeel.mcp.client.http import BoundedTransport, NetworkOptions, http
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.config import ServerConfig

Reply = Callable[[BaseHTTPRequestHandler, dict[str, Any]], None]


def run(tools: Toolset, name: str, **arguments: object) -> ToolMessage:
    [message] = tools.run_sync([ToolCall("1", name, arguments)])
    return message


def send(handler: BaseHTTPRequestHandler, body: Any, status: int = 200, **headers: str) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in {"content-type": "application/json", **headers}.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def answer(message: dict[str, Any], result: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": message.get("id"), "result": result}


@contextmanager
def old_server(reply: Reply, port: int = 0, version: str = "HTTP/1.1") -> Iterator[str]:
    """A server of 2025-11-25 with one tool, whose calls `reply` answers."""
    sessions: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = version

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            match body.get("method"):
                case "initialize":
                    sessions.append(f"s{len(sessions)}")
                    result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                              "serverInfo": {"name": "x", "version": "0"}}  # fmt: skip
                    send(self, answer(body, result), mcp_session_id=sessions[-1])
                case "tools/list":
                    tool = {"name": "act", "inputSchema": {"type": "object"}}
                    send(self, answer(body, {"tools": [tool]}))
                case "tools/call" | "ping":
                    reply(self, body)
                case "resources/subscribe" | "resources/unsubscribe":
                    send(self, answer(body, {}))
                case "server/discover":
                    error = {"code": -32601, "message": "Method not found"}
                    send(self, {"jsonrpc": "2.0", "id": body["id"], "error": error}, 404)
                case _:
                    self.send_response(202)
                    self.send_header("content-length", "0")
                    self.end_headers()

        def do_GET(self) -> None:
            send(self, b"", 405)

        def do_DELETE(self) -> None:
            send(self, b"", 405)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp"
    finally:
        server.shutdown()
        server.server_close()


def calls(reply: Reply, count: int = 1) -> list[ToolMessage]:
    """What calls of such a server end as, one after another."""
    with old_server(reply) as url:
        server = MCPServer(url, trust=True, timeout=20)
        tools = Toolset(server.tools())
        messages = [run(tools, "act") for _ in range(count)]
        asyncio.run(server.close())
    return messages


OK = {"content": [{"type": "text", "text": "done"}]}


def test_the_new_revision_works_over_http_and_survives_a_restart() -> None:
    with http_peer() as (url, process):
        server = MCPServer(url, trust=True, timeout=10)
        tools = Toolset(server.tools())
        assert run(tools, "echo", text="北京").content == "北京"
        process.kill()
        process.wait()
        until_sync(
            lambda: not answers(urlsplit(url).port or 0), 30
        )  # the program ends a moment later
        lost = run(tools, "echo", text="?")
        assert lost.kind == "tool_error" and "the call was not sent." in lost.text.lower()
    asyncio.run(server.close())


@pytest.mark.slow
def test_a_server_that_knows_only_the_older_form_is_spoken_to_in_it() -> None:
    with http_peer(SSE_PEER, "/sse") as (url, _):
        server = MCPServer(url, trust=True)
        assert run(Toolset(server.tools()), "echo", text="北京").content == "北京"
        asyncio.run(server.close())


def test_an_address_nobody_listens_at_is_told() -> None:
    with pytest.raises(SetupError, match="cannot be reached"):
        MCPServer(f"http://127.0.0.1:{free_port()}/mcp").tools()


def test_a_call_whose_connection_breaks_has_an_unknown_outcome_and_is_not_sent_again() -> None:
    seen: list[int] = []

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        seen.append(body["id"])
        if len(seen) == 1:
            handler.close_connection = True
            handler.connection.close()
        else:
            send(handler, answer(body, OK))

    first, second = calls(reply, 2)
    assert first.kind == "unknown_outcome"
    assert (second.content, len(seen)) == ("done", 2)


def test_a_session_the_server_has_forgotten_is_begun_anew_and_the_call_sent_again() -> None:
    sessions: list[str] = []

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        sessions.append(handler.headers["mcp-session-id"])
        if len(sessions) == 1:
            send(handler, b"", 404)
        else:
            send(handler, answer(body, OK))

    [message] = calls(reply)
    assert message.content == "done"
    assert sessions == ["s0", "s1"]


def test_a_server_that_only_says_its_session_is_over_is_not_called_twice() -> None:
    seen: list[str] = []

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        seen.append(handler.headers["mcp-session-id"])
        error = {"code": -32600, "message": "Session terminated"}
        send(handler, {"jsonrpc": "2.0", "id": body["id"], "error": error})

    [message] = calls(reply)
    assert message.kind == "tool_error" and "answered the call with an error" in message.text
    assert seen == ["s0"]


@pytest.mark.parametrize(
    ("status", "type"), [(202, "application/json"), (200, "text/html"), (302, "text/html")]
)
def test_an_answer_that_says_nothing_of_the_call_leaves_its_outcome_unknown(
    status: int, type: str
) -> None:
    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        headers = {"content-type": type, "location": "http://127.0.0.1:1/else"}
        send(handler, b"", status, **headers)

    [message] = calls(reply)
    assert message.kind == "unknown_outcome" and "not known" in message.text


@pytest.mark.parametrize(
    ("status", "kind", "told"),
    [
        (401, "tool_error", "HTTP 401: no token"),
        (429, "tool_error", "HTTP 429"),
        (500, "unknown_outcome", "HTTP 500"),
        (502, "unknown_outcome", "HTTP 502: no token"),
        (503, "unknown_outcome", "HTTP 503"),
    ],
)
def test_a_refusal_is_told_with_its_status_and_a_broken_way_is_none(
    status: int, kind: str, told: str
) -> None:
    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        send(handler, b"no token", status, content_type="text/plain")

    [message] = calls(reply)
    assert message.kind == kind and told in message.text
    assert ("the server refused the request: " in message.text) is (kind == "tool_error")


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_an_answer_too_large_fails_its_call_and_takes_no_memory(encoding: str) -> None:
    big = json.dumps(answer({"id": 1}, {"content": [], "x": "x" * (33 * 1024 * 1024)})).encode()
    body = gzip.compress(big, 1) if encoding else big

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        headers = {"content_encoding": encoding} if encoding else {}
        send(handler, body, **headers)

    [message] = calls(reply)
    assert message.failed
    assert "larger than" in message.text


@pytest.mark.parametrize(
    ("home", "address", "asked"),
    [
        ("tools.example.org", "https://tools.example.org/.well-known/x", True),
        ("tools.example.org", "https://login.example.com/x", True),
        ("tools.example.org", "https://1.1.1.1/x", True),
        ("tools.example.org", "http://login.example.com/x", False),
        ("tools.example.org", "http://169.254.169.254/latest/meta-data", False),
        ("tools.example.org", "https://169.254.169.254/x", False),
        ("tools.example.org", "https://10.0.0.1/x", False),
        ("tools.example.org", "https://[::1]/x", False),
        ("tools.example.org", "https://[2002:7f00:1::]/x", False),
        ("tools.example.org", "https://[64:ff9b::7f00:1]/x", False),
        ("tools.example.org", "https://[::ffff:127.0.0.1]/x", False),
        ("tools.example.org", "https://224.0.0.1/x", False),
        ("127.0.0.1", "http://127.example.org/x", False),
        ("tools.example.org", "https://localhost/x", False),
        ("tools.example.org", "file:///etc/passwd", False),
        ("127.0.0.1", "http://127.0.0.1:9000/x", True),
        ("localhost", "http://127.0.0.1:9000/x", True),
        ("127.0.0.1", "http://169.254.169.254/x", False),
        ("10.0.0.5", "http://10.0.0.5:9000/x", True),
        ("10.0.0.5", "http://10.0.0.6/x", False),
    ],
)
def test_what_a_server_names_is_asked_only_where_anybody_could_ask(
    home: str, address: str, asked: bool
) -> None:
    """T17: where to log in, for one, is said by the server."""
    sent: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        sent.append(str(request.url))
        return httpx2.Response(200)

    async def ask() -> int:
        transport = BoundedTransport(httpx2.MockTransport(answer), home=f"http://{home}/mcp")
        async with httpx2.AsyncClient(transport=transport) as client:
            return (await client.get(address)).status_code

    assert asyncio.run(ask()) == (200 if asked else 403)
    assert sent == ([address] if asked else [])


class NamesAnotherPlace(httpx2.Auth):
    """A login for which one has to ask where the server says."""

    def auth_flow(
        self, request: httpx2.Request
    ) -> Generator[httpx2.Request, httpx2.Response, None]:
        yield httpx2.Request("GET", "http://169.254.169.254/latest")
        yield httpx2.Request("GET", "https://login.example.org/metadata")
        yield request


@pytest.mark.parametrize("older", [False, True])
def test_in_each_form_a_login_asks_no_private_place_and_takes_no_header_elsewhere(
    older: bool,
) -> None:
    """T17, T21: the older form (SSE) is tried wherever the newer one fails."""
    seen: list[tuple[str, str, str]] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        headers = request.headers
        said = headers.get("x-key", ""), headers.get("authorization", "")
        seen.append((request.url.host, *said))
        return httpx2.Response(302, headers={"location": "http://169.254.169.254/"})

    async def ask() -> None:
        async with httpx2.AsyncClient(
            transport=httpx2.MockTransport(answer),
            headers={"x-key": "k"},
            auth=("ada", "pass"),
            follow_redirects=True,
        ) as lent:
            home = ServerConfig("tools", url="https://tools.example.org/mcp")
            network = NetworkOptions(home, NamesAnotherPlace(), lent)
            with suppress(Exception):
                async with http(network, 5, older=older) as (read, write):
                    await write.send(
                        SessionMessage(types.JSONRPCRequest(jsonrpc="2.0", id=1, method="ping"))
                    )
                    await asyncio.wait_for(read.__anext__(), 5)

    asyncio.run(ask())
    assert {host for host, *_ in seen} == {"login.example.org", "tools.example.org"}
    assert all(bool(key) and bool(auth) for host, key, auth in seen if host.startswith("tools"))
    assert not any(key or auth for host, key, auth in seen if host.startswith("login"))


def test_a_server_that_moves_a_call_to_another_path_of_its_own_gets_it_there() -> None:
    paths: list[str] = []

    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        paths.append(handler.path)
        if handler.path == "/mcp":
            send(handler, b"", 307, location="/mcp/")
        else:
            send(handler, answer(body, OK))

    [message] = calls(reply)
    assert (message.content, paths) == ("done", ["/mcp", "/mcp/"])


@pytest.mark.parametrize("form", ["json", "events"])
@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_an_answer_that_is_compressed_though_nothing_asked_for_it_is_read(
    encoding: str, form: str
) -> None:
    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        text = json.dumps(answer(body, OK)).encode()
        events = {"content_type": "text/event-stream"} if form == "events" else {}
        text = b"data: " + text + b"\n\n" if events else text
        packed = gzip.compress(text) if encoding == "gzip" else zlib.compress(text)
        send(handler, packed, content_encoding=encoding, **events)

    [message] = calls(reply)
    assert message.content == "done"


@pytest.mark.parametrize(
    ("encoding", "told"), [("gzip", "decompressed"), ("br", "compressed (br)")]
)
def test_an_answer_that_cannot_be_decompressed_is_told(encoding: str, told: str) -> None:
    [message] = calls(lambda handler, _: send(handler, b"{}", content_encoding=encoding))
    assert message.kind == "unknown_outcome" and told in message.text


def test_a_server_that_sends_a_call_elsewhere_is_not_followed_with_our_headers() -> None:
    """T21"""
    with socket.create_server(("127.0.0.1", 0)) as second:
        second.settimeout(0)
        place = f"http://127.0.0.1:{second.getsockname()[1]}/mcp"
        [message] = calls(lambda handler, _: send(handler, b"", 307, location=place))
        assert message.failed
        with pytest.raises(BlockingIOError):  # nobody has called
            second.accept()


@pytest.mark.slow
@pytest.mark.parametrize("piece", [b"x" * 65536, b"x" * 65536 + b"\ndata: "])
def test_an_event_without_an_end_fails_its_call_and_takes_no_memory(piece: bytes) -> None:
    """T20: the line of an event that never ends, and an event of lines that never ends."""

    def reply(handler: BaseHTTPRequestHandler, _: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.end_headers()
        with suppress(OSError):  # the client goes, as it should
            handler.wfile.write(b"data: ")
            while True:
                handler.wfile.write(piece)

    [message] = calls(reply)
    assert message.failed and message.kind in ("unknown_outcome", "tool_error", "timeout")


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"jsonrpc":"2.0","id":1}', b"[" * 100_000])
def test_an_answer_that_is_none_fails_its_call(body: bytes) -> None:
    [message] = calls(lambda handler, _: send(handler, body))
    assert message.kind == "unknown_outcome"


@pytest.mark.parametrize("code", [-32000, -32001, 1001, 1002, 1003])
def test_what_a_peer_says_is_not_taken_for_what_the_transport_found_out(code: int) -> None:
    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        error = {"code": code, "message": "so says the server", "data": {"toolkeel": "1"}}
        send(handler, json.dumps({"jsonrpc": "2.0", "id": body["id"], "error": error}).encode())

    [message] = calls(reply)
    assert message.kind == "tool_error" and "answered the call with an error" in message.text
    assert message.details["data"] == {"toolkeel": "1"}


@pytest.mark.parametrize("stream", [False, True])
def test_half_an_emoji_costs_itself_and_not_the_answer(stream: bool) -> None:
    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        said = json.dumps(answer(body, {"content": [{"type": "text", "text": "a \ud83d b"}]}))
        if stream:
            events = {"content-type": "text/event-stream"}
            send(handler, f"data: {said}\n\n".encode(), **events)
        else:
            send(handler, said.encode())

    [message] = calls(reply)
    assert message.content == "a \ufffd b"


@pytest.mark.parametrize(
    ("kind", "form"),
    [
        ("text/event-stream", "data: {}"),  # a stream that ends without a blank line
        ("text/event-stream", "data: hello\n\n: {{\n\nevent: result\n{}\n\n"),
        ("text/plain", "{}"),
        ("", "{}"),
    ],
)
def test_an_answer_is_read_whatever_stands_round_it(kind: str, form: str) -> None:
    def reply(handler: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        said = json.dumps(answer(body, OK), indent=2)
        send(handler, form.format(said).encode(), **{"content-type": kind})

    [message] = calls(reply)
    assert message.content == "done"


@pytest.mark.parametrize("status", [400, 500])
def test_a_result_is_an_answer_whatever_the_status(status: int) -> None:
    [message] = calls(lambda handler, body: send(handler, answer(body, OK), status))
    assert (message.kind, message.content) == (None, "done")

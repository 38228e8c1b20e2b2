"""Sessions that a server has forgotten: recognized by its answer, replaced without losing other calls."""

from __future__ import annotations

import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

import mcp_types as types
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp.shared.exceptions import MCPError

from tests.mcp.client.test_http import OK, answer, calls, old_server, run, send
from toolkeel import Toolset
from toolkeel.mcp.client.lost_sessions import is_session_lost, is_session_over, session_error
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.client.mend_responses import (
    FORGOTTEN,
    SESSION_ENDED,
    mark_peer_error,
    transport_error,
)

REQUEST = json.dumps({"jsonrpc": "2.0", "id": 7, "method": "tools/call"}).encode()


def rpc(message: str, id: object = None) -> bytes:
    error = {"code": -32000, "message": message}
    return json.dumps({"jsonrpc": "2.0", "error": error, "id": id}).encode()


@pytest.mark.parametrize(
    "body",
    [
        rpc("Bad Request: No valid session ID provided"),
        rpc("Session not found"),
        rpc("Bad Request: Server not initialized"),
        rpc("Bad Request: Mcp-Session-Id header is required"),
        rpc("Bad Request: No valid session ID provided", "server-error"),
        rpc("Invalid or expired session ID"),
        rpc("Session 0b9f-11 not found"),
        b"Bad Request: No valid session ID provided",
        b"Invalid or missing session ID",
        b"No transport found for sessionId",
        b'{"error": "Unknown session"}',
        b'{"detail": "Session has expired"}',
        b'{"error": {"message": "invalid Mcp-Session-Id"}}',
        b'{"error": "session_not_found"}',
        b"<html><body><h1>Bad Request</h1>\n<p>Invalid session ID</p></body></html>",
        *(
            rpc(each)
            for each in (
                "No such session",
                "Unable to find session",
                "Your session has expired. Please reconnect.",
                "The session is no longer valid",
                "Session with ID 0b9f-11 not found",
                "Session has not been initialized",
                "Transport not found for session",
                "Session timed out",
            )
        ),
    ],
)
def test_what_servers_say_of_a_forgotten_session_is_recognized(body: bytes) -> None:
    assert session_error(body, REQUEST) == FORGOTTEN


@pytest.mark.parametrize(
    "body",
    [
        rpc("Invalid params"),
        rpc("The browser session was not found, though the page was saved"),
        rpc("Database session expired"),
        b"",
        b"[]",
        b"No valid session ID provided" + b"." * 5000,
        b'{"error": 400}',
        b"Bad Request",
    ],
)
def test_what_is_not_about_the_session_of_the_protocol_is_not_taken_for_it(body: bytes) -> None:
    assert session_error(body, REQUEST) is None


@pytest.mark.parametrize("id", [7, "7"])
def test_an_answer_with_the_id_of_the_request_proves_nothing(id: object) -> None:
    assert session_error(rpc("Session not found", id), REQUEST) == SESSION_ENDED


@given(st.binary(max_size=200), st.binary(max_size=50))
def test_any_body_is_judged(body: bytes, request: bytes) -> None:
    assert session_error(body, request) in (None, FORGOTTEN, SESSION_ENDED)


def test_only_an_ended_session_is_begun_anew() -> None:
    gone = transport_error(FORGOTTEN, "the server has ended the session")
    assert is_session_lost(MCPError.from_error_data(mark_peer_error(gone)))
    said = types.ErrorData(code=FORGOTTEN, message="the server has ended the session")
    assert not is_session_lost(MCPError.from_error_data(mark_peer_error(said)))
    assert not is_session_lost(MCPError(types.INVALID_REQUEST, "Session terminated"))


@pytest.mark.parametrize("code", [FORGOTTEN, SESSION_ENDED])
def test_an_ended_session_is_over_and_only_a_forgotten_one_did_nothing(code: int) -> None:
    ours = MCPError.from_error_data(mark_peer_error(transport_error(code, "over")))
    assert is_session_over(ours) and is_session_lost(ours) is (code == FORGOTTEN)
    said = MCPError.from_error_data(mark_peer_error(types.ErrorData(code=code, message="over")))
    assert not is_session_over(said)


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, rpc("Bad Request: No valid session ID provided")),
        (400, b"Invalid or missing session ID"),
        (410, b"Gone"),
        (422, b'{"detail": "Session not found"}'),
    ],
)
def test_a_call_of_a_session_that_was_forgotten_is_sent_again_in_a_new_one(
    status: int, body: bytes
) -> None:
    sessions: list[str] = []

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        sessions.append(handler.headers["mcp-session-id"])
        if len(sessions) == 1:
            send(handler, body, status)
        else:
            send(handler, answer(message, OK))

    [message] = calls(reply)
    assert message.content == "done" and sessions == ["s0", "s1"]


def test_a_call_that_was_read_is_not_repeated_and_the_next_begins_a_new_session() -> None:
    sessions: list[str] = []

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        sessions.append(handler.headers["mcp-session-id"])
        if len(sessions) == 1:
            send(handler, rpc("Session not found", message["id"]), 400)
        else:
            send(handler, answer(message, OK))

    first, second = calls(reply, 2)
    assert first.kind == "unknown_outcome" and "Session not found" in first.text
    assert (second.content, sessions) == ("done", ["s0", "s1"])


def test_a_call_that_still_runs_in_the_old_session_keeps_its_answer() -> None:
    others = threading.Event()

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        if message["params"]["arguments"].get("slow"):
            assert others.wait(30)
        elif handler.headers["mcp-session-id"] == "s0":
            send(handler, rpc("Session not found"), 400)
            return
        send(handler, answer(message, OK))

    with old_server(reply) as url:
        server = MCPServer(url, trust=True)
        tools = Toolset(server.tools())
        slow: list[Any] = []
        thread = threading.Thread(target=lambda: slow.append(run(tools, "act", slow=True)))
        thread.start()
        assert run(tools, "act").content == "done"
        others.set()
        thread.join()
        asyncio.run(server.close())
    assert slow[0].content == "done"


@pytest.mark.parametrize("forgets", [True, False])
def test_after_a_refusal_that_may_be_about_the_session_a_ping_shows_if_it_is(forgets: bool) -> None:
    sessions: list[str] = []

    def reply(handler: BaseHTTPRequestHandler, message: dict[str, Any]) -> None:
        session = handler.headers["mcp-session-id"]
        sessions.append(f"{message['method']} {session}")
        if session == "s0" and (forgets or len(sessions) == 1):
            send(handler, b"No.", 400)
        else:
            send(handler, answer(message, OK if message["method"] == "tools/call" else {}))

    first, second = calls(reply, 2)
    assert first.kind == "tool_error" and "HTTP 400: No." in first.text
    assert second.content == "done"
    assert sessions == ["tools/call s0", "ping s0", f"tools/call s{int(forgets)}"]

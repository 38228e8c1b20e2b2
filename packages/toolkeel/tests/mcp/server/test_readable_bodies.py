"""Bodies over HTTP that cannot be read as they are."""

from __future__ import annotations

from typing import Any

import pytest
from starlette.testclient import TestClient

from toolkeel import tool
from toolkeel.mcp.server.http import asgi
from toolkeel.mcp.server.tool_server import ToolServer

HEADERS = {
    "accept": "application/json, text/event-stream",
    "content-type": "application/json",
    "host": "127.0.0.1",
}
META = (
    b'"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", '
    b'"io.modelcontextprotocol/clientCapabilities": {}}'
)
MODERN = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "echo"}


@tool
def echo(text: str) -> str:
    """Say it again."""
    return text


def post(body: bytes, **headers: str) -> Any:
    with TestClient(asgi(ToolServer([echo])), base_url="http://127.0.0.1") as client:
        return client.post("/mcp", content=body, headers=HEADERS | headers)


def test_half_an_emoji_in_an_argument_is_a_replacement_character() -> None:
    body = (
        b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo", '
        b'"arguments": {"text": "a\\ud83d"}, ' + META + b"}}"
    )
    answer = post(body, **MODERN)
    assert answer.json()["result"]["content"] == [{"type": "text", "text": "a\ufffd"}]


@pytest.mark.parametrize("headers", [{}, MODERN])
@pytest.mark.parametrize(("body", "id"), [
    (b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {', 7),
    (b'{"jsonrpc": "2.0", "id": "\xc3\xa4", "method": 5}', "\xe4"),
    (b'{"jsonrpc": "2.0", "method": "x", "params": {"id": 3', None),
    (b"nonsense", None),
    *((b'{"jsonrpc": "2.0", "id": %b, "method": "tools/call", "params": {"name": "echo", '
       b'"arguments": {"text": "a"}, %b}}' % (id, META), None)
      for id in (b"null", b"1.5", b"true", b"[1]")),
])  # fmt: skip
def test_an_unreadable_body_is_answered_by_the_id_it_shows_without_words_of_a_library(
    body: bytes, id: object, headers: dict[str, str]
) -> None:
    answer = post(body, **headers)
    assert answer.status_code == 400 and answer.json()["id"] == id
    text = answer.json()["error"]["message"]
    assert (
        "validation error" not in text.lower() and "JSONRPC" not in text and "pydantic" not in text
    )

"""`HostedMCP`: who talks to the server, and about which of its tools somebody is asked."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from tests.mcp.peers import http_peer
from toolkeel import RunContext, ToolCall, Toolset
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.tool_sources import gather_tools
from toolkeel.errors import SetupError
from toolkeel.providers import openai_responses
from toolkeel.tools import HostedMCP


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with http_peer() as (address, _):
        yield address


def tools_of(server: HostedMCP, hosts: str = "") -> Toolset:
    agent = SimpleNamespace(model=SimpleNamespace(hosts=hosts))
    run: RunContext[Any] = RunContext(None, agent=agent)
    return run_sync(lambda: gather_tools([server], Toolset(), run))


def sent(server: HostedMCP) -> dict[str, Any]:
    [body] = openai_responses.encode_tools(tools_of(server, "openai-responses"))
    return body


def test_a_connector_is_named_to_openai_and_refused_elsewhere() -> None:
    calendar = HostedMCP(connector="connector_googlecalendar", token="key", trust=True)
    assert sent(calendar) == {
        "type": "mcp",
        "server_label": "connector_googlecalendar",
        "connector_id": "connector_googlecalendar",
        "authorization": "key",
        "require_approval": "never",
    }
    with pytest.raises(SetupError, match="OpenAI's Responses API alone"):
        tools_of(calendar)


@pytest.mark.parametrize("place", [{}, {"url": "https://a.example", "connector": "c"}])
def test_a_server_has_an_address_or_a_connector(place: dict[str, Any]) -> None:
    with pytest.raises(SetupError, match="address"):
        HostedMCP(**place)


def test_openai_asks_about_all_tools_but_those_that_are_trusted() -> None:
    body = sent(HostedMCP("https://a.example", trust=["search"]))
    assert body["require_approval"] == {"never": {"tool_names": ["search"]}}


@pytest.mark.parametrize("approve", [None, lambda *_: {"approve": False, "reason": "no"}])
def test_here_nobody_is_asked_about_a_trusted_tool_alone(url: str, approve: Any) -> None:
    tools = tools_of(HostedMCP(url, trust=["echo"], approve=approve))
    calls = [ToolCall("1", "echo", {"text": "hi"}), ToolCall("2", "pid", {})]
    echoed, asked = tools.run_sync(calls)
    assert (echoed.text, asked.kind) == ("hi", "denied")


@pytest.mark.parametrize("hosts", ["", "anthropic"])
def test_headers_are_sent_where_the_server_is_called_from_here(hosts: str) -> None:
    received: list[Any] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(self.headers)
            self.send_error(403)

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        fields = {"headers": {"X-Tenant": "ada"}}
        address = f"http://127.0.0.1:{server.server_port}"
        hosted = HostedMCP(address, token="key", openai=fields, trust=True)
        with pytest.raises(Exception, match="403"):
            tools_of(hosted, hosts)
        server.shutdown()
    assert received[0]["X-Tenant"] == "ada" and received[0]["Authorization"] == "Bearer key"

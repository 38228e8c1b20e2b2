"""What is sent to a server is checked at construction: nothing fails only when it is sent."""

from __future__ import annotations

import json
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel import SetupError
from toolkeel.mcp.client import MCPServer, OAuth
from toolkeel.mcp.config import ServerConfig, read_servers, with_overrides
from toolkeel.mcp.http_options import check_address, check_headers

URL = "https://h.example/mcp"


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"headers": {"X": "ü"}}, r"header 'X' holds the character 'ü' \(U\+00FC\).*quote"),
        ({"headers": {"X": "token\n"}}, r"header 'X' begins or ends with a line feed.*strip"),
        ({"headers": {"X": "a\nb"}}, "header 'X' holds a line feed"),
        ({"headers": {"X\n": "a"}}, r"header 'X\\n' has no valid name; use ASCII"),
        ({"headers": {"a": "1", "A": "2"}}, "header 'A' is 'a' once more"),
        ({"headers": {"Content-Length": "3"}}, "is set for each request; remove it"),
        ({"auth": OAuth(port=70_000)}, "port is a number from 1 to 65535, not 70000"),
        ({"auth": OAuth(client_id="a", client_secret="s\n")}, "client_secret holds a line feed"),
        ({"auth": OAuth(scope="ü")}, "scope holds the character 'ü'"),
        ({"auth": OAuth(issuer="ftp://x")}, "issuer is no http address.*not ftp://"),
        ({"auth": OAuth(client_metadata_url="https://x/")}, "client_metadata_url is https://"),
    ],
)
def test_what_http_cannot_carry_is_refused_with_the_server_the_option_and_the_fix(
    options: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(SetupError, match=complaint) as told:
        MCPServer(URL, name="search", **options)
    assert "MCP server 'search'" in str(told.value) and "token" not in str(told.value)


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("ws://h/x", "begins with http:// or https://, not ws://"),
        ("localhost:8000/mcp", "begins with http:// or https://"),
        ("http://h:99999/", "no valid port"),
        ("http://h:0/", "no valid port"),
        ("http://me:pa/ss@h/", "no valid port.*%2F"),
        ("http://[::1/", "no valid port.*IPv6"),
        ("http:///x", "names no host"),
        ("http://a..b/", "names no host"),
        ("http://h/\n", "holds a line feed"),
        (" https://h/", "holds a space"),
    ],
)
def test_an_address_that_cannot_be_asked_is_refused_in_a_program_and_in_a_file(
    url: str, complaint: str, tmp_path: Path
) -> None:
    with pytest.raises(SetupError, match=complaint) as told:
        MCPServer(url)
    assert "pa/ss" not in str(told.value)
    file = tmp_path / "mcp.json"
    servers = {"wrong": {"url": url, "headers": {"X": "ü"}}, "right": {"url": URL}}
    file.write_text(json.dumps({"mcpServers": servers}))
    found, problems = read_servers(file)
    assert list(found) == ["right"] and "server 'wrong': url" in str(problems["wrong"])


def test_a_header_of_the_program_replaces_the_one_of_the_file_in_any_case() -> None:
    config = ServerConfig("x", url=URL, headers={"authorization": "old", "B": "2"}, kind="http")
    changed = with_overrides(config, {"Authorization": "new"}, None, None)
    assert changed.headers == {"B": "2", "Authorization": "new"}
    with pytest.raises(SetupError, match="the address has a user"):
        with_overrides(changed, None, None, None).__class__
        MCPServer("https://me:pw@h.example/mcp", headers={"Authorization": "Bearer x"})


@given(st.dictionaries(st.text(max_size=5), st.text(max_size=8), max_size=2))
def test_headers_are_accepted_exactly_where_the_http_library_can_send_them(
    headers: dict[str, str],
) -> None:
    try:
        check_headers("x", headers, URL)
    except SetupError:
        return
    request = HTTPConnection("h.example")
    request.putrequest("POST", "/mcp")
    for name, value in httpx2.Request("POST", URL, headers=headers).headers.raw:
        request.putheader(name, value)  # raises if it cannot be sent


@given(st.text("ahtps:/@[]%0123 .☃\ud800\\#?-", max_size=12).map(lambda end: "http://" + end))
def test_an_accepted_address_is_one_for_the_http_library(url: str) -> None:
    try:
        check_address("x", url)
    except SetupError:
        return
    assert httpx2.URL(url).host

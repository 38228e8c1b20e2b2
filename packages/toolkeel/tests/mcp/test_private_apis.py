"""Private APIs of other packages that the MCP chapter uses: this fails first when one changes.

Each has the reason why no public API does it, and the version it was checked with. After an upgrade,
compare the source of what changed with how the module uses it, and enter the new version.
"""

from __future__ import annotations

import inspect
from importlib.metadata import version
from typing import Any

import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.session import ClientSession
from mcp.server import Server
from mcp.server.session import ServerSession
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from sse_starlette.sse import AppStatus
from uvicorn import Config
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import Server as WebServer
from uvicorn.server import ServerState

CHECKED = {"mcp": "2.3", "uvicorn": "0.54", "sse-starlette": "3.7"}
"""Package to the minor version whose source was compared with the use here."""


@pytest.mark.parametrize(("package", "checked"), CHECKED.items())
def test_private_apis_were_checked_with_the_installed_version(package: str, checked: str) -> None:
    assert version(package).startswith(f"{checked}."), (
        f"{package} {version(package)} is installed: compare the private APIs below, then change CHECKED"
    )


METHODS: list[tuple[Any, str, list[str]]] = [
    # keep_alive: uvicorn has no API to decide when a connection is closed.
    (H11Protocol, "connection_made", ["transport"]),
    (H11Protocol, "data_received", ["data"]),
    (H11Protocol, "pause_writing", []),
    (H11Protocol, "resume_writing", []),
    (H11Protocol, "connection_lost", ["exc"]),
    (H11Protocol, "shutdown", []),
    (H11Protocol, "timeout_keep_alive_handler", []),
    (H11Protocol, "_unset_keepalive_if_required", []),
    # http: of too many sessions an idle one ends; the SDK refuses the new one.
    (StreamableHTTPSessionManager, "_admit_session", ["requestor"]),
    # oauth_flow: the SDK holds one lock for a request and its login, and forgets where to refresh.
    (OAuthClientProvider, "_initialize", []),
    (OAuthClientProvider, "_handle_token_response", ["response"]),
    (OAuthClientProvider, "_handle_refresh_response", ["response"]),
    (OAuthClientProvider, "_refresh_token", []),
    (OAuthClientProvider, "_add_auth_header", ["request"]),
    (OAuthClientProvider, "_auth_flow", ["request"]),
    # oauth_flow, service_login: the SDK asks for the server's scopes, at the server's choice.
    (OAuthClientProvider, "_expected_issuer", []),
    (OAuthClientProvider, "_select_authorization_server", ["advertised"]),
    (OAuthClientProvider, "_perform_authorization", []),
]


@pytest.mark.parametrize(("owner", "name", "parameters"), METHODS)
def test_a_private_method_has_the_signature_that_is_used(
    owner: Any, name: str, parameters: list[str]
) -> None:
    assert list(inspect.signature(getattr(owner, name)).parameters)[1:] == parameters


def test_a_connection_of_the_web_server_has_the_attributes_that_are_used() -> None:
    config = Config(app="x:y")
    config.load_app = lambda: None  # type: ignore[method-assign]
    source = inspect.getsource(H11Protocol)
    for name in ("cycle", "connections", "conn", "transport", "timeout_keep_alive_task", "loop"):
        assert f"self.{name}" in source, name
    assert "self.timeout_keep_alive = " in source and "response_complete" in source
    assert hasattr(ServerState(), "connections")
    # drain: its signal handler leads to its listeners, which must close one turn before it does.
    assert "self.servers" in inspect.getsource(WebServer)
    assert "self.handle_exit" in inspect.getsource(WebServer)


def test_sessions_of_the_sdk_have_the_attributes_that_are_used() -> None:
    """sessions, gateway: the SDK tells no one which connection a request came by.

    The gateway passes raw JSON through a session: `_stamp` adds its envelope, `_dispatcher` sends.
    """
    manager = StreamableHTTPSessionManager(Server("x"))
    assert manager._server_instances == {} and manager._session_owners == {}
    source = inspect.getsource(ClientSession)
    assert "self._stamp(" in source and "self._dispatcher.send_raw_request(" in source
    # connection: no public API gives the handshake another limit than the requests after it.
    assert "else self._session_read_timeout_seconds" in source
    assert "self._connection = connection" in inspect.getsource(ServerSession)


def test_the_drain_of_event_streams_is_switched_off_by_its_public_function() -> None:
    assert callable(AppStatus.disable_automatic_graceful_drain)

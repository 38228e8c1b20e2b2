"""What is said of a call without a result: no more than is known."""

from __future__ import annotations

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from toolkeel.mcp.client.mend_responses import (
    FORGOTTEN,
    LOST,
    NOT_SENT,
    REFUSED,
    UNREACHED,
    mark_peer_error,
    transport_error,
)
from toolkeel.mcp.client.outcome import failure_of


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        (types.CONNECTION_CLOSED, "unknown_outcome", "not known"),
        (LOST, "unknown_outcome", "(broke)"),
        (types.REQUEST_TIMEOUT, "timeout", "may still take effect"),
        (NOT_SENT, "tool_error", "broke. The call was not sent."),
        (UNREACHED, "tool_error", "broke. The call was not sent."),
        (REFUSED, "tool_error", "refused the call: broke"),
        (types.INVALID_PARAMS, "tool_error", "answered the call with an error: broke"),
        (types.METHOD_NOT_FOUND, "tool_error", "answered the call with an error: broke"),
        (types.INTERNAL_ERROR, "tool_error", "answered the call with an error: broke"),
        (5, "tool_error", "answered the call with an error: broke"),
    ],
)
def test_no_more_is_said_of_a_call_than_is_known(code: int, kind: str, says: str) -> None:
    message = failure_of(MCPError(code, "broke"), "act", "files").message
    assert message.kind == kind and says in message.text
    assert "files" in message.text or code in (NOT_SENT, UNREACHED)
    assert message.details["code"] == code


@pytest.mark.parametrize(
    "code", [types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT, LOST, NOT_SENT, UNREACHED]
)
def test_a_code_in_the_mouth_of_a_peer_means_that_it_answered(code: int) -> None:
    said = mark_peer_error(types.ErrorData(code=code, message="gone"))
    message = failure_of(MCPError.from_error_data(said), "act", "files").message
    assert message.kind == "tool_error" and "answered the call with an error" in message.text
    ours = mark_peer_error(transport_error(code, "gone"))
    assert "answered" not in failure_of(MCPError.from_error_data(ours), "act", "files").message.text


@pytest.mark.parametrize("code", [NOT_SENT, UNREACHED, REFUSED, FORGOTTEN])
def test_what_was_not_sent_of_a_later_round_says_nothing_of_the_first(code: int) -> None:
    error = MCPError.from_error_data(transport_error(code, "gone"))
    assert failure_of(error, "act", "files", first=False).message.kind == "unknown_outcome"
    assert failure_of(error, "act", "files").message.kind == "tool_error"


@pytest.mark.parametrize(
    "message",
    [
        "server answered a request with 202 Accepted",
        "Unexpected content type: text/html",
        "Redirect to http://x not followed; use that URL",
    ],
)
def test_an_answer_that_cannot_be_read_is_no_refusal(message: str) -> None:
    said = mark_peer_error(types.ErrorData(code=types.INVALID_REQUEST, message=message))
    assert (
        failure_of(MCPError.from_error_data(said), "act", "files").message.kind == "unknown_outcome"
    )


def test_a_server_that_can_ask_in_the_older_way_alone_says_what_helps() -> None:
    said = types.ErrorData(code=types.INVALID_REQUEST, message="Cannot send: no back-channel here")
    told = failure_of(MCPError.from_error_data(said), "act", "files").message.text
    assert '"protocolVersion": "2025-11-25"' in told

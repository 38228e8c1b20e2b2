"""What is said of a call without a result: no more than is known."""

from __future__ import annotations

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from toolkeel.mcp.client.outcome import failed, was_forgotten
from toolkeel.mcp.client.sift import LOST, NOT_SENT, REFUSED, of_peer, our_error


@pytest.mark.parametrize(
    ("code", "kind", "says"),
    [
        (types.CONNECTION_CLOSED, "unknown_outcome", "not known"),
        (LOST, "unknown_outcome", "(broke)"),
        (types.REQUEST_TIMEOUT, "timeout", "may still take effect"),
        (NOT_SENT, "tool_error", "not sent"),
        (REFUSED, "tool_error", "refused the call: broke"),
        (types.INVALID_PARAMS, "tool_error", "refused the call: broke"),
        (types.INTERNAL_ERROR, "tool_error", "answered the call with an error: broke"),
        (5, "tool_error", "answered the call with an error: broke"),
    ],
)
def test_no_more_is_said_of_a_call_than_is_known(code: int, kind: str, says: str) -> None:
    message = failed(MCPError(code, "broke"), "act", "files").message
    assert (
        message.kind == kind and says in message.text and "files" in message.text
    ) or says == "not sent"
    assert message.details["code"] == code


@pytest.mark.parametrize("code", [types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT, LOST, NOT_SENT])
def test_a_code_in_the_mouth_of_a_peer_means_that_it_answered(code: int) -> None:
    said = of_peer(types.ErrorData(code=code, message="gone"))
    message = failed(MCPError.from_error_data(said), "act", "files").message
    assert message.kind == "tool_error" and "answered the call with an error" in message.text
    ours = of_peer(our_error(code, "gone"))
    assert "answered" not in failed(MCPError.from_error_data(ours), "act", "files").message.text


def test_only_an_ended_session_is_begun_anew() -> None:
    assert was_forgotten(MCPError(types.INVALID_REQUEST, "Session terminated"))
    assert not was_forgotten(MCPError(types.INVALID_REQUEST, "no"))

"""What is known of a call that ended without a result: refused, failed, not sent, or unknown.

"Refused" and "not sent" are said only of what surely was not done. Whatever may have reached the
server without an answer that can be read is `unknown_outcome`.
"""

from __future__ import annotations

import mcp_types as types
from mcp.shared.exceptions import MCPError

from toolkeel.mcp.client.sift import LOST, NOT_SENT, REFUSED, FromPeer, data_of
from toolkeel.mcp.client.tool import Failed

_REFUSALS = (
    types.INVALID_REQUEST,
    types.METHOD_NOT_FOUND,
    types.INVALID_PARAMS,
    types.PARSE_ERROR,
    REFUSED,
)


def failed(error: MCPError, tool: str, server: str) -> Failed:
    """What becomes of a call that the protocol ended with an error.

    Args:
        error: As the SDK raised it.
        tool: What was called.
        server: Whose it is.
    """
    code, text, said = error.code, error.message, data_of(error.error)
    details = {"code": code, **({"data": said} if said is not None else {})}
    if isinstance(error.data, FromPeer):  # its own code, however much it looks like the transport's
        return Failed("tool_error", _answer(server, text), **details)
    if code in (types.CONNECTION_CLOSED, LOST):
        why = f" ({text})" if code == LOST else ""
        return Failed(
            "unknown_outcome",
            f"The connection to the server {server} gave no answer to the running call of "
            f"{tool!r}{why}. Whether it took effect is not known: look before you call it "
            "again.",
            **details,
        )
    if code == types.REQUEST_TIMEOUT:
        text = f"The server {server} did not answer in time. Its work may still take effect."
        return Failed("timeout", text, may_still_be_running=True, **details)
    if code == NOT_SENT:
        return Failed("tool_error", f"{text}. The call was not sent.", **details)
    if code in _REFUSALS:
        text = f"The server {server} refused the call: {text}"
        return Failed("tool_error", text, **details)
    return Failed("tool_error", _answer(server, text), **details)


def was_forgotten(error: MCPError) -> bool:
    """Whether the server has ended our session, and did nothing."""
    return error.code == types.INVALID_REQUEST and error.message == "Session terminated"


def _answer(server: str, text: str) -> str:
    return f"The server {server} answered the call with an error: {text}"

"""What is known of a call that ended without a result: refused, failed, not sent, or unknown.

"Refused" and "not sent" are said only of what surely was not done, and never on the word of the
server: by its own errors it has answered, whatever it did before. Whatever may have reached the
server without an answer that can be read is `unknown_outcome`.
"""

from __future__ import annotations

import mcp_types as types
from mcp.client import InputRequiredRoundsExceededError
from mcp.shared.exceptions import MCPError

from toolkeel._records.taint_sources import UNREAD, Source, dump_sources
from toolkeel.mcp.client.mend_responses import (
    FORGOTTEN,
    LOST,
    NOT_SENT,
    REFUSED,
    SESSION_ENDED,
    UNREACHED,
    PeerErrorData,
    UnreachableQuoted,
    error_data,
)
from toolkeel.mcp.client.tool import CallFailed
from toolkeel.mcp.messages import unreadable_reason
from toolkeel.mcp.pins import make_origin


def failure_of(error: MCPError, tool: str, server: str, first: bool = True) -> CallFailed:
    """Convert a protocol error of a call to the exception with its result message.

    Its kind is `unknown_outcome` if the call may have run and its answer is lost, `timeout` if none came
    in time, else `tool_error`.

    Args:
        error: The SDK's error.
        tool: Name of the tool.
        server: Name of its server.
        first: True if the server has not asked for more input during the call.
    """
    code, text, data = error.code, error.message, error_data(error.error)
    details = {"code": code, **({"data": data} if data is not None else {})}
    if isinstance(
        error.data, PeerErrorData
    ):  # its own code, however much it looks like the transport's
        return CallFailed("tool_error", _error_text(server, text), **details)
    unsent = code in (NOT_SENT, UNREACHED, REFUSED, FORGOTTEN)
    if code in (types.CONNECTION_CLOSED, LOST, SESSION_ENDED) or (unsent and not first):
        why = f" ({text})" if code != types.CONNECTION_CLOSED else ""
        return CallFailed(
            "unknown_outcome",
            f"The connection to the server {server} gave no answer to the running call of "
            f"{tool!r}{why}. Whether it took effect is not known: look before you call it "
            "again.",
            **details,
        )
    if code == types.REQUEST_TIMEOUT:
        text = f"The server {server} did not answer in time. Its work may still take effect."
        return CallFailed("timeout", text, may_still_be_running=True, **details)
    if code in (NOT_SENT, UNREACHED):
        details[UNREAD] = True
        return CallFailed("tool_error", f"{text}. The call was not sent.", **details)
    if unsent:
        text = f"The server {server} refused the call: {text}"
        return CallFailed("tool_error", text, **details)
    return CallFailed("tool_error", _error_text(server, text), **details)


def unsent_details(error: Exception, tool: str, identity: str) -> dict[str, object]:
    """Return the details of a call that was not sent: that nothing was read, and the server as source of a quote.

    Args:
        error: Why; its text may quote the server.
        tool: Name of the tool.
        identity: Of its server.
    """
    if not isinstance(error, UnreachableQuoted):
        return {UNREAD: True}
    source = Source("stranger", tool, "(why its server cannot be used)", make_origin(identity))
    return {UNREAD: True, "taint": dump_sources([source])}


def broken_result(error: Exception, server: str) -> CallFailed:
    """Return the failure for a call whose result the SDK refused, with a text for the model.

    The kind is `tool_error` if the server asked for more input too often, else `invalid_output`.
    The text never quotes the SDK: the first 2000 characters of its message are kept as the detail
    `error`, only for `invalid_output`.

    Args:
        error: What the SDK raised.
        server: Name of the server, for the text.
    """
    if isinstance(error, InputRequiredRoundsExceededError):
        text = f"The server {server} asked again and again for more; the call was given up."
        return CallFailed("tool_error", text)
    return CallFailed(
        "invalid_output",
        f"The server {server} sent a result that breaks the protocol. This is a fault of the server, "
        "not of the call.",
        error=unreadable_reason(error),
    )


def with_hint(text: str) -> str:
    """Return a server's error text, with a hint at an older revision if it says "no back-channel"."""
    return text + (_OLDER if "no back-channel" in text else "")


_OLDER = (
    ' (It asks as older revisions do: write "protocolVersion": "2025-11-25" in its entry in the '
    "file of servers.)"
)


def _error_text(server: str, text: str) -> str:
    """Return the text for the model about an error of the server."""
    return f"The server {server} answered the call with an error: {with_hint(text)}"

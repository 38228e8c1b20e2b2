"""JSON-RPC messages as bytes: read strictly, and once more with what can be mended."""

from __future__ import annotations

import re

from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

# Half of a surrogate pair, as JSON escapes it; whole pairs and backslashes are stepped over.
_HALF = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")


def read_message(line: bytes) -> JSONRPCMessage:
    """One message. What is no UTF-8, and half of a surrogate pair, becomes U+FFFD.

    Raises:
        ValueError: it is no JSON, or no message of JSON-RPC.
    """
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        mended = with_whole_characters(line.decode("utf-8", "replace").encode())
        if mended == line:
            raise
    return jsonrpc_message_adapter.validate_json(mended, by_name=False)


def with_whole_characters(text: bytes) -> bytes:
    r"""JSON text in which half an emoji is U+FFFD: half a pair is no character, and no UTF-8.

    >>> with_whole_characters(rb'"\ud83d \ud83d\ude00 \\ud83d"')
    b'"\\ufffd \\ud83d\\ude00 \\\\ud83d"'
    """
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _HALF.sub(lambda found: rb"\ufffd" if found[1] else found[0], text)

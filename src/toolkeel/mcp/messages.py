"""JSON-RPC messages as bytes: read strictly, and once more with what can be mended."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from mcp_types import JSONRPCMessage, jsonrpc_message_adapter
from pydantic_core import from_json

T = TypeVar("T")

# Half of a surrogate pair, as JSON escapes it; whole pairs and backslashes are stepped over.
_HALF = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")


def read_message(line: bytes) -> JSONRPCMessage:
    """One message. What is no UTF-8, and half of a surrogate pair, becomes U+FFFD.

    Raises:
        ValueError: it is no JSON, or no message of JSON-RPC.
    """
    return _read(line, partial(jsonrpc_message_adapter.validate_json, by_name=False))


def read_json(line: bytes) -> object:
    """The same as plain JSON, of whatever kind.

    Raises:
        ValueError: it is no JSON.
    """
    return _read(line, from_json)


def _read(line: bytes, read: Callable[[bytes], T]) -> T:
    try:
        return read(line)
    except ValueError:
        mended = with_whole_characters(line.decode("utf-8", "replace").encode())
        if mended == line:
            raise
    return read(mended)


def with_whole_characters(text: bytes) -> bytes:
    r"""JSON text in which half an emoji is U+FFFD: half a pair is no character, and no UTF-8.

    >>> with_whole_characters(rb'"\ud83d \ud83d\ude00 \\ud83d"')
    b'"\\ufffd \\ud83d\\ude00 \\\\ud83d"'
    """
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _HALF.sub(lambda found: rb"\ufffd" if found[1] else found[0], text)

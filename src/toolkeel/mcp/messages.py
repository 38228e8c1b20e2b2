"""JSON-RPC messages as bytes: read strictly, and once more with what can be mended."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from mcp_types import INTERNAL_ERROR, JSONRPCMessage, jsonrpc_message_adapter
from pydantic_core import from_json, to_json

T = TypeVar("T")

# Half of a surrogate pair, as JSON escapes it; whole pairs and backslashes are stepped over.
_HALF = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"|[\[{]|[\]}]', re.DOTALL)
DEEPEST = 150
"""Levels that are kept of an answer nested too deeply for the parser."""


def read_message(line: bytes) -> JSONRPCMessage:
    """One message. What is no UTF-8, and half of a surrogate pair, becomes U+FFFD.

    Raises:
        ValueError: it is no JSON, or no message of JSON-RPC.
    """
    return _read(line, partial(jsonrpc_message_adapter.validate_json, by_name=False))


def read_from_server(line: bytes) -> JSONRPCMessage:
    """The same, with an answer of the wrong form put into the right one.

    Raises:
        ValueError: it is no JSON, or no message of JSON-RPC.
    """
    try:
        return read_message(line)
    except ValueError:
        return jsonrpc_message_adapter.validate_python(read_answer(line), by_name=False)


def read_answer(line: bytes) -> object:
    """The same as plain JSON, of whatever kind.

    Raises:
        ValueError: it is no JSON.
    """
    data = _read(line, from_json, shallow)
    if (
        isinstance(data, list) and len(data) == 1 and isinstance(data[0], dict)
    ):  # a batch of one, as a revision had it
        [data] = data
    if not isinstance(data, dict) or "method" in data or data.get("jsonrpc") != "2.0":
        return data
    if (error := data.get("error")) is not None:
        return {**data, "error": _error(error)}
    result = data.get("result", {})
    return data if isinstance(result, dict) else {**data, "result": _result(result)}


def body_of_answer(body: bytes, request: bytes) -> bytes:
    """The same as bytes again, where it cannot be read otherwise, or names another request.

    Args:
        body: What came in answer to one request, over HTTP.
        request: It.
    """
    asked = from_json(request)
    id = asked.get("id") if isinstance(asked, dict) else None
    try:
        message = jsonrpc_message_adapter.validate_json(body, by_name=False)
        if getattr(message, "id", None) in (id, None) or hasattr(message, "method"):
            return body
    except ValueError:
        pass
    with suppress(ValueError):
        answer = read_answer(body)
        return to_json({**answer, "id": id} if isinstance(answer, dict) else answer)
    return body


def _error(error: object) -> dict[str, Any]:
    said = error if isinstance(error, dict) else {"message": error}
    code, text = said.get("code"), said.get("message", "")
    return {
        **said,
        "code": code if isinstance(code, int) else INTERNAL_ERROR,
        "message": text if isinstance(text, str) else to_json(text).decode(),
    }


def _result(result: object) -> dict[str, Any]:
    return {} if result is None else {"result": result}


def _read(
    line: bytes, read: Callable[[bytes], T], more: Callable[[bytes], bytes] = lambda text: text
) -> T:
    try:
        return read(line)
    except ValueError:
        mended = more(with_whole_characters(line.decode("utf-8-sig", "replace").encode()))
        if mended == line:
            raise
    return read(mended)


def shallow(text: bytes) -> bytes:
    """JSON text in which a text stands for what is nested too deeply to be read.

    >>> shallow(b'{"a":' + b"[" * 200 + b"1" + b"]" * 200 + b"}").count(b"[")
    150
    """
    if text.count(b"[") + text.count(b"{") <= DEEPEST or _can_be_read(text):
        return text
    kept, depth, start = bytearray(), 0, 0
    for found in _BRACKETS.finditer(text):
        if found[0] in b"[{":
            depth += 1
            if depth == DEEPEST + 1:
                kept += text[start : found.start()] + b'"[nested too deeply]"'
        elif found[0] in b"]}":
            depth -= 1
            if depth == DEEPEST:
                start = found.end()
    return bytes(kept + text[start:]) if depth <= DEEPEST else text


def with_whole_characters(text: bytes) -> bytes:
    r"""JSON text in which half an emoji is U+FFFD: half a pair is no character, and no UTF-8.

    >>> with_whole_characters(rb'"\ud83d \ud83d\ude00 \\ud83d"')
    b'"\\ufffd \\ud83d\\ude00 \\\\ud83d"'
    """
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _HALF.sub(lambda found: rb"\ufffd" if found[1] else found[0], text)


def _can_be_read(text: bytes) -> bool:
    try:
        from_json(text)
    except ValueError:
        return False
    return True

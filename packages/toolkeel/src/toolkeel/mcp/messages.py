"""JSON-RPC messages as bytes: parsed strictly, then with repairs."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Any

from mcp_types import (
    INTERNAL_ERROR,
    JSONRPCMessage,
    JSONRPCNotification,
    jsonrpc_message_adapter,
)
from pydantic import ValidationError
from pydantic_core import from_json, to_json

# Half of a surrogate pair, as JSON escapes it; whole pairs and backslashes are stepped over.
_HALF = re.compile(rb"\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|(\\u[dD][89a-fA-F]..)")
_BRACKETS = re.compile(rb'"(?:[^"\\]|\\.)*+"?|[\[{]|[\]}]', re.DOTALL)
_BEGIN = re.compile(rb'\{\s*"(?:jsonrpc|id|result|error)"\s*:')
MAX_DEPTH = 150
"""Levels that are kept of an answer nested too deeply for the parser."""


def read_message(line: bytes) -> JSONRPCMessage:
    """Parse one message; invalid UTF-8 and lone surrogates become U+FFFD.

    Raises:
        ValueError: the text is no JSON, or no message of JSON-RPC.
    """
    try:
        return jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:
        mended = strip_invalid_bytes(line)
        if mended == line:
            raise
    return jsonrpc_message_adapter.validate_json(mended, by_name=False)


def read_client_message(line: bytes) -> JSONRPCMessage:
    """Parse one message of a client. A request with an invalid id is no notification.

    >>> try: read_client_message(b'{"jsonrpc": "2.0", "id": null, "method": "ping"}')
    ... except ValueError as error: str(error)
    'id: it must be a string or an integer'

    Raises:
        ValueError: the text is no JSON, no message of JSON-RPC, or a request with an invalid id.
    """
    message = read_message(line)
    if isinstance(message, JSONRPCNotification) and b'"id"' in line:
        data = _json(line)
        if isinstance(data, dict) and "id" in data and not message.method.startswith(_NOTIFIES):
            raise ValueError("id: it must be a string or an integer")
    return message


_NOTIFIES = "notifications/"
"""Beginning of the methods of notifications, which some peers send with an id of null."""


def unreadable_reason(error: Exception) -> str:
    """Return why a message or a part of it cannot be read, in one sentence without a library's names.

    >>> try: read_message(b'{"jsonrpc": "2.0", "id": 1, "method": 5}')
    ... except ValueError as error: unreadable_reason(error)
    'method: Input should be a valid string'
    """
    if not isinstance(error, ValidationError):
        return str(error).split("\n", 1)[0][:300]
    # Of the kinds of messages, the one that fits best is meant.
    kinds: dict[object, list[Any]] = {}
    for each in error.errors(include_url=False, include_input=False):
        place = each["loc"]
        of_kind = bool(place) and str(place[0]).startswith("JSONRPC")
        kinds.setdefault(place[0] if of_kind else "", []).append(each)
    kind, found = min(kinds.items(), key=lambda item: (_misses_key(item[1]), len(item[1])))
    where = ".".join(str(key) for key in found[0]["loc"][bool(kind) :])
    text = str(found[0]["msg"]).removeprefix("Invalid JSON: ")
    return (f"{where}: {text}" if where else text)[:300]


def _misses_key(errors: list[Any]) -> bool:
    """Return True if a required key is missing, besides ``jsonrpc``."""
    return any(each["type"] == "missing" and each["loc"][-1:] != ("jsonrpc",) for each in errors)


_ID = re.compile(rb'"id"\s*+:\s*+("(?:[^"\\]|\\.)*+"|-?[0-9]{1,18}(?![0-9.eE]))')


def visible_id(line: bytes) -> str | int | None:
    """Return the id that a request shows though it cannot be parsed, or None.

    >>> visible_id(b'{"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {')
    7
    """
    data: object = None
    with suppress(ValueError):
        data = _json(line)
    if isinstance(data, dict):
        id = data.get("id")
    else:
        found = [each for each in _ID.finditer(line) if _depth(line[: each.start()]) == 1]
        id = None
        with suppress(ValueError):
            id = json.loads(found[0][1]) if len(found) == 1 else None
    return id if isinstance(id, str | int) and not isinstance(id, bool) else None


def _depth(text: bytes) -> int:
    """Return how many brackets a text leaves open."""
    marks = [each[0] for each in _BRACKETS.finditer(text)]
    return sum(mark in (b"[", b"{") for mark in marks) - sum(mark in (b"]", b"}") for mark in marks)


def read_server_message(line: bytes) -> JSONRPCMessage:
    """Parse one message, and repair a malformed response.

    Raises:
        ValueError: the text is no JSON, or no message of JSON-RPC.
    """
    try:
        return read_message(line)
    except ValueError:
        return jsonrpc_message_adapter.validate_python(read_response(line), by_name=False)


def split_messages(line: bytes) -> list[bytes]:
    """Split a line into its messages: one, or those of a batch.

    What a server has written before its message without ending the line is left out.
    """
    if line.lstrip()[:1] == b"[":
        with suppress(ValueError):
            batch = _json(line)
            return [to_json(each) for each in batch] if isinstance(batch, list) else [line]
    found = _BEGIN.search(line) if line.lstrip()[:1] != b"{" and b'"jsonrpc"' in line else None
    return [line[found.start() :] if found else line]


def read_response(line: bytes) -> object:
    """Parse a response as JSON of any type. What is clearly a response gets the form of JSON-RPC.

    Raises:
        ValueError: the text is no JSON.
    """
    data = _json(line)
    return _normalize_response(data) if isinstance(data, dict) else data


def _normalize_response(data: dict[str, Any]) -> dict[str, Any]:
    """Return a response in the form of JSON-RPC, where it is clearly meant as one."""
    named = data.keys() - {"jsonrpc"}
    is_sure = data.get("jsonrpc") == "2.0" or (
        "id" in named and named <= _RESPONSE_KEYS and len(named) > 1
    )
    if data.get("method") or not is_sure or not named & {"result", "error"}:
        return data
    id, result = data.get("id"), data.get("result")
    response = {
        "jsonrpc": "2.0",
        "id": int(id) if isinstance(id, float) and id.is_integer() else id,
    }
    error = data.get("error")
    if error or (error is not None and "result" not in data):
        return {**response, "error": _error(error)}
    if not isinstance(result, dict):
        result = {} if result is None else {"result": result}
    return {**response, "result": result}


_RESPONSE_KEYS = frozenset(("id", "result", "error"))


def repair_handshake(result: dict[str, Any]) -> None:
    """Repair the response to ``initialize`` in place; the SDK rejects it for one odd field."""
    if "supportedVersions" in result:  # that is a newer revision's
        return
    if not isinstance(result.get("protocolVersion"), str):
        result["protocolVersion"] = _UNSTATED_REVISION
    stated = result.get("capabilities")
    capabilities = stated if isinstance(stated, dict) else {}
    result["capabilities"] = {
        key: each if isinstance(each, dict) else {}
        for key, each in capabilities.items()
        if each is not None and each is not False
    }
    info = result.get("serverInfo")
    fields = info if isinstance(info, dict) else {"name": info}
    known = {key: each for key in ("name", "version") if isinstance(each := fields.get(key), str)}
    result["serverInfo"] = {"name": "unnamed", "version": "unknown", **known}
    if not isinstance(result.get("instructions", ""), str):
        result["instructions"] = to_json(result["instructions"]).decode()


_UNSTATED_REVISION = "2025-03-26"
"""Revision of a server that states none (specification, "Transports")."""


def repair_response_body(body: bytes, request: bytes) -> bytes:
    """Return a response body repaired so that it can be parsed and has the request's id.

    A body that cannot be repaired is returned unchanged.

    Args:
        body: Body of the response over HTTP.
        request: The request.

    Raises:
        ValueError: the request is no JSON.
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
        responses = [read_response(each) for each in split_messages(body)]
        answers = [each for each in responses if isinstance(each, dict) and not each.get("method")]
        mine = [each for each in answers if str(each.get("id")) == str(id)]
        for answer in mine or answers:
            return to_json({**answer, "id": id})
    return body


def repair_event(block: bytes) -> bytes:
    """Return an event with parsable data. Other text affects only itself.

    A message may take several lines, be one of several, or lack the names of fields. An event
    that cannot be repaired is returned unchanged if it names JSON-RPC, and as b"" otherwise.
    """
    block = replace_lone_surrogates(block.removeprefix(b"\xef\xbb\xbf"))
    kind, data_lines, rest = _event_fields(block)
    data = b"\n".join(data_lines)
    if not data.strip() or (kind != b"message" and b'"jsonrpc"' not in data):
        return block
    if (messages := _split_texts([data])) is None and (
        messages := _split_texts(data_lines)
    ) is None:
        return block if b'"jsonrpc"' in data else b""  # who reads on fails the call for it
    return b"\n".join(rest) + b"\n\n".join(b"\ndata: " + each for each in messages)


def _event_fields(block: bytes) -> tuple[bytes, list[bytes], list[bytes]]:
    """Return the type of an event ("message" if absent), its data lines and its other lines.

    A line of an unknown field counts as data.
    """
    kind, data_lines, rest = b"message", [], []
    for line in _LINE.split(block):
        field, _, value = line.partition(b":")
        match field.strip().lower():
            case b"data":
                data_lines.append(value.removeprefix(b" "))
            case b"event":
                kind = value.strip()
            case b"" | b"id" | b"retry":
                rest.append(line)
            case _:
                data_lines.append(line)
    return kind, data_lines, rest


_LINE = re.compile(rb"\r\n|\n|\r")


def _split_texts(texts: list[bytes]) -> list[bytes] | None:
    """Return the messages of texts without unreadable notifications; None if they hold anything else."""
    found: list[bytes] = []
    for text in texts:
        with suppress(ValueError):
            jsonrpc_message_adapter.validate_json(text, by_name=False)
            found.append(b" ".join(text.splitlines()))
            continue
        try:
            read = [read_response(each) for each in split_messages(text)]
        except ValueError:
            return None
        if not all(isinstance(each, dict) for each in read):
            return None
        answers = [each for each in read if isinstance(each, dict) and not _is_notification(each)]
        found += [to_json({**each, "id": each.get("id") or 0}) for each in answers]
    return found


def _is_notification(message: object) -> bool:
    """Return True for a notification, which can be dropped alone if unreadable."""
    return isinstance(message, dict) and bool(message.get("method")) and "id" not in message


def _error(error: object) -> dict[str, Any]:
    """Return an error with an integer code and a text message."""
    fields = error if isinstance(error, dict) else {"message": error}
    code, text = fields.get("code"), fields.get("message") or fields.get("data") or fields
    return {
        **fields,
        "code": code if isinstance(code, int) else INTERNAL_ERROR,
        "message": text if isinstance(text, str) else to_json(text).decode(),
    }


def _json(line: bytes) -> object:
    """Parse JSON leniently.

    Raises:
        ValueError: the text is no JSON.
    """
    try:
        return from_json(line)
    except ValueError:
        text = limit_depth(strip_invalid_bytes(line))
    try:
        return json.loads(text, strict=False)  # with tabs and their like within texts
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def strip_invalid_bytes(line: bytes) -> bytes:
    """Return a line without byte order mark, and with U+FFFD for invalid characters and lone surrogates."""
    return replace_lone_surrogates(line.decode("utf-8-sig", "replace").encode())


def limit_depth(text: bytes) -> bytes:
    """Replace values nested more than `MAX_DEPTH` levels deep in JSON text by a string.

    Text that can be parsed, or whose brackets do not close, is returned unchanged.

    >>> limit_depth(b'{"a":' + b"[" * 200 + b"1" + b"]" * 200 + b"}").count(b"[")
    150
    """
    if text.count(b"[") + text.count(b"{") <= MAX_DEPTH or _is_json(text):
        return text
    shortened, depth, start = bytearray(), 0, 0
    for found in _BRACKETS.finditer(text):
        if found[0] in b"[{":
            depth += 1
            if depth == MAX_DEPTH + 1:
                shortened += text[start : found.start()] + b'"[nested too deeply]"'
        elif found[0] in b"]}":
            depth -= 1
            if depth == MAX_DEPTH:
                start = found.end()
    return bytes(shortened + text[start:]) if depth <= MAX_DEPTH else text


def replace_lone_surrogates(text: bytes) -> bytes:
    r"""Replace lone surrogates in JSON text by U+FFFD.

    >>> replace_lone_surrogates(rb'"\ud83d \ud83d\ude00 \\ud83d"')
    b'"\\ufffd \\ud83d\\ude00 \\\\ud83d"'
    """
    if b"\\ud" not in text and b"\\uD" not in text:
        return text
    return _HALF.sub(lambda found: rb"\ufffd" if found[1] else found[0], text)


def _is_json(text: bytes) -> bool:
    """Return True if a text is JSON."""
    try:
        from_json(text)
    except ValueError:
        return False
    return True

"""Repairs a server's responses piece by piece, before the SDK validates them as one.

The SDK refuses a listing for one definition and a result for one block: then every tool, or the
answer of a call that has run, is lost. Here each piece is judged alone. What can be mended is, what
cannot costs itself, and both are told.
"""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError
from mcp_types import methods
from pydantic import TypeAdapter, ValidationError

from toolkeel._records.record import record
from toolkeel.errors import ToolkeelError, describe_error
from toolkeel.mcp.content import STRUCTURE
from toolkeel.mcp.messages import repair_handshake, unreadable_reason

NOT_SENT = 1001
"""Code of our own: the request did not reach the server."""
LOST = 1002
"""Code of our own: the request may have reached the server; no answer came that can be read."""
REFUSED = 1003
"""Code of our own: the server refused the request before it looked at it."""
FORGOTTEN = 1004
"""Code of our own: the server has ended our session, and did not look at the request."""
SESSION_ENDED = 1005
"""Code of our own: the server has ended our session, and may have looked at the request."""
UNREACHED = 1006
"""Code of our own: there was no connection, so the request was not sent."""
UNCLEAR = 1007
"""Code of our own: the server refused the request by an HTTP status that may be about the session."""

_OURS = secrets.token_hex(16)
_TRANSPORT = (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT, *range(NOT_SENT, UNCLEAR + 1))
_SDK_LOST = (
    *("SSE stream", "Failed to parse", "Unexpected content type", "Redirect to "),
    "server answered a request with 202",
)  # what the SDK calls an invalid request, or one that cannot be parsed: the answer is
_BLOCK: TypeAdapter[Any] = TypeAdapter(types.ContentBlock)
_PART: TypeAdapter[Any] = TypeAdapter(types.TextResourceContents | types.BlobResourceContents)
_MOST = 100  # values of one completion (specification, "Completion")
_LISTS: Mapping[str, TypeAdapter[Any]] = {
    "prompts": TypeAdapter(types.Prompt),
    "resources": TypeAdapter(types.Resource),
    "resourceTemplates": TypeAdapter(types.ResourceTemplate),
}
_NO_ARGUMENTS: Mapping[str, object] = {"type": "object"}
_BLOCK_TEXT = 100_000
_FAULTS = 20  # keywords taken out of one definition, beyond which its schema is none

log = logging.getLogger("toolkeel.mcp")


@record
class PeerErrorData:
    """Error data of a peer, marked because it looks like an error of our transport.

    Args:
        data: The peer's data.
    """

    data: object


def describe_failure(error: BaseException) -> str:
    """Describe why a connection failed in a sentence."""
    if isinstance(error, MCPError):
        closed = error.code == types.CONNECTION_CLOSED
        return "it ended, or does not speak the protocol" if closed else error.message
    if isinstance(error, ValidationError):
        return f"its answer breaks the protocol: {unreadable_reason(error)}"
    return str(error) if isinstance(error, RuntimeError) else describe_error(error)


def transport_error(code: int, message: str) -> types.ErrorData:
    """Build an error of our own transport, which no peer can send."""
    return types.ErrorData(code=code, message=message, data={"toolkeel": _OURS})


def mark_peer_error(error: types.ErrorData) -> types.ErrorData:
    """Return a received error, marked if its code is one that our transport uses, too.

    One about an answer that the SDK could not read becomes the transport's. Others stay unchanged.
    """
    unread = (types.PARSE_ERROR, types.INVALID_REQUEST)
    if error.code in unread and error.message.startswith(_SDK_LOST):
        return transport_error(LOST, f"the answer cannot be read: {error.message[:500]}")
    if (
        error.code not in _TRANSPORT
        or _is_transport_data(error.data)
        or error.message.startswith(_SDK_LOST)
    ):
        return error
    return types.ErrorData(code=error.code, message=error.message, data=PeerErrorData(error.data))


OUTPUT_FOLLOWS = "; it wrote:"
"""End of the first line of an error after which the server's stderr follows."""


class Unreachable(ToolkeelError):
    """Raised if there is no connection to the server; nothing was sent."""


class UnreachableQuoted(Unreachable):
    """An `Unreachable` whose text has words of the server."""


def is_transport_error(error: MCPError) -> bool:
    """Return True for an error of our own transport; False if the server answered with it."""
    return error.code in _TRANSPORT and not isinstance(error.data, PeerErrorData)


def error_data(error: types.ErrorData) -> object:
    """Return a peer's error data, or None for an error of the transport."""
    if isinstance(error.data, PeerErrorData):
        return error.data.data
    return None if _is_transport_data(error.data) else error.data


def _is_transport_data(data: object) -> bool:
    """Return True if error data has the mark of our transport."""
    return isinstance(data, dict) and data.get("toolkeel") == _OURS


class ResponseRepair:
    """Repair of one server's responses, piece by piece.

    Args:
        version: The negotiated revision; None before there is one.

    Attributes:
        problems: What was wrong with definitions, by the tool's name.
        rounds: Number of answers that asked for more input.
    """

    def __init__(self, version: Callable[[], str | None]) -> None:
        self._version = version
        self.rounds = 0
        self.problems: dict[str, str] = {}

    def repair(self, result: dict[str, Any], method: str = "") -> None:
        """Repair a result in place: a listing, a call result, contents or a handshake; count its round.

        Args:
            result: The result, which is changed.
            method: Method of its request, if known.
        """
        version = self._version()
        if version is None:
            if "protocolVersion" in result or {"capabilities", "serverInfo"} <= result.keys():
                repair_handshake(result)
            return
        _drop_odd(result)
        if version >= _ANY_STRUCTURE:  # there "missing" means ``complete``; the SDK insists
            result.setdefault("resultType", "complete")
            self.rounds += result["resultType"] == "input_required"
        if method == "tools/call" or (not method and _is_call_result(result)):
            _mend_call(result, version)
            return
        _mend_content(result)
        self._mend_lists(result, version)

    def _mend_lists(self, result: dict[str, Any], version: str) -> None:
        """Repair the lists in a result in place; drop and log items that stay invalid."""
        if isinstance(cursor := result.get("nextCursor"), int):
            result["nextCursor"] = str(cursor)
        for key, of in _LISTS.items():
            if isinstance(items := result.get(key), list):
                result[key] = [item for item in items if self._fits(item, of, key)]
        if "tools" in result:
            listed = [self._tool(tool, version) for tool in _as_list(result["tools"])]
            result["tools"] = [item for item in listed if item is not None]

    def _fits(self, item: object, of: TypeAdapter[Any], key: str) -> bool:
        """Return True if a list item is valid; log it otherwise."""
        try:
            of.validate_python(item, by_name=False)
        except ValidationError:
            log.warning("left out of a server's %s: %s", key, _shorten(item))
            return False
        return True

    def _tool(self, tool: object, version: str) -> dict[str, Any] | None:
        """Return a tool's definition without its invalid parts; None if it cannot be repaired.

        Records each problem in `problems`, by the tool's name.
        """
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str) or not tool["name"]:
            self.problems[f"({_shorten(tool)})"] = "left out: it has no name"
            return None
        definition: dict[str, Any] = dict(tool)
        faults: list[str] = []
        if isinstance(definition.get("inputSchema"), dict):
            definition["inputSchema"] = _require_object_root(definition["inputSchema"])
        for _ in range(len(tool) + _FAULTS):
            place = _fault(definition, version)
            if not place:
                if faults:
                    self.problems[tool["name"]] = "; ".join(faults)
                return definition
            if place[0] not in definition and place[0] != "inputSchema":
                break
            faults.append(_remove_at(definition, place if len(faults) < _FAULTS else place[:1]))
        self.problems[tool["name"]] = "left out: it is no definition of the protocol"
        return None


def _require_object_root(schema: dict[str, Any]) -> dict[str, Any]:
    """Return an argument schema with the root type object if it states none or lists it; else unchanged."""
    if schema.get("type") == "object":
        return schema
    kind = schema.get("type")
    if kind is None or (isinstance(kind, list) and "object" in kind):
        return {**schema, "type": "object"}
    return schema


def _fault(tool: dict[str, Any], version: str) -> list[str]:
    """Return the path of the first fault for which the SDK rejects a definition; empty if none."""
    page: dict[str, Any] = {"tools": [tool], "resultType": "complete", "ttlMs": 0}
    page["cacheScope"] = "private"
    try:
        methods.validate_server_result("tools/list", version, page)
        types.Tool.model_validate(tool, by_name=False)
    except ValidationError as error:
        where = [str(key) for key in error.errors()[0]["loc"]]
        return (where[2:] if where[:1] == ["tools"] else where) or ["definition"]
    return []


def _remove_at(tool: dict[str, Any], place: list[str]) -> str:
    """Remove what an error is about from a definition, in place: of a schema, only the keyword.

    Returns:
        What was taken out.
    """
    key = place[0]
    schema = tool.get(key)
    if key.endswith("Schema") and isinstance(schema, dict) and place[1:2] not in ([], ["type"]):
        schema = tool[key] = dict(schema)
        key = place[1]
        if isinstance(parts := schema.get(key), dict) and set(place[2:3]) & parts.keys():
            schema[key] = {**parts, place[2]: {}}
            return f"its {key}/{place[2]} is no schema, and not used: {_shorten(parts[place[2]])}"
        return f"its {key} is no {key}, and not used: {_shorten(schema.pop(key, None))}"
    if key == "annotations" and isinstance(hints := tool[key], dict) and place[1:2]:
        tool[key] = {name: hint for name, hint in hints.items() if name != place[1]}
        return f"its {key}/{place[1]} is not of the protocol, and not used: {_shorten(hints)}"
    value = tool.pop(key, None)
    if key == "inputSchema":
        tool[key] = dict(_NO_ARGUMENTS)
    return f"its {key} is not of the protocol, and not used: {_shorten(value)}"


def _is_call_result(result: Mapping[str, Any]) -> bool:
    """Return True if a result looks like that of a tool call."""
    if "content" in result or "structuredContent" in result:
        return "role" not in result  # which a sampled message has
    return not result.keys() & _OTHERS


def _mend_call(result: dict[str, Any], version: str) -> None:
    """Repair the complete result of a call in place: content, error flag and structured content."""
    if result.get("resultType", "complete") != "complete":
        return
    content = result.get("content")
    if isinstance(content, str | dict):
        content = [content]
    if not isinstance(content, list):
        rest = {key: value for key, value in result.items() if key not in _OF_A_CALL}
        content = [_unknown_block("result", rest)] if rest else []
    result["content"] = [_block(block) for block in content]
    if not isinstance(result.get("isError", False), bool):
        result["isError"] = str(result["isError"]).lower() not in ("false", "none", "0", "")
    structure = result.get("structuredContent")
    legacy = version < _ANY_STRUCTURE
    if legacy and structure is not None and not isinstance(structure, dict):
        del result["structuredContent"]
        result["_meta"] = {**result.get("_meta", {}), STRUCTURE: structure}


_ANY_STRUCTURE = "2026-07-28"
_OF_A_CALL = frozenset(("content", "structuredContent", "isError", "_meta", "resultType"))
_OTHERS = frozenset(
    ("protocolVersion", "supportedVersions", "capabilities", "tools", "resources", "contents",
     "resourceTemplates", "prompts", "messages", "completion", "role", "roots", "action")
)  # fmt: skip
"""What results of other requests hold."""


def _drop_odd(result: dict[str, Any]) -> None:
    """Remove ``resultType``, ``_meta`` and ``description`` of a wrong type, in place."""
    for key, kind in (("resultType", str), ("_meta", dict), ("description", str)):
        if key in result and not isinstance(result[key], kind):
            del result[key]


def _mend_content(result: dict[str, Any]) -> None:
    """Repair a result's resource contents, prompt messages or completions, in place."""
    if "contents" in result:
        result["contents"] = [_part(each) for each in _as_list(result["contents"])]
    if "messages" in result:
        parts = [_messages(each) for each in _as_list(result["messages"])]
        result["messages"] = [message for part in parts for message in part]
    if (found := result.get("completion")) is not None:
        completion = found if isinstance(found, dict) else {"values": found}
        values = [
            each if isinstance(each, str) else _text(each)
            for each in _as_list(completion.get("values"))
        ]
        more = {"hasMore": True} if len(values) > _MOST else {}
        result["completion"] = {**completion, "values": values[:_MOST], **more}


def _as_list(value: object) -> list[Any]:
    """Return a value as a list; None as an empty one."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _part(part: object) -> object:
    """Return valid contents of a resource as they are; of others the valid fields, without any the value as JSON text."""
    try:
        _PART.validate_python(part, by_name=False)
    except ValidationError:
        fields = part if isinstance(part, dict) else {"text": part}
        valid = {
            key: fields[key] for key in ("uri", "mimeType") if isinstance(fields.get(key), str)
        }
        body = {key: fields[key] for key in ("text", "blob") if isinstance(fields.get(key), str)}
        return {"uri": "unnamed:", **valid, **(body or {"text": _text(fields.get("text", fields))})}
    return part


def _messages(message: object) -> list[dict[str, Any]]:
    """Split a prompt message into one per block, as the protocol requires, with valid roles and blocks."""
    fields = message if isinstance(message, dict) else {"content": message}
    role = "assistant" if fields.get("role") == "assistant" else "user"
    blocks = [_block(block) for block in _as_list(fields.get("content", fields))]
    return [{**fields, "role": role, "content": block} for block in blocks]


def _text(value: object) -> str:
    """Return a value as JSON text, cut to `_BLOCK_TEXT` characters."""
    return json.dumps(value, ensure_ascii=False)[:_BLOCK_TEXT]


def _block(block: object) -> object:
    """Return a valid content block: a text or a block without its type is completed, an unknown one becomes JSON text."""
    if _is_block(block):
        return block
    if isinstance(block, str):
        return {"type": "text", "text": block}
    fields = block if isinstance(block, dict) else {}
    sides = fields.get("annotations")
    audience = sides.get("audience") if isinstance(sides, dict) else None
    plain = {key: value for key, value in fields.items() if key not in ("annotations", "_meta")}
    plain["type"] = fields.get("type") or _shown_type(fields)
    if plain["type"] == "image":
        plain.setdefault("mimeType", "image/png")  # a picture tells its kind itself
    for_user = {"annotations": {"audience": ["user"]}} if audience == ["user"] else {}
    return {**(plain if _is_block(plain) else _unknown_block("block", block)), **for_user}


def _shown_type(block: Mapping[str, Any]) -> str:
    """Return the type that the fields of a block without one show; empty if they show none."""
    if "data" in block:
        return "audio" if str(block.get("mimeType")).startswith("audio/") else "image"
    types_by_field = {"text": "text", "resource": "resource", "uri": "resource_link"}
    return next((kind for field, kind in types_by_field.items() if field in block), "")


def _is_block(block: object) -> bool:
    """Return True if a value is a valid content block."""
    if not isinstance(block, dict) or "type" not in block:
        return False
    try:
        _BLOCK.validate_python(block, by_name=False)
    except ValidationError:
        return False
    return True


def _unknown_block(what: str, value: object) -> dict[str, Any]:
    """Return a text block with a note and the value as JSON."""
    return {"type": "text", "text": f"[a {what} that this client does not know] {_text(value)}"}


def _shorten(value: object) -> str:
    """Return a value as JSON text of at most 80 characters."""
    return json.dumps(value, ensure_ascii=False, default=str)[:80]

"""What a server answers, made readable piece by piece before the SDK judges it as a whole.

The SDK refuses a listing for one definition and a result for one block: then every tool, or the
answer of a call that has run, is lost. Here each piece is judged alone. What can be mended is, what
cannot costs itself, and both are told.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from typing import Any

import mcp_types as types
from mcp_types import methods
from pydantic import TypeAdapter, ValidationError

from toolkeel._records.record import record
from toolkeel.mcp.content import STRUCTURE

NOT_SENT = 1001
"""Code of our own: the request did not reach the server."""
LOST = 1002
"""Code of our own: the request may have reached the server; its answer did not come, or cannot be
read."""
REFUSED = 1003
"""Code of our own: the server refused the request before it looked at it."""
FORGOTTEN = 1004
"""Code of our own: the server has ended our session, and did not look at the request."""

_OURS = secrets.token_hex(16)
_TRANSPORT = (types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT, NOT_SENT, LOST, REFUSED, FORGOTTEN)
_SDK_LOST = (
    *("SSE stream", "Failed to parse", "Unexpected content type", "Redirect to "),
    "server answered a request with 202",
)  # what the SDK calls an invalid request, or one that cannot be parsed: the answer is
_BLOCK: TypeAdapter[Any] = TypeAdapter(types.ContentBlock)
_NO_ARGUMENTS: Mapping[str, object] = {"type": "object"}
_BLOCK_TEXT = 100_000


@record
class FromPeer:
    """What an error of the peer carried, where its code is one by which a transport tells its own.

    Args:
        data: As it came.
    """

    data: object


def our_error(code: int, message: str) -> types.ErrorData:
    """An error of our own transport, which no peer can say."""
    return types.ErrorData(code=code, message=message, data={"toolkeel": _OURS})


def of_peer(error: types.ErrorData) -> types.ErrorData:
    """An error as it came by a transport, marked if it only looks like the transport's own."""
    unread = (types.PARSE_ERROR, types.INVALID_REQUEST)
    if error.code in unread and error.message.startswith(_SDK_LOST):
        return our_error(LOST, f"the answer cannot be read: {error.message[:500]}")
    if error.code not in _TRANSPORT or _is_ours(error.data) or error.message.startswith(_SDK_LOST):
        return error
    return types.ErrorData(code=error.code, message=error.message, data=FromPeer(error.data))


def data_of(error: types.ErrorData) -> object:
    """What the peer said besides code and message; None if it was not the peer that spoke."""
    if isinstance(error.data, FromPeer):
        return error.data.data
    return None if _is_ours(error.data) else error.data


def _is_ours(data: object) -> bool:
    return isinstance(data, dict) and data.get("toolkeel") == _OURS


class Sift:
    """Judges the answers of one server piece by piece.

    Args:
        version: The negotiated revision; None before there is one.

    Attributes:
        problems: What was wrong with definitions, by the tool's name.
        rounds: How often it has answered a request by asking for more.
    """

    def __init__(self, version: Callable[[], str | None]) -> None:
        self._version = version
        self.rounds = 0
        self.problems: dict[str, str] = {}

    def result(self, result: dict[str, Any]) -> None:
        """Mend a listing of tools or the result of a call in place; leave everything else."""
        version = self._version()
        if version is None:
            return
        if version >= _ANY_STRUCTURE:  # there "missing" means ``complete``; the SDK insists
            result.setdefault("resultType", "complete")
            self.rounds += result["resultType"] == "input_required"
        if isinstance(result.get("tools"), list):
            result["tools"] = [
                kept for tool in result["tools"] if (kept := self._tool(tool, version)) is not None
            ]
        elif isinstance(result.get("content"), list) and "role" not in result:
            _mend_call(result, version)
        elif "structuredContent" in result:
            result["content"] = []
            _mend_call(result, version)

    def _tool(self, tool: object, version: str) -> dict[str, Any] | None:
        if not isinstance(tool, dict) or not isinstance(tool.get("name"), str) or not tool["name"]:
            self.problems[f"({_short(tool)})"] = "left out: it has no name"
            return None
        kept: dict[str, Any] = dict(tool)
        said: list[str] = []
        if isinstance(kept.get("inputSchema"), dict):
            kept["inputSchema"] = _of_objects(kept["inputSchema"])
        for _ in range(len(tool) + 1):
            key = _fault(kept, version)
            if key is None:
                if said:
                    self.problems[tool["name"]] = "; ".join(said)
                return kept
            said.append(f"its {key} is no {key}, and not used: {_short(kept.get(key))}")
            if key == "inputSchema":
                kept[key] = dict(_NO_ARGUMENTS)
            elif kept.pop(key, None) is None:
                break
        self.problems[tool["name"]] = "left out: it is no definition of the protocol"
        return None


def _of_objects(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema of arguments whose root says that they are an object, as revisions demand."""
    if schema.get("type") == "object":
        return schema
    kind = schema.get("type")
    if kind is None or (isinstance(kind, list) and "object" in kind):
        return {**schema, "type": "object"}
    return schema


def _fault(tool: dict[str, Any], version: str) -> str | None:
    """The key of a definition for which the SDK refuses it; None if it does not."""
    page: dict[str, Any] = {"tools": [tool], "resultType": "complete", "ttlMs": 0}
    page["cacheScope"] = "private"
    try:
        methods.validate_server_result("tools/list", version, page)
        types.Tool.model_validate(tool, by_name=False)
    except ValidationError as error:
        where = error.errors()[0]["loc"]
        keys = [str(key) for key in where if str(key) in tool]
        return keys[0] if keys else str(where[-1])
    return None


def _mend_call(result: dict[str, Any], version: str) -> None:
    result["content"] = [_block(block) for block in result["content"]]
    if not isinstance(result.get("_meta", {}), dict):
        del result["_meta"]
    if not isinstance(result.get("isError", False), bool):
        result["isError"] = bool(result["isError"])
    structure = result.get("structuredContent")
    legacy = version < _ANY_STRUCTURE
    if legacy and structure is not None and not isinstance(structure, dict):
        del result["structuredContent"]
        result["_meta"] = {**result.get("_meta", {}), STRUCTURE: structure}


_ANY_STRUCTURE = "2026-07-28"


def _block(block: object) -> object:
    """A block, or its JSON as a text if nobody knows its kind or it is not what it says it is."""
    try:
        _BLOCK.validate_python(block, by_name=False)
    except ValidationError:
        said = json.dumps(block, ensure_ascii=False)[:_BLOCK_TEXT]
        return {"type": "text", "text": f"[a block that this client does not know] {said}"}
    return block


def _short(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)[:80]

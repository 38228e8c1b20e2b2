"""Calls of the Responses API's own tools that the program answers.

A computer, a shell and patches have items of their own instead of ``function_call``. The rest of the
library sees such an item as a call of the tool that represents it; its original form is kept beside
it and is sent back unchanged, and its result takes the form that belongs to it.

The result's content decides: the last picture in it is the screenshot, a `Data` block's list is the
shell's output, its object the answer about approval.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from types import MappingProxyType

from toolkeel._records.record import record
from toolkeel.content import Data, Image, content_text, data_url
from toolkeel.messages import ToolMessage
from toolkeel.providers.wire.plain_json import Json, as_dict, as_list, as_text, clean_text, dumps
from toolkeel.providers.wire.tools import WireTools

NATIVE_KEY = "native"
"""Key of a call's extra that holds its item."""
WARNINGS = "pending_safety_checks"
"""Key under which a tool's `inward` gets the safety checks that wait for a person."""
CHECKS = "acknowledged_safety_checks"
"""Key of a result's details that holds the accepted safety checks."""


@record
class NativeCall:
    """An item that is a call of the provider's own tool.

    Args:
        tools: Types of the tool in the request.
        payload: Key that holds the arguments, as an object.
        output_item: Type of the item that answers it.
    """

    tools: Collection[str]
    payload: str
    output_item: str


NATIVE_CALLS: Mapping[str, NativeCall] = MappingProxyType(
    {
        "computer_call": NativeCall(
            ("computer", "computer_use", "computer_use_preview"), "actions", "computer_call_output"
        ),
        "local_shell_call": NativeCall(("local_shell",), "action", "local_shell_call_output"),
        "shell_call": NativeCall(("shell",), "action", "shell_call_output"),
        "apply_patch_call": NativeCall(("apply_patch",), "operation", "apply_patch_call_output"),
        "mcp_approval_request": NativeCall(("mcp",), "", "mcp_approval_response"),
    }
)
"""Every item of this wire that the program answers, but for functions and free text."""


def to_function_call(item: Json, tools: WireTools, *, is_complete: bool) -> Json:
    """Convert a native call of one of `tools` to a function call. Other items stay unchanged.

    Args:
        item: Any output item.
        tools: The request's tools.
        is_complete: True if the item is complete; until then its arguments are not read.
    """
    native = NATIVE_CALLS.get(as_text(item.get("type")))
    if native is None or as_dict(item.get("environment")).get("type", "local") != "local":
        return item
    name = tools.native(native.tools, as_text(item.get("server_label")))
    if not name:
        return item
    parsed = _decode_arguments(item, native)
    if (checks := as_list(item.get(WARNINGS))) and tools.natives[
        name
    ].to_tool_arguments is not None:
        parsed[WARNINGS] = checks
    arguments = dumps(tools.translate_native(name, parsed)) if is_complete else ""
    return {
        "type": "function_call",
        "id": item.get("id"),
        "call_id": item.get("call_id") or item.get("id"),
        "name": tools.alias(name),
        "arguments": arguments,
        **({NATIVE_KEY: item} if is_complete else {}),
    }


def native_item(extra: Json, wire_id: str) -> Json:
    """Return the original item of a call, to send back, or empty for a function call."""
    item = as_dict(extra.get(NATIVE_KEY))
    if not item:
        return {}
    sent_keys = {key: value for key, value in item.items() if key not in ("created_by", "call_id")}
    if item.get("type") == "mcp_approval_request":  # it is known by its own id
        return sent_keys
    return {**sent_keys, "call_id": wire_id}


def encode_native_output(item: Json, result: ToolMessage, wire_id: str) -> Json:
    """Return the item that answers a native call.

    Args:
        item: The call's item, as it is sent.
        result: The tool's result.
        wire_id: Wire id of the call.
    """
    kind = NATIVE_CALLS[as_text(item["type"])].output_item
    wire: Json = {"type": kind, "call_id": wire_id}
    match kind:
        case "computer_call_output":
            wire["output"] = _encode_screenshot(result)
            checks = result.details.get(CHECKS)
            return {**wire, CHECKS: checks} if checks else wire
        case "shell_call_output":
            limit = as_dict(item.get("action")).get("max_output_length")
            wire["output"] = _encode_shell_output(result)
            return wire if limit is None else {**wire, "max_output_length": limit}
        case "apply_patch_call_output":
            status = "failed" if result.failed else "completed"
            return {**wire, "status": status, "output": clean_text(result.text)}
        case "mcp_approval_response":
            return _encode_approval(as_text(item.get("id")), result)
        case "local_shell_call_output":  # the types say id, the server matches call_id
            wire["id"] = wire_id
    return {**wire, "output": clean_text(result.text)}


def _decode_arguments(item: Json, native: NativeCall) -> Json:
    """Return the arguments of a native call, in the shape of the tool that represents it."""
    if native.payload == "actions":
        return {"actions": as_list(item.get("actions")) or [item.get("action")]}
    if not native.payload:
        return {"name": item.get("name"), "arguments": item.get("arguments")}
    payload = as_dict(item.get(native.payload))
    if native.payload == "action":
        return {key: value for key, value in payload.items() if key != "type"}
    return payload


def _encode_screenshot(result: ToolMessage) -> Json:
    """Return a result's last picture as a screenshot's address, empty without one. There is no place for text."""
    blocks = () if isinstance(result.content, str) else result.content
    url = next((data_url(one) for one in reversed(blocks) if isinstance(one, Image)), "")
    return {"type": "computer_screenshot", "image_url": url}


def _find_value(result: ToolMessage) -> object:
    """Return the value of the first `Data` block in a result, or None."""
    blocks = () if isinstance(result.content, str) else result.content
    return next((block.value for block in blocks if isinstance(block, Data)), None)


def _encode_shell_output(result: ToolMessage) -> list[object]:
    """Return the tool's own entries for its commands, else one entry with the result's text."""
    parsed = as_list(_find_value(result))
    if parsed:
        return parsed
    text = clean_text(content_text(result.content))
    output = {"stdout": "", "stderr": text} if result.failed else {"stdout": text, "stderr": ""}
    return [{**output, "outcome": {"type": "exit", "exit_code": int(result.failed)}}]


def _encode_approval(id: str, result: ToolMessage) -> Json:
    """Encode an approval; anything but a clear yes means no."""
    answer = as_dict(_find_value(result))
    reason = as_text(answer.get("reason")) or (clean_text(result.text) if result.failed else "")
    wire: Json = {
        "type": "mcp_approval_response",
        "approval_request_id": id,
        "approve": answer.get("approve") is True and not result.failed,
    }
    return {**wire, "reason": reason} if reason else wire

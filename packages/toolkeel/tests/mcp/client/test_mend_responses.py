"""Answers of servers that break the protocol in one place: that place is lost, and nothing else."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from toolkeel import Image, Text, ToolCall, ToolMessage, Toolset
from toolkeel.mcp.client.mcp_server import MCPServer
from toolkeel.mcp.client.mend_responses import (
    LOST,
    PeerErrorData,
    ResponseRepair,
    describe_failure,
    error_data,
    mark_peer_error,
    transport_error,
)
from toolkeel.mcp.content import to_result

SAID = """
import json, sys
tools, result = json.loads(sys.argv[1])
for line in sys.stdin:
    asked = json.loads(line)
    match asked.get("method"):
        case "initialize":
            said = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                    "serverInfo": {"name": "odd", "version": "1"}}
        case "tools/list":
            said = {"tools": tools}
        case "tools/call":
            said = result
        case _:
            if "id" in asked:
                error = {"code": -32601, "message": "no such method"}
                print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
            continue
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""
OBJECT = {"type": "object"}
ACT = {"name": "act", "inputSchema": OBJECT}


@contextmanager
def odd(tools: Sequence[Any], result: Any = None) -> Iterator[MCPServer]:
    server = MCPServer([sys.executable, "-c", SAID, json.dumps([tools, result])], trust=True)
    try:
        yield server
    finally:
        asyncio.run(server.close())


def call(result: Any) -> ToolMessage:
    with odd([ACT], result) as server:
        [message] = Toolset(server.tools()).run_sync([ToolCall("1", "act", {})])
    return message


def test_definitions_are_judged_one_by_one_and_each_fault_costs_itself() -> None:
    tools = [
        {"name": "fine", "inputSchema": OBJECT},
        {"name": "nullable", "inputSchema": {"type": ["object", "null"]}},
        {"name": "either", "inputSchema": {"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}},
        {"name": "listed", "inputSchema": OBJECT, "outputSchema": {"type": "array"}},
        {"name": "hints", "inputSchema": OBJECT, "annotations": {"title": 5, "readOnlyHint": True}},
        {"name": "none"},
        {"name": "odd text", "description": 5, "inputSchema": OBJECT, "icons": "x"},
        {"inputSchema": OBJECT},
        "nothing",
        {"name": "email", "inputSchema": {"type": "object", "properties": {
            "to": {"type": "string", "pattern": "^(?!x)[a-z]+$"}, "k": {"pattern": "("}}}},
    ]  # fmt: skip
    with odd(tools) as server:
        found = Toolset(server.tools())
        assert found.names == (
            "fine", "nullable", "either", "listed", "hints", "none", "odd_text", "email",
        )  # fmt: skip
        assert "outputSchema" in server.problems["listed"]
        assert "annotations/title" in server.problems["hints"]
        assert found["hints"].effects.read_only
        assert "inputSchema" in server.problems["none"]
        assert {"description", "icons"} <= set(server.problems["odd text"].split())
        assert "pattern" in server.problems["email"]
        assert len([name for name in server.problems if "no name" in server.problems[name]]) == 2
        to = found["email"].parameters["properties"]
        assert to == {"to": {"type": "string", "pattern": "^(?!x)[a-z]+$"}, "k": {}}


def test_a_name_that_cannot_be_typed_gets_another_and_is_called_by_its_own() -> None:
    names = ["a b", "a_b", "a\u200bb", "x" * 200]
    with odd([{"name": name, "inputSchema": OBJECT} for name in names], {"content": []}) as server:
        found = Toolset(server.tools())
        assert len(set(found.names)) == 4 and found.names[1] == "a_b"
        assert [tool.metadata["mcp"]["tool"] for tool in found] == names  # type: ignore[index]


def test_a_block_nobody_knows_stands_as_its_json_and_the_others_stay() -> None:
    blocks = [{"type": "text", "text": "kept"}, {"type": "hologram", "x": 1}, "loose",
              {"type": "image", "data": "no base64!", "mimeType": "image/png"}]  # fmt: skip
    message = call({"content": blocks})
    assert message.kind is None and isinstance(message.content, tuple)
    texts = [block.text for block in message.content if isinstance(block, Text)]
    assert texts[0] == "kept" and "hologram" in texts[1] and "loose" in texts[2]
    assert "not Base64" in texts[3]


@pytest.mark.parametrize("structure", [[1, 2], "text", 5, False])
def test_structure_of_any_kind_is_kept_in_the_older_revision_too(structure: object) -> None:
    message = call({"content": [{"type": "text", "text": "x"}], "structuredContent": structure})
    assert (message.text, message.artifact, message.kind) == ("x", structure, None)


def test_a_result_of_structure_alone_is_a_result() -> None:
    assert call({"structuredContent": {"n": 1}}).artifact == {"n": 1}


def test_half_an_emoji_is_the_sign_for_what_is_no_character() -> None:
    assert call({"content": [{"type": "text", "text": "a \ud83d b"}]}).content == "a \ufffd b"


def test_what_is_for_the_person_is_passed_on_by_a_server_that_serves_the_tool() -> None:
    block = {"type": "image", "data": "aGk=", "mimeType": "image/png",
             "annotations": {"audience": ["user"]}}  # fmt: skip
    message = call({"content": [{"type": "text", "text": "x"}, block]})
    assert message.content == (Text("x"),)
    sent = to_result(message).model_dump(by_alias=True, exclude_none=True, mode="json")
    assert sent["content"] == [{"type": "text", "text": "x"}, block]


@pytest.mark.parametrize("code", [types.CONNECTION_CLOSED, types.REQUEST_TIMEOUT, LOST])
def test_only_our_own_transport_tells_of_itself(code: int) -> None:
    said = mark_peer_error(types.ErrorData(code=code, message="lost", data={"x": 1}))
    assert said.data == PeerErrorData({"x": 1}) and error_data(said) == {"x": 1}
    ours = mark_peer_error(transport_error(code, "lost"))
    assert not isinstance(ours.data, PeerErrorData) and error_data(ours) is None


@pytest.mark.parametrize(
    ("result", "content"),
    [
        ({"content": "hello"}, "hello"),
        ({"content": {"type": "text", "text": "one"}}, "one"),
        ({"content": None}, ""),
        ({}, ""),
        (None, ""),
        ({"toolResult": 5}, '[a result that this client does not know] {"toolResult": 5}'),
        ("done", '[a result that this client does not know] {"result": "done"}'),
        ({"content": [], "structuredContent": None}, "null"),
        ({"content": [{"type": "text", "text": "x", "annotations": {"priority": 7}}]}, "x"),
        ({"content": [{"type": "text", "text": "x", "_meta": 5}], "isError": "false"}, "x"),
        ({"content": "x", "tools": [], "resources": [5], "messages": 1}, "x"),
        ({"content": "x", "resultType": 7}, "x"),
        ({"content": [{"text": "x"}, {"type": None, "text": "y"}, "z"]}, "x\ny\nz"),
        ({"content": [{"txt": "x"}]}, '[a block that this client does not know] {"txt": "x"}'),
        ({"content": [5]}, "[a block that this client does not know] 5"),
    ],
)
def test_a_result_of_another_form_is_read_as_what_it_says(result: Any, content: str) -> None:
    message = call(result)
    assert (message.text, message.kind) == (content, None)


TEXT = {"type": "text", "text": "x"}
SAYS = {"role": "user", "content": TEXT}


@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize(
    ("result", "key", "mended"),
    [
        ({"contents": [{"uri": "a:b", "text": "x", "mimeType": 5}]}, "contents",
         [{"uri": "a:b", "text": "x"}]),
        ({"contents": ["x", {"uri": "a:b", "blob": "aGk=", "_meta": 5}]}, "contents",
         [{"uri": "unnamed:", "text": "x"}, {"uri": "a:b", "blob": "aGk="}]),
        ({"contents": {"uri": "a:b", "text": 5}}, "contents", [{"uri": "a:b", "text": "5"}]),
        ({"contents": [{"uri": "a:b"}]}, "contents", [{"uri": "a:b", "text": '{"uri": "a:b"}'}]),
        ({"contents": None, "_meta": [1]}, "contents", []),
        ({"messages": [{"role": "user", "content": "x"}]}, "messages", [SAYS]),
        ({"messages": "x", "description": 5}, "messages", [SAYS]),
        ({"messages": [{"role": "system", "content": [TEXT, TEXT]}]}, "messages", [SAYS, SAYS]),
        ({"messages": {"role": "assistant", "content": TEXT}}, "messages",
         [{"role": "assistant", "content": TEXT}]),
        ({"completion": ["x", 1]}, "completion", {"values": ["x", "1"]}),
        ({"completion": {"values": ["x"] * 101}}, "completion",
         {"values": ["x"] * 100, "hasMore": True}),
        ({"completion": {}}, "completion", {"values": []}),
    ],
)  # fmt: skip
def test_what_is_read_filled_in_or_suggested_is_read_as_what_it_says(
    result: Any, key: str, mended: Any, version: str
) -> None:
    read = json.loads(json.dumps(result))
    ResponseRepair(lambda: version).repair(read)
    assert read.pop("resultType", "complete") == "complete"
    assert read == {key: mended}


def test_a_picture_that_does_not_tell_its_kind_is_a_picture() -> None:
    message = call({"content": [{"type": "image", "data": "iVBORw0KGgo="}]})
    assert isinstance(message.content, tuple) and isinstance(message.content[0], Image)


def test_what_is_for_the_person_alone_stays_so_if_it_is_broken() -> None:
    sides = {"audience": ["user"], "priority": 7}
    message = call({"content": [{"type": "text", "text": "secret", "annotations": sides}]})
    assert "secret" not in message.text and "secret" in str(message.details["for_user"])


def test_a_keyword_for_which_a_definition_is_refused_costs_itself() -> None:
    string = {"type": "string"}
    schema = {"type": "object", "properties": {"a": string, "b": None, "c": 5}, "required": "a"}
    deep: dict[str, Any] = {"type": "string"}
    for _ in range(300):
        deep = {"type": "object", "properties": {"x": deep}}
    tools = [{"name": "act", "inputSchema": schema}, {"name": "deep", "inputSchema": deep}]
    with odd(tools) as server:
        act, other = server.tools()
        assert act.parameters["properties"] == {"a": string, "b": {}, "c": {}}
        assert all(word in server.problems["act"] for word in ("required", "/b", "/c"))
        assert other.parameters["properties"]["x"]["type"] == "object"  # type: ignore[index]
        assert "levels deep" in server.problems["deep"]


def test_the_source_of_the_odd_server_is_python() -> None:
    compile(SAID, str(Path(__file__)), "exec")


def test_a_list_that_is_none_is_empty_and_a_cursor_may_be_a_number() -> None:
    result: dict[str, Any] = {"tools": None, "nextCursor": 5}
    ResponseRepair(lambda: "2025-11-25").repair(result)
    assert result == {"tools": [], "nextCursor": "5"}


@pytest.mark.parametrize(("result", "is_mended"), [
    ({"protocolVersion": "2025-06-18", "serverInfo": {"name": "s"}}, True), ({}, False),
    ({"capabilities": None, "serverInfo": {}}, True), ({"tools": []}, False),
    ({"supportedVersions": [], "capabilities": None, "serverInfo": None}, False),
])  # fmt: skip
def test_only_what_is_a_handshake_is_mended_as_one(result: dict[str, Any], is_mended: bool) -> None:
    mended = dict(result)
    ResponseRepair(lambda: None).repair(mended)
    assert (mended != result) is is_mended


@pytest.mark.parametrize(("error", "told"), [
    (RuntimeError("Unsupported protocol version: 1"), "Unsupported protocol version: 1"),
    (MCPError(types.CONNECTION_CLOSED, "closed"), "it ended, or does not speak the protocol"),
    (OSError("no such host"), "OSError: no such host"),
])  # fmt: skip
def test_why_a_connection_failed_is_a_sentence(error: Exception, told: str) -> None:
    assert describe_failure(error) == told
    with pytest.raises(ValidationError) as odd:
        types.InitializeResult.model_validate({})
    assert describe_failure(odd.value).startswith("its answer breaks the protocol: ")
    assert "InitializeResult" not in describe_failure(odd.value)

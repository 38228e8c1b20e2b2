"""Calls of the Responses API's own tools: in as calls, out as the items they answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from toolkeel import ToolCall, Toolset, tool
from toolkeel.agent.reply_assembly import assemble
from toolkeel.content import Data, Image
from toolkeel.define.tool import AnyTool
from toolkeel.hosted import Hosted, Native
from toolkeel.messages import ToolMessage, ToolOutput, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import openai_chat, openai_responses
from toolkeel.providers.openai_responses.native_calls import CHECKS

Json = dict[str, Any]
PIXEL = b"\x89PNG\r\n\x1a\n"


def native(body: Json, **more: Any) -> Hosted:
    return Hosted({"openai-responses": Native(body, runs_here=True, **more)})


def of(kind: str, function: Any, body: Json | None = None) -> AnyTool:
    made: AnyTool = tool(kind, hosted=native(body or {"type": kind}))(function)
    return made


def computer(actions: list[dict[str, Any]]) -> ToolOutput:
    """Act on the screen."""
    checks = [{"id": "sc_1"}] if actions else []
    return ToolOutput([Image(PIXEL)], details={CHECKS: checks})


def shell(
    commands: list[str], timeout_ms: int | None = None, max_output_length: int | None = None
) -> list[Data]:
    """Run commands."""
    ran = [
        {"stdout": f"ran {one}", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
        for one in commands
    ]
    return [Data(ran, json.dumps(ran))]


def local_shell(
    command: list[str],
    env: dict[str, str] | None = None,
    timeout_ms: int | None = None,
    user: str | None = None,
    working_directory: str | None = None,
) -> str:
    """Run a program."""
    return " ".join(command)


def apply_patch(type: str, path: str, diff: str = "") -> str:
    """Change a file."""
    return f"{type} {path}"


def approval(name: str, arguments: str) -> list[Data]:
    """Say whether a server may run its tool."""
    answer = {"approve": name == "read", "reason": "只读"}
    return [Data(answer, json.dumps(answer))]


TOOLS = Toolset(
    [
        of("computer", computer),
        of("shell", shell, {"type": "shell", "environment": {"type": "local"}}),
        of("local_shell", local_shell),
        of("apply_patch", apply_patch),
        of(
            "approval", approval, {"type": "mcp", "server_label": "docs", "server_url": "https://x"}
        ),
    ]
)
CLICK = {"type": "click", "x": 10, "y": 20, "button": "left"}
ITEMS: list[tuple[Json, str, Json, Json]] = [
    (
        {
            "type": "computer_call",
            "id": "cu_1",
            "call_id": "call_1",
            "status": "completed",
            "actions": [CLICK],
            "pending_safety_checks": [{"id": "sc_1", "code": "c", "message": "m"}],
        },
        "computer",
        {"actions": [CLICK]},
        {
            "type": "computer_call_output",
            "call_id": "call_1",
            "output": {
                "type": "computer_screenshot",
                "image_url": "data:image/png;base64,iVBORw0KGgo=",
            },
            "acknowledged_safety_checks": [{"id": "sc_1"}],
        },
    ),
    (
        {
            "type": "shell_call",
            "id": "sh_1",
            "call_id": "call_1",
            "status": "completed",
            "action": {"commands": ["ls"], "timeout_ms": 1000, "max_output_length": 4096},
        },
        "shell",
        {"commands": ["ls"], "timeout_ms": 1000, "max_output_length": 4096},
        {
            "type": "shell_call_output",
            "call_id": "call_1",
            "output": [
                {"stdout": "ran ls", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
            ],
            "max_output_length": 4096,
        },
    ),
    (
        {
            "type": "local_shell_call",
            "id": "lsh_1",
            "call_id": "call_1",
            "status": "completed",
            "action": {"type": "exec", "command": ["ls", "-l"], "env": {}, "user": None},
        },
        "local_shell",
        {"command": ["ls", "-l"], "env": {}, "user": None},
        {
            "type": "local_shell_call_output",
            "id": "call_1",
            "call_id": "call_1",
            "output": "ls -l",
        },
    ),
    (
        {
            "type": "apply_patch_call",
            "id": "ap_1",
            "call_id": "call_1",
            "status": "completed",
            "operation": {"type": "update_file", "path": "a.py", "diff": "@@\n-a\n+b"},
        },
        "apply_patch",
        {"type": "update_file", "path": "a.py", "diff": "@@\n-a\n+b"},
        {
            "type": "apply_patch_call_output",
            "call_id": "call_1",
            "status": "completed",
            "output": "update_file a.py",
        },
    ),
    (
        {
            "type": "mcp_approval_request",
            "id": "mcpr_1",
            "server_label": "docs",
            "name": "read",
            "arguments": '{"path":"a"}',
        },
        "approval",
        {"name": "read", "arguments": '{"path":"a"}'},
        {
            "type": "mcp_approval_response",
            "approval_request_id": "mcpr_1",
            "approve": True,
            "reason": "只读",
        },
    ),
]
IDS = [item["type"] for item, *_ in ITEMS]
INPUT = TypeAdapter(list[ResponseInputItemParam])


def response(*output: Json) -> Json:
    return {"object": "response", "status": "completed", "model": "gpt-5", "output": list(output)}


@pytest.mark.parametrize(("item", "name", "arguments", "output"), ITEMS, ids=IDS)
def test_a_native_call_is_run_here_and_answered_in_its_own_form(
    item: Json, name: str, arguments: Json, output: Json
) -> None:
    reply = openai_responses.decode(response(item), tools=TOOLS)
    [call] = reply.tool_calls
    assert (call.name, json.loads(str(call.arguments))) == (name, arguments)
    assert reply.finish_reason == "tool_calls"
    back = openai_responses.encode_turn(reply, TOOLS.run_sync([call]), tools=TOOLS)
    assert back == [item, output]
    INPUT.validate_python(back)


@pytest.mark.parametrize(("item", "name", "arguments", "output"), ITEMS, ids=IDS)
def test_a_streamed_native_call_is_the_same(
    item: Json, name: str, arguments: Json, output: Json
) -> None:
    begun = {**item, "status": "in_progress", "actions": [], "action": {}, "operation": {}}
    events = [
        {"type": "response.output_item.added", "output_index": 0, "item": begun},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": response(item)},
    ]
    streamed = assemble(openai_responses.decode_stream(events, tools=TOOLS))
    assert streamed == openai_responses.decode(response(item), tools=TOOLS)
    assert streamed.tool_calls[0].provider_options["openai-responses"]["native"] == item  # type: ignore[index]


def test_the_preview_of_the_computer_calls_one_action() -> None:
    item = {"type": "computer_call", "id": "cu", "call_id": "c", "action": CLICK}
    [call] = openai_responses.decode_calls(response(item), tools=TOOLS)
    assert json.loads(str(call.arguments)) == {"actions": [CLICK]}


def test_a_shell_in_a_container_of_the_server_is_not_answered() -> None:
    item = {**ITEMS[1][0], "environment": {"type": "container_reference", "container_id": "c"}}
    assert openai_responses.decode_calls(response(item), tools=TOOLS) == []


def test_a_native_call_without_its_tool_is_kept_and_not_called() -> None:
    item = ITEMS[0][0]
    reply = openai_responses.decode(response(item))
    assert reply.tool_calls == ()
    assert reply.provider_options["openai-responses"] == {"output": [item]}


def test_another_model_is_told_of_a_native_call_as_of_a_function() -> None:
    reply = openai_responses.decode(response(ITEMS[1][0]), tools=TOOLS)
    results = TOOLS.run_sync(list(reply.tool_calls))
    chat = openai_chat.encode_messages([UserMessage("go"), reply, *results])
    assert chat[1]["tool_calls"][0]["function"]["name"] == "shell"  # type: ignore[index]
    assert json.loads(str(chat[2]["content"]))[0]["stdout"] == "ran ls"
    other = openai_responses.encode_messages([UserMessage("go"), reply, *results], model="o3")
    assert [item.get("type") for item in other[1:]] == ["function_call", "function_call_output"]


@pytest.mark.parametrize(
    ("index", "told"),
    [
        (1, {"stdout": "", "stderr": "boom", "outcome": {"type": "exit", "exit_code": 1}}),
        (4, {"approve": False, "reason": "boom"}),
        (3, {"status": "failed", "output": "boom"}),
    ],
)
def test_a_failure_is_told_in_the_native_form(index: int, told: Json) -> None:
    reply = openai_responses.decode(response(ITEMS[index][0]), tools=TOOLS)
    failed = ToolMessage("boom", reply.tool_calls[0].id, status="error", kind="tool_error")
    _, output = openai_responses.encode_turn(reply, [failed], tools=TOOLS)
    where = output["output"][0] if index == 1 else output  # type: ignore[index]
    assert told.items() <= where.items()


def test_native_tools_stand_behind_functions_with_what_their_results_need() -> None:
    @tool
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    search = tool(
        "file_search",
        hosted=Hosted(
            {
                "openai-responses": Native(
                    {"type": "file_search", "vector_store_ids": ["vs"]},
                    include=("file_search_call.results",),
                )
            }
        ),
    )(lambda query: query)
    request = ModelRequest(
        [UserMessage("hi")], Toolset([search, add]), Settings(tool_choice="file_search")
    )
    body = openai_responses.encode(request, "gpt-4.1")
    assert [one.get("name", one["type"]) for one in body["tools"]] == ["add", "file_search"]  # type: ignore[attr-defined, union-attr]
    assert body["include"] == ["file_search_call.results"]
    assert body["tool_choice"] == {"type": "file_search"}
    chat = openai_chat.encode_tools([search])
    assert chat[0]["function"]["name"] == "file_search"  # type: ignore[index]


def test_two_servers_are_told_apart_by_their_labels() -> None:
    first, second = (
        of(label, approval, {"type": "mcp", "server_label": label}) for label in ("one", "two")
    )
    item = {**ITEMS[4][0], "server_label": "two"}
    [call] = openai_responses.decode_calls(response(item), tools=Toolset([first, second]))
    assert call == ToolCall("mcpr_1", "two", call.arguments, provider_options=call.provider_options)

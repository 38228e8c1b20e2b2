"""The shell tools of OpenAI's models, run here."""

from __future__ import annotations

from pathlib import Path

from toolkeel import RunContext, Toolset
from toolkeel.content import Data
from toolkeel.messages import ToolCall, ToolMessage, UserMessage
from toolkeel.model_interface import ModelRequest, Settings
from toolkeel.providers import openai_chat, openai_responses
from toolkeel_workspace.files.apply_patch import apply_patch
from toolkeel_workspace.files.workspace import Workspace
from toolkeel_workspace.sandbox.confine import Sandbox
from toolkeel_workspace.shell.local_shell import local_shell, shell


def call(folder: Path, name: str, **arguments: object) -> ToolMessage:
    sandbox = Sandbox("off", [folder])
    toolset = Toolset([local_shell(sandbox), shell(sandbox)])
    run = RunContext(approver=lambda ticket: True)
    return toolset.run_sync([ToolCall("c", name, arguments)], run)[0]


def test_the_words_of_a_command_are_no_shell(tmp_path: Path) -> None:
    message = call(tmp_path, "local_shell", command=["echo", "$HOME; touch x"])
    assert message.content == "$HOME; touch x"
    assert list(tmp_path.iterdir()) == []


def test_folder_variables_and_time_of_a_command_are_said(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    command = ["sh", "-c", "pwd; echo $A"]
    message = call(
        tmp_path, "local_shell", command=command, working_directory="sub", env={"A": "a b"}
    )
    assert message.content == f"{tmp_path}/sub\na b"
    late = call(tmp_path, "local_shell", command=["sleep", "60"], timeout_ms=300)
    assert late.status == "error" and "timed out after 0.3 seconds" in str(late.content)


def test_a_folder_outside_and_no_command_are_refused(tmp_path: Path) -> None:
    (tmp_path / "r").mkdir()
    for folder in ("..", "/", "no", "../r_evil"):
        message = call(tmp_path / "r", "local_shell", command=["ls"], working_directory=folder)
        assert "no folder below the root" in str(message.content)
    assert "command is empty" in str(call(tmp_path, "local_shell", command=[]).content)


def test_lines_of_shell_tell_both_outputs_and_their_outcomes(tmp_path: Path) -> None:
    message = call(
        tmp_path, "shell", commands=["echo a; echo b >&2; exit 3", "sleep 60"], timeout_ms=500
    )
    assert message.details["output"] == [
        {"stdout": "a\n", "stderr": "b\n", "outcome": {"type": "exit", "exit_code": 3}},
        {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}},
    ]
    (block,) = message.content
    assert isinstance(block, Data) and block.value == message.details["output"]
    assert message.text == (
        "$ echo a; echo b >&2; exit 3\na\nstderr:\nb\n[exit code 3]\n\n$ sleep 60\n[timed out]"
    )


def test_an_output_is_shortened_in_the_middle(tmp_path: Path) -> None:
    message = call(tmp_path, "shell", commands=["seq 1 100"], max_output_length=20)
    output = message.details["output"]
    assert isinstance(output, list)
    assert output[0]["stdout"].startswith("1\n2\n3\n4\n5\n\n[... ")
    assert output[0]["stdout"].endswith("99\n100\n")
    assert message.details["max_output_length"] == 20


ITEMS: list[dict[str, object]] = [
    {
        "type": "local_shell_call",
        "id": "lsh_1",
        "call_id": "call_1",
        "status": "completed",
        "action": {
            "type": "exec",
            "command": ["echo", "words"],
            "env": {},
            "timeout_ms": None,
            "user": None,
            "working_directory": None,
        },
    },
    {
        "type": "shell_call",
        "id": "sh_1",
        "call_id": "call_2",
        "status": "completed",
        "action": {"commands": ["echo 你好"], "timeout_ms": 9000, "max_output_length": 4096},
        "environment": {"type": "local"},
    },
    {
        "type": "apply_patch_call",
        "id": "ap_1",
        "call_id": "call_3",
        "status": "completed",
        "operation": {"type": "create_file", "path": "a.py", "diff": "+x = 1"},
    },
]


def test_on_the_responses_wire_they_have_the_forms_of_their_own(tmp_path: Path) -> None:
    sandbox = Sandbox("off", [tmp_path])
    patch = apply_patch(Workspace(tmp_path, None))
    toolset = Toolset([local_shell(sandbox), shell(sandbox), patch])
    assert openai_responses.encode_tools(toolset) == [
        {"type": "local_shell"},
        {"type": "shell", "environment": {"type": "local"}},
        {"type": "apply_patch"},
    ]
    answer = {"id": "r", "status": "completed", "output": ITEMS}
    reply = openai_responses.decode(answer, tools=toolset)
    results = toolset.run_sync(reply.tool_calls, RunContext(approver=lambda ticket: True))
    assert [result.status for result in results] == ["success"] * 3
    assert (tmp_path / "a.py").read_text() == "x = 1\n"
    request = ModelRequest((UserMessage("go"), reply, *results), tuple(toolset), Settings())
    sent = openai_responses.encode(request, "gpt-5")["input"]
    assert isinstance(sent, list)
    outputs = {str(item.get("type")): item for item in sent}
    assert outputs["local_shell_call_output"]["output"] == "words"
    assert outputs["shell_call_output"]["output"] == [
        {"stdout": "你好\n", "stderr": "", "outcome": {"type": "exit", "exit_code": 0}}
    ]
    assert outputs["shell_call_output"]["max_output_length"] == 4096
    assert outputs["apply_patch_call_output"]["status"] == "completed"


def test_on_any_other_wire_they_are_functions(tmp_path: Path) -> None:
    toolset = Toolset([local_shell(Sandbox("off", [tmp_path]), "local")])
    assert openai_responses.encode_tools(toolset)[0]["type"] == "function"
    assert openai_chat.encode_tools(Toolset([shell(Sandbox("off", [tmp_path]))]))[0]["function"]

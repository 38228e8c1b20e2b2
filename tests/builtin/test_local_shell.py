"""The shell tools of OpenAI's models, run here."""

from __future__ import annotations

from pathlib import Path

from toolwright import Run, Toolset
from toolwright.builtin.local_shell import local_shell, shell
from toolwright.content import Data
from toolwright.engines.sandbox import Sandbox
from toolwright.messages import ToolCall, ToolMessage


def call(folder: Path, name: str, **arguments: object) -> ToolMessage:
    sandbox = Sandbox("off", [folder])
    toolset = Toolset([local_shell(sandbox), shell(sandbox)])
    run = Run(approver=lambda ticket: True)
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

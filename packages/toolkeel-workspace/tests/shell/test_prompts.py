"""Prompts of programs are recognized, and ordinary output is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from toolkeel_workspace.shell.git_identity import explain_git
from toolkeel_workspace.shell.prompts import explain_no_input, find_prompt


@pytest.mark.parametrize(
    "line",
    [
        "Continue? [y/N] ", "Ok to proceed? (y) ", "Do you want to continue? [Y/n]", "Password: ",
        "Enter passphrase for key 'id': ", "Are you sure (yes/no/[fingerprint])? ",
        ">>> ", "In [1]: ", "sqlite> ", "What is your name? ", "Username for 'https://a.example': ",
        "package name: (app) ", "Name: ",
    ],
)  # fmt: skip
def test_a_question_to_a_person_is_a_prompt(line: str) -> None:
    assert find_prompt(f"some output\n{line}") == line.strip()


@pytest.mark.parametrize(
    "text", ["", "done", "100 %", "downloading...", "Password: \n", "12 files", "x" * 300 + "? "]
)
def test_ordinary_output_is_no_prompt(text: str) -> None:
    assert find_prompt(text) == ""


def test_a_failed_command_that_asked_for_input_is_explained() -> None:
    assert "asked for input (Overwrite? [y/N])" in explain_no_input("x", "Overwrite? [y/N] ", True)
    assert explain_no_input("x", "sudo: a terminal is required to read the password", True)
    assert explain_no_input("x", "EOFError: EOF when reading a line", True)
    assert not explain_no_input("x", "Overwrite? [y/N] ", False)
    assert explain_no_input("x", "the input device is not a TTY", True)
    assert not explain_no_input("x", "not a tty", True)  # the answer of the command tty
    assert not explain_no_input("x", "1 test failed", True)


@pytest.mark.parametrize(
    "text",
    ["Vim: Warning: Input is not from a terminal", "top: failed tty get", "Error opening terminal: dumb."],
)  # fmt: skip
def test_a_program_that_fills_a_terminal_is_explained_as_one(text: str) -> None:
    assert "It seems to need a terminal" in explain_no_input("x", text, True)
    assert not explain_no_input("x", text, False)


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("read -p 'Name: ' x; echo $x", "Name: "), ('cd a && read -rp "Sure? " x', "Sure? "),
        ("if true; then read -r -p 'Go? ' x; fi", "Go? "), ("read -sp 'Password: ' x", "Password: "),
        ("echo a | (read -p 'Name: ' x)", ""), ("read -p 'Name: ' x < file", ""),
        ("read x", ""), ("proofread -p 'x' y", ""), ("echo 'I read -p' x", ""),
    ],
)  # fmt: skip
def test_a_read_whose_prompt_bash_does_not_print_is_found_in_the_command(
    line: str, asked: str
) -> None:
    assert (f"({asked})" in explain_no_input(line, "", False)) is bool(asked)


@pytest.mark.parametrize("piece", [';read -p "', "git config ", "git "])
def test_a_command_is_looked_through_in_linear_time(piece: str, tmp_path: Path) -> None:
    """What takes quadratic time would take minutes here."""
    command = piece * (200_000 // len(piece)) + "<"
    assert explain_no_input(command, "", True) == ""
    assert "HOME" not in explain_git(command, "", tmp_path)

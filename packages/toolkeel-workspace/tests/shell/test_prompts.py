"""Prompts of programs are recognized, and ordinary output is not."""

from __future__ import annotations

import pytest

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
    assert "asked for input (Overwrite? [y/N])" in explain_no_input("Overwrite? [y/N] ", True)
    assert explain_no_input("sudo: a terminal is required to read the password", True)
    assert explain_no_input("EOFError: EOF when reading a line", True)
    assert not explain_no_input("Overwrite? [y/N] ", False)
    assert explain_no_input("Vim: Warning: Input is not from a terminal", True)
    assert explain_no_input("the input device is not a TTY", True)
    assert not explain_no_input("not a tty", True)  # the answer of the command tty
    assert not explain_no_input("1 test failed", True)

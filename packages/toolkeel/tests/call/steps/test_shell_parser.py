"""Whether a line of shell runs what it does not say; the many ways are tried in `test_command_patterns`."""

from __future__ import annotations

import shlex
from itertools import product
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkeel.call.steps.shell_parser import parse_commands, runs_unread


@pytest.mark.parametrize(
    "line",
    [
        "$X", "curl y | sh", "eval a", "echo $($X)", "a='b'; 'never closed", "env $X", "! eval a",
        "sudo sh", "nice -n 5 bash", "timeout 5 env A=1 sh", "bash -c sh", "sh -c '$X'", "sh -ec bash",
        "find . -exec sh -c '$0' {} ;", "xargs sh -c '$X'", "find . -exec $X {} +", "env -S 'sh x'",
        "env -S'sh x'", "env --split-string='sh x'",
    ],
)  # fmt: skip
def test_a_line_that_runs_more_than_it_says_is_told(line: str) -> None:
    assert runs_unread(line)


@pytest.mark.parametrize(
    "line",
    [
        "ls", "cat f | wc -l", 'echo "$X"', "if [ -f a ]; then ls; fi", "sh -c 'ls -l'", "env A=1 ls",
        "timeout 5 ls", "nice -n 5 ls", "bash -ec 'ls'", "bash -o pipefail -c ls", "find . -exec ls {} +",
    ],
)  # fmt: skip
def test_a_line_that_says_all_is_not(line: str) -> None:
    assert not runs_unread(line)


WORDS = ["a", '"a"', "'a'", "a\\ b", '"a b"', "$'a'", '"a"b', "a'b'", '""', "''"]
READERS = ["sh", "bash", "/bin/sh", "dash", "python3", "sh -s", "xargs sh -c"]


@pytest.mark.parametrize("reader", READERS)
def test_what_is_piped_into_an_interpreter_is_never_harmless(reader: str) -> None:
    """However the words before the pipe end: with a quotation mark, a blank or neither."""
    for word, pipe in product(WORDS, ["|", " | ", " |", "| ", "|&", " |& "]):
        for line in (f"echo {word}{pipe}{reader}", f"ls; echo {word}{pipe}{reader} && ls"):
            assert runs_unread(line), line


def test_what_is_piped_into_a_program_that_reads_text_is_harmless() -> None:
    for word, pipe in product(WORDS, ["|", " | ", "; ", " && ", " || ", "&"]):
        line = f"echo {word}{pipe}wc -l"
        assert not runs_unread(line), line


@given(st.text("$x`'\"(){}<>|&;#\\\n a=[]*", max_size=40))
def test_any_text_is_decided(line: str) -> None:
    assert runs_unread(line) in (True, False)


@pytest.mark.parametrize(
    "line",
    ["sudo " + "-a x " * 20_000, "env -a " * 8 + "-a x " * 20_000, "ls " + "x " * 50_000],
    ids=["options", "programs before", "words"],
)
def test_a_long_line_is_decided_in_proportion_to_its_length(line: str) -> None:
    began = process_time()
    assert not runs_unread(line)
    assert process_time() - began < 5


def _nested(depth: int, before: str, after: str, within: str = "ls") -> str:
    for _ in range(depth):
        within = before + shlex.quote(within) + after
    return within


@pytest.mark.parametrize(("depth", "unread"), [(0, False), (7, False), (8, False), (9, True)])
def test_lines_within_lines_are_read_eight_deep(depth: int, unread: bool) -> None:
    for before, after in (("sh -c ", ""), ("find . -exec sh -c ", " ';'"), ("ls; bash -ec ", "")):
        assert runs_unread(_nested(depth, before, after)) is unread


@pytest.mark.parametrize(("depth", "found"), [(0, True), (8, True), (9, False)])
def test_commands_are_found_eight_lines_deep(depth: int, found: bool) -> None:
    line = _nested(depth, "sh -c ", "", "ls -l")
    assert (["ls", "-l"] in list(parse_commands(line))) is found


@pytest.mark.parametrize(("leads", "unread"), [(1, False), (8, False), (9, True)])
def test_a_line_of_more_than_eight_programs_that_lead_to_others_is_unread(
    leads: int, unread: bool
) -> None:
    assert runs_unread("env " * leads + "ls") is unread

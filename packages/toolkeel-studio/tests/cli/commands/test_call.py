"""``toolkeel call``: one tool on a file the user just wrote."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import pytest

from tests.cli.commandline import Terminal, readable, toolkeel
from tests.cli.conftest import Here


def test_a_tool_of_a_file_is_called_with_words(folder: Path) -> None:
    ended = toolkeel("call", "tools.py:search", "query=猫", "limit=3", cwd=folder)
    assert (ended.code, ended.out) == (0, '["猫 1","猫 2","猫 3"]\n')
    assert ended.err == "looking for 猫\n"  # what a tool prints is not the answer


def test_the_tool_is_named_where_there_are_several(here: Here) -> None:
    assert here("call", "tools.py", "echo", "value=5").out == "5\n"
    assert here("call", "tools.py", "echo", '{"value": "猫"}').out == "猫\n"
    assert here("call", "tools.py:echo", "echo", "value=5").out == "5\n"


def test_arguments_come_from_stdin(folder: Path) -> None:
    assert toolkeel("call", "tools.py:echo", "value=-", cwd=folder, stdin="一\n二\n").out == (
        "一\n二\n"
    )
    piped = toolkeel("call", "tools.py:echo", "-", cwd=folder, stdin='{"value": "猫"}')
    assert (piped.code, piped.out) == (0, "猫\n")


def test_json_is_the_whole_result(here: Here) -> None:
    ended = here("call", "tools.py", "report", "--json")
    message = json.loads(ended.out)
    assert ended.code == 0
    assert 0 < message.pop("duration") < 5
    assert message == {
        "content": "3 rows",
        "tool_call_id": "call_1",
        "name": "report",
        "status": "success",
        "kind": None,
        "artifact": [1, 2, 3],
        "details": {"source": "猫.csv"},
    }
    assert "猫.csv" in ended.out


def test_details_are_for_people_and_go_beside_the_answer(here: Here) -> None:
    ended = here("call", "tools.py", "report", "--details")
    assert ended.out == "3 rows\n"
    assert "source: 猫.csv\nartifact: [1, 2, 3]\n" in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("search", "query=猫", "limit=99"), "invalid_arguments: The arguments of search are inva"),
        (("search", "query=猫", "limit=x"), "limit: expected an integer"),
        (("search",), "query"),
        (("search", '{"query": '), "malformed_arguments: "),
        (("refuse",), "tool_error: no such thing: 猫\n"),
        (("crash",), "ZeroDivisionError: "),
    ],
)
def test_a_failed_call_is_one_and_says_why_on_stderr(
    words: tuple[str, ...], said: str, here: Here
) -> None:
    ended = here("call", "tools.py", *words)
    assert (ended.code, ended.out) == (1, "")
    assert said in ended.err
    assert "Traceback" not in ended.err


def test_a_failed_call_is_json_too(here: Here) -> None:
    ended = here("call", "tools.py", "search", "query=猫", "limit=99", "--json")
    message = json.loads(ended.out)
    assert ended.code == 1
    assert (message["status"], message["kind"]) == ("error", "invalid_arguments")
    assert message["details"]["errors"][0]["path"] == ["limit"]


def test_a_call_that_asks_for_approval_runs_only_with_a_yes(here: Here) -> None:
    refused = here("call", "tools.py", "remove", "path=a")
    assert (refused.code, refused.out) == (1, "")
    assert refused.err.startswith("denied: ")
    assert refused.err.endswith("--yes approves it\n")
    assert here("call", "tools.py", "remove", "path=a", "--yes").out == "removed a\n"


def test_details_of_a_crash_have_the_line_of_the_user(folder: Path) -> None:
    ended = toolkeel("call", "tools.py", "crash", "--details", cwd=folder)
    assert ended.code == 1
    assert "return 1 / 0" in ended.err
    assert str(folder / "tools.py") in ended.err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("tools.py", "serch", "query=1"), "tools.py has no tool 'serch'; did you mean 'search'?"),
        (("tools.py", "query=1"), "say which tool of tools.py: search, echo, report"),
        (("tools.py",), "say which tool of tools.py: "),
        (("tools.py:search", "qery=1"), "search has no argument 'qery'; did you mean 'query'?"),
        (("tools.py:search", "serch"), "did you mean 'search'?"),
        (("tools.py:echo", "hello"), "'hello' is not an argument: echo takes key=value words"),
    ],
)
def test_wrong_words_are_two_and_run_nothing(words: tuple[str, ...], said: str, here: Here) -> None:
    ended = here("call", *words)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err


def test_a_slow_call_shows_how_far_it_is_and_then_only_its_answer(folder: Path) -> None:
    terminal = Terminal(["call", "tools.py", "steps", "number=12"], folder)
    seen = readable(terminal.until(lambda screen: "/12 working" in screen))
    assert "steps(number=12)" in seen
    ended = terminal.end()
    assert ended.code == 0
    assert readable(ended.err).rstrip().endswith("all done")


def test_ctrl_c_stops_the_call_and_the_program_ends_by_itself(folder: Path) -> None:
    terminal = Terminal(["call", "tools.py", "steps", "number=600"], folder)
    terminal.until(lambda screen: "/600 working" in screen)
    terminal.interrupt(signal.SIGINT)
    began = time.monotonic()
    ended = terminal.end()
    assert ended.code == 130
    assert "cancelled: " in ended.err
    assert time.monotonic() - began < 20

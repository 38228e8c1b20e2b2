"""``toolkeel run``: prompts, models, events, and what ends without an answer."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.cli.commandline import environment, toolkeel
from tests.cli.conftest import Here
from toolkeel import RunState

FIVE = [
    ("2 + 2 * (3 - 1)", [("calculator", "expression", "2 + 2 * (3 - 1)")], ["6"]),
    ("北京今天天气怎么样", [("weather", "city", "北京")], ["北京", "22"]),
    (
        "weather in Paris and Tokyo",
        [("weather", "city", "Paris"), ("weather", "city", "Tokyo")],
        ["16.5", "19"],
    ),
    ("how many lines has README.md", [("read", "path", "README.md")], ["3 lines"]),
    (
        "what is 15% of 80, and what day is it",
        [("calculator", "expression", "15% of 80"), ("clock", "", "")],
        ["12", "day"],
    ),
]


MADE_UP = (
    "weather: made up by a server on this machine, because the offline model promises no network; "
    "-m another model asks the real service\n"
)


@pytest.mark.parametrize("target", ["demo", "builtin"])
@pytest.mark.parametrize(("prompt", "calls", "said"), FIVE)
def test_the_offline_model_answers_with_real_calls(
    prompt: str, calls: list[tuple[str, str, str]], said: list[str], target: str, here: Here
) -> None:
    Path("README.md").write_text("one\ntwo\nthree\n")  # in the user's folder, where `here` is
    ended = here("run", prompt, "-t", target, "-m", "offline", "--json")
    events = [json.loads(line) for line in ended.out.splitlines()]
    made = [e["call"] for e in events if e["type"] == "tool_started"]
    assert ended.code == 0
    assert [call["name"] for call in made] == [name for name, _, _ in calls]
    for call, (_, key, value) in zip(made, calls, strict=True):
        assert not key or json.loads(call["arguments"])[key] == value
    assert all(e["message"]["status"] == "success" for e in events if e["type"] == "tool_finished")
    replies = [e["message"] for e in events if e["type"] == "replied"]
    assert all(word in replies[-1]["content"] for word in said)


@pytest.mark.parametrize("target", ["builtin", "weather", "builtin:weather"])
def test_weather_for_the_offline_model_is_made_up_and_said_to_be(target: str, here: Here) -> None:
    ended = here("run", "weather in Paris", "-t", target)
    assert ended.code == 0
    assert ended.err.count(MADE_UP) == 1
    assert "16.5" in ended.out


@pytest.mark.parametrize(
    ("target", "model"),
    [("calculator", "offline"), ("demo", "offline"), ("weather", "models.py:hostile")],
)
def test_nothing_is_said_of_weather_that_is_not_replaced(
    target: str, model: str, folder: Path
) -> None:
    ended = toolkeel("run", "1 + 1", "-t", target, "-m", model, cwd=folder)
    assert ended.code == 0
    assert "made up" not in ended.err


def test_an_answer_goes_to_stdout_and_the_rest_to_stderr(folder: Path) -> None:
    ended = toolkeel("run", "find a cat", "-t", "tools.py", "-m", "models.py:answer", cwd=folder)
    assert (ended.code, ended.out) == (0, "找到了两只猫。\n")
    assert ended.err.splitlines()[0] == "model: answer"
    assert 'failed  search(query="狗", limit=99)' in ended.err
    assert "2 calls, 2 turns, " in ended.err


def test_events_are_one_json_object_a_line_from_start_to_end(folder: Path) -> None:
    ended = toolkeel("run", "hi", "-t", "tools.py", "-m", "models.py:answer", "--json", cwd=folder)
    events = [json.loads(line) for line in ended.out.splitlines()]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert events[0]["type"] == "run_started"
    assert (events[-1]["type"], events[-1]["reason"]) == ("run_finished", "answered")
    assert "猫" in ended.out
    assert ended.err == "looking for 猫\n"


def test_the_model_is_named_and_the_offline_one_says_what_it_is(here: Here) -> None:
    ended = here("run", "1 + 1", "-t", "calculator")
    assert ended.err.startswith("model: offline (rules, no language model; choose one with -m)\n")


def test_a_prompt_comes_from_stdin(folder: Path) -> None:
    ended = toolkeel("run", "-", "-t", "calculator", cwd=folder, stdin="3 * 7\n")
    assert ended.code == 0
    assert "21" in ended.out


def test_a_run_without_tools_says_how_to_give_some(here: Here) -> None:
    ended = here("run", "hi", "-m", "models.py:hostile")
    assert ended.code == 0
    assert "no tools; give some with -t, such as -t builtin" in ended.err


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("-m", "models.py:endless", "--max-turns", "2"), 1, "no answer after 2 turns; --max-"),
        (("-m", "models.py:broken"), 1, "toolkeel: the model failed: the server is down"),
        (("-m", "opnai:gpt-5"), 3, "did you mean 'openai:gpt-5'?"),
        (("-m", "oflline"), 3, "did you mean 'offline'?"),
        (("-m", "models.py:anser"), 3, "models.py has no 'anser'; did you mean 'answer'?"),
        (("-m", "models.py:not_a_model"), 3, "is no model: it needs a name and a method stream"),
        (("-t", "tool.py"), 3, "there is no file 'tool.py'; did you mean 'tools.py'?"),
        (("-t", "tools.py", "-t", "demo:clok"), 3, "no builtin called 'clok'"),
        (("-m", "offline", "--max-turn", "1"), 2, "--max-turns"),
    ],
)
def test_a_run_that_cannot_answer_says_why_with_its_code(
    words: tuple[str, ...], code: int, said: str, here: Here
) -> None:
    tools = () if "-t" in words else ("-t", "tools.py")
    ended = here("run", "hi", *tools, *words)
    assert (ended.code, ended.out) == (code, "")
    assert said in ended.err


def test_a_call_that_waits_for_approval_suspends_the_run(here: Here) -> None:
    ended = here("run", "hi", "-t", "tools.py", "-m", "models.py:asking")
    assert (ended.code, ended.out) == (75, "")
    assert 'waits   remove(path="猫.txt")  for approval: the tool always asks' in ended.err
    assert "remove waits for approval (the tool always asks):\n" in ended.err
    assert '\n{\n  "path": "猫.txt"\n}\n' in ended.err
    assert "done    echo" in ended.err


def test_a_run_whose_reader_goes_away_stops_and_says_how_to_go_on(folder: Path) -> None:
    run = "run hi -t tools.py -m models.py:waiting --json"
    shell = f"{sys.executable} -m toolkeel {run} | head -n 4"
    began = time.monotonic()
    done = subprocess.run(
        ["sh", "-c", shell], cwd=folder, env=environment(), capture_output=True, check=False
    )
    assert done.stdout.count(b"\n") == 4
    said = done.stderr.decode().splitlines()
    assert said[0] == "stopped: stdout has no reader any more"
    assert _line_to_go_on(done.stderr.decode())[0] == "resume" and len(said) == 3
    assert time.monotonic() - began < 20  # the calls would take a minute


def test_an_empty_prompt_is_wrong_usage(here: Here) -> None:
    assert here("run", "  ").code == 2


def _line_to_go_on(said: str) -> list[str]:
    lines = said.splitlines()
    return shlex.split(lines[lines.index("go on from here:") + 1])[1:]


def test_a_run_that_reaches_its_limit_is_saved_and_goes_on_by_the_line_it_prints(
    here: Here,
) -> None:
    ended = here("run", "hi", "-t", "tools.py", "-m", "models.py:endless", "--max-turns", "2")
    words = _line_to_go_on(ended.err)
    assert words[0] == "resume" and words[-2:] == ["--max-turns", "2"]
    saved = RunState.from_json(Path(words[1]).read_text("utf-8"))
    assert len(saved.messages) == 5
    again = here(*words)
    more = RunState.from_json(Path(_line_to_go_on(again.err)[1]).read_text("utf-8"))
    assert len(more.messages) == 9


def test_a_run_whose_model_fails_is_saved_too_and_one_that_has_only_begun_is_not(
    here: Here, tmp_path: Path
) -> None:
    Path(tmp_path, "late.py").write_text(
        "from toolkeel import ModelError\n"
        "from toolkeel.testing import Scripted, call\n"
        'late = Scripted([call("echo", {"value": "x"}), ModelError("down")], name="late")\n'
    )
    ended = here("run", "hi", "-t", "tools.py", "-m", f"{tmp_path}/late.py:late")
    assert ended.code == 1 and "down" in ended.err
    assert len(RunState.from_json(Path(_line_to_go_on(ended.err)[1]).read_text()).messages) == 3
    assert (
        "go on from here" not in here("run", "hi", "-t", "tools.py", "-m", "models.py:broken").err
    )


def test_a_session_at_its_limit_goes_on_by_its_name(here: Here, tmp_path: Path) -> None:
    ended = here(
        *("run", "hi", "-t", "tools.py", "-m", "models.py:endless"),
        *("--max-turns", "1", "--session", "ada"),
    )
    assert _line_to_go_on(ended.err)[:3] == ["run", "--session", "ada"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["my_tools.py", "add 2 and 3"], "toolkeel run 'add 2 and 3' -t my_tools.py"),
        (["add 2 and 3", "my_tools.py:add"], "toolkeel run 'add 2 and 3' -t my_tools.py:add"),
        (["今天", "天气"], "in quotes: toolkeel run '今天 天气'"),
    ],
)
def test_words_too_many_are_told_where_they_belong(
    words: list[str], said: str, tmp_path: Path
) -> None:
    ended = toolkeel("run", *words, cwd=tmp_path)
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err

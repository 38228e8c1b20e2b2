"""What is shown of a run while it runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.cli.commandline import Terminal, readable, toolkeel
from tests.cli.conftest import Here
from toolkeel.errors import FieldError
from toolkeel.events import Progress, Retrying
from toolkeel.messages import ToolMessage
from toolkeel_studio.cli.terminal.progress import (
    Blind,
    PlainView,
    outcome_line,
    progress_line,
    view,
)
from toolkeel_studio.cli.terminal.text import cells

PARALLEL = ["run", "hi", "-t", "tools.py", "-m", "models.py:parallel"]


def test_an_outcome_is_told_in_words_for_people() -> None:
    error = FieldError(("limit",), "an integer", '"x"')
    cases = [
        (ToolMessage("猫猫", duration=0.0042), "4 ms  2 characters"),
        (
            ToolMessage("for\nthe model", status="error", kind="tool_error", duration=2),
            "2.0 s  tool_error: for the model",
        ),
        (
            ToolMessage("masked", status="error", kind="crashed", details={"error": "KeyError: 1"}),
            "0 µs  crashed: KeyError: 1",
        ),
        (
            ToolMessage(
                "long", status="error", kind="invalid_arguments", details={"errors": (error,)}
            ),
            '0 µs  invalid_arguments: limit: expected an integer, got "x"',
        ),
        (ToolMessage("\x1b[2J", status="error", kind="tool_error"), r"0 µs  tool_error: \x1b[2J"),
    ]
    for message, said in cases:
        assert outcome_line(message) == said


def test_how_far_a_call_is_fits_on_one_line() -> None:
    assert progress_line(Progress(1, 0.0, "r", "c", "read\ning", 2.0, 5.0)) == "2/5 read ing"
    assert progress_line(Progress(1, 0.0, "r", "c", "reading")) == "reading"
    assert progress_line(Progress(1, 0.0, "r", "c", "", 2.5)) == "2.5"


def test_why_a_model_is_asked_again_is_told_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    PlainView()(Retrying(1, 0.0, "r", 1, 2.5, "m: no\n\x1b[2Jroom", 503))
    assert capsys.readouterr().err == "asking again in 2.5 s: m: no \\x1b[2Jroom\n"


def test_a_pipe_gets_plain_lines_or_none() -> None:
    assert isinstance(view("model"), PlainView)
    assert isinstance(view(keep=False), Blind)


def test_plain_lines_tell_each_start_and_each_end(here: Here) -> None:
    ended = here(*PARALLEL)
    assert ended.out == "both waited\n"
    lines = [re.sub(r"  \S+ (µs|ms|s)", "  T", line) for line in ended.err.splitlines()]
    assert lines[:4] == [
        "model: parallel",
        'call    wait(seconds=0.9, name="first")',
        "call    wait(seconds=0.3)",
        "call    crash()",
    ]
    assert lines[4:7] == [
        "failed  crash()  T  crashed: ZeroDivisionError: division by zero (tools.py, line 49)",
        "done    wait(seconds=0.3)  T  7 characters",
        'done    wait(seconds=0.9, name="first")  T  12 characters',
    ]


def test_a_terminal_stacks_the_calls_in_their_order_whichever_ends_first(folder: Path) -> None:
    terminal = Terminal(PARALLEL, folder)
    middle = readable(terminal.until(lambda screen: "✓ " in readable(screen)))
    frame = [line for line in middle.splitlines() if "wait(" in line or "crash(" in line][-3:]
    assert re.match(r'[⠀-⣿] wait\(seconds=0.9, name="first"\)  \d\.\d s', frame[0])
    assert re.match(r"✓ wait\(seconds=0.3\)  (\d{3} ms|1\.\d s)  7 characters", frame[1])
    assert frame[2].startswith("✗ crash()")
    ended = terminal.end()
    last = [line for line in readable(ended.err).rstrip().splitlines() if line.strip()][-6:]
    assert [line[:6] for line in last[:3]] == ["✓ wait", "✓ wait", "✗ cras"]
    assert last[2].endswith("  crashed")
    assert last[3] == "    ZeroDivisionError: division by zero (tools.py, line 49)"
    assert last[4] == "both waited"  # the answer, as it came
    assert last[5].startswith("3 calls, 2 turns, ")
    assert "\x1b[2K" in ended.err  # lines were redrawn in place


@pytest.mark.parametrize("variable", ["NO_COLOR", "CI"])
def test_a_terminal_that_shall_be_quiet_gets_plain_lines(folder: Path, variable: str) -> None:
    ended = Terminal(PARALLEL, folder, env={variable: "1"}).end()
    assert "call    wait(seconds=0.3)" in ended.err
    assert "\x1b[2K" not in ended.err
    assert ("\x1b[" in ended.err) is (variable == "CI")


def test_progress_does_not_mix_with_an_answer_that_is_piped(folder: Path) -> None:
    ended = Terminal(PARALLEL, folder, pipe=True).end()
    assert ended.out == "both waited\n"
    assert "✓ wait" in readable(ended.err)


def test_what_a_tool_prints_stands_above_the_living_lines(folder: Path) -> None:
    words = ["run", "hi", "-t", "tools.py", "-m", "models.py:answer"]
    ended = Terminal(words, folder, pipe=True).end()
    lines = readable(ended.err).splitlines()
    assert "looking for 猫" in lines
    assert ended.out == "找到了两只猫。\n"


def test_a_long_call_tells_how_far_it_is_about_once_a_second(folder: Path) -> None:
    (folder / "long_models.py").write_text(
        "from toolkeel.testing.scripted import Scripted, call\n"
        "m = Scripted([call('steps', {'number': 14}), 'ok'])\n"
    )
    ended = toolkeel("run", "x", "-t", "tools.py", "-m", "long_models.py:m", cwd=folder)
    told = [line for line in ended.err.splitlines() if line.startswith("...")]
    assert 1 <= len(told) <= 4  # of fourteen steps; a busy machine is slower
    assert re.fullmatch(r"\.\.\.     steps\(number=14\)  1?\d/14 working", told[0])


def test_the_reason_of_a_failure_is_whole_however_narrow_the_terminal(folder: Path) -> None:
    words = ["run", "hi", "-t", "tools.py", "-m", "models.py:answer"]
    screen = readable(Terminal(words, folder, columns=40).end().err)
    reason = "limit: expected an integer from 1 to 10, got 99 (an integer)"
    assert reason in " ".join(screen.split())
    assert all(cells(line) <= 40 for line in screen.splitlines())

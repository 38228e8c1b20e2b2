"""What reaches a terminal, a pipe and a file."""

from __future__ import annotations

import logging
import sys
from pathlib import Path

import pytest

from tests.cli.commandline import Terminal, toolkeel
from toolkeel_studio.cli.terminal.streams import (
    echo,
    layout,
    note,
    prints_delayed,
    show_warnings,
    stdout_kept_clean,
    styled,
)

SECRET = "\x1b]52;c;cm0gLXJm\x07"


def test_a_tool_cannot_rule_the_terminal_it_is_shown_on(folder: Path) -> None:
    ended = Terminal(["call", "tools.py", "hostile"], folder).end()
    assert ended.code == 0
    assert SECRET not in ended.err
    assert "\x1b]0;title" not in ended.err
    assert "\x9b" not in ended.err
    assert r"\x1b]52;c;cm0gLXJm\x07\x1b]0;title\x07\x9b2J 猫" in ended.err


def test_a_model_cannot_rule_the_terminal_either(folder: Path) -> None:
    ended = Terminal(["run", "hi", "-m", "models.py:hostile"], folder).end()
    assert r"\x1b[2Jgone" in ended.err
    assert "\x1b[2Jgone" not in ended.err


def test_a_pipe_gets_the_bytes_as_they_are(folder: Path) -> None:
    ended = toolkeel("call", "tools.py", "hostile", cwd=folder)
    assert ended.out == SECRET + "\x1b]0;title\x07\x9b2J 猫\r\nend\n"
    piped = Terminal(["call", "tools.py", "hostile"], folder, pipe=True).end()
    assert piped.out == ended.out


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_text_that_an_encoding_lacks_is_shown_and_not_fatal(folder: Path, encoding: str) -> None:
    ended = toolkeel(
        "call", "tools.py", "echo", "value=猫", cwd=folder, env={"PYTHONIOENCODING": encoding}
    )
    assert (ended.code, ended.out) == (0, "\\u732b\n")


def test_a_pipe_is_utf8_whatever_the_locale(folder: Path) -> None:
    posix = {"LC_ALL": "POSIX", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    listed = toolkeel("tools", "tools.py", cwd=folder, env=posix)
    assert "搜索文档" in listed.out


def test_answers_and_notes_go_their_own_ways(capsys: pytest.CaptureFixture[str]) -> None:
    with stdout_kept_clean():
        print("printed by a tool")
        echo("the answer")
        layout(["a line"])
        note("a note", "31")
    print("after")
    out, err = capsys.readouterr()
    assert out == "the answer\na line\nafter\n"
    assert err == "printed by a tool\na note\n"


def test_only_a_terminal_is_styled(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    assert styled("text", "1", sys.stdout) == "text"


def test_what_is_printed_during_a_question_comes_after_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with stdout_kept_clean():
        with prints_delayed() as screen:
            grabbed = sys.stdout
            print("from a tool")
            note("from us")
            screen.write("the question\n")
            assert sys.stdout.isatty() is screen.isatty()
            assert sys.stderr.buffer is screen.buffer
            assert sys.stderr.encoding == screen.encoding
        print("and on", file=grabbed)
    out, err = capsys.readouterr()
    assert (out, err) == ("", "the question\nfrom a tool\nfrom us\nand on\n")


def test_both_streams_are_held_and_each_gets_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ZeroDivisionError), prints_delayed():
        print("out")
        print("err", file=sys.stderr)
        assert capsys.readouterr() == ("", "")
        raise ZeroDivisionError
    assert capsys.readouterr() == ("out\n", "err\n")


def test_what_the_library_warns_of_is_seen_unless_the_program_takes_its_logs(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.getLogger("toolkeel.mcp")
    monkeypatch.setattr(logging.root, "handlers", [])
    show_warnings()
    show_warnings()
    log.warning("the server %r is left out", "北京")
    log.info("no matter")
    assert capsys.readouterr() == ("", "toolkeel: the server '北京' is left out\n")
    monkeypatch.setattr(logging.root, "handlers", [logging.NullHandler()])
    log.warning("theirs")
    assert capsys.readouterr() == ("", "")

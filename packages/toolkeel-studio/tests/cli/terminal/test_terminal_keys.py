"""Keys at a terminal: one at a time, never what was typed before, and the terminal as it was."""

from __future__ import annotations

import os
import pty
import select
import termios
import threading
import time
from collections.abc import Iterator

import pytest

from tests.waiting import until_sync
from toolkeel_studio.cli.terminal.keyboard import Withdrawn
from toolkeel_studio.cli.terminal.terminal_keys import TerminalKeyboard

Pair = tuple[int, int]


@pytest.fixture
def pair() -> Iterator[Pair]:
    """The two ends of a terminal: ours, and the program's."""
    master, slave = pty.openpty()
    yield master, slave
    os.close(master)
    os.close(slave)


def echoes(fd: int) -> bool:
    return bool(termios.tcgetattr(fd)[3] & termios.ECHO)


def test_a_key_is_one_character_of_any_script(pair: Pair) -> None:
    master, slave = pair
    with TerminalKeyboard(slave).open() as keyboard:
        keyboard.forget()
        for key in ("y", "猫", "?"):
            os.write(master, key.encode())
            assert keyboard.key() == key


@pytest.mark.parametrize(
    "typed", ["yes", "y\n", "\n", "\x1b", "\x1b[A", "\x00", "\x7f", "\t", "e\u0301"]
)
def test_what_comes_in_one_piece_or_cannot_be_printed_is_no_key(pair: Pair, typed: str) -> None:
    master, slave = pair
    with TerminalKeyboard(slave).open() as keyboard:
        keyboard.forget()
        os.write(master, typed.encode())
        assert keyboard.key() == ""


def test_an_escape_sequence_that_comes_in_pieces_is_no_key_either(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    master, slave = pair
    monkeypatch.setattr(
        "toolkeel_studio.cli.terminal.terminal_keys.TOGETHER", 2.0
    )  # for a busy machine

    def slowly() -> None:
        os.write(master, b"\x1b")
        time.sleep(0.005)
        os.write(master, b"y")

    with TerminalKeyboard(slave).open() as keyboard:
        keyboard.forget()
        typist = threading.Thread(target=slowly)
        typist.start()
        assert keyboard.key() == ""
        typist.join()
        assert select.select([slave], [], [], 0)[0] == []


def test_what_was_typed_before_is_forgotten(pair: Pair) -> None:
    master, slave = pair
    os.write(master, b"y\ny")
    with TerminalKeyboard(slave, time.monotonic() + 1).open() as keyboard:
        keyboard.forget()
        with pytest.raises(TimeoutError):
            keyboard.key()


def _type_a_line(master: int, slave: int) -> None:
    until_sync(lambda: echoes(slave))
    os.write(master, "nox\x7f, 不行\n".encode())


def test_a_line_is_edited_by_the_terminal(pair: Pair) -> None:
    master, slave = pair
    with TerminalKeyboard(slave).open() as keyboard:
        keyboard.forget()
        assert not echoes(slave)
        typist = threading.Thread(target=_type_a_line, args=(master, slave))
        typist.start()
        assert keyboard.line() == "no, 不行"
        typist.join()


def test_the_terminal_is_as_it_was_whatever_happens(pair: Pair) -> None:
    before = termios.tcgetattr(pair[1])
    with pytest.raises(ZeroDivisionError), TerminalKeyboard(pair[1]).open() as keyboard:
        keyboard.forget()
        assert termios.tcgetattr(pair[1]) != before
        raise ZeroDivisionError
    assert termios.tcgetattr(pair[1]) == before


def test_who_waits_for_a_key_can_be_called_back(pair: Pair) -> None:
    keyboard = TerminalKeyboard(pair[1])
    ended: list[str] = []

    def wait() -> None:
        with keyboard.open():
            try:
                keyboard.key()
            except Withdrawn:
                ended.append("gone")

    thread = threading.Thread(target=wait)
    thread.start()
    until_sync(lambda: not echoes(pair[1]))
    keyboard.withdraw()
    thread.join(20)
    assert ended == ["gone"]
    keyboard.withdraw()  # too late, and harmless

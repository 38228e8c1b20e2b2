"""Keys of a console of Windows, as `msvcrt` gives them: UTF-16 units, one at a time."""

from __future__ import annotations

import sys
import threading
import time
import types
from collections import deque

import pytest

from toolkeel_studio.cli.terminal.console_keys import ConsoleKeyboard
from toolkeel_studio.cli.terminal.keyboard import Withdrawn


class Typist(types.ModuleType):
    """A console: what is typed there, and what was written."""

    def __init__(self) -> None:
        super().__init__("msvcrt")
        self.waiting: deque[str] = deque()
        self.shown = ""

    def type(self, text: str) -> None:
        raw = text.encode("utf-16-le", "surrogatepass")
        self.waiting.extend(
            raw[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(raw), 2)
        )

    def kbhit(self) -> bool:
        return bool(self.waiting)

    def getwch(self) -> str:
        return self.waiting.popleft()

    def putwch(self, letter: str) -> None:
        self.shown += letter


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> Typist:
    typist = Typist()
    monkeypatch.setitem(sys.modules, "msvcrt", typist)
    return typist


def test_a_key_of_a_console_is_one_character_without_echo(console: Typist) -> None:
    with ConsoleKeyboard().open() as keyboard:
        for key in ("y", "猫", "😀"):
            console.type(key)
            assert keyboard.key() == key
    assert console.shown == ""


@pytest.mark.parametrize("typed", ["yes", "y\r", "\r", "\x1b", "\xe0H", "\x00;", "\t", "e\u0301"])
def test_what_a_console_gives_in_one_piece_or_cannot_be_printed_is_no_key(
    console: Typist, typed: str
) -> None:
    console.type(typed)
    assert ConsoleKeyboard().key() == ""
    assert not console.waiting


def test_what_was_typed_at_a_console_before_is_forgotten(console: Typist) -> None:
    console.type("y\ry")
    keyboard = ConsoleKeyboard(time.monotonic() + 0.5)
    keyboard.forget()
    with pytest.raises(TimeoutError):
        keyboard.key()


def test_a_line_of_a_console_is_shown_and_corrected(console: Typist) -> None:
    console.type("\bn\xe0Kox😀\b\b, 不行\r")
    assert ConsoleKeyboard().line() == "no, 不行"
    shown = console.shown.encode("utf-16", "surrogatepass").decode("utf-16")
    assert shown == "nox😀\b \b\b \b, 不行\r\n"


def test_ctrl_c_at_a_console_interrupts_the_program(console: Typist) -> None:
    console.type("\x03")
    keyboard = ConsoleKeyboard()
    refused: list[type] = []

    def wait() -> None:
        try:
            keyboard.key()
        except Withdrawn:
            refused.append(Withdrawn)

    thread = threading.Thread(target=wait)
    with pytest.raises(KeyboardInterrupt):
        thread.start()
        while True:
            time.sleep(0.01)
    thread.join(20)
    assert refused == [Withdrawn]


def test_a_question_at_a_console_can_be_withdrawn(console: Typist) -> None:
    keyboard, ended = ConsoleKeyboard(), []

    def wait() -> None:
        try:
            keyboard.key()
        except Withdrawn:
            ended.append("withdrawn")

    thread = threading.Thread(target=wait)
    thread.start()
    keyboard.withdraw()
    thread.join(20)
    assert ended == ["withdrawn"]


def test_a_console_starts_an_editor_by_its_command_line(
    console: Typist, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = []
    real = __import__("subprocess").Popen

    def start(command: str, **streams: int) -> object:
        commands.append(command)
        return real(["sh", "-c", command], **streams)

    monkeypatch.setattr("subprocess.Popen", start)
    assert ConsoleKeyboard().edit("猫", "sed -i s/猫/狗/", 2) == "狗\n"
    assert commands[0].startswith('sed -i s/猫/狗/ "')

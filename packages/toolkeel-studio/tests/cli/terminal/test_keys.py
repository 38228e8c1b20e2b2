"""Which keyboard a process has."""

from __future__ import annotations

import os
import pty
import sys

import pytest

from toolkeel_studio.cli.terminal.console_keys import ConsoleKeyboard
from toolkeel_studio.cli.terminal.keys import make_keyboard
from toolkeel_studio.cli.terminal.terminal_keys import TerminalKeyboard


def test_a_terminal_is_read_by_its_file_and_a_console_of_windows_by_msvcrt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave) as terminal, monkeypatch.context() as changed:
        changed.setattr(sys, "stdin", terminal)
        assert isinstance(make_keyboard(), TerminalKeyboard)
        changed.setitem(sys.modules, "msvcrt", os)
        changed.setattr(sys, "platform", "win32")
        assert isinstance(make_keyboard(), ConsoleKeyboard)
    os.close(master)

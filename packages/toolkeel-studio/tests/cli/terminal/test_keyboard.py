"""What every keyboard does alike: a text is edited in the person's editor."""

from __future__ import annotations

import os
import pty
import sys
import time

import pytest

from toolkeel_studio.cli.terminal.terminal_keys import TerminalKeyboard


def test_an_editor_leaves_its_text_and_one_that_takes_too_long_is_ended() -> None:
    pair = pty.openpty()
    with TerminalKeyboard(pair[1]).open() as keyboard:
        assert keyboard.edit("猫", "sed -i s/猫/狗/", pair[1]) == "狗\n"
        with pytest.raises(ValueError, match="the editor ended with 1"):
            keyboard.edit("x", "false", pair[1])
    with TerminalKeyboard(pair[1], time.monotonic() + 1.0).open() as keyboard:
        slow = f"{sys.executable} -c 'import time; time.sleep(60)'"
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            keyboard.edit("x", slow, pair[1])
        assert time.monotonic() - began < 10
    for end in pair:
        os.close(end)

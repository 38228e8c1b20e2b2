"""Which keyboard a process has: that of a terminal, or of a console of Windows."""

from __future__ import annotations

import sys

from toolkeel_studio.cli.terminal.console_keys import ConsoleKeyboard
from toolkeel_studio.cli.terminal.keyboard import Keyboard
from toolkeel_studio.cli.terminal.terminal_keys import TerminalKeyboard


def make_keyboard(until: float | None = None) -> Keyboard:
    """Create the keyboard of this process's stdin.

    Args:
        until: Deadline for the answer, on the monotonic clock; None for none.
    """
    if sys.platform == "win32":
        return ConsoleKeyboard(until)
    return TerminalKeyboard(sys.stdin.fileno(), until)

"""Consent at the terminal before a server from a file is started."""

from __future__ import annotations

import sys

from toolkeel.mcp.consent import ConsentRequest
from toolkeel.observe.wording import visible_line
from toolkeel_studio.cli.terminal.approve import can_ask
from toolkeel_studio.cli.terminal.keyboard import Withdrawn
from toolkeel_studio.cli.terminal.keys import make_keyboard
from toolkeel_studio.cli.terminal.streams import BOLD, CYAN, YELLOW, note, styled


def ask(request: ConsentRequest) -> bool:
    """Show exactly what would be started and what changed. Return True only for the key y."""
    if not can_ask():
        return False
    config = request.config
    verb = "starts this program" if config.command else "talks to this address"
    note(f"the server {visible_line(config.name)} of {visible_line(config.origin)} {verb}:", YELLOW)
    for line in request.lines:
        note(f"│ {visible_line(line)}", CYAN)
    if request.changes:
        note("changed since a person agreed to it:", YELLOW)
    for line in request.changes:
        note(f"│ {visible_line(line)}", YELLOW)
    return confirm("Agree, until any of this changes?  y yes   n no  ")


def confirm(question: str) -> bool:
    """Return True if the person answers with the key y."""
    keyboard = make_keyboard()
    try:
        with keyboard.open():
            keyboard.forget()
            sys.stderr.write(styled(question, BOLD, sys.stderr))
            sys.stderr.flush()
            pressed = ""
            while pressed not in ("y", "n"):
                pressed = keyboard.key().lower()
    except Withdrawn:
        pressed = "n"
    note("yes" if pressed == "y" else "no")
    return pressed == "y"

"""What is printed while a prompt is open."""

from __future__ import annotations

import io
import re

from toolkeel_studio.cli.chat.print_above_prompt import OutputAbovePrompt
from toolkeel_studio.cli.terminal.markdown import Markdown


def test_lines_wait_for_the_prompt_and_what_is_begun_stays_apart_from_them() -> None:
    terminal, woken = io.StringIO(), []
    above = OutputAbovePrompt()
    out, err = above.stream(terminal), above.stream(terminal)
    out.write("before ")
    above.opened(lambda: woken.append(True))
    out.write("one\n去杭")
    err.write("a note")
    err.write("\n")
    out.write("州")
    assert (terminal.getvalue(), above.unprinted, len(woken)) == ("before ", "去杭州", 4)
    assert above.has_lines()
    above.print_lines()
    assert terminal.getvalue() == "before one\na note\n" and not above.has_lines()
    err.write("last\n")
    above.closed()
    out.write("!\n")
    assert terminal.getvalue() == "before one\na note\nlast\n去杭州!\n" and not above.unprinted


def test_a_reply_is_formatted_when_its_blocks_are_complete() -> None:
    terminal, above = io.StringIO(), OutputAbovePrompt()
    out, err = above.stream(terminal, Markdown()), above.stream(terminal)
    above.opened(list)
    out.write("**one**\n\n|a|\n|-")
    above.print_lines()
    assert (terminal.getvalue(), above.unprinted) == ("\x1b[1mone\x1b[0m\n", "|a|\n|-")
    out.write("|\n|b|\n")
    above.end_blocks()
    err.write("a note\n")
    above.print_lines()
    assert above.unprinted == "" and "|" not in terminal.getvalue()
    assert re.search("b *\\S*\na note\n$", terminal.getvalue())
    out.write("- thr")
    above.closed()
    out.write("ee")
    assert terminal.getvalue().endswith("a note\n\x1b[1m • \x1b[0mthree")

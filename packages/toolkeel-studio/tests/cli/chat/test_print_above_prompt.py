"""What is printed while a prompt is open."""

from __future__ import annotations

import io

from toolkeel_studio.cli.chat.print_above_prompt import OutputAbovePrompt


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
    assert (terminal.getvalue(), above.begun, len(woken)) == ("before ", "去杭州", 4)
    assert above.has_lines()
    above.print_lines()
    assert terminal.getvalue() == "before one\na note\n" and not above.has_lines()
    err.write("last\n")
    above.closed()
    out.write("!\n")
    assert terminal.getvalue() == "before one\na note\nlast\n去杭州!\n" and not above.begun


def test_lines_are_styled_when_they_are_whole() -> None:
    terminal, above = io.StringIO(), OutputAbovePrompt()
    out = above.stream(terminal, str.upper)
    above.opened(list)
    out.write("one\ntwo\nth")
    above.print_lines()
    out.write("ree")
    assert (terminal.getvalue(), above.begun) == ("ONE\nTWO\n", "three")
    above.closed()
    assert terminal.getvalue() == "ONE\nTWO\nTHREE"

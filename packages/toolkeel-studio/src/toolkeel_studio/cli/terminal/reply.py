"""The model's reply, written to the terminal as it arrives, then its sources, and the pictures of calls.

Written text is never drawn again: live lines end before it begins.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from toolkeel.content import Image, Source
from toolkeel.events import Event, Replied, RunFinished, Streamed, ToolFinished, TurnStarted
from toolkeel.model_interface import TextDelta
from toolkeel.observe.wording import visible_line
from toolkeel_studio.cli.terminal.pictures import (
    draw,
    drawing_protocol,
    keep,
    pictures_of,
    place_line,
)
from toolkeel_studio.cli.terminal.progress import Display
from toolkeel_studio.cli.terminal.streams import DIM, echo, note, width_of

LONGEST = 300
"""Maximum number of characters of a title or an address."""


def source_lines(sources: Sequence[Source]) -> list[str]:
    """Return a line for each source of a reply: its mark, its title, and its address or id.

    >>> source_lines([Source("https://a.example", "A", mark="[1]"), Source(id="7")])
    ['[1] A  https://a.example', '(2) 7']
    """
    lines = []
    for number, each in enumerate(sources, 1):
        known = (
            [each.title, each.url or each.id] if each.title or each.url or each.id else [each.text]
        )
        parts = [visible_line(part)[:LONGEST] for part in known if part]
        lines.append(f"{visible_line(each.mark) or f'({number})'} {'  '.join(parts)}")
    return lines


class ReplyView:
    """A view that also writes the reply as it arrives.

    Args:
        inner: Shows everything else.
        speaks: Write the reply; otherwise only add pictures.
        ended: Called when a reply has ended.

    Attributes:
        text: The written part of the last reply.
    """

    def __init__(self, inner: Display, speaks: bool, ended: Callable[[], object] = bool) -> None:
        self.text = ""
        self._ended = ended
        self._inner = inner
        self._speaks = speaks
        self._run = ""
        self._open = False
        self._pictures: list[Image] = []

    def __call__(self, event: Event) -> None:
        """Write what happened."""
        self._run = self._run or event.run_id
        mine = self._speaks and event.run_id == self._run
        match event:
            case Streamed(delta=TextDelta(text=text)) if mine:
                self._say(text)
                return
            case TurnStarted() if mine:
                self.end_line()
                self.text = ""
            case Replied(message=message):
                self._pictures += pictures_of(message.content)
                if mine and message.text and not self.text:  # it did not arrive in pieces
                    self._say(message.text)
                if mine and self.text:
                    self.end_line()
                    for line in source_lines(message.sources):
                        note(line, DIM)
                    return
            case ToolFinished(message=message):
                self._pictures += pictures_of(message.content)
            case _:
                pass
        if isinstance(event, TurnStarted | RunFinished):
            self._show_pictures()
        self._inner(event)

    def _say(self, text: str) -> None:
        if not self._open:
            self._inner.close()
        self._open = True
        self.text += text
        echo(text, end="")

    def end_line(self) -> None:
        """Begin a new line, if the reply has not."""
        if self._open and not self.text.endswith("\n"):
            echo("")
        if self._open:
            self._ended()
        self._open = False

    def _show_pictures(self) -> None:
        shown, self._pictures = self._pictures, []
        if shown:
            self._inner.close()
            self.end_line()
        for image in shown:
            note(place_line(image, keep(image)), DIM)
            if sys.stderr.isatty():
                sys.stderr.write(
                    draw(image, drawing_protocol(os.environ), width_of(sys.stderr) or 80)
                )
                sys.stderr.flush()

    def hide(self) -> None:
        """Take what moves off the screen."""
        self.end_line()
        self._inner.hide()

    def show(self) -> None:
        """Put it back."""
        self._inner.show()

    def close(self) -> None:
        """Leave the screen in order."""
        self._inner.close()
        self.end_line()
        self._show_pictures()

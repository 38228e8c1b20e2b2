"""What a person sees of a run while it runs, on stderr: plain lines, or lines that live.

On a terminal each running call has one line (what runs, how long, how far), in call order, which
becomes its outcome. Elsewhere each start and each end is a line of its own, written once.
"""

from __future__ import annotations

import sys
from time import monotonic
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from toolwright.cli.terminal import is_lively, note
from toolwright.cli.text import count, duration, escaped, fit, one_line, signature
from toolwright.events import (
    Event,
    Progress,
    Replied,
    RunFinished,
    Streamed,
    ToolFinished,
    ToolStarted,
    TurnStarted,
)
from toolwright.messages import ToolCall, ToolMessage
from toolwright.model import TextDelta

EVERY = 1.0
"""Seconds between two plain lines about how far one call is."""
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAIL = 400


class View(Protocol):
    """Something that shows events."""

    def __call__(self, event: Event) -> None: ...

    def close(self) -> None:
        """Leave the screen in order."""
        ...


def view(model: str = "", *, keep: bool = True) -> View:
    """The view that fits stderr.

    Args:
        model: Who is asked, for the line while it answers.
        keep: Whether the lines of calls stay when they have ended; if not, a view that cannot
            take them back does not write them.
    """
    if is_lively(sys.stderr):
        return LiveView(model, keep)
    return PlainView() if keep else Blind()


class Blind:
    """Shows nothing."""

    def __call__(self, event: Event) -> None:
        """Look away."""

    def close(self) -> None:
        """Nothing to do."""


class PlainView:
    """A line for each start and each end."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        self._told: dict[str, float] = {}

    def __call__(self, event: Event) -> None:
        """Write what happened."""
        match event:
            case ToolStarted(call_id=id, call=call):
                self._calls[id] = signature(call)
                self._told[id] = monotonic()
                note(f"call    {self._calls[id]}")
            case Progress(call_id=id) if monotonic() - self._told.get(id, 0.0) >= EVERY:
                self._told[id] = monotonic()
                note(f"...     {self._calls.get(id, '')}  {far(event)}")
            case ToolFinished(call_id=id, message=message):
                word = "failed" if message.failed else "done"
                note(f"{word:7} {self._calls.get(id, message.name)}  {outcome(message)}")
            case _:
                pass

    def close(self) -> None:
        """Nothing to do: lines were written once and for all."""


def outcome(message: ToolMessage) -> str:
    """How a call ended, on one line."""
    took = duration(message.duration)
    if message.failed:
        return f"{took}  {message.kind}: {fit(one_line(_reason(message)), 160)}"
    return f"{took}  {count(len(message.text), 'character')}"


def _reason(message: ToolMessage) -> str:
    """Why a call failed, in words for people rather than for the model."""
    errors, error = message.details.get("errors"), message.details.get("error")
    if isinstance(errors, tuple) and errors:
        return "; ".join(map(str, errors))
    return str(error) if error else message.text


def far(event: Progress) -> str:
    """How far a call is, on one line."""
    done = "" if event.done is None else f"{event.done:g}"
    total = "" if event.total is None else f"/{event.total:g}"
    return " ".join(part for part in (done + total, one_line(event.message)) if part)


class _Row:
    """One call on the screen."""

    def __init__(self, call: ToolCall) -> None:
        self.call = call
        self.began = monotonic()
        self.far = ""
        self.message: ToolMessage | None = None

    def line(self, width: int) -> Text:
        if self.message is None:
            rest = f"  {_since(self.began)}  {self.far}".rstrip()
            return _line((_spin(), "cyan"), signature(self.call, width * 2 // 3), rest, width)
        mark = ("✗", "red") if self.message.failed else ("✓", "green")
        shown = signature(self.call, width * (1 if self.message.failed else 2) // 3)
        return _line(mark, shown, f"  {outcome(self.message)}", width)


def _line(mark: tuple[str, str], main: str, rest: str, width: int) -> Text:
    line = Text(no_wrap=True, overflow="ellipsis")
    line.append(f"{mark[0]} ", mark[1])
    line.append(main)
    line.append(fit(rest, max(width - 2 - Text(main).cell_len, 0)), "dim")
    return line


def _since(began: float) -> str:
    """Seconds, in steps an eye can follow."""
    seconds = monotonic() - began
    return f"{seconds:.1f} s" if seconds < 59.95 else duration(seconds)


def _spin() -> str:
    return _SPINNER[int(monotonic() * 12) % len(_SPINNER)]


class LiveView:
    """Lines that change while a turn runs, and stay as they ended."""

    def __init__(self, model: str, keep: bool) -> None:
        self._console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._model = model
        self._keep = keep
        self._live: Live | None = None
        self._rows: dict[str, _Row] = {}
        self._asked: float | None = None
        self._said = ""

    def __call__(self, event: Event) -> None:
        """Take note of what happened; the screen follows by itself."""
        match event:
            case TurnStarted():
                self.close()
                self._asked, self._said = monotonic(), ""
                self._show()
            case Streamed(delta=TextDelta(text)):
                self._said = (self._said + text)[-_TAIL:]
            case Replied(message=message):
                self._asked = None
                if message.tool_calls and message.text.strip():
                    self._console.print(Text(escaped(message.text.strip()), "dim"))
            case ToolStarted(call_id=id, call=call):
                self._rows[id] = _Row(call)
                self._show()
            case Progress(call_id=id) if id in self._rows:
                self._rows[id].far = far(event)
            case ToolFinished(call_id=id, message=message) if id in self._rows:
                self._rows[id].message = message
            case RunFinished():
                self.close()
            case _:
                pass

    def close(self) -> None:
        """Leave the lines of ended calls on the screen, and nothing else."""
        live, self._live = self._live, None
        self._asked = None
        if live is not None:
            live.transient = not (self._keep and self._rows)
            live.stop()
        self._rows = {}

    def _show(self) -> None:
        if self._live is None:
            self._live = Live(
                console=self._console, get_renderable=self._lines, refresh_per_second=12
            )
            self._live.start()

    def _lines(self) -> Group:
        width = self._console.width
        lines = [row.line(width) for row in list(self._rows.values())]
        if self._asked is not None:
            rest = f"  {_since(self._asked)}  {one_line(self._said)}"
            lines.append(_line((_spin(), "cyan"), self._model, rest, width))
        return Group(*lines)

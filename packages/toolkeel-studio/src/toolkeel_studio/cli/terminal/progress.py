"""Progress of a run on stderr: plain lines, or live lines.

On a terminal each running call has one line (call, duration, progress), in call order, which becomes its
outcome. Elsewhere each start and each end is a line of its own, written once.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import monotonic
from types import FrameType
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from toolkeel import events
from toolkeel.builtin.loading import is_users_file, shorten_path
from toolkeel.errors import ToolkeelError, describe_error
from toolkeel.messages import ToolCall, ToolMessage
from toolkeel.model_interface import TextDelta
from toolkeel.observe.wording import compact, count, duration, escaped, one_line, visible_line
from toolkeel_studio.cli.terminal.standard_streams import OutputLost
from toolkeel_studio.cli.terminal.streams import echo, is_interactive, note, shown_calls
from toolkeel_studio.cli.terminal.text import fit, signature, wrapped

EVERY = 1.0
"""Seconds between two plain lines about how far one call is."""
OURS = ("toolkeel", "toolkeel_workspace", "toolkeel_studio", "toolkeel_compat")
REASON = 160
"""Most cells of the reason why a call failed."""
_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TAIL = 400


class Display(Protocol):
    """What shows the events of a run to a person."""

    def __call__(self, event: events.Event) -> None: ...

    def hide(self) -> None:
        """Take lines that move off the screen."""
        return

    def show(self) -> None:
        """Put it back."""
        return

    def close(self) -> None:
        """Leave the screen in order."""
        return


class Pausable:
    """A view that pauses while a person is asked, and catches up afterwards.

    Args:
        inner: The view.

    Attributes:
        stop: Called with the reason when stdout is lost, so that the run ends.
    """

    def __init__(self, inner: Display) -> None:
        self.stop: Callable[[str], object] = bool
        self._inner = inner
        self._delayed: list[events.Event] | None = None

    def __call__(self, event: events.Event) -> None:
        """Show it, or keep it for later."""
        if self._delayed is not None:
            self._delayed.append(event)
            return
        try:
            self._inner(event)
        except OutputLost as error:
            self.stop(str(error))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the screen alone."""
        self._delayed = []
        self._inner.hide()
        try:
            yield
        finally:
            held, self._delayed = self._delayed, None
            self._inner.show()
            for event in held:
                self(event)

    def close(self) -> None:
        """Leave the screen in order."""
        with suppress(OutputLost):
            self._inner.close()


def view(model: str = "", *, keep: bool = True) -> Display:
    """Create the view that fits stderr.

    Args:
        model: Name of the model, for the line while it answers.
        keep: Leave the lines of ended calls; otherwise a view that cannot erase them does not write
            them.
    """
    if is_interactive(sys.stderr):
        return LiveView(model, keep)
    return PlainView() if keep else Blind()


class JsonView(Display):
    """Each event as one line of JSON on stdout."""

    def __call__(self, event: events.Event) -> None:
        """Write it."""
        echo(compact(events.event_dict(event)))


class Blind(Display):
    """Shows nothing."""

    def __call__(self, event: events.Event) -> None:
        """Look away."""


class PlainView(Display):
    """A line for each start and each end."""

    def __init__(self) -> None:
        self._calls: dict[str, str] = {}
        self._reported_at: dict[str, float] = {}

    def __call__(self, event: events.Event) -> None:
        """Write what happened."""
        match event:
            case events.ToolStarted(call_id=id, call=call):
                shown_calls.add(id)
                self._calls[id] = signature(call)
                self._reported_at[id] = monotonic()
                note(f"call    {self._calls[id]}")
            case events.Retrying():
                note(retry_line(event))
            case events.Progress(call_id=id) if (
                monotonic() - self._reported_at.get(id, 0.0) >= EVERY
            ):
                self._reported_at[id] = monotonic()
                note(f"...     {self._calls.get(id, '')}  {progress_line(event)}")
            case events.ToolFinished(call_id=id, message=message):
                shown_calls.discard(id)
                word = "failed" if message.failed else "done"
                note(f"{word:7} {self._calls.get(id, message.name)}  {outcome_line(message)}")
            case events.ToolSuspended(call_id=id):
                note(f"waits   {self._calls.get(id, '')}  {_waits(event)}")
            case _:
                pass


def outcome_line(message: ToolMessage) -> str:
    """Describe how a call ended, on one line."""
    took = duration(message.duration)
    if message.failed:
        return f"{took}  {message.kind}: {_reason(message)}"
    return f"{took}  {count(len(message.text), 'character')}"


def _reason(message: ToolMessage) -> str:
    """Describe on one line why a call failed, for people rather than for the model, and where."""
    details = message.details
    errors, error, file = details.get("errors"), details.get("error"), details.get("file")
    if isinstance(errors, tuple) and errors:
        error = "; ".join(map(str, errors))
    place = f" ({_place(str(file))}, line {details.get('line')})" if file else ""
    return f"{fit(one_line(str(error or message.text)), REASON)}{place}"


def failure_line(error: Exception) -> str:
    """Describe why a run raised, on one line: the library's own text, or exception, file and line.

    >>> failure_line(ValueError("no seat"))
    'the run failed: ValueError: no seat'
    """
    if isinstance(error, ToolkeelError):
        return str(error)
    own = [row for row in traceback.walk_tb(error.__traceback__) if _is_own(row[0])]
    place = f" ({_place(own[-1][0].f_code.co_filename)}, line {own[-1][1]})" if own else ""
    return f"the run failed: {one_line(describe_error(error))}{place}"


def _place(file: str) -> str:
    """Return the path of a file as short as it can be written here."""
    return visible_line(shorten_path(Path(file)))


def _is_own(frame: FrameType) -> bool:
    """Return True for code of the user's program, also where our packages are not installed."""
    module = str(frame.f_globals.get("__name__"))
    return is_users_file(frame.f_code.co_filename) and module.partition(".")[0] not in OURS


def _waits(event: events.ToolSuspended) -> str:
    why = event.ticket.reason.partition("\n")[0]
    return f"for approval: {one_line(why)}"


def retry_line(event: events.Retrying) -> str:
    """Describe why and when the model is asked again, on one line."""
    return f"asking again in {duration(event.wait)}: {fit(one_line(event.error), REASON)}"


def progress_line(event: events.Progress) -> str:
    """Describe the progress of a call, on one line."""
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
        self.waits = ""

    def lines(self, width: int) -> list[Text]:
        """Return one line, and the reason below it for a failed call."""
        if self.waits:
            return [_line(("?", "yellow"), signature(self.call, width // 2), self.waits, width)]
        if self.message is None:
            rest = f"  {_since(self.began)}  {self.far}".rstrip()
            return [_line((_spin(), "cyan"), signature(self.call, width * 2 // 3), rest, width)]
        shown = signature(self.call, width * 2 // 3)
        if not self.message.failed:
            return [_line(("✓", "green"), shown, f"  {outcome_line(self.message)}", width)]
        head = f"  {duration(self.message.duration)}  {self.message.kind}"
        reason = wrapped(_reason(self.message), max(width - 4, 8))
        below = [Text(f"    {line}", "dim", no_wrap=True) for line in reason]
        return [_line(("✗", "red"), shown, head, width), *below]


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
        self._tail = ""
        self._again = ""

    def __call__(self, event: events.Event) -> None:
        """Take note of what happened. The screen follows by itself."""
        match event:
            case events.TurnStarted():
                self.close()
                self._asked, self._tail, self._again = monotonic(), "", ""
                self._show()
            case events.Streamed() | events.Retrying():
                self._hear(event)
            case events.Replied(message=message):
                self._asked = None
                if message.tool_calls and message.text.strip():
                    self._console.print(Text(escaped(message.text.strip()), "dim"))
            case events.ToolStarted(call_id=id, call=call):
                shown_calls.add(id)
                self._rows[id] = _Row(call)
                self._show()
            case events.Progress(call_id=id) if id in self._rows:
                self._rows[id].far = progress_line(event)
            case events.ToolFinished(call_id=id, message=message) if id in self._rows:
                shown_calls.discard(id)
                self._rows[id].message = message
            case events.ToolSuspended(call_id=id) if id in self._rows:
                self._rows[id].waits = f"  waits {_waits(event)}"
            case events.RunFinished():
                self.close()
            case _:
                pass

    def _hear(self, event: events.Streamed | events.Retrying) -> None:
        if isinstance(event, events.Retrying):
            self._again = retry_line(event)
        elif isinstance(event.delta, TextDelta):
            self._tail = (self._tail + event.delta.text)[-_TAIL:]

    def close(self) -> None:
        """Leave the lines of ended calls on the screen, and nothing else."""
        live, self._live = self._live, None
        self._asked = None
        if live is not None:
            live.transient = not (self._keep and self._rows)
            live.stop()
        self._rows = {}

    def hide(self) -> None:
        """Remove the lines from the screen. They remain in memory."""
        live, self._live = self._live, None
        if live is not None:
            live.transient = True
            live.stop()

    def show(self) -> None:
        """Put them back, if there are any."""
        if self._rows:
            self._show()

    def _show(self) -> None:
        if self._live is None:
            self._live = Live(
                console=self._console, get_renderable=self._lines, refresh_per_second=12
            )
            self._live.start()

    def _lines(self) -> Group:
        width = self._console.width
        lines = [line for row in list(self._rows.values()) for line in row.lines(width)]
        if self._asked is not None:
            rest = f"  {_since(self._asked)}  {one_line(self._tail) or self._again}"
            lines.append(_line((_spin(), "cyan"), self._model, rest, width))
        return Group(*lines)

"""A prompt that stays open while a run works; what is typed there reaches the run.

The prompt has a thread and an event loop of its own, so that it reads keys whatever the run does.
Lines that reach no run (a command, a line for its end, a line that comes too late) stay in order.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from time import monotonic
from typing import Any, TextIO

from prompt_toolkit import PromptSession
from prompt_toolkit.application import get_app, in_terminal
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.completion import Completer
from prompt_toolkit.formatted_text import ANSI
from prompt_toolkit.history import History
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys
from prompt_toolkit.output import Output, create_output
from prompt_toolkit.output.vt100 import Vt100_Output

from toolkeel.agent.run import Run
from toolkeel.observe.wording import visible_line
from toolkeel_studio.cli.chat.attach import attached_paths, name_pasted_pictures
from toolkeel_studio.cli.chat.print_above_prompt import OutputAbovePrompt
from toolkeel_studio.cli.terminal.markdown import Markdown
from toolkeel_studio.cli.terminal.streams import (
    BOLD,
    DIM,
    is_interactive,
    note,
    stdout_is_terminal,
    styled,
)
from toolkeel_studio.cli.terminal.text import wrapped

RUNNING = "Enter: send now · Tab: send afterwards · Esc: stop"
COMMAND = "Enter: do it afterwards · Tab: complete · Esc: stop"
STOPPING = "stopping · Ctrl+C: end it now"
ROWS = 8
"""Rows shown of the unfinished line."""
BUNDLE = 0.03
"""Seconds in which what is printed is put together."""
SIGN = f"\x1b[{BOLD}m› \x1b[0m"


class Steering:
    """Input at the terminal while runs work.

    Args:
        past: The history; a line is added the moment it is entered.
        completer: Completions for Tab.

    Attributes:
        left: Lines that reached no run, in order.
        draft: An unfinished line.
        stopping: True after the run was asked to stop.
    """

    def __init__(self, past: History, completer: Completer) -> None:
        self.left: deque[str] = deque()
        self.draft = ""
        self.past, self.completer = past, completer
        self._pending_texts: deque[str] = deque()
        self._run: Run[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._above: OutputAbovePrompt | None = None
        self._output: Output | None = None
        self._prompt: _Prompt | None = None
        self._began = 0.0
        self.stopping = False

    @contextmanager
    def screen(self) -> Iterator[None]:
        """Print above the prompt whatever is printed within the block."""
        self._above = above = OutputAbovePrompt()
        err, self._output = above.stream(sys.stderr), prompt_output(sys.stderr)
        blocks = Markdown() if is_interactive(sys.stdout) else None
        out = above.stream(sys.stdout, blocks) if stdout_is_terminal() else sys.stdout
        try:
            with redirect_stderr(err), redirect_stdout(out):
                yield
        finally:
            self._close()
            self._above = None
            if self._pending_texts:  # a run that heard nothing any more has been ended
                self.draft = "\n".join([*self._pending_texts, self.draft]).strip()
                self._pending_texts.clear()

    def end_reply(self) -> None:
        """Print the rest of a reply above the prompt, before what is printed next."""
        if self._above is not None:
            self._above.end_blocks()

    @contextmanager
    def of(self, run: Run[Any]) -> Iterator[None]:
        """Say to a run what is typed, in its event loop."""
        self._run, self._loop = run, asyncio.get_running_loop()
        self._began, self.stopping = monotonic(), False
        self._open()
        try:
            yield
        finally:
            self._close()
            self._say()
            self._run = self._loop = None

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the keys and the screen to a question."""
        self._close()
        try:
            yield
        finally:
            if self._run is not None:
                self._open()

    def _open(self) -> None:
        if self._above is not None and os.environ.get("TERM") != "dumb":
            self._prompt = _Prompt(self, self._above)

    def _close(self) -> None:
        prompt, self._prompt = self._prompt, None
        if prompt is not None:
            prompt.close()

    def session(self, above: OutputAbovePrompt) -> PromptSession[str]:
        """Create the prompt: the answer so far, the line being typed, and what the keys do."""
        made: PromptSession[str] = PromptSession(
            lambda: ANSI(
                f"{unfinished_line(above)}{styled(self._hint(made), DIM, sys.stderr)}\n{SIGN}"
            ),
            history=self.past,
            completer=self.completer,
            complete_while_typing=False,
            key_bindings=key_bindings(self),
            prompt_continuation="  ",
            refresh_interval=1.0,
            erase_when_done=True,
            output=self._output,
        )
        return made

    def _hint(self, prompt: PromptSession[str]) -> str:
        command = prompt.default_buffer.text.startswith("/")
        hint = STOPPING if self.stopping else COMMAND if command else RUNNING
        return f"{monotonic() - self._began:.0f} s · {hint}"

    # — keys —

    def entered(self, buffer: Buffer) -> None:
        """Enter: say it to the run; a command, or a message with files, waits for its end."""
        text = buffer.text.strip()
        if not text or text.startswith("/") or attached_paths(text):
            self.queued(buffer)
            return
        buffer.reset(append_to_history=True)
        note(f"› {visible_line(text)}", DIM)
        self._pending_texts.append(text)
        if (loop := self._loop) is not None:
            loop.call_soon_threadsafe(self._say)

    def queued(self, buffer: Buffer) -> None:
        """Keep it for the run's end."""
        text = buffer.text.strip()
        if text:
            buffer.reset(append_to_history=True)
            note(f"after this run: {visible_line(text)}", DIM)
            self.left.append(text)

    def stop(self, buffer: Buffer) -> None:
        """Stop the run, and give back what waits for its end; once."""
        if not self.stopping:
            buffer.text = "\n".join([*self.left, buffer.text]).strip()
            buffer.cursor_position = len(buffer.text)
            self.left.clear()
            self.interrupt()

    def interrupt(self) -> None:
        """Handle Ctrl+C while no prompt reads keys."""
        self.stopping = True
        if (main := threading.main_thread().ident) is not None:
            signal.pthread_kill(main, signal.SIGINT)

    def _say(self) -> None:
        while self._pending_texts:
            text = self._pending_texts.popleft()
            if self._run is None or not self._run.say(text):
                self.left.append(text)


class _Prompt:
    """A prompt in a thread of its own, until it is closed."""

    def __init__(self, steering: Steering, above: OutputAbovePrompt) -> None:
        self._steering = steering
        self._above = above
        self._end: Callable[[], object] = bool
        ready = threading.Event()
        self._thread = threading.Thread(
            target=lambda: asyncio.run(self._ask(ready)), name="toolkeel-prompt", daemon=True
        )
        self._thread.start()
        ready.wait(10)

    async def _ask(self, ready: threading.Event) -> None:
        loop, come, me = asyncio.get_running_loop(), asyncio.Event(), asyncio.current_task()
        session = self._steering.session(self._above)
        copying = asyncio.create_task(self._copy(session, come))
        self._above.opened(lambda: loop.call_soon_threadsafe(come.set))
        self._end = lambda: loop.call_soon_threadsafe(me.cancel) if me else None
        ready.set()
        try:
            session.app.ttimeoutlen = session.app.timeoutlen = 0.05
            await session.prompt_async(default=self._steering.draft, handle_sigint=False)
        except (asyncio.CancelledError, EOFError, OSError):
            pass
        finally:
            self._steering.draft = session.default_buffer.text
            copying.cancel()
            self._above.closed()

    async def _copy(self, session: PromptSession[str], come: asyncio.Event) -> None:
        while await come.wait():
            come.clear()
            if self._above.has_lines():
                async with in_terminal():
                    self._above.print_lines()
            session.app.invalidate()
            await asyncio.sleep(BUNDLE)

    def close(self) -> None:
        """Remove the prompt from the screen; an unfinished line stays as a draft."""
        with suppress(RuntimeError):  # it has ended by itself
            self._end()
        self._thread.join(10)


def prompt_output(stream: TextIO) -> Output:
    """Return a prompt's output that never asks the terminal where the cursor is.

    The end of a prompt waits a second for the answer, and some terminals give none.
    """
    output = create_output(stream)
    if isinstance(output, Vt100_Output):
        output.enable_cpr = False
    return output


def unfinished_line(above: OutputAbovePrompt) -> str:
    """Return the unfinished line's end, as lines of the screen."""
    columns, text = get_app().output.get_size().columns, above.unprinted
    size = (ROWS + 1) * columns
    text = text[max(len(text) // size - 1, 0) * size :]  # no more: it is drawn again and again
    return "".join(f"{line}\n" for line in wrapped(text, columns)[-ROWS:] if line)


def text_bindings() -> KeyBindings:
    """Bind the keys of every prompt: Alt+Enter, and a paste, which may be a picture."""
    keys = KeyBindings()

    @keys.add("escape", "enter")  # not Ctrl+J: so comes an Enter that was typed between two prompts
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")

    @keys.add(Keys.BracketedPaste)
    def _(event: KeyPressEvent) -> None:
        text = event.data.replace("\r\n", "\n").replace("\r", "\n")
        event.current_buffer.insert_text(name_pasted_pictures(text))

    return keys


def key_bindings(steering: Steering) -> KeyBindings:
    """Bind the keys that work while a run works."""
    keys = text_bindings()

    @keys.add("enter")
    def _(event: KeyPressEvent) -> None:
        steering.entered(event.current_buffer)

    @keys.add("tab")
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if not buffer.text.startswith("/"):
            steering.queued(buffer)
        elif buffer.complete_state is not None:
            buffer.complete_next()
        else:
            buffer.start_completion(insert_common_part=True)

    @keys.add("escape")
    def _(event: KeyPressEvent) -> None:
        if event.current_buffer.complete_state is not None:
            event.current_buffer.cancel_completion()
        else:
            steering.stop(event.current_buffer)

    @keys.add("c-c")
    def _(event: KeyPressEvent) -> None:
        if steering.stopping:
            steering.interrupt()
        else:
            steering.stop(event.current_buffer)

    @keys.add("c-d")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.delete()  # it ends a chat only where no run works

    return keys

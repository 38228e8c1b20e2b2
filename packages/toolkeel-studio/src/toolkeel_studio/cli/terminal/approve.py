"""Approval at the terminal before a call runs.

The complete call is shown, to its end, before any answer is accepted; invisible characters are shown as
escapes. Only the keys of the question, pressed after it appeared, approve: y this call, others also later
calls of the run.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from time import monotonic
from typing import TextIO, TypeAlias

from toolkeel._records.record import record
from toolkeel._records.tickets import Decision, Reach, Ticket
from toolkeel.agent.resume import fits_tool
from toolkeel.call.arguments.canonical_arguments import as_json
from toolkeel.call.arguments.validate import prepare
from toolkeel.call.toolset import Toolset
from toolkeel.errors import CallError, InvalidArguments
from toolkeel.messages import ToolCall
from toolkeel.observe.wording import badges, change_rows, scope_words, visible_json, visible_line
from toolkeel_studio.cli.terminal.interrupt import BY_HAND
from toolkeel_studio.cli.terminal.keyboard import Keyboard, Withdrawn
from toolkeel_studio.cli.terminal.keys import make_keyboard
from toolkeel_studio.cli.terminal.streams import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    RED,
    YELLOW,
    prints_delayed,
    styled,
)
from toolkeel_studio.cli.terminal.text import cells, chopped

Arguments: TypeAlias = Mapping[str, object]
Check: TypeAlias = Callable[[Ticket, Arguments], Arguments]
"""Gives edited arguments as they would run; raises `CallError` if they cannot."""

QUESTION = "Run it?  y once   {extents}n refuse   e edit   q stop the run  "
HINT = "(press {keys} or q)"
MORE = "space next page   a all of it   n refuse   q stop the run  "
MORE_HINT = "(the call goes on: see its end first)"
_SIGNS = {"+": GREEN, "-": RED, "@": CYAN}


def can_ask() -> bool:
    """Return True if a person can answer: stdin and stderr are a terminal, and this is no CI."""
    if os.environ.get("CI"):
        return False
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))


def argument_check(tools: Toolset) -> Check:
    """Create the check that validates edited arguments like the call itself."""

    def check(ticket: Ticket, arguments: Arguments) -> Arguments:
        if not fits_tool(ticket, tools):  # of a source or another agent: checked when it runs
            return arguments
        call = ToolCall(ticket.call_id, ticket.tool, arguments)
        return as_json(prepare(call, tools[ticket.tool]))

    return check


class TerminalApprover:
    """Approval on the terminal, one call at a time.

    Args:
        stop: Stops the run, with the reason, at the key q.
        pause: Pauses all other output meanwhile.
        check: Validates edited arguments.
        timeout: Seconds to wait for an answer, after which the call is refused; None for no limit.
    """

    asks_in_turn = True

    def __init__(
        self,
        stop: Callable[[str], object],
        pause: Callable[[], AbstractContextManager[None]],
        check: Check,
        timeout: float | None = None,
    ) -> None:
        self._stop = stop
        self._pause = pause
        self._check = check
        self._timeout = timeout

    async def __call__(self, ticket: Ticket) -> Decision | None:
        """Ask about one call; one that nothing here runs waits for its answer."""
        if ticket.external:
            return None
        with self._pause(), prints_delayed() as screen:
            decision = await self._ask_in_thread(ticket, screen)
        if decision is None:
            self._stop(BY_HAND)
            return ticket.deny("the person stopped the run")
        return decision

    async def _ask_in_thread(self, ticket: Ticket, screen: TextIO) -> Decision | None:
        """Ask in a thread of its own. Return None if the run shall stop.

        The thread is a daemon: the program can end without waiting for it.
        """
        loop = asyncio.get_running_loop()
        until = None if self._timeout is None else monotonic() + self._timeout
        keyboard = make_keyboard(until)
        question = TicketPrompt(ticket, keyboard, screen, self._check)
        answer: asyncio.Future[Decision | None] = loop.create_future()

        def ask() -> None:
            try:
                with keyboard.open():
                    decision, error = question.ask(), None
            except BaseException as problem:  # carried to the run, whatever it is
                decision, error = None, problem
            loop.call_soon_threadsafe(_resolve, answer, decision, error)

        threading.Thread(target=ask, name="toolkeel-question", daemon=True).start()
        try:
            return await asyncio.shield(answer)
        except asyncio.CancelledError:
            keyboard.withdraw()
            await asyncio.wait([answer])
            raise


def _resolve(
    answer: asyncio.Future[Decision | None], decision: Decision | None, error: BaseException | None
) -> None:
    if error is None:
        answer.set_result(decision)
    else:
        answer.set_exception(error)
        answer.exception()  # retrieved, also if the run was canceled


@record
class Extent:
    """An approval that covers more than one call.

    Args:
        key: The key that approves.
        name: What it covers, in the question.
        covers: The other calls that it approves.
        reach: What the runtime calls it.
    """

    key: str
    name: str
    covers: str
    reach: Reach


def extents_of(ticket: Ticket) -> list[Extent]:
    """Return the approvals beyond the one call that have an effect for a ticket."""
    found = []
    if ticket.scope:
        kind, covers = ticket.scope.partition(" ")[0], scope_words(ticket.tool, ticket.scope)
        found.append(Extent(kind[0], f"this {kind}", f"{covers}, in the session", "session"))
    if ticket.labels and ticket.has_target:
        place = "host" if ticket.effects.get("read_only") else "target"
        covers = f"later calls of {ticket.tool} to the same {place}, in this run"
        if not ticket.effects.get("target"):
            place, covers = "tool", f"later calls of {ticket.tool} without an address, in this run"
        name, is_taken = f"this {place}", found and found[0].key == place[0]
        narrow = Extent("u", f"{name} until the run ends", covers, "target")
        found.append(narrow if is_taken else Extent(place[0], name, covers, "target"))
    if ticket.server:
        covers = f"later calls of tools of the server {ticket.server}, in this run"
        found.append(Extent("s", "this server", covers, "server"))
    if ticket.labels:
        covers = "calls that are asked about because of what was read so far, in this run"
        found.append(Extent("r", "trust what was read", covers, "source"))
    return found


class TicketPrompt:
    """One question, with its keys.

    Args:
        ticket: What is asked about.
        keyboard: Where the answer comes from.
        screen: Where the question is shown.
        check: Validates edited arguments.
    """

    def __init__(self, ticket: Ticket, keyboard: Keyboard, screen: TextIO, check: Check) -> None:
        self._ticket = ticket
        self._keyboard = keyboard
        self._screen = screen
        self._check = check
        self._arguments: Arguments = ticket.arguments
        self._edited = False
        self._extents = {each.key: each for each in extents_of(ticket)}

    def ask(self) -> Decision | None:
        """Ask for a decision. Return None if the run shall stop."""
        try:
            while True:
                key = self._show() or self._key(*self._question())
                if key == "e":
                    self._edit()
                    continue
                return self._decision(key)
        except TimeoutError:
            self._say("\nnobody answered in time: refused", YELLOW)
            return self._ticket.deny("nobody answered in time")
        except Withdrawn:
            self._say("")
            return self._ticket.deny("nobody answered")

    def _question(self) -> tuple[str, str, str]:
        """Return the question, its keys, and a hint for other keys."""
        named = "".join(f"{key} {each.name}   " for key, each in self._extents.items())
        keys = ["y", *self._extents, "n", "e"]
        hint = HINT.format(keys=", ".join(keys))
        return QUESTION.format(extents=named), "".join([*keys, "q"]), hint

    def _decision(self, key: str) -> Decision | None:
        if key == "q":
            self._say("stop")
            return None
        if key == "n":
            self._write("no\nWhy? (for the model; Enter for no reason) ")
            return self._ticket.deny(self._keyboard.line())
        extent = self._extents.get(key)
        self._say(f"yes, {extent.name}" if extent else "yes", BOLD)
        if self._edited:
            return self._ticket.edit(self._arguments)
        return self._ticket.approve(extent.reach if extent else "call")

    # — showing —

    def _show(self) -> str:
        """Show the complete call. Return the key pressed before its end: n or q."""
        columns, rows = _size(self._screen)
        lines = self._lines(columns)
        page = max(rows - 2, 4)
        if len(lines) + 1 > rows:
            while len(lines) > page:
                self._say("\n".join(lines[:page]))
                del lines[:page]
                more = f"{len(lines)} more lines:  {MORE}"
                key = self._key(more, " anq", MORE_HINT, echo=False)
                if key in "nq":
                    return key
                page = len(lines) if key == "a" else page
        self._say("\n".join(lines))
        return ""

    def _lines(self, columns: int) -> list[str]:
        ticket = self._ticket
        name = visible_line(ticket.tool)
        why = ticket.reason.partition("\n")[0]
        head = f"{name} needs your approval ({visible_line(why)})"
        rows = change_rows(ticket.reason)
        if self._edited:
            head, rows = f"{name} as you edited it", []  # they describe the call before the edit
        lines = [self._styled(line, f"{BOLD};{YELLOW}") for line in chopped(head, columns)]
        for row in rows:
            style = _SIGNS.get(row[:1], "")
            lines += [
                self._styled(line, style) if style else line for line in chopped(row, columns)
            ]
        description = visible_line(badges(ticket.effects, self._arguments))
        lines += [self._styled(line, DIM) for line in chopped(description, columns)]
        bar = self._styled("│", CYAN)
        for line in visible_json(dict(self._arguments)).split("\n"):
            for number, part in enumerate(chopped(line, columns - 3)):
                lines.append(f"{bar}{'↳' if number else ' '}{part}")
        for each in self._extents.values():
            description = visible_line(f"{each.key}: yes, and {each.covers}")
            lines += [self._styled(line, DIM) for line in chopped(description, columns)]
        return lines

    def _styled(self, text: str, style: str) -> str:
        return styled(text, style, self._screen)

    def _write(self, text: str) -> None:
        self._screen.write(text)
        self._screen.flush()

    def _say(self, text: str, style: str = "") -> None:
        self._write((self._styled(text, style) if style else text) + "\n")

    # — answering —

    def _key(self, question: str, keys: str, hint: str, *, echo: bool = True) -> str:
        """Wait for one of `keys`, pressed after the question appeared."""
        self._keyboard.forget()
        begin = "\n" if os.environ.get("TERM") == "dumb" else "\r\x1b[K"
        self._write(self._styled(question, BOLD))
        while True:
            key = self._keyboard.key().lower()
            if key and key in keys:
                break
            fits = cells(question + hint) < _size(self._screen)[0]
            self._write(f"{begin}{self._styled(question, BOLD) if fits else ''}{hint} ")
        if not echo:
            self._write(begin)
        return key

    # — editing —

    def _edit(self) -> None:
        """Let the person change the arguments; report what cannot run and change nothing then."""
        try:
            text = self._changed()
            if text.strip():
                edited = json.loads(text)
                if not isinstance(edited, dict):
                    raise ValueError("the arguments are one JSON object")
                arguments = self._check(self._ticket, edited)
                self._edited = self._edited or arguments != self._ticket.arguments
                if self._edited:  # an edited call is approved alone
                    self._extents = {}
                self._arguments = arguments
        except InvalidArguments as error:
            self._say("\n".join(["not changed:", *map(visible_line, map(str, error.errors))]), RED)
        except (OSError, ValueError, CallError) as error:
            self._say(f"not changed: {visible_line(str(error))}", RED)

    def _changed(self) -> str:
        editor = os.environ.get("VISUAL") or os.environ.get("EDITOR")
        if editor:
            self._say("edit")
            text = visible_json(dict(self._arguments))
            return self._keyboard.edit(text, editor, self._screen.fileno())
        self._write("edit\nThe arguments as one line of JSON (Enter alone leaves them):\n")
        return self._keyboard.line()


def _size(screen: TextIO) -> tuple[int, int]:
    """Columns and rows."""
    try:
        size = os.get_terminal_size(screen.fileno())
    except (OSError, ValueError):
        size = shutil.get_terminal_size()
    return (size.columns or 80, size.lines or 24)

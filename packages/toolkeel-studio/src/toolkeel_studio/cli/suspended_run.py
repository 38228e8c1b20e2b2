"""A suspended run as a file: what waits, what was decided; it can be resumed once.

The file is a `RunState` as JSON, with ``terms`` (the options of the command that saved it) and, after a
decision, ``decisions``. It contains the transcript, so only its owner may read it. Resuming first renames
the file and records each decided ticket as used, which covers copies of the file as well.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from toolkeel._common.data_folder import state_folder
from toolkeel._records.record import record
from toolkeel._records.tickets import Decision, Ticket
from toolkeel._records.used_tickets import is_id, mark_decided
from toolkeel.agent.run_state import RunState
from toolkeel.errors import SetupError
from toolkeel.observe.wording import describe_call, visible_line
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.terminal.streams import YELLOW, note

USED = ".used"
SHORTEST = 4
"""Fewest characters of a ticket's id that name it."""


@record
class Saved:
    """A suspended run with what was decided about it.

    Args:
        state: The run.
        decisions: At most one for each ticket.
        terms: On which it ran, as options and their values. Nothing they name is loaded unasked.
    """

    state: RunState
    decisions: Mapping[str, Decision]
    terms: Sequence[str] = ()

    @property
    def undecided(self) -> list[Ticket]:
        """What still waits."""
        return [each for each in self.state.pending if each.id not in self.decisions]

    def ticket(self, id: str) -> Ticket:
        """Return the ticket that `id`, or its prefix, names.

        Raises:
            UsageProblem: it names none, or several.
        """
        return find_ticket(self.state.pending, id)


def find_ticket(waiting: Sequence[Ticket], id: str) -> Ticket:
    """Return the waiting ticket that `id`, or its prefix, names.

    Raises:
        UsageProblem: it names none, or several.
    """
    found = [each for each in waiting if each.id.startswith(id)]
    if len(id) >= SHORTEST and len(found) == 1:
        return found[0]
    known = ", ".join(short_id(each) for each in waiting) or "none"
    raise UsageProblem(f"no ticket {id!r} waits, or it names several; there are: {known}")


def short_id(ticket: Ticket) -> str:
    """Return the first characters of a ticket's id, for people."""
    return ticket.id[:8]


def deciding(tickets: Iterable[Ticket]) -> Iterator[str]:
    """Command-line options that would decide each ticket, to be shown to a person."""
    for ticket in tickets:
        yield from (
            ("--answer", f"{short_id(ticket)}=TEXT")
            if ticket.external
            else ("--approve", short_id(ticket))
        )


def show_tickets(tickets: Iterable[Ticket]) -> None:
    """Print each call that waits for a decision, with all its arguments."""
    for ticket in tickets:
        note(format_heading(ticket), YELLOW)
        note("\n".join(describe_call(ticket)))


def format_heading(ticket: Ticket) -> str:
    """Return a line about one ticket: its id, its tool, and why it waits."""
    reason = visible_line(ticket.reason.split("\n")[0])
    wants = "an answer" if ticket.external else "approval"
    return f"{short_id(ticket)}  {visible_line(ticket.tool)} waits for {wants} ({reason}):"


def check_writable(path: Path) -> Path:
    """Return the path after checking that a new file can be written there.

    Raises:
        UsageProblem: the file exists, or its folder does not.
    """
    if path.exists() or path.is_symlink():
        raise UsageProblem(f"{path} exists already; a state is never overwritten")
    if not path.absolute().parent.is_dir():
        raise UsageProblem(f"there is no folder {str(path.parent)!r} to write the state to")
    return path


def save(state: RunState, run_id: str, path: Path | None, terms: Sequence[str] = ()) -> Path:
    """Write a suspended run where nothing is yet; readable by its owner alone.

    Args:
        state: The run.
        run_id: Names the file, if `path` is None.
        path: The file.
        terms: On which it ran.

    Raises:
        SetupError: if it cannot be written.
    """
    try:
        if path is None:
            folder = state_folder() / "runs"
            folder.mkdir(0o700, parents=True, exist_ok=True)
            path = folder / f"{run_id}.json"
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(_text(Saved(state, {}, terms)))
    except OSError as error:
        raise SetupError(f"the suspended run cannot be saved: {error}") from None
    return path


def load(path: Path) -> Saved:
    """Read a saved run from its file.

    Raises:
        SetupError: if it was used already, cannot be read, could have been written by others, or
            is no saved run.
    """
    try:
        with path.open(encoding="utf-8") as file:
            facts, text = os.fstat(file.fileno()), file.read()
    except FileNotFoundError:
        if _used(path).exists():
            raise SetupError(f"{path} was used already: a saved run goes on once") from None
        raise SetupError(f"there is no saved run {str(path)!r}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} cannot be read: {error}") from None
    if not _is_mine(facts):
        raise SetupError(f"{path} could have been written by somebody else, so it is not trusted")
    decided, terms, rest = _parted(text)
    state = RunState.from_json(rest)
    return Saved(state, _decisions(decided, state), terms)


def _is_mine(facts: os.stat_result) -> bool:
    """Return True if only this user can have written the file."""
    if os.name != "posix":
        return True
    return facts.st_uid == os.getuid() and not facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _parted(text: str) -> tuple[list[Any], list[str], str]:
    """Decisions, terms, and the run without them; what is neither is left for the run to refuse."""
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return [], [], text
    if not isinstance(data, dict):
        return [], [], text
    decided, terms = data.pop("decisions", []), data.pop("terms", [])
    if not (isinstance(decided, list) and isinstance(terms, list)):
        return [], [], text
    return decided, [str(word) for word in terms], json.dumps(data)


def _text(saved: Saved) -> str:
    data: dict[str, Any] = json.loads(saved.state.to_json())
    if saved.decisions:
        data["decisions"] = [each.to_dict() for each in saved.decisions.values()]
    if saved.terms:
        data["terms"] = [*saved.terms]
    return json.dumps(data, ensure_ascii=False) + "\n"


def _decisions(decided: Iterable[Any], state: RunState) -> dict[str, Decision]:
    waiting = {ticket.id for ticket in state.pending}
    try:
        found = [Decision.from_dict(item) for item in decided]
    except ValueError as error:
        raise SetupError(f"this saved run holds a decision that is none: {error}") from None
    if not all(map(is_id, waiting)) or any(d.ticket not in waiting for d in found):
        raise SetupError("this saved run holds decisions for tickets that are not in it")
    return {decision.ticket: decision for decision in found}


def keep(path: Path, saved: Saved) -> None:
    """Write what was decided into the file, all of it or nothing.

    Raises:
        SetupError: if it cannot be written, or somebody has used it meanwhile.
    """
    try:
        descriptor, name = tempfile.mkstemp(prefix=path.name, dir=path.absolute().parent)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(_text(saved))
            if not path.exists():
                raise SetupError(f"{path} was used already: a saved run goes on once")
            os.replace(name, path)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise SetupError(f"{path} cannot be written: {error}") from None


def claim(path: Path, saved: Saved) -> None:
    """Take the file and its decisions for this process, before anything runs.

    Raises:
        SetupError: if another has used the file, or a copy of it. Nothing has run then.
    """
    try:
        path.rename(_used(path))
    except FileNotFoundError:
        raise SetupError(f"{path} was used already: a saved run goes on once") from None
    except OSError as error:
        raise SetupError(f"{path} cannot be marked as used, so it is not: {error}") from None
    mark_decided(state_folder() / "decided", saved.decisions)


def _used(path: Path) -> Path:
    return path.with_name(path.name + USED)

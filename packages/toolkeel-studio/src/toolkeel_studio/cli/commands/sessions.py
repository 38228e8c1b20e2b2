"""``toolkeel sessions``: conversations that last, in the user's data folder, a file or a database."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from toolkeel.messages import AssistantMessage, Message, ToolMessage, UserMessage
from toolkeel.observe.wording import arguments_of, compact, count, escaped, pretty, visible_line
from toolkeel.sessions import Sessions
from toolkeel.sessions.stores.postgres import is_postgres
from toolkeel.sessions.stores.sqlite import checked_path
from toolkeel.sessions.stores.store import SessionInfo
from toolkeel_studio.cli.decision_options import (
    Answered,
    Approved,
    Denied,
    Reason,
    check_decisions,
    read_decisions,
)
from toolkeel_studio.cli.exit_codes import FAILED, OPTIONS, UsageProblem
from toolkeel_studio.cli.history_option import HistoryOption, read_history
from toolkeel_studio.cli.suspended_run import show_tickets
from toolkeel_studio.cli.terminal.streams import DIM, YELLOW, echo, layout, note, width_of
from toolkeel_studio.cli.terminal.two_columns import compare_lines
from toolkeel_studio.inspector.compare import compare

app = typer.Typer(help="List, search, show, compare, fork and decide sessions.", **OPTIONS)
File = Annotated[
    str | None,
    typer.Option(
        "--file", "-f", metavar="PLACE", help="Where sessions are: FILE or postgresql://..."
    ),
]
Name = Annotated[str, typer.Argument(metavar="NAME", help="Of the session.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
To = Annotated[str, typer.Argument(metavar="NEW", help="The new session's name.")]
Scope = Annotated[str, typer.Option("--scope", metavar="SCOPE", help="Whose it is.")]
InScope = Annotated[str, typer.Option("--scope", metavar="SCOPE", help="Only those of this scope.")]
All = Annotated[bool, typer.Option("--all", help="Those of other scopes, too.")]


def open_existing(file: str | None) -> Sessions:
    """Open the sessions in a file that exists, or in a database; those of the data folder for None."""
    path = None if file is None else checked_path(file, "--file")
    if path is not None and not is_postgres(path) and not Path(path).is_file():
        raise UsageProblem(f"--file: there is no file {path}")
    return Sessions(path)


def _wanted_scope(every: bool, scope: str) -> str | None:
    """Return the scope whose sessions are wanted; None for those of all.

    Raises:
        UsageProblem: Both are given.
    """
    if every and scope:
        raise UsageProblem("write --scope or --all, not both")
    return None if every else scope


@app.command("list")
def list_command(
    file: File = None,
    as_json: AsJson = False,
    every: All = False,
    scope: InScope = "",
) -> None:
    """List them, the latest first."""
    sessions = open_existing(file)
    known, wanted = sessions.list(scope=None), _wanted_scope(every, scope)
    found = [info for info in known if wanted in (None, info.scope)]
    if as_json:
        echo(pretty([_data(info) for info in found]))
        return
    for info in found:
        when = datetime.fromtimestamp(info.updated, UTC).astimezone().strftime("%Y-%m-%d %H:%M")
        first_line = visible_line(info.first)
        ended = "" if info.ended == "answered" else f"  [{info.ended or 'not ended'}]"
        echo(f"{_name_of(info)}  {when}  {count(info.turns, 'turn')}{ended}  {first_line}")
    if len(known) > len(found) and not scope:
        left = count(len(known) - len(found), "session")
        note(f"{left} in other scopes: toolkeel sessions list --all", DIM)
    elif not found:
        note(f"no session in {sessions.display_name}", YELLOW)


def _name_of(info: SessionInfo) -> str:
    """Return the name of a session, with its scope if it has one."""
    return visible_line(f"{info.scope}/{info.name}" if info.scope else info.name)


def _data(info: SessionInfo) -> dict[str, object]:
    names = ("created", "updated", "turns", "first", "last", "tokens", "requests", "ended")
    return {name: getattr(info, name) for name in ("name", "scope", *names)}


@app.command("search")
def search_command(
    words: Annotated[list[str], typer.Argument(metavar="WORD...", help="All must occur.")],
    file: File = None,
    as_json: AsJson = False,
    every: All = False,
    scope: InScope = "",
) -> None:
    """Find messages, also those the model is no longer shown; exit code 1 if there are none."""
    found = open_existing(file).search(" ".join(words), _wanted_scope(every, scope))
    if as_json:
        echo(
            pretty([{**_data(each.session), "seq": each.seq, "text": each.text} for each in found])
        )
    else:
        for each in found:
            echo(f"{_name_of(each.session)}  #{each.seq}  {visible_line(each.text)}")
    if not found:
        note("nothing found", YELLOW)
        raise typer.Exit(FAILED)


@app.command("show")
def show_command(name: Name, file: File = None, as_json: AsJson = False, scope: Scope = "") -> None:
    """Show what was said, and what waits for a decision."""
    sessions = open_existing(file)
    session = sessions.open(name, scope)
    if as_json:
        for line in sessions.export(name, scope):
            echo(line, end="")
        return
    _ = session.info  # raises if there is no such session
    for message in session.messages:
        echo(_line(message))
    show_tickets(session.pending)


def _line(message: Message) -> str:
    if isinstance(message, ToolMessage):
        return f"  {visible_line(message.name)}: {escaped(message.text)}"
    who = "you" if isinstance(message, UserMessage) else "model"
    lines = [f"{who}: {escaped(message.text)}"] if message.text else []
    if isinstance(message, AssistantMessage):
        lines += [
            f"  {visible_line(call.name)}({visible_line(compact(arguments_of(call)))})"
            for call in message.tool_calls
        ]
    return "\n".join(lines)


@app.command("compare")
def compare_command(
    name: Name,
    other: Annotated[str, typer.Argument(metavar="OTHER", help="The session beside it.")],
    file: File = None,
    as_json: AsJson = False,
    scope: Scope = "",
) -> None:
    """Show what two sessions have in common and what not; exit code 1 if they differ."""
    sessions = open_existing(file)
    found = compare(sessions.open(name, scope), sessions.open(other, scope))
    if as_json:
        echo(pretty(asdict(found)))
    else:
        layout(compare_lines(found, width_of(sys.stdout)))
    if found.differ:
        raise typer.Exit(FAILED)


@app.command("decide")
def decide_command(
    name: Name,
    *,
    approve: Approved = None,
    deny: Denied = None,
    reason: Reason = "",
    answer: Answered = None,
    file: File = None,
    scope: Scope = "",
) -> None:
    """Decide calls that wait. They run when the session goes on."""
    session = open_existing(file).open(name, scope)
    _ = session.info  # raises if there is no such session
    waiting = session.pending
    made = read_decisions(waiting, approve, deny, reason, answer)
    decisions = check_decisions(waiting, made)
    for decision in decisions:
        if (first := session.decide(decision)) is not None:
            note(f"decided already by {first.who}: {first.decision.verdict}", YELLOW)
    go_on = "" if scope or file else f"; go on: toolkeel run --session {name}"
    note(f"{count(len(decisions), 'decision')} left{go_on}", DIM)


@app.command("fork")
def fork_command(
    name: Name,
    to: To,
    turn: Annotated[
        int | None, typer.Option(metavar="N", min=0, help="How many of its turns; all by default.")
    ] = None,
    file: File = None,
    scope: Scope = "",
) -> None:
    """Begin a new session as another one was after some turn."""
    open_existing(file).fork(name, to, turn=turn, scope=scope)
    if not (scope or file):
        note(f"go on: toolkeel run --session {to}", DIM)


@app.command("export")
def export_command(
    name: Name,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; else stdout.")
    ] = None,
    file: File = None,
    scope: Scope = "",
) -> None:
    """Write a session as JSON lines."""
    write_lines(open_existing(file).export(name, scope), output)


def write_lines(lines: Iterable[str], output: Path | None) -> None:
    """Write an exported session to stdout, or to a new file that its owner alone can read.

    Raises:
        UsageProblem: the file exists.
    """
    if output is None:
        for line in lines:
            echo(line, end="")
        return
    if output.exists():
        raise UsageProblem(f"{output} exists already")
    with open(output, "x", encoding="utf-8", opener=_private) as stream:
        stream.writelines(lines)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


@app.command("import")
def import_command(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="What export wrote.")],
    to: To,
    file: File = None,
    scope: Scope = "",
) -> None:
    """Make a session of what export wrote; nothing is run."""
    try:
        with source.open(encoding="utf-8", newline="\n") as stream:
            Sessions(file).import_(stream, to, scope)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageProblem(f"{source} cannot be read: {error}") from None


@app.command("compact")
def compact_command(
    name: Name, history: HistoryOption = "turns:10", file: File = None, scope: Scope = ""
) -> None:
    """Send less of a session to the model from now on; the journal keeps all of it."""
    policy = read_history(history)
    if policy is None:
        raise UsageProblem("--history is empty; write turns:N or tokens:N")
    shorter = asyncio.run(open_existing(file).open(name, scope).compact(policy))
    note("later requests are shorter" if shorter else "nothing to leave out", DIM)


@app.command("delete")
def delete_command(name: Name, file: File = None, scope: Scope = "") -> None:
    """Delete a session from the disk. Nothing brings it back."""
    open_existing(file).delete(name, scope)


@app.command("prune")
def prune_command(
    days: Annotated[float, typer.Argument(metavar="DAYS", min=0, help="Not written to for.")],
    really: Annotated[bool, typer.Option("--really", help="Delete them; else only list.")] = False,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="Also those in which calls or messages wait.")
    ] = False,
    file: File = None,
    every: All = False,
    scope: InScope = "",
) -> None:
    """Delete sessions that nobody has written to for a while; without --really, only list them."""
    wanted = _wanted_scope(every, scope)
    gone = open_existing(file).prune(days, scope=wanted, waiting=waiting, dry=not really)
    for info in gone:
        echo(_name_of(info))
    done = "deleted" if really else "would be deleted; --really does it"
    note(f"{count(len(gone), 'session')} {done}", DIM)

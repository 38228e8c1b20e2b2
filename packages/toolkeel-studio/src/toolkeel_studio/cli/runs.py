"""``toolkeel runs``: the durable runs of a database, from any machine that reaches it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import SetupError
from toolkeel.observe.wording import count, pretty, visible_line
from toolkeel.sessions import Sessions
from toolkeel.sessions.errors import SessionError, SessionUnavailable
from toolkeel.sessions.stores.postgres import is_postgres
from toolkeel.sessions.stores.sqlite import checked_path
from toolkeel_studio.cli.commands.sessions import write_lines
from toolkeel_studio.cli.decision_options import (
    Answered,
    Approved,
    Denied,
    Reason,
    check_decisions,
    read_decisions,
)
from toolkeel_studio.cli.exit_codes import FAILED, OPTIONS, UsageProblem
from toolkeel_studio.cli.suspended_run import show_tickets
from toolkeel_studio.cli.terminal.streams import DIM, YELLOW, echo, note

if TYPE_CHECKING:
    from toolkeel_studio.durable.runs import DurableRun, Runs
    from toolkeel_studio.durable.schedules import Schedule

app = typer.Typer(help="List, decide, cancel, retry and delete durable runs.", **OPTIONS)
Database = Annotated[
    str,
    typer.Option(
        "--database",
        "-d",
        metavar="PLACE",
        envvar="TOOLKEEL_DATABASE",
        help="Where runs and sessions are: FILE or postgresql://...",
    ),
]
InSessions = Annotated[
    str, typer.Option("--sessions", metavar="PLACE", help="Where the sessions are, if elsewhere.")
]
Id = Annotated[str, typer.Argument(metavar="ID", help="Of the run.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Scope = Annotated[str | None, typer.Option(metavar="SCOPE", help="Only those of this scope.")]


@contextmanager
def _opened(database: str, sessions: str) -> Iterator[Runs]:
    """Open the runs, and close them at the end; nothing is made where nothing is."""
    if not database:
        raise UsageProblem("say where the runs are: --database FILE, or postgresql://...")
    with needs_extra("toolkeel runs", "dbos"):
        from toolkeel_studio.durable.runs import Runs
    if not is_postgres(checked_path(database, "--database")):
        runs_file = database if sessions else f"{database}.runs"
        for path in (runs_file, checked_path(sessions, "--sessions") or database):
            if not is_postgres(path) and not Path(path).is_file():
                raise UsageProblem(f"--database: there is no file {path}")
        if not is_postgres(runs_file):
            check_runs_file(runs_file, "--database")
    opened = Runs(Sessions(sessions or database), database if sessions else None)
    try:
        yield opened
    finally:
        opened.close()


def check_runs_file(path: str, option: str) -> None:
    """Refuse a file of an option that has no durable runs; nothing is written to it.

    Raises:
        UsageProblem: it is another program's, or no database.
    """
    from toolkeel_studio.durable.engine import has_tables

    try:
        has_runs = has_tables(path)
    except SessionUnavailable:
        raise
    except SessionError as error:
        raise UsageProblem(f"{option}: {error}") from None
    if not has_runs:
        raise UsageProblem(f"{option}: no durable runs are in {path}")


@app.command("list")
def list_command(
    *,
    database: Database = "",
    sessions: InSessions = "",
    status: Annotated[
        str | None,
        typer.Option(metavar="STATUS", help="Only those queued, active, waiting, failed, ..."),
    ] = None,
    scope: Scope = None,
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only those of one session.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="At most so many.")] = 100,
    as_json: AsJson = False,
) -> None:
    """List them, the latest first."""
    with _opened(database, sessions) as runs:
        _check_status(status)
        found = runs.list(session=session, scope=scope, status=status, limit=limit)
        if as_json:
            echo(pretty([asdict(run) for run in found]))
            return
        for run in found:
            echo(_line(run))
        if not found:
            note("no run", YELLOW)


def _check_status(status: str | None) -> None:
    from toolkeel_studio.durable.orders import STATUSES

    if status not in (None, *STATUSES):
        raise UsageProblem(f"--status {status}: write one of {', '.join(STATUSES)}")


def _line(run: DurableRun) -> str:
    when = datetime.fromtimestamp(run.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    words = (run.id, when, run.status, run.queue, _place(run), run.error or run.prompt or "")
    return "  ".join(visible_line(word) for word in words if word)


def _place(found: DurableRun | Schedule) -> str:
    return f"{found.scope}/{found.session}" if found.scope else found.session


@app.command("show")
def show_command(
    id: Id, database: Database = "", sessions: InSessions = "", as_json: AsJson = False
) -> None:
    """Show one, and what waits for a decision."""
    with _opened(database, sessions) as runs:
        run = runs.show(id)
        if as_json:
            echo(pretty(asdict(run)))
            return
        for name, value in asdict(run).items():
            if name in ("created", "updated"):
                value = datetime.fromtimestamp(float(value), UTC).isoformat(timespec="seconds")
            echo(f"{name:9} {visible_line(str(value))}")
        if run.status == "waiting":
            show_tickets(runs.sessions.open(run.session, run.scope).pending)


@app.command("cancel")
def cancel_command(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Of the runs.")],
    reason: Annotated[str, typer.Option(metavar="TEXT", help="Why.")] = "",
    database: Database = "",
    sessions: InSessions = "",
) -> None:
    """Cancel runs that are queued, active or waiting; the exit code is 1 if one had ended."""
    with _opened(database, sessions) as runs:
        for id in ids:
            runs.show(id)  # raises if there is no such run
        statuses = set[str]()
        for id in ids:
            runs.cancel(id, reason)
            run = runs.show(id)
            echo(_line(run))
            statuses.add(run.status)
    if statuses != {"cancelled"}:
        note("not all were cancelled: a run that has ended stays as it is", YELLOW)
        raise typer.Exit(FAILED)


@app.command("retry")
def retry_command(
    ids: Annotated[list[str], typer.Argument(metavar="ID...", help="Of the runs.")],
    database: Database = "",
    sessions: InSessions = "",
) -> None:
    """Put failed runs into the queue again, or those whose question has expired; print their new ids."""
    with _opened(database, sessions) as runs:
        for id in ids:
            echo(runs.retry(id))


@app.command("decide")
def decide_command(
    id: Id,
    *,
    approve: Approved = None,
    deny: Denied = None,
    reason: Reason = "",
    answer: Answered = None,
    database: Database = "",
    sessions: InSessions = "",
) -> None:
    """Decide calls of a waiting run, put it into the queue, and print the id of the resumed run.

    The first decision counts: the exit code is 1 if another one was made before.
    """
    with _opened(database, sessions) as runs:
        run = runs.show(id)
        waiting = runs.sessions.open(run.session, run.scope).pending
        if not waiting:
            over = (
                "what it waited for is decided"
                if run.status == "waiting"
                else f"it is {run.status}"
            )
            raise SetupError(f"no call of the run {id!r} waits: {over}")
        made = read_decisions(waiting, approve, deny, reason, answer)
        expired = {ticket.id for ticket in waiting if ticket.expired}
        if any(decision.ticket in expired for decision in made):
            raise SetupError(
                f"a question has expired; ask it anew: {_retry_command(id, database, sessions)}"
            )
        decisions = check_decisions(waiting, made)
        lost = False
        for decision in decisions:
            echo(runs.decide(run.session, decision, scope=run.scope))
            first = runs.sessions.open(run.session, run.scope).find_decision(decision.ticket)
            if first is not None and first.decision != decision:
                note(
                    f"decided already by {first.who or 'another person'}: {first.decision.verdict}",
                    YELLOW,
                )
                lost = True
    if lost:
        raise typer.Exit(FAILED)


def _retry_command(id: str, database: str, sessions: str) -> str:
    """Return the command that retries a run; addresses may have passwords, so they are left out."""
    words = ["toolkeel", "runs", "retry", id]
    for option, place in (("--database", database), ("--sessions", sessions)):
        if place:
            words += [option, "postgresql://..." if is_postgres(place) else place]
    return shlex.join(words)


@app.command("schedules")
def schedules_command(
    remove: Annotated[
        list[str] | None, typer.Option("--remove", metavar="NAME", help="Remove this one.")
    ] = None,
    scope: Scope = None,
    database: Database = "",
    sessions: InSessions = "",
    as_json: AsJson = False,
) -> None:
    """List the schedules by name, those that are left after `--remove`."""
    with _opened(database, sessions) as runs:
        names = {each.name for each in runs.schedules(scope=scope)}
        if unknown := [name for name in remove or () if name not in names]:
            raise SetupError(f"there is no schedule {unknown[0]!r}")
        for name in remove or ():
            runs.unschedule(name)
        found = runs.schedules(scope=scope)
    if as_json:
        echo(pretty([asdict(each) for each in found]))
        return
    for each in found:
        words = (each.name, each.cron, each.queue, _place(each), each.prompt)
        echo("  ".join(visible_line(word) for word in words if word))
    if not found:
        note("no schedule", YELLOW)


@app.command("export")
def export_command(
    id: Id,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Where to; else stdout.")
    ] = None,
    database: Database = "",
    sessions: InSessions = "",
) -> None:
    """Write the session of a run as JSON lines, which `sessions import` reads."""
    with _opened(database, sessions) as runs:
        run = runs.show(id)
        write_lines(runs.sessions.export(run.session, run.scope), output)


@app.command("prune")
def prune_command(
    days: Annotated[float, typer.Argument(metavar="DAYS", min=0, help="Ended so long ago.")],
    really: Annotated[bool, typer.Option("--really", help="Delete them; else only list.")] = False,
    waiting: Annotated[
        bool, typer.Option("--waiting", help="Also those that wait for a person.")
    ] = False,
    scope: Scope = None,
    database: Database = "",
    sessions: InSessions = "",
) -> None:
    """Delete runs with their prompts and results; sessions stay. Without --really, only list them."""
    with _opened(database, sessions) as runs:
        gone = runs.prune(days, scope=scope, waiting=waiting, dry=not really)
    for run in gone:
        echo(_line(run))
    done = "deleted" if really else "would be deleted; --really does it"
    note(f"{count(len(gone), 'run')} {done}", DIM)


@app.command("delete")
def delete_command(
    scope: Annotated[str, typer.Argument(metavar="SCOPE", help="Whose; '' for no scope.")],
    session: Annotated[
        str | None, typer.Option(metavar="NAME", help="One session; all by default.")
    ] = None,
    really: Annotated[bool, typer.Option("--really", help="Delete; else only list.")] = False,
    database: Database = "",
    sessions: InSessions = "",
) -> None:
    """Delete the sessions of a scope, their runs and schedules. Without --really, only list them."""
    with _opened(database, sessions) as runs:
        names = [i.name for i in runs.sessions.list(scope) if session in (None, i.name)]
        for name in names:
            echo(visible_line(name))
        if really:
            runs.delete(session, scope=scope)
    done = "deleted" if really else "would be deleted; --really does it"
    note(f"{count(len(names), 'session')} {done}", DIM)

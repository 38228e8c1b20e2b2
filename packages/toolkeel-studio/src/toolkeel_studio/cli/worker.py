"""``toolkeel worker``: run the queue of a durable agent until a signal ends it."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable
from time import sleep
from typing import TYPE_CHECKING, Annotated, Final

import typer

from toolkeel._common.needs_extra import needs_extra
from toolkeel.agent.agent import Agent
from toolkeel.builtin.tools_by_place import load_object
from toolkeel.errors import SetupError
from toolkeel.sessions.errors import SessionUnavailable
from toolkeel.sessions.sessions import Sessions
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.terminal.streams import stdout_kept_clean

if TYPE_CHECKING:
    from toolkeel_studio.durable.durable import Durable

LogForm = Annotated[str, typer.Option(metavar="FORMAT", help="Lines on stderr: text, or json.")]
MOST_PAUSE: Final = 15.0
"""Seconds between two attempts to reach the database, at most."""


def command(
    target: Annotated[
        str, typer.Argument(metavar="TARGET", help="file.py:name of an Agent, or of a Durable.")
    ],
    *,
    database: Annotated[
        str,
        typer.Option(metavar="PLACE", help="Where runs and sessions are: FILE or postgresql://"),
    ] = "",
    sessions: Annotated[
        str, typer.Option(metavar="PLACE", help="Where the sessions are, if elsewhere.")
    ] = "",
    id: Annotated[
        str,
        typer.Option("--id", metavar="NAME", help="Its name; the same when it is started again."),
    ] = "",
    adopt: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Take over from a worker that will not come back."),
    ] = None,
    drain: Annotated[
        float, typer.Option(metavar="SECONDS", min=0, help="Wait for runs when told to end.")
    ] = 30.0,
    health: Annotated[
        str, typer.Option(metavar="PLACE", help="/healthz at HOST:PORT, or its text in a file.")
    ] = "",
    metrics: Annotated[
        str, typer.Option(metavar="PLACE", help="/metrics at HOST:PORT, or its text in a file.")
    ] = "",
    log: LogForm = "text",
) -> None:
    """Run what is in the queue of a durable agent.

    Ends on TERM and Ctrl-C: it takes no more, and waits for the runs that go on. What has not ended
    by then is put back, and another worker goes on with it.
    """
    if log not in ("text", "json"):
        raise UsageProblem(f"--log {log}: write text or json")
    lines = _write_log(log)
    with stdout_kept_clean():
        durable = _wait_for_database(
            lambda: _durable(load_object(target), target, database, sessions), lines
        )
    lines.info("runs of %r; Ctrl-C ends", durable.agent.name)
    if not durable.work(id, adopt=adopt or (), drain=drain, health=health, metrics=metrics):
        sys.stdout.flush()
        os._exit(0)  # as if it were killed: what goes on is in the journal
    durable.close()


def _write_log(form: str) -> logging.Logger:
    """Write logs to stderr. Return the log of the worker."""
    with needs_extra("toolkeel worker", "dbos"):
        from toolkeel_studio.durable.worker_log import LOGGER, write_to_stderr

    write_to_stderr("json" if form == "json" else "text")
    return LOGGER


def _wait_for_database(make: Callable[[], Durable], lines: logging.Logger) -> Durable:
    """Call `make` until the database answers, and log each time it does not."""
    pause = 1.0
    while True:
        try:
            return make()
        except SetupError as error:
            if (away := _unavailable(error)) is None:
                raise
            text = " ".join(str(away).split())
            lines.warning("%s; tried again in %.0f s", text, pause)
        sleep(pause)
        pause = min(MOST_PAUSE, pause * 2)


def _unavailable(error: BaseException | None) -> SessionUnavailable | None:
    """Return the error of a database that cannot be reached, if one has caused another error."""
    while error is not None and not isinstance(error, SessionUnavailable):
        error = error.__cause__ or error.__context__
    return error


def _durable(value: object, target: str, database: str, sessions: str) -> Durable:
    with needs_extra("toolkeel worker", "dbos"):
        from toolkeel_studio.durable.durable import Durable

    if isinstance(value, Durable):
        if database or sessions:
            raise UsageProblem(f"{target} says itself where its runs and sessions are")
        return value
    if not isinstance(value, Agent):
        raise UsageProblem(f"{target} is a {type(value).__name__}, not an Agent or a Durable")
    if not database:
        raise UsageProblem("say where the runs are: --database FILE, or postgresql://...")
    return Durable(value, Sessions(sessions or database), database if sessions else None)

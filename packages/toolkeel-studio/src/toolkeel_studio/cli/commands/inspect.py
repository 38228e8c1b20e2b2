"""``toolkeel inspect``: the inspector, a page on this machine to try tools, watch and approve."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolkeel._common.needs_extra import needs_extra
from toolkeel.builtin.tools_by_place import ALL_TARGET
from toolkeel.errors import MissingExtraError
from toolkeel.sessions import ApprovalQueue, KeyValueStore, Sessions
from toolkeel.sessions.stores.postgres import is_postgres
from toolkeel.sessions.stores.sqlite import checked_path
from toolkeel_studio.cli.commands.approvals import Store
from toolkeel_studio.cli.commands.launch import OFFLINE, Instructions, Launch, ModelName, RulesFile
from toolkeel_studio.cli.commands.serve import TOKEN_VARIABLE
from toolkeel_studio.cli.commands.sessions import File
from toolkeel_studio.cli.commands.stats import EventFiles
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.runs import check_runs_file
from toolkeel_studio.cli.terminal.streams import DIM, YELLOW, echo, note, stdout_kept_clean

if TYPE_CHECKING:
    from toolkeel_studio.durable.runs import Runs as DurableRuns

Audit = Annotated[
    Path | None,
    typer.Option("--audit", metavar="FILE", help="A gateway's log, to show its last calls."),
]
RunsPlace = Annotated[
    str, typer.Option("--runs", metavar="PLACE", help="Where durable runs are, if elsewhere.")
]
Token = Annotated[
    str,
    typer.Option(
        metavar="TEXT",
        envvar=TOKEN_VARIABLE,
        help="The token; with it and --port, open pages survive a restart. Random by default.",
        show_default=False,
    ),
]


def command(
    targets: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TARGET]...", help="Where the tools are; builtin by default."),
    ] = None,
    *,
    model: ModelName = OFFLINE,
    instructions: Instructions = "",
    rules: RulesFile = None,
    file: File = None,
    audit: Audit = None,
    events: EventFiles = None,
    store: Store = "",
    runs: RunsPlace = "",
    port: Annotated[
        int, typer.Option(metavar="N", min=0, max=65535, help="Where to listen; any by default.")
    ] = 0,
    token: Token = "",
) -> None:
    """Open a page to try tools, watch runs, approve and compare.

    It listens on 127.0.0.1 alone, and asks for a token. The address that is printed brings one that
    is good once; the token itself, for other browsers and for curl, is printed below it.
    """
    with needs_extra("toolkeel inspect", "inspect"):
        from toolkeel_studio.inspector.app import Inspector
    chosen = tuple(targets or (ALL_TARGET,))
    with stdout_kept_clean():
        agent = Launch(chosen, model, instructions, rules=rules).agent()
    desk = ApprovalQueue(KeyValueStore(store)) if store else None
    sessions = Sessions(file)
    page = Inspector(
        agent,
        sessions,
        target=chosen[0],
        port=port,
        token=token,
        audit=audit,
        desk=desk,
        events=events or (),
        find_durable=durable_finder(sessions, runs),
    )

    def ready() -> None:
        echo(page.url)
        note(f"token: {page.token}", DIM)
        note(f"model: {agent.model.name}; Ctrl-C ends it", DIM)

    asyncio.run(page.serve(ready))


def durable_finder(sessions: Sessions, place: str) -> Callable[[], DurableRuns | None] | None:
    """Return what opens the durable runs of sessions, once there are some.

    Args:
        sessions: The sessions.
        place: Where the runs are, a file or an address; beside the sessions if empty.

    Returns:
        None without the extra; a note says so if runs may be there.

    Raises:
        UsageProblem: `place` is a file that does not exist, or without durable runs.
    """
    is_file = place and not is_postgres(checked_path(place, "--runs"))
    if is_file and not Path(place).is_file():
        raise UsageProblem(f"--runs: there is no file {place}")
    beside = sessions.path if is_postgres(sessions.path) else f"{sessions.path}.runs"
    runs = place or beside
    if find_spec("dbos") is not None:
        if is_file:
            check_runs_file(place, "--runs")
        return partial(_find_durable, sessions, runs)
    if is_postgres(runs) or Path(runs).is_file():
        missing = MissingExtraError("Durable runs", "dbos")
        note(f"without the page of durable runs: {missing}", YELLOW)
    return None


def _find_durable(sessions: Sessions, runs: str) -> DurableRuns | None:
    """Open the durable runs; return None if there are none.

    Raises:
        ToolkeelError: the database cannot be used.
    """
    if not is_postgres(runs) and not Path(runs).is_file():
        return None  # before DBOS is imported
    from toolkeel_studio.durable.engine import has_tables
    from toolkeel_studio.durable.runs import Runs as DurableRuns

    return DurableRuns(sessions, runs) if has_tables(runs) else None

"""``toolkeel inspect``: the inspector, a page on this machine to try tools, watch and approve."""

from __future__ import annotations

import asyncio
from contextlib import closing, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from toolkeel._common.needs_extra import needs_extra
from toolkeel.builtin.tools_by_place import ALL_TARGET
from toolkeel.errors import MissingExtraError
from toolkeel.sessions import ApprovalQueue, KeyValueStore, Sessions
from toolkeel.sessions.stores.postgres import is_postgres
from toolkeel_studio.cli.commands.approvals import Store
from toolkeel_studio.cli.commands.launch import OFFLINE, Instructions, Launch, ModelName, RulesFile
from toolkeel_studio.cli.commands.serve import TOKEN_VARIABLE
from toolkeel_studio.cli.commands.sessions import File
from toolkeel_studio.cli.commands.stats import EventFiles
from toolkeel_studio.cli.terminal.streams import DIM, YELLOW, echo, note, stdout_kept_clean

if TYPE_CHECKING:
    from toolkeel_studio.durable.runs import Runs as DurableRuns

Audit = Annotated[
    Path | None,
    typer.Option("--audit", metavar="FILE", help="A gateway's log, to show its last calls."),
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
    durable = open_durable(sessions)
    page = Inspector(
        agent,
        sessions,
        target=chosen[0],
        port=port,
        token=token,
        audit=audit,
        desk=desk,
        events=events or (),
        durable=durable,
    )

    def ready() -> None:
        echo(page.url)
        note(f"token: {page.token}", DIM)
        note(f"model: {agent.model.name}; Ctrl-C ends it", DIM)

    with nullcontext() if durable is None else closing(durable):
        asyncio.run(page.serve(ready))


def open_durable(sessions: Sessions) -> DurableRuns | None:
    """Open the durable runs beside sessions; None if there are none, or, with a note, without the extra.

    Raises:
        SetupError: The database cannot be used.
    """
    beside = is_postgres(sessions.path) or Path(f"{sessions.path}.runs").is_file()
    if not beside:
        return None
    try:
        from toolkeel_studio.durable.engine import has_tables
        from toolkeel_studio.durable.runs import Runs as DurableRuns
    except MissingExtraError as error:
        note(f"without the page of durable runs: {error}", YELLOW)
        return None
    if is_postgres(sessions.path) and not has_tables(sessions.path):
        return None
    return DurableRuns(sessions)

"""``toolkeel approvals``: calls of a saved run that wait for approval, or the runs that wait."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from pathlib import Path
from time import time
from typing import Annotated

import typer

from toolkeel._common.data_folder import state_folder
from toolkeel._records.tickets import Decision, Ticket
from toolkeel.errors import SetupError
from toolkeel.observe.wording import (
    count,
    describe_call,
    duration,
    pretty,
    visible_json,
    visible_line,
)
from toolkeel.sessions.approval_queue import LOOK, ApprovalQueue
from toolkeel.sessions.tool_memory import KeyValueStore
from toolkeel_studio.cli.suspended_run import Saved, format_heading, load
from toolkeel_studio.cli.terminal.approve import TerminalApprover, can_ask
from toolkeel_studio.cli.terminal.streams import DIM, RED, YELLOW, echo, note

Store = Annotated[
    str,
    typer.Option(
        "--store",
        metavar="FILE|URL",
        help="Where calls of other programs wait: SQLite, PostgreSQL.",
    ),
]


def command(
    state: Annotated[
        Path | None,
        typer.Argument(metavar="[STATE]", help="A saved run; without it, saved runs are listed."),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print them as JSON.")] = False,
    store: Store = "",
) -> None:
    """List the calls that wait for approval, each whole.

    `toolkeel resume` decides about them. With --store, those at a desk, such as the calls of
    `toolkeel gateway --store`: in a terminal they are asked about as they come.
    """
    if store:
        _at_desk(ApprovalQueue(KeyValueStore(store)), as_json)
        return
    if state is None:
        _list_runs(as_json)
        return
    saved = load(state)
    if as_json:
        echo(pretty([_data(ticket, saved) for ticket in saved.state.pending]))
        return
    for ticket in saved.state.pending:
        echo("\n".join([format_heading(ticket), *_details(ticket, saved)]))
    if not saved.state.pending:
        note("nothing waits in this run", DIM)


def _list_runs(as_json: bool) -> None:
    folder = state_folder() / "runs"
    paths = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime)
    if as_json:
        echo(pretty([str(path) for path in paths]))
        return
    for path in paths:
        try:
            waiting = load(path).undecided
        except SetupError as error:  # one bad file does not hide the others
            note(str(error), RED)
            continue
        names = ", ".join(visible_line(ticket.tool) for ticket in waiting)
        echo(f"{path}  {count(len(waiting), 'call')} to decide{': ' if names else ''}{names}")
    if not paths:
        note(f"no saved run in {folder}", YELLOW)


def _at_desk(desk: ApprovalQueue, as_json: bool) -> None:
    if can_ask() and not as_json:
        asyncio.run(_decide(desk))
        return
    if as_json:
        echo(pretty([ticket.to_dict() for ticket in desk.waiting()]))
        return
    for ticket in desk.waiting():
        echo("\n".join([format_heading(ticket), *describe_call(ticket)]))


async def _decide(desk: ApprovalQueue) -> None:
    """Ask about each call as it comes, until the person has enough (the key q, Ctrl-C)."""
    enough: list[str] = []
    ask = TerminalApprover(enough.append, nullcontext, lambda _, arguments: arguments)
    note("calls are shown as they come; Ctrl-C ends this", DIM)
    while not enough:
        for ticket in desk.waiting()[:1]:
            asking = asyncio.ensure_future(ask(ticket))
            while not asking.done() and ticket in desk.waiting():
                await asyncio.wait([asking], timeout=LOOK)
            asking.cancel()
            await asyncio.wait([asking])
            if not enough:
                _report_decision(desk, ticket, None if asking.cancelled() else asking.result())
        await asyncio.sleep(LOOK)


def _report_decision(desk: ApprovalQueue, ticket: Ticket, decision: Decision | None) -> None:
    """Report a decision; whoever decides second sees the first decision."""
    try:
        first = desk.decide(decision or ticket.deny(), "terminal")
    except SetupError as error:
        note(f"\n{error}", YELLOW)
    else:
        if first is not None:
            note(f"\ndecided already by {first.who}: {first.decision.verdict}", YELLOW)


def _details(ticket: Ticket, saved: Saved) -> list[str]:
    decision = saved.decisions.get(ticket.id)
    left = ticket.expires - time()
    lines = describe_call(ticket)
    lines.append(f"expires in {duration(left)}" if left > 0 else "expired; it will be asked anew")
    if decision is not None:
        lines.append(f"decided: {decision.verdict} {decision.reason}".rstrip())
        if decision.verdict == "edit":
            lines.append(visible_json(dict(decision.arguments)))
    return lines


def _data(ticket: Ticket, saved: Saved) -> dict[str, object]:
    decision = saved.decisions.get(ticket.id)
    return {**ticket.to_dict(), "decided": decision.verdict if decision else None}

"""``toolkeel gateway``: many MCP servers behind one, for any host."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolkeel._records.needs_extra import needs_extra
from toolkeel.cli.commands.serve import (
    Drain,
    Hosts,
    NoToken,
    Token,
    address,
    endpoint,
    ends_well,
    token_of,
    until_stopped,
)
from toolkeel.cli.terminal.streams import DIM, YELLOW, note, stdout_kept_clean
from toolkeel.errors import SetupError
from toolkeel.mcp.config import ServerConfig, read_config
from toolkeel.mcp.consent import check_consent
from toolkeel.mcp.consent_files import home
from toolkeel.mcp.gateway.policy import SEARCH_ABOVE, Policy, read_policy
from toolkeel.mcp.pins import Pins
from toolkeel.observe.wording import count, visible_line
from toolkeel.sessions import Desk, KeyValueStore

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from toolkeel.mcp.gateway.gateway import Gateway

File = Annotated[Path, typer.Argument(metavar="mcp.json", help="Where the servers are.")]


RulesFile = Annotated[
    Path | None,
    typer.Option("--rules", metavar="FILE.toml", help="Who may call what, and how often."),
]
AuditLog = Annotated[
    Path | None, typer.Option("--audit", metavar="FILE", help="Write down each call: JSONL.")
]
Store = Annotated[
    str,
    typer.Option(
        metavar="FILE|URL",
        help="SQLite file or postgresql://: calls wait there for a person, and limits count there.",
    ),
]


def command(
    file: File,
    *,
    rules: RulesFile = None,
    http: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Speak HTTP here instead of stdio.")
    ] = "",
    audit: AuditLog = None,
    token: Token = "",
    no_token: NoToken = False,
    no_prefix: Annotated[
        bool, typer.Option("--no-prefix", help="One server: keep its names as they are.")
    ] = False,
    search_above: Annotated[
        int, typer.Option(metavar="N", help="Tools beyond which they are searched for.")
    ] = SEARCH_ABOVE,
    store: Store = "",
    allowed_host: Hosts = None,
    drain: Drain = 30,
) -> None:
    """Many MCP servers behind one, with rules.

    Serves all servers of mcp.json as one server of the Model Context Protocol. Names are SERVER__TOOL. The file is read again when it changes; clients stay connected.
    """
    with needs_extra("toolkeel gateway", "mcp"):
        from toolkeel.mcp.server.http import serve_app
        from toolkeel.mcp.server.stdio import serve_stdio, take_stdout
    if not http:
        take_stdout()
    with stdout_kept_clean():
        policy = read_policy(rules) if rules is not None else Policy()
        gateway = _gateway(
            file, policy, audit, store, prefixed=not no_prefix, threshold=search_above
        )
    if http:
        if not policy.has_clients:
            token = token_of(token, no_token)
        app = _app(gateway, policy, address(http), token, allowed_host)
        ends_well()
        asyncio.run(_following(gateway, file, serve_app(app, *address(http), drain)))
        return
    if sys.stdin.isatty():
        note("the gateway speaks on stdin and stdout, for a program that starts it", DIM)
    until_stopped(lambda: _following(gateway, file, serve_stdio(gateway)))


def _gateway(file: Path, policy: Policy, audit: Path | None, store: str, **options: Any) -> Gateway:
    from toolkeel.mcp.gateway.audit import AuditFile
    from toolkeel.mcp.gateway.gateway import Gateway

    written = AuditFile(audit) if audit is not None else None
    pins = Pins(home() / "pins.json")
    servers = _servers(file).values()
    if store:
        shared = KeyValueStore(store)
        options |= {"shared": shared, "approver": Desk(shared)}
    return Gateway(servers, policy, pins, written, **options)


def _servers(file: Path) -> Mapping[str, ServerConfig]:
    """The servers of a file that somebody has agreed to; the others are named.

    Raises:
        SetupError: the file cannot be read, or nobody has agreed to any.
    """
    agreed = {}
    for name, config in read_config(file).items():
        try:
            check_consent(config)
        except SetupError as error:
            note(visible_line(str(error).replace("\n", " ")), YELLOW)
        else:
            agreed[name] = config
    if not agreed:
        raise SetupError(f"{file} names no server that somebody has agreed to")
    note(f"{count(len(agreed), 'server')}: {', '.join(agreed)}", DIM)
    return agreed


def _app(
    gateway: Gateway,
    policy: Policy,
    place: tuple[str, int],
    token: str,
    allowed_host: list[str] | None,
) -> Starlette:
    from toolkeel.mcp.gateway.http import gateway_app

    host, port = place
    app = gateway_app(gateway, policy, host=host, token=token, allowed_hosts=allowed_host or ())
    note(f"the gateway is at {endpoint(host, port)}", DIM)
    return app


async def _following(gateway: Gateway, file: Path, serving: object) -> None:
    """Serve, and read the file again when it changes."""
    from toolkeel.mcp.gateway.reload import follow

    following = asyncio.create_task(follow(gateway, file, lambda: _servers(file)))
    try:
        await serving  # type: ignore[misc]
    finally:
        following.cancel()
        await asyncio.wait([following])

"""``toolkeel gateway``: many MCP servers behind one, for any host."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolkeel._common.needs_extra import needs_extra
from toolkeel.errors import SetupError
from toolkeel.mcp.config import ServerConfig, read_config
from toolkeel.mcp.consent import check_consent
from toolkeel.mcp.pins import Pins
from toolkeel.mcp.state_files import mcp_state_folder
from toolkeel.observe.wording import count, visible_line
from toolkeel.sessions import ApprovalQueue, KeyValueStore
from toolkeel_studio.cli.commands.serve import (
    Drain,
    Hosts,
    Http,
    NoToken,
    Token,
    ToolMetrics,
    Workers,
    address,
    choose_token,
    count_by_tool,
    endpoint,
    serve_app_at,
    until_stopped,
)
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.terminal.streams import DIM, YELLOW, note, stdout_kept_clean
from toolkeel_studio.gateway.policy import SEARCH_ABOVE, Policy, read_policy

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from toolkeel_studio.gateway.gateway import Gateway

File = Annotated[Path, typer.Argument(metavar="mcp.json|status", help="Where the servers are.")]


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
    http: Http = "",
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
    workers: Workers = 1,
    tool_metrics: ToolMetrics = False,
) -> None:
    """Many MCP servers behind one, with rules.

    Serves all servers of mcp.json as one server of the Model Context Protocol. Names are SERVER__TOOL. Both files are read again when they change; clients stay connected. The word "status" instead of a file shows what the running gateways say of their servers, clients and rules.
    """
    with needs_extra("toolkeel gateway", "mcp"):
        from toolkeel.mcp.server.stdio import claim_stdout, serve_stdio
    if str(file) == "status" and not file.exists():
        _show_status()
        return
    count_by_tool(tool_metrics)
    if not http:
        claim_stdout()
    options = {"prefixed": not no_prefix, "threshold": search_above}
    make = partial(_gateway, file, rules, audit, store, **options)
    with stdout_kept_clean():
        gateway = make()
    if workers > 1 and gateway.policy.has_taint and not store:
        raise UsageProblem("[limits], [taint] and [cache] of --workers are kept in a --store")
    if not http:
        if sys.stdin.isatty():
            note("the gateway speaks on stdin and stdout, for a program that starts it", DIM)
        until_stopped(lambda: serve_stdio(gateway))
        return
    _serve_http(make, gateway, address(http), (token, no_token), allowed_host, (drain, workers))


def _show_status() -> None:
    """Print the state of the running gateways of this user."""
    from toolkeel_studio.gateway.status_files import running_gateways, status_lines

    running = running_gateways()
    for each in running:
        first, *others = map(visible_line, status_lines(each))
        typer.echo("\n  ".join([first, *others]))
    if not running:
        note("no gateway is running here", DIM)


def _serve_http(
    make: Callable[[], Gateway],
    gateway: Gateway,
    place: tuple[str, int],
    tokens: tuple[str, bool],
    hosts: list[str] | None,
    bounds: tuple[int, int],
) -> None:
    """Serve over HTTP, with the tokens of the rules or with one."""
    token = tokens[0] if gateway.policy.has_clients else choose_token(*tokens)
    app = _app(gateway, place[0], token, hosts)
    note(f"the gateway is at {endpoint(*place)}", DIM)
    serve_app_at(app, partial(_worker, make, place[0], token, hosts), place, bounds)


def _gateway(
    file: Path, rules: Path | None, audit: Path | None, store: str, **options: Any
) -> Gateway:
    """Create the gateway of these files. It reloads them when they change."""
    from toolkeel_studio.gateway.audit import AuditFile
    from toolkeel_studio.gateway.gateway import Gateway
    from toolkeel_studio.gateway.reload import watch_file
    from toolkeel_studio.gateway.status import gateway_status
    from toolkeel_studio.gateway.status_files import publish_status

    policy = read_policy(rules) if rules is not None else Policy()
    written = AuditFile(audit) if audit is not None else None
    if store:
        shared = KeyValueStore(store)
        options |= {"shared": shared, "approver": ApprovalQueue(shared)}
    pins = Pins(mcp_state_folder() / "pins.json")
    gateway = Gateway(_servers(file).values(), policy, pins, written, **options)

    async def replace() -> None:
        await gateway.set_servers(await asyncio.to_thread(_servers, file))

    async def obey(rules: Path) -> None:
        await gateway.set_policy(await asyncio.to_thread(read_policy, rules))

    gateway.background.append(partial(watch_file, file, replace))
    gateway.background.append(
        partial(publish_status, partial(gateway_status, gateway), file.resolve())
    )
    if rules is not None:
        gateway.background.append(partial(watch_file, rules, partial(obey, rules)))
    return gateway


def _app(
    gateway: Gateway, host: str, token: str, hosts: list[str] | None, **options: Any
) -> Starlette:
    from toolkeel_studio.gateway.http import gateway_app

    known = hosts or ()
    return gateway_app(
        gateway, gateway.policy, host=host, token=token, allowed_hosts=known, **options
    )


def _worker(
    make: Callable[[], Gateway], host: str, token: str, hosts: list[str] | None
) -> Starlette:
    """Create what a worker serves. Each request of an older client may reach another worker."""
    from toolkeel.mcp.server.http import with_graceful_shutdown
    from toolkeel_studio.cli.http_workers import end_with_parent

    end_with_parent()
    with stdout_kept_clean():
        gateway = make()
    return with_graceful_shutdown(_app(gateway, host, token, hosts, stateless_http=True))


def _servers(file: Path) -> Mapping[str, ServerConfig]:
    """Read the servers of a file that a person consented to; name the others on stderr.

    Raises:
        SetupError: the file cannot be read, or no server has consent.
    """
    agreed = {}
    for name, config in read_config(file).items():
        try:
            bound = check_consent(config)
        except SetupError as error:
            note(visible_line(str(error).replace("\n", " ")), YELLOW)
        else:
            agreed[name] = bound
    if not agreed:
        raise SetupError(
            f"{file} names no server that somebody has agreed to; started in a terminal, "
            f"toolkeel gateway {file} asks about each"
        )
    note(f"{count(len(agreed), 'server')}: {', '.join(agreed)}", DIM)
    return agreed

"""``toolkeel serve``: tools for programs that speak MCP; with ``--as``, an agent for front ends."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from toolkeel._common.needs_extra import needs_extra
from toolkeel.builtin.tools_by_place import load_target, resolve_module
from toolkeel.builtin.tools_in_module import list_public
from toolkeel.call.steps.rules import Rules
from toolkeel.call.toolset import Toolset
from toolkeel.errors import SetupError
from toolkeel.observe.wording import count
from toolkeel_studio.cli.exit_codes import UsageProblem
from toolkeel_studio.cli.terminal.streams import DIM, YELLOW, note, stdout_kept_clean

if TYPE_CHECKING:
    from starlette.applications import Starlette

    from toolkeel.mcp.server.tool_server import ToolServer

TOKEN_VARIABLE = "TOOLKEEL_TOKEN"
DEFAULT_ADDRESS = "127.0.0.1:8000"
"""Where front ends are served without ``--http``."""
_ServeOptions: TypeAlias = tuple[str, str, str, Path | None]
"""What is served: target, name, instructions and rules."""


Target = Annotated[str, typer.Argument(metavar="TARGET", help="Where the tools are.")]
RulesFile = Annotated[
    Path | None,
    typer.Option(
        "--rules", metavar="FILE.toml", help="Which calls are denied, asked about and allowed."
    ),
]
Http = Annotated[
    str, typer.Option(metavar="HOST:PORT", help="Speak HTTP here instead: 127.0.0.1:8000.")
]
Token = Annotated[
    str,
    typer.Option(metavar="TEXT", envvar=TOKEN_VARIABLE, help="HTTP: ask for this bearer token."),
]
NoToken = Annotated[bool, typer.Option("--no-token", help="HTTP on this machine: ask for none.")]
Hosts = Annotated[
    list[str] | None,
    typer.Option(metavar="HOST", help="HTTP: answer to this name, too; may be repeated."),
]
Workers = Annotated[
    int, typer.Option(metavar="N", min=1, help="HTTP: processes that share the address.")
]
Drain = Annotated[
    int, typer.Option(metavar="SECONDS", min=0, help="HTTP: wait for calls when told to end.")
]
Stdio = Annotated[bool, typer.Option("--stdio", help="Speak on stdin and stdout, as by default.")]
ToolMetrics = Annotated[
    bool, typer.Option("--tool-metrics", help="HTTP: durations by tool in /metrics, with names.")
]
FrontEnds = Annotated[
    str,
    typer.Option("--as", metavar="NAMES", help="Serve the target's agent for these front ends."),
]
SessionsFile = Annotated[
    Path | None,
    typer.Option("--file", "-f", metavar="FILE", help="--as: the file the sessions are in."),
]
Decider = Annotated[
    str, typer.Option("--deciders", metavar="WHO", help="--as: user or operator decides calls.")
]
Origins = Annotated[
    list[str] | None,
    typer.Option("--allowed-origin", metavar="URL", help="--as: pages of this origin may call."),
]


def command(
    target: Target,
    *,
    front_ends: FrontEnds = "",
    file: SessionsFile = None,
    deciders: Decider = "",
    allowed_origin: Origins = None,
    stdio: Stdio = False,
    http: Http = "",
    name: Annotated[str, typer.Option(help="What the server calls itself.")] = "",
    instructions: Annotated[
        str, typer.Option(metavar="TEXT", help="How a model should use the tools.")
    ] = "",
    rules: RulesFile = None,
    token: Token = "",
    no_token: NoToken = False,
    allowed_host: Hosts = None,
    drain: Drain = 30,
    workers: Workers = 1,
    tool_metrics: ToolMetrics = False,
) -> None:
    """Serve tools over the Model Context Protocol.

    A TARGET that holds a ToolServer is served as it is; from any other its tools are, and the
    prompts and resources of its file. Calls that ask for approval are put to the client's person,
    or refused if it cannot ask. With --as, the agent of a file is served over HTTP, to useChat.
    """
    if stdio and http:
        raise UsageProblem("say --stdio or --http, not both")
    if front_ends:
        access = choose_token(token, no_token), allowed_host or [], allowed_origin or []
        _serve_front_ends(target, front_ends, http, access, (file, deciders), drain)
        return
    with needs_extra("toolkeel serve", "mcp"):
        from toolkeel.mcp.server.stdio import claim_stdout, serve_stdio
    count_by_tool(tool_metrics)
    if not http:
        claim_stdout()  # before anything of the target runs
    options = (target, name, instructions, rules)
    with stdout_kept_clean():
        server = _server(*options)
    offered = f"{server.sdk.name}: {count(len(server.tools), 'tool')}"
    if http:
        place = address(http)
        note(f"{offered} at {endpoint(*place)}", DIM)
        _serve_http(server, options, place, (token, no_token), allowed_host or [], (drain, workers))
        return
    if sys.stdin.isatty():
        note(f"{offered} on stdin and stdout, for a program that starts this command", DIM)
    until_stopped(lambda: serve_stdio(server))


def _serve_front_ends(
    target: str,
    names: str,
    http: str,
    access: tuple[str, list[str], list[str]],
    sessions: tuple[Path | None, str],
    drain: int,
) -> None:
    """Serve the agent of a target for front ends; see `serve_front_ends`."""
    with needs_extra("toolkeel serve --as", "serve"):
        from toolkeel_studio.cli.front_ends import serve_front_ends
    host, port = place = address(http or DEFAULT_ADDRESS)
    note(f"{names} at http://{f'[{host}]' if ':' in host else host}:{port}", DIM)
    signal.signal(signal.SIGTERM, lambda *_: None)  # exit code 0, once the web server has ended
    serve_front_ends(target, names, place, access, sessions, drain)


def _serve_http(
    server: ToolServer,
    options: _ServeOptions,
    place: tuple[str, int],
    tokens: tuple[str, bool],
    hosts: list[str],
    bounds: tuple[int, int],
) -> None:
    """Serve over HTTP, with a token of our own on this machine."""
    from toolkeel.mcp.server.http import asgi, is_loopback

    host = place[0]
    token = choose_token(*tokens) if is_loopback(host) else tokens[0]
    app = asgi(server, host=host, token=token, allowed_hosts=hosts)
    if bounds[1] > 1 and (asking := server.interactive_tools):
        note(f"these ask their client, so they need one worker: {', '.join(asking)}", YELLOW)
    serve_app_at(app, partial(_worker_app, options, host, token, hosts), place, bounds)


def serve_app_at(
    app: Starlette, worker: Callable[[], Starlette], place: tuple[str, int], bounds: tuple[int, int]
) -> None:
    """Serve over HTTP, in this process or in several that share the address.

    Args:
        app: What is served here.
        worker: Makes what each of several processes serves.
        place: Host and port.
        bounds: Seconds for calls at the end, and how many processes.
    """
    from toolkeel.mcp.server.http import serve_app

    drain, workers = bounds
    signal.signal(signal.SIGTERM, lambda *_: None)  # exit code 0, once the web server has ended
    if workers == 1:
        asyncio.run(serve_app(app, *place, drain))
        return
    from toolkeel_studio.cli.http_workers import serve_in_workers

    serve_in_workers(worker, *place, drain, workers)


def _worker_app(options: _ServeOptions, host: str, token: str, hosts: list[str]) -> Starlette:
    """Create what a worker serves. Each request of an older client may reach another worker."""
    from toolkeel.mcp.server.http import asgi, with_graceful_shutdown
    from toolkeel_studio.cli.http_workers import end_with_parent

    end_with_parent()
    with stdout_kept_clean():
        server = _server(*options)
    return with_graceful_shutdown(
        asgi(server, host=host, token=token, allowed_hosts=hosts, stateless_http=True)
    )


def count_by_tool(wanted: bool) -> None:
    """Count durations by tool in this process and its workers, if that is wanted."""
    from toolkeel.mcp.server.prometheus_metrics import TOOLS_VARIABLE

    if wanted:
        os.environ[TOOLS_VARIABLE] = "1"


def endpoint(host: str, port: int) -> str:
    """Return the address for clients."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"


def _server(target: str, name: str, instructions: str, rules: Path | None) -> ToolServer:
    """Load a target as a server.

    Raises:
        UsageProblem: it has several servers, or one that rules cannot be applied to.
    """
    from toolkeel.mcp.server.long_results import stored_results
    from toolkeel.mcp.server.prompts_resources import Prompt, Resource
    from toolkeel.mcp.server.tool_server import ToolServer

    module, value = resolve_module(target)
    made = [value] if isinstance(value, ToolServer) else []
    if value is None:
        made = _values_of_type(module, ToolServer)
    if len(made) > 1:
        raise UsageProblem(f"{target} holds {len(made)} servers; name one: {target}:NAME")
    if made and rules is not None:
        raise UsageProblem(f"{target} is a server; give its toolset the rules, not --rules")
    if made:
        return made[0]
    prompts, resources = _values_of_type(module, Prompt), _values_of_type(module, Resource)
    tools = _tools(target, optional=value is None and bool(prompts or resources))
    return ToolServer(
        tools if rules is None else tools.with_steps(rules=Rules.from_toml(rules)),
        name=name or _name_of(target),
        instructions=instructions or None,
        prompts=prompts or None,
        resources=(*resources, stored_results),
    )


def _tools(target: str, optional: bool) -> Toolset:
    try:
        return load_target(target)
    except SetupError:
        if not optional:
            raise
        return Toolset()


def _values_of_type(module: ModuleType | None, kind: type[Any]) -> list[Any]:
    """List the public values of a kind in a module, in order, each once."""
    found = list_public(module).values() if module is not None else ()
    return list({id(value): value for value in found if isinstance(value, kind)}.values())


def _name_of(target: str) -> str:
    """Derive a server's name from its target.

    >>> _name_of("./weather_tools.py:search"), _name_of("calculator")
    ('weather_tools', 'calculator')
    """
    base = target if os.path.exists(target) else target.partition(":")[0]
    return Path(base).resolve().stem or "toolkeel"


def choose_token(token: str, no_token: bool) -> str:
    """Return the token of an HTTP server: a new one unless the options decline it.

    Raises:
        UsageProblem: both a token and none are wanted.
    """
    if token and no_token:
        raise UsageProblem("say --token or --no-token, not both")
    if token:
        return token
    if no_token:
        note("no token is asked for: every program of this machine can call every tool", YELLOW)
        return ""
    made = secrets.token_urlsafe(24)
    note(f"clients send this token: Authorization: Bearer {made}", YELLOW)
    return made


def address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``.

    >>> address(":8000"), address("[::1]:80"), address("9000")
    (('127.0.0.1', 8000), ('::1', 80), ('127.0.0.1', 9000))
    """
    host, _, port = text.rpartition(":")
    if not port.isdecimal() or not 0 < int(port) < 65536:
        raise UsageProblem(f"--http takes HOST:PORT, such as 127.0.0.1:8000, not {text!r}")
    return host.strip("[]") or "127.0.0.1", int(port)


def until_stopped(serve: Callable[[], Awaitable[None]]) -> None:
    """Serve until the client closes stdin, or the process gets a signal to end."""

    async def run() -> None:
        task = asyncio.ensure_future(serve())
        loop = asyncio.get_running_loop()
        if sys.platform != "win32":
            for number in (signal.SIGINT, signal.SIGTERM):
                loop.add_signal_handler(number, task.cancel)
        try:
            await task
        except asyncio.CancelledError:
            if not task.cancelled():
                raise

    asyncio.run(run())

"""``toolkeel mcp``: servers of the Model Context Protocol, from the client's side.

A SERVER is the name of one in ``mcp.json``, an address, a file (``mcp.json:name``), or a command in
quotes.
"""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from toolkeel._common.needs_extra import needs_extra
from toolkeel._records.messages_json import is_text_type
from toolkeel.call.body.sync_bridge import run_sync
from toolkeel.call.toolset import Toolset
from toolkeel.errors import SetupError
from toolkeel.mcp.config import FILES, ServerConfig, find_server, read_config, read_servers
from toolkeel.mcp.consent import ConsentStore
from toolkeel.mcp.hosts import write_server
from toolkeel.mcp.http_options import is_url
from toolkeel.mcp.launch_facts import launch_facts, shown_lines
from toolkeel.mcp.pins import Pin, Pins, definition_diff
from toolkeel.mcp.state_files import mcp_state_folder
from toolkeel.observe.wording import escaped, pretty, visible_json, visible_line
from toolkeel_studio.cli.commands.call import call_one
from toolkeel_studio.cli.commands.tools import table, tool_json
from toolkeel_studio.cli.exit_codes import EPILOG, FAILED, OPTIONS, UsageProblem
from toolkeel_studio.cli.terminal.approve import can_ask
from toolkeel_studio.cli.terminal.consent import confirm
from toolkeel_studio.cli.terminal.streams import (
    BOLD,
    CYAN,
    DIM,
    GREEN,
    RED,
    YELLOW,
    echo,
    layout,
    note,
    stdout_kept_clean,
    styled,
    width_of,
)

if TYPE_CHECKING:
    from toolkeel.mcp.client.mcp_server import MCPServer

T = TypeVar("T")

app = typer.Typer(help="MCP servers: add, list, login, tools, call, pin, diff ...", **OPTIONS)
_FILE = typer.Option("--file", "-f", metavar="FILE", help="Where servers are kept.")
_SERVER = typer.Argument(metavar="SERVER", help="A name in the file, an address, or a command.")
File = Annotated[Path | None, _FILE]
Server = Annotated[str, _SERVER]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def _file(given: Path | None) -> Path:
    """Return the file of servers: the one named, else the first that exists."""
    there = [Path(name) for name in FILES if Path(name).is_file()]
    return given or (there[0] if there else Path(FILES[0]))


def _pins() -> Pins:
    return Pins(mcp_state_folder() / "pins.json")


def _config(text: str, file: Path | None) -> ServerConfig:
    path = _file(file)
    known = read_config(path) if path.is_file() or file is not None else {}
    if text in known:
        return known[text]
    is_name = not (is_url(text) or " " in text or "/" in text or ".json" in text or ".toml" in text)
    if is_name:
        raise UsageProblem(f"no server is called {text!r}; {path} has {', '.join(known) or 'none'}")
    return find_server(text)


def _server(text: str, file: Path | None, auth: Literal["oauth"] | None = None) -> MCPServer:
    with needs_extra("an MCP server", "mcp"):
        from toolkeel.mcp.client.mcp_server import MCPServer
    return MCPServer(_config(text, file), pins=_pins(), auth=auth)


def _ask_server(
    server: str, file: Path | None, ask: Callable[[MCPServer], Coroutine[Any, Any, T]]
) -> T:
    """Connect to a server and return what it answers."""
    with stdout_kept_clean():
        found = _server(server, file)
        return run_sync(lambda: ask(found))


@app.command("add", epilog=EPILOG)
def add(
    name: Annotated[str, typer.Argument(metavar="NAME", help="What to call it.")],
    source: Annotated[
        list[str], typer.Argument(metavar="COMMAND...|URL", help="Its command or address.")
    ],
    file: File = None,
    env: Annotated[
        list[str] | None, typer.Option("--env", "-e", metavar="KEY=VALUE", help="For its command.")
    ] = None,
    header: Annotated[
        list[str] | None, typer.Option("--header", metavar="KEY=VALUE", help="For its address.")
    ] = None,
) -> None:
    """Keep a server under a name: in mcp.json, which other hosts read, too.

    Write -- before a command whose own options begin with a dash. Values may hold ${VARIABLES}.
    """
    if not name.strip():
        raise UsageProblem("a server needs a name: toolkeel mcp add NAME COMMAND")
    words = shlex.split(source[0]) if len(source) == 1 and " " in source[0] else list(source)
    entry: dict[str, object]
    if is_url(words[0]):
        entry = {"url": words[0], **_pairs("headers", header)}
    else:
        entry = {"command": words[0], "args": words[1:], **_pairs("env", env)}
    path = _file(file)
    write_server(path, name, entry)
    found, problems = read_servers(path)
    if name in problems:  # such as a variable that is not set yet
        raise SetupError(f"{path} now has {name}, which cannot be used: {problems[name]}")
    ConsentStore().grant(found[name])  # the user who types the command has read it
    note(f"{path} now has {name}; its tools: toolkeel mcp tools {name}", DIM)


def _pairs(field: str, words: list[str] | None) -> dict[str, object]:
    if not words:
        return {}
    if wrong := [word for word in words if "=" not in word]:
        raise UsageProblem(f"{wrong[0]!r} is not KEY=VALUE")
    return {field: dict(word.split("=", 1) for word in words)}


@app.command("login", epilog=EPILOG)
def login(server: Server, file: File = None) -> None:
    """Log in to a server on the network. The login is kept and refreshed.

    The address of the page is printed. Where the browser is on another machine, paste the address it ends at.
    """
    with stdout_kept_clean():
        found = _server(server, file, "oauth")
        run_sync(found.connect)
        run_sync(found.close)
    note(f"logged in to {visible_line(found.name)}", GREEN)


@app.command("logout", epilog=EPILOG)
def logout(server: Server, file: File = None) -> None:
    """Forget the login to a server on the network. The server itself is not told."""
    with needs_extra("an MCP server", "mcp"):
        from toolkeel.mcp.client.oauth.login import delete_login
    config = _config(server, file)
    run_sync(lambda: delete_login(config))
    note(f"no login to {visible_line(config.name)} is kept", DIM)


@app.command("remove", epilog=EPILOG)
def remove(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which one.")], file: File = None
) -> None:
    """Take a server out of the file, and forget what was approved of it."""
    path = _file(file)
    found, problems = read_servers(path)
    if name in found:
        _pins().forget(found[name].identity)
    elif name in problems:
        note(f"its approvals stay: {problems[name]}", DIM)
    write_server(path, name, None)


@app.command("list", epilog=EPILOG)
def list_servers(file: File = None, as_json: AsJson = False) -> None:
    """List the servers of the file; none is started."""
    path = _file(file)
    servers = read_config(path) if path.is_file() else {}
    consents, pins = ConsentStore(), _pins()
    rows: list[dict[str, object]] = []
    for name, config in servers.items():
        facts = launch_facts(config)
        shown, agreed = "\n".join(shown_lines(facts)), consents.has(config, facts)
        pinned = len(pins.all_of(config.identity))
        rows.append({"name": name, "shown": shown, "agreed": agreed, "pinned": pinned})
    if as_json:
        echo(pretty(rows))
        return
    if not rows:
        note(f"{path} names no servers; toolkeel mcp add NAME COMMAND adds one", DIM)
    for row in rows:
        head = styled(visible_line(str(row["name"])), BOLD, sys.stdout)
        if not row["agreed"]:
            head += styled("  (nobody has agreed to it yet)", YELLOW, sys.stdout)
        layout([head, *(f"  {visible_line(line)}" for line in str(row["shown"]).split("\n"))])


@app.command("tools", epilog=EPILOG)
def tools(server: Server, file: File = None, as_json: AsJson = False) -> None:
    """List a server's tools, what is wrong with them, and how it says they should be used."""
    with stdout_kept_clean():
        found = _server(server, file)
        made, said = found.tools(), run_sync(found.instructions)
        changed = _changes(found)
    if as_json:
        echo(pretty([tool_json(item) for item in made]))
        return
    layout(table(made, width_of(sys.stdout)))
    for line in said.splitlines():
        note(visible_line(line), DIM)
    for name, why in found.problems.items():
        note(f"{visible_line(name)}: {visible_line(why)}", YELLOW)
    for name, hidden in found.hidden.items():
        for each in hidden:
            note(f"{visible_line(name)} hides characters: {visible_line(str(each))}", YELLOW)
    for name in changed:
        note(f"{visible_line(name)} has changed since it was approved: toolkeel mcp diff", RED)


@app.command("call", epilog=EPILOG)
def call(
    server: Server,
    words: Annotated[
        list[str], typer.Argument(metavar="TOOL [KEY=VALUE]...", help="The tool, its arguments.")
    ],
    file: File = None,
    details: Annotated[bool, typer.Option("--details", help="Print what is for people.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the whole result.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Approve the call.")] = False,
) -> None:
    """Call one tool of a server, as `toolkeel call` does."""
    with stdout_kept_clean():
        made = Toolset(_server(server, file).tools())
    call_one(made, server, words, (details, as_json, yes))


@app.command("resources", epilog=EPILOG)
def resources(server: Server, file: File = None, as_json: AsJson = False) -> None:
    """List what can be read of a server: addresses, and templates of addresses."""
    with stdout_kept_clean():
        found = _server(server, file)
        listed = [*run_sync(found.resources), *run_sync(found.templates)]
    _print_list(listed, ("uri", "uriTemplate"), as_json)


@app.command("read", epilog=EPILOG)
def read(
    server: Server,
    uri: Annotated[str, typer.Argument(metavar="URI", help="The resource's address.")],
    file: File = None,
) -> None:
    """Read one resource of a server; what is no text is described."""
    for part in _ask_server(server, file, lambda found: found.read(uri)):
        if is_text_type(part.media_type):
            echo(escaped(part.data.decode("utf-8", "replace")))
        else:
            note(f"{part.name}: {part.media_type}, {len(part.data):,} bytes", DIM)


@app.command("prompts", epilog=EPILOG)
def prompts(server: Server, file: File = None, as_json: AsJson = False) -> None:
    """List a server's prompts."""
    _print_list(_ask_server(server, file, lambda found: found.prompts()), ("name",), as_json)


@app.command("prompt", epilog=EPILOG)
def prompt(
    server: Server,
    name: Annotated[str, typer.Argument(metavar="NAME", help="Which one.")],
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Its arguments.")
    ] = None,
    file: File = None,
) -> None:
    """Fill in a prompt of a server, and print its messages."""
    arguments: Any = _pairs("arguments", words).get("arguments", {})
    for message in _ask_server(server, file, lambda found: found.prompt(name, arguments)):
        echo(escaped(f"{type(message).__name__}: {message.text}"))


@app.command("complete", epilog=EPILOG)
def complete(
    server: Server,
    of: Annotated[str, typer.Argument(metavar="PROMPT|URI", help="A prompt, or a template.")],
    argument: Annotated[str, typer.Argument(metavar="NAME", help="Which argument of it.")],
    typed: Annotated[str, typer.Argument(metavar="[TEXT]", help="What is there already.")] = "",
    file: File = None,
) -> None:
    """Say what an argument of a prompt, or a part of an address, could be."""
    for value in _ask_server(server, file, lambda found: found.complete(of, argument, typed)):
        echo(escaped(value))


@app.command("watch", epilog=EPILOG)
def watch(
    server: Server,
    uris: Annotated[list[str], typer.Argument(metavar="URI...", help="Addresses of resources.")],
    file: File = None,
) -> None:
    """Print the address of a resource each time it changes, until Ctrl+C."""

    async def follow() -> None:
        async for uri in found.watch(*uris):
            echo(escaped(uri))

    found = _server(server, file)
    run_sync(follow)


def _print_list(found: Iterable[Any], keys: tuple[str, ...], as_json: bool) -> None:
    rows = [each.model_dump(mode="json", by_alias=True, exclude_none=True) for each in found]
    if as_json:
        echo(pretty(rows))
        return
    for row in rows:
        head = next(str(row[key]) for key in keys if key in row)
        taken = [str(each.get("name")) for each in row.get("arguments", ())]
        about = [f"({', '.join(taken)})"] * bool(taken) + [str(row.get("description", ""))]
        lines = [styled(visible_line(head), BOLD, sys.stdout), f"  {visible_line(' '.join(about))}"]
        layout(lines)


@app.command("pin", epilog=EPILOG)
def pin(
    server: Server,
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[TOOL]...", help="All by default.")
    ] = None,
    file: File = None,
    yes: Annotated[bool, typer.Option("--yes", help="Approve without being asked.")] = False,
) -> None:
    """Look at the definitions of a server's tools, and approve them as they are now."""
    with stdout_kept_clean():
        found = _server(server, file)
        now = run_sync(found.definitions)
    wanted = names or list(now)
    if unknown := [name for name in wanted if name not in now]:
        raise UsageProblem(f"{server} has no tool {unknown[0]!r}; there is {', '.join(now)}")
    pinned = found.pins.all_of(found.config.identity)
    open_names = [name for name in wanted if pinned.get(name) != now[name]]
    for name in open_names:
        _show(pinned.get(name), now[name])
    if not open_names:
        note("all of them are approved as they are", GREEN)
    elif yes or (can_ask() and confirm("Approve them?  y yes   n no  ")):
        for name in open_names:
            found.pins.set(found.config.identity, name, now[name])
        note(f"approved: {', '.join(map(visible_line, open_names))}", GREEN)
    else:
        raise typer.Exit(FAILED)


def _show(before: Pin | None, now: Pin) -> None:
    if before is None:
        note(visible_json(dict(now.definition)))
        return
    for line in definition_diff(before.definition, now.definition).split("\n"):
        note(line, _COLOURS.get(line[:1], ""))


_COLOURS = {"+": GREEN, "-": RED, "@": CYAN}


def _changes(server: MCPServer) -> Mapping[str, str]:
    """Return the differences between the approved and the current tools, by tool."""
    pinned = server.pins.all_of(server.config.identity)
    if not pinned:
        return {}
    now = run_sync(server.definitions)
    gone: Any = {}
    found = {name: now[name].definition if name in now else gone for name in pinned}
    return {
        name: definition_diff(each.definition, found[name])
        for name, each in pinned.items()
        if each.definition != found[name]
    }


@app.command("diff", epilog=EPILOG)
def diff(server: Server, file: File = None) -> None:
    """Show what a server has changed since its tools were approved; exit code 1 if anything."""
    with stdout_kept_clean():
        found = _server(server, file)
        changes = _changes(found)
        asyncio.run(found.close())
    for name, text in changes.items():
        lines = [styled(each, _COLOURS.get(each[:1], ""), sys.stdout) for each in text.split("\n")]
        layout([styled(visible_line(name), BOLD, sys.stdout), *lines])
    if changes:
        raise typer.Exit(FAILED)
    approved = len(found.pins.all_of(found.config.identity))
    note(f"nothing has changed ({approved} approved)", GREEN)

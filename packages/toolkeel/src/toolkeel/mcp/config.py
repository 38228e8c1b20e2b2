"""Configuration of a server: one string, or the file that hosts share (``mcp.json``).

::

    {"mcpServers": {
        "files": {"command": "npx", "args": ["-y", "server-files", "docs"], "env": {"KEY": "${KEY}"}},
        "search": {"url": "https://example.com/mcp", "headers": {"Authorization": "Bearer ${TOKEN}"}}
    }}

``${NAME}`` and ``${NAME:-default}`` stand for variables of the environment. How other hosts write it
stands in `toolkeel.mcp.hosts`.
"""

from __future__ import annotations

import dataclasses
import logging
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from toolkeel._common.data_folder import expand_home, find_home
from toolkeel._records.record import NOTHING, record
from toolkeel.errors import SetupError
from toolkeel.mcp.hosts import find_entries, host_of, is_disabled, read_file, workspace_of
from toolkeel.mcp.http_options import check_address, check_http, is_meant_as_url, is_url
from toolkeel.mcp.server_entries import parse_entry
from toolkeel.mcp.transforms import Transforms, parse_transforms
from toolkeel.mcp.variables import FieldReader, read_env_file

log = logging.getLogger("toolkeel.mcp")
Kind = Literal["stdio", "http", "sse"]
FILES = ("mcp.json", ".mcp.json")
"""Names of the files that hosts share, in the order in which they are looked for."""

_KINDS: Mapping[str, Kind] = {
    "stdio": "stdio",
    "http": "http",
    "streamable-http": "http",
    "streamableHttp": "http",
    "streamable_http": "http",
    "sse": "sse",
}
_NAME = re.compile(r"[^A-Za-z0-9]+")
MASK = "•••"
"""Shown in place of a secret."""
_CHANGES_CODE = re.compile(
    r"(?!.*(?:TOKEN|AUTH|PASS|SECRET|KEY))"
    r"(?:PATH|LD_|DYLD_|PYTHON|NODE_|BASH_ENV|ENV$|SHELL|PERL|RUBY|GEM_|JAVA_|JDK_|UV_|PIP_|NPM_)",
    re.IGNORECASE,
)
"""Variables that decide what code runs, so a person is shown their values from an ``envFile``, too."""
_RUNNERS = frozenset(("npx", "uvx", "uv", "bunx", "pipx", "docker", "podman", "deno", "node"))


@record
class ServerConfig:
    """The configuration of one server.

    Args:
        name: Its name for people; prefixed to names of tools that two servers share.
        command: The program that is started and its arguments; empty for a server on the network.
        env: What it finds in its environment besides the few variables that every server gets.
        cwd: The folder it is started in; empty for the current one.
        url: Where it is on the network; empty for a program.
        headers: Sent with every request.
        kind: How it is spoken to: ``stdio``, ``http`` (streamable) or ``sse`` (the older form).
        origin: The file it was read from; empty if the program itself named it.
        display: ``command`` (its words), ``env``, ``headers``, ``url``, ``oauth``, ``transforms`` as a person may
            be shown them: variables of the environment by their names, and what an ``envFile``
            says as ``•••``. Empty if the program itself named the server.
        agreed_fingerprint: Fingerprint of the facts a person agreed to; empty if none is needed.
        set_by_program: Names of variables and headers that the program itself sets.
        include_tools: Names of the tools to use; all if empty.
        exclude_tools: Names of tools not to use.
        tls: Paths of PEM files: ``ca`` to trust beside the system's, ``cert`` and ``key`` of ours.
        is_legacy: True to use a revision up to 2025-11-25 though it may know a newer one.
        oauth: How to log in: ``client_id``, ``client_secret``, ``scope``, ``port``.
        timeout: Seconds of a call; None: the file does not say.
        connect_timeout: Seconds until it must have answered first; None likewise.
        unset: Names of environment variables to remove: those written as null.
        transforms: Transforms of its tools, by its own names of them.
    """

    name: str
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = NOTHING  # type: ignore[assignment]
    cwd: str = ""
    url: str = ""
    headers: Mapping[str, str] = NOTHING  # type: ignore[assignment]
    kind: Kind = "stdio"
    origin: str = ""
    display: Mapping[str, Any] = NOTHING
    include_tools: tuple[str, ...] = ()
    exclude_tools: tuple[str, ...] = ()
    tls: Mapping[str, str] = NOTHING  # type: ignore[assignment]
    is_legacy: bool = False
    oauth: Mapping[str, str] = NOTHING  # type: ignore[assignment]
    timeout: float | None = None
    connect_timeout: float | None = None
    agreed_fingerprint: str = ""
    set_by_program: frozenset[str] = frozenset()
    unset: tuple[str, ...] = ()
    transforms: Transforms = NOTHING  # type: ignore[assignment]

    def allows_tool(self, tool: str) -> bool:
        """Return True if the file allows a tool.

        >>> ServerConfig("x", include_tools=("a", "b"), exclude_tools=("b",)).allows_tool("b")
        False
        """
        return (
            not self.include_tools or tool in self.include_tools
        ) and tool not in self.exclude_tools

    def __repr__(self) -> str:
        return f"ServerConfig({self.name!r}, {self.identity!r})"  # what is put in may be secret

    @property
    def shown_fields(self) -> Mapping[str, Any]:
        """Its ``command``, ``env``, ``headers``, ``url`` and ``oauth``, of a file's server without secrets."""
        fields = {
            "command": list(self.command),
            "env": self.env,
            "headers": self.headers,
            "url": self.url,
            "oauth": self.oauth,
        }
        return {**fields, **self.display}

    @property
    def identity(self) -> str:
        """What tells it from other servers, without secrets: approvals are bound to it.

        >>> ServerConfig("x", url="https://me:pw@example.com/mcp?key=1", kind="http").identity
        'https://example.com/mcp'
        """
        shown = self.shown_fields
        if self.url:
            parts = urlsplit(self.url)
            host = parts.netloc.rpartition("@")[2]
            written = str(shown["url"])  # with `${TOKEN}` where the address has the token
            path = urlsplit(written).path if is_url(written) else parts.path
            return f"{parts.scheme}://{host}{path}"
        return shlex.join(shown["command"]) + (f"  (in {self.cwd})" if self.cwd else "")


def parse_source(source: str | Sequence[str], name: str | None = None) -> ServerConfig:
    """Parse a server given as one string: a URL or a command.

    Args:
        source: ``http://`` or ``https://`` and the rest of an address, or a command line; a list
            of words is a command line that needs no quoting.
        name: Its name for people; None: derived from the source.

    Raises:
        SetupError: if it is neither.

    >>> parse_source("npx -y @example/server-files docs").name
    'server_files'
    >>> parse_source("https://mcp.example.com/mcp").name
    'mcp_example_com'
    """
    if isinstance(source, str) and is_meant_as_url(source):
        check_address(f"the address of the MCP server{f' {name!r}' if name else ''}", source)
        return ServerConfig(
            name or _clean_name(urlsplit(source).hostname or ""), url=source, kind="http"
        )
    try:
        words = tuple(shlex.split(source)) if isinstance(source, str) else tuple(source)
    except ValueError as error:
        raise SetupError(f"{source!r} is no command line: {error}") from None
    if not words or not words[0]:
        raise SetupError("an MCP server is an address or a command; this one is empty")
    return ServerConfig(name or _name_of(words), command=words)


def _name_of(words: Sequence[str]) -> str:
    """Return a name for a command: its package or script rather than its runner."""
    first = Path(words[0]).name
    if {"-c", "-e"} & set(words[1:3]):
        return _clean_name(first)
    rest = [word for word in words[1:] if not word.startswith("-") and word not in ("run", "exec")]
    runs_another = first in _RUNNERS or first.startswith("python")
    chosen = rest[0] if runs_another and rest else first
    return _clean_name(Path(re.sub(r"@[\w.^~-]+$", "", chosen)).stem) or "server"


def _clean_name(text: str) -> str:
    """Return a server's name with other characters replaced by ``_``; "server" if nothing is left."""
    return _NAME.sub("_", text).strip("_") or "server"


# — files —


def read_config(path: str | Path) -> dict[str, ServerConfig]:
    """Read the usable servers of a file, by name; log what is wrong with others.

    Raises:
        SetupError: it cannot be read, has no servers, or none can be used; each fault is named.
    """
    found, problems = read_servers(path)
    if problems and not found:
        raise next(iter(problems.values()))
    for problem in problems.values():
        log.warning("%s", problem)
    return found


def read_servers(
    path: str | Path,
) -> tuple[dict[str, ServerConfig], dict[str, SetupError]]:
    """Read the enabled servers of a file, and why others cannot be used, by name.

    Raises:
        SetupError: if it cannot be read, or holds no servers.
    """
    file = expand_home(path).resolve()
    found: dict[str, ServerConfig] = {}
    problems: dict[str, SetupError] = {}
    data, host = read_file(file), host_of(file)
    for name, written in find_entries(data, file).items():
        if is_disabled(data, host, name):
            continue
        try:
            config = _parse_server(name, written, file, data)
        except SetupError as error:
            problems[name] = error
        except (ValueError, OSError) as error:  # half a character in a path, a name without end
            problems[name] = SetupError(f"{file}: server {name!r} cannot be used: {error}")
        else:
            if config is not None:
                found[name] = config
    return found, problems


def _parse_server(name: str, written: object, file: Path, data: Any) -> ServerConfig | None:
    """Parse one entry, or raise SetupError if it is wrong. Return None if it is disabled. Log its notes."""
    where = f"{file}: server {name!r}"
    if not name.strip():
        raise SetupError(f"{where}: give it a name")
    if not name.isprintable():  # it stands in what a terminal shows, and in names of files
        raise SetupError(f"{where}: its name holds what cannot be seen; give it another")
    if not isinstance(written, Mapping):
        raise SetupError(f"{where} must be an object with a command or a url")
    entry = parse_entry(written, where, host_of(file))
    if not entry.enabled:
        return None
    for note in entry.notes:
        log.warning("%s: %s", where, note)
    get = FieldReader(where, entry.fields, file, data.get("inputs"))
    shown = FieldReader(where, entry.fields, file, data.get("inputs"), masked=True)
    url, program = get.read_text("url"), get.read_text("command")
    if bool(url) == bool(program):
        raise SetupError(f"{where} needs either a command or a url")
    type_name = str(entry.fields.get("type", "http" if url else "stdio"))
    kind = _KINDS.get(type_name)
    if kind is None or (kind == "stdio") == bool(url):
        raise SetupError(f"{where}: there is no type {type_name!r} for it; use stdio, http or sse")
    home = workspace_of(file) or find_home() or file.parent
    folder = "" if url else str((home / expand_home(get.read_text("cwd"))).resolve())
    env_file = expand_home(get.expand(entry.env_file)) if entry.env_file else None
    unset = tuple(entry.fields["unset"])
    more = _read_env_file(home / env_file, where, unset) if env_file else {}
    found = ServerConfig(
        name,
        (program, *get.read_list("args")) if program else (),
        _with_inherited_path({**more, **get.read_mapping("env")}, file),
        folder,
        url,
        get.read_mapping("headers"),
        kind,
        str(file),
        _display_fields(shown, more),
        entry.include_tools,
        entry.exclude_tools,
        _tls_paths(get.read_mapping("tls"), file.parent, where),
        _is_legacy_revision(get.read_text("protocolVersion"), where),
        get.read_mapping("oauth"),
        entry.timeout,
        entry.connect_timeout,
        unset=unset,
        transforms=parse_transforms(f"{where}: transform", get.raw("transform"), get.expand),
    )
    check_http(found.origin, found.name, found.url, found.headers, found.oauth)
    return found


def _read_env_file(file: Path, where: str, unset: tuple[str, ...]) -> dict[str, str]:
    """Return the variables of an ``envFile`` without those in `unset`; raise SetupError as `read_env_file`."""
    return {name: value for name, value in read_env_file(file, where).items() if name not in unset}


def _display_fields(get: FieldReader, of_file: Mapping[str, str]) -> Mapping[str, Any]:
    """Return what a person is shown of an entry. See `ServerConfig`."""
    env = {key: value if _CHANGES_CODE.match(key) else MASK for key, value in of_file.items()}
    oauth = get.read_mapping("oauth")
    return {
        "command": [get.read_text("command"), *get.read_list("args")],
        "env": {**env, **get.read_mapping("env")},
        "headers": get.read_mapping("headers"),
        "url": get.read_text("url"),
        "oauth": {**oauth, "client_secret": MASK} if "client_secret" in oauth else oauth,
        "transforms": get.raw("transform"),
    }


def _with_inherited_path(env: dict[str, str], file: Path) -> dict[str, str]:
    """Return the environment; in a VS Code file, put the inherited PATH before its PATH, in place."""
    if "PATH" in env and host_of(file).name == "VS Code":
        env["PATH"] = os.pathsep.join([os.environ.get("PATH", os.defpath), env["PATH"]])
    return env


def _is_legacy_revision(version: str, where: str) -> bool:
    """Return True for a revision before 2026-07-28; raise `SetupError` if it is no date."""
    if version and re.fullmatch(r"20\d\d-\d\d-\d\d", version) is None:
        raise SetupError(f"{where}: a protocolVersion is a date, as 2025-11-25; not {version!r}")
    return "" < version < "2026-07-28"


def _tls_paths(paths: Mapping[str, str], folder: Path, where: str) -> dict[str, str]:
    """Return absolute paths of the PEM files; raise `SetupError` for another key."""
    if unknown := sorted(paths.keys() - {"ca", "cert", "key"}):
        raise SetupError(f"{where}: tls has ca, cert and key, each a PEM file; not {unknown[0]!r}")
    return {key: str(folder / expand_home(path)) for key, path in paths.items()}


def find_server(
    source: str | Path | Sequence[str] | ServerConfig, name: str | None = None
) -> ServerConfig:
    """Return the server that a source names: a config, a file's, a URL or a command.

    Args:
        source: Also ``mcp.json`` with one server in it, or ``mcp.json:name``.
        name: Its name for people; a file has names of its own.

    Raises:
        SetupError: the source names no server.
    """
    if isinstance(source, ServerConfig):
        return source
    text = str(source) if isinstance(source, str | Path) else ""
    named = re.fullmatch(r"(.+\.(?:json|toml)):(.*)", text)
    if named and not is_url(text):
        return _server_in_file(named[1], named[2])
    if text.endswith((".json", ".toml")) and expand_home(text).is_file():
        return _server_in_file(text, None)
    if re.fullmatch(r"\S+\.(json|toml)", text):
        raise SetupError(f"there is no file {text}")
    return parse_source(source if not isinstance(source, Path) else str(source), name)


def _server_in_file(file: str, name: str | None) -> ServerConfig:
    """Return a file's server of a name (None: its only one), or raise SetupError if it is missing or wrong."""
    servers, problems = read_servers(file)
    if name in problems or (name is None and not servers and problems):
        raise problems[name] if name in problems else next(iter(problems.values()))
    if name is None and len(servers) == 1:
        return next(iter(servers.values()))
    if name is None or name not in servers:
        raise SetupError(f"{file} has {', '.join(servers) or 'no server'}; say {file}:NAME")
    return servers[name]


def with_overrides(
    config: ServerConfig,
    headers: Mapping[str, str] | None,
    env: Mapping[str, str] | None,
    cwd: str | Path | None,
) -> ServerConfig:
    """Return a copy of the config with what the program adds, None: nothing; of equal names, the program's counts.

    Raises:
        SetupError: an option belongs to the other kind of server, or HTTP cannot carry it.
    """
    if headers and not config.url:
        raise SetupError(f"headers= is for servers with an address; {config.name} is a command")
    if (env or cwd) and config.url:
        raise SetupError(f"env= and cwd= are for commands; {config.name} has an address")
    given = {name.lower() for name in headers or ()}  # case does not count
    kept = {name: value for name, value in config.headers.items() if name.lower() not in given}
    changed = dataclasses.replace(
        config,
        env={**config.env, **(env or {})},
        cwd=str(cwd) if cwd else config.cwd,
        headers={**kept, **(headers or {})},
        set_by_program=config.set_by_program | {*(env or ()), *(headers or ())},
    )
    check_http(changed.origin, changed.name, changed.url, changed.headers, changed.oauth)
    return changed

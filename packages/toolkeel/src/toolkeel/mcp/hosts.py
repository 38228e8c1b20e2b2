"""Configuration files of other hosts: a small table for each, read to one form.

Claude Desktop and Claude Code, Cursor, VS Code, Windsurf, Zed, Codex (TOML), Gemini, Copilot CLI and
Junie agree on a name, a command or an address, and on little else. The tables are in ``hosts.toml``;
what a server's entry says is read by `toolkeel.mcp.server_entries`.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkeel._common.data_folder import find_home
from toolkeel._common.package_data import read_toml
from toolkeel._records.record import record
from toolkeel.errors import SetupError

_COMMENT = r"//[^\n]*+|(?>/\*.*?(?:\*/|\Z))"
_TOKENS = re.compile(  # possessive, and to the end at worst: read in one way, and once
    rf'"(?:\\.|[^"\\])*+(?:"|\\?\Z)|{_COMMENT}|,(?=(?:\s|{_COMMENT})*+[}}\]])', re.DOTALL
)


@record
class Host:
    """The format of one host's configuration file.

    Args:
        name: Name of the host.
        path_suffix: End of the file's path. One that begins with a folder, as ``.vscode/``, is in a
            workspace; others belong to a person.
        root: The key of its servers.
        variable_forms: Which variables are expanded: ``any`` form, ``env`` (not ``${NAME}``), ``file``
            (as ``env``, and ``${file:/path}``), or ``none``.
        has_dollar_variables: True if ``$NAME`` is a variable, too.
        expands_tilde: True if ``~`` in a command is the person's folder.
    """

    name: str
    path_suffix: str
    root: str = "mcpServers"
    variable_forms: str = "any"
    has_dollar_variables: bool = False
    expands_tilde: bool = False


TABLES = read_toml("toolkeel.mcp", "hosts.toml")
HOSTS = tuple(
    Host(path_suffix=place, **{key: said for key, said in each.items() if key != "places"})
    for each in TABLES["hosts"]
    for place in each["places"]
)
DEFAULT_HOST = Host("mcp.json", "mcp.json")
ROOTS = ("mcpServers", "servers", "context_servers", "mcp_servers")


def host_of(file: Path) -> Host:
    """Return the host of a file, by the end of its path; `DEFAULT_HOST` for any other."""
    path = file.as_posix()
    return next((host for host in HOSTS if path.endswith(host.path_suffix)), DEFAULT_HOST)


def workspace_of(file: Path) -> Path | None:
    """Return the project folder of a host's file, or None for a person's own file; the folder of any other file."""
    host = host_of(file)
    if host is DEFAULT_HOST:
        return file.parent
    if not host.path_suffix.startswith("."):
        return None
    folder = file.parents[host.path_suffix.count("/")]
    home = find_home()
    return folder if home is None or folder != home.resolve() else None


def read_file(file: Path) -> Any:
    """Read a file: TOML by its suffix, else JSON with comments and trailing commas.

    Raises:
        SetupError: the file cannot be read.
    """
    try:
        data = file.read_bytes()
        if file.suffix == ".toml":
            return tomllib.loads(data.decode("utf-8-sig"))
        text = data.decode(json.detect_encoding(data))
        return json.loads(without_comments(text), object_pairs_hook=_reject_duplicate_keys)
    except OSError as error:
        raise SetupError(f"cannot read {file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        kind = "TOML" if file.suffix == ".toml" else "JSON"
        raise SetupError(f"{file} is not {kind}: {error}") from None


def without_comments(text: str) -> str:
    """Remove comments and trailing commas from JSON; strings are unchanged.

    >>> without_comments('{"a": "// no", /* b */ "c": [1,], } // d')
    '{"a": "// no",  "c": [1] } '
    """
    return _TOKENS.sub(lambda found: found[0] if found[0][0] == '"' else "", text)


def _reject_duplicate_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; raise `ValueError` if a key is repeated."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is written twice")
    return found


def server_table(data: object, host: Host) -> Mapping[str, Any] | None:
    """Return the table of servers in a file's data, under the host's key or a usual one; None if it has none."""
    if not isinstance(data, Mapping):
        return None
    roots = dict.fromkeys((host.root, *ROOTS))
    return next((data[root] for root in roots if isinstance(data.get(root), Mapping)), None)


def is_disabled(data: object, host: Host, name: str) -> bool:
    """Return True if a file disables a server outside its entry, as Gemini's does.

    Raises:
        SetupError: `mcp.allowed` or `mcp.excluded` of the file is no list.
    """
    settings = data.get("mcp") if isinstance(data, Mapping) and host.name == "Gemini" else None
    if not isinstance(settings, Mapping):
        return False
    allowed, excluded = settings.get("allowed"), settings.get("excluded") or []
    if not isinstance(excluded, list) or not isinstance(allowed, list | None):
        raise SetupError(f"mcp.allowed and mcp.excluded are lists of names, not {settings!r:.60}")
    return (allowed is not None and name not in allowed) or name in excluded


def find_entries(data: object, file: Path) -> Mapping[str, Any]:
    """Return the entries of a file's servers, as written.

    Raises:
        SetupError: the file has no entry for servers.
    """
    host = host_of(file)
    servers, local = (
        server_table(data, host),
        _project_entries(data) if host.path_suffix == "/.claude.json" else {},
    )
    if servers is None and not local:
        raise SetupError(
            f'{file} names no servers; write {{"mcpServers": {{"name": {{"command": ...}}}}}}'
        )
    return {**(servers or {}), **local}


def _project_entries(data: object) -> Mapping[str, Any]:
    """Return the entries of the nearest project around the current folder, with its folder as their ``cwd`` by default."""
    projects = data.get("projects") if isinstance(data, Mapping) else None
    for folder in (Path.cwd(), *Path.cwd().parents):
        project = projects.get(str(folder)) if isinstance(projects, Mapping) else None
        if isinstance(project, Mapping) and isinstance(own := project.get("mcpServers"), Mapping):
            return {
                name: {"cwd": str(folder), **entry} if isinstance(entry, Mapping) else entry
                for name, entry in own.items()
            }
    return {}


def write_server(file: Path, name: str, entry: Mapping[str, object] | None) -> None:
    """Write a server's entry to a file, or remove it. Other values stay; the file is formatted anew.

    Args:
        file: The file; it is created if missing, its folder is not.
        name: Name of the server.
        entry: The entry to write; None removes it.

    Raises:
        SetupError: if the file holds something else, or has no such server to take out.
        OSError: the file cannot be read or written.
    """
    data: dict[str, Any] = {host_of(file).root: {}}
    if file.exists():
        find_entries(read_file(file), file)
        data = _read_plain_json(file)
    servers: dict[str, Any] = dict(server_table(data, host_of(file)) or {})
    root = next((key for key in (host_of(file).root, *ROOTS) if key in data), ROOTS[0])
    if entry is not None:
        servers[name] = dict(entry)
    elif servers.pop(name, None) is None:
        raise SetupError(f"{file} has no server {name!r}; there is {', '.join(servers) or 'none'}")
    text = json.dumps({**data, root: servers}, indent=2, ensure_ascii=False) + "\n"
    file.write_text(text, "utf-8")


def _read_plain_json(file: Path) -> dict[str, Any]:
    """Read a plain JSON file; rewriting comments or TOML would lose them.

    Raises:
        SetupError: the file is not plain JSON.
        OSError: the file cannot be read.
    """
    try:
        data: dict[str, Any] = json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError):
        raise SetupError(f"{file} has comments or is no JSON: change it by hand") from None
    return data

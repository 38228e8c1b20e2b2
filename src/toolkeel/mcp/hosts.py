"""Files of servers as other hosts write them: each host a small table, read to one form.

Claude Desktop and Claude Code, Cursor, VS Code, Windsurf, Zed, Codex (TOML), Gemini, Copilot CLI and
Junie agree on a name, a command or an address, and on little else. A key that is understood is
renamed, one that says nothing about what runs is left, one that would confine or change what runs is
refused by name, and any other is named. What another host approves is never approved here.
"""

from __future__ import annotations

import json
import logging
import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from toolkeel._records.record import NOTHING, record
from toolkeel.errors import SetupError

_TOKENS = re.compile(
    r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/|,(?=(?:\s|//[^\n]*|/\*.*?\*/)*[}\]])', re.DOTALL
)
_ENV_LINE = re.compile(r"\s*(?:export\s+)?([\w.-]+)\s*[=:]\s*(.*?)\s*")
_OURS = frozenset(("command", "args", "env", "cwd", "url", "headers", "type", "tls"))
_LEFT = frozenset(
    ("description", "icon", "icons", "gallery", "dev", "timeout", "name", "source", "version",
     "startup_timeout_sec", "startup_timeout_ms", "tool_timeout_sec", "required", "alwaysLoad",
     "supports_parallel_tool_calls", "settings", "oauth", "auth", "authProviderType", "scopes",
     "oauth_resource", "enabled", "disabled", "envFile")
)  # fmt: skip
_APPROVES = frozenset(
    ("trust", "autoApprove", "autoApproved", "alwaysAllow", "default_tools_approval_mode", "tools")
)
_REFUSED: Mapping[str, str] = {
    "sandboxEnabled": "it shall run in a sandbox, which only that host can make",
    "sandbox": "it shall run in a sandbox, which only that host can make",
    "headersHelper": "a program of that host makes its headers",
    "remote": "it shall run on another machine",
    "bearer_token": "a token stands in the file itself; name a variable by bearer_token_env_var",
}
_RENAMED: Mapping[str, str] = {
    "httpUrl": "url", "serverUrl": "url", "environment": "env", "http_headers": "headers",
}  # fmt: skip
_WITHOUT = ("disabledTools", "excludeTools", "disabled_tools")
_ONLY = ("includeTools", "enabled_tools")


_VARIABLE = re.compile(r"\$\{(?:env:)?([\w/]+|input:[\w.-]+)(?::-([^}]*))?\}")
_BARE = re.compile(
    r"\$\{(?!(?:workspaceFolder(?:Basename)?|userHome|pathSeparator)\})\w+(?::-[^}]*)?\}"
)
_DOLLAR = re.compile(r"\$(\w+)")
_NAMED = ("workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/")

log = logging.getLogger("toolkeel.mcp")


@record
class Host:
    """How one host writes its file.

    Args:
        name: Of the host.
        place: What its file's path ends with, or the folder it lies in.
        root: The key its servers stand under.
        bare: Whether ``${NAME}`` is a variable there; where not, it stays as it is.
        dollar: Whether ``$NAME`` is one, too.
    """

    name: str
    place: str
    root: str = "mcpServers"
    bare: bool = True
    dollar: bool = False


HOSTS = (
    Host("VS Code", ".vscode/mcp.json", "servers", bare=False),
    Host("VS Code", "Code/User/mcp.json", "servers", bare=False),
    Host("Cursor", ".cursor/mcp.json", bare=False),
    Host("Windsurf", "windsurf/mcp_config.json", bare=False),
    Host("Windsurf", ".codeium/mcp_config.json", bare=False),
    Host("Zed", "zed/settings.json", "context_servers"),
    Host("Codex", "config.toml", "mcp_servers"),
    Host("Gemini", ".gemini/settings.json", dollar=True),
    Host("Copilot CLI", "mcp-config.json"),
    Host("Junie", ".junie/mcp/mcp.json"),
    Host("Claude Desktop", "claude_desktop_config.json"),
    Host("Claude Code", ".claude.json"),
)
ANY = Host("mcp.json", "")
ROOTS = ("mcpServers", "servers", "context_servers", "mcp_servers")


def host_of(file: Path) -> Host:
    """Whose file it is, by its place."""
    path = file.as_posix()
    return next((host for host in HOSTS if path.endswith(host.place)), ANY)


def read_file(file: Path) -> Any:
    """What a file holds: TOML by its name, else JSON with comments and trailing commas.

    Raises:
        SetupError: it cannot be read.
    """
    try:
        text = file.read_bytes().decode("utf-8-sig")
        if file.suffix == ".toml":
            return tomllib.loads(text)
        return json.loads(without_comments(text), object_pairs_hook=_once)
    except OSError as error:
        raise SetupError(f"cannot read {file}: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        kind = "TOML" if file.suffix == ".toml" else "JSON"
        raise SetupError(f"{file} is not {kind}: {error}") from None


def without_comments(text: str) -> str:
    """JSON with comments and trailing commas as JSON; texts within stay as they are.

    >>> without_comments('{"a": "// no", /* b */ "c": [1,], } // d')
    '{"a": "// no",  "c": [1] } '
    """
    return _TOKENS.sub(lambda found: found[0] if found[0][0] == '"' else "", text)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{twice!r} is written twice")
    return found


def servers_in(data: object, host: Host) -> Mapping[str, Any] | None:
    """The table of servers in a file; None if there is none."""
    if not isinstance(data, Mapping):
        return None
    roots = dict.fromkeys((host.root, *ROOTS))
    return next((data[root] for root in roots if isinstance(data.get(root), Mapping)), None)


@record
class Entry:
    """One server, in our own words.

    Args:
        fields: ``command``, ``args``, ``env``, ``cwd``, ``url``, ``headers``, ``type``.
        enabled: Whether it is switched on.
        env_file: A file with more of its environment.
        only: The tools to take; all if it is empty.
        without: Tools to leave.
        notes: What of the entry is not followed.
    """

    fields: Mapping[str, Any]
    enabled: bool = True
    env_file: str = ""
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def entry_of(written: Mapping[str, Any], where: str) -> Entry:
    """What a host's entry says.

    Args:
        written: As it stands in the file.
        where: What errors begin with.

    Raises:
        SetupError: it says something that must not be passed over.
    """
    given = dict(written)
    for key, why in _REFUSED.items():
        if given.get(key):
            raise SetupError(f"{where} cannot be used: {key!r} is set, {why}")
        given.pop(key, None)
    fields = _in_our_words(given)
    notes = [f"{key!r} is not understood" for key in given if key not in _KNOWN]
    notes += [f"{key!r} approves nothing here" for key in given if key in _APPROVES]
    return Entry(
        fields,
        given.get("enabled") is not False and given.get("disabled") is not True,
        str(given.get("envFile", "")),
        _names(where, given, _ONLY),
        _names(where, given, _WITHOUT),
        tuple(notes),
    )


_KNOWN = (
    _OURS | _LEFT | _APPROVES | _RENAMED.keys() | {*_WITHOUT, *_ONLY}
    | {"bearer_token_env_var", "env_http_headers", "env_vars"}
)  # fmt: skip


def _in_our_words(given: Mapping[str, Any]) -> dict[str, Any]:
    fields = {key: given[key] for key in given if key in _OURS}
    fields |= {ours: given[theirs] for theirs, ours in _RENAMED.items() if theirs in given}
    if "httpUrl" in given:
        fields["type"] = "http"
    elif fields.get("type") in ("local", "remote"):
        del fields["type"]
    fields |= _command(fields)
    if headers := _named_headers(given):
        fields["headers"] = {**fields.get("headers", {}), **headers}
    env = fields.get("env", {})
    if passed := given.get("env_vars"):
        env = {**{name: f"${{{name}}}" for name in passed if isinstance(name, str)}, **env}
    if isinstance(env, Mapping):  # numbers become text, null leaves it out
        env = {key: _text(value) for key, value in env.items() if value is not None}
    return {**fields, "env": env}


def _command(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """A command that is no text: a list of words, or Zed's ``{"path", "args", "env"}``."""
    command = fields.get("command")
    if isinstance(command, Mapping):
        own = {key: command[key] for key in ("args", "env") if key in command}
        return {"command": command.get("path", ""), **own}
    if isinstance(command, list) and command:
        return {"command": command[0], "args": [*command[1:], *fields.get("args", [])]}
    return {}


def _named_headers(given: Mapping[str, Any]) -> dict[str, str]:
    """Headers whose values are named variables."""
    named = given.get("env_http_headers", {})
    headers = {key: f"${{{name}}}" for key, name in dict(named).items()}
    if token := given.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{{token}}}"
    return headers


def _text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _names(where: str, given: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    for key in keys:
        names = given.get(key) or []
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise SetupError(f"{where}: {key!r} is a list of names, not {names!r:.60}")
    return tuple(name for key in keys for name in given.get(key) or ())


def variables(file: Path) -> Callable[[str], str | None]:
    """What a variable of a host's file stands for; None if it is not set.

    The folder of the workspace is the one that holds ``.vscode``, ``.cursor`` and their like, or the
    file itself. A value that a host would ask a person for (``${input:id}``) is taken from the
    environment, as ``INPUT_ID``.
    """
    folder = file.parent
    if folder.name.startswith(".") and folder.parent != folder:
        folder = folder.parent
    known = {
        "workspaceFolder": str(folder),
        "workspaceFolderBasename": folder.name,
        "CLAUDE_PROJECT_DIR": str(folder),
        "userHome": str(Path.home()),
        "pathSeparator": os.sep,
        "/": os.sep,
    }

    def get(name: str) -> str | None:
        kind, _, rest = name.partition(":")
        if kind == "input":
            return os.environ.get("INPUT_" + re.sub(r"\W", "_", rest).upper())
        return known.get(name) or os.environ.get(name)

    return get


def read_env_file(file: Path, where: str) -> Mapping[str, str]:
    """The variables of an ``envFile``; nothing within them is put in.

    Raises:
        SetupError: it cannot be read.
    """
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise SetupError(f"{where}: its envFile {file} cannot be read: {error.strerror}") from None
    found = {}
    for line in text.splitlines():
        match = _ENV_LINE.fullmatch(line)
        if match is not None and not line.lstrip().startswith("#"):
            found[match[1]] = _unquoted(match[2])
    return found or NOTHING  # type: ignore[return-value]


def _unquoted(value: str) -> str:
    """A value of an env file: three kinds of quotes, and ``#`` begins a comment outside of them.

    >>> _unquoted('"a # b" # c'), _unquoted("a # b"), _unquoted("'x'")
    ('a # b', 'a', 'x')
    """
    quote = value[:1]
    if quote and quote in "\"'`" and (end := value.find(quote, 1)) > 0:
        inner = value[1:end]
        return inner.replace("\\n", "\n").replace("\\r", "\r") if quote == '"' else inner
    return re.sub(r"\s+#.*|^#.*", "", value).strip()


class Reader:
    """Reads the fields of one server, with the variables of the environment put in."""

    def __init__(self, where: str, entry: Mapping[str, object], file: Path) -> None:
        self._where = where
        self._entry = entry
        self._host = host_of(file)
        self._get = variables(file)

    def text(self, key: str) -> str:
        value = self._entry.get(key, "")
        if not isinstance(value, str):
            raise SetupError(f"{self._where}: {key!r} must be a text")
        return self.expanded(value)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise SetupError(f"{self._where}: {key!r} must be a list of texts")
        return tuple(map(self.expanded, value))

    def mapping(self, key: str) -> dict[str, str]:
        value = self._entry.get(key, {})
        if not isinstance(value, Mapping):
            raise SetupError(f"{self._where}: {key!r} must be an object")
        if wrong := [name for name, text in value.items() if not isinstance(text, str)]:
            raise SetupError(f"{self._where}: {key}[{wrong[0]!r}] must be a text")
        return {name: self.expanded(text) for name, text in value.items()}

    def expanded(self, text: str) -> str:
        """A text with variables put in, as the file's host would."""
        if not self._host.bare and (literal := _BARE.search(text)):
            name = f"${{env:{literal[0][2:-1]}}}"
            log.warning("%s: %s stays as it is: %s writes %s", self._where, literal[0],
                        self._host.name, name)  # fmt: skip
        if self._host.dollar:
            text = _DOLLAR.sub(r"${\1}", text)
        try:
            return expand(text, self._get, bare=self._host.bare)
        except KeyError as error:
            name = str(error.args[0])
            if name.startswith("input:"):
                variable = "INPUT_" + re.sub(r"\W", "_", name[6:]).upper()
                raise SetupError(f"{self._where} asks for {name[6:]!r}: set {variable}") from None
            raise SetupError(
                f"{self._where} needs the environment variable {name}; set it, or write "
                f"${{{name}:-default}}"
            ) from None


def expand(text: str, get: Callable[[str], str | None], *, bare: bool = True) -> str:
    """Put variables in.

    Args:
        text: With ``${NAME}`` and ``${NAME:-default}``; the default also stands for an empty value.
        get: A variable's value, or None.
        bare: Whether ``${NAME}`` is one, and not ``${env:NAME}`` alone.

    Raises:
        KeyError: for a variable that has neither value nor default.

    >>> expand("${USER:-nobody}@${HOST}", {"HOST": "猫"}.get)
    'nobody@猫'
    """

    def value(match: re.Match[str]) -> str:
        name, default = match.groups()
        if not bare and name not in _NAMED and match[0][2:6] not in ("env:", "inpu"):
            return match[0]
        known = get(name)
        if known or (known is not None and default is None):
            return known
        if default is None:
            raise KeyError(name)
        return str(default)

    return _VARIABLE.sub(value, text)

"""One server's entry in a host's file, normalized: keys renamed, ignored or refused.

What another host approves is never approved here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from toolkeel._records.record import record
from toolkeel.errors import SetupError
from toolkeel.mcp.hosts import DEFAULT_HOST, TABLES, Host

_TABLE: Mapping[str, Any] = TABLES["entry"]
_OURS, _LEFT, _APPROVES = (frozenset(_TABLE[key]) for key in ("ours", "left", "approves"))
_REFUSED, _RENAMED, _LOGIN = (_TABLE[key] for key in ("refused", "renamed", "login"))
_WITHOUT = ("disabledTools", "excludeTools", "disabled_tools")
_ONLY = ("includeTools", "enabled_tools")
_CALL: Mapping[str, float] = {"tool_timeout_sec": 1, "timeout": 0.001}
_MIN_MILLISECONDS = 1000
"""Milliseconds of a ``timeout`` below which nobody can mean them: some hosts write seconds there."""
_MAX_TIME = 1e12
"""What no time comes to in any unit: beyond that lie numbers which clocks do not take."""
_CONNECT: Mapping[str, float] = {"startup_timeout_sec": 1, "startup_timeout_ms": 0.001}
_KINDS: Mapping[type, tuple[str, tuple[str, ...]]] = {
    list: ("a list of names", ("env_vars", *_WITHOUT, *_ONLY)),
    Mapping: ("an object", ("env_http_headers", "env", "environment", "headers", "http_headers")),
    bool: ("true or false", ("enabled", "disabled")),
    str: ("a text", ("envFile", "bearer_token_env_var")),
}


@record
class Entry:
    """One server's entry, normalized.

    Args:
        fields: ``command``, ``args``, ``env``, ``unset``, ``cwd``, ``url``, ``headers``, ``type``, ``oauth``.
        enabled: True if the server is switched on.
        env_file: A file with further environment variables.
        include_tools: The tools to use; all if empty, none for ``("",)``.
        exclude_tools: Tools not to use.
        notes: Options of the entry that are ignored, with the reason.
        timeout: Seconds of a call; None if unset.
        connect_timeout: Seconds for the first answer; None if unset.
    """

    fields: Mapping[str, Any]
    enabled: bool = True
    env_file: str = ""
    include_tools: tuple[str, ...] = ()
    exclude_tools: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    timeout: float | None = None
    connect_timeout: float | None = None


def parse_entry(written: Mapping[str, Any], where: str, host: Host = DEFAULT_HOST) -> Entry:
    """Parse a host's entry.

    Args:
        written: The entry as written in the file.
        where: Place of the entry, for errors.
        host: Host whose file it is.

    Raises:
        SetupError: the entry has an option that must not be ignored, or a value of a wrong type.
    """
    entry = {key: value for key, value in written.items() if value is not None}
    _reject_refused(entry, where)
    fields = _normalize_keys(entry, where)
    notes = _notes(entry)
    if login := _login_options(entry, notes):
        fields["oauth"] = login
    call = _timeout_seconds(entry, {**_CALL, "timeout": 1} if host.name == "Zed" else _CALL, notes)
    connect = _timeout_seconds(entry, _CONNECT, notes)
    return Entry(
        fields,
        entry.get("enabled") is not False and entry.get("disabled") is not True,
        entry.get("envFile", ""),
        _read_included_tools(where, entry),
        _name_list(where, entry, _WITHOUT),
        tuple(notes),
        call,
        connect,
    )


def _reject_refused(entry: dict[str, Any], where: str) -> None:
    """Remove keys without a value that must not be ignored; raise SetupError for one that is set.

    Raises SetupError, too, for a value of a wrong type.
    """
    for key, why in _REFUSED.items():
        if entry.get(key):
            raise SetupError(f"{where} cannot be used: {key!r} is set, {why}")
        entry.pop(key, None)
    for kind, (expected, keys) in _KINDS.items():
        for key in keys:
            if key in entry and not isinstance(entry[key], kind):
                raise SetupError(f"{where}: {key!r} is {expected}, not {entry[key]!r:.60}")


def _notes(entry: Mapping[str, Any]) -> list[str]:
    """Return a note for each key that is ignored."""
    approving = [key for key in entry if key in _APPROVES]
    return [f"{key!r} is not understood" for key in entry if key not in _KNOWN] + [
        f"{key!r} approves nothing here"
        for key in approving
        if not (key == "tools" and isinstance(entry[key], list))
    ]


def _timeout_seconds(
    entry: Mapping[str, Any], units: Mapping[str, float], notes: list[str]
) -> float | None:
    """Return the first timeout in seconds, or None; add a note for each invalid one.

    Small values of ``timeout`` are seconds in every host's file.
    """
    found = None
    for key, unit in units.items():
        if (value := entry.get(key)) is None:
            continue
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < _MAX_TIME:
            seconds = value if key == "timeout" and value < _MIN_MILLISECONDS else value * unit
            found = seconds if found is None else found
        else:
            notes.append(f"{key!r} is no time, and not followed")
    return found


def _login_options(entry: Mapping[str, Any], notes: list[str]) -> dict[str, str]:
    """Return the OAuth settings, which hosts name differently; add a note for each unknown one."""
    found: dict[str, str] = {}
    for place, value in _login_fields(entry).items():
        name = _LOGIN.get(place.partition(".")[2])
        text = " ".join(map(str, value)) if isinstance(value, list) else _scalar_text(value)
        if name and isinstance(text, str):
            found[name] = text
        elif place != "oauth.enabled" and value != "oauth":
            notes.append(f"{place!r} is not understood")
    return found


def _login_fields(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the OAuth fields of an entry with dotted keys."""
    fields = {"oauth.scopes": entry["scopes"]} if "scopes" in entry else {}
    for key in [key for key in ("oauth", "auth") if key in entry]:
        parts = entry[key].items() if isinstance(entry[key], Mapping) else [("", entry[key])]
        fields |= {f"{key}.{name}".rstrip("."): value for name, value in parts}
    return fields


_KNOWN = (
    _OURS | _LEFT | _APPROVES | _RENAMED.keys() | {*_WITHOUT, *_ONLY}
    | {"bearer_token_env_var", "env_http_headers", "env_vars", "oauth", "auth", "scopes"}
    | _CALL.keys() | _CONNECT.keys()
)  # fmt: skip


def _normalize_keys(entry: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return an entry's fields under our names, with each environment variable's value as text.

    Null removes a variable: its name is in ``unset``.

    Raises:
        SetupError: ``env`` is no object, or a value has a wrong type.
    """
    fields = {key: entry[key] for key in entry if key in _OURS}
    fields |= {ours: entry[theirs] for theirs, ours in _RENAMED.items() if theirs in entry}
    if "httpUrl" in entry:
        fields["type"] = "http"
    elif fields.get("type") in ("local", "remote"):
        del fields["type"]
    fields |= _command(fields)
    if headers := _named_headers(entry):
        fields["headers"] = {**fields.get("headers", {}), **headers}
    env = fields.get("env", {})
    if not isinstance(env, Mapping):  # of Zed's command
        raise SetupError(f"{where}: 'env' is an object, not {env!r:.60}")
    env = {
        **{name: f"${{variable:{name}}}" for name in _name_list(where, entry, ("env_vars",))},
        **env,
    }
    # numbers become text, null removes what the server would inherit
    return {
        **fields,
        "env": {k: _scalar_text(value) for k, value in env.items() if value is not None},
        "unset": [k for k, value in env.items() if value is None],
    }


def _command(fields: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the fields that replace a command that is a list of words, or Zed's ``{"path", "args", "env"}``; else none."""
    command = fields.get("command")
    if isinstance(command, Mapping):
        own = {key: command[key] for key in ("args", "env") if key in command}
        return {"command": command.get("path", ""), **own}
    if isinstance(command, list) and command:
        more = fields.get("args", [])
        args = [*command[1:], *more] if isinstance(more, list) else more
        return {"command": command[0], "args": args}
    return {}


def _named_headers(entry: Mapping[str, Any]) -> dict[str, str]:
    """Return headers whose values are named variables, as ``${variable:NAME}``; a bearer token's, too."""
    named = entry.get("env_http_headers", {})
    headers = {key: f"${{variable:{name}}}" for key, name in named.items()}
    if token := entry.get("bearer_token_env_var"):
        headers["Authorization"] = f"Bearer ${{variable:{token}}}"
    return headers


def _scalar_text(value: object) -> object:
    """Return a number or boolean as text; any other value unchanged."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value


def _read_included_tools(where: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the tools to include: empty for all, one empty name if the entry's list is empty.

    Raises `SetupError` if a list is none of names.
    """
    copied = dict(entry)
    if isinstance(tools := copied.get("tools"), list) and "*" not in tools:  # Copilot's
        copied["includeTools"] = [*copied.get("includeTools", ()), *tools]
    found = _name_list(where, copied, _ONLY)
    return found or ("",) * any(key in copied for key in _ONLY)


def _name_list(where: str, entry: Mapping[str, Any], keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names in the lists under several keys; a missing key adds none.

    Raises:
        SetupError: one is no text.
    """
    for key in keys:
        if wrong := [name for name in entry.get(key, ()) if not isinstance(name, str)]:
            raise SetupError(f"{where}: {key!r} is a list of names, not of {wrong[0]!r:.60}")
    return tuple(name for key in keys for name in entry.get(key, ()))

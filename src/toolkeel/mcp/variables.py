"""What stands for something else in a host's file of servers: variables, files of them, folders.

Each host has its own form, as its table in `toolkeel.mcp.hosts` says. What is put in is not read again.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from toolkeel._records.record import NOTHING
from toolkeel.errors import SetupError
from toolkeel.mcp.hosts import host_of, workspace_of

_ENV_LINE = re.compile(r"\s*(?:export\s+)?([\w.-]+)\s*[=:]\s*(.*?)\s*")
_VARIABLE = re.compile(r"\$\{(?:env:)?([\w/]+|input:[\w.-]+)(?::-([^}]*))?\}")
_BARE = re.compile(
    r"\$\{(?!(?:workspaceFolder(?:Basename)?|userHome|pathSeparator)\})\w+(?::-[^}]*)?\}"
)
_DOLLAR = re.compile(r"\$(\w+)")
_NAMED = ("workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/")

log = logging.getLogger("toolkeel.mcp")


def variables(file: Path) -> Callable[[str], str | None]:
    """What a variable of a host's file stands for; None if it is not set.

    The folder of the workspace is the one that holds ``.vscode``, ``.cursor`` and their like; a
    person's own file has none. A value that a host would ask a person for (``${input:id}``) is taken
    from the environment, as ``INPUT_ID``.
    """
    folder = workspace_of(file)
    of_workspace = (
        {
            "workspaceFolder": str(folder),
            "workspaceFolderBasename": folder.name,
            "CLAUDE_PROJECT_DIR": str(folder),
        }
        if folder is not None
        else {}
    )
    known = {
        **of_workspace,
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
        return self._word(value)

    def texts(self, key: str) -> tuple[str, ...]:
        value = self._entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise SetupError(f"{self._where}: {key!r} must be a list of texts")
        return tuple(map(self._word, value))

    def _word(self, text: str) -> str:
        """A word of a command; one that begins with ``~`` as its host has it."""
        put_in = self.expanded(text)
        return os.path.expanduser(put_in) if self._host.tilde and text[:1] == "~" else put_in

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
            log.warning("%s: %s stays as it is, as in %s; %s would be put in", self._where,
                        literal[0], self._host.name, name)  # fmt: skip
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

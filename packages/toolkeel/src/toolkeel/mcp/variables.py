"""Variables, files and folders that a host's file of servers refers to.

Each host has its own form, as its table in `toolkeel.mcp.hosts` says. What is put in is not read again.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path

from toolkeel._common.data_folder import expand_home, find_home
from toolkeel._records.record import NOTHING
from toolkeel.errors import SetupError
from toolkeel.mcp.hosts import host_of, workspace_of

_ENV_LINE = re.compile(r"\s*(?:export\s+)?([\w.-]+)\s*[=:](.*)")
_REST = "[^}]{0,4000}"  # of what is in braces; without a limit, a text without an end takes quadratic time
_VARIABLE = re.compile(
    rf"\$\{{((?:env|variable):)?([\w/]+|input:[\w.-]+|file:(?!\}}){_REST})(?::-({_REST}))?\}}"
)
_HOST_ONLY = re.compile(rf"\$\{{(?:command|config|workspaceFolder):{_REST}\}}")
_MAX_FILE_BYTES = 100_000
_BARE = re.compile(
    r"\$\{(?!(?:workspaceFolder(?:Basename)?|userHome|pathSeparator)\})\w+"
    rf"(?::-{_REST})?\}}"
)
_DOLLAR = re.compile(r"\$(\w+)")
_BUILTIN_NAMES = ("workspaceFolder", "workspaceFolderBasename", "userHome", "pathSeparator", "/")

log = logging.getLogger("toolkeel.mcp")


def variable_lookup(
    file: Path, inputs: object = None, *, masked: bool = False
) -> Callable[[str], str | None]:
    """Return a lookup of the variables of a host's file. It returns None for one that is not set.

    The folder of the workspace is the one that holds ``.vscode``, ``.cursor`` and their like; a
    person's own file has none. A value that a host would ask a person for (``${input:id}``) is taken
    from the environment, as ``INPUT_ID``, else it is the default that the file's `inputs` say.

    Args:
        file: The host's file.
        inputs: Its ``inputs``.
        masked: Return the name, as ``${NAME}``, for what comes from the environment or from a
            file, which may be secret. What the host's file itself says is returned in any case.
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
    home = find_home()
    known = {
        **of_workspace,
        **({"userHome": str(home)} if home else {}),
        "pathSeparator": os.sep,
        "/": os.sep,
    }

    def get(name: str) -> str | None:
        """Return the value of ``NAME``, ``input:ID`` or ``file:PATH`` (may raise `OSError`), or None."""
        kind, _, rest = name.partition(":")
        if kind == "input":
            default = find_input(inputs, rest).get("default")
            default_text = default if isinstance(default, str) else None
            entered = os.environ.get("INPUT_" + re.sub(r"\W", "_", rest).upper())
            return default_text if entered is None else secret(name, entered)
        if kind == "file":
            return secret(name, _file_text(file.parent / expand_home(rest)))
        return known.get(name) or secret(name, os.environ.get(name))

    def secret(name: str, value: str | None) -> str | None:
        """Return the value, or ``${name}`` in its place if values are masked; None and "" unchanged."""
        return f"${{{name}}}" if masked and value else value

    return get


def find_input(inputs: object, id: str) -> Mapping[str, object]:
    """Return the definition of an input of a file, or an empty dict if there is none."""
    definitions = (
        each for each in (inputs if isinstance(inputs, list) else ()) if isinstance(each, dict)
    )
    return next((each for each in definitions if each.get("id") == id), {})


def _file_text(file: Path) -> str:
    """Read a text file, such as a key, without the line ends behind it.

    Raises:
        OSError: the file cannot be read, is no regular file, or has more than `_MAX_FILE_BYTES`.
        UnicodeDecodeError: it is not UTF-8.
    """
    if not file.is_file() or file.stat().st_size > _MAX_FILE_BYTES:
        raise OSError(f"{file} is no file, or too large")
    return file.read_text("utf-8-sig").rstrip("\r\n")


def read_env_file(file: Path, where: str) -> Mapping[str, str]:
    """Read an ``envFile``; nothing is expanded, the last of a name wins, other lines are ignored.

    Raises:
        SetupError: the file cannot be read.
        UnicodeDecodeError: it is not UTF-8.
    """
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise SetupError(f"{where}: its envFile {file} cannot be read: {error.strerror}") from None
    found = {}
    for line in text.splitlines():
        match = _ENV_LINE.fullmatch(line)
        if match is not None and not line.lstrip().startswith("#"):
            found[match[1]] = _unquote(match[2].strip())
    return found or NOTHING  # type: ignore[return-value]


def _unquote(value: str) -> str:
    """Unquote a value of an env file; ``#`` starts a comment outside of quotes.

    >>> _unquote('"a # b" # c'), _unquote("a # b"), _unquote("'x'")
    ('a # b', 'a', 'x')
    """
    quote = value[:1]
    if quote and quote in "\"'`" and (end := value.find(quote, 1)) > 0:
        inner = value[1:end]
        return inner.replace("\\n", "\n").replace("\\r", "\r") if quote == '"' else inner
    return re.sub(r"(?<!\s)\s+#.*|^#.*", "", value).strip()


class FieldReader:
    """Reader of one server's fields that expands variables.

    Args:
        where: Place of the entry, for errors.
        entry: The server's fields.
        file: The host's file.
        inputs: Its ``inputs``.
        masked: As of `variable_lookup`, for a person; nothing is logged then.
    """

    def __init__(
        self,
        where: str,
        entry: Mapping[str, object],
        file: Path,
        inputs: object = None,
        *,
        masked: bool = False,
    ) -> None:
        self._where = where
        self._entry = entry
        self._inputs = inputs
        self._host = host_of(file)
        self._masked = masked
        self._get = variable_lookup(file, inputs, masked=masked)

    def read_text(self, key: str) -> str:
        """Return a text field, expanded; empty if absent. Raise `SetupError` for another type."""
        value = self._entry.get(key, "")
        if not isinstance(value, str):
            raise SetupError(f"{self._where}: {key!r} must be a text")
        return self._expand_word(value)

    def read_list(self, key: str) -> tuple[str, ...]:
        """Return a list of texts, expanded; empty if absent. Raise `SetupError` for another type."""
        value = self._entry.get(key, [])
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise SetupError(f"{self._where}: {key!r} must be a list of texts")
        return tuple(map(self._expand_word, value))

    def _expand_word(self, text: str) -> str:
        """Expand a word of a command, and a leading ``~`` if the host does.

        Raises:
            SetupError: as `expand`.
        """
        put_in = self.expand(text)
        return (
            os.path.expanduser(put_in) if self._host.expands_tilde and text[:1] == "~" else put_in
        )

    def read_mapping(self, key: str) -> dict[str, str]:
        """Return an object of texts, each as by `expand`; empty if absent. Raise `SetupError` for another type."""
        value = self._entry.get(key, {})
        if not isinstance(value, Mapping):
            raise SetupError(f"{self._where}: {key!r} must be an object")
        if wrong := [name for name, text in value.items() if not isinstance(text, str)]:
            raise SetupError(f"{self._where}: {key}[{wrong[0]!r}] must be a text")
        return {name: self.expand(text) for name, text in value.items()}

    def raw(self, key: str) -> object:
        """Return a field as the file has it, with nothing expanded; an empty dict if absent."""
        return self._entry.get(key, {})

    def expand(self, text: str) -> str:
        """Expand variables in a text as the file's host does. Log a variable that the host does not expand.

        Raises:
            SetupError: a variable has neither value nor default, or only the host knows it.
        """
        forms, host = self._host.variable_forms, self._host.name
        if forms == "env" and (found := _HOST_ONLY.search(text)):
            raise SetupError(
                f"{self._where} has {found[0]}, which only {host} knows: write what it stands for"
            )
        if forms != "any" and not self._masked and (literal := _BARE.search(text)):
            why = f"; ${{env:{literal[0][2:-1]}}} would be put in" if forms != "none" else ""
            log.warning("%s: %s stays as it is, as in %s%s", self._where, literal[0], host, why)
        if self._host.has_dollar_variables:
            text = _DOLLAR.sub(r"${\1}", text)
        try:
            return expand_variables(text, self._get, forms)
        except KeyError as error:
            name = str(error.args[0])
            if name.startswith("input:"):
                variable = "INPUT_" + re.sub(r"\W", "_", name[6:]).upper()
                about = find_input(self._inputs, name[6:]).get("description", "")
                question = f"{name[6:]!r}" + (
                    f" ({about})" if isinstance(about, str) and about else ""
                )
                raise SetupError(f"{self._where} asks for {question}: set {variable}") from None
            raise SetupError(
                f"{self._where} needs the environment variable {name}; set it, or write "
                f"${{{name}:-default}}"
            ) from None


def expand_variables(text: str, get: Callable[[str], str | None], forms: str = "any") -> str:
    """Return a text with its variables replaced by their values.

    Args:
        text: Text with ``${NAME}`` and ``${NAME:-default}``; the default also replaces an empty value.
        get: Returns a variable's value, or None.
        forms: Which forms are variables; see `Host.variable_forms`.

    Raises:
        KeyError: a variable has neither value nor default.

    >>> expand_variables("${USER:-nobody}@${HOST}", {"HOST": "猫"}.get)
    'nobody@猫'
    """

    def value(match: re.Match[str]) -> str:
        """Return a variable's value or default, or the text unchanged; raise KeyError if it has neither."""
        form, name, default = match.groups()
        if not _is_variable(form or "", name, forms):
            return match[0]
        known = get(name)
        if known or (known is not None and default is None):
            return known
        if default is None:
            raise KeyError(name)
        return str(default)

    return _VARIABLE.sub(value, text)


def _is_variable(form: str, name: str, forms: str) -> bool:
    """Return True if the host of the file puts a value in place of a variable.

    Args:
        form: The word before the name, such as ``env:``; empty for ``${NAME}``.
        name: The name.
        forms: Which forms are variables; see `Host.variable_forms`.
    """
    if form == "variable:":  # which stands for a key of the host's that names a variable
        return True
    if name.startswith("file:"):
        return forms == "file"
    named = bool(form) or name in _BUILTIN_NAMES or name.startswith("input:")
    return forms == "any" or (named and forms != "none")

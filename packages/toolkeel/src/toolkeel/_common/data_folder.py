"""The default folders of data, state and temporary files, by the rules of each system."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from toolkeel.errors import SetupError


def find_home() -> Path | None:
    """Return the user's home folder, or None if it is unknown, as for a container's nameless user."""
    try:
        return Path.home()
    except RuntimeError:
        return None


def home_folder() -> Path:
    """Return the user's home folder.

    Raises:
        SetupError: the home folder is unknown; the message names the variables to set.
    """
    home = find_home()
    if home is None:
        user = f" of user {os.getuid()}" if hasattr(os, "getuid") else ""
        raise SetupError(
            f"the home folder{user} is unknown; set HOME, or TOOLKEEL_DATA (sessions and other "
            "data) and XDG_STATE_HOME (waiting runs and consents) to folders that can be written"
        )
    return home


def expand_home(path: str | Path) -> Path:
    """Return a path with a leading ``~`` replaced by the home folder.

    Raises:
        SetupError: the path begins with ``~``, and that user has no known home folder.
    """
    try:
        return Path(path).expanduser()
    except RuntimeError:
        raise SetupError(
            f"{str(path)!r}: this home folder is unknown; write the whole path"
        ) from None


def temporary_folder() -> str:
    """Return the folder for temporary files.

    Raises:
        SetupError: None can be written.
    """
    try:
        return tempfile.gettempdir()
    except FileNotFoundError as error:
        raise SetupError(
            f"there is no folder for temporary files ({error.strerror}); set TMPDIR to a folder "
            "that can be written"
        ) from None


def absolute_path(path: str | os.PathLike[str]) -> str:
    """Return a path without links, from the working folder if it is relative.

    Raises:
        SetupError: The working folder is gone.
    """
    try:
        return os.path.realpath(path)
    except FileNotFoundError:
        raise SetupError(
            f"{str(path)!r} is relative to a working folder that has been removed; write an "
            "absolute path, or change to a folder that is there with os.chdir"
        ) from None


def data_folder() -> Path:
    r"""Return the user's data folder.

    ``$XDG_DATA_HOME/toolkeel``, ``~/Library/Application Support/toolkeel`` or ``%LOCALAPPDATA%\\toolkeel``;
    ``TOOLKEEL_DATA`` overrides it.

    Raises:
        SetupError: no home folder is known.
    """
    stated = os.environ.get("TOOLKEEL_DATA", "")
    if stated:
        return Path(stated)
    if sys.platform == "win32":
        local = os.environ.get("LOCALAPPDATA")
        return (Path(local) if local else home_folder() / "AppData" / "Local") / "toolkeel"
    if sys.platform == "darwin":
        return home_folder() / "Library" / "Application Support" / "toolkeel"
    return xdg_folder("XDG_DATA_HOME", "share")


def explain_data_folder(path: str | Path) -> str:
    """Return the end of a message that says how to choose another data folder; empty for a path elsewhere."""
    with suppress(SetupError):  # no home folder is known
        if Path(path).absolute().is_relative_to(data_folder().absolute()):
            return "; set TOOLKEEL_DATA to a folder that can be written"
    return ""


def xdg_folder(variable: str, place: str) -> Path:
    """Return the program's folder by the XDG rule.

    Args:
        variable: Environment variable of the parent folder; ignored unless its path is absolute.
        place: Folder below ``~/.local`` that is used otherwise.

    Raises:
        SetupError: no home folder is known.
    """
    base = os.environ.get(variable, "")
    root = Path(base) if os.path.isabs(base) else home_folder() / ".local" / place
    return root / "toolkeel"


def state_folder() -> Path:
    """Return the folder of state between runs, such as waiting runs and consents.

    It is ``$XDG_STATE_HOME/toolkeel``, by default ``~/.local/state/toolkeel``.

    Raises:
        SetupError: no home folder is known.
    """
    return xdg_folder("XDG_STATE_HOME", "state")


def register_state(path: str | Path) -> Path:
    """Register a file or folder that a program chose for the library's state, and return its real path.

    Workspaces that contain it protect it, as they do the default folders. A leading ``~`` is expanded.
    """
    real = os.path.realpath(os.path.expanduser(path))
    _named_state.add(real)
    return Path(real)


def list_state() -> list[str]:
    """Return the real paths of the library's state: data folder, state folder and registered ones."""
    found = set(_named_state)
    for folder in (data_folder, state_folder):
        with suppress(SetupError, OSError):  # no home folder is known
            found.add(os.path.realpath(folder()))
    return sorted(found)


_named_state: set[str] = set()


def sessions_file() -> Path:
    """Return the default file of sessions.

    Raises:
        SetupError: no home folder is known.
    """
    return data_folder() / "sessions.db"

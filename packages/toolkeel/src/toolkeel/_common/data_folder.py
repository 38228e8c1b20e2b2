"""The default folders of data and state, by the rules of each system."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def data_folder() -> Path:
    r"""Return the user's data folder.

    ``$XDG_DATA_HOME/toolkeel``, ``~/Library/Application Support/toolkeel`` or ``%LOCALAPPDATA%\\toolkeel``;
    ``TOOLKEEL_DATA`` overrides it.
    """
    stated = os.environ.get("TOOLKEEL_DATA", "")
    if stated:
        return Path(stated)
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "toolkeel"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "toolkeel"
    return xdg_folder("XDG_DATA_HOME", "share")


def xdg_folder(variable: str, place: str) -> Path:
    """Return the program's folder by the XDG rule.

    Args:
        variable: What names the folder above it, if it is absolute.
        place: Where that is below ``~/.local`` if nothing does.
    """
    base = os.environ.get(variable, "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".local" / place
    return root / "toolkeel"


def state_folder() -> Path:
    """Return the folder of state between runs, such as waiting runs and consents."""
    return xdg_folder("XDG_STATE_HOME", "state")


def sessions_file() -> Path:
    """Return the default file of sessions."""
    return data_folder() / "sessions.db"

"""Where data is kept if nobody says: the user's data folder, by the rules of each system."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def data_folder() -> Path:
    """``$XDG_DATA_HOME/toolkeel``, ``~/Library/Application Support/toolkeel`` or
    ``%LOCALAPPDATA%\\toolkeel``; ``TOOLKEEL_DATA`` says otherwise.
    """
    said = os.environ.get("TOOLKEEL_DATA", "")
    if said:
        return Path(said)
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "toolkeel"
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / "toolkeel"
    return by_xdg("XDG_DATA_HOME", "share")


def by_xdg(variable: str, place: str) -> Path:
    """The program's folder by the XDG rule.

    Args:
        variable: What names the folder above it, if it is absolute.
        place: Where that is below ``~/.local`` if nothing does.
    """
    base = os.environ.get(variable, "")
    root = Path(base) if os.path.isabs(base) else Path.home() / ".local" / place
    return root / "toolkeel"


def state_folder() -> Path:
    """What is kept from run to run, such as runs that wait and what people agreed to."""
    return by_xdg("XDG_STATE_HOME", "state")


def sessions_file() -> Path:
    """The file of sessions in the user's data folder."""
    return data_folder() / "sessions.db"

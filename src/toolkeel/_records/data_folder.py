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
    base = os.environ.get("XDG_DATA_HOME", "")
    return (Path(base) if os.path.isabs(base) else home / ".local" / "share") / "toolkeel"


def sessions_file() -> Path:
    """The file of sessions in the user's data folder."""
    return data_folder() / "sessions.db"

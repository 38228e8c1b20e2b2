"""Small JSON files for consents, pins and logins, replaced atomically."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from toolkeel._common.data_folder import state_folder
from toolkeel.errors import SetupError


def mcp_state_folder() -> Path:
    """Return the state folder of the MCP chapter, by the XDG rule, or raise `SetupError` without a home folder."""
    return state_folder() / "mcp"


def load_object(path: Path) -> dict[str, Any]:
    """Load the object of a file, or an empty dict if there is no file.

    Raises:
        SetupError: if the file holds something else.
    """
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        raise SetupError(f"{path} cannot be read: {error}; mend or delete it") from None
    if not isinstance(data, dict):
        raise SetupError(f"{path} holds no JSON object; mend or delete it")
    return data


def file_version(path: Path) -> tuple[int, int, int] | None:
    """Return values that change when a file is replaced; None if it cannot be found."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def save_object(path: Path, data: Mapping[str, object]) -> None:
    """Write an object to a file atomically, readable only by its owner; create its folder if needed."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    text = json.dumps(data, indent=2, ensure_ascii=False, sort_keys=True) + "\n"
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise

"""Files that come with the package, which may be installed in a folder or imported from a zip."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from toolkeel.errors import SetupError


def read_toml(package: str, name: str) -> dict[str, Any]:
    """Read a TOML file of a package.

    Args:
        package: The package's dotted name.
        name: The file's name.
    """
    import tomllib  # late, both: slow, and not needed to define a tool
    from importlib.resources import files

    return tomllib.loads((files(package) / name).read_text("utf-8"))


def require_file(path: Path) -> Path:
    """Return the path of a file of the package that another process will run.

    Raises:
        SetupError: The package is in a zip, from which no other process can start a program.
    """
    if not path.is_file():
        raise SetupError(
            f"other processes cannot start {path.name}, since toolkeel was imported from an archive "
            f"({path.parent}); install it in a folder (pip install, or unpack the archive) to run "
            "tools in processes and sandboxes"
        )
    return path

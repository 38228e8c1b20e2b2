"""A server that a file names is started only after a person saw the exact command and agreed.

The file may have come with somebody's repository. What was agreed to is remembered by its digest:
of the file's place, and of the server as it is written there. Any change asks again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from toolkeel.errors import SetupError
from toolkeel.mcp.config import ServerConfig
from toolkeel.mcp.consent_files import home, load, save

Asker: TypeAlias = Callable[[ServerConfig], bool]
"""Shows a person the command (`ServerConfig.shown`) and says whether they agree."""

_asker: list[Asker] = []


def lend_asker(asker: Asker) -> None:
    """Let a person be asked: lent by the command line, which has one."""
    _asker[:] = [asker]


class Consents:
    """What was agreed to.

    Args:
        path: A file of its own; the user's by default.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path or home() / "consents.json"

    def given(self, config: ServerConfig) -> bool:
        """Whether somebody has agreed to exactly this."""
        return config.digest in load(self._path)

    def give(self, config: ServerConfig) -> None:
        """Remember that somebody has agreed to it."""
        entry = {"file": config.origin, "server": config.name, "shown": config.shown}
        save(self._path, {**load(self._path), config.digest: entry})


def check_consent(config: ServerConfig, asker: Asker | bool | None = None) -> None:
    """Make sure that somebody has agreed to start a server, or to talk to it.

    Args:
        config: What a file says. One that the program itself named needs no consent.
        asker: Asked if nobody has agreed yet; True agrees in the name of the program.

    Raises:
        SetupError: nobody has; it names the command and the way to agree.
    """
    if not config.origin or asker is True or Consents().given(config):
        return
    ask = asker if callable(asker) else _asker[0] if _asker else None
    if ask is not None and ask(config) is True:
        Consents().give(config)
        return
    verb = "start" if config.command else "talk to"
    raise SetupError(
        f"the server {config.name!r} of {config.origin} would {verb}\n\n"
        + "\n".join(f"    {line}" for line in config.shown.split("\n"))
        + "\n\nand nobody has agreed to that. If it is right, run in a terminal: "
        f"toolkeel mcp tools {config.origin}:{config.name}"
    )
